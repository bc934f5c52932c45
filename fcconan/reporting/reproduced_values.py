"""The reproduction table as a page: all published values next to recomputed ones, and their counts."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, Section
from fcconan.reporting.tables import MISSING, Columns, DisplayTable, Row, make_table
from fcconan.reproduction import STATUSES, Cell, count_from_print, count_statuses, load_paper, parse_printed

MEANINGS = {
    "exact": "equal in all printed digits",
    "rounding": "the paper truncated the value, or rounded it twice",
    "differs": "another value; the note gives its rows, and the reason if it is known",
    "needs_model": "needs a model that is not available here",
    "not_released": "the data were not published",
}
FILTERS = ("paper", "table", "status")


class Difference(NamedTuple):
    """Difference of a recomputed value and the printed one.

    Attributes:
        text: Recomputed minus printed, with two digits more than printed.
        digits: Absolute difference in units of the last printed digit; rounding causes up to 0.5.
    """

    text: str
    digits: float


def difference(cell: Cell) -> Difference | None:
    """Returns the difference of a recomputed and a printed value; None for a missing value or a printed bound."""
    printed = parse_printed(cell.published)
    if cell.recomputed is None or not math.isfinite(cell.recomputed) or printed.bound:
        return None
    apart = cell.recomputed - printed.value
    decimals = max(0, -math.floor(math.log10(printed.unit) + 1e-9)) + 2
    # Nothing is left of a difference that only binary fractions made.
    return Difference(f"{apart:+.{decimals}f}", round(abs(apart) / printed.unit, 1))


def reproduction_page(result: Row) -> Page:
    """Returns the reproduction table as a page.

    Args:
        result: `rows`, as `fcconan reproduce` writes them, and `signature`, if it is known.
    """
    cells = [Cell(**row) for row in result["rows"]]
    papers, tables = _counts(cells)
    meanings = [f"{status}: {MEANINGS[status]}." for status in STATUSES]
    notes = [
        "difference: recomputed minus published. last digits: the absolute difference in units of the last printed "
        "digit; the largest come first.",
    ]
    return Page(
        "Published values, recomputed",
        "Every value of the papers next to the one that the released data give.",
        [
            Section("Summary", meanings, [papers, tables]),
            Section("Every value", notes, [View(_values(cells), FILTERS)]),
            Section("Papers", _papers(cells)),
        ],
        signatures=[result["signature"]] if "signature" in result else [],
        finding=f"{sum(cell.status == 'exact' for cell in cells)} of {len(cells)} values are exact.",
    )


def _counts(cells: Sequence[Cell]) -> tuple[DisplayTable, DisplayTable]:
    """Returns the number of values of each status: by paper, and by table."""
    printed = count_from_print(cells)
    by_table: dict[str, Counter[str]] = {}
    by_paper: dict[str, Counter[str]] = {}
    for paper, table, found in count_statuses(list(cells)):
        own: Counter[str] = Counter({"all": sum(found.values()), "exact, from print": printed[paper, table]})
        own.update(found)
        by_table[f"{paper}, {table}"] = own
        by_paper.setdefault(paper, Counter()).update(own)
    if len(by_paper) > 1:
        by_paper["all papers"] = sum(by_paper.values(), Counter())
    names = [*STATUSES, "all", "exact, from print"]
    papers, tables = (
        [[name, *(str(own[each]) for each in names)] for name, own in found.items()] for found in (by_paper, by_table)
    )
    return DisplayTable("Values by status", ["paper", *names], papers), DisplayTable(
        "By table", ["table", *names], tables
    )


def _values(cells: Sequence[Cell]) -> DisplayTable:
    apart = {cell: difference(cell) for cell in cells}
    ordered = sorted(cells, key=lambda cell: -found.digits if (found := apart[cell]) is not None else math.inf)
    columns: Columns = {
        "value": lambda cell: f"{cell.row}, {cell.column}",
        "paper": lambda cell: cell.paper,
        "table": lambda cell: cell.table,
        "published": lambda cell: cell.published,
        "recomputed": lambda cell: None if cell.recomputed is None else f"{cell.recomputed:.6g}",
        "difference": lambda cell: None if (found := apart[cell]) is None else found.text,
        "last digits": lambda cell: None if (found := apart[cell]) is None else f"{found.digits:.1f}",
        "status": lambda cell: cell.status,
        "note": lambda cell: cell.note or MISSING,
    }
    return make_table("Every value", ordered, columns)


def _papers(cells: Sequence[Cell]) -> list[str]:
    """Returns a sentence for each paper, with its tables that hold nothing to compute."""
    found = []
    for name in dict.fromkeys(cell.paper for cell in cells):
        paper = load_paper(name)
        without = "".join(f" {each.id} holds no values to recompute: {each.about}." for each in paper.without_figures)
        found.append(f"{name}: {paper.authors} ({paper.year}): {paper.title}.{without}")
    return found
