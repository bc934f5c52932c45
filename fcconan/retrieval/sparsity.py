"""Effect of sparse labels on scores, measured by random removal of positives.

FC-CONAN claims that scores on sparsely labelled data are lower bounds, and that the order of systems can change. The
study removes the same positives for all systems and computes the metrics again.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fcconan.scoring import PAPER_METRICS, RETRIEVAL_METRICS, Rule, chance, kendall_tau, parse_metric, to_gains

if TYPE_CHECKING:
    from fcconan.retrieval.benchmark_settings import BenchmarkSettings
    from fcconan.retrieval.collections import Collection

Floats = npt.NDArray[np.float64]
FRACTIONS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)


def study_sparsity(
    runs: Mapping[str, Mapping[str, Sequence[str]]],
    qrels: Mapping[str, Mapping[str, int]],
    query_ids: Sequence[str],
    *,
    n_corpus: int,
    k: int,
    rule: Rule,
    failed: Mapping[str, Sequence[str]] | None = None,
    fractions: Sequence[float] = FRACTIONS,
    seeds: int = 100,
    seed: int = 0,
) -> dict[str, Any]:
    """Removes positives at random and scores again.

    Args:
        runs: System -> query id -> corpus ids, best first, to the depth of the metrics or deeper.
        qrels: Query id -> corpus id -> relevance.
        query_ids: Ids of the queries.
        n_corpus: Size of the catalogue.
        k: Cutoff of metrics without one.
        rule: The metrics, and the treatment of queries without a positive.
        failed: System -> ids of queries on which it failed; its means leave them out.
        fractions: Shares of the positives that are retained.
        seeds: Number of random removals for each fraction.
        seed: Seed of all removals.

    Returns:
        A JSON-able dict. Each fraction has:

        - the number of positives, and the mean number of queries with a positive;
        - for each metric and system, the mean score over removals with standard deviation and 2.5th and 97.5th
          percentiles; removals without a score are ignored;
        - for each metric, the chance level;
        - for each metric, Kendall's tau-b between the order of systems and their order under all labels: mean,
          percentiles, and the number of removals without an order.

        Metrics that only ranx has are left out.
    """
    table = PAPER_METRICS if rule.capped else RETRIEVAL_METRICS
    parsed = {metric: parse_metric(metric, k) for metric in rule.metrics}
    parsed = {metric: (name, cutoff) for metric, (name, cutoff) in parsed.items() if name in RETRIEVAL_METRICS}
    depth = max((cutoff for _, cutoff in parsed.values()), default=k)

    def score(labels: Mapping[str, Mapping[str, int]]) -> tuple[Floats, Floats, int]:
        """Returns means (systems, metrics), chance levels (metrics,) and the number of queries with a positive."""
        empty = to_gains({}, labels, query_ids, n_corpus, depth=depth)
        counted = (empty.n_positive > 0) | rule.all_queries
        levels = [_mean(chance(empty, name, at, capped=rule.capped), counted) for name, at in parsed.values()]
        means = np.zeros((len(runs), len(parsed)))
        for row, (system, run) in enumerate(runs.items()):
            ranked = to_gains(run, labels, query_ids, n_corpus, depth=depth, failed=(failed or {}).get(system, ()))
            means[row] = [_mean(table[name](ranked, at), counted & ~ranked.failed) for name, at in parsed.values()]
        return means, np.array(levels), int((empty.n_positive > 0).sum())

    positives = [(query, key) for query in query_ids for key, value in qrels.get(query, {}).items() if value > 0]
    generator = np.random.default_rng(seed)
    full = score(qrels)[0]
    study = []
    for fraction in fractions:
        n_retained = max(1, round(fraction * len(positives))) if positives else 0
        repetitions = []
        for _ in range(1 if n_retained == len(positives) else seeds):
            subset: dict[str, dict[str, int]] = {query: {} for query in query_ids}
            for index in generator.permutation(len(positives))[:n_retained]:
                query, key = positives[index]
                subset[query][key] = qrels[query][key]
            repetitions.append(score(subset))
        means, levels, with_positive = (np.array(values) for values in zip(*repetitions, strict=True))
        study.append(
            {
                "fraction": fraction,
                "positives": n_retained,
                "queries_with_positive": float(np.mean(with_positive)),
                "metrics": {
                    metric: _metric_summary(means[:, :, j], levels[:, j], full[:, j], list(runs))
                    for j, metric in enumerate(parsed)
                },
            }
        )
    return {
        "seeds": seeds,
        "seed": seed,
        "without_positive": "count as 0" if rule.all_queries else "left out",
        "fractions": study,
    }


def _mean(values: Floats, counted: npt.NDArray[np.bool_]) -> float:
    return float(values[counted].mean()) if counted.any() else float("nan")


def _metric_summary(repetitions: Floats, chances: Floats, full: Floats, systems: Sequence[str]) -> dict[str, Any]:
    tau = kendall_tau(repetitions, np.broadcast_to(full, repetitions.shape))  # nan for a single system
    return {
        "systems": {name: _summarise(repetitions[:, i]) for i, name in enumerate(systems)},
        "chance": _summarise(chances)["mean"],
        "tau": {**_summarise(tau), "without_order": int(np.isnan(tau).sum())},
    }


def _summarise(values: Floats) -> dict[str, float | None]:
    """Returns mean, standard deviation and percentiles of the finite values; None if there are none."""
    n_retained = values[np.isfinite(values)]
    if not len(n_retained):
        return dict.fromkeys(("mean", "sd", "low", "high"))
    low, high = np.quantile(n_retained, [0.025, 0.975])
    deviation = n_retained.std(ddof=1) if len(n_retained) > 1 else 0.0
    statistics = {"mean": n_retained.mean(), "sd": deviation, "low": low, "high": high}
    return {key: round(float(value), 10) for key, value in statistics.items()}


def study_broadest(
    collection: "Collection", details: Mapping[str, Any], settings: "BenchmarkSettings", *, seeds: int
) -> dict[str, Any]:
    """Runs the study on the broadest partition of a benchmark.

    Args:
        collection: The dataset.
        details: Second return value of `fcconan.retrieval.benchmark.bench`.
        settings: Settings of the benchmark.
        seeds: Number of random removals for each fraction.

    Returns:
        The result of `study_sparsity`, and the `partition`.
    """
    part = list(collection.partitions)[-1]
    study = study_sparsity(
        details["deep_runs"],
        details["labels"][part],
        list(collection.queries),
        n_corpus=len(collection.corpus),
        k=settings.k,
        rule=settings.rule,
        failed=details["failed"],
        seeds=seeds,
        seed=settings.seed,
    )
    return {"partition": part} | study
