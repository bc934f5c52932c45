"""NDCG of the order in which a metric puts replies that people ranked, with its chance level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import fcconan
from fcconan.errors import InputError
from fcconan.score.coefficients import LARGEST
from fcconan.score.significance import bootstrap_means, percentile_interval
from fcconan.score.tie_calibration import groups_by_size

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SOUND, PAPER = "sound", "paper"
REASONS = ("no_rows", "constant", "incomplete")


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
    return _divide(reached, _ideal(gains, discounts))


def ndcg_by_chance(gains: Floats) -> Floats:
    """The exact mean of NDCG over all orders of each group; shape (groups, rows of a group) to (groups,).

    Every reply is equally likely to be at every rank, so that it is the mean gain at all discounts.
    """
    discounts = 1 / np.log2(np.arange(2, gains.shape[1] + 2))
    return _divide(gains.mean(axis=1) * discounts.sum(), _ideal(gains, discounts))


def _ideal(gains: Floats, discounts: Floats) -> Floats:
    return -np.sort(-gains, axis=1) @ discounts


def _divide(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)


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
        ceiling: Mean NDCG over annotators of the mean of the others' ranks against one's own; None without two.
        n: Replies in the groups that count.
        n_groups: Groups that count.
        n_incomplete: Groups left out because the metric has no score for one of the replies.
        n_missing: Replies without a score.
        reason: Why there is no value: one of `REASONS`.
    """

    metric: str
    protocol: str
    value: float | None
    low: float | None
    high: float | None
    chance: float | None
    ceiling: float | None
    n: int
    n_groups: int
    n_incomplete: int
    n_missing: int
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
        annotators: Ranks of each person, for the ceiling; shape (people, rows).
        protocol: Under `sound` the gain is the group's size plus 1 minus the rank: the best reply has the highest.
            Under `paper` it is the rank number itself (CSEval, Table 2), by which the worst reply has the highest gain
            and a metric that orders everything wrongly scores 1.
        resamples: How many, of groups.
        seed: Decides the draws.
        confidence: Of the interval.

    Raises:
        InputError: The shapes do not fit, the protocol is unknown, or a rank is below 1 or above the group's size.
    """
    if scores.shape != (len(metrics), len(group)) or ranks.shape != (len(group),):
        raise InputError(f"scores have the shape {scores.shape} and ranks {ranks.shape}, expected one for each reply")
    if protocol not in (SOUND, PAPER):
        raise InputError(f"the protocol is {protocol!r}, expected {SOUND} or {PAPER}")
    if annotators is not None and annotators.shape[1:] != ranks.shape:
        raise InputError(f"annotators have the shape {annotators.shape}, expected (people, {len(group)})")
    ranked = np.flatnonzero(np.isfinite(ranks))
    names, position = np.unique(np.asarray(group, dtype=str), return_inverse=True)
    codes = position.reshape(-1).astype(np.int64)[ranked]
    gains = _gains(ranks[ranked], codes, len(names), protocol)
    ceiling = None if annotators is None else _ceiling(annotators[:, ranked], codes, len(names), protocol)
    found = []
    for name, own in zip(metrics, scores[:, ranked], strict=True):
        values, chances, sizes = (np.full(len(names), np.nan) for _ in range(3))
        incomplete = 0
        for groups, rows in groups_by_size(codes, len(names)):
            complete = np.isfinite(own[rows]).all(axis=1)
            incomplete += int((~complete).sum())
            groups, rows = groups[complete], rows[complete]
            values[groups] = ndcg(gains[rows], own[rows])
            chances[groups] = ndcg_by_chance(gains[rows])
            sizes[groups] = rows.shape[1]
        there = np.isfinite(values)
        draws = bootstrap_means(values[None, there], resamples=resamples, seed=seed) if there.sum() > 1 else None
        ends = None if draws is None or not resamples else percentile_interval(draws, confidence)
        reason = None
        if not there.any():
            reason = "no_rows" if len(ranked) == 0 else "incomplete" if incomplete else "constant"
        found.append(
            RankingScore(
                metric=name,
                protocol=protocol,
                value=None if reason else float(values[there].mean()),
                low=None if ends is None else float(ends[0][0]),
                high=None if ends is None else float(ends[1][0]),
                chance=None if reason else float(chances[there].mean()),
                ceiling=ceiling,
                n=int(sizes[there].sum()),
                n_groups=int(there.sum()),
                n_incomplete=incomplete,
                n_missing=int(np.isnan(own).sum()),
                reason=reason,
            )
        )
    return found


def _gains(ranks: Floats, codes: Ints, n_groups: int, protocol: str) -> Floats:
    sizes = np.bincount(codes, minlength=n_groups)[codes]
    wrong = np.flatnonzero((ranks < 1) | (ranks > sizes))
    if len(wrong):
        raise InputError(
            f"a rank is {ranks[wrong[0]]:g} in a group of {sizes[wrong[0]]} replies, expected 1 (the best) to their "
            "number; rank every reply of a group"
        )
    return ranks if protocol == PAPER else sizes + 1.0 - ranks


def _ceiling(annotators: Floats, codes: Ints, n_groups: int, protocol: str) -> float | None:
    """Mean over annotators; each on the groups that they and the others ranked wholly."""
    values = []
    for position, own in enumerate(annotators):
        others = np.delete(annotators, position, axis=0)
        number = np.isfinite(others).sum(axis=0)
        total = np.where(np.isfinite(others), others, 0.0).sum(axis=0)
        mean = np.divide(total, number, out=np.full(len(codes), np.nan), where=number > 0)
        found = []
        for _, rows in groups_by_size(codes, n_groups):
            rows = rows[(np.isfinite(own[rows]) & np.isfinite(mean[rows])).all(axis=1)]
            gains = own[rows] if protocol == PAPER else rows.shape[1] + 1.0 - own[rows]
            found.append(ndcg(gains, mean[rows] if protocol == PAPER else -mean[rows]))
        kept = np.concatenate(found) if found else np.zeros(0)
        kept = kept[np.isfinite(kept)]
        if len(kept):
            values.append(float(kept.mean()))
    return float(np.mean(values)) if values else None


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
        "bootstrap": f"{resamples}-by-item",
        "confidence": f"{confidence:g}",
        "seed": seed,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())
