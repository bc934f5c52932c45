"""Raters who drift, answer by reflex or fail anchors: shown, never removed.

Every check is made for every rater. The p-values of a check are one family, corrected by Holm's method: raters judge
different units in different orders, so that no random orders are common to all tests (`check_families`).

- `drift`: Spearman's rho between the position in the rater's order and the error. The error of a label is 1 if it is
  not the right answer (of an anchor) or the label that more than half of the other raters gave; that of a grade is its
  distance from the right one or from the others' mean. A two-sided permutation test of the errors over the positions.
- `runs`: the longest run of equal answers in the rater's order (of all grades of a reply together, and of what was on
  the left of comparisons). One-sided, against random orders of the rater's own answers, so that whoever gives one
  label nearly always is not accused of it.
- `side`: the share of verdicts, ties left out, for the reply that was shown first; an exact binomial test against 1/2.
- `fast`: the share of units answered faster than a threshold: three robust standard deviations (1.4826 times the
  median absolute deviation) below the median of the logarithms of all raters' seconds, as Leys et al. (2013) do it.
  Shown if it is more than `FAST`.
- `anchors`: the share of anchors answered right, grades within a given distance being right. Shown below a mark.
- `constant`: one answer to everything, where others vary. It has no statistic.

The random orders of `drift` and `runs` are those that the round could have had: where all units of a CN or HS follow
each other, right answers make runs and errors come in heaps, so that the blocks are put into another order, the units
within each block, and the anchors among the anchors' places, as when the round was made. `runs` also leaves the blocks
where they are, and doubles the smaller of both p-values (Bonferroni).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.annotation.assignment.rounds import made_how
from fcconan.annotation.campaigns import MAIN, Assignment, Campaign, Unit
from fcconan.annotation.quality import coded
from fcconan.annotation.votes import NOT_SURE, Value, answers_of, votes_of
from fcconan.data import counted
from fcconan.errors import InputError
from fcconan.scoring import LEVEL, Family, holm, middle_ranks, p_floor, units_floor

Row = dict[str, Any]
Integers = npt.NDArray[np.int64]
Place = tuple[str, int]  # a stratum, and a block in it
FEWEST = 10  # answers, for a test of drift, runs or sides
FAST = 0.05
TESTS = {  # the checks with a p-value
    "drift": "permutation tests of all raters and aspects",
    "runs": "permutation tests of all raters; p is doubled where there are two kinds of random order",
    "side": "exact binomial tests of all raters",
}
REASONS = ("too_few", "no_variation", "no_seconds", "no_anchors")
_CHUNK = 2_000_000  # shuffled answers held at once


@dataclass(frozen=True)
class Course:
    """What a rater answered, in the order in which it was shown; all lists are as long as there are units.

    Attributes:
        units: Ids, anchors among them.
        values: Values by aspect, None where skipped.
        swapped: Whether the second reply was shown first.
        seconds: For the unit; None if the tool does not say.
        places: What the unit's place was drawn within: a stratum (a round, or its anchors), and a block in it.
    """

    units: list[str]
    values: list[dict[str, Value | None]]
    swapped: list[bool]
    seconds: list[float | None]
    places: list[Place]


def courses(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[str, Course]:
    """Returns what each rater answered in order; rounds follow each other, a unit that comes twice stands where it was.

    The seconds of a unit are the most that any of its aspects has.

    Raises:
        InputError: There is no such round.
    """
    answers = answers_of(campaign, rounds)
    shown: dict[str, dict[str, tuple[bool, Place]]] = {rater: {} for rater in campaign.raters()}
    for name in rounds:
        assignments = sorted(campaign.assignments(name), key=lambda each: each.position)
        for each, place in zip(assignments, _places(campaign, name, assignments), strict=True):
            shown.setdefault(each.rater, {}).setdefault(each.unit_id, (each.swapped, place))
    found: dict[str, Course] = {}
    for rater, units in shown.items():
        course = Course([], [], [], [], [])
        for unit, (swapped, place) in units.items():
            given = {
                aspect: answers[rater, unit, aspect] for aspect in campaign.aspects if (rater, unit, aspect) in answers
            }
            if given:
                course.units.append(unit)
                course.values.append({aspect: each.value for aspect, each in given.items()})
                course.swapped.append(swapped)
                course.places.append(place)
                course.seconds.append(max((each.seconds for each in given.values() if each.seconds), default=None))
        if course.units:
            found[rater] = course
    return found


def checks(
    campaign: Campaign,
    rounds: Sequence[str] = (MAIN,),
    *,
    permutations: int = 10_000,
    seed: int = 0,
    level: float = 0.05,
    too_fast: float | None = None,
    pass_mark: float = 0.8,
    within: float = 0.0,
) -> list[Row]:
    """Makes all checks of all raters.

    Args:
        campaign: The campaign.
        rounds: Whose answers count.
        permutations: Of the tests.
        seed: Decides them.
        level: A corrected p-value below it is shown as flagged.
        too_fast: Seconds below which an answer is fast; None for the robust threshold.
        pass_mark: The share of anchors that must be right.
        within: How far from the right one a grade may be.

    Returns:
        Rows with `check`, `rater`, `aspect`, `statistic` (its name), `value`, `n`, `p`, `p_corrected`, `flagged`,
        `reason` (one of `REASONS` where there is no value) and `note`.

    Raises:
        InputError: There is no such round, or a mark is none.
    """
    _check_marks(level, too_fast, pass_mark, within)
    found: list[Row] = []
    mine = courses(campaign, rounds)
    votes = votes_of(campaign, rounds, roles=("item", "anchor"))
    units = campaign.units()
    threshold = too_fast if too_fast is not None else fast_threshold([course.seconds for course in mine.values()])
    for number, (rater, course) in enumerate(mine.items()):
        draw = {"permutations": permutations, "seed": [seed, number]}
        for aspect in campaign.aspects:
            errors, right, places = _errors(units, votes[aspect], rater, course, aspect, within)
            found.append(_row("drift", rater, aspect) | _drift(errors, draw | {"places": places}))
            found.append(_row("anchors", rater, aspect) | _anchors(right, pass_mark))
            found.append(_row("constant", rater, aspect) | _constant(votes[aspect], rater))
        found.append(_row("runs", rater) | _runs(campaign, course, draw))
        if campaign.task.unit == "comparison" and campaign.task.labels:
            found.append(_row("side", rater) | _side(course))
        found.append(_row("fast", rater) | _fast(course.seconds, threshold))
    for check in TESTS:
        rows = [row for row in found if row["check"] == check]
        corrected = holm(np.array([np.nan if row["p"] is None else row["p"] for row in rows]))
        for row, p in zip(rows, corrected.tolist(), strict=True):
            if row["p"] is not None:
                row |= {"p_corrected": p, "flagged": p < level}
    return found


def check_families(rows: Sequence[Row], permutations: int) -> list[Family]:
    """Returns the families of p-values: those of a check.

    Args:
        rows: What `checks` returned.
        permutations: As given to `checks`.
    """
    found = []
    for check, tests in TESTS.items():
        tested = [row["n"] for row in rows if row["check"] == check and row["p"] is not None]
        if not any(row["check"] == check for row in rows):
            continue
        floor = None
        if tested:  # an exact test of n answers has a p of 2^(1 - n) at least
            smallest = units_floor(max(tested)) if check == "side" else p_floor(permutations)
            floor = min(1.0, len(tested) * smallest)
        found.append(Family(check, tests, len(tested), floor, "holm"))
    return found


def family_notes(families: Sequence[Family], permutations: int) -> list[str]:
    """Returns a sentence for every family of tests none of which can be significant.

    Args:
        families: What `check_families` returned.
        permutations: As given to `checks`.
    """
    said = []
    for family in families:
        if family.floor is None or family.floor <= LEVEL:
            continue
        least = family.n_tests / LEVEL
        of, then = f" of {permutations} random orders", f"raise --resamples to {math.ceil(least)} or more"
        if family.name == "side":  # an exact test has no random orders
            of, then = "", f"a rater with {1 + math.ceil(math.log2(least))} answers or more is needed"
        said.append(
            f"No check of {family.name} can be significant: its smallest corrected p is {family.floor:.3g} for "
            f"{counted(family.n_tests, 'test')}{of}; {then}."
        )
    return said


def trend(
    errors: Sequence[float], *, permutations: int, seed: Any, places: Sequence[Place] | None = None
) -> tuple[float, float] | None:
    """Tests whether errors grow or shrink along a sequence.

    Args:
        errors: One for each position.
        permutations: Random orders of the errors.
        seed: Decides them.
        places: The stratum and block of each error: blocks change places within their stratum, and errors within their
            block. None if every order is as likely.

    Returns:
        Spearman's rho with the position, positive if errors grow, and its two-sided p-value, (c + 1) / (n + 1); None if
        all errors are equal.
    """
    ranks = middle_ranks(np.asarray(errors, dtype=np.float64))
    ranks = ranks - ranks.mean()
    if not ranks.any():
        return None
    line = np.arange(len(ranks)) - (len(ranks) - 1) / 2
    norm = np.sqrt((ranks**2).sum() * (line**2).sum())
    observed = float(line @ ranks / norm)
    drawn = np.concatenate([shuffled @ line for shuffled in _shuffles(ranks, permutations, seed, places)]) / norm
    return observed, float(((np.abs(drawn) >= abs(observed) - 1e-12).sum() + 1) / (permutations + 1))


def run_test(
    values: Sequence[Any], *, permutations: int, seed: Any, places: Sequence[Place] | None = None
) -> tuple[int, float]:
    """Tests whether the longest run of equal values is longer than in random orders of the same values.

    Args:
        values: In order; one or more.
        permutations: Random orders.
        seed: Decides them.
        places: As of `trend`.

    Returns:
        The longest run, and its one-sided p-value, (c + 1) / (n + 1).
    """
    codes = np.unique(list(values), return_inverse=True)[1].astype(np.int64)
    observed = int(_longest_runs(codes[None, :])[0])
    drawn = np.concatenate([_longest_runs(shuffled) for shuffled in _shuffles(codes, permutations, seed, places)])
    return observed, float(((drawn >= observed).sum() + 1) / (permutations + 1))


def fast_threshold(seconds: Sequence[Sequence[float | None]]) -> float | None:
    """Returns the seconds below which an answer is fast; None if there are none, or they do not vary.

    Args:
        seconds: Of each rater.
    """
    logarithms = np.log([each for some in seconds for each in some if each])
    if not len(logarithms):
        return None
    middle = np.median(logarithms)
    spread = 1.4826 * np.median(np.abs(logarithms - middle))
    return float(np.exp(middle - 3 * spread)) if spread > 0 else None


def _check_marks(level: float, too_fast: float | None, pass_mark: float, within: float) -> None:
    for name, value, right, expected in (
        ("level", level, 0 < level < 1, "between 0 and 1, such as 0.05"),
        ("too-fast", too_fast, too_fast is None or 0 < too_fast < np.inf, "of seconds above 0"),
        ("pass-mark", pass_mark, 0 <= pass_mark <= 1, "from 0 to 1"),
        ("within", within, 0 <= within < np.inf, "from 0"),
    ):
        if not right:
            raise InputError(f"--{name} is {value:g}: give a number {expected}")


def _row(check: str, rater: str, aspect: str | None = None) -> Row:
    row: Row = {"check": check, "rater": rater, "aspect": aspect, "statistic": None, "value": None, "n": 0}
    return row | {"p": None, "p_corrected": None, "flagged": False, "reason": None, "note": ""}


def _errors(
    units: Mapping[str, Unit],
    votes: dict[str, dict[str, Value]],
    rater: str,
    course: Course,
    aspect: str,
    within: float,
) -> tuple[list[float], list[bool], list[Place]]:
    """The errors in order, of units that have a right answer or others' votes; which anchors are right; the places."""
    errors, right, places = [], [], []
    for unit, given, place in zip(course.units, course.values, course.places, strict=True):
        mine, known = given.get(aspect), (units[unit].known or {}).get(aspect)
        if mine is None:
            continue
        others = [value for other, value in votes.get(unit, {}).items() if other != rater]
        reference = known if known is not None else _reference(others)
        if reference is not None:
            off = abs(float(mine) - float(reference)) if isinstance(mine, float | int) else float(mine != reference)
            errors.append(off)
            places.append(place)
            if known is not None:
                right.append(off <= (0 if isinstance(mine, str) else within) + 1e-9)
    return errors, right, places


