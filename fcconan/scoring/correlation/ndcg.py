"""NDCG of a metric's order of replies against ranks by people, with its chance level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import fcconan
from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints
from fcconan.scoring.correlation.analysis import FEWEST, NONE, Ceiling
from fcconan.scoring.correlation.coefficients import LARGEST, groups_by_size, middle_ranks
from fcconan.scoring.intervals import bootstrap_means, means, percentile_interval, safe_divide
from fcconan.scoring.names import bootstrap_parts, check_names, join_parts
from fcconan.scoring.ratings import Ratings

SOUND, PAPER = "sound", "paper"


def ndcg(gains: Floats, scores: Floats) -> Floats:
    """Normalised discounted cumulative gain of whole rankings, with linear gain (Järvelin and Kekäläinen, 2002).

    Tied scores share the mean of their discounts, which gives the mean over all orders of the tied replies (McSherry
    and Najork, 2008).

    Args:
        gains: Gains of 0 or more, shape (groups, rows of a group).
        scores: Scores, highest first; the same shape.

    Returns:
        Shape (groups,); nan where all gains are 0.
    """
    size = gains.shape[1]
    discounts = 1 / np.log2(np.arange(2, size + 2))
    upto = np.concatenate([[0.0], np.cumsum(discounts)])
    reached = np.empty(len(gains))
    step = max(1, LARGEST // max(1, size) ** 2)
    for start in range(0, len(gains), step):
        part = scores[start : start + step]
        above = (part[:, None, :] > part[:, :, None]).sum(axis=2)
        tied = (part[:, None, :] == part[:, :, None]).sum(axis=2)
        share = (upto[above + tied] - upto[above]) / tied
        reached[start : start + step] = (gains[start : start + step] * share).sum(axis=1)
    return safe_divide(reached, _ideal(gains, discounts))


def ndcg_by_chance(gains: Floats) -> Floats:
    """Computes the exact mean of NDCG over all orders of each group; shape (groups, rows of a group) to (groups,).

    Every reply is equally likely at every rank: the mean is the mean gain times the sum of the discounts, over the
    ideal.
    """
    discounts = 1 / np.log2(np.arange(2, gains.shape[1] + 2))
    return safe_divide(gains.mean(axis=1) * discounts.sum(), _ideal(gains, discounts))


def _ideal(gains: Floats, discounts: Floats) -> Floats:
    return -np.sort(-gains, axis=1) @ discounts


@dataclass(frozen=True)
class RankingScore:
    """Quality of a metric's order of the replies to one HS.

    Attributes:
        metric: The metric.
        protocol: `sound` or `paper`.
        value: Mean NDCG over groups; None without a complete group.
        low: Lower end of the interval over groups; None with fewer than two.
        high: Upper end of the interval.
        chance: Mean NDCG of a random order, on the same groups.
        ceiling: Mean NDCG of the order by the mean of the others' ranks against one annotator's ranks, over all groups
            of the annotators who share 3 ranked replies with others; None without two of them.
        n_annotators: Number of annotators behind the ceiling.
        n: Number of replies in the complete groups.
        n_groups: Number of complete groups.
        n_incomplete: Number of groups left out because the metric has no score for one of the replies.
        n_missing: Number of replies without a score.
        value_common: Mean NDCG over the groups that are complete for all metrics with any; None without such a group.
        chance_common: Mean NDCG of a random order, on these common groups.
        n_groups_common: Number of common groups.
        reason: Reason of a missing value: `no_rows` or `incomplete`.
    """

    metric: str
    protocol: str
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    ceiling: float | None
    n_annotators: int
    n: int
    n_groups: int
    n_incomplete: int
    n_missing: int
    value_common: float | None
    chance_common: float | None
    n_groups_common: int
    reason: str | None


def ranking_scores(
    metrics: Sequence[str],
    scores: Floats,
    ranks: Floats,
    group: Sequence[str | int],
    *,
    annotators: Floats | None = None,
    protocol: str = SOUND,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[RankingScore]:
    """Scores the order of replies within each group against people's ranks.

    Args:
        metrics: Names of the metrics.
        scores: Scores, the higher the better, shape (metrics, rows); nan is missing.
        ranks: People's ranks, shape (rows,): 1 is the best; means and ties are allowed. A reply without a rank does not
            belong to its group.
        group: Item of each row.
        annotators: Ranks by each person, for the ceiling; shape (people, rows). If a person ranked replies without a
            value in `ranks`, that person's other ranks in the group are computed again without them.
        protocol: `sound`: the gain is the group's size plus 1 minus the rank, so the best reply has the highest gain.
            `paper`: the gain is the rank (CSEval, Table 2), so the worst reply has the highest gain, and a metric that
            orders all replies wrongly scores 1.
        resamples: Number of resamples of the groups; 0 for no intervals.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.

    Raises:
        InputError: The shapes differ, the protocol is unknown, or a rank is below 1 or above the group's size.
    """
    if scores.shape != (len(metrics), len(group)) or ranks.shape != (len(group),):
        raise InputError(f"scores have the shape {scores.shape} and ranks {ranks.shape}, expected one per reply")
    check_names("protocol", [protocol], (SOUND, PAPER))
    if annotators is not None and annotators.shape[1:] != ranks.shape:
        raise InputError(f"annotators have the shape {annotators.shape}, expected (people, {len(group)})")
    ranked = np.flatnonzero(np.isfinite(ranks))
    names, inverse = np.unique(np.asarray(group, dtype=str), return_inverse=True)
    position = inverse.reshape(-1).astype(np.int64)
    codes = position[ranked]
    gains = _gains(ranks[ranked], np.arange(len(ranked)), codes, len(names), protocol)
    ceiling = NONE if annotators is None else _ceiling(annotators, np.isfinite(ranks), position, len(names), protocol)
    values, chances, sizes = (np.full((len(metrics), len(names)), np.nan) for _ in range(3))
    incomplete = [0] * len(metrics)
    for at, own in enumerate(scores[:, ranked]):
        for groups, rows in groups_by_size(codes, len(names)):
            complete = np.isfinite(own[rows]).all(axis=1)
            incomplete[at] += int((~complete).sum())
            groups, rows = groups[complete], rows[complete]
            values[at, groups] = ndcg(gains[rows], own[rows])
            chances[at, groups] = ndcg_by_chance(gains[rows])
            sizes[at, groups] = rows.shape[1]
    counted = np.isfinite(values)
    shared = counted[counted.any(axis=1)].all(axis=0) if counted.any() else np.full(len(names), False)
    found = []
    for at, (name, there) in enumerate(zip(metrics, counted, strict=True)):
        common = there & shared
        low = high = None
        if resamples and there.sum() > 1:
            draws = bootstrap_means(values[at][None, there], resamples=resamples, seed=seed)
            low, high = (float(end[0]) for end in percentile_interval(draws, confidence))
        reason = None
        if not there.any():
            reason = "no_rows" if len(ranked) == 0 else "incomplete"  # gains are above 0: complete groups have a value
        found.append(
            RankingScore(
                metric=name,
                protocol=protocol,
                value=_mean(values[at, there]),
                low=low,
                high=high,
                chance=_mean(chances[at, there]),
                ceiling=ceiling.value,
                n_annotators=ceiling.n_annotators,
                n=int(sizes[at, there].sum()),
                n_groups=int(there.sum()),
                n_incomplete=incomplete[at],
                n_missing=int(np.isnan(scores[at, ranked]).sum()),
                value_common=_mean(values[at, common]),
                chance_common=_mean(chances[at, common]),
                n_groups_common=int(common.sum()),
                reason=reason,
            )
        )
    return found


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _gains(ranks: Floats, rows: Ints, codes: Ints, n_groups: int, protocol: str) -> Floats:
    """Returns the gains of the ranks of some rows; `codes` has the groups of all rows, which determine their sizes."""
    sizes = np.bincount(codes, minlength=n_groups)[codes[rows]]
    _check_ranks(ranks, sizes)
    return ranks if protocol == PAPER else sizes + 1.0 - ranks


def _check_ranks(ranks: Floats, sizes: Ints) -> None:
    wrong = np.flatnonzero((ranks < 1) | (ranks > sizes))
    if len(wrong):
        raise InputError(
            f"a rank is {ranks[wrong[0]]:g} in a group of {sizes[wrong[0]]} replies, expected 1 (the best) to "
            f"{sizes[wrong[0]]}; rank every reply of a group"
        )


def _ceiling(annotators: Floats, included: Flags, group: Ints, n_groups: int, protocol: str) -> Ceiling:
    """Mean over annotators and groups; each annotator on the groups that both they and the others ranked completely."""
    annotators = np.stack([_rank_again(own, included, group) for own in annotators])[:, included]
    codes = group[included]
    values: list[Floats] = []
    n_rows = 0
    for position, own in enumerate(annotators):
        given = np.flatnonzero(np.isfinite(own))
        gains = np.full(len(own), np.nan)
        gains[given] = _gains(own[given], given, codes, n_groups, protocol)
        others = np.delete(annotators, position, axis=0)
        mean = means(others, axis=0)
        found, rows_of_all = [], 0
        for _, rows in groups_by_size(codes, n_groups):
            rows = rows[(np.isfinite(own[rows]) & np.isfinite(mean[rows])).all(axis=1)]
            scores = ndcg(gains[rows], mean[rows] if protocol == PAPER else -mean[rows])
            found.append(scores[np.isfinite(scores)])
            rows_of_all += len(found[-1]) * rows.shape[1]
        if rows_of_all >= FEWEST:
            values.append(np.concatenate(found))
            n_rows += rows_of_all
    return Ceiling(float(np.concatenate(values).mean()), n_rows, len(values)) if values else NONE


def _rank_again(own: Floats, included: Flags, group: Ints) -> Floats:
    """Ranks one annotator's included replies again, with mid-ranks, in groups where a ranked reply is excluded."""
    found = own.copy()
    given = np.isfinite(own)
    _check_ranks(own[given], np.bincount(group)[group[given]])
    for each in np.unique(group[given & ~included]):
        rows = np.flatnonzero(given & included & (group == each))
        found[rows] = middle_ranks(own[rows])
    return found


