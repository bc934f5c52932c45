"""Reads CSV files of sources as text, without padding, guesses of types, or conversion to missing values."""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar

from fcconan.building.recipes import Recipe
from fcconan.data import Source, did_you_mean, is_blank
from fcconan.errors import InputError

csv.field_size_limit(2**31 - 1)

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
Value = TypeVar("Value")


@dataclass(frozen=True)
class SourceRows:
    """The rows of a source file by column, with all values as text.

    Attributes:
        name: Name of the file in messages.
        columns: Values by column of this package.
        lines: Line of the file at the end of each row.
    """

    name: str
    columns: dict[str, list[str]]
    lines: list[int]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, column: str) -> list[str]:
        if column not in self.columns:
            raise InputError(
                f"{self.name}: the recipe maps no column to {column!r}; add it to the `columns` of the source"
            )
        return self.columns[column]

    def __iter__(self) -> "Iterator[SourceRow]":
        return (SourceRow(self, at) for at in range(len(self)))

    def check_columns(self, read: Iterable[str], kind: str) -> None:
        """Checks that the kind of the recipe reads all mapped columns.

        Raises:
            InputError: The recipe maps a column that its kind does not read.
        """
        known = sorted(read)
        for column in self.columns:
            if column not in known:
                raise InputError(
                    f"{self.name}: kind {kind!r} does not read {column!r}; {did_you_mean(column, known)}it reads "
                    f"{', '.join(known)}; declare others in `extra_columns`, or move them to the source's `ignore`"
                )


@dataclass(frozen=True)
class SourceRow:
    """One row of a source file.

    Attributes:
        rows: All rows.
        at: Position of the row, from 0.
    """

    rows: SourceRows
    at: int

    def __getitem__(self, column: str) -> str:
        return self.rows[column][self.at]

    def __contains__(self, column: str) -> bool:
        return column in self.rows.columns

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return f"{self.rows.name}, line {self.rows.lines[self.at]}"

    def fail(self, problem: str) -> InputError:
        """Returns an error about the row, which the caller raises."""
        return InputError(f"{self.place}: {problem}")

    def one_of(self, column: str, values: Mapping[str, Value]) -> Value:
        """Translates a value by a mapping.

        Args:
            column: Name of the column.
            values: Mapping from allowed values to results.

        Raises:
            InputError: The value is not allowed.
        """
        found = self[column]
        if found not in values:
            expected = ", ".join(repr(value) for value in values)
            raise self.fail(f"{column} is {found!r}, expected one of {expected}; correct the row or the recipe")
        return values[found]

    def word(self, column: str, words: Iterable[str]) -> str:
        """Returns a value of a vocabulary.

        Raises:
            InputError: The value is not in the vocabulary.
        """
        return self.one_of(column, {word: word for word in words})

    def reference(self, column: str, known: Collection[str]) -> str:
        """Returns an id that refers to another file.

        Raises:
            InputError: The other file lacks the id.
        """
        if self[column] not in known:
            raise self.fail(f"{column} {self[column]} is not in the file that it refers to; the files go together")
        return self[column]

    def integer(self, column: str) -> int | None:
        """Returns an integer (`25` or `25.0`), or None for an empty cell.

        Raises:
            InputError: The value is not an integer.
        """
        value = self.number(column)
        if value is not None and not value.is_integer():
            raise self.fail(f"{column} is {value}, expected a whole number")
        return None if value is None else int(value)

    def number(self, column: str) -> float | None:
        """Returns a number, or None for an empty cell.

        Raises:
            InputError: The value is not a finite number.
        """
        text = self[column].strip()
        if not text:
            return None
        value = float(text) if NUMBER.fullmatch(text) else math.nan  # `float` also accepts 1_000 and nan
        if not math.isfinite(value):
            raise self.fail(f"{column} is {text!r}, expected a number")
        return value


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

    def source(self, key: str) -> Source:
        """Returns the entry of a file in the recipe.

        Raises:
            InputError: The recipe lacks the entry.
        """
        if key not in self.recipe.sources:
            raise InputError(
                f"recipe {self.recipe.name!r} has no source {key!r}, which kind {self.recipe.kind!r} needs; "
                "add it under `sources`"
            )
        return self.recipe.sources[key]

    def path(self, key: str) -> Path:
        """Returns a local file.

        Raises:
            InputError: The recipe lacks the file, or an optional file is missing.
        """
        source = self.source(key)
        if key not in self.files:
            raise InputError(
                f"{source.path} was not found, and kind {self.recipe.kind!r} needs it; it cannot be optional"
            )
        return self.files[key]

    def read(
        self, key: str, *, text_columns: tuple[str, ...] = (), columns: Mapping[str, str] | None = None
    ) -> SourceRows:
        """Reads a CSV file.

        Args:
            key: Name of the source.
            text_columns: As in `read_csv`.
            columns: Columns to read in addition to those of the source.

        Raises:
            InputError: As in `read_csv`, or the file is missing.
        """
        source = self.source(key)
        if columns:
            source = source.model_copy(update={"columns": {**source.columns, **columns}})
        return read_csv(self.path(key), source, text_columns=text_columns)


