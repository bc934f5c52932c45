"""The printed values of the papers, transcribed in `benchmarks/published/*.yaml`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.data import Source, YamlFile, content_folder, explain_error
from fcconan.errors import InputError

Without = Literal["needs_model", "not_released"]
# Papers print approximation signs, bounds, commas between thousands, percent signs and marks of significance.
_NUMBER = re.compile(
    r"(?P<sign>[≈~<>≤≥]?)\s?(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[+-]?\d+)?)\s?(?:%|\*+|†)?"
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reason(_Strict):
    """The reason for values that cannot be recomputed.

    Attributes:
        without: `needs_model`: the value needs a model; `not_released`: the data were not published.
        why: Explanation.
    """

    without: Without
    why: str = Field(min_length=1)


class Remark(_Strict):
    """A remark about some printed values, such as a misprint; `tests/reproduction` checks it.

    Attributes:
        note: Text of the remark.
        rows: Names of rows, or shell patterns; default: all rows.
        columns: Names of columns, or shell patterns; default: all columns.
    """

    note: str = Field(min_length=1)
    rows: tuple[str, ...] = ("*",)
    columns: tuple[str, ...] = ("*",)

    def applies_to(self, row: str, column: str) -> bool:
        """Returns whether the remark applies to the value in a row and column."""
        return any(fnmatchcase(row, name) for name in self.rows) and any(
            fnmatchcase(column, name) for name in self.columns
        )


class PaperTable(_Strict):
    """A table of a paper, or the values of a plot or of the running text.

    Attributes:
        id: Name in the paper, such as `Table 1`.
        about: Description of the content.
        columns: Names of the columns.
        rows: Printed values by name of the row, one for each column; None for an empty cell.
        without: Reason, if no value of the table can be recomputed.
        why: Explanation of `without`.
        without_rows: Reasons for single rows, by name of the row.
        remarks: Remarks about the values.
    """

    id: str
    about: str
    columns: tuple[str, ...]
    rows: dict[str, tuple[str | None, ...]]
    without: Without | None = None
    why: str | None = None
    without_rows: dict[str, Reason] = {}
    remarks: tuple[Remark, ...] = ()

    def reason(self, row: str) -> Reason | None:
        """Returns the reason why a row cannot be recomputed, or None."""
        if row in self.without_rows:
            return self.without_rows[row]
        return None if self.without is None else Reason(without=self.without, why=self.why or "")

    def notes(self, row: str, column: str) -> list[str]:
        """Returns the remarks about a value, in the order of the file."""
        return [each.note for each in self.remarks if each.applies_to(row, column)]


class Paper(_Strict):
    """A paper with its printed values.

    Attributes:
        paper: Short name.
        title: Title.
        authors: Authors, separated by commas.
        year: Year of publication.
        venue: Conference or workshop.
        url: Address of the paper or of its repository.
        sources: Further upstream files that the values need, pinned as in a recipe.
        names: Names of rows in other places, such as upstream files, by place and row.
        tables: Tables with the printed values.
    """

    paper: str
    title: str
    authors: str
    year: int
    venue: str = ""
    url: str = ""
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
        """Returns the values of a table as printed, by row and column; empty for an unknown table."""
        found: dict[str, dict[str, str]] = {}
        for each, row, column, printed in self.cells():
            if each.id == table:
                found.setdefault(row, {})[column] = printed
        return found

    def parsed(self, table: str) -> "dict[str, dict[str, PrintedValue]]":
        """Returns the values of a table as numbers, by row and column."""
        rows = self.printed(table).items()
        return {row: {column: parse_printed(printed) for column, printed in cells.items()} for row, cells in rows}


@dataclass(frozen=True)
class PrintedValue:
    """A printed value as a number.

    Attributes:
        value: The number.
        unit: Unit of the last printed digit, such as 0.01 for `.50`.
        bound: `<`, `>`, `≤` or `≥` if the paper prints a bound; otherwise empty.
    """

    value: float
    unit: float
    bound: str = ""


def paper_names() -> list[str]:
    """Returns the short names of the papers, sorted."""
    return sorted(path.stem for path in (content_folder() / "benchmarks" / "published").glob("*.yaml"))


@cache
def load_paper(name: str) -> Paper:
    """Reads the printed values of a paper.

    Args:
        name: Short name of the paper, such as `fc-conan`.

    Raises:
        InputError: The paper is unknown, or its file is invalid.
    """
    if name not in paper_names():
        raise InputError(f"the paper {name!r} is unknown: choose among {', '.join(paper_names())}")
    file = YamlFile(content_folder() / "benchmarks" / "published" / f"{name}.yaml")
    try:
        return Paper.model_validate(file.data)
    except ValidationError as error:
        message = explain_error(file, error, whole="the file", known_keys=lambda location: PaperTable.model_fields)
        raise InputError(message) from error


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
