"""Output of commands: tables for people, JSON for programs."""

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fcconan.data import is_writable, printable
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.reporting import DisplayTable

_HEIGHT = 25  # without any, Rich takes every terminal for 80 columns wide whose TERM is `dumb`, as it is in editors


def print_table(table: "DisplayTable") -> None:
    """Prints a table; columns of numbers are set flush right.

    Columns for which a terminal has no room are in further tables below, which repeat the first column.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    from fcconan.reporting import number_columns

    # A pipe has no width of its own: give the table all it needs, so that no cell is broken.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1_000
    console = Console(file=sys.stdout, width=width, height=_HEIGHT, highlight=False)
    console.print(printable(table.title), markup=False, emoji=False)
    columns = [[printable(cell) for cell in column] for column in zip(table.columns, *table.rows, strict=True)]
    widths = [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in columns]
    is_number = number_columns(table)
    for places in _fitting(widths, console.width):
        grid = Grid()
        for place in places:
            justify: Any = "right" if table.rows and is_number[place] else "left"
            grid.add_column(Text(columns[place][0]), justify=justify, overflow="fold")
        for cells in zip(*(columns[place][1:] for place in places), strict=True):
            grid.add_row(*map(Text, cells))  # as text: a name may look like markup
        console.print(grid)


def print_tables(tables: "Iterable[DisplayTable]", notes: Iterable[str] = ()) -> None:
    """Prints tables, and sentences below them."""
    for each in tables:
        print_table(each)
    for note in notes:
        typer.echo(note)


def print_counts(title: str, columns: tuple[str, str], values: Mapping[str, Any]) -> None:
    """Prints a table of names and values."""
    from fcconan.reporting import DisplayTable, format_value

    print_table(DisplayTable(title, list(columns), [[name, format_value(value)] for name, value in values.items()]))


def _fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """Returns the columns of each of the tables that a table is cut into: the first, and some of the others.

    Args:
        widths: Width of each column, in characters.
        room: Width of a line, in characters.
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


def check_json_target(path: Path | None, out: Path | None) -> None:
    """Checks before long work that a result can be written, and outside the folder that the work writes, if any.

    Raises:
        InputError: It cannot.
    """
    if path is not None and out is not None and path.resolve().is_relative_to(out.resolve()):
        raise InputError(f"{path} is in the folder {out}, which holds the release only: choose another --json file")
    if path is not None and not is_writable(path):
        raise InputError(f"{path} cannot be written: choose another --json file, in a folder that is there")


def check_replaced_json(path: Path | None) -> None:
    """Checks that the file of `--json` replaces JSON only.

    Raises:
        InputError: Another file is there.
    """
    if path is not None and path.is_file():
        with path.open("rb") as file:
            beginning = file.read(64).strip()[:1]
        if beginning not in (b"", b"{", b"["):
            raise InputError(f"{path} exists and is not JSON: choose another --json file, or remove it")
