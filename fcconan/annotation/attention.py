"""Checks of raters' attention: drift, speed, gold questions and constant answers. No rater is removed.

- `drift`: Spearman's rho between the position of a unit in the rater's order and the rater's error. The error of a
  label is 1 if it differs from the known answer (gold questions) or from the label of more than half of the other
  raters. The error of a grade is its distance from the known grade, or from the mean of the others. The p-value is that
  of a two-sided permutation test, corrected by Holm's method over all raters and aspects.
- `fast`: share of units answered faster than a threshold: three robust standard deviations (1.4826 times the median
  absolute deviation) below the median of the logarithms of all raters' seconds (Leys et al., 2013). Flagged above
  `FAST`.
- `anchors`: share of gold questions answered right; grades within a given distance are right. Flagged below a pass
  mark.
- `constant`: the same answer to every unit although other raters vary. It has no statistic.

The permutations of `drift` are orders that the round could have had. If all units of a CN or HS follow each other,
their errors are correlated. Then blocks are permuted among blocks, units within their block, and gold questions among
gold questions.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.annotation.assignment.rounds import recorded_options
from fcconan.annotation.campaigns import MAIN, Assignment, Campaign, Key, Row, Unit
from fcconan.annotation.qualification import is_right
from fcconan.annotation.votes import NOT_SURE, Value, answers_of, current_votes
from fcconan.building import group_values
from fcconan.data import count_noun
from fcconan.scoring import LEVEL, Family, holm, middle_ranks, p_floor

Place = tuple[str, int]  # a stratum, and a block in it
FEWEST = 10  # minimum number of answers for the tests of drift and constant answers
FAST = 0.05
REASONS = ("too_few", "no_variation", "no_seconds", "no_anchors")
_CHUNK = 2_000_000  # shuffled errors in memory


@dataclass(frozen=True)
class Judged:
    """A unit that a rater judged.

    Attributes:
        unit: Id of the unit; gold questions are included.
        values: Values by aspect; None if skipped.
        seconds: Time for the unit; None if the tool does not record it.
        place: Stratum (a round, or its gold questions) and block within which the position was random.
    """

    unit: str
    values: Mapping[str, Value | None]
    seconds: float | None
    place: Place


def courses(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[str, list[Judged]]:
    """Returns the answers of each rater in order: round by round, each unit at its first position.

    The seconds of a unit are the maximum over its aspects.

    Raises:
        InputError: A round does not exist.
    """
    answers = answers_of(campaign, rounds)
    found: dict[Key, Judged] = {}
    for name in rounds:
        assignments = sorted(campaign.assignments(name), key=lambda each: each.position)
        for each, place in zip(assignments, _places(campaign, name, assignments), strict=True):
            keys = {aspect: (each.rater, each.unit_id, aspect) for aspect in campaign.aspects}
            given = {aspect: answers[key] for aspect, key in keys.items() if key in answers}
            if given and each.key not in found:
                values = {aspect: answer.value for aspect, answer in given.items()}
                seconds = max((one.seconds for one in given.values() if one.seconds), default=None)
                found[each.key] = Judged(each.unit_id, values, seconds, place)
    by_rater = group_values((rater, judged) for (rater, _), judged in found.items())
    return {rater: by_rater[rater] for rater in campaign.raters() if rater in by_rater}


def attention_checks(
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
    """Checks the answers of all raters.

    Args:
        campaign: The campaign.
        rounds: Rounds whose answers count.
        permutations: Number of permutations of a test.
        seed: Seed of the permutations.
        level: Corrected p-value below which a rater is flagged.
        too_fast: Seconds below which an answer is fast; None for the robust threshold.
        pass_mark: Minimum share of correct gold questions.
        within: Maximum distance of a correct grade from the known grade.

    Returns:
        Rows with `check`, `rater`, `aspect`, `statistic` (its name), `value`, `n`, `p`, `p_corrected`, `flagged`,
        `reason` (one of `REASONS` if there is no value) and `note`.

    Raises:
        InputError: A round does not exist.
    """
    found: list[Row] = []
    mine = courses(campaign, rounds)
    votes = current_votes(campaign, rounds, roles=("item", "anchor"))
    units = campaign.units()
    seconds = {rater: [each.seconds for each in course] for rater, course in mine.items()}
    threshold = too_fast if too_fast is not None else fast_threshold([*seconds.values()])
    for number, (rater, course) in enumerate(mine.items()):
        for aspect in campaign.aspects:
            errors, right, places = _errors(units, votes[aspect], rater, course, aspect, within)
            found.append(_row("drift", rater, aspect) | _drift(errors, places, permutations, [seed, number]))
            found.append(_row("anchors", rater, aspect) | _anchors(right, pass_mark))
            found.append(_row("constant", rater, aspect) | _constant(votes[aspect], rater))
        found.append(_row("fast", rater) | _fast(seconds[rater], threshold))
    tested = [row for row in found if row["p"] is not None]
    for row, p in zip(tested, holm(np.array([row["p"] for row in tested])).tolist(), strict=True):
        row |= {"p_corrected": p, "flagged": p < level}
    return found


def check_families(rows: Sequence[Row], permutations: int) -> list[Family]:
    """Returns the family of the drift tests; an empty list if there are no rows.

    Args:
        rows: Result of `attention_checks`.
        permutations: Number of permutations of a test.
    """
    n_tests = sum(row["p"] is not None for row in rows)
    floor = min(1.0, n_tests * p_floor(permutations)) if n_tests else None
    return [Family("drift", "permutation tests of all raters and aspects", n_tests, floor, "holm")] if rows else []


def family_notes(families: Sequence[Family], permutations: int) -> list[str]:
    """Returns a warning for every family of tests in which no result can be significant.

    Args:
        families: Result of `check_families`.
        permutations: Number of permutations of a test.
    """
    return [
        f"No check of {family.name} can be significant: its smallest corrected p is {family.floor:.3g} for "
        f"{count_noun(family.n_tests, 'test')} of {permutations} random orders; raise --resamples to "
        f"{math.ceil(family.n_tests / LEVEL)} or more."
        for family in families
        if family.floor is not None and family.floor > LEVEL
    ]


def trend(
    errors: Sequence[float], *, permutations: int, seed: Any, places: Sequence[Place] | None = None
) -> tuple[float, float] | None:
    """Tests whether errors grow or shrink along a sequence.

    Args:
        errors: One error for each position.
        permutations: Number of random orders of the errors.
        seed: Seed of the random orders.
        places: Stratum and block of each error. Blocks are permuted within their stratum, and errors within their
            block. None if every order is equally likely.

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


