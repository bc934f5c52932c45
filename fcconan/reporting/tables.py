"""Tables: one description of titles, columns and cells, from which the terminal, pages and files are made."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

MISSING = "–"
NUMBER = re.compile(r"[±+\-<≤\[ ]*\d[\d,]*(\.\d+)?(?=$|[\s%\]]|, )")

Row = Mapping[str, Any]
Columns = dict[str, Any]  # name of a column -> the key of its value in a row, or a function of the row


class DisplayTable(NamedTuple):
    """A table: title, names of the columns, rows of cells as text; the first cell names the row."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def make_table(title: str, rows: Iterable[Any], columns: Columns | Iterable[str]) -> DisplayTable:
    """Returns rows as a table.

    Args:
        title: Its title.
        rows: The rows.
        columns: Name of each column -> the key of its value in a row, or a function of the row. A list of keys names
            the columns, with spaces for underscores.

    Examples:
        >>> make_table("Oaks", [{"name": "A", "age": 80, "width": 0.5}], {"oak": "name", "years": "age", "m": "width"})
        DisplayTable(title='Oaks', columns=['oak', 'years', 'm'], rows=[['A', '80', '0.500']])
    """
    if not isinstance(columns, dict):
        columns = {key.replace("_", " "): key for key in columns}
    forms = columns.values()
    cells = [[format_value(row[form] if isinstance(form, str) else form(row)) for form in forms] for row in rows]
    return DisplayTable(title, list(columns), cells)


def format_value(value: Any) -> str:
    """Returns a value as tables show it: numbers with a fraction have three digits, and a missing value is a dash."""
    return format_number(value) if value is None or isinstance(value, float) else str(value)


def format_number(value: float | None, digits: int = 3) -> str:
    """Returns a number as tables show it; a missing one is a dash."""
    return MISSING if value is None else f"{value:.{digits}f}"


def number_columns(table: DisplayTable) -> list[bool]:
    """Returns for each column whether it holds numbers, which are set flush right; the first one names the row."""
    return [place > 0 and all(_is_number(row[place]) for row in table.rows) for place in range(len(table.columns))]


def _is_number(cell: str) -> bool:
    return cell == MISSING or cell.startswith(f"{MISSING} (") or NUMBER.match(cell) is not None