def ranking_signature(
    *, population: str, raters: Sequence[str], aspect: str, resamples: int, seed: int, confidence: float
) -> str:
    """Returns the signature of `ranking_scores`, which names everything that changes its values.

    Args:
        population: Source of the rows: a dataset with its fingerprint, or a file.
        raters: Names of the people who ranked.
        aspect: Name of the ranked aspect.
        resamples: See `ranking_scores`.
        seed: See `ranking_scores`.
        confidence: See `ranking_scores`.
    """
    parts = {
        "fcconan": fcconan.__version__,
        "metric": "ndcg",
        "data": population,
        "ranks": f"{aspect}-by-{','.join(raters)}",
        "scores": "unified",
        "ties": "expected",
        "incomplete": "left-out",
    }
    return join_parts(parts | bootstrap_parts(resamples, seed, confidence))


_ENDS = (1.0, 5.0)


def unified(values: Floats, scales: Sequence[tuple[float, float]], higher_is_better: Sequence[bool]) -> Floats:
    """Computes the unified score of every reply: the mean of its aspects, rescaled to 1 (worst) to 5 (CSEval, eq. 2).

    Args:
        values: Values of the aspects, shape (aspects, replies); nan is missing.
        scales: Lowest and highest grade of every aspect.
        higher_is_better: Whether a high value is good, for every aspect.

    Returns:
        Shape (replies,); nan where an aspect is missing.
    """
    total = np.zeros(values.shape[1])
    for own, (low, high), is_better in zip(values, scales, higher_is_better, strict=True):
        share = (own - low) / (high - low)
        total += _ENDS[0] + (_ENDS[1] - _ENDS[0]) * (share if is_better else 1 - share)
    return total / len(values)


def single_score(rated: Ratings, rater: str) -> Floats:
    """Returns a single score of every reply by a rater, the higher the better; shape (replies,), nan is missing.

    It is the unified score of the rater's aspects with a scale. Without any, it is the value of the only aspect.

    Raises:
        InputError: The rater is unknown, or several aspects have no scale.
    """
    aspects = rated.aspects(names=[rater])
    scaled = {aspect: scale for aspect in aspects if (scale := rated.scale(aspect, [rater])) is not None}
    if not aspects or (not scaled and len(aspects) > 1):
        raise InputError(
            f"{rater} rated {', '.join(aspects) or 'nothing'}, expected aspects with a scale, or a single aspect: "
            "add the columns low and high"
        )
    chosen = list(scaled) or aspects
    values = np.stack([rated.people(aspect, [rater])[1][0] for aspect in chosen])
    is_better = [rated.higher_is_better(aspect, [rater]) for aspect in chosen]
    return unified(values, list(scaled.values()), is_better) if scaled else values[0] * (1 if is_better[0] else -1)
