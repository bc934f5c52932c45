"""What verbs print: a table for people, JSON for programs."""

import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.whole_files import write_whole

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Prints a table; columns of numbers are set flush right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for position, column in enumerate(columns):
        numbers = bool(rows) and all(isinstance(row[position], int | float) for row in rows)
        table.add_column(Text(printable(column)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(str(cell))) for cell in row))  # as text: names may hold what looks like markup
    # A pipe has no width of its own: give the table all it needs, so that no cell is broken.
    console = Console(width=None if sys.stdout.isatty() else 1_000, highlight=False)
    console.print(printable(title), markup=False, emoji=False)
    console.print(table)


def printable(text: str) -> str:
    """Returns a text in which control characters are written out, so that none of them reaches a terminal.

    Line breaks and tabs stay.
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def tell_progress(line: str) -> None:
    """Prints what a long command is about, to people only."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr)


def printable_name(name: str) -> str:
    """Returns a name that somebody else gave to something as one line in which nothing is hidden or turned around."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in name)


def check_json_target(path: Path | None, out: Path) -> None:
    """Checks before long work that a result can be written, and outside the folder that the work writes.

    Raises:
        InputError: It cannot.
    """
    if path is not None and path.resolve().is_relative_to(out.resolve()):
        raise InputError(f"{path} is in the folder {out}, which holds the release only: choose another --json file")
    if path is not None and (not path.name or path.is_dir() or not os.access(path.absolute().parent, os.W_OK)):
        raise InputError(f"{path} cannot be written: choose another --json file, in a folder that is there")


def write_json(path: Path, data: Any) -> None:
    """Writes a result for programs, whole or not at all.

    Raises:
        InputError: The file cannot be written, or the result holds nan or an infinite number, for which JSON has no
            words.
    """
    if not path.name:  # `.` or `/`
        raise InputError(f"{path} cannot be written (Is a directory): choose another --json file")
    try:
        text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InputError(
            f"{path} is not written: the result holds a number that JSON cannot say ({error}): report this bug"
        ) from error
    try:
        # A path that is not Unicode holds lone surrogates; `\udcff` is how JSON writes one.
        write_whole(path, text + "\n", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another --json file") from error


def write_release_json(path: Path | None, out: Path, manifest: dict[str, Any]) -> None:
    """Writes what a build made: the manifest without its list of files, and the folder."""
    if path is not None:
        write_json(path, {"out": str(out), **{key: value for key, value in manifest.items() if key != "files"}})


def counts_rows(manifest: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Returns config, split and number of rows of every table of a release."""
    return [(config, split, rows) for config, splits in manifest["counts"].items() for split, rows in splits.items()]
