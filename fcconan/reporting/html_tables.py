"""Tables as elements of a page: the only way from a table to HTML."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fcconan.reporting.elements import FILTERS, asset, markup, script_json
from fcconan.reporting.tables import LATEX, MARKDOWN, DisplayTable, number_columns

if TYPE_CHECKING:
    from markupsafe import Markup


class View(NamedTuple):
    """A table, and how a page shows it.

    Attributes:
        table: The table.
        filters: Columns by whose values the rows can be filtered.
        texts: Columns that are hidden until the reader asks for texts.
        grey: Indices of reference rows, such as published values.
    """

    table: DisplayTable
    filters: Sequence[str] = ()
    texts: Sequence[str] = ()
    grey: Sequence[int] = ()


LONG = 25  # rows that the widget shows at once
MOST = 200  # rows that are elements; a longer table is JSON, which the widget turns into elements a page at a time
VENDORED = "vendor/datatables"


def table_html(shown: DisplayTable | View, *, folded: bool | None = None) -> "Markup":
    """Returns a table as elements that can be sorted, filtered and copied.

    Rows of a long table, and of one with texts, are JSON: no text is on the page until the reader asks for it.

    Args:
        shown: The table.
        folded: Whether it is closed below its title; None leaves out the title.
    """
    from markupsafe import Markup

    view = shown if isinstance(shown, View) else View(shown)
    table = view.table
    as_data = bool(view.texts) or len(table.rows) > MOST
    place = {name: position for position, name in enumerate(table.columns)}
    return markup(
        "table.html.jinja",
        table=table,
        rows=[] if view.texts else table.rows[: LONG if as_data else None],
        packed=Markup(script_json(packed(table))) if as_data else None,
        words=word_columns(view),
        filters=[place[name] for name in view.filters],
        texts=[place[name] for name in view.texts],
        grey=view.grey,
        folded=folded,
        is_long=len(table.rows) >= LONG,
    )


def tables_html(tables: Sequence[DisplayTable | View], *, folded: bool = False) -> "Markup":
    """Returns tables with their titles; all but the first are closed.

    Args:
        tables: The tables.
        folded: Whether the first one is closed, too.
    """
    from markupsafe import Markup

    return Markup("").join(table_html(table, folded=folded or place > 0) for place, table in enumerate(tables))


def word_columns(view: View) -> list[int]:
    """Returns the places of columns of words, which are set flush left; the first column names the row."""
    columns = zip(view.table.columns, number_columns(view.table), strict=True)
    return [place for place, (name, numbers) in enumerate(columns) if place > 0 and (name in view.texts or not numbers)]


def packed(table: DisplayTable) -> list[dict[str, Any]]:
    """Returns the columns of a table as distinct values and, for each row, the index of its value.

    Columns with distinct values only have no indices.
    """
    columns = []
    for position in range(len(table.columns)):
        cells = [row[position] for row in table.rows]
        place = {value: index for index, value in enumerate(dict.fromkeys(cells))}
        column: dict[str, Any] = {"values": list(place)}
        columns.append(column if len(place) == len(cells) else {**column, "places": [place[cell] for cell in cells]})
    return columns


def table_script() -> str:
    """Returns the script of all tables: the vendored widget with its licence, escape rules, and `tables.js`."""
    escapes = script_json({"latex": LATEX, "markdown": MARKDOWN})
    licence, widget = asset(f"{VENDORED}/LICENSE.txt"), asset(f"{VENDORED}/dataTables.min.js")
    return f"/*\n{licence}*/\n{widget}\nconst ESCAPES = {escapes};\n{asset('tables.js')}"


FILTERS |= {"table": table_html, "tables": tables_html}