def _reference(others: Sequence[Value]) -> Value | None:
    """The mean of others' grades, or the label that more than half of them gave, unless they are not sure."""
    numbers = [value for value in others if not isinstance(value, str)]
    if numbers:
        return fmean(numbers)
    label, backing = Counter(others).most_common(1)[0] if others else (None, 0)
    return label if label != NOT_SURE and 2 * backing > len(others) else None


def _drift(errors: Sequence[float], draw: dict[str, Any]) -> Row:
    found: Row = {"statistic": "spearman", "n": len(errors)}
    if len(errors) < FEWEST:
        return found | {"reason": "too_few"}
    tested = trend(errors, **draw)
    if tested is None:
        return found | {"reason": "no_variation"}
    half = len(errors) // 2
    note = f"error {fmean(errors[:half]):.3f} in the first half, {fmean(errors[half:]):.3f} in the second"
    return found | {"value": tested[0], "p": tested[1], "note": note}


def _anchors(right: Sequence[bool], pass_mark: float) -> Row:
    found: Row = {"statistic": "share_right", "n": len(right)}
    if not right:
        return found | {"reason": "no_anchors"}
    return found | {"value": fmean(right), "flagged": fmean(right) < pass_mark}


def _constant(votes: dict[str, dict[str, Value]], rater: str) -> Row:
    mine = [said[rater] for said in votes.values() if rater in said]
    others = {value for said in votes.values() if rater in said for other, value in said.items() if other != rater}
    same = len(set(mine)) == 1 and len(mine) >= FEWEST and len(others) > 1
    return {"n": len(mine), "flagged": same, "note": f"always {mine[0]}, where others vary" if same else ""}


