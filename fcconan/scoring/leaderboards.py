"""Systems by the ratings of their replies: the mean of every aspect, and the unified score."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import fcconan
from fcconan.data import RATER_KINDS
from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints
from fcconan.scoring.correlation.levels import UNKNOWN
from fcconan.scoring.names import bootstrap_parts, check_names, join_parts
from fcconan.scoring.ratings import HUMAN, Ratings
from fcconan.scoring.significance.intervals import bootstrap_means, finite, means, percentile_interval, safe_divide

UNIFIED = "unified"
PEOPLE = "people"
_ENDS = (1.0, 5.0)


@dataclass(frozen=True)
class LeaderboardRow:
    """The mean rating of a system's replies.

    Attributes:
        rater: `people` for the mean of all people, or the name of a model or metric.
        rater_kind: `human`, `model` or `metric`.
        aspect: The aspect, or `unified`.
        system: System that wrote the replies.
        value: Mean rating; None without a rating.
        low: Lower end of the percentile interval over items; None with fewer than two.
        high: Upper end of the interval.
        n: Number of replies with a value.
        n_items: Number of items that they answer.
        n_missing: Number of the system's replies without a value.
        higher_is_better: Whether a high value is good.
        scale: Lowest and highest grade; 1 and 5 for the unified score, None if unknown.
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
class RaterScores:
    """The values of all replies by one rater for one aspect.

    Attributes:
        rater: `people`, or the name of a model or metric.
        kind: `human`, `model` or `metric`.
        aspect: The aspect, or `unified`.
        higher_is_better: Whether a high value is good.
        scale: Lowest and highest grade; None if unknown.
        values: Values of the replies, shape (replies,); nan is missing.
    """

    rater: str
    kind: str
    aspect: str
    higher_is_better: bool
    scale: tuple[float, float] | None
    values: Floats


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


