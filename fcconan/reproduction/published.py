"""The printed values of the papers, transcribed in `benchmarks/published/*.yaml`."""

import re
from collections.abc import Iterator
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict

from fcconan.data import Source, content_folder
from fcconan.errors import InputError

# Papers print approximation signs, bounds, commas between thousands, percent signs and marks of significance.
_NUMBER = re.compile(
    r"(?P<sign>[≈~<>≤≥]?)\s?(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[+-]?\d+)?)\s?(?:%|\*+|†)?"
)


class PrintedValue(NamedTuple):
    """A printed value as a number.

    Attributes:
        value: The number.
        unit: Unit of the last printed digit, such as 0.01 for `.50`.
        bound: `<`, `>`, `≤` or `≥` if the paper prints a bound; otherwise empty.
    """

    value: float
    unit: float
    bound: str = ""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Remark(_Strict):
    """A note, files or a command of some values of a table.

    Attributes:
        rows: Names of rows, or shell patterns; default: all rows.
        columns: Names of columns, or shell patterns; default: all columns.
        note: A remark, such as a misprint, or the reason of `without`.
        without: `needs_model`: the values need a model; `not_released`: the data were not published.
        source: Upstream files of recomputed values: keys of `Paper.sources`, or patterns as in `fc-conan/*` for the
            files of a recipe.
        command: Command that prints recomputed values, or a second value in their note.
    """

    rows: tuple[str, ...] = ("*",)
    columns: tuple[str, ...] = ("*",)
    note: str = ""
    without: Literal["needs_model", "not_released"] | None = None
    source: tuple[str, ...] = ()
    command: str = ""

    def applies_to(self, row: str, column: str) -> bool:
        """Returns whether the remark applies to the value in a row and column."""
        names = ((row, self.rows), (column, self.columns))
        return all(any(fnmatchcase(name, pattern) for pattern in patterns) for name, patterns in names)


class PaperTable(_Strict):
    """A table of a paper, or the values of a plot or of the running text.

    Attributes:
        id: Name in the paper, such as `Table 1`.
        columns: Names of the columns.
        rows: Printed values by name of the row, one for each column; None for an empty cell.
        remarks: Remarks about the values; of several sources or commands of a value, the last one holds.
    """

    id: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[str | None, ...]]
    remarks: tuple[Remark, ...] = ()

    def reason(self, row: str) -> str | None:
        """Returns why a row cannot be recomputed, `needs_model` or `not_released`, or None."""
        return next((each.without for each in self.remarks if each.without and each.applies_to(row, "")), None)


class Paper(_Strict):
    """A paper with its printed values.

    Attributes:
        sources: Further upstream files that the values need, pinned as in a recipe.
        names: Names of rows in other places, such as upstream files, by place and row.
        tables: Tables with the printed values.
    """

    sources: dict[str, Source] = {}
    names: dict[str, dict[str, str]] = {}
    tables: tuple[PaperTable, ...]

    def cells(self) -> Iterator[tuple[PaperTable, str, str, str]]:
        """Yields table, row, column and printed value of each cell that is not empty, in the order of the paper."""
        for table in self.tables:
            for row, cells in table.rows.items():
                for column, printed in zip(table.columns, cells, strict=True):
                    if printed is not None:
                        yield table, row, column, printed

    def table(self, name: str) -> PaperTable:
        """Returns a table by its id."""
        return next(table for table in self.tables if table.id == name)

    def printed(self, table: str) -> dict[str, dict[str, str]]:
        """Returns the values of a table as printed, by row and column."""
        columns, rows = self.table(table).columns, self.table(table).rows.items()
        return {row: {name: each for name, each in zip(columns, cells, strict=True) if each} for row, cells in rows}

    def parsed(self, table: str) -> dict[str, dict[str, PrintedValue]]:
        """Returns the values of a table as numbers, by row and column."""
        rows = self.printed(table).items()
        return {row: {column: parse_printed(printed) for column, printed in cells.items()} for row, cells in rows}


def paper_names() -> list[str]:
    """Returns the short names of the papers, sorted."""
    return sorted(path.stem for path in (content_folder() / "benchmarks" / "published").glob("*.yaml"))


@cache
def load_paper(name: str) -> Paper:
    """Reads the printed values of a paper.

    Args:
        name: Short name of the paper, such as `fc-conan`.

    Raises:
        InputError: The paper is unknown.
    """
    if name not in paper_names():
        raise InputError(f"the paper {name!r} is unknown: choose among {', '.join(paper_names())}")
    path = content_folder() / "benchmarks" / "published" / f"{name}.yaml"
    return Paper.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))


def parse_printed(printed: str) -> PrintedValue:
    """Parses a printed value.

    Args:
        printed: Text in the paper, such as `≈11.49%`, `4,078` or `>63`.

    Returns:
        The value with the unit of its last digit and its bound; signs of approximation and stars are ignored.

    Raises:
        ValueError: The text is not a number.

    Examples:
        >>> parse_printed(">63")
        PrintedValue(value=63.0, unit=1.0, bound='>')
    """
    found = _NUMBER.fullmatch(printed)
    if found is None or not any(sign.isdigit() for sign in found["number"]):
        raise ValueError(f"{printed!r} is not a number")
    number = Decimal(found["number"].replace(",", ""))
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # the pattern excludes nan and infinity
    bound = found["sign"] if found["sign"] in "<>≤≥" else ""
    return PrintedValue(float(number), float(Decimal(1).scaleb(min(exponent, 0))), bound)
