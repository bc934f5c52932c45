"""Published systems next to the user's own, in grey, with their source."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fcconan.data import TIERS
from fcconan.reporting.forest_plots import Dot
from fcconan.reporting.html_tables import View
from fcconan.reporting.tables import MISSING, DisplayTable, Row
from fcconan.reproduction import load_paper

CUTOFF = 10  # of the metrics of Table 4 of the FC-CONAN paper


class Published(NamedTuple):
    """Published values for a table.

    Attributes:
        source: The paper and its table.
        rows: Name of each row -> its published values by column of the table.
    """

    source: str
    rows: Mapping[str, Mapping[str, str]]


def published_retrieval(result: Row) -> Published | None:
    """Returns Table 4 of the FC-CONAN paper; None unless the result follows protocol `paper` on that dataset."""
    settings = result["settings"]
    same = (result["protocol"], result["dataset"]["name"], settings["k"]) == ("paper", "fc-conan", CUTOFF)
    if not same or set(result["partitions"]) != set(TIERS):
        return None
    return _printed("fc-conan", "Table 4", {"avg": "avg", "min": "min", "max": "max", "CV%": "cv"})


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
