"""Simulated answers of raters, to test a campaign from beginning to end.

Ground truth is read from a file, or drawn from the campaign's seed; it is the same in all rounds. A rater's answer to a
unit depends only on the seed, the round, the rater and the unit, and does not change with other assignments.
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
    AnnotatorModel,
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
SPREAD = 0.5  # standard deviation of the logarithm of times


@dataclass(frozen=True)
class GroundTruth:
    """The ground truth of a campaign.

    Attributes:
        values: Unit -> aspect, or `label` -> grade or label.
        strengths: Comparisons: reply -> strength; empty if only the correct verdicts are known.
    """

    values: dict[str, dict[str, str | float]]
    strengths: dict[str, float] = field(default_factory=dict)

    def rows(self) -> list[Row]:
        """Returns rows in the format of `read_ground_truth`."""
        rows: list[Row] = [
            {"unit_id": unit, "aspect": aspect, "value": value}
            for unit, given in self.values.items()
            for aspect, value in given.items()
        ]
        return rows + [{"reply_id": reply, "strength": strength} for reply, strength in self.strengths.items()]


def sample_ground_truth(campaign: Campaign, *, positive_rate: float = POSITIVE_RATE) -> GroundTruth:
    """Draws ground truth from the campaign's seed.

    With two labels, exactly the given share of the units, rounded, has the last label of the task (`appropriate`).
    Grades
    are uniform on the scale. Strengths of replies are normal, and the stronger reply is the correct verdict.

    Args:
        campaign: The campaign.
        positive_rate: Share of units with the last label, from 0 to 1.

    Raises:
        InputError: The task has more than two labels.
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
            raise InputError(
                f"the task {task.name} has the labels {', '.join(right)}: give ground truth with --truth FILE"
            )
        ranked = sorted(units, key=lambda unit: sha256(f"{seed}\n{unit}".encode()).digest())
        positive = set(ranked[: round(positive_rate * len(ranked))])
        values = {unit: {LABEL: right[-1] if unit in positive else right[0]} for unit in units}
    return GroundTruth({key: values[key] | (unit.known or {}) for key, unit in units.items()}, strengths)


def read_ground_truth(path: Path, campaign: Campaign) -> GroundTruth:
    """Reads ground truth: rows of `unit_id` and `label`, or of `unit_id`, `aspect` and `value`.

    Instead of `unit_id`, rows may have `pair_id`, `reply_id`, or `reply_a` and `reply_b`; instead of `label`,
    `verdict`.
    Comparisons may have rows of `reply_id` and `strength`. Rows about units of other campaigns are ignored.

    Args:
        path: CSV, JSON lines or parquet.
        campaign: The campaign; all units except gold questions and qualification tests need ground truth.

    Raises:
        InputError: The file cannot be read, a value is not valid for the task, or a unit has no value.
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
            raise InputError(f"{path} has no ground truth for {key} ({lacking[0]}): add it, or leave --truth out")
    return GroundTruth(values, strengths)


def simulate_answers(
    campaign: Campaign, round_name: str, behaviours: Mapping[str, AnnotatorModel], truth: GroundTruth, *, seed: int
) -> dict[str, list[Row]]:
    """Simulates the answers of all raters of a round.

    Args:
        campaign: The campaign.
        round_name: Name of the round.
        behaviours: Models of the raters.
        truth: Ground truth.
        seed: Seed of the answers.

    Returns:
        Rater -> rows, in the format of `annotate export --tool csv` and `annotate import`.

    Raises:
        InputError: The round does not exist.
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


def make_sheets(found: Mapping[str, Sequence[Row]], round_name: str, truth: GroundTruth) -> dict[str, str]:
    """Returns the files to write: a CSV sheet for every rater, and the ground truth."""
    files = {f"{round_name}-{rater}.csv": csv_sheets.as_csv(list(rows)) for rater, rows in found.items()}
    return files | {TRUTH: as_lines(truth.rows())}


def count_correct(
    campaign: Campaign, found: Mapping[str, Sequence[Row]], truth: GroundTruth, round_name: str
) -> list[Row]:
    """Counts simulated answers.

    Args:
        campaign: The campaign.
        found: Result of `simulate_answers`.
        truth: Ground truth.
        round_name: Name of the round.

    Returns:
        Rows with `rater`, `units`, `skipped` and `not_sure`. For the other answers: `right` (share of correct labels),
        `off` (mean distance from the true grade), or `agree` (validators).
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
    behaviour: AnnotatorModel,
    by_label: Floats | None,
    truth: GroundTruth,
    generator: np.random.Generator,
) -> dict[str, str | float]:
    """Returns the simulated answer of a rater; verdicts refer to the order of the unit."""
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
    task: Task,
    was_shown: Row,
    said: Mapping[str, str | float],
    behaviour: AnnotatorModel,
    generator: np.random.Generator,
) -> dict[str, str | float]:
    """Returns the simulated answer of a validator; empty if the validator is not sure."""
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
            raise InputError(f"{where}: found {value!r}, expected one of {', '.join(truths_of(task))}: correct the row")
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
