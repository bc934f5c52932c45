"""What sparse labels do to scores: positives are removed at random, and the metrics are looked at again.

FC-CONAN claims that scores on sparsely labelled data are lower bounds, and that the order of systems can change. Here
it is measured: a removed positive is no longer known to be one, for every system alike.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fcconan.scoring import PAPER_METRICS, RETRIEVAL_METRICS, Ranked, Rule, chance, kendall_tau, parse_metric, to_gains

if TYPE_CHECKING:
    from fcconan.retrieval.benchmark_settings import Settings
    from fcconan.retrieval.collections import Collection

Floats = npt.NDArray[np.float64]
FRACTIONS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)


def sparsity_study(
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
        runs: System to query id to corpus ids, best first, at least as deep as the metrics.
        qrels: Query id to corpus id to relevance.
        query_ids: The queries.
        n_corpus: Size of the catalogue.
        k: Cutoff of metrics without one.
        rule: The metrics, and whether queries without a positive count as 0 or are left out.
        failed: System to the queries for which it failed; its means leave them out.
        fractions: Shares of the positives that are kept.
        seeds: Random removals for every fraction.
        seed: Decides them all.

    Returns:
        JSON-able, for every fraction: the number of positives and the mean number of queries that have one; for every
        metric and system the mean over those removals that leave a figure, with standard deviation and 2.5th and 97.5th
        percentile; chance; and the agreement of the order of systems with the order under all labels (Kendall's tau-b:
        mean, percentiles, removals without an order). Metrics that only ranx has are left out.
    """
    names = [metric for metric in rule.metrics if parse_metric(metric, k)[0] in RETRIEVAL_METRICS]
    positives = [(query, key) for query in query_ids for key, value in qrels.get(query, {}).items() if value > 0]
    generator = np.random.default_rng(seed)
    failed = failed or {}
    full = _figures(runs, qrels, query_ids, n_corpus, k, rule, names, failed)[0]
    study = []
    for fraction in fractions:
        kept = max(1, round(fraction * len(positives))) if positives else 0
        repeats = 1 if kept == len(positives) else seeds
        scores, chances, with_positive = [], [], []
        for _ in range(repeats):
            chosen = generator.permutation(len(positives))[:kept]
            thinned: dict[str, dict[str, int]] = {query: {} for query in query_ids}
            for index in chosen:
                query, key = positives[index]
                thinned[query][key] = qrels[query][key]
            figures, level, count = _figures(runs, thinned, query_ids, n_corpus, k, rule, names, failed)
            scores.append(figures)
            chances.append(level)
            with_positive.append(count)
        drawn = np.array(scores)  # removals, systems, metrics
        study.append(
            {
                "fraction": fraction,
                "positives": kept,
                "queries_with_positive": float(np.mean(with_positive)),
                "metrics": {
                    metric: _metric(drawn[:, :, j], np.array(chances)[:, j], full[:, j], list(runs))
                    for j, metric in enumerate(names)
                },
            }
        )
    return {
        "seeds": seeds,
        "seed": seed,
        "without_positive": "count as 0" if rule.all_queries else "left out",
        "fractions": study,
    }


def _figures(
    runs: Mapping[str, Mapping[str, Sequence[str]]],
    qrels: Mapping[str, Mapping[str, int]],
    query_ids: Sequence[str],
    n_corpus: int,
    k: int,
    rule: Rule,
    names: Sequence[str],
    failed: Mapping[str, Sequence[str]],
) -> tuple[Floats, Floats, int]:
    """Returns means of shape (systems, metrics), chance levels of shape (metrics,), and queries with a positive."""
    table = PAPER_METRICS if rule.capped else RETRIEVAL_METRICS
    depth = max((parse_metric(metric, k)[1] for metric in names), default=k)
    rows, ranked = [], None
    for system, run in runs.items():
        ranked = to_gains(run, qrels, query_ids, n_corpus, depth=depth, failed=failed.get(system, ()))
        counted = ~ranked.failed & ((ranked.n_positive > 0) | rule.all_queries)
        rows.append(
            [_mean(table[name](ranked, cutoff), counted) for name, cutoff in (parse_metric(m, k) for m in names)]
        )
    ranked = ranked or to_gains({}, qrels, query_ids, n_corpus, depth=depth)
    means = np.array(rows).reshape(len(runs), len(names))
    return means, _chance(ranked, names, k, rule), int((ranked.n_positive > 0).sum())


def _chance(ranked: Ranked, names: Sequence[str], k: int, rule: Rule) -> Floats:
    counted = (ranked.n_positive > 0) | rule.all_queries
    levels = (chance(ranked, *parse_metric(metric, k), capped=rule.capped) for metric in names)
    return np.array([_mean(level, counted) for level in levels])


def _mean(values: Floats, counted: npt.NDArray[np.bool_]) -> float:
    return float(values[counted].mean()) if counted.any() else float("nan")


def _metric(drawn: Floats, chances: Floats, full: Floats, systems: Sequence[str]) -> dict[str, Any]:
    tau = kendall_tau(drawn, np.broadcast_to(full, drawn.shape))  # nan of one system
    return {
        "systems": {name: _spread(drawn[:, i]) for i, name in enumerate(systems)},
        "chance": _spread(chances)["mean"],
        "tau": {**_spread(tau), "without_order": int(np.isnan(tau).sum())},
    }


def _spread(values: Floats) -> dict[str, float | None]:
    """Describes the values that there are; a removal may leave none."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return dict.fromkeys(("mean", "sd", "low", "high"))
    low, high = np.quantile(kept, [0.025, 0.975])
    deviation = kept.std(ddof=1) if len(kept) > 1 else 0.0
    figures = {"mean": kept.mean(), "sd": deviation, "low": low, "high": high}
    return {key: round(float(value), 10) for key, value in figures.items()}


def study(collection: "Collection", details: Mapping[str, Any], settings: "Settings", *, seeds: int) -> dict[str, Any]:
    """Runs the study on the broadest partition of a benchmark.

    Args:
        collection: The dataset.
        details: What `fcconan.retrieval.benchmark.bench` returned beside its result.
        settings: Of the benchmark.
        seeds: Random removals for every fraction.

    Returns:
        What `sparsity_study` returns, and the `partition`.
    """
    part = list(collection.partitions)[-1]
    found = sparsity_study(
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
    return {"partition": part} | found
