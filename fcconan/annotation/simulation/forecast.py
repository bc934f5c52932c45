"""Time and pay of raters."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fcconan.annotation.campaigns import Answer, Row

HOUR = 3600.0
_FEWEST = 4  # minimum number of times for quartiles


@dataclass(frozen=True)
class Pace:
    """The time that raters need for a unit.

    Attributes:
        seconds: Mean without pauses; None without measurements.
        measured: Number of units in the mean; 0 for a given value.
        pauses: Number of units left out as pauses.
    """

    seconds: float | None
    measured: int = 0
    pauses: int = 0


def measured_pace(answers: Iterable[Answer]) -> Pace:
    """Returns the measured time for a unit.

    Tools record one time for a unit, stored with each of its answers; the maximum counts. A time above the third
    quartile
    by more than three interquartile ranges is a pause.

    Args:
        answers: Answers of any rounds.
    """
    times: dict[tuple[str, str, str], float] = {}
    for answer in answers:
        if answer.seconds is not None:
            key = answer.round, answer.rater, answer.unit_id
            times[key] = max(times.get(key, 0.0), answer.seconds)
    values = np.array(list(times.values()))
    kept = values
    if len(values) >= _FEWEST:
        low, high = np.quantile(values, [0.25, 0.75])
        kept = values[values <= high + 3 * (high - low)]
    seconds = float(kept.mean()) if len(kept) else None
    return Pace(seconds, len(kept), len(values) - len(kept))


def estimate_effort(units: int, pace: Pace, pay_per_hour: float | None = None) -> Row:
    """Computes time and pay.

    Args:
        units: Number of units.
        pace: Time for a unit.
        pay_per_hour: Pay per hour, in any currency.

    Returns:
        `units`, `hours` (None without a time) and `pay` (None without hours or pay per hour).
    """
    hours = None if pace.seconds is None else units * pace.seconds / HOUR
    pay = None if hours is None or pay_per_hour is None else hours * pay_per_hour
    return {"units": units, "hours": hours, "pay": pay}
