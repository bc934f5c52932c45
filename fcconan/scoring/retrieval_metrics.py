"""Retrieval metrics of each HS, and their exact chance levels.

Rankings and judgements are arrays. An order has the columns of the catalogue for each HS, best first, padded with -1;
shape (HS, ranks). Labels are relevances, nan for an unjudged CN; shape (HS, CNs). Values equal those of ranx and
trec_eval where these define the metric. ranx itself computes only the metrics that are not here: its import and its
compilation take 8 to 33 s, and a whole run of `bench` with MiniLM on FC-CONAN about as long.

FC-CONAN's Table 4 divides average precision by min(k, positives), ranx and trec_eval divide it by the positives.
"""

import hashlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fcconan.data import check_names
from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints
from fcconan.scoring.intervals import safe_divide

K = 10  # cutoff of metrics without one
TABLE_4 = ("hit_rate@10", "mrr@10", "ndcg@10", "map@10")
ALL_METRICS = (*TABLE_4, "precision@10", "recall@10", "f1@10", "accuracy@10")
RANX_METRICS = ("bpref", "dcg", "dcg_burges", "hits", "ndcg_burges", "r-precision", "rbp")
ALIASES = {"hit_ratio": "hit_rate", "ap": "map", "rr": "mrr", "reciprocal_rank": "mrr"}
UNJUDGED, NOTHING = -1, -2


class Ranked(NamedTuple):
    """Judgements in the order of a ranking.

    Attributes:
        gains: Relevance at each rank, `UNJUDGED` or `NOTHING`; shape (HS, ranks).
        ideal: Relevances of all positives, highest first, padded with 0; shape (HS, CNs).
        positives: Number of positives; shape (HS,).
        size: Size of the catalogue, or of the judged CNs; shape (HS,).
    """

    gains: Floats
    ideal: Floats
    positives: Floats
    size: Floats

    def top(self, k: int) -> Floats:
        """Returns the gains of the first k ranks; shape (HS, k)."""
        top = self.gains[:, :k]
        return np.pad(top, ((0, 0), (0, k - top.shape[1])), constant_values=NOTHING)

    def hits(self, k: int) -> Floats:
        """Returns 1 for a positive and 0 otherwise at the first k ranks; shape (HS, k)."""
        return (self.top(k) > 0).astype(np.float64)


def sorted_columns(
    query: str, ranking: Iterable[tuple[str, float]], columns: Mapping[str, int], seed: int | None
) -> list[int]:
    """Returns the columns of a ranking, best first.

    Args:
        query: Id of the HS.
        ranking: Ids of CNs with scores; higher is better.
        columns: Id of a CN -> its column in the catalogue.
        seed: Seed of the random order of tied CNs, which is that of all systems; None for the order of the catalogue.
    """

    # A fixed order favours the first CNs; with a hash, a constant score is at chance level.
    def tie(entry: tuple[str, float]) -> bytes | int:
        key = entry[0]
        return columns[key] if seed is None else hashlib.sha256(f"{seed}\n{query}\n{key}".encode()).digest()

    entries = [*ranking]
    if len({score for _, score in entries}) < len(entries):
        entries.sort(key=tie)
    return [columns[key] for key, _ in sorted(entries, key=lambda entry: -entry[1])]


def evaluate(
    order: Ints, labels: Floats, metrics: Sequence[str], failed: Flags, *, paper: bool = False, judged: bool = False
) -> dict[str, Floats]:
    """Computes metrics of one system.

    Args:
        order: Rankings, shape (HS, ranks).
        labels: Relevances, shape (HS, CNs).
        metrics: Names, as `metric_names` returns them.
        failed: HS without a ranking because the system failed, which have no value; shape (HS,).
        paper: Whether HS without a positive count as 0, and average precision is divided by min(k, positives).
        judged: Whether the judged CNs are the catalogue.

    Returns:
        Metric -> values, shape (HS,); nan for a failure, and without `paper` for an HS without a positive.

    Raises:
        InputError: ranx does not know a metric.
    """
    if judged:  # without unjudged CNs (Sakai, 2007, Alternatives to Bpref)
        is_judged = np.isfinite(_looked_up(order, labels, np.nan))
        places = np.argsort(~is_judged, axis=1, kind="stable")
        kept, order = (np.take_along_axis(each, places, axis=1) for each in (is_judged, order))
        order = np.where(kept, order, -1)
    ranked = _ranked(order, labels, judged)
    counted = ~failed & ((ranked.positives > 0) | paper)
    own = {metric: _split(metric) for metric in metrics if _split(metric)[0] in METRICS}
    table = METRICS | ({"map": _capped_map} if paper else {})
    found = {metric: table[name](ranked, k) for metric, (name, k) in own.items()}
    if others := [metric for metric in metrics if metric not in own]:
        found |= _by_ranx(order, labels, others)
    return {metric: np.where(counted, found[metric], np.nan) for metric in metrics}


