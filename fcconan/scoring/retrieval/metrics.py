"""Retrieval metrics at a cutoff for each query, from one matrix of gains or by ranx.

Every metric is a pure function of the rankings (`Ranked`). Values equal those of ranx and trec_eval, if these define
the metric; `tests/scoring/test_retrieval.py` checks this. FC-CONAN's Table 4 divides average precision by
min(k, positives), ranx and trec_eval by the number of positives; both versions are here, with different names.

ranx pairs queries by insertion order, breaks ties arbitrarily, rejects empty and missing queries, and compiles for up
to a minute on the first call. It is therefore called with the same queries in the same order, scores made from ranks,
and for a query without a ranking a single unknown document, so that all its metrics are 0.
"""

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints, Qrels

TieKey = Callable[[str, str], Any]

UNJUDGED = -1
NOTHING = -2


@dataclass(frozen=True)
class Ranked:
    """The rankings of one system with the judgements of one partition.

    Attributes:
        query_ids: Ids of the queries, in the dataset's order.
        gains: Judged relevance at each rank, shape (queries, depth); `UNJUDGED` for unjudged CNs, `NOTHING` past the
            end of a ranking.
        relevances: Relevances of all positives of each query, highest first, padded with 0; shape (queries, most
            positives).
        n_corpus: Size of the catalogue.
        failed: Whether the system failed for each query, shape (queries,).
    """

    query_ids: tuple[str, ...]
    gains: Ints
    relevances: Ints
    n_corpus: int
    failed: Flags

    @property
    def n_positive(self) -> Ints:
        """Number of positives of each query; shape (queries,)."""
        return np.asarray((self.relevances > 0).sum(axis=1), dtype=np.int64)

    def top(self, k: int) -> Ints:
        """Returns the gains of the first k ranks, padded with `NOTHING`; shape (queries, k)."""
        top = self.gains[:, :k]
        return np.pad(top, ((0, 0), (0, k - top.shape[1])), constant_values=NOTHING)

    def with_unjudged_right(self, k: int) -> "Ranked":
        """Returns the rankings with every unjudged CN among the first k counted as a further positive."""
        gains = self.gains.copy()
        top = gains[:, :k]
        added = (top == UNJUDGED).sum(axis=1)
        top[top == UNJUDGED] = 1
        width = int(added.max(initial=0))
        more = (np.arange(width) < added[:, None]).astype(np.int64)
        relevances = -np.sort(-np.concatenate([self.relevances, more], axis=1), axis=1)
        return Ranked(self.query_ids, gains, relevances, self.n_corpus, self.failed)


def sort_run(rankings: Mapping[str, Sequence[tuple[str, float]]], tie_key: TieKey) -> dict[str, list[str]]:
    """Sorts each ranking by score, highest first, and tied ids by `tie_key(query id, corpus id)`, lowest first."""
    ordered = {}
    for query, ranking in rankings.items():
        scores = [score for _, score in ranking]
        if len(set(scores)) == len(scores):
            ordered[query] = [key for key, _ in sorted(ranking, key=lambda entry: -entry[1])]
        else:
            ordered[query] = [
                key for key, _ in sorted(ranking, key=lambda entry: (-entry[1], tie_key(query, entry[0])))
            ]
    return ordered


def tie_by_hash(seed: int) -> TieKey:
    """Returns a tie rule that orders tied ids randomly for each query, and equally for all systems.

    A system with the same score for all CNs is therefore at chance level.
    """
    return lambda query, key: hashlib.sha256(f"{seed}\n{query}\n{key}".encode()).digest()


def tie_by_corpus(corpus: Mapping[str, str]) -> TieKey:
    """Returns the paper's tie rule: tied ids are in the order of the catalogue."""
    position = {key: index for index, key in enumerate(corpus)}
    return lambda query, key: position[key]


def to_gains(
    ordered: Mapping[str, Sequence[str]],
    qrels: Qrels,
    query_ids: Sequence[str],
    n_corpus: int,
    *,
    depth: int,
    failed: Sequence[str] = (),
) -> Ranked:
    """Looks up the judged relevance at each rank.

    Args:
        ordered: Query id -> corpus ids, best first. A query without an entry has an empty ranking.
        qrels: Query id -> corpus id -> relevance; CNs without an entry are unjudged.
        query_ids: Ids of the queries, in the order of the result.
        n_corpus: Size of the catalogue.
        depth: Number of ranks to look up.
        failed: Queries for which the system failed.
    """
    gains = np.full((len(query_ids), depth), NOTHING, dtype=np.int64)
    relevances = []
    for row, query in enumerate(query_ids):
        judged = qrels.get(query, {})
        # TREC marks junk by negative relevances: judged, and wrong.
        seen = [max(judged[key], 0) if key in judged else UNJUDGED for key in ordered.get(query, ())[:depth]]
        gains[row, : len(seen)] = seen
        relevances.append(sorted((value for value in judged.values() if value > 0), reverse=True))
    width = max((len(values) for values in relevances), default=0)
    padded = np.zeros((len(query_ids), width), dtype=np.int64)
    for row, values in enumerate(relevances):
        padded[row, : len(values)] = values
    gone = set(failed)
    return Ranked(
        tuple(query_ids), gains, padded, n_corpus, np.array([query in gone for query in query_ids], dtype=np.bool_)
    )