def _runs(campaign: Campaign, course: Course, draw: dict[str, Any]) -> Row:
    order, places = [], []
    for given, swapped, place in zip(course.values, course.swapped, course.places, strict=True):
        if any(value is not None for value in given.values()):
            places.append(place)
            said = [_as_shown(given.get(aspect), swapped) for aspect in campaign.aspects]
            order.append(" ".join(f"{coded(campaign, value):g}" for value in said))
    found: Row = {"statistic": "longest_run", "n": len(order)}
    if len(order) < FEWEST:
        return found | {"reason": "too_few"}
    if len(set(order)) == 1:
        return found | {"reason": "no_variation"}
    # Runs of many blocks are seen when blocks change places, those that end within a block when the blocks stay.
    staying = [(f"{stratum}, {block}", 0) for stratum, block in places]
    ways = [places, staying] if len(set(places)) > len({stratum for stratum, _ in places}) else [places]
    tested = [run_test(order, **draw, places=way) for way in ways]
    return found | {"value": tested[0][0], "p": min(1.0, len(ways) * min(p for _, p in tested))}


def _as_shown(value: Value | None, swapped: bool) -> Value | None:
    return {"a": "b", "b": "a"}.get(value, value) if swapped and isinstance(value, str) else value


def _side(course: Course) -> Row:
    from scipy.stats import binomtest

    said = [
        _as_shown(value, swapped)
        for given, swapped in zip(course.values, course.swapped, strict=True)
        for value in given.values()
    ]
    first, n = said.count("a"), said.count("a") + said.count("b")
    found: Row = {"statistic": "share_first", "n": n}
    if n < FEWEST:
        return found | {"reason": "too_few"}
    return found | {"value": first / n, "p": float(binomtest(first, n).pvalue)}


