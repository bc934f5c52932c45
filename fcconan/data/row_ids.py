"""Ids and names in rows: one text, whatever kind of file holds them.

JSONL and parquet may hold ids as numbers, where CSV has text; and tools such as pandas make a column of whole numbers
one of floats as soon as a cell is empty.
"""

import ast
import json
import math
import warnings
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from fcconan.errors import InputError

Row = Mapping[str, Any]
ID_COLUMNS = (
    "reply_id", "pair_id", "item_id", "hs_id", "source_id", "system", "system_a", "system_b", "reply_a", "reply_b",
    "rater",
)  # fmt: skip
_EXACT = 2**53  # whole numbers above are not told apart as floats


def id_of(row: Row, column: str, place: str) -> str | None:
    """Returns an id or a name as text; None where there is none: no column, nothing, an empty text or nan.

    A whole number is the same id as 0, 0.0, "0" and "0.0"; all other texts stay as they are.

    Args:
        row: The row.
        column: Which of its columns.
        place: Of the row, for complaints.

    Raises:
        InputError: It is a number that is not whole, true or false, or neither text nor number.
    """
    value = row.get(column)
    if isinstance(value, str):
        if value.endswith(".0") and value[:-2].removeprefix("-").isdecimal():
            return value[:-2]
        return value or None
    if is_missing(value):
        return None
    if not isinstance(value, bool) and isinstance(value, Integral):
        return str(int(value))
    if not isinstance(value, bool) and isinstance(value, Real):
        number = float(value)
        if number.is_integer() and abs(number) <= _EXACT:
            return str(int(number))
    raise _refused(row, column, place)


def required_id(row: Row, column: str, place: str) -> str:
    """Returns an id or a name as text.

    Raises:
        InputError: As `id_of`, or there is none.
    """
    found = id_of(row, column, place)
    if found is None:
        raise _refused(row, column, place)
    return found


def with_ids(row: Row, place: str) -> dict[str, Any]:
    """Returns a row whose ids are text or None.

    Raises:
        InputError: As `id_of`.
    """
    return {**row, **{column: id_of(row, column, place) for column in ID_COLUMNS if column in row}}


def is_missing(value: Any) -> bool:
    """Tells whether a cell is empty: nothing, an empty text, or nan, as some tools write it."""
    return value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and math.isnan(value))


def cell_list(value: Any) -> list[Any]:
    """Returns what a cell holds as a list: a list, one as JSON or pandas writes it into CSV, or the cell alone."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and value.startswith("["):
        for read in (json.loads, ast.literal_eval):
            try:
                with warnings.catch_warnings(action="ignore"):  # what a text has after a backslash is no mistake
                    found = read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(found, list):
                return found
    return [value]


def cell_number(value: Any) -> float | None:
    """Returns the number that a cell holds; None for anything else.

    Truth values, text with an underscore, which Python takes for digits, and integers that are larger than any float
    are none.
    """
    if isinstance(value, bool) or "_" in str(value):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def cell_text(value: Any) -> str:
    """Returns what a cell is called in options: the same in all kinds of files."""
    if is_missing(value):
        return "None"
    try:
        return id_of({"cell": value}, "cell", "") or ""
    except InputError:
        return str(value)


def _refused(row: Row, column: str, place: str) -> InputError:
    return InputError(f"{place}: {column} is {row.get(column)!r}, expected a name or an id; mend that row")
