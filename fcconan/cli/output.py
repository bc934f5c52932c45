"""What verbs print: a table for people, JSON for programs."""

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from fcconan.data import cleaned, may_be_written, trusted
from fcconan.errors import InputError

_HEIGHT = 25  # without any, Rich takes every terminal for 80 columns wide whose TERM is `dumb`, as it is in editors


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a table; columns of numbers are set flush right.

    What a terminal has no room for stands in further tables below, which repeat the first column.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    heads = [cleaned(column) for column in columns]
    cells = [[cleaned(str(cell)) for cell in row] for row in rows]
    # A pipe has no width of its own: give the table all it needs, so that no cell is broken.
    # Rich draws with escape sequences, so it writes to the trusted stream, and everything that it shows is cleaned.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1_000
    console = Console(file=trusted(sys.stdout), width=width, height=_HEIGHT, highlight=False)
    console.print(cleaned(title), markup=False, emoji=False)
    widths = [
        max(cell_len(line) for cell in (head, *(row[place] for row in cells)) for line in cell.split("\n"))
        for place, head in enumerate(heads)
    ]
    for places in _fitting(widths, console.width):
        table = Table()
        for place in places:
            numbers = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
            table.add_column(Text(heads[place]), justify="right" if numbers else "left", overflow="fold")
        for row in cells:
            table.add_row(*(Text(row[place]) for place in places))  # as text: names may hold what looks like markup
        console.print(table)


def print_tables(tables: Iterable[Any], notes: Iterable[str] = ()) -> None:
    """Prints tables with title, columns and rows, and sentences below them."""
    for each in tables:
        print_table(each.title, each.columns, each.rows)
    for note in notes:
        typer.echo(note)


def _fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """Returns the columns of each of the tables that a table is cut into: the first, and some of the others.

    Args:
        widths: Of the columns, in letters.
        room: Letters in a line.
    """
    around = 3  # a border, and a space at either side
    groups: list[list[int]] = []
    left = 0
    for place, width in enumerate(widths[1:], 1):
        if not groups or left < width + around:
            groups.append([0])
            left = room - 1 - (widths[0] + around)
        groups[-1].append(place)
        left -= width + around
    return groups or [[0]]


def tell_progress(line: str) -> None:
    """Prints what a long command is about, to people only."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr)


def check_json_target(path: Path | None, out: Path | None) -> None:
    """Checks before long work that a result can be written, and outside the folder that the work writes, if any.

    Raises:
        InputError: It cannot.
    """
    if path is not None and out is not None and path.resolve().is_relative_to(out.resolve()):
        raise InputError(f"{path} is in the folder {out}, which holds the release only: choose another --json file")
    if (
        path is not None and path.exists() and not path.is_file() and not path.is_dir()
    ):  # it would be replaced by a file
        raise InputError(f"{path} is no file: choose another --json file")
    if path is not None and not may_be_written(path):
        raise InputError(f"{path} cannot be written: choose another --json file, in a folder that is there")


def write_json(path: Path, data: Any) -> None:
    """Writes a result for programs, whole or not at all; see `fcconan.services.write_json`."""
    from fcconan import services

    services.write_json(data, path)


def check_replaced_json(path: Path | None) -> None:
    """Checks that the file of `--json` replaces JSON only.

    Raises:
        InputError: Another file is there.
    """
    if path is not None and path.is_file():
        with path.open("rb") as file:
            beginning = file.read(64).strip()[:1]
        if beginning not in (b"", b"{", b"["):
            raise InputError(f"{path} exists and holds no JSON: choose another --json file, or remove it")
