"""The printed figures of the papers, as `benchmarks/published/*.yaml` has them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.data import Source, YamlFile, content_folder, explain
from fcconan.errors import InputError

Without = Literal["needs_model", "not_released"]
# As printed: a sign of approximation or a bound, thousands with commas, a percent sign or stars.
_NUMBER = re.compile(
    r"(?P<sign>[≈~<>≤≥]?)\s?(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[+-]?\d+)?)\s?(?:%|\*+|†)?"
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Reason(_Strict):
    """Why figures cannot be recomputed.

    Attributes:
        without: `needs_model`: a model has to be run; `not_released`: data were not published.
        why: In words.
    """

    without: Without
    why: str = Field(min_length=1)


class Remark(_Strict):
    """What is known about some figures besides their values; `tests/reproduction` checks it.

    Attributes:
        note: In words.
        rows: Names of rows, or patterns as in a shell; by default all.
        columns: Likewise the columns.
    """

    note: str = Field(min_length=1)
    rows: tuple[str, ...] = ("*",)
    columns: tuple[str, ...] = ("*",)

    def is_about(self, row: str, column: str) -> bool:
        """Returns whether a figure is one of these."""
        return any(fnmatchcase(row, name) for name in self.rows) and any(
            fnmatchcase(column, name) for name in self.columns
        )


class Table(_Strict):
    """A table, or figures of a figure or of the running text.

    Attributes:
        id: What the paper calls it.
        about: What it shows.
        columns: Their names.
        rows: The printed figures of every row, None where the paper's cell is empty.
        without: Why none of it can be recomputed.
        why: In words.
        without_rows: The same for single rows.
        remarks: What is known about the figures.
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
        """Returns why a row cannot be recomputed, or None."""
        if row in self.without_rows:
            return self.without_rows[row]
        return None if self.without is None else Reason(without=self.without, why=self.why or "")

    def notes(self, row: str, column: str) -> list[str]:
        """Returns the remarks about a figure, in their order."""
        return [each.note for each in self.remarks if each.is_about(row, column)]


class Shown(_Strict):
    """A table or figure without figures that could be recomputed: texts, drawings."""

    id: str
    about: str


class Paper(_Strict):
    """The printed figures of a paper, with where it was published.

    Attributes:
        sources: Upstream files that figures are computed from and that no dataset holds, pinned as in a recipe.
        names: Names of rows elsewhere, such as in upstream files: what they are for -> row -> name.
        tables: The figures.
        without_figures: What holds none that could be recomputed: texts, drawings.
    """

    paper: str
    title: str
    authors: str
    year: int
    venue: str = ""
    url: str = ""
    sources: dict[str, Source] = {}
    names: dict[str, dict[str, str]] = {}
    tables: tuple[Table, ...]
    without_figures: tuple[Shown, ...] = ()

    def cells(self) -> Iterator[tuple[Table, str, str, str]]:
        """Yields table, row, column and printed figure of every cell that is not empty, in the order of the paper."""
        for table in self.tables:
            for row, figures in table.rows.items():
                for column, printed in zip(table.columns, figures, strict=True):
                    if printed is not None:
                        yield table, row, column, printed

    def table(self, name: str) -> Table:
        """Returns a table by its id."""
        return next(table for table in self.tables if table.id == name)

    def printed(self, table: str) -> dict[str, dict[str, str]]:
        """Returns the printed figures of a table by row and column; without empty cells, and empty for no table."""
        found: dict[str, dict[str, str]] = {}
        for own, row, column, printed in self.cells():
            if own.id == table:
                found.setdefault(row, {})[column] = printed
        return found

    def figures(self, table: str) -> "dict[str, dict[str, Figure]]":
        """Returns the printed figures of a table as numbers, by row and column."""
        rows = self.printed(table).items()
        return {row: {column: figure(printed) for column, printed in cells.items()} for row, cells in rows}


@dataclass(frozen=True)
class Figure:
    """A printed figure.

    Attributes:
        value: The number.
        unit: One of its last printed digit; 0.01 for `.50`.
        bound: `<`, `>`, `≤` or `≥` where the paper prints a bound, otherwise empty.
    """

    value: float
    unit: float
    bound: str = ""


def paper_names() -> list[str]:
    """Returns the short names of the papers, sorted."""
    return sorted(path.stem for path in (content_folder() / "benchmarks" / "published").glob("*.yaml"))


@cache
def load_paper(name: str) -> Paper:
    """Reads the printed figures of a paper.

    Raises:
        InputError: The paper is unknown.
    """
    if name not in paper_names():
        raise InputError(f"there is no paper {name!r}: choose among {', '.join(paper_names())}")
    file = YamlFile(content_folder() / "benchmarks" / "published" / f"{name}.yaml")
    try:
        return Paper.model_validate(file.data)
    except ValidationError as error:
        message = explain(file, error, whole="the file", known_keys=lambda location: Table.model_fields)
        raise InputError(message) from error


def figure(printed: str) -> Figure:
    """Reads a printed figure.

    Raises:
        ValueError: It is no number.
    """
    found = _NUMBER.fullmatch(printed)
    if found is None or not any(sign.isdigit() for sign in found["number"]):
        raise ValueError(f"{printed!r} is no number")
    number = Decimal(found["number"].replace(",", ""))
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # the pattern takes neither nan nor infinity
    bound = found["sign"] if found["sign"] in "<>≤≥" else ""
    return Figure(float(number), float(Decimal(1).scaleb(min(exponent, 0))), bound)
