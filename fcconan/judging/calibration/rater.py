"""Rates the examples of a calibration with a model: what every candidate is tried with."""

from collections.abc import Sequence
from dataclasses import replace

from fcconan.judging.calibration.data import Example
from fcconan.judging.rating import ModelJudge
from fcconan.judging.strategies import TEXTS, Plan
from fcconan.models import Model


class StepsRater:
    """A judge that is given other evaluation steps every time, as `fcconan.judging.calibration.search.Rate` asks for.

    Args:
        model: The judge.
        plan: What it is asked, but for the steps.
        aspect: The name of the aspect that is calibrated.

    Attributes:
        failed: Ratings that are missing for a passing reason so far; another run asks for them again.
    """

    def __init__(self, model: Model, plan: Plan, aspect: str) -> None:
        self._model, self._plan, self._aspect = model, plan, aspect
        self.failed = 0

    def __call__(self, steps: Sequence[str], examples: Sequence[Example]) -> list[float | None]:
        """Returns a rating of every example by these steps, None where there is none."""
        judge = ModelJudge(self._model, replace(self._plan, steps={self._aspect: list(steps)}))
        rows = [
            {"reply_id": str(number), **{TEXTS[name]: text for name, text in each.variables.items()}}
            for number, each in enumerate(examples)
        ]
        values = [rows_of_one[0]["value"] for rows_of_one in judge.rate(rows)]
        self.failed += judge.failed
        return values