def _fast(seconds: Sequence[float | None], threshold: float | None) -> Row:
    timed = [each for each in seconds if each is not None]
    found: Row = {"statistic": "share_fast", "n": len(timed)}
    if not timed or threshold is None:
        return found | {"reason": "no_variation" if timed else "no_seconds"}
    share = fmean(each < threshold for each in timed)
    note = f"below {threshold:.1f} s; median {float(np.median(timed)):.1f} s"
    return found | {"value": share, "flagged": share > FAST, "note": note}


def _places(campaign: Campaign, name: str, assignments: Sequence[Assignment]) -> list[Place]:
    """The stratum and block of each assignment, which come in their raters' orders.

    A block is what follows each other of one CN or HS, so that units that a rater took over later, which come one by
    one, are blocks of their own. Anchors, at random places in the midst of blocks, change places with each other only.
    """
    key = {"cn": "cn_id", "hs": "hs_id"}.get(made_how(campaign, name).get("blocks", ""))
    if key is None:
        return [(name, 0)] * len(assignments)
    units, found = campaign.units(), []
    last: dict[str, tuple[str, int]] = {}
    for each in assignments:
        unit = units[each.unit_id]
        if unit.role != "item":
            found.append((f"{name}, anchors", 0))
            continue
        before, number = last.get(each.rater, ("", 0))
        block = getattr(unit, key)
        last[each.rater] = (block, number + (block != before))
        found.append((name, last[each.rater][1]))
    return found