def leaderboard(
    rated: Ratings,
    *,
    aspects: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[LeaderboardRow]:
    """Averages ratings by system, best first; systems without a rating come last.

    Args:
        rated: The ratings.
        aspects: Aspects to show and to unify; None for all aspects that people (without people, all raters) rated on a
            scale. A metric without any of these aspects, such as one with a `score`, shows its own.
        raters: `people`, or names of raters; None for people and all other raters.
        resamples: Number of resamples of the items, each with all its replies; 0 for no intervals.
        seed: Seed of the bootstrap; all systems share its resamples.
        confidence: Confidence level of the intervals.

    Returns:
        Rows by rater and aspect, the unified score first. A rater without ratings for one of the aspects has no unified
        score.

    Raises:
        InputError: A rater or aspect is unknown, or all systems are unknown.
    """
    series = rater_scores(rated, aspects=aspects, raters=raters)
    names, sums = item_sums(rated, series)
    ends = np.full((2, len(series), len(names)), np.nan)
    if resamples:
        draws = bootstrap_means(sums.reshape(-1, sums.shape[-1]), resamples=resamples, seed=seed)
        above, below = draws.reshape(-1, *sums.shape[:3]).transpose(1, 0, 2, 3)
        ends = np.stack(percentile_interval(safe_divide(above, below), confidence))
    found = []
    for each, (values, counts), intervals in zip(series, sums.swapaxes(0, 1), ends.swapaxes(0, 1), strict=True):
        rows = []
        for system, value, count, interval in zip(names, values, counts, intervals.T, strict=True):
            n, answered = int(count.sum()), int((count > 0).sum())
            low, high = (finite(end) if answered > 1 else None for end in interval)
            rows.append(
                LeaderboardRow(
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


def rater_scores(
    rated: Ratings, *, aspects: Sequence[str] | None = None, raters: Sequence[str] | None = None
) -> list[RaterScores]:
    """Returns the values that a leaderboard averages, by rater and aspect, the unified score first.

    Args:
        rated: The ratings.
        aspects: See `leaderboard`.
        raters: See `leaderboard`.

    Raises:
        InputError: See `leaderboard`.
    """
    if not rated.knows_systems or {*rated.systems} == {UNKNOWN}:
        raise InputError("the systems of the replies are unknown: give the replies, or a column `system`")
    people, all_raters = rated.raters((HUMAN,)), rated.raters()
    known = [PEOPLE, *all_raters] if people else all_raters
    others = [each for each in all_raters if each not in people]
    names = check_names("rater", [*([PEOPLE] if people else []), *others] if raters is None else raters, known)
    aspects = None if aspects is None else check_names("aspect", aspects, rated.aspects(names=all_raters))
    series: list[RaterScores] = []
    for name in names:
        # A single rater may also be called `people`; if there are ratings by people, the name means all of these.
        members = people if name == PEOPLE and people else [name]
        series += _series(rated, name, members, rated.scaled_aspects() if aspects is None else aspects, aspects is None)
    if not series:
        raise InputError(f"none of {', '.join(names)} rated {', '.join(aspects or ())}: choose others")
    return series


def aspects_without_scale(rated: Ratings, rows: Sequence[LeaderboardRow]) -> dict[str, list[str]]:
    """Returns the rated aspects that are not in a leaderboard, because they lack a scale, by rater.

    Args:
        rated: The ratings.
        rows: Result of `leaderboard`.
    """
    shown = {(row.rater, row.aspect) for row in rows}
    people, found = rated.raters((HUMAN,)), dict[str, list[str]]()
    for name in dict.fromkeys(row.rater for row in rows):
        aspects = rated.aspects(names=people if name == PEOPLE and people else [name])
        if lost := [aspect for aspect in aspects if (name, aspect) not in shown]:
            found[name] = lost
    return found


def _series(
    rated: Ratings, name: str, members: Sequence[str], aspects: Sequence[str], others: bool
) -> list[RaterScores]:
    """Returns the values of a rater, the unified score first; other aspects only if it rated none of the given ones."""
    kind = next(kind for kind in RATER_KINDS if members[0] in rated.raters((kind,)))
    rated_by = rated.aspects(names=members)
    own = [aspect for aspect in aspects if aspect in rated_by] or (rated_by if others else [])
    values = [means(rated.people(aspect, members)[1], axis=0) for aspect in own]
    is_better = [rated.higher_is_better(aspect, members) for aspect in own]
    known = [rated.scale(aspect, members) for aspect in own]
    scales = [scale for scale in known if scale is not None]
    found = [RaterScores(name, kind, *each) for each in zip(own, is_better, known, values, strict=True)]
    if own == list(aspects) and len(scales) == len(aspects) > 1 and all(np.isfinite(each).any() for each in values):
        return [RaterScores(name, kind, UNIFIED, True, _ENDS, unified(np.stack(values), scales, is_better)), *found]
    return found


def item_sums(rated: Ratings, series: Sequence[RaterScores]) -> tuple[list[str], Floats]:
    """Returns the systems, sorted by name, and sums over their replies to each item, sorted by item id.

    Args:
        rated: The ratings.
        series: Result of `rater_scores`.

    Returns:
        The names; and an array of shape (2, series, systems, items) with the sums of the values [0] and the numbers of
        replies with a value [1].
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


def separate_notes(
    rated: Ratings, *, aspects: Sequence[str] | None = None, raters: Sequence[str] | None = None
) -> list[str]:
    """Returns sentences about systems without common items or people, whose means do not compare.

    Args:
        rated: The ratings.
        aspects: See `leaderboard`.
        raters: See `leaderboard`.
    """
    series = rater_scores(rated, aspects=aspects, raters=raters)
    systems, (_, counts) = item_sums(rated, series)
    found: dict[str, list[str]] = {}
    names = list(dict.fromkeys(each.rater for each in series))
    for name in names:
        own = [place for place, each in enumerate(series) if each.rater == name]
        answered = (counts[own] > 0).any(axis=0)
        apart = _apart(answered) if rated.knows_items else np.zeros((len(systems), len(systems)), dtype=bool)
        strangers = np.zeros_like(apart)
        if name == PEOPLE and (people := rated.raters((HUMAN,))):
            strangers = _apart(_rated_by(rated, people, [series[place].aspect for place in own], systems))
        for differ, what, effect in (
            (apart & strangers, "no item and no rater", "their means do not compare"),
            (apart & ~strangers, "no item", "their means do not compare"),
            (strangers & ~apart, "no rater", "their means also differ by their raters"),
        ):
            for some, others in _groups(systems, differ):
                share = "shares" if len(some) == 1 else "share"
                found.setdefault(f"{_few(some)} {share} {what} with {_few(others)}: {effect}.", []).append(name)
    return [
        sentence if len(of) == len(names) else f"Ratings by {_few(of)}: {sentence}" for sentence, of in found.items()
    ]


def _rated_by(rated: Ratings, people: Sequence[str], aspects: Sequence[str], systems: Sequence[str]) -> Flags:
    """Returns who rated which system, shape (systems, people)."""
    own = {name: np.asarray(rated.systems) == name for name in systems}
    found = np.zeros((len(systems), len(people)), dtype=bool)
    for aspect in aspects:
        for rater, values in zip(*rated.people(aspect, people), strict=True):
            there = np.isfinite(values)
            found[:, people.index(rater)] |= [bool((there & own[name]).any()) for name in systems]
    return found


def _apart(has: Flags) -> Flags:
    """Returns the pairs of systems, shape (systems, systems), that have something each, but nothing in common.

    Args:
        has: Shape (systems, things).
    """
    common: Ints = has.astype(np.int64) @ has.astype(np.int64).T
    some: Flags = np.asarray(has.any(axis=1))
    return (common == 0) & some[:, None] & some[None, :]


def _groups(systems: Sequence[str], differ: Flags) -> list[tuple[list[str], list[str]]]:
    """Returns pairs of differing systems as pairs of groups, each pair of systems once."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, row in enumerate(differ):
        groups.setdefault(tuple(np.flatnonzero(row).tolist()), []).append(place)
    found, done = [], set[tuple[int, int]]()
    for others, some in groups.items():
        new = [other for other in others if (other, some[0]) not in done]
        done |= {(place, other) for place in some for other in others}
        if new:
            found.append(([systems[place] for place in some], [systems[place] for place in new]))
    return found


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:7], *(["..."] if len(names) > 7 else [])])


def leaderboard_signature(
    rated: Ratings,
    *,
    population: str,
    aspects: Sequence[str],
    raters: Sequence[str] | None = None,
    resamples: int,
    seed: int,
    confidence: float,
) -> str:
    """Returns the signature of `leaderboard`, which names everything that changes its values.

    Args:
        rated: The ratings.
        population: Source of the rows, as the signature names it.
        aspects: Aspects of the unified score.
        raters: See `leaderboard`.
        resamples: See `leaderboard`.
        seed: See `leaderboard`.
        confidence: See `leaderboard`.
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
    return join_parts(parts | bootstrap_parts(resamples, seed, confidence))
