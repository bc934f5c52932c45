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
AVERAGE, ALL_PARTITIONS = "average", "all"  # protocol paper also tests averages; `all` means over all partitions
CROSS_VALIDATED = "cross-validated"
PROTOCOLS = (PAPER, SOUND, CROSS_VALIDATED)
AUC_FOLDS = 5
FORM = "METRIC@PARTITION, such as ndcg@10@silver (--primary, or `primary:` in the suite)"


@dataclass(frozen=True)
class PrimaryComparison:
    """The metric and partition of the primary comparison.

    Attributes:
        metric: Full name of the metric, such as `ndcg@10`, or `average`.
        partition: Name of the partition, or `all`.
        why: Reason for the choice, for the notes.
    """

    metric: str
    partition: str
    why: str = "as declared"

    def __str__(self) -> str:
        return f"{self.metric}@{self.partition}"


def read_primary(text: str, settings: "BenchmarkSettings", partitions: Iterable[str]) -> PrimaryComparison:
    """Parses `METRIC@PARTITION`.

    Args:
        text: The text; the default cutoff is added to a metric without one.
        settings: Settings of the benchmark, with full names of metrics.
        partitions: Partitions of the benchmark.

    Raises:
        InputError: The benchmark does not have this metric or partition.
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
    return PrimaryComparison(metric, partition)


@dataclass(frozen=True)
class BenchmarkSettings:
    """Settings of a benchmark.

    Attributes:
        protocol: One of `PROTOCOLS`. `cross-validated` is `sound`, and systems may learn from labels of other HS.
        metrics: Names of metrics with cutoffs; default: those of the protocol.
        k: Cutoff of metrics without one, of judged@k and of the report.
        depth: Number of CNs that each system returns.
        resamples: Number of resamples of the bootstrap and of the randomisation tests.
        confidence: Confidence level of the intervals.
        seed: Seed of ties, bootstrap and tests.
        primary: Metric and partition of the primary comparison, as `METRIC@PARTITION`; None for the default.
        baseline: System that all others are compared with; None to compare all pairs.
        folds: Maximum number of folds of HS for systems that learn from labels.
        repeats: Number of random splits into `AUC_FOLDS` folds for the message AUC of these systems.
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

    def resolve(self, collection: Collection) -> "BenchmarkSettings":
        """Returns the settings with all defaults filled in for a dataset.

        Raises:
            InputError: A cutoff is out of range, or a metric or partition is unknown.
        """
        metrics = metric_names(self.metrics or (TABLE_4 if self.protocol == PAPER else ALL_METRICS), self.k)
        cutoffs = [self.k, *map(get_cutoff, metrics)]
        most = len(collection.corpus)
        if wrong := [cutoff for cutoff in cutoffs if not 1 <= cutoff <= most]:
            raise InputError(f"the cutoff is {wrong[0]}: give 1 to {most}, the size of the catalogue")
        resolved = replace(self, metrics=metrics, depth=min(max(self.depth, *cutoffs), most))
        if self.primary is None:
            return resolved
        return replace(resolved, primary=str(read_primary(self.primary, resolved, collection.partitions)))

    @property
    def summary_columns(self) -> list[int]:
        """Positions of the metrics that the summary averages."""
        return [self.metrics.index(metric) for metric in self.summarised]

    @property
    def order_resamples(self) -> int:
        """Number of resamples of the agreement of orders; fewer, because each computes tau over all systems."""
        return min(self.resamples, 2_000)

    @property
    def label_resamples(self) -> int:
        """Number of resamples of HS and CNs, and of scores on judged pairs only."""
        return min(self.resamples, 1_000)

    @property
    def deepest(self) -> int:
        """The largest cutoff."""
        return max(self.k, *map(get_cutoff, self.metrics))

    @property
    def summarised(self) -> tuple[str, ...]:
        """Metrics that the summary averages: those of Table 4, or all if none of these is computed."""
        return tuple(metric for metric in self.metrics if metric.partition("@")[0] in TABLE_4_NAMES) or self.metrics

    @property
    def rule(self) -> Rule:
        """Scoring rule of the protocol."""
        paper = self.protocol == PAPER
        return Rule(self.metrics, capped=paper, all_queries=paper, brackets=not paper)


def get_cutoff(metric: str) -> int:
    """Returns the cutoff in the full name of a metric; 1 for metrics of ranx without a cutoff."""
    return int(metric.partition("@")[2] or 1)


