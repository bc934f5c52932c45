"""Settings of a benchmark, its primary comparison, and the scores of its systems."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fcconan.data import leakage_groups
from fcconan.errors import InputError
from fcconan.retrieval.collections import Collection, Qrels
from fcconan.retrieval.systems import Rankings
from fcconan.scoring import (
    ALL_METRICS,
    EXPLORATORY,
    PAPER,
    PRIMARY,
    SOUND,
    TABLE_4,
    Evaluation,
    Family,
    Floats,
    Ints,
    Rule,
    TieKey,
    family_parts,
    floor_notes,
    metric_names,
    p_floor,
    tie_by_corpus,
    tie_by_hash,
)

TABLE_4_NAMES = tuple(metric.partition("@")[0] for metric in TABLE_4)
AVERAGE, ALL_PARTITIONS = "average", "all"  # protocol paper tests averages, too; `all` is over all partitions
CROSS_VALIDATED = "cross-validated"
PROTOCOLS = (PAPER, SOUND, CROSS_VALIDATED)
AUC_FOLDS = 5
FORM = "METRIC@PARTITION, such as ndcg@10@silver (--primary, or `primary:` in the suite)"


@dataclass(frozen=True)
class Primary:
    """The metric and partition of the primary comparison.

    Attributes:
        metric: Full name, such as `ndcg@10`, or `average`.
        partition: Name of the partition, or `all`.
        why: Reason for the choice, in words.
    """

    metric: str
    partition: str
    why: str = "as declared"

    def __str__(self) -> str:
        return f"{self.metric}@{self.partition}"


def read_primary(text: str, settings: "Settings", partitions: Iterable[str]) -> Primary:
    """Reads `METRIC@PARTITION`.

    Args:
        text: The text; a metric without a cutoff has the default one.
        settings: Settings of the benchmark, with the full names of its metrics.
        partitions: Partitions of the benchmark.

    Raises:
        InputError: The benchmark has no such comparison.
    """
    known = dict.fromkeys(partitions, settings.metrics)
    if settings.protocol == PAPER:
        known = {name: (*metrics, AVERAGE) for name, metrics in known.items()}
        known.setdefault(ALL_PARTITIONS, (AVERAGE,))
    partition = max((name for name in known if text.endswith(f"@{name}")), key=len, default="")
    given = text.removesuffix(f"@{partition}")
    metric = given if given == AVERAGE or not partition else metric_names((given,), settings.k)[0]
    if metric not in known.get(partition, ()):
        metrics = dict.fromkeys(metric for names in known.values() for metric in names)
        raise InputError(
            f"primary comparison {text!r} is not in this run, which has {', '.join(metrics)} on {', '.join(known)}: "
            f"give {FORM}, or add the metric with --metric"
        )
    return Primary(metric, partition)


@dataclass(frozen=True)
class Settings:
    """What a benchmark is asked to do.

    Attributes:
        protocol: One of `PROTOCOLS`. `cross-validated` is `sound`, and systems may learn from labels of other HS.
        metrics: Names with cutoffs; by default the protocol's.
        k: The cutoff of names without one, of judged@k and of the report.
        depth: How many CNs every system is asked for.
        resamples: Of the bootstrap and of the randomisation tests.
        confidence: Of the intervals.
        seed: Of ties, bootstrap and tests.
        primary: Metric and partition of the primary comparison, as `METRIC@PARTITION`; None for the default one.
        baseline: The system that all others are compared with; None to compare all pairs.
        folds: Most folds of HS when systems that learn rank HS whose labels they never saw.
        repeats: Random splits into `AUC_FOLDS` folds for the message-specific score of these systems.
    """

    protocol: str = SOUND
    metrics: tuple[str, ...] = ()
    k: int = 10
    depth: int = 100
    resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0
    primary: str | None = None
    baseline: str | None = None
    folds: int = 100
    repeats: int = 10

    def resolve(self, collection: Collection) -> "Settings":
        """Returns the settings with every choice made.

        Raises:
            InputError: A cutoff is out of range, or there is no such metric or partition.
        """
        metrics = metric_names(self.metrics or (TABLE_4 if self.protocol == PAPER else ALL_METRICS), self.k)
        cutoffs = [self.k, *map(cutoff_of, metrics)]
        most = len(collection.corpus)
        if wrong := [cutoff for cutoff in cutoffs if not 1 <= cutoff <= most]:
            raise InputError(f"the cutoff is {wrong[0]}: give 1 to {most}, the size of the catalogue")
        resolved = replace(self, metrics=metrics, depth=min(max(self.depth, *cutoffs), most))
        if self.primary is None:
            return resolved
        return replace(resolved, primary=str(read_primary(self.primary, resolved, collection.partitions)))

    @property
    def summary_columns(self) -> list[int]:
        """The positions of the metrics that the summary averages."""
        return [self.metrics.index(metric) for metric in self.summarised]

    @property
    def order_resamples(self) -> int:
        """Resamples of the agreement of orders: each is a tau over all systems, so there are fewer."""
        return min(self.resamples, 2_000)

    @property
    def label_resamples(self) -> int:
        """Resamples of HS and CNs, and of scores on judged pairs only."""
        return min(self.resamples, 1_000)

    @property
    def deepest(self) -> int:
        """How many CNs of a ranking the figures look at."""
        return max(self.k, *map(cutoff_of, self.metrics))

    @property
    def summarised(self) -> tuple[str, ...]:
        """The metrics that the summary averages: those of Table 4 where they are there, otherwise all."""
        return tuple(metric for metric in self.metrics if metric.partition("@")[0] in TABLE_4_NAMES) or self.metrics

    @property
    def rule(self) -> Rule:
        """How the protocol computes figures."""
        paper = self.protocol == PAPER
        return Rule(self.metrics, capped=paper, all_queries=paper, brackets=not paper)


def cutoff_of(metric: str) -> int:
    """Returns the cutoff of a metric with its full name; 1 for those of ranx that have none."""
    return int(metric.partition("@")[2] or 1)


@dataclass
class Scored:
    """One system's run and figures.

    Attributes:
        runs: What it ranked, for each partition (the first replicate, for a system with several seeds). Only systems
            that learn rank differently for each partition.
        orders: The same with ties broken.
        partitions: Its figures; for a system with several seeds the mean of every query over the seeds.
        judged: The same on judged pairs only.
        configuration: What changes its output.
        n_seeds: How many runs its figures are the mean of.
        spread: Standard deviation of the mean figures over the seeds, of shape (partitions, metrics); None for others.
        summaries: Interval of the summary over the seeds, of shape (values of the summary, 2); None for others.
        uses_labels: Whether it learns from labels of other HS.
        ignores_message: Whether it ranks the CNs alike for all HS.
        held_out: For systems that learn from labels and read the message, for each partition scores of shape (repeats,
            HS, CNs), and the fold of every HS in each repeat.
    """

    runs: dict[str, Rankings]
    orders: dict[str, dict[str, list[str]]]
    partitions: dict[str, Evaluation]
    judged: dict[str, Evaluation]
    configuration: Any
    n_seeds: int = 1
    spread: Floats | None = None
    summaries: Floats | None = None
    uses_labels: bool = False
    ignores_message: bool = False
    held_out: Mapping[str, tuple[Floats, Ints]] = field(default_factory=dict)

    @property
    def found(self) -> Rankings:
        """What it ranked for the last partition, the broadest tier."""
        return list(self.runs.values())[-1]

    @property
    def ordered(self) -> dict[str, list[str]]:
        """The same with ties broken."""
        return list(self.orders.values())[-1]


@dataclass(frozen=True)
class Benchmark:
    """Scored systems, and everything that they were scored with.

    Attributes:
        collection: The dataset.
        settings: The settings, resolved.
        qrels: Judgements of every partition.
        systems: The scored systems by name.
    """

    collection: Collection
    settings: Settings
    qrels: Mapping[str, Qrels]
    systems: Mapping[str, Scored]

    @property
    def partitions(self) -> list[str]:
        """The names of the partitions."""
        return list(self.qrels)

    @cached_property
    def values(self) -> Floats:
        """The value of every HS, nan where it has none; shape (systems, partitions, metrics, HS)."""
        return np.array(
            [
                [[one.partitions[part].values[metric] for metric in self.settings.metrics] for part in self.qrels]
                for one in self.systems.values()
            ]
        )

    @cached_property
    def tie(self) -> TieKey:
        """The rule for tied CNs."""
        paper = self.settings.protocol == PAPER
        return tie_by_corpus(self.collection.corpus) if paper else tie_by_hash(self.settings.seed)

    @cached_property
    def groups(self) -> Ints:
        """The leakage group of every HS; shape (HS,)."""
        return leakage_groups(list(self.collection.queries.values()))

    @cached_property
    def primary(self) -> Primary:
        """The primary comparison."""
        return choose_primary(self.collection, self.settings, self.qrels)


def choose_primary(collection: Collection, settings: Settings, qrels: Mapping[str, Qrels]) -> Primary:
    """Returns the declared primary comparison, or the default one.

    The default metric is NDCG at the benchmark's cutoff. The default partition is the broadest of those whose labels
    validators confirmed without exception; the broadest partition where there is none.

    Args:
        collection: The dataset.
        settings: Settings of the benchmark, resolved.
        qrels: Judgements of every partition; the broadest partition has the most, the last one among equals.
    """
    if settings.primary is not None:
        return read_primary(settings.primary, settings, collection.partitions)
    ndcg = [name for name in settings.metrics if name.startswith("ndcg@")]
    metric = next((name for name in ndcg if name == f"ndcg@{settings.k}"), (ndcg or list(settings.metrics))[0])
    confirmed = [name for name in qrels if name in collection.confirmed and collection.confirmed[name]()]
    sizes = {name: sum(map(len, qrels[name].values())) for name in confirmed or qrels}
    partition = max(reversed(sizes), key=sizes.__getitem__)
    if confirmed:
        why = "the broadest tier whose labels are all confirmed by validators"
    elif len(qrels) > 1:
        why = "the partition with the most labels; no partition is known to have confirmed labels only"
    else:
        why = "the only partition"
    return Primary(metric, partition, why)


def declared_families(benchmark: Benchmark, labels: Ints, p_values: Floats, differences: Floats) -> list[Family]:
    """Describes the families of a benchmark that have tests.

    Args:
        benchmark: The benchmark.
        labels: Family of every test: 0 for the primary one, 1 for the exploratory one.
        p_values: Unadjusted p values; nan for a test without an HS.
        differences: Shape (tests, HS); nan where a test lacks an HS.
    """
    settings, primary = benchmark.settings, benchmark.primary
    pairs = "all pairs of systems" if settings.baseline is None else f"{settings.baseline} against every other system"
    words = {
        PRIMARY: f"{pairs}, {primary.metric}, {primary.partition}",
        EXPLORATORY: f"{pairs}, all other metrics and partitions",
    }
    found = []
    for label, (name, tests) in enumerate(words.items()):
        members = labels == label
        if members.any():
            n_tests = int(np.isfinite(p_values[members]).sum())
            units = int(np.isfinite(differences[members]).sum(axis=1).max())
            floor = p_floor(settings.resamples, units) if n_tests else None
            found.append(Family(name, tests, n_tests, floor, units=units))
    return found


def family_signature(benchmark: Benchmark, families: Sequence[Family]) -> dict[str, str]:
    """Returns the parts of the signature that name the families."""
    if not families:
        return {}
    baseline = benchmark.settings.baseline
    return {
        "primary": str(benchmark.primary),
        "pairs": "all" if baseline is None else f"against-{baseline}",
        **family_parts(families, "primary-and-exploratory"),
    }


def family_notes(benchmark: Benchmark, families: Sequence[Family]) -> list[str]:
    """Returns notes on the families: the primary comparison, the use of the others, and families without power."""
    primary, baseline = benchmark.primary, benchmark.settings.baseline
    if baseline is not None and baseline not in benchmark.systems:
        return [f"The baseline {baseline} failed: no systems are compared."]
    if not families:
        return []
    said = [
        f"Primary comparison: {primary.metric} on {primary.partition} ({primary.why}). All other tests are "
        "exploratory: they suggest hypotheses and confirm none. Choose another primary comparison with --primary "
        "METRIC@PARTITION, before you see results."
    ]
    if baseline is not None and any(family.n_tests for family in families):
        said.append(f"Only comparisons with {baseline} are tested (--baseline).")
    said += [
        f"The {family.name} family holds no test: no HS has a value of two systems."
        for family in families
        if not family.n_tests
    ]
    return said + floor_notes(families, "--resamples")
