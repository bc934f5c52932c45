"""Returned files: reading, and answers before checks."""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.errors import InputError


@dataclass(frozen=True)
class Given:
    """The unchecked answers of a rater to a unit.

    Attributes:
        where: Position in the file: `row 3`, `task 17`.
        ids: Ids by the names in `task_view.IDS`.
        texts: Shown texts by name, according to the file.
        values: Answers by question; questions without an answer have no entry.
        skipped: Whether the rater skipped the unit.
        comment: Comment of the rater.
        seconds: Time for the unit.
        users: Names of the user in the tool; all belong to one person.
    """

    where: str
    ids: dict[str, str]
    texts: dict[str, str]
    values: dict[str, Any]
    skipped: bool = False
    comment: str | None = None
    seconds: Any = None
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class GivenFile:
    """A returned file.

    Attributes:
        path: The file.
        sha256: Hash of the content.
        tool: Format of the file.
        units: Answers by unit.
    """

    path: Path
    sha256: str
    tool: str
    units: list[Given]


Row = dict[str, Any]
_SEPARATORS = (",", ";", "\t")
_LONGEST = 300  # characters of a problem in a message: a cell may hold anything
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # also texts that are escaped already, so that escaping can be reversed
CUT_OFF = "the file was cut off or edited by hand; export it from the tool again"


def decoded(path: Path, content: bytes) -> str:
    """Decodes the content of a file: UTF-8, or UTF-16 with a byte order mark, as written by some spreadsheets.

    Raises:
        InputError: The content has another encoding.
    """
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not {error.encoding}: save the file as UTF-8") from error


def guarded(cell: Any) -> Any:
    """Returns a cell for CSV; a text that a spreadsheet may take for a formula gets a `'` in front."""
    return "'" + cell if isinstance(cell, str) and _FORMULA.match(cell) else cell


def unguarded(cell: str) -> str:
    """Reverses `guarded`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_rows(path: Path, text: str) -> Iterator[tuple[int, Row]]:
    """Reads CSV with commas, semicolons or tabs.

    Args:
        path: The file, for messages.
        text: Content of the file.

    Yields:
        Number and cells by column of every non-empty row; the header is row 1, as in a spreadsheet.

    Raises:
        InputError: The header is missing, two columns have the same name, or a row has too few or too many cells.
    """
    head = text.partition("\n")[0]
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=max(_SEPARATORS, key=head.count))
    number = 1
    try:
        header = [name.strip() for name in next(reader, [])]
        while header and not header[-1]:  # spreadsheets export the cells of emptied columns
            header.pop()
        if len(set(header)) < len(header) or not header:
            found = "two columns have the same name" if header else "the header is missing"
            raise InputError(f"{path}: {found}: export it from the tool again")
        for number, cells in enumerate(reader, start=2):
            if not any(cells):
                continue
            if len(cells) < len(header) or any(cells[len(header) :]):
                raise InputError(f"{path}, row {number}: found {len(cells)} cells, expected {len(header)}: {CUT_OFF}")
            yield number, dict(zip(header, cells, strict=False))
    except csv.Error as error:
        raise InputError(f"{path}, row {number + 1}: not CSV ({error}): {CUT_OFF}") from error


def json_list(path: Path, text: str) -> list[Row]:
    """Reads a JSON list of objects.

    Raises:
        InputError: The content is not a JSON list of objects.
    """
    try:
        data = json.loads(text, object_pairs_hook=_object)
        if "\\ud" in text.lower():  # lone surrogates cannot be encoded
            json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}): {CUT_OFF}") from error
    if not isinstance(data, list) or not all(isinstance(each, dict) for each in data):
        raise InputError(f"{path}: found {text.strip()[:40]!r}, expected a JSON list of tasks: {CUT_OFF}")
    return data


def ids_in(place: str, data: Row, names: Sequence[str]) -> dict[str, str]:
    """Returns the ids of a task.

    Args:
        place: File and position, for messages.
        data: Values by name.
        names: Names of the ids.

    Raises:
        InputError: An id is missing.
    """
    if missing := [name for name in names if name not in data]:
        raise InputError(f"{place}: no {', '.join(missing)} in its data: import files of `annotate export`")
    return {name: as_text(data[name]) for name in names}


def _object(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError(f"an object has a key twice among {', '.join(row)[:100]}")
    return row


def as_text(value: Any) -> str:
    """Returns a cell as stripped text; None as an empty text."""
    return "" if value is None else str(value).strip()


def as_json(data: Any) -> str:
    """Returns data as indented JSON."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def listed(problems: Sequence[str]) -> str:
    """Returns the first three problems for a message, and the number of others."""
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return "; ".join(each[:_LONGEST] for each in problems[:3]) + more
