"""Dry run of a calibration, which counts its requests."""

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
from fcconan.models import ChatRequest, DryRun, Model

_LEAST_RESAMPLES = 100
_STEP = "Read the message and the reply, and compare them with what every grade means."
_STEPS = 5  # number of steps for a task without any


def dry_run_calibration(
    aspect: Aspect,
    parts: CalibrationParts,
    settings: CalibrationSettings,
    plan: RatingPlan,
    model: Model,
    drafter: Model,
) -> list[DryRun]:
    """Counts the largest number of requests of a calibration, in which all drafts are readable and unique.

    The steps of the task, made unique by a number, replace drafts.

    Args:
        aspect: Aspect to calibrate.
        parts: Ratings by people.
        settings: Settings of the calibration.
        plan: Task and sampling of the judge.
        model: Model of the judge.
        drafter: Model that writes the steps.

    Returns:
        The requests to the drafter and to the judge.

    Raises:
        InputError: The settings do not fit the ratings.
    """
    own = list(aspect.steps) or [_STEP] * _STEPS

    def written(call: ChatRequest, number: int) -> str:
        return json.dumps({"steps": [*own[:-1], f"{own[-1]} ({number})"]})

    drafting = DryRun(drafter, role="drafts", answer=written)
    judging = DryRun(model, role="ratings")
    rater = StepsRater(judging, plan, aspect.name)

    def rate(steps: Sequence[str], asked: Sequence[RatedExample]) -> list[float | None]:
        rater(steps, asked)
        # Small errors in all ratings, so that each candidate has a correlation and examples for refinement.
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
