"""`annotate simulate`: simulated answers of raters, to try a campaign from beginning to end.

The truth follows from the campaign's seed; it is the same in all rounds. An answer depends only on the seed, the round,
the rater and the unit, and does not change with other assignments.
"""

import shlex
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from fcconan.annotation.campaigns import LABEL, VALIDATION, Campaign, as_lines
from fcconan.annotation.ordering import derived_seed
from fcconan.annotation.questions import COMMENT, SKIP, VERDICT, questions, turned
from fcconan.annotation.sheets import HIDDEN, as_csv, raters_sheets, write
from fcconan.annotation.votes import NOT_SURE
from fcconan.groups import NotNegative, Share
from fcconan.judging import Aspect
from fcconan.result import Result

POSITIVE_RATE = 0.17  # appropriate pairs in FC-CONAN, rounded
WITHIN = 1.0  # largest distance of a grade with which a validator agrees


def simulate(
    campaign: Path,
    *,
    out: Path,
    round: str = "main",
    accuracy: Share = 0.9,
    skip_rate: Share = 0.0,
    seed: Annotated[int | None, NotNegative] = None,
) -> Result:
    """Simulate the answers of raters, to try out a campaign.

    Of pairs with two labels, a share of .17 has the last label of the task (`appropriate`) as right answer. Other
    labels are equally frequent, and grades are uniform on the scale. Gold questions have their known answers.
    Validators compare their own answer with the one that is shown.

    Args:
        campaign: Folder of the campaign.
        out: Folder for filled-in sheets, and the right answers in truth.jsonl.
        round: Round of the campaign.
        accuracy: Share of correct answers; other answers are equally probable.
        skip_rate: Share of skipped units.
        seed: Seed of the answers; default: derived from the seed of the campaign.

    Returns:
        `raters`: one row for each simulated rater, with `units`, `skipped` and the `file`.

    Raises:
        InputError: The round does not exist.

    Examples:
        >>> simulate(campaign, out=folder / "sheets", accuracy=1).to_frame()["units"].tolist()
        [4, 4]
    """
    from pandas import DataFrame

    opened, out = Campaign(Path(campaign)), Path(out)
    seed = derived_seed(opened.settings.seed, f"simulate {round}", seed)
    truth, shown, files, rows = _truth(opened), opened.shown(round) or {}, {}, []
    words: Any = opened.task.words
    empty = dict.fromkeys([*(each.name for each in questions(opened, round)), COMMENT, SKIP])
    for rater, own in raters_sheets(opened, round).items():
        answers = []
        for unit_id, swapped in zip(own["unit_id"], own["swapped"], strict=True):
            generator = _generator(seed, round, rater, unit_id)
            if generator.random() < skip_rate:
                answers.append(empty | {SKIP: 1})
                continue
            said = _said(opened, truth[unit_id], accuracy, generator)
            if round == VALIDATION:
                seen = shown[rater, unit_id].get("grades") or shown[rater, unit_id]
                far = (abs(said[name] - seen[name]) > WITHIN if name != LABEL else said != seen for name in said)
                said = {VERDICT: "disagree" if any(far) else "agree"}
            told = {name: turned(value, swapped) for name, value in said.items()}
            answers.append(empty | {name: words.get(value, value) for name, value in told.items()})
        file = f"{round}-{rater}.csv"
        filled = own.drop(columns=HIDDEN).join(DataFrame(answers, own.index, dtype=object))
        files[file] = as_csv(filled.rename(columns=words), opened.task.delimiter)
        skipped = sum(answer[SKIP] is not None for answer in answers)
        rows.append({"rater": rater, "units": len(own), "skipped": skipped, "file": str(out / file)})
    right = [
        {"unit_id": unit, "aspect": aspect, "value": value}
        for unit, values in truth.items()
        for aspect, value in values.items()
    ]
    write(out, files | {"truth.jsonl": as_lines(right)})
    identity = {"campaign": opened.settings.name, "round": round, "accuracy": accuracy, "skip_rate": skip_rate}
    returned = f"fcconan annotate import {shlex.quote(str(opened.folder))} {shlex.quote(str(out))}/*.csv"
    return Result("annotate simulate", {"raters": DataFrame(rows)}, identity | {"seed": seed}, [f"Next: {returned}"])


def _truth(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """Draws the right answers: unit -> aspect, or `label` -> value."""
    seed, task, units = derived_seed(campaign.settings.seed, "truth"), campaign.task, campaign.units()
    labels = _labels(campaign)
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


def _said(
    campaign: Campaign, right: Mapping[str, Any], accuracy: float, generator: np.random.Generator
) -> dict[str, Any]:
    """Returns the own answer of a rater to a unit."""
    if labels := _labels(campaign):
        shares = np.full(len(labels), (1 - accuracy) / (len(labels) - 1))
        shares[labels.index(right[LABEL])] = accuracy
        return {LABEL: str(generator.choice(labels, p=shares))}
    said = {}
    for aspect in campaign.task.aspects:
        said[aspect.name] = right[aspect.name]
        if generator.random() >= accuracy:
            while said[aspect.name] == right[aspect.name]:
                said[aspect.name] = _grade(aspect, generator)
    return said


def _labels(campaign: Campaign) -> list[str]:
    return [label.name for label in campaign.task.labels if label.name != NOT_SURE]


def _grade(aspect: Aspect, generator: np.random.Generator) -> float:
    step = 10.0**-aspect.decimals
    grade = aspect.low + step * int(generator.integers(0, round((aspect.high - aspect.low) / step), endpoint=True))
    return round(grade, aspect.decimals) if aspect.decimals else int(grade)


def _generator(seed: int, *names: str) -> np.random.Generator:
    digest = sha256("\n".join((str(seed), *names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8]))
