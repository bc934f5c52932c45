"""The ledger of reproduced figures as a page."""

from collections.abc import Sequence
from pathlib import Path

from fcconan.report.sections import Section, write_page
from fcconan.report.tables import MISSING, Table
from fcconan.reproduce.ledger import STATUSES, Cell, counts, from_print
from fcconan.reproduce.published import load_paper

MEANINGS = {
    "exact": "equal in all printed digits",
    "rounding": "the paper cut it off, or rounded it to one or two further digits first and then again",
    "differs": "another figure; the note says from which rows it comes, and the reason if one was found",
    "needs_model": "a model has to be run that cannot be had here",
    "not_released": "the data were not published",
}


def ledger_sections(cells: Sequence[Cell]) -> list[Section]:
    """Returns the parts of the page: how many figures have which status, and every figure of each paper."""
    meanings = [f"{status}: {MEANINGS[status]}." for status in STATUSES]
    printed = from_print(cells)
    total = [
        [f"{paper}, {table}", *map(str, found.values()), str(sum(found.values())), str(printed[paper, table])]
        for paper, table, found in counts(list(cells))
    ]
    sections = [
        Section(
            "Summary", meanings, [Table("Figures by status", ["table", *STATUSES, "all", "exact, from print"], total)]
        )
    ]
    for name in dict.fromkeys(cell.paper for cell in cells):
        paper = load_paper(name)
        about = {table.id: table.about for table in paper.tables}
        rows: dict[str, list[list[str]]] = {}
        for cell in cells:
            if cell.paper == name:
                new = MISSING if cell.recomputed is None else f"{cell.recomputed:.6g}"
                row = [f"{cell.row}, {cell.column}", cell.published, new, cell.status, cell.note or MISSING]
                rows.setdefault(cell.table, []).append(row)
        columns = ["figure", "published", "recomputed", "status", "note"]
        without = [f"{shown.id} holds no figures to recompute: {shown.about}." for shown in paper.without_figures]
        tables = [Table(f"{table}: {about[table]}", columns, found) for table, found in rows.items()]
        sections.append(Section(name, [f"{paper.authors} ({paper.year}): {paper.title}.", *without], tables))
    return sections


def write_ledger(path: Path, cells: Sequence[Cell], signature: str) -> None:
    """Writes the page.

    Raises:
        InputError: It cannot be written.
    """
    write_page(
        path,
        "Published figures, computed anew",
        "Every figure of the papers beside the one that the released data give.",
        ledger_sections(cells),
        signatures=[signature],
    )