def read_csv(path: Path, source: Source, *, text_columns: tuple[str, ...] = ()) -> SourceRows:
    """Reads the mapped columns of a CSV file.

    Args:
        path: The file.
        source: Entry of the file in the recipe, with the column mapping and the ignored columns.
        text_columns: Columns of this package that must not be empty.

    Raises:
        InputError: The file is not UTF-8, a column is missing, unknown or duplicate, a row has too many or too few
            cells, or a text is empty.
    """
    name = source.path
    try:
        content = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: byte {error.start} (0x{error.object[error.start]:02x}) is not UTF-8; re-encode the file as UTF-8"
        ) from error
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    try:
        header = next(reader, [])
        index = _positions(name, header, source)
        cells: list[list[str]] = []
        lines: list[int] = []
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise InputError(
                    f"{name}, line {reader.line_num}: found {len(row)} cells, expected {len(header)} as in the header; "
                    "correct the quotation marks of that row"
                )
            cells.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{name}, line {reader.line_num}: not valid CSV ({error}); correct that line") from error
    rows = SourceRows(name, {ours: [row[at] for row in cells] for ours, at in index.items()}, lines)
    _check_texts(rows, text_columns, source.empty_texts)
    return rows


def _positions(name: str, header: list[str], source: Source) -> dict[str, int]:
    """Returns the position of each mapped column by its name in this package. All other columns must be ignored."""
    twice = sorted(column for column, count in Counter(header).items() if count > 1)
    if twice:
        raise InputError(f"{name}: column {twice[0]!r} occurs twice in the header; keep one of them")
    positions = {ours: header.index(_column(name, header, theirs)) for ours, theirs in source.columns.items()}
    mapped = {header[position] for position in positions.values()}
    known = mapped | set(source.ignore)
    patterns = [name for name in source.ignore if any(sign in name for sign in "*?[")]
    for column in header:
        if column not in known and not any(fnmatchcase(column, pattern) for pattern in patterns):
            raise InputError(
                f"{name}: column {column!r} is not expected; map it in the recipe's `columns` or list it under `ignore`"
            )
    return positions


def _column(name: str, header: list[str], theirs: str) -> str:
    """Returns the column of the file for a name or shell pattern, which must match one column."""
    if theirs in header:
        return theirs
    matching = [column for column in header if fnmatchcase(column, theirs)]
    if len(matching) > 1:
        raise InputError(f"{name}: {theirs!r} is {len(matching)} columns, such as {matching[1]!r}; name one of them")
    if not matching:
        raise InputError(
            f"{name}: column {theirs!r} is missing; {did_you_mean(theirs, header)}correct the header or the recipe's "
            "`columns`"
        )
    return matching[0]


def _check_texts(rows: SourceRows, text_columns: tuple[str, ...], empty_texts: int) -> None:
    empty = [(column, record) for column in text_columns for record in rows if is_blank(record[column])]
    if len(empty) > empty_texts:
        column, record = empty[0]
        raise record.fail(
            f"{column} is empty ({len(empty)} empty texts, expected {empty_texts}); fill it in, or remove the row"
        )