def _shuffles(values: npt.NDArray[Any], permutations: int, seed: Any, places: Sequence[Place] | None) -> Any:
    """Yields random orders, a bounded number at a time; shape (some orders, values)."""
    generator = np.random.default_rng(seed)
    strata: dict[str, list[int]] = {}
    blocks: dict[str, Counter[int]] = {}
    for at, (stratum, block) in enumerate(places or [("", 0)] * len(values)):
        strata.setdefault(stratum, []).append(at)
        blocks.setdefault(stratum, Counter())[block] += 1
    size = max(1, _CHUNK // len(values))
    for start in range(0, permutations, size):
        rows = min(size, permutations - start)
        orders = np.broadcast_to(values, (rows, len(values))).copy()
        for stratum, columns in strata.items():
            sizes = np.array(list(blocks[stratum].values()))
            orders[:, columns] = _redrawn(orders[:, columns], sizes, generator)
        yield orders


def _redrawn(orders: npt.NDArray[Any], sizes: Integers, generator: np.random.Generator) -> npt.NDArray[Any]:
    """Puts values into another order within blocks that follow each other, and the blocks; each row on its own."""
    starts = np.cumsum(sizes) - sizes
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        if size > 1:
            orders[:, start : start + size] = generator.permuted(orders[:, start : start + size], axis=1)
    if len(sizes) == 1:
        return orders
    turn = generator.permuted(np.tile(np.arange(len(sizes)), (len(orders), 1)), axis=1)
    new_starts = np.empty_like(turn)
    np.put_along_axis(new_starts, turn, np.cumsum(sizes[turn], axis=1) - sizes[turn], axis=1)
    within = np.arange(orders.shape[1]) - np.repeat(starts, sizes)
    moved = np.empty_like(orders)
    np.put_along_axis(moved, np.repeat(new_starts, sizes, axis=1) + within, orders, axis=1)
    return moved


def _longest_runs(codes: Integers) -> Integers:
    """The longest run in every row."""
    places = np.arange(codes.shape[1])
    starts = np.concatenate([np.ones((len(codes), 1), bool), codes[:, 1:] != codes[:, :-1]], axis=1)
    begun = np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    return np.asarray((places - begun).max(axis=1) + 1, dtype=np.int64)