def _divide(above: Floats, below: Floats | Ints) -> Floats:
    """Divides; 0 for a denominator of 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=np.asarray(below) > 0)


def _hits(ranked: Ranked, k: int) -> Floats:
    return np.asarray(ranked.top(k) > 0, dtype=np.float64)


def hit_rate(ranked: Ranked, k: int) -> Floats:
    """Hit ratio: whether any of the first k is a positive."""
    return _hits(ranked, k).max(axis=1, initial=0.0)


def mrr(ranked: Ranked, k: int) -> Floats:
    """Reciprocal rank of the first positive among the first k, else 0."""
    return (_hits(ranked, k) / np.arange(1, k + 1)).max(axis=1, initial=0.0)


def precision(ranked: Ranked, k: int) -> Floats:
    """Positives among the first k, over k."""
    return _hits(ranked, k).sum(axis=1) / k


def recall(ranked: Ranked, k: int) -> Floats:
    """Positives among the first k, over all positives."""
    return _divide(_hits(ranked, k).sum(axis=1), ranked.n_positive)


def f1(ranked: Ranked, k: int) -> Floats:
    """Harmonic mean of precision and recall at k."""
    above = 2 * precision(ranked, k) * recall(ranked, k)
    return _divide(above, precision(ranked, k) + recall(ranked, k))


def accuracy(ranked: Ranked, k: int) -> Floats:
    """Share of the catalogue that is labelled correctly if exactly the first k are labelled appropriate."""
    top = ranked.top(k)
    right = _hits(ranked, k).sum(axis=1)
    returned = (top != NOTHING).sum(axis=1)
    wrong = (returned - right) + (ranked.n_positive - right)
    return 1 - wrong / ranked.n_corpus


def _discounts(k: int) -> Floats:
    return 1 / np.log2(np.arange(2, k + 2))


def ndcg(ranked: Ranked, k: int) -> Floats:
    """NDCG at k, with linear gain and the ideal ranking truncated at k (Järvelin and Kekäläinen, 2002)."""
    gained = np.maximum(ranked.top(k), 0) @ _discounts(k)
    ideal = ranked.relevances[:, :k]
    return _divide(gained, ideal @ _discounts(ideal.shape[1]))


def _precision_sum(ranked: Ranked, k: int) -> Floats:
    hits = _hits(ranked, k)
    return (hits * np.cumsum(hits, axis=1) / np.arange(1, k + 1)).sum(axis=1)


def average_precision(ranked: Ranked, k: int) -> Floats:
    """Average precision at k, divided by the number of positives (ranx, trec_eval)."""
    return _divide(_precision_sum(ranked, k), ranked.n_positive)


def average_precision_capped(ranked: Ranked, k: int) -> Floats:
    """Average precision at k, divided by min(k, positives), as in FC-CONAN's Table 4."""
    return _divide(_precision_sum(ranked, k), np.minimum(ranked.n_positive, k))


def judged(ranked: Ranked, k: int) -> Floats:
    """Share of the returned first k that is judged in the partition; 0 for an empty ranking.

    `fcconan.scoring.retrieval.evaluation.evaluate` leaves empty rankings out of the mean.
    """
    top = ranked.top(k)
    return _divide((top >= 0).sum(axis=1).astype(np.float64), (top != NOTHING).sum(axis=1))


Metric = Callable[[Ranked, int], Floats]
RETRIEVAL_METRICS: dict[str, Metric] = {
    "hit_rate": hit_rate,
    "mrr": mrr,
    "ndcg": ndcg,
    "map": average_precision,
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "accuracy": accuracy,
}
PAPER_METRICS: dict[str, Metric] = RETRIEVAL_METRICS | {"map": average_precision_capped}
ALIASES = {"hit_ratio": "hit_rate", "ap": "map", "rr": "mrr", "reciprocal_rank": "mrr"}


