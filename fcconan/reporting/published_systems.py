"""Published systems next to the user's own, in grey, with their source."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fcconan.reporting.forest_plots import Dot
from fcconan.reporting.html_tables import View
from fcconan.reporting.tables import MISSING, DisplayTable, Row
from fcconan.reproduction import load_paper


class Published(NamedTuple):
    """Published values for a table.

    Attributes:
        source: The paper and its table.
        rows: Name of each row -> its published values by column of the table.
    """

    source: str
    rows: Mapping[str, Mapping[str, str]]


def published_correlations(result: Row, table: DisplayTable) -> Published | None:
    """Returns Spearman's correlations of Table 1 of the CSEval paper; None unless the ratings are of that dataset.

    Args:
        result: Result of `fcconan correlate`.
        table: The table of judges, by the mean of Spearman's pooled correlation.
    """
    if _dataset(result) != "cseval" or "spearman with people (pooled)" not in table.title:
        return None
    columns = {name: f"{name}/spearman" for name in table.columns[2:-2]}
    found = _printed("cseval", "Table 1", {"mean": "average/spearman", **columns})
    return found._replace(rows={name: row for name, row in found.rows.items() if "-minus-" not in name})


def with_published(table: DisplayTable, published: Published | None, column: str) -> View:
    """Returns a table with printed rows in grey, all rows by one column; those in brackets and failed ones come last.

    Args:
        table: The table of the user's own systems.
        published: The published rows.
        column: The column that orders the rows, the highest first.
    """
    if published is None:
        return View(table)
    own = [(row, False) for row in table.rows]
    rows = [
        ([name, *(cells.get(each, MISSING) for each in table.columns[1:])], True)
        for name, cells in published.rows.items()
    ]
    place = table.columns.index(column)
    ordered = sorted([*own, *rows], key=lambda entry: _order(entry[0], place))
    grey = [position for position, (_, is_published) in enumerate(ordered) if is_published]
    return View(table._replace(rows=[row for row, _ in ordered]), grey=grey)


def with_published_dots(dots: Sequence[Dot], published: Published | None, column: str) -> list[Dot]:
    """Returns the dots of a plot with those of published systems in grey, the highest first.

    Args:
        dots: The user's own systems.
        published: The published rows.
        column: The column of the table that is plotted.
    """
    if published is None:
        return list(dots)
    printed = [
        Dot(name, float(cells[column]), is_grey=True) for name, cells in published.rows.items() if column in cells
    ]
    return sorted([*dots, *printed], key=lambda dot: (dot.value is None, -(dot.value or 0.0)))


def _order(row: Sequence[str], place: int) -> tuple[bool, float]:
    is_last = row[0].startswith("(") or row[0].endswith("(failed)") or row[place].startswith(MISSING)
    return is_last, 0.0 if is_last else -float(row[place].split()[0])


def _printed(name: str, table: str, columns: Mapping[str, str], by: str = "") -> Published:
    paper = load_paper(name)
    authors = paper.authors.split(",")[0] + (" and others" if "," in paper.authors else "")
    where = f"; {paper.url}" if paper.url else ""
    rows = {
        f"{row} (published{by})": {own: cells[printed] for own, printed in columns.items() if printed in cells}
        for row, cells in paper.printed(table).items()
    }
    return Published(f"Grey: {table} of {authors}, {paper.year}: {paper.title}{where}.", rows)


def _dataset(result: Row) -> str:
    """Returns the name of the dataset in the signature of a result."""
    found = re.search(r"\|data:([^|@]*)@", str(result.get("signature", "")))
    return found[1] if found else ""
