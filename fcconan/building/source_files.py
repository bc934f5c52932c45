"""CSV files of sources as data frames of text, without padding, guesses of types, or conversion to missing values."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.building.recipes import Recipe
from fcconan.data import Columns, Source, did_you_mean, read_cells
from fcconan.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

YES_OR_NO = {"": None, "0": False, "1": True}


@dataclass(frozen=True)
class SourceFiles:
    """The source files of a recipe.

    Attributes:
        recipe: The recipe.
        files: Local files by name of the source; optional files may be missing.
        tier_rule: A key of `fcconan.building.tiers.TIER_RULES`; None for datasets without tiers, and for recipes with
            their own rule.
    """

    recipe: Recipe
    files: Mapping[str, Path]
    tier_rule: str | None = None

    def path(self, key: str) -> Path:
        """Returns a local file.

        Raises:
            InputError: The recipe lacks the file, or an optional file is missing.
        """
        if key not in self.files:
            raise InputError(
                f"recipe {self.recipe.name!r} has no file {key!r}, which kind {self.recipe.kind!r} needs: add it under "
                "`sources`, and leave `optional` out"
            )
        return self.files[key]

    def read(self, key: str, *texts: str, columns: Mapping[str, str] | None = None) -> "DataFrame":
        """Reads a CSV file of the recipe; see `read_csv`.

        Args:
            key: Name of the source.
            texts: Columns that must not be empty.
            columns: Columns to read in addition to those of the source.

        Raises:
            InputError: As in `read_csv`, or the file is missing.
        """
        path = self.path(key)
        source = self.recipe.sources[key]
        return read_csv(path, source.model_copy(update={"columns": {**source.columns, **(columns or {})}}), *texts)

    def rows(self, key: str, columns: Columns) -> list[dict[str, Any]]:
        """Reads the columns of a CSV file by their types: 0 and 1 for `bool`, a JSON list for `texts`.

        Raises:
            InputError: As in `read`, or a cell does not fit its type.
        """
        rows = self.read(key)
        read = {
            name: numbers(rows, name, whole=kind == "int")
            if kind in ("int", "float")
            else coded(rows, name, YES_OR_NO)
            if kind == "bool"
            else [json.loads(cell or "[]") if kind in ("texts", "strings") else cell or None for cell in rows[name]]
            for name, kind in columns.items()
            if name in rows
        }
        return [dict(zip(read, values, strict=True)) for values in zip(*read.values(), strict=True)]


def read_csv(path: Path, source: Source, *texts: str) -> "DataFrame":
    """Reads the mapped columns of a CSV file as text; an empty cell is an empty string.

    Args:
        path: The file.
        source: Entry of the file in the recipe, with the column mapping.
        texts: Columns of this package that must not be empty.

    Returns:
        The rows, with the name of the file in `attrs["name"]`.

    Raises:
        InputError: The file is not CSV, a column is missing, or a text is empty.
    """
    try:
        frame = read_cells(path, exact=True).reset_index(drop=True)
    except ValueError as error:
        raise InputError(f"{source.path} cannot be read ({error}), expected CSV: correct the file") from error
    theirs = [_column(source.path, [*frame], name) for name in source.columns.values()]
    rows = frame[theirs].set_axis([*source.columns], axis=1)
    rows.attrs["name"] = source.path
    for name in texts:
        empty = column(rows, name).str.strip() == ""
        if empty.sum() > source.empty_texts:
            found = f"{name} is empty ({empty.sum()} empty texts, expected {source.empty_texts}): fill it in"
            raise wrong_row(rows, int(empty.argmax()), found)
    return rows


def _column(file: str, header: list[str], name: str) -> str:
    """Returns the column of the file for a name or shell pattern, which must match one column."""
    matching = [name] if name in header else [each for each in header if fnmatchcase(each, name)]
    if len(matching) != 1:
        near = did_you_mean(name, header)
        raise InputError(
            f"{file} has {len(matching)} columns {name!r}, expected one: {near}correct the recipe's `columns`"
        )
    return matching[0]


def wrong_row(rows: "DataFrame", at: int, problem: str) -> InputError:
    """Returns an error about the row at a position, which the caller raises."""
    return InputError(f"{rows.attrs['name']}, row {at + 2}: {problem}")


def column(rows: "DataFrame", name: str) -> Any:
    """Returns a column as texts.

    Raises:
        InputError: The recipe does not map it.
    """
    if name not in rows:
        raise InputError(f"{rows.attrs['name']} has no {name!r}: map a column to it in the recipe's `columns`")
    return rows[name]


def coded(rows: "DataFrame", name: str, values: Mapping[str, Any]) -> list[Any]:
    """Translates the cells of a column by a mapping.

    Raises:
        InputError: A cell is not a key of the mapping.
    """
    cells = column(rows, name)
    if (unknown := ~cells.isin([*values])).any():
        at = int(unknown.argmax())
        raise wrong_row(rows, at, f"{name} is {cells[at]!r}, expected one of {', '.join(map(repr, values))}")
    return [values[cell] for cell in cells]


def numbers(rows: "DataFrame", name: str, *, whole: bool = False) -> list[Any]:
    """Returns the cells of a column as numbers, or as integers (`25` or `25.0`); an empty cell is None.

    Raises:
        InputError: A cell is not a finite number, or not an integer.
    """
    found: list[Any] = []
    for at, cell in enumerate(column(rows, name)):
        try:
            value = float(cell) if cell.strip() else None
        except ValueError:
            value = math.nan
        if value is not None and not (value.is_integer() if whole else math.isfinite(value)):
            kind = "whole number" if whole else "number"
            raise wrong_row(rows, at, f"{name} is {cell!r}, expected a {kind}: correct the row")
        found.append(int(value) if whole and value is not None else value)
    return found
