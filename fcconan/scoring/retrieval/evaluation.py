"""Checks of runs, and their scores for each query of a partition."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats, Qrels
from fcconan.scoring.names import check_names
from fcconan.scoring.retrieval.metrics import (
    NOTHING,
    PAPER_METRICS,
    RANX_METRICS,
    RETRIEVAL_METRICS,
    Ranked,
    chance,
    judged,
    parse_metric,
    ranx_values,
    sort_run,
    tie_by_hash,
    to_gains,
)

Ranking = list[tuple[str, float]]

NOT_IN_CATALOGUE = (
    "is not in the catalogue (under protocol paper, the CNs with a positive in Bronze): rank ids of the catalogue only"
)


def check_run(
    name: str,
    run: Mapping[str, Sequence[tuple[str, float]]],
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
    *,
    not_in_catalogue: str = NOT_IN_CATALOGUE,
) -> dict[str, Ranking]:
    """Checks a run against the dataset.

    Args:
        name: Name of the system, for messages.
        run: Query id -> corpus ids with scores.
        queries: Query id -> text.
        corpus: Corpus id -> text.
        not_in_catalogue: Message for an id that is not in the catalogue.

    Returns:
        The rankings in the dataset's order of queries. Queries without a ranking are not added; scoring counts them.

    Raises:
        InputError: An id is not in the dataset, a CN occurs twice for a query, or a score is not a finite number.
    """
    if not isinstance(run, Mapping):
        raise InputError(f"system {name!r} returned {type(run).__name__}: rank() returns a dict of query id to ranking")
    unknown = [query for query in run if query not in queries]
    if unknown:
        raise InputError(
            f"the run of {name!r} ranks query {unknown[0]!r}, which the dataset does not have "
            f"({len(unknown)} of {len(run)} queries are unknown): rank the queries of this dataset only"
        )
    return {
        query: _check_ranking(name, query, run[query], corpus, not_in_catalogue) for query in queries if query in run
    }


def _check_ranking(
    name: str, query: str, ranking: Sequence[tuple[str, float]], corpus: Mapping[str, str], not_in_catalogue: str
) -> Ranking:
    where = f"the run of {name!r}, query {query!r}"
    seen: set[str] = set()
    result: Ranking = []
    if not isinstance(ranking, Iterable):
        raise InputError(f"{where}: the ranking is {type(ranking).__name__}, expected a list of corpus ids with scores")
    for entry in ranking:
        try:
            key, score = entry
            value = float(score)
            known = key in corpus
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{where}: {entry!r} is not a corpus id with a score") from error
        if not known:
            raise InputError(f"{where}: {key!r} {not_in_catalogue}")
        if isinstance(score, str | bytes):  # float() accepts texts such as "1"
            raise InputError(f"{where}: the score of {key!r} is the text {score!r}: scores are numbers")
        if key in seen:
            raise InputError(f"{where}: {key!r} is ranked twice: rank every id once")
        if not math.isfinite(value):
            raise InputError(f"{where}: the score of {key!r} is {value}: scores are finite numbers")
        seen.add(key)
        result.append((key, value))
    return result


TABLE_4 = ("hit_rate@10", "mrr@10", "ndcg@10", "map@10")
ALL_METRICS = (*TABLE_4, "precision@10", "recall@10", "f1@10", "accuracy@10")


@dataclass(frozen=True)
class Rule:
    """The metrics and the conventions of their computation.

    Attributes:
        metrics: Names with cutoffs, such as `ndcg@10`. ranx computes metrics that are not in `RETRIEVAL_METRICS`.
        capped: Whether average precision is divided by min(k, positives), as in FC-CONAN's Table 4.
        all_queries: Whether queries without a positive count as 0; otherwise they are left out.
        brackets: Whether to compute also the values that result if unjudged CNs are relevant.
    """

    metrics: tuple[str, ...] = TABLE_4
    capped: bool = False
    all_queries: bool = False
    brackets: bool = True


@dataclass(frozen=True)
class Evaluation:
    """The values of one system on one partition.

    Attributes:
        query_ids: Ids of the queries.
        values: Metric -> values, shape (queries,); nan for a failed query, and for a query without a positive if the
            rule leaves it out.
        unjudged_right: Metric -> values if every unjudged CN among the first k is relevant, shape (queries,).
        judged: Share of the first k that is judged, shape (queries,); nan for failed queries and empty rankings.
        n_without_positive: Number of queries without a positive.
        n_empty: Number of queries with an empty ranking.
        n_short: Number of queries with fewer than k CNs, but at least one.
        n_failed: Number of queries for which the system failed.
    """

    query_ids: tuple[str, ...]
    values: dict[str, Floats]
    unjudged_right: dict[str, Floats]
    judged: Floats
    n_without_positive: int
    n_empty: int
    n_short: int
    n_failed: int


def metric_names(metrics: Sequence[str], k: int) -> tuple[str, ...]:
    """Returns the full names of metrics, each once, such as `ndcg@10` for `NDCG`; names of ranx do not change.

    Args:
        metrics: Names, with or without a cutoff.
        k: Cutoff of names without one.

    Raises:
        InputError: There are no names, a name is unknown, or a cutoff is not a positive whole number.
    """
    names = []
    for metric in metrics:
        name, cutoff = parse_metric(metric, k)
        check_names("metric", [name.split(".")[0]], [*RETRIEVAL_METRICS, *RANX_METRICS])
        names.append(f"{name}@{cutoff}" if name in RETRIEVAL_METRICS else metric.strip())
    if not names:
        raise InputError("there are no metrics: give one or more, such as ndcg@10")
    return tuple(dict.fromkeys(names))


def evaluate(
    ordered: Mapping[str, Sequence[str]],
    qrels: Qrels,
    query_ids: Sequence[str],
    *,
    n_corpus: int,
    k: int,
    rule: Rule,
    failed: Sequence[str] = (),
) -> Evaluation:
    """Scores the rankings of a system.

    Args:
        ordered: Query id -> corpus ids, best first, ties broken.
        qrels: Query id -> corpus id -> relevance; CNs without an entry are unjudged and count as not relevant.
        query_ids: Ids of the queries.
        n_corpus: Size of the catalogue.
        k: Cutoff of `judged` and of the counts.
        rule: Metrics and conventions.
        failed: Queries for which the system failed, which have no value.

    Raises:
        InputError: A metric is unknown, to ranx as well.
    """
    depth = max([k, *(parse_metric(metric, k)[1] for metric in rule.metrics)])
    ranked = to_gains(ordered, qrels, query_ids, n_corpus, depth=depth, failed=failed)
    positive = ranked.n_positive > 0
    counted = ~ranked.failed & (positive | rule.all_queries)
    values = own_values(ranked, rule)
    foreign = [metric for metric in rule.metrics if metric not in values]
    values |= ranx_values(ordered, qrels, query_ids, foreign) if foreign else {}
    right: dict[str, Floats] = {}
    cutoffs = {parse_metric(metric, k)[1] for metric in rule.metrics} if rule.brackets else set()
    for cutoff in sorted(cutoffs):
        bracket = own_values(ranked.with_unjudged_right(cutoff), rule)
        right |= {metric: value for metric, value in bracket.items() if parse_metric(metric, k)[1] == cutoff}
    returned = (ranked.top(k) != NOTHING).sum(axis=1)
    done = ~ranked.failed
    return Evaluation(
        query_ids=tuple(query_ids),
        values={metric: np.where(counted, values[metric], np.nan) for metric in rule.metrics},
        unjudged_right={metric: np.where(counted, value, np.nan) for metric, value in right.items()},
        judged=np.where(done & (returned > 0), judged(ranked, k), np.nan),
        n_without_positive=int((~positive).sum()),
        n_empty=int((done & (returned == 0)).sum()),
        n_short=int((done & (returned > 0) & (returned < min(k, n_corpus))).sum()),
        n_failed=int(ranked.failed.sum()),
    )


def own_values(ranked: Ranked, rule: Rule) -> dict[str, Floats]:
    """Returns the values of the rule's metrics, shape (queries,) each, without those that only ranx computes."""
    table = PAPER_METRICS if rule.capped else RETRIEVAL_METRICS
    found = {}
    for metric in rule.metrics:
        name, cutoff = parse_metric(metric, 1)
        if name in table and "@" in metric:
            found[metric] = table[name](ranked, cutoff)
    return found


