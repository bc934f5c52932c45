"""NDCG of the order in which a metric puts replies that people ranked, with its chance level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import fcconan
from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints
from fcconan.scoring.correlation.analysis import FEWEST, NONE, Ceiling
from fcconan.scoring.correlation.coefficients import LARGEST, groups_by_size, middle_ranks
from fcconan.scoring.names import bootstrap_parts, joined_parts, known_names
from fcconan.scoring.significance.intervals import bootstrap_means, divided, means, percentile_interval

SOUND, PAPER = "sound", "paper"


def ndcg(gains: Floats, scores: Floats) -> Floats:
    """Normalised discounted cumulative gain of whole rankings, with linear gain (Järvelin and Kekäläinen, 2002).

    Tied scores share the mean of their gains: the mean over all orders of the tied (McSherry and Najork, 2008).

    Args:
        gains: Shape (groups, rows of a group); 0 or more.
        scores: The same shape; the highest comes first.

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
    return divided(reached, _ideal(gains, discounts))


def ndcg_by_chance(gains: Floats) -> Floats:
    """The exact mean of NDCG over all orders of each group; shape (groups, rows of a group) to (groups,).

    Every reply is equally likely to be at every rank, so that it is the mean gain at all discounts.
    """
    discounts = 1 / np.log2(np.arange(2, gains.shape[1] + 2))
    return divided(gains.mean(axis=1) * discounts.sum(), _ideal(gains, discounts))


def _ideal(gains: Floats, discounts: Floats) -> Floats:
    return -np.sort(-gains, axis=1) @ discounts


@dataclass(frozen=True)
class RankingScore:
    """How well a metric orders the replies to one HS.

    Attributes:
        metric: The metric.
        protocol: `sound` or `paper`.
        value: Mean NDCG over groups; None where there is none.
        low: Lower end of the interval over groups; None with fewer than two.
        high: Upper end.
        chance: Mean NDCG of a random order, on the same groups.
        ceiling: Mean NDCG of the mean of the others' ranks against one annotator's own, over all groups of the
            annotators who share 3 ranked replies with others; None without two of them.
        n_annotators: The annotators that the ceiling rests on.
        n: Replies in the groups that count.
        n_groups: Groups that count.
        n_incomplete: Groups left out because the metric has no score for one of the replies.
        n_missing: Replies without a score.
        value_common: Mean NDCG over the groups that count for all metrics that have any; None where there is none.
        chance_common: Mean NDCG of a random order, on these groups.
        n_groups_common: These groups.
        reason: Why there is no value: `no_rows` or `incomplete`.
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
    """Scores the order of replies within each group against the ranks that people gave them.

    Args:
        metrics: Names.
        scores: Shape (metrics, rows); the higher the better; nan is missing.
        ranks: People's ranks, shape (rows,): 1 is the best; means and ties are allowed. A reply without one is no part
            of its group.
        group: The item of each row.
        annotators: Ranks of each person, for the ceiling; shape (people, rows). Whoever ranked replies of a group that
            `ranks` leaves out is ranked again among the others.
        protocol: Under `sound` the gain is the group's size plus 1 minus the rank: the best reply has the highest.
            Under `paper` it is the rank number itself (CSEval, Table 2), by which the worst reply has the highest gain
            and a metric that orders everything wrongly scores 1.
        resamples: How many, of groups.
        seed: Decides the draws.
        confidence: Of the interval.

    Raises:
        InputError: The shapes do not fit, the protocol is unknown, or a rank, also one annotator's, is below 1 or above
            the group's size.
    """
    if scores.shape != (len(metrics), len(group)) or ranks.shape != (len(group),):
        raise InputError(f"scores have the shape {scores.shape} and ranks {ranks.shape}, expected one for each reply")
    known_names("protocol", [protocol], (SOUND, PAPER))
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
            reason = "no_rows" if len(ranked) == 0 else "incomplete"  # no gain is 0, so whole groups have a value
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
    """Gains of ranks given to some rows, whose groups are `codes[rows]` and as large as all of `codes` makes them."""
    sizes = np.bincount(codes, minlength=n_groups)[codes[rows]]
    _check_ranks(ranks, sizes)
    return ranks if protocol == PAPER else sizes + 1.0 - ranks


def _check_ranks(ranks: Floats, sizes: Ints) -> None:
    wrong = np.flatnonzero((ranks < 1) | (ranks > sizes))
    if len(wrong):
        raise InputError(
            f"a rank is {ranks[wrong[0]]:g} in a group of {sizes[wrong[0]]} replies, expected 1 (the best) to their "
            "number; rank every reply of a group"
        )


def _ceiling(annotators: Floats, kept: Flags, group: Ints, n_groups: int, protocol: str) -> Ceiling:
    """Mean over annotators and groups; each annotator on the groups that they and the others ranked wholly."""
    annotators = np.stack([_among_kept(own, kept, group) for own in annotators])[:, kept]
    codes = group[kept]
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


def _among_kept(own: Floats, kept: Flags, group: Ints) -> Floats:
    """Ranks one annotator's kept replies again, with middle ranks, in groups of which a ranked reply is not kept."""
    found = own.copy()
    given = np.isfinite(own)
    _check_ranks(own[given], np.bincount(group)[group[given]])
    for each in np.unique(group[given & ~kept]):
        rows = np.flatnonzero(given & kept & (group == each))
        found[rows] = middle_ranks(own[rows])
    return found


def ranking_signature(
    *, population: str, raters: Sequence[str], aspect: str, resamples: int, seed: int, confidence: float
) -> str:
    """Returns the short string that names everything that changes the figures of `ranking_scores`.

    Args:
        population: What was ranked: the dataset with its fingerprint, or the file.
        raters: Who ranked.
        aspect: What they called it.
        resamples: As for `ranking_scores`.
        seed: As for `ranking_scores`.
        confidence: As for `ranking_scores`.
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
    return joined_parts(parts | bootstrap_parts(resamples, seed, confidence))