@dataclass
class SystemScores:
    """Runs and scores of one system.

    Attributes:
        runs: Partition -> run. For a system with several seeds, the run of the first seed. Runs differ between
            partitions only for systems that learn from labels.
        orders: Partition -> query id -> corpus ids, best first, with ties broken.
        partitions: Partition -> scores of each query; for a system with several seeds, the means over the seeds.
        judged: Partition -> scores on judged pairs only.
        configuration: All settings that change the output of the system.
        n_seeds: Number of seeds.
        spread: Standard deviation of the mean scores over the seeds, of shape (partitions, metrics); None for a
            system with one seed.
        summaries: Interval of the summary over the seeds, of shape (values of the summary, 2); None for a system with
            one seed.
        uses_labels: Whether the system learns from labels of other HS.
        ignores_message: Whether the system ranks the CNs identically for all HS.
        held_out: Partition -> scores of shape (repeats, HS, CNs), and folds of shape (repeats, HS). Only for systems
            that learn from labels and read the message.
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
        """The run for the last partition, which is the broadest tier."""
        return list(self.runs.values())[-1]

    @property
    def ordered(self) -> dict[str, list[str]]:
        """The run for the last partition, with ties broken."""
        return list(self.orders.values())[-1]


@dataclass(frozen=True)
class Benchmark:
    """Scored systems, with the dataset, judgements and settings.

    Attributes:
        collection: The dataset.
        settings: The resolved settings.
        qrels: Partition -> judgements.
        systems: The scored systems by name.
    """

    collection: Collection
    settings: BenchmarkSettings
    qrels: Mapping[str, Qrels]
    systems: Mapping[str, SystemScores]

    @property
    def partitions(self) -> list[str]:
        """The names of the partitions."""
        return list(self.qrels)

    @cached_property
    def values(self) -> Floats:
        """Scores of each HS, nan if undefined; shape (systems, partitions, metrics, HS)."""
        return np.array(
            [
                [[one.partitions[part].values[metric] for metric in self.settings.metrics] for part in self.qrels]
                for one in self.systems.values()
            ]
        )

    @cached_property
    def tie(self) -> TieKey:
        """Order of tied CNs."""
        paper = self.settings.protocol == PAPER
        return tie_by_corpus(self.collection.corpus) if paper else tie_by_hash(self.settings.seed)

    @cached_property
    def groups(self) -> Ints:
        """Leakage group of each HS; shape (HS,)."""
        return leakage_groups(list(self.collection.queries.values()))

    @cached_property
    def primary(self) -> PrimaryComparison:
        """The primary comparison."""
        return choose_primary(self.collection, self.settings, self.qrels)


def choose_primary(
    collection: Collection, settings: BenchmarkSettings, qrels: Mapping[str, Qrels]
) -> PrimaryComparison:
    """Returns the declared primary comparison, or the default one.

    The default metric is NDCG at the default cutoff. The default partition is the broadest one whose labels are all
    confirmed by validators; without such a partition, the broadest one.

    Args:
        collection: The dataset.
        settings: The resolved settings.
        qrels: Partition -> judgements. The broadest partition has the most judgements; of equal ones, it is the last.
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
    return PrimaryComparison(metric, partition, why)


def describe_families(benchmark: Benchmark, labels: Ints, p_values: Floats, differences: Floats) -> list[Family]:
    """Describes the families of tests; families without tests are left out.

    Args:
        benchmark: The benchmark.
        labels: Family of each test: 0 for primary, 1 for exploratory. Shape (tests,).
        p_values: Unadjusted p values, of shape (tests,); nan for a test without an HS.
        differences: Differences of each HS, of shape (tests, HS); nan if undefined.
    """
    settings, primary = benchmark.settings, benchmark.primary
    pairs = "all pairs of systems" if settings.baseline is None else f"{settings.baseline} against every other system"
    descriptions = {
        PRIMARY: f"{pairs}, {primary.metric}, {primary.partition}",
        EXPLORATORY: f"{pairs}, all other metrics and partitions",
    }
    found = []
    for label, (name, tests) in enumerate(descriptions.items()):
        members = labels == label
        if members.any():
            n_tests = int(np.isfinite(p_values[members]).sum())
            units = int(np.isfinite(differences[members]).sum(axis=1).max())
            floor = p_floor(settings.resamples, units) if n_tests else None
            found.append(Family(name, tests, n_tests, floor, units=units))
    return found


def family_signature(benchmark: Benchmark, families: Sequence[Family]) -> dict[str, str]:
    """Returns the parts of the signature for the families of tests."""
    if not families:
        return {}
    baseline = benchmark.settings.baseline
    return {
        "primary": str(benchmark.primary),
        "pairs": "all" if baseline is None else f"against-{baseline}",
        **family_parts(families, "primary-and-exploratory"),
    }


def family_notes(benchmark: Benchmark, families: Sequence[Family]) -> list[str]:
    """Returns notes on the primary comparison, on the exploratory tests, and on families without power."""
    primary, baseline = benchmark.primary, benchmark.settings.baseline
    if baseline is not None and baseline not in benchmark.systems:
        return [f"The baseline {baseline} failed: no systems are compared."]
    if not families:
        return []
    lines = [
        f"Primary comparison: {primary.metric} on {primary.partition} ({primary.why}). All other tests are "
        "exploratory: they suggest hypotheses and confirm none. To declare another primary comparison before you see "
        "results, use --primary METRIC@PARTITION."
    ]
    if baseline is not None and any(family.n_tests for family in families):
        lines.append(f"Only comparisons with {baseline} are tested (--baseline).")
    lines += [
        f"The {family.name} family has no test: no HS has scores of two systems."
        for family in families
        if not family.n_tests
    ]
    return lines + floor_notes(families, "--resamples")