def parse_metric(text: str, k: int) -> tuple[str, int]:
    """Returns the name and the cutoff of a metric such as `ndcg@10`.

    Args:
        text: Name of the metric, with or without a cutoff.
        k: Cutoff of a name without one.

    Raises:
        InputError: The cutoff is not a positive whole number.
    """
    name, at, cutoff = text.strip().lower().partition("@")
    if at and not (cutoff.isdecimal() and int(cutoff) > 0):
        raise InputError(f"metric {text!r} has the cutoff {cutoff!r}: give a positive whole number, such as ndcg@10")
    return ALIASES.get(name, name), int(cutoff) if at else k


def chance(ranked: Ranked, name: str, k: int, *, capped: bool = False) -> Floats:
    """Computes the exact expected value of a metric for each query if the catalogue is ranked at random.

    Args:
        ranked: Positives of each query and size of the catalogue; the rankings have no effect.
        name: Name of the metric, a key of `RETRIEVAL_METRICS`.
        k: Cutoff of the metric.
        capped: Whether average precision is divided by min(k, positives).

    Returns:
        Expected values, shape (queries,); nan for other metrics.
    """
    n = ranked.n_corpus
    depth = min(k, n)
    positives = ranked.n_positive
    ranks = np.arange(1, depth + 1)
    share = positives / n if n else np.zeros(len(positives))
    if name == "precision":
        return np.asarray(share * depth / k)
    if name == "recall":
        return np.where(positives > 0, depth / max(n, 1), 0.0)
    if name == "accuracy":
        return np.asarray(1 - (depth + positives - 2 * depth * share) / n)
    if name == "ndcg":
        total = ranked.relevances.sum(axis=1) / n
        ideal = ranked.relevances[:, :k]
        return _divide(total * _discounts(depth).sum(), ideal @ _discounts(ideal.shape[1]))
    if name == "map":
        below = np.minimum(positives, k) if capped else positives
        others = (positives - 1) / max(n - 1, 1)
        return _divide((share[:, None] * (1 + (ranks - 1) * others[:, None]) / ranks).sum(axis=1), below)
    if name in ("hit_rate", "mrr", "f1"):
        return np.array([_expected_value(int(count), n, depth, k, name) for count in positives])
    return np.full(len(positives), np.nan)


def _expected_value(positives: int, n: int, depth: int, k: int, name: str) -> float:
    """Computes the expected hit ratio, reciprocal rank or F1 of a query with `positives` of `n` CNs."""
    if positives == 0:
        return 0.0
    if name == "f1":  # the number of positives among the first `depth` is hypergeometric
        from scipy.stats import hypergeom

        found = np.arange(depth + 1)
        return float((hypergeom.pmf(found, n, positives, depth) * 2 * found / (k + positives)).sum())
    none_yet, expected = 1.0, 0.0
    for rank in range(1, depth + 1):
        first = none_yet * positives / (n - rank + 1)
        expected += first / rank if name == "mrr" else first
        none_yet -= first
    return expected


EMPTY = "\x00nothing"
RANX_METRICS = ("bpref", "dcg", "dcg_burges", "hits", "ndcg_burges", "r-precision", "rbp")


def ranx_values(
    ordered: Mapping[str, Sequence[str]],
    qrels: Qrels,
    query_ids: Sequence[str],
    metrics: Sequence[str],
) -> dict[str, Floats]:
    """Computes metrics by ranx for each query.

    Args:
        ordered: Query id -> corpus ids, best first, ties broken.
        qrels: Query id -> corpus id -> relevance.
        query_ids: Ids of the queries, in the order of the result.
        metrics: Names of ranx, such as `ndcg@10` or `bpref`.

    Returns:
        Metric -> values, shape (queries,).

    Raises:
        InputError: ranx rejects a metric.
    """
    if not query_ids:
        return {metric: np.zeros(0) for metric in metrics}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of numba about casts and caching
        from ranx import Qrels, Run, evaluate

        judged, ranked = {}, {}
        for query in query_ids:
            positive = {key: int(value) for key, value in qrels.get(query, {}).items()}
            judged[query] = positive or {EMPTY + "-judged": 0}
            keys = list(ordered.get(query, ())) or [EMPTY]
            ranked[query] = {key: float(len(keys) - rank) for rank, key in enumerate(keys)}
        try:
            raw = evaluate(Qrels(judged), Run(ranked, name="run"), list(metrics), return_mean=False)
        except (ValueError, AssertionError, KeyError) as error:
            raise InputError(
                f"ranx cannot compute {', '.join(metrics)} ({error}): name metrics as its documentation does, such as "
                "ndcg_burges@10"
            ) from error
    values = raw if isinstance(raw, dict) else {metrics[0]: raw}
    return {metric: np.asarray(values[metric], dtype=np.float64) for metric in metrics}