def fast_threshold(seconds: Sequence[Sequence[float | None]]) -> float | None:
    """Returns the seconds below which an answer is fast; None if no seconds are recorded, or they do not vary.

    Args:
        seconds: Seconds of each rater.
    """
    logarithms = np.log([each for some in seconds for each in some if each])
    if not len(logarithms):
        return None
    middle = np.median(logarithms)
    spread = 1.4826 * np.median(np.abs(logarithms - middle))
    return float(np.exp(middle - 3 * spread)) if spread > 0 else None


def _row(check: str, rater: str, aspect: str | None = None) -> Row:
    row: Row = {"check": check, "rater": rater, "aspect": aspect, "statistic": None, "value": None, "n": 0}
    return row | {"p": None, "p_corrected": None, "flagged": False, "reason": None, "note": ""}


def _errors(
    units: Mapping[str, Unit],
    votes: dict[str, dict[str, Value]],
    rater: str,
    course: Sequence[Judged],
    aspect: str,
    within: float,
) -> tuple[list[float], list[bool], list[Place]]:
    """Returns errors in order, the correctness of gold questions, and the places of the errors.

    Units without a known answer and without a reference from other raters are left out.
    """
    errors, right, places = [], [], []
    for each in course:
        mine, known = each.values.get(aspect), (units[each.unit].known or {}).get(aspect)
        others = [value for other, value in votes.get(each.unit, {}).items() if other != rater]
        reference = known if known is not None else _reference(others)
        if mine is None or reference is None:
            continue
        off = abs(float(mine) - float(reference)) if isinstance(mine, float | int) else float(mine != reference)
        errors.append(off)
        places.append(each.place)
        if known is not None:
            right.append(is_right(mine, known, within))
    return errors, right, places


def _reference(others: Sequence[Value]) -> Value | None:
    """Returns the mean of the other grades, or the label of more than half of the other raters; None for `not_sure`."""
    numbers = [value for value in others if not isinstance(value, str)]
    if numbers:
        return fmean(numbers)
    label, backing = Counter(others).most_common(1)[0] if others else (None, 0)
    return label if label != NOT_SURE and 2 * backing > len(others) else None


def _drift(errors: Sequence[float], places: Sequence[Place], permutations: int, seed: Any) -> Row:
    found: Row = {"statistic": "spearman", "n": len(errors)}
    if len(errors) < FEWEST:
        return found | {"reason": "too_few"}
    tested = trend(errors, permutations=permutations, seed=seed, places=places)
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


def _fast(seconds: Sequence[float | None], threshold: float | None) -> Row:
    timed = [each for each in seconds if each is not None]
    found: Row = {"statistic": "share_fast", "n": len(timed)}
    if not timed or threshold is None:
        return found | {"reason": "no_variation" if timed else "no_seconds"}
    share = fmean(each < threshold for each in timed)
    note = f"below {threshold:.1f} s; median {float(np.median(timed)):.1f} s"
    return found | {"value": share, "flagged": share > FAST, "note": note}


def _places(campaign: Campaign, name: str, assignments: Sequence[Assignment]) -> list[Place]:
    """Returns the stratum and block of each assignment, in the given order.

    A block is a run of units of one CN or HS. Units that a rater took over later come one by one and are blocks of
    their
    own. Gold questions are at random positions between blocks; they are permuted among themselves.
    """
    key = {"cn": "cn_id", "hs": "hs_id"}.get(recorded_options(campaign, name).get("blocks", ""))
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
    """Yields random orders in chunks of limited size; shape (orders, values)."""
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


def _redrawn(
    orders: npt.NDArray[Any], sizes: npt.NDArray[np.int64], generator: np.random.Generator
) -> npt.NDArray[Any]:
    """Permutes values within consecutive blocks, then the blocks; each row independently."""
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
