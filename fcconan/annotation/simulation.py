"""Simulated answers of raters, to try a campaign from beginning to end.

The truth follows from the campaign's seed; it is the same in all rounds. An answer depends only on the seed, the round,
the rater and the unit, and does not change with other assignments.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from fcconan.annotation.campaigns import LABEL, VALIDATION, Campaign, Row, as_lines
from fcconan.annotation.ordering import derived_seed
from fcconan.annotation.tools import csv_sheets, task_view
from fcconan.annotation.tools.task_view import SKIP, VERDICT
from fcconan.annotation.votes import NOT_SURE
from fcconan.judging import Aspect, Task

POSITIVE_RATE = 0.17  # appropriate pairs in FC-CONAN, rounded
_WITHIN = 1.0  # largest distance of a grade with which a validator agrees


def sample_truth(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """Draws the right answers: unit -> aspect, or `label` -> value.

    Of pairs with two labels, a share of .17 has the last label of the task (`appropriate`). Other labels are equally
    frequent, and grades are uniform on the scale. Gold questions have their known answers.
    """
    seed, task, units = derived_seed(campaign.settings.seed, "truth"), campaign.task, campaign.units()
    labels = _labels(task)
    ranked = sorted(units, key=lambda unit: sha256(f"{seed}\n{unit}".encode()).digest())
    positive = set(ranked[: round(POSITIVE_RATE * len(ranked))])
    found: dict[str, dict[str, Any]] = {}
    for key, unit in units.items():
        generator = _generator(seed, key)
        if task.unit == "pair" and len(labels) == 2:
            found[key] = {LABEL: labels[key in positive]}
        elif labels:
            found[key] = {LABEL: str(generator.choice(labels))}
        else:
            found[key] = {aspect.name: _grade(aspect, generator) for aspect in task.aspects}
        found[key] |= unit.known or {}
    return found


def simulate_answers(
    campaign: Campaign,
    round_name: str,
    truth: Mapping[str, Mapping[str, Any]],
    *,
    accuracy: float = 0.9,
    skip_rate: float = 0.0,
    seed: int,
) -> dict[str, list[Row]]:
    """Simulates the answers of all raters of a round; validators compare their own answer with the one that is shown.

    Args:
        campaign: The campaign.
        round_name: Name of the round.
        truth: Result of `sample_truth`.
        accuracy: Probability of the right answer; other answers are equally probable.
        skip_rate: Share of skipped units.
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
        found[rater] = csv_sheets.sheet(handout, items)
        for row, item in zip(found[rater], items, strict=True):
            generator = _generator(seed, round_name, rater, item.unit.unit_id)
            if generator.random() < skip_rate:
                row[SKIP] = 1
                continue
            said = _said(campaign.task, truth[item.unit.unit_id], accuracy, generator)
            if round_name == VALIDATION:
                row[VERDICT] = "agree" if _agrees(said, shown[item.assignment.key]) else "disagree"
            else:
                row |= {name: task_view.turned(value, item.assignment, item.unit) for name, value in said.items()}
    return found


def answered_sheets(
    round_name: str, found: Mapping[str, Sequence[Row]], truth: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Returns the files to write: a CSV sheet for every rater, and the right answers."""
    files = {f"{round_name}-{rater}.csv": csv_sheets.as_csv(rows) for rater, rows in found.items()}
    right = [
        {"unit_id": unit, "aspect": aspect, "value": value}
        for unit, values in truth.items()
        for aspect, value in values.items()
    ]
    return files | {"truth.jsonl": as_lines(right)}


def _said(task: Task, right: Mapping[str, Any], accuracy: float, generator: np.random.Generator) -> dict[str, Any]:
    if labels := _labels(task):
        shares = np.full(len(labels), (1 - accuracy) / (len(labels) - 1))
        shares[labels.index(right[LABEL])] = accuracy
        return {LABEL: str(generator.choice(labels, p=shares))}
    return {
        aspect.name: right[aspect.name] if generator.random() < accuracy else _grade(aspect, generator)
        for aspect in task.aspects
    }


def _agrees(said: Mapping[str, Any], shown: Row) -> bool:
    if LABEL in said:
        return bool(said[LABEL] == shown[LABEL])
    return all(abs(said[aspect] - float(grade)) <= _WITHIN for aspect, grade in shown["grades"].items())


def _labels(task: Task) -> list[str]:
    return [label.name for label in task.labels if label.name != NOT_SURE]


def _grade(aspect: Aspect, generator: np.random.Generator) -> float:
    grade = round(generator.uniform(aspect.low, aspect.high), aspect.decimals)
    return grade if aspect.decimals else int(grade)


def _generator(seed: int, *names: str) -> np.random.Generator:
    digest = sha256("\n".join((str(seed), *names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8]))