def judged_share(order: Ints, labels: Floats, failed: Flags) -> Floats:
    """Returns the share of the first 10 CNs that are judged; nan without a CN; shape (HS,)."""
    top = _ranked(order, labels, judged=False).top(K)
    share = safe_divide((top >= 0).sum(axis=1), (top != NOTHING).sum(axis=1))
    return np.where(failed, np.nan, share)


def chance_levels(
    labels: Floats, metrics: Sequence[str], *, paper: bool = False, judged: bool = False
) -> dict[str, Floats]:
    """Computes the expected values of metrics for a random order of the catalogue.

    Args:
        labels: Relevances, shape (HS, CNs).
        metrics: Names, as `metric_names` returns them.
        paper: As in `evaluate`.
        judged: As in `evaluate`.

    Returns:
        Metric -> expected values, shape (HS,); nan for metrics of ranx.
    """
    ranked = _ranked(np.empty((len(labels), 0), dtype=np.int64), labels, judged)
    counted = (ranked.positives > 0) | paper
    return {metric: np.where(counted, _chance(ranked, *_split(metric), paper), np.nan) for metric in metrics}


def metric_names(metrics: Iterable[str]) -> tuple[str, ...]:
    """Returns the full names of metrics, each once, such as `ndcg@10` for `NDCG`; metrics of ranx keep their names.

    Raises:
        InputError: A name is unknown, or a cutoff is not a positive whole number.
    """
    names = []
    for text in metrics:
        name, at, cutoff = text.strip().lower().partition("@")
        name = ALIASES.get(name, name)
        if at and not (cutoff.isdecimal() and int(cutoff) > 0):
            raise InputError(f"found the cutoff {cutoff!r} of {name}, expected a whole number, such as ndcg@10")
        check_names("metric", [name.split(".")[0]], [*METRICS, *RANX_METRICS])
        names.append(f"{name}@{cutoff or K}" if name in METRICS else text.strip())
    return tuple(dict.fromkeys(names))


def cutoff_of(metric: str) -> int:
    """Returns the cutoff of a full name; 1 without one."""
    return _split(metric)[1]


def _split(metric: str) -> tuple[str, int]:
    name, _, cutoff = metric.partition("@")
    return name, int(cutoff or 1)


def _looked_up(order: Ints, labels: Floats, end: float) -> Floats:
    return np.where(order >= 0, np.take_along_axis(labels, np.maximum(order, 0), axis=1), end)


def _ranked(order: Ints, labels: Floats, judged: bool) -> Ranked:
    gains = _looked_up(order, np.where(np.isfinite(labels), labels, UNJUDGED), NOTHING)
    ideal = -np.sort(-np.nan_to_num(labels), axis=1)
    size = np.isfinite(labels).sum(axis=1) if judged else np.full(len(labels), labels.shape[1])
    return Ranked(gains, ideal, (ideal > 0).sum(axis=1).astype(float), size.astype(float))


def _hit_rate(ranked: Ranked, k: int) -> Floats:
    return ranked.hits(k).max(axis=1)


def _mrr(ranked: Ranked, k: int) -> Floats:
    return (ranked.hits(k) / np.arange(1, k + 1)).max(axis=1)


def _ndcg(ranked: Ranked, k: int) -> Floats:
    """Linear gain, and an ideal ranking of k CNs (Järvelin and Kekäläinen, 2002)."""
    return _share(np.maximum(ranked.top(k), 0) @ _discounts(k), _ideal_gain(ranked, k))


def _map(ranked: Ranked, k: int) -> Floats:
    return _share(_precision_sum(ranked, k), ranked.positives)


def _capped_map(ranked: Ranked, k: int) -> Floats:
    return _share(_precision_sum(ranked, k), np.minimum(ranked.positives, k))


def _precision(ranked: Ranked, k: int) -> Floats:
    return ranked.hits(k).sum(axis=1) / k


