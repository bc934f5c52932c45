"""Recomputed values of printed numbers, and the comparison of the two."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import Figure, Without

Status = Literal["exact", "rounding", "differs", "needs_model", "not_released"]
STATUSES: tuple[Status, ...] = ("exact", "rounding", "differs", "needs_model", "not_released")
_TINY = 1e-9  # of one printed unit: what binary fractions lose


@dataclass(frozen=True)
class Value:
    """A figure recomputed.

    Attributes:
        value: The number; None where it is undefined.
        note: From which rows it comes, if not from those of the paper; and the reason, if one was found, why it
            differs.
        without: Given instead of a value where this machine cannot compute what another can.
        from_print: It follows from printed figures, not from data; the note says so.
        by_chance: It is of other rows or draws than the paper's, so that being equal proves nothing: it `differs`.
    """

    value: float | None
    note: str = ""
    without: Without | None = None
    from_print: bool = False
    by_chance: bool = False


Key = tuple[str, str, str]  # table, row, column
Recompute = Callable[[Datasets], Mapping[Key, Value]]


def status_of(printed: Figure, value: float | None) -> Status:
    """Compares a printed figure with the one recomputed.

    `rounding` is what one of two slips gives: digits cut off, or the number rounded to one or two further digits and
    then once more. A whole number that is printed for another one is a count or a rank: off by one is no rounding.
    """
    if value is None or not math.isfinite(value):
        return "differs"
    if printed.bound:
        holds = {
            "<": value < printed.value,
            ">": value > printed.value,
            "≤": value <= printed.value,
            "≥": value >= printed.value,
        }
        return "exact" if holds[printed.bound] else "differs"
    if printed.unit == 1 and float(value).is_integer():
        return "exact" if value == printed.value else "differs"
    units, shown = value / printed.unit, printed.value / printed.unit
    if abs(units - shown) <= 0.5 + _TINY:
        return "exact"
    cut_off = math.trunc(units + math.copysign(_TINY, units))
    # A half goes either way.
    twice = any(abs(_half_up(units, digits) - shown) <= 0.5 + _TINY for digits in (1, 2))
    return "rounding" if twice or cut_off == round(shown) else "differs"


def _half_up(value: float, digits: int) -> float:
    return math.copysign(math.floor(abs(value) * 10**digits + 0.5 + _TINY) / 10**digits, value)
