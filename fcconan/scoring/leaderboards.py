"""Systems by the ratings of their replies: the mean of every aspect, and one score of them all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import fcconan
from fcconan.data import RATER_KINDS
from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats
from fcconan.scoring.correlation.levels import UNKNOWN
from fcconan.scoring.names import bootstrap_parts, joined_parts, known_names
from fcconan.scoring.ratings import HUMAN, RatedReplies
from fcconan.scoring.significance.intervals import bootstrap_means, divided, finite, means, percentile_interval

UNIFIED = "unified"
PEOPLE = "people"
_ENDS = (1.0, 5.0)


@dataclass(frozen=True)
class Standing:
    """The mean rating of a system's replies.

    Attributes:
        rater: `people` for the mean of all people, or the name of a model or metric.
        rater_kind: `human`, `model` or `metric`.
        aspect: What was rated, or `unified`.
        system: Who wrote the replies.
        value: None without a rating.
        low: Lower end of the percentile interval over items; None with fewer than two.
        high: Upper end.
        n: Replies with a value.
        n_items: Items that they answer.
        n_missing: Replies of the system without one.
        higher_is_better: Whether a high value is praise.
        scale: Lowest and highest grade, 1 and 5 of the unified score; None without both.
    """

    rater: str
    rater_kind: str
    aspect: str
    system: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_items: int
    n_missing: int
    higher_is_better: bool
    scale: tuple[float, float] | None


@dataclass(frozen=True)
class Series:
    """The value of every reply, by one rater for one aspect.

    Attributes:
        rater: `people`, or the name of a model or metric.
        kind: `human`, `model` or `metric`.
        aspect: What was rated, or `unified`.
        higher_is_better: Whether a high value is praise.
        scale: Lowest and highest grade; None without both.
        values: Shape (replies,); nan is missing.
    """

    rater: str
    kind: str
    aspect: str
    higher_is_better: bool
    scale: tuple[float, float] | None
    values: Floats


def unified(values: Floats, scales: Sequence[tuple[float, float]], higher_is_better: Sequence[bool]) -> Floats:
    """Computes one score for every reply: the mean of its aspects, each from 1, the worst, to 5 (CSEval, eq. 2).

    Args:
        values: Shape (aspects, replies); nan is missing.
        scales: Lowest and highest grade of every aspect.
        higher_is_better: Of every aspect.

    Returns:
        Shape (replies,); nan where an aspect is missing.
    """
    total = np.zeros(values.shape[1])
    for own, (low, high), praise in zip(values, scales, higher_is_better, strict=True):
        share = (own - low) / (high - low)
        total += _ENDS[0] + (_ENDS[1] - _ENDS[0]) * (share if praise else 1 - share)
    return total / len(values)


def one_score(rated: RatedReplies, rater: str) -> Floats:
    """Returns one score of every reply by a rater, the higher the better; shape (replies,), nan is missing.

    It is the unified score of the aspects that the rater has a scale for, or the value of the only other one.

    Raises:
        InputError: The rater is unknown, or several aspects have no scale.
    """
    aspects = rated.aspects(names=[rater])
    scaled = {aspect: scale for aspect in aspects if (scale := rated.scale(aspect, [rater])) is not None}
    if not aspects or (not scaled and len(aspects) > 1):
        raise InputError(f"{rater} rated {', '.join(aspects) or 'nothing'}, expected aspects with a scale, or only one")
    chosen = list(scaled) or aspects
    values = np.stack([rated.people(aspect, [rater])[1][0] for aspect in chosen])
    praise = [rated.higher_is_better(aspect, [rater]) for aspect in chosen]
    return unified(values, list(scaled.values()), praise) if scaled else values[0] * (1 if praise[0] else -1)


def leaderboard(
    rated: RatedReplies,
    *,
    aspects: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Standing]:
    """Averages ratings by system, best first; systems without a rating come last.

    Args:
        rated: The ratings.
        aspects: Those to show and to unify; None for all that people, or else all raters, rated on a scale. A metric
            whose aspects are none of these, such as `score`, shows its own.
        raters: `people`, or names; None for people and everybody else.
        resamples: Of the items, each with all its replies; 0 for no intervals.
        seed: Decides the draws; all systems share them.
        confidence: Of the intervals.

    Returns:
        By rater and aspect, the unified score first. A rater who lacks an aspect, or rated other aspects only, has no
        unified score.

    Raises:
        InputError: A rater or aspect is unknown, or the systems are not known.
    """
    series = rated_series(rated, aspects=aspects, raters=raters)
    names, sums = item_sums(rated, series)
    ends = np.full((2, len(series), len(names)), np.nan)
    if resamples:
        draws = bootstrap_means(sums.reshape(-1, sums.shape[-1]), resamples=resamples, seed=seed)
        above, below = draws.reshape(-1, *sums.shape[:3]).transpose(1, 0, 2, 3)
        ends = np.stack(percentile_interval(divided(above, below), confidence))
    found = []
    for each, (values, counts), intervals in zip(series, sums.swapaxes(0, 1), ends.swapaxes(0, 1), strict=True):
        rows = []
        for system, value, count, interval in zip(names, values, counts, intervals.T, strict=True):
            n, answered = int(count.sum()), int((count > 0).sum())
            low, high = (finite(end) if answered > 1 else None for end in interval)
            rows.append(
                Standing(
                    rater=each.rater,
                    rater_kind=each.kind,
                    aspect=each.aspect,
                    system=system,
                    value=float(value.sum() / n) if n else None,
                    low=low,
                    high=high,
                    n=n,
                    n_items=answered,
                    n_missing=rated.systems.count(system) - n,
                    higher_is_better=each.higher_is_better,
                    scale=each.scale,
                )
            )
        sign = -1 if each.higher_is_better else 1
        found += sorted(rows, key=lambda row: (row.value is None, sign * (row.value or 0.0), row.system))
    return found


def rated_series(
    rated: RatedReplies, *, aspects: Sequence[str] | None = None, raters: Sequence[str] | None = None
) -> list[Series]:
    """Returns the values that a leaderboard averages: by rater and aspect, the unified score first.

    Args:
        rated: The ratings.
        aspects: The aspects, as `leaderboard` takes them.
        raters: The raters, as `leaderboard` takes them.

    Raises:
        InputError: As `leaderboard`.
    """
    if not rated.knows_systems or {*rated.systems} == {UNKNOWN}:
        raise InputError("the rows do not say which system wrote each reply: give the replies, or a column `system`")
    people, everybody = rated.raters((HUMAN,)), rated.raters()
    known = [PEOPLE, *everybody] if people else everybody
    others = [each for each in everybody if each not in people]
    names = known_names("rater", [*([PEOPLE] if people else []), *others] if raters is None else raters, known)
    aspects = None if aspects is None else known_names("aspect", aspects, rated.aspects(names=everybody))
    series: list[Series] = []
    for name in names:
        # A rater may be called `people`, too; where there are people, the name is theirs.
        members = people if name == PEOPLE and people else [name]
        series += _series(rated, name, members, rated.scaled_aspects() if aspects is None else aspects, aspects is None)
    if not series:
        raise InputError(f"none of {', '.join(names)} rated {', '.join(aspects or ())}: choose others")
    return series


def left_out(rated: RatedReplies, standings: Sequence[Standing]) -> dict[str, list[str]]:
    """Returns what raters of a leaderboard rated that is not in it, by rater: aspects without people's scale.

    Args:
        rated: The ratings.
        standings: What `leaderboard` made of them.
    """
    shown = {(row.rater, row.aspect) for row in standings}
    people, found = rated.raters((HUMAN,)), dict[str, list[str]]()
    for name in dict.fromkeys(row.rater for row in standings):
        aspects = rated.aspects(names=people if name == PEOPLE and people else [name])
        if lost := [aspect for aspect in aspects if (name, aspect) not in shown]:
            found[name] = lost
    return found


def _series(
    rated: RatedReplies, name: str, members: Sequence[str], aspects: Sequence[str], others: bool
) -> list[Series]:
    """Returns what a rater says, the unified score first; about other aspects only if it rated none of these."""
    kind = next(kind for kind in RATER_KINDS if members[0] in rated.raters((kind,)))
    rated_by = rated.aspects(names=members)
    own = [aspect for aspect in aspects if aspect in rated_by] or (rated_by if others else [])
    values = [means(rated.people(aspect, members)[1], axis=0) for aspect in own]
    praise = [rated.higher_is_better(aspect, members) for aspect in own]
    known = [rated.scale(aspect, members) for aspect in own]
    scales = [scale for scale in known if scale is not None]
    found = [Series(name, kind, *each) for each in zip(own, praise, known, values, strict=True)]
    if own == list(aspects) and len(scales) == len(aspects) > 1 and all(np.isfinite(each).any() for each in values):
        return [Series(name, kind, UNIFIED, True, _ENDS, unified(np.stack(values), scales, praise)), *found]
    return found


def item_sums(rated: RatedReplies, series: Sequence[Series]) -> tuple[list[str], Floats]:
    """Returns the systems in alphabetical order, and sums over their replies to each item, in the order of item ids.

    Args:
        rated: The ratings.
        series: What `rated_series` returned.

    Returns:
        The names, and the sums of the values [0] and the numbers of replies with a value [1], of shape (2, series,
        systems, items).
    """
    items, item = np.unique(np.asarray(rated.items), return_inverse=True)
    names = sorted({*rated.systems} - {UNKNOWN})
    place = {name: position for position, name in enumerate(names)}
    system = np.array([place.get(name, len(names)) for name in rated.systems])
    shape = (len(names) + 1, len(items))
    sums = np.zeros((2, len(series), *shape))
    for own, count, each in zip(*sums, series, strict=True):
        there = np.isfinite(each.values)
        cell = (system * len(items) + item)[there]
        own[:] = np.bincount(cell, each.values[there], own.size).reshape(shape)
        count[:] = np.bincount(cell, minlength=own.size).reshape(shape)
    return names, sums[:, :, : len(names)]


def leaderboard_signature(
    rated: RatedReplies,
    *,
    population: str,
    aspects: Sequence[str],
    raters: Sequence[str] | None = None,
    resamples: int,
    seed: int,
    confidence: float,
) -> str:
    """Returns the short string that names everything that changes the figures of `leaderboard`.

    Args:
        rated: The ratings.
        population: What the rows are, in the words of whoever read them.
        aspects: Those that the unified score is made of.
        raters: As given to `leaderboard`.
        resamples: As given to `leaderboard`.
        seed: As given to `leaderboard`.
        confidence: As given to `leaderboard`.
    """
    parts = {
        "fcconan": fcconan.__version__,
        "metric": "mean-rating",
        "data": population,
        "people": ",".join(sorted(rated.raters((HUMAN,)))) or "none",
        "raters": "all" if raters is None else ",".join(sorted(set(raters))),
        "replies": len(rated.replies),
        "items": len(set(rated.items)),
        "unified": "+".join(aspects) if len(aspects) > 1 else "none",
        "missing": "left-out",
    }
    return joined_parts(parts | bootstrap_parts(resamples, seed, confidence))