def chance_levels(qrels: Qrels, query_ids: Sequence[str], *, n_corpus: int, rule: Rule) -> dict[str, Floats]:
    """Returns the expected values of the rule's metrics for a random order of the catalogue.

    Args:
        qrels: Query id -> corpus id -> relevance.
        query_ids: Ids of the queries.
        n_corpus: Size of the catalogue.
        rule: Metrics and conventions.

    Returns:
        Metric -> expected values, shape (queries,); nan for queries that are left out, and for metrics of ranx.
    """
    ranked = to_gains({}, qrels, query_ids, n_corpus, depth=1)
    counted = (ranked.n_positive > 0) | rule.all_queries
    levels = {}
    for metric in rule.metrics:
        name, cutoff = parse_metric(metric, 1)
        level = chance(ranked, name if "@" in metric else "", cutoff, capped=rule.capped)
        levels[metric] = np.where(counted, level, np.nan)
    return levels


def evaluate_run(
    run: Any,
    qrels: Any,
    *,
    metrics: Sequence[str] = ALL_METRICS,
    k: int = 10,
    n_corpus: int | None = None,
    seed: int = 0,
) -> dict[str, float]:
    """Scores a run under protocol `sound`: queries without a positive are left out, and ties are broken by hash.

    Args:
        run: Query id -> corpus ids with scores, as pairs or a mapping; or a `Run` of ranx.
        qrels: Query id -> corpus id -> relevance; or `Qrels` of ranx.
        metrics: Names of metrics, with or without a cutoff.
        k: Cutoff of names without one.
        n_corpus: Size of the catalogue, for `accuracy`; None for the number of CNs that are judged or ranked.
        seed: Seed of the tie rule.

    Returns:
        Metric -> mean over the queries of `qrels` that have a positive. A query without a ranking counts as 0.

    Raises:
        InputError: A ranking has a CN twice, or a score that is not a finite number; or a metric is unknown.

    Examples:
        >>> evaluate_run({"hs": {"cn1": 0.9, "cn2": 0.4}}, {"hs": {"cn2": 1}}, metrics=["mrr@10"])
        {'mrr@10': 0.5}
    """
    run, qrels = (given.to_dict() if hasattr(given, "to_dict") else given for given in (run, qrels))
    for name, given in (("run", run), ("qrels", qrels)):
        if not isinstance(given, Mapping):
            raise InputError(f"{name} is a {type(given).__name__}, expected a mapping of query ids, or that of ranx")
    run = {query: list(row.items()) if isinstance(row, Mapping) else row for query, row in run.items()}
    known = {key for judged_cns in qrels.values() for key in judged_cns}
    known |= {key for ranking in run.values() for key, _ in ranking}
    catalogue = dict.fromkeys(known, "")
    checked = check_run("run", run, dict.fromkeys(qrels, ""), catalogue)
    ordered = sort_run(checked, tie_by_hash(seed))
    rule = Rule(metric_names(metrics, k))
    found = evaluate(ordered, qrels, list(qrels), n_corpus=n_corpus or len(catalogue), k=k, rule=rule)
    return {
        name: float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
        for name, values in found.values.items()
    }
