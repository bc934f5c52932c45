"""Fills in raters' sheets without people, so that a campaign can be tried from beginning to end.

What is right is planted: read from a file, or drawn from the campaign's seed, so that all its rounds have one truth.
What a rater says of a unit follows from the seed, the round, the rater and the unit alone; it stays when others are
assigned more or less.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from fcconan.annotation.assignment.assignments import derived_seed
from fcconan.annotation.campaigns import LABEL, VALIDATION, Campaign, Row, Unit, as_lines
from fcconan.annotation.simulation.raters import (
    Behaviour,
    Floats,
    answers_of,
    grades,
    label_shares,
    truths_of,
    verdict_shares,
)
from fcconan.annotation.tools import csv_sheets, task_view
from fcconan.annotation.tools.task_view import COMMENT, SECONDS, SKIP, VERDICT, Item
from fcconan.annotation.validation import AGREE, DISAGREE
from fcconan.annotation.votes import NOT_SURE, answer_in, unit_named
from fcconan.data import open_table
from fcconan.errors import InputError
from fcconan.judging import Task

TRUTH = "truth.jsonl"
POSITIVE_RATE = 0.17  # appropriate pairs in FC-CONAN, rounded
SPREAD = 0.5  # of the logarithm of times


@dataclass(frozen=True)
class Truth:
    """What is right.

    Attributes:
        values: Unit -> aspect, or `label` -> label or grade.
        strengths: Of comparisons: reply -> strength; empty where only the right verdicts are known.
    """

    values: dict[str, dict[str, str | float]]
    strengths: dict[str, float] = field(default_factory=dict)

    def rows(self) -> list[Row]:
        """Returns what `read_truth` reads."""
        rows: list[Row] = [
            {"unit_id": unit, "aspect": aspect, "value": value}
            for unit, given in self.values.items()
            for aspect, value in given.items()
        ]
        return rows + [{"reply_id": reply, "strength": strength} for reply, strength in self.strengths.items()]


def draw_truth(campaign: Campaign, *, positive_rate: float = POSITIVE_RATE) -> Truth:
    """Plants what is right, from the campaign's seed.

    Of two labels, the last one in the task (`appropriate`) is right for exactly the given share of the units, rounded;
    grades are even over the scale; strengths of replies are normal, and the right verdict is for the stronger one.

    Args:
        campaign: The campaign.
        positive_rate: From 0 to 1.

    Raises:
        InputError: The rate is no share, or the task has more labels.
    """
    seed, task = derived_seed(campaign.settings.seed, "truth"), campaign.task
    units = campaign.units()
    strengths: dict[str, float] = {}
    values: dict[str, dict[str, str | float]]
    if task.aspects:
        values = {
            unit: {
                each.name: round(each.low + (each.high - each.low) * _drawn(seed, unit, each.name).random(), 3)
                for each in task.aspects
            }
            for unit in units
        }
    elif task.unit == "comparison":
        replies = dict.fromkeys(key for unit in units.values() for key in (unit.reply_a, unit.reply_b) if key)
        strengths = {key: round(float(_drawn(seed, key).normal()), 6) for key in replies}
        values = {key: {LABEL: _stronger(unit, strengths)} for key, unit in units.items()}
    else:
        right = truths_of(task)
        if len(right) > 2:
            raise InputError(f"the task {task.name} has the labels {', '.join(right)}: plant them with --truth FILE")
        ranked = sorted(units, key=lambda unit: sha256(f"{seed}\n{unit}".encode()).digest())
        positive = set(ranked[: round(positive_rate * len(ranked))])
        values = {unit: {LABEL: right[-1] if unit in positive else right[0]} for unit in units}
    return Truth({key: values[key] | (unit.known or {}) for key, unit in units.items()}, strengths)


def read_truth(path: Path, campaign: Campaign) -> Truth:
    """Reads what is right: rows of `unit_id` and `label`, or of `unit_id`, `aspect` and `value`.

    For `unit_id` there may be `pair_id`, `reply_id`, or `reply_a` and `reply_b`, for `label` `verdict`. Of comparisons,
    rows of `reply_id` and `strength` are another way. Rows about anything else are left alone, as a file may be of a
    larger dataset.

    Args:
        path: CSV, JSON lines or parquet.
        campaign: The campaign, all whose units need a right answer; of anchors and quiz units it is known.

    Raises:
        InputError: It cannot be read, a value is none of the task's, or a unit has none.
    """
    units, task = campaign.units(), campaign.task
    replies = {key for unit in units.values() for key in (unit.reply_a, unit.reply_b)}
    values: dict[str, dict[str, str | float]] = {unit: {} for unit in units}
    strengths: dict[str, float] = {}
    for row in open_table("rows", [path]):
        where = row.place
        if row.get("strength") is not None:
            if row.get("reply_id") in replies:
                strengths[str(row["reply_id"])] = task_view.finite(row["strength"], "strength", where)
            continue
        key, (aspect, value) = unit_named(row), answer_in(row)
        if key in values and aspect in campaign.aspects:
            values[key][aspect] = _checked(where, task, aspect, value)
    for key, unit in units.items():
        if task.unit == "comparison" and {unit.reply_a, unit.reply_b} <= strengths.keys():
            values[key].setdefault(LABEL, _stronger(unit, strengths))
        values[key] |= unit.known or {}
        if lacking := [aspect for aspect in campaign.aspects if aspect not in values[key]]:
            raise InputError(f"{path} has no right answer for {key} ({lacking[0]}): add it, or leave --truth out")
    return Truth(values, strengths)


def filled_in(
    campaign: Campaign, round_name: str, behaviours: Mapping[str, Behaviour], truth: Truth, *, seed: int
) -> dict[str, list[Row]]:
    """Fills in the sheets of all raters of a round.

    Args:
        campaign: The campaign.
        round_name: The round.
        behaviours: By rater.
        truth: What is right.
        seed: Of all draws.

    Returns:
        Rater -> rows, as `annotate export --tool csv` writes them and `annotate import` reads them.

    Raises:
        InputError: There is no such round.
    """
    theirs = task_view.of_raters(campaign, round_name)
    handout = task_view.Handout(campaign, round_name, task_view.text_names(theirs))
    shown = campaign.shown(round_name) or {}
    found = {}
    for rater, items in theirs.items():
        rows = csv_sheets.sheet(handout, items)
        timed = behaviours[rater].seconds is not None
        shares = label_shares(behaviours[rater], campaign.task) if campaign.task.labels else None
        for row, item in zip(rows, items, strict=True):
            generator = _drawn(seed, round_name, rater, item.unit.unit_id)
            skipped = generator.random() < behaviours[rater].skip
            said = _said(campaign.task, item, behaviours[rater], shares, truth, generator)
            if round_name == VALIDATION:
                said = _verdict(campaign.task, shown[item.assignment.key], said, behaviours[rater], generator)
            if skipped or not said:
                row[SKIP] = 1
            else:
                row |= {
                    name: task_view.turned(value, item.assignment, item.unit) if round_name != VALIDATION else value
                    for name, value in said.items()
                }
            row[COMMENT] = None
            if timed:
                median = float(behaviours[rater].seconds or 0)
                row[SECONDS] = round(median * float(np.exp(SPREAD * generator.normal())), 1)
        found[rater] = rows
    return found


def sheets(found: Mapping[str, Sequence[Row]], round_name: str, truth: Truth) -> dict[str, str]:
    """Returns the files to be written: a CSV sheet for every rater, and what is right."""
    files = {f"{round_name}-{rater}.csv": csv_sheets.as_csv(list(rows)) for rater, rows in found.items()}
    return files | {TRUTH: as_lines(truth.rows())}


def right_shares(campaign: Campaign, found: Mapping[str, Sequence[Row]], truth: Truth, round_name: str) -> list[Row]:
    """Counts what raters said.

    Args:
        campaign: The campaign.
        found: What `filled_in` returned.
        truth: What is right.
        round_name: The round.

    Returns:
        Rows with `rater`, `units`, `skipped`, `not_sure`, and of the other answers: `right` (the share that is right)
        for labels, or `off` (the mean distance from the right grade) for grades; `agree` for validators.
    """
    swapped = {(each.rater, each.unit_id): each for each in campaign.assignments(round_name)}
    units = campaign.units()
    rows = []
    for rater, theirs in found.items():
        judged = [row for row in theirs if not row[SKIP]]
        row: Row = {"rater": rater, "units": len(theirs), "skipped": len(theirs) - len(judged), "not_sure": 0}
        if round_name == VALIDATION:
            row["agree"] = _mean(row[VERDICT] == AGREE for row in judged)
        elif campaign.task.aspects:
            row["off"] = _mean(
                abs(float(row[aspect]) - float(truth.values[row["unit_id"]][aspect]))
                for row in judged
                for aspect in campaign.aspects
            )
        else:
            row["not_sure"] = sum(row[LABEL] == NOT_SURE for row in judged)
            row["right"] = _mean(
                task_view.turned(each[LABEL], swapped[rater, each["unit_id"]], units[each["unit_id"]])
                == truth.values[each["unit_id"]][LABEL]
                for each in judged
                if each[LABEL] != NOT_SURE
            )
        rows.append(row)
    return rows


def _said(
    task: Task,
    item: Item,
    behaviour: Behaviour,
    by_label: Floats | None,
    truth: Truth,
    generator: np.random.Generator,
) -> dict[str, str | float]:
    """What a rater thinks of a unit, a verdict being about its own order of replies."""
    right = truth.values[item.unit.unit_id]
    if by_label is None:
        found = {}
        for aspect in task.aspects:
            grade = float(grades(behaviour, aspect, np.array(float(right[aspect.name])), generator))
            found[aspect.name] = grade if aspect.decimals else int(grade)
        return dict(found)
    said = answers_of(task)
    if task.unit == "comparison" and not item.unit.known and truth.strengths:
        first, second = (truth.strengths[str(key)] for key in (item.unit.reply_a, item.unit.reply_b))
        difference = second - first if item.assignment.swapped else first - second
        shares = verdict_shares(behaviour, np.array([difference]), task)[0]
    else:
        as_shown = task_view.turned(right[LABEL], item.assignment, item.unit)
        shares = by_label[truths_of(task).index(str(as_shown))]
    chosen = said[int(np.searchsorted(np.cumsum(shares)[:-1], generator.random(), side="right"))]
    return {LABEL: task_view.turned(chosen, item.assignment, item.unit)}


def _verdict(
    task: Task, was_shown: Row, said: Mapping[str, str | float], behaviour: Behaviour, generator: np.random.Generator
) -> dict[str, str | float]:
    """What a validator says of what was shown; nothing where they are not sure themselves."""
    if generator.random() < behaviour.trusting:
        return {VERDICT: AGREE}
    if task.aspects:
        far = (abs(float(said[aspect]) - float(grade)) for aspect, grade in was_shown["grades"].items())
        return {VERDICT: DISAGREE if any(each > behaviour.within for each in far) else AGREE}
    if said[LABEL] == NOT_SURE:
        return {}
    return {VERDICT: AGREE if said[LABEL] == was_shown[LABEL] else DISAGREE}


def _stronger(unit: Unit, strengths: Mapping[str, float]) -> str:
    first, second = strengths[str(unit.reply_a)], strengths[str(unit.reply_b)]
    return "tie" if first == second else "a" if first > second else "b"


def _checked(where: str, task: Task, aspect: str, value: Any) -> str | float:
    if task.labels:
        if value not in truths_of(task):
            raise InputError(f"{where}: {value!r} cannot be right, only {', '.join(truths_of(task))}: correct the row")
        return str(value)
    grade = task_view.finite(value, "value", where)
    low, high = task.aspect(aspect).scale
    if not low <= grade <= high:
        raise InputError(f"{where}: {aspect} is {grade:g}, expected {low:g} to {high:g}: correct the row")
    return grade


def _drawn(seed: int, *names: str) -> np.random.Generator:
    digest = sha256("\n".join((str(seed), *names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8]))


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return float(np.mean(found)) if found else None
