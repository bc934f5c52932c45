"""The ledger of reproduced figures as a page: every figure, to be filtered and sorted, and how many there are."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, write
from fcconan.reporting.sections import Section, sections_page
from fcconan.reporting.tables import MISSING, Table
from fcconan.reproduction import STATUSES, Cell, counts, figure, from_print, load_paper

MEANINGS = {
    "exact": "equal in all printed digits",
    "rounding": "the paper cut it off, or rounded it to one or two further digits first and then again",
    "differs": "another figure; the note says from which rows it comes, and the reason if one was found",
    "needs_model": "a model has to be run that cannot be had here",
    "not_released": "the data were not published",
}
FILTERS = ("paper", "table", "status")
COLUMNS = ["figure", "paper", "table", "published", "recomputed", "difference", "last digits", "status", "note"]


class Difference(NamedTuple):
    """How far a recomputed figure is from the printed one.

    Attributes:
        text: Recomputed minus printed, to two digits more than are printed.
        digits: The distance in ones of the last printed digit; 0.5 is what rounding may do.
    """

    text: str
    digits: float


def difference(cell: Cell) -> Difference | None:
    """Returns how far a recomputed figure is from the printed one; None where there is none, or a bound is printed."""
    printed = figure(cell.published)
    if cell.recomputed is None or not math.isfinite(cell.recomputed) or printed.bound:
        return None
    apart = cell.recomputed - printed.value
    decimals = max(0, -math.floor(math.log10(printed.unit) + 1e-9)) + 2
    # Nothing is left of a difference that only binary fractions made.
    return Difference(f"{apart:+.{decimals}f}", round(abs(apart) / printed.unit, 1))


def ledger_page(cells: Sequence[Cell], signature: str | None = None) -> Page:
    """Returns the ledger as a page.

    Args:
        cells: The ledger.
        signature: What it follows from, where that is known.
    """
    (papers, tables), every = _counts(cells), _figures(cells)
    meanings = [f"{status}: {MEANINGS[status]}." for status in STATUSES]
    notes = [
        "difference: recomputed minus published. last digits: how many ones of the last printed digit that is, "
        "whatever the scale of the figure; the largest stand first.",
    ]
    return sections_page(
        "reproduction",
        "Published figures, computed anew",
        "Every figure of the papers beside the one that the released data give.",
        [
            Section("Summary", meanings, [papers, tables]),
            Section("Every figure", notes, [View(every, FILTERS)]),
            Section("Papers", _papers(cells)),
        ],
        label="Reproduction",
        signatures=[] if signature is None else [signature],
        headline=papers,
        finding=f"{sum(cell.status == 'exact' for cell in cells)} of {len(cells)} figures are exact.",
    )


def _counts(cells: Sequence[Cell]) -> tuple[Table, Table]:
    """Returns how many figures have which status: by paper, and by table."""
    printed = from_print(cells)
    by_paper: dict[str, list[int]] = {}
    rows = []
    for paper, table, found in counts(list(cells)):
        numbers = [*found.values(), sum(found.values()), printed[paper, table]]
        rows.append([f"{paper}, {table}", *map(str, numbers)])
        sums = by_paper.setdefault(paper, [0] * len(numbers))
        by_paper[paper] = [one + other for one, other in zip(sums, numbers, strict=True)]
    papers = [[paper, *map(str, sums)] for paper, sums in by_paper.items()]
    if len(papers) > 1:
        papers.append(["all papers", *(str(sum(column)) for column in zip(*by_paper.values(), strict=True))])
    columns = [*STATUSES, "all", "exact, from print"]
    return Table("Figures by status", ["paper", *columns], papers), Table("By table", ["table", *columns], rows)


def _figures(cells: Sequence[Cell]) -> Table:
    lines = []
    for cell in cells:
        apart = difference(cell)
        shown = [apart.text, f"{apart.digits:.1f}"] if apart is not None else [MISSING, MISSING]
        new = MISSING if cell.recomputed is None else f"{cell.recomputed:.6g}"
        line = [f"{cell.row}, {cell.column}", cell.paper, cell.table, cell.published, new, *shown, cell.status]
        lines.append((apart is None, -(apart.digits if apart is not None else 0.0), [*line, cell.note or MISSING]))
    lines.sort(key=lambda line: line[:2])
    return Table("Every figure", COLUMNS, [line for *_, line in lines])


def _papers(cells: Sequence[Cell]) -> list[str]:
    """Says which papers they are, and which of their tables hold nothing to compute."""
    found = []
    for name in dict.fromkeys(cell.paper for cell in cells):
        paper = load_paper(name)
        without = "".join(
            f" {shown.id} holds no figures to recompute: {shown.about}." for shown in paper.without_figures
        )
        found.append(f"{name}: {paper.authors} ({paper.year}): {paper.title}.{without}")
    return found


def write_ledger(path: Path, cells: Sequence[Cell], signature: str) -> None:
    """Writes the page.

    Raises:
        InputError: It cannot be written.
    """
    write(path, ledger_page(cells, signature))
