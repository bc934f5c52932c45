"""Recomputed values, and the comparison of a printed value with its recomputed one."""

import math
import operator
from collections.abc import Mapping
from typing import NamedTuple

from fcconan.reproduction.published import PrintedValue

STATUSES = ("exact", "rounding", "equals_results_file", "differs", "needs_model", "not_released")
_BOUNDS = {"<": operator.lt, ">": operator.gt, "≤": operator.le, "≥": operator.ge}
_TOLERANCE = 1e-9  # in printed units, for floating-point errors


class RecomputedValue(NamedTuple):
    """A value that was recomputed.

    Attributes:
        value: The number; None if it is undefined.
        note: Rows of the value, if they are not those of the paper, and the reason of a difference, if it is known.
        without: Reason of a missing value that another machine could compute: `needs_model`.
        from_print: Whether the value follows from printed values instead of data; the note states so.
        by_chance: Whether other rows or random draws than the paper's were used. Equality then proves nothing, so the
            status is `differs`.
    """

    value: float | None
    note: str = ""
    without: str | None = None
    from_print: bool = False
    by_chance: bool = False


Key = tuple[str, str, str]  # table, row, column
Results = Mapping[Key, tuple[float, list[str]]]  # values of the authors' results files, and the files


def status_of(printed: PrintedValue, value: float | None) -> str:
    """Compares a printed value with the recomputed one.

    The status `rounding` covers two slips: truncation, and rounding to one or two further digits before the final
    rounding. It never applies to whole numbers, which are counts or ranks.

    Args:
        printed: The printed value.
        value: The recomputed value; None if it is undefined.

    Returns:
        `exact`, `rounding` or `differs`.
    """
    if value is None or not math.isfinite(value):
        return "differs"
    if printed.bound:
        return "exact" if _BOUNDS[printed.bound](value, printed.value) else "differs"
    if printed.unit == 1 and float(value).is_integer():
        return "exact" if value == printed.value else "differs"
    units, shown = value / printed.unit, printed.value / printed.unit
    if abs(units - shown) <= 0.5 + _TOLERANCE:
        return "exact"
    truncated = math.trunc(units + math.copysign(_TOLERANCE, units))
    # Halves may be rounded up or down.
    halves_up = [math.floor(abs(units) * 10**digits + 0.5 + _TOLERANCE) / 10**digits for digits in (1, 2)]
    twice = any(abs(math.copysign(each, units) - shown) <= 0.5 + _TOLERANCE for each in halves_up)
    return "rounding" if twice or truncated == round(shown) else "differs"
