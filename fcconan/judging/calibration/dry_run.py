"""The requests of a calibration, counted without sending them."""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fcconan.judging.calibration.data import CalibrationParts, RatedExample
from fcconan.judging.calibration.search import StepsRater, search_steps
from fcconan.judging.calibration.settings import CalibrationSettings
from fcconan.judging.strategies import RatingPlan
from fcconan.judging.tasks import Aspect
from fcconan.models import Call, Model, Rehearsal

_LEAST_RESAMPLES = 100
_STEP = "Read the message and the reply, and compare them with what every grade means."
_STEPS = 5  # of a task that has none


def dry_run_calibration(
    aspect: Aspect,
    parts: CalibrationParts,
    settings: CalibrationSettings,
    plan: RatingPlan,
    model: Model,
    drafter: Model,
) -> list[Rehearsal]:
    """Counts the requests of a calibration at most: each draft is readable and unique, and no rating is missing.

    The task's own steps take the place of drafts, with a number that distinguishes them.

    Args:
        aspect: The aspect.
        parts: People's ratings.
        settings: Those of the calibration.
        plan: The questions of the judge.
        model: The judge.
        drafter: The model that writes the steps.

    Returns:
        The requests to the drafter and to the judge.

    Raises:
        InputError: Settings and ratings do not go together.
    """
    own = list(aspect.steps) or [_STEP] * _STEPS

    def written(call: Call, number: int) -> str:
        return json.dumps({"steps": [*own[:-1], f"{own[-1]} ({number})"]})

    drafting = Rehearsal(drafter, role="drafts", answer=written)
    judging = Rehearsal(model, role="ratings")
    rater = StepsRater(judging, plan, aspect.name)

    def rate(steps: Sequence[str], asked: Sequence[RatedExample]) -> list[float | None]:
        rater(steps, asked)
        # All a little wrong, so that every candidate has a correlation and errors to be refined on.
        return [each.value + (number + 1) / 1e6 for number, each in enumerate(asked)]

    with tempfile.TemporaryDirectory() as folder:
        search_steps(
            aspect,
            parts,
            rate=rate,
            drafter=drafting,
            log=Path(folder) / "rehearsal.log.jsonl",
            settings=replace(settings, resamples=_LEAST_RESAMPLES),
        )
    return [drafting, judging]
