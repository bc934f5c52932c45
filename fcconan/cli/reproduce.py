"""`fcconan reproduce`."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import ReproduceResult

_COLUMNS = ("paper", "table", "row", "column", "published", "recomputed", "status", "note")


def _show(result: "ReproduceResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table
    from fcconan.reproduction import STATUSES, counts, from_print

    cells, by_paper = list(result.cells), dict[str, Counter[str]]()
    tables = list(counts(cells))
    for paper, _, number in tables:
        by_paper.setdefault(paper, Counter()).update(number)
    rows = [(paper, *(number[status] for status in STATUSES)) for paper, number in by_paper.items()]
    print_table("Number of values of each paper", ("paper", *STATUSES), rows)
    if not verbose:
        print("--verbose prints every value with the reason for which it differs; --report writes them as a page.")
        return
    printed = from_print(cells)
    print_table(
        "Number of values of each table",
        ("paper", "table", *STATUSES, "exact, from print"),
        [(paper, table, *number.values(), printed[paper, table]) for paper, table, number in tables],
    )
    values = [
        tuple(row[name] if name != "recomputed" else _shown(row[name]) for name in _COLUMNS) for row in result.rows()
    ]
    print_table("All values", _COLUMNS, values)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _write_page(result: "ReproduceResult", path: Path) -> None:
    from fcconan.reporting import write_ledger

    write_ledger(path, list(result.cells), result.signature)


COMMAND = Command(
    name="reproduce",
    help="Recompute the published values of the papers and print them next to the printed ones.",
    service="fcconan.services.reproduce",
    example="fcconan reproduce fc-conan --json ledger.json",
    show=_show,
    page=_write_page,
    detailed=True,
    renamed={"--cells": "--verbose"},
)
