"""CSV sheets: a row for every unit, an empty cell for every question.

    campaign round rater unit_id text_sha session   identity of the row
    hate_speech counter_narrative ...               texts
    label ...                                       a column for every question, such as agree_or_disagree
    comment skip                                    optional; `skip` is true except for 0, no and false

A column `seconds` is read if it exists. A row without answers is open.

Spreadsheets evaluate texts that begin like a formula. Such a text gets a `'` in front, which is removed by the import.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.annotation.campaigns import Campaign, Row
from fcconan.annotation.tools import task_view
from fcconan.annotation.tools.files import Given, as_text, csv_rows, guarded, unguarded
from fcconan.annotation.tools.task_view import COMMENT, IDS, SECONDS, SESSION, SKIP, Handout, Item
from fcconan.errors import InputError

_NOT_SKIPPED = frozenset({"", "0", "0.0", "no", "false"})


def files(handout: Handout, rater: str, name: str, items: Sequence[Item]) -> dict[str, str]:
    """Returns the content of a rater's file, by name.

    Args:
        handout: Content of the export.
        rater: Pseudonym of the rater.
        name: Name of the rater's file.
        items: Items of the rater.
    """
    return {name: as_csv(sheet(handout, items))}


def sheet(handout: Handout, items: Sequence[Item]) -> list[Row]:
    """Returns the rows of a rater's sheet.

    Args:
        handout: Content of the export.
        items: Items of a rater.
    """
    return [
        {
            **handout.ids(item),
            **{name: item.texts.get(name) for name in handout.texts},
            **dict.fromkeys([*handout.questions, COMMENT, SKIP]),
        }
        for item in items
    ]


def as_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Returns rows as CSV, with escaped formulas, and the byte order mark that Excel needs for UTF-8.

    Args:
        rows: The rows.
        columns: The columns; None for those of the first row. Missing cells are empty.
    """
    names = list(rows[0] if columns is None else columns)
    file = io.StringIO(newline="")
    file.write("\ufeff")
    writer = csv.writer(file, lineterminator="\r\n")  # cells with either kind of line end are quoted
    writer.writerow(names)
    writer.writerows([guarded(row.get(name)) for name in names] for row in rows)
    return file.getvalue()


def read(path: Path, text: str, campaign: Campaign) -> list[Given]:
    """Reads a completed sheet.

    Args:
        path: The file, for messages.
        text: Content of the file.
        campaign: The campaign, for its questions.

    Raises:
        InputError: The file is not a sheet, lacks a column, has an unknown column, or is incomplete.
    """
    given = []
    for number, cells in csv_rows(path, text):
        where = f"row {number}"
        # Comments are not escaped by the export.
        row = {name: cell if name == COMMENT else unguarded(cell) for name, cell in cells.items()}
        names = [question.name for question in task_view.questions(campaign, as_text(row.get("round")))]
        _check_columns(path, where, row, names)
        given.append(
            Given(
                where=where,
                ids={name: as_text(row[name]) for name in IDS},
                texts={name: as_text(row[name]) for name in task_view.TEXTS if name in row},
                values={name: row[name] for name in names if as_text(row[name])},
                skipped=as_text(row.get(SKIP)).casefold() not in _NOT_SKIPPED,
                comment=as_text(row.get(COMMENT)) or None,
                seconds=row.get(SECONDS) if as_text(row.get(SECONDS)) else None,
            )
        )
    return given


def _check_columns(path: Path, where: str, row: Mapping[str, Any], asked: list[str]) -> None:
    needed = [*IDS, *asked]
    if missing := [name for name in needed if name not in row]:
        raise InputError(f"{path}, {where}: missing column {', '.join(missing)}: import the sheet with all its columns")
    allowed = {*needed, *task_view.TEXTS, COMMENT, SKIP, SECONDS, SESSION}
    if unknown := [name for name in row if name not in allowed]:
        raise InputError(
            f"{path}, {where}: unknown column {' '.join(', '.join(unknown).split())[:300]}: remove or rename it"
        )