def _recall(ranked: Ranked, k: int) -> Floats:
    return _share(ranked.hits(k).sum(axis=1), ranked.positives)


def _f1(ranked: Ranked, k: int) -> Floats:
    """Harmonic mean of precision h / k and recall h / positives."""
    return 2 * ranked.hits(k).sum(axis=1) / (k + ranked.positives)


def _accuracy(ranked: Ranked, k: int) -> Floats:
    """Share of the catalogue that is labelled correctly if exactly the first k are labelled appropriate."""
    wrong = (ranked.top(k) != NOTHING).sum(axis=1) + ranked.positives - 2 * ranked.hits(k).sum(axis=1)
    return 1 - wrong / ranked.size


METRICS: dict[str, Callable[[Ranked, int], Floats]] = {
    "hit_rate": _hit_rate,
    "mrr": _mrr,
    "ndcg": _ndcg,
    "map": _map,
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "accuracy": _accuracy,
}


def _share(above: Floats, below: Floats) -> Floats:
    return np.nan_to_num(safe_divide(above, below))


def _discounts(k: int) -> Floats:
    return 1 / np.log2(np.arange(2, k + 2))


def _ideal_gain(ranked: Ranked, k: int) -> Floats:
    ideal = ranked.ideal[:, :k]
    return np.asarray(ideal @ _discounts(ideal.shape[1]))


def _precision_sum(ranked: Ranked, k: int) -> Floats:
    hits = ranked.hits(k)
    return np.asarray((hits * np.cumsum(hits, axis=1) / np.arange(1, k + 1)).sum(axis=1))


def _chance(ranked: Ranked, name: str, k: int, paper: bool) -> Floats:
    size, positives, ranks = np.maximum(ranked.size, 1), ranked.positives, np.arange(1, k + 1)
    there = ranks <= ranked.size[:, None]  # ranks of the catalogue
    share, drawn = positives / size, there.sum(axis=1)
    if name in ("hit_rate", "mrr"):
        next_one = np.clip(positives[:, None] / np.maximum(size[:, None] - ranks + 1, 1), 0, 1) * there
        none_before = np.cumprod(np.c_[np.ones(len(size)), 1 - next_one], axis=1)[:, :-1]
        return np.asarray((none_before * next_one / (ranks if name == "mrr" else 1)).sum(axis=1))
    if name == "map":
        others = ((positives - 1) / np.maximum(size - 1, 1))[:, None]
        sums = (there * share[:, None] * (1 + (ranks - 1) * others) / ranks).sum(axis=1)
        return _share(sums, np.minimum(positives, k) if paper else positives)
    expected: dict[str, Floats] = {
        "ndcg": _share(ranked.ideal.sum(axis=1) / size * (there @ _discounts(k)), _ideal_gain(ranked, k)),
        "precision": share * drawn / k,
        "recall": (positives > 0) * drawn / size,
        "f1": 2 * share * drawn / (k + positives),
        "accuracy": 1 - (drawn + positives - 2 * drawn * share) / size,
    }
    return expected.get(name, np.full(len(size), np.nan))


def _by_ranx(order: Ints, labels: Floats, metrics: Sequence[str]) -> dict[str, Floats]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numba, about casts and caching
        from ranx import Qrels, Run, evaluate as by_ranx

        judged, runs = {}, {}
        # bpref of ranx is 0 for every HS after one without a positive.
        kept = np.flatnonzero((labels > 0).any(axis=1))
        if not len(kept):
            return dict.fromkeys(metrics, np.zeros(len(labels)))
        for row in kept:
            own, columns = labels[row], order[row]
            known = {str(at): int(own[at]) for at in np.flatnonzero(np.isfinite(own))}
            ranked = {str(at): -float(rank) for rank, at in enumerate(columns) if at >= 0}
            judged[str(row)], runs[str(row)] = known, ranked or {"nothing": 0.0}  # ranx needs one
        try:
            found = by_ranx(Qrels(judged), Run(runs, name="run"), [*metrics], return_mean=False)
        except (ValueError, AssertionError, KeyError) as error:
            raise InputError(
                f"ranx does not know {', '.join(metrics)} ({error}): name metrics as ndcg_burges@10"
            ) from error
    values = {metric: np.zeros(len(labels)) for metric in metrics}
    for metric, each in values.items():
        each[kept] = found[metric] if len(metrics) > 1 else found
    return values
