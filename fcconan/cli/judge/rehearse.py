"""Rehearses a calibration: everything is done but the asking, with stand-ins for what models would say."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.cli.models import Rehearsal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fcconan.judging import Aspect, Example, Parts, Plan, Settings
    from fcconan.models import Call, Model

_LEAST_RESAMPLES = 100
_STEP = "Read the message and the reply, and compare them with what every grade means."
_STEPS = 5  # of a task that has none


def rehearse(
    aspect: "Aspect", parts: "Parts", settings: "Settings", plan: "Plan", model: "Model", drafter: "Model"
) -> list[Rehearsal]:
    """Counts what a calibration asks at most: no draft is unreadable or like another, none of its ratings is missing.

    The task's own steps stand in for what the drafter would write, with a number that tells drafts apart.

    Args:
        aspect: What is calibrated.
        parts: People's ratings.
        settings: Of the calibration.
        plan: What the judge is asked.
        model: The judge.
        drafter: Writes the steps.

    Returns:
        What the drafter and the judge are asked.

    Raises:
        InputError: Settings and ratings do not go together.
    """
    from fcconan.judging import StepsRater, calibrate

    own = list(aspect.steps) or [_STEP] * _STEPS

    def written(call: "Call", number: int) -> str:
        return json.dumps({"steps": [*own[:-1], f"{own[-1]} ({number})"]})

    drafting = Rehearsal(drafter, role="drafts", answer=written)
    judging = Rehearsal(model, role="ratings")
    rater = StepsRater(judging, plan, aspect.name)

    def rate(steps: "Sequence[str]", asked: "Sequence[Example]") -> list[float | None]:
        rater(steps, asked)
        # All a little wrong, so that every candidate has a correlation and errors to be refined on.
        return [each.value + (number + 1) / 1e6 for number, each in enumerate(asked)]

    with tempfile.TemporaryDirectory() as folder:
        calibrate(
            aspect,
            parts,
            rate=rate,
            drafter=drafting,
            log=Path(folder) / "rehearsal.log.jsonl",
            settings=replace(settings, resamples=_LEAST_RESAMPLES),
        )
    return [drafting, judging]
