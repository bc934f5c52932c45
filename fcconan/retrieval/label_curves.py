"""Learning curves: scores of systems that learn, with fewer labelled HS and with fewer judgements per HS."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from fcconan.data import balanced_folds
from fcconan.retrieval.benchmark_settings import Benchmark
from fcconan.retrieval.benchmark_statistics import to_number
from fcconan.retrieval.collections import Qrels
from fcconan.retrieval.label_learning import (
    LabelledPair,
    TooFewLabelsError,
    labelled_pairs,
    learns_from_labels,
    rank_held_out,
)
from fcconan.retrieval.systems import Rankings, Retriever
from fcconan.scoring import evaluate, means, sort_run

SHARES = (0.125, 0.25, 0.5, 1.0)  # shares of the HS with labels
JUDGEMENTS = (5, 10, 20, 40)  # per HS
MIN_HS = 4
FOLDS = 10  # folds of HS; few, because each point needs one fit per fold and seed


def compute_learning_curves(benchmark: Benchmark, systems: Sequence[Retriever], *, seeds: int) -> dict[str, Any]:
    """Computes learning curves over the number of labelled HS and over the number of judgements per HS.

    For each point, labels are subsampled at random. In each of 10 folds by leakage group, a system is fitted on the
    subsampled labels of the other folds.

    Args:
        benchmark: The scored benchmark.
        systems: The systems; those that do not learn, or failed, are left out.
        seeds: Number of random subsets for each point.

    Returns:
        A JSON-able dict. `metric` and `partition` are those of the primary comparison (the last partition, if it is an
        average). Each of the `rows` has the mean score and its 2.5th and 97.5th percentiles over `n` subsets; they are
        None if no subset could be learned from. `baseline` has the scores of the systems that do not learn.
    """
    collection, settings = benchmark.collection, benchmark.settings
    primary = benchmark.primary
    partition = primary.partition if primary.partition in benchmark.qrels else benchmark.partitions[-1]
    metric = primary.metric if primary.metric in settings.metrics else settings.metrics[0]
    judged = benchmark.qrels[partition]
    folds = balanced_folds(benchmark.groups.tolist(), FOLDS, seed=settings.seed)
    labels = labelled_pairs(collection, judged, benchmark.groups)
    n_labelled = len({label.query_id for label in labels})
    numbers = dict.fromkeys(max(MIN_HS, round(share * n_labelled)) for share in SHARES)
    points: list[tuple[int, int | None]] = [(number_of_hs, None) for number_of_hs in numbers]
    points += [(n_labelled, n_judged) for n_judged in JUDGEMENTS if n_judged < len(labels) / max(n_labelled, 1)]
    rows = []
    for system in (one for one in systems if learns_from_labels(one) and one.name in benchmark.systems):
        for n_hs, n_judged in points:
            scores = []
            for seed in range(1 if (n_hs, n_judged) == (n_labelled, None) else seeds):
                subset = subsample_labels(labels, n_hs, n_judged, seed=settings.seed + seed)
                try:
                    run = rank_held_out(system, collection, subset, folds, settings.depth)  # type: ignore[arg-type]
                except TooFewLabelsError:
                    continue
                value = _mean(run, judged, benchmark, metric)
                scores += [value] if np.isfinite(value) else []  # no value if it failed on every HS
            low, high = np.percentile(scores, [2.5, 97.5]) if scores else (np.nan, np.nan)
            row = {"system": system.name, "labelled_hs": n_hs, "judged_per_hs": n_judged, "n": len(scores)}
            mean = np.mean(scores) if scores else np.nan
            rows.append(row | {"mean": to_number(mean), "low": to_number(low), "high": to_number(high)})
    others = {name: one for name, one in benchmark.systems.items() if not one.uses_labels}
    baseline = {name: to_number(means(one.partitions[partition].values[metric])) for name, one in others.items()}
    return {"partition": partition, "metric": metric, "seeds": seeds, "rows": rows, "baseline": baseline}


def subsample_labels(
    labels: Sequence[LabelledPair], n_hs: int, n_judged: int | None, *, seed: int
) -> list[LabelledPair]:
    """Subsamples labels at random.

    With one seed, a smaller subset is part of each larger one.

    Args:
        labels: All labels.
        n_hs: Number of HS with labels.
        n_judged: Maximum number of labels for each HS; None for all.
        seed: Seed of the choice of HS and labels.

    Returns:
        The chosen labels, in the order of `labels`.
    """
    of_hs: dict[str, list[int]] = defaultdict(list)
    for index, label in enumerate(labels):
        of_hs[label.query_id].append(index)
    generator = np.random.default_rng(seed)
    names = [list(of_hs)[index] for index in generator.permutation(len(of_hs))]
    chosen: list[int] = []
    for name in names[:n_hs]:
        order = np.random.default_rng([seed, names.index(name)]).permutation(of_hs[name])
        chosen += order[:n_judged].tolist()
    return [labels[index] for index in sorted(chosen)]


def _mean(run: Rankings, judged: Qrels, benchmark: Benchmark, metric: str) -> float:
    """Returns the mean of a metric over HS, without those on which the system failed."""
    collection, settings = benchmark.collection, benchmark.settings
    scores = evaluate(
        sort_run(run, benchmark.tie),
        judged,
        list(collection.queries),
        n_corpus=len(collection.corpus),
        k=settings.k,
        rule=settings.rule,
        failed=list(run.failures),
    )
    return float(means(scores.values[metric]))
