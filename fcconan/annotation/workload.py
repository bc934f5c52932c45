"""What judging costs: time and pay, from a given pace or from the one that tools measured."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from fcconan.annotation.campaigns import Answer
from fcconan.errors import InputError

HOUR = 3600.0
_FEWEST = 4  # of which quartiles say something


@dataclass(frozen=True)
class Pace:
    """How long raters take for a unit.

    Attributes:
        seconds: The mean, pauses left out; None where nothing was measured.
        measured: Units whose time is in the mean; 0 of a pace that was given.
        pauses: Units whose time was left out.
    """

    seconds: float | None
    measured: int = 0
    pauses: int = 0


@dataclass(frozen=True)
class Effort:
    """What a number of units costs.

    Attributes:
        units: How many.
        hours: How long they take; None if the pace is not known.
        pay: What that costs, in the currency of the pay per hour; None without one.
    """

    units: int
    hours: float | None
    pay: float | None


def measured_pace(answers: Iterable[Answer]) -> Pace:
    """Returns the pace at which units were judged.

    A tool gives a time for a unit, which stands with each of its answers, so the longest counts. A time beyond the
    third quartile by more than three times the distance of the quartiles is a pause.

    Args:
        answers: Of any rounds.
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


def effort(units: Mapping[str, int], pace: Pace, pay_per_hour: float | None = None) -> dict[str, Effort]:
    """Estimates time and pay.

    Args:
        units: Whatever the numbers are of, such as raters -> number of units.
        pace: How long a unit takes.
        pay_per_hour: In any currency.

    Raises:
        InputError: The pace or the pay is negative.
    """
    if pace.seconds is not None and pace.seconds < 0:
        raise InputError(f"--seconds-per-unit is {pace.seconds:g}: give a number from 0")
    if pay_per_hour is not None and pay_per_hour < 0:
        raise InputError(f"--pay-per-hour is {pay_per_hour:g}: give a number from 0")
    found = {}
    for name, number in units.items():
        hours = None if pace.seconds is None else number * pace.seconds / HOUR
        pay = None if hours is None or pay_per_hour is None else hours * pay_per_hour
        found[name] = Effort(number, hours, pay)
    return found
