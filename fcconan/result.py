"""The result of every command: tables, notes, and a signature that names everything that changes the values."""

import html
import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import fcconan
from fcconan.errors import InputError
from fcconan.latex import Paper, latex

if TYPE_CHECKING:
    from pandas import DataFrame

SHORT = 12  # rows that are printed of further tables
WIDEST = 60  # characters of a cell in the terminal
MISSING = "–"
ROW_FILES = (".csv", ".tsv", ".jsonl", ".parquet")
SMALL = 0.0005  # smaller numbers are shown as such
GREY = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")  # readable on white and black
STYLE: Any = dict.fromkeys(GREY, "#808080") | {
    "svg.fonttype": "none",
    "svg.hashsalt": "fcconan",
    "text.parse_math": False,
}


class Pivot(NamedTuple):
    """How a long table is shown: one row for each value of `rows`, one column for each value of `column`."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    value: str = "value"


@dataclass(frozen=True, repr=False)
class Result:
    """Tables of rows with everything to print, compare and repeat them.

    Attributes:
        command: The command that computed it.
        tables: Name -> long table; the first is the main one. The reason of a missing value is in `reason`.
        identity: Everything that changes the values, resolved: data by hash, metric, tie rule, population, seed.
        notes: Sentences on how the data change the reading of a value.
        intervals: Name of a table -> the column whose interval is in `low` and `high`.
        pivots: Name of a table -> how it is shown; other tables are shown as they are.
        plots: Title -> function that returns a matplotlib plot for the page.
        files: Path in the report folder -> function that returns the text of a further file.
        choice: Column by which the page shows one part of its tables at a time, and plots with its values as titles;
            and the value that is shown first.
        captions: Name of a table -> the values in it, where its columns do not say so.
        references: Names of systems that are shown below a line.
        paper: The part of a table that `to_latex` prints.
        out: Name of the table that `write` writes.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"system": ["A"], "value": [0.5], "low": [0.25], "high": [0.75]})
        >>> data = {"data": "rows@1f2e3d4c5b6a"}
        >>> result = Result("rank", {"systems": table}, data, intervals={"systems": "value"})
        >>> print(result.shown().to_string(index=False))
        system                value
             A 0.500 [0.250, 0.750]
        >>> result.signature.partition("|")[2]
        'rank|data:rows@1f2e3d4c5b6a'
    """

    command: str
    tables: Mapping[str, "DataFrame"]
    identity: Mapping[str, Any]
    notes: Sequence[str] = ()
    intervals: Mapping[str, str] = field(default_factory=dict)
    pivots: Mapping[str, Pivot] = field(default_factory=dict)
    plots: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    files: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    choice: tuple[str, str] | None = None
    captions: Mapping[str, str] = field(default_factory=dict)
    references: Collection[str] = ()
    paper: Paper | None = None
    out: str | None = None

    @property
    def signature(self) -> str:
        """The identity in one line."""
        return "|".join(
            [
                f"fcconan:{fcconan.__version__}",
                self.command,
                *(f"{name}:{value}" for name, value in self.identity.items() if value is not None),
            ]
        )

    def to_frame(self, table: str | None = None) -> "DataFrame":
        """Returns a table; by default the main one."""
        return self.tables[table or next(iter(self.tables))]

    def to_json(self) -> str:
        """Returns command, signature, identity, notes and tables as JSON; a missing number is null."""
        tables = {name: _records(table) for name, table in self.tables.items()}
        found = {"command": self.command, "signature": self.signature, "identity": {**self.identity}}
        found |= {"notes": [*self.notes], "tables": tables}
        return json.dumps(found, ensure_ascii=False, indent=1, default=lambda value: value.item()) + "\n"

    def to_html(self, folder: str | Path) -> Path:
        """Writes a page with plots, tables, notes and signature, which needs no other file, and the further files.

        Args:
            folder: The folder, which is created.

        Returns:
            The path of the page.
        """
        import io

        from jinja2 import Environment, PackageLoader
        from matplotlib import rc_context

        plots = {}
        # Texts as texts, without formulas, and the same bytes each time.
        with rc_context(STYLE):
            for title, draw in self.plots.items():
                drawn = io.StringIO()
                draw().savefig(drawn, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
                plots[title] = "<svg" + drawn.getvalue().partition("<svg")[2]
        tables = {name: self.shown(name) for name, table in self.tables.items() if not table.empty}
        template = Environment(loader=PackageLoader("fcconan", "."), autoescape=True).get_template("result.html.jinja")
        by, first = self.choice or (None, None)
        choices = dict.fromkeys(value for table in self.tables.values() if by in table for value in table[by].unique())
        shown = {"result": self, "tables": tables, "plots": plots, "choices": [*choices], "by": by, "first": first}
        page = template.render(shown, glossary=glossary())
        for stale in [*(Path(folder) / "runs").glob("*.trec")] if self.files else ():
            stale.unlink()  # of an earlier report
        for name, text in [*((name, write()) for name, write in self.files.items()), ("index.html", page)]:
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return path

    def to_latex(self) -> str:
        """Returns the table of a paper in LaTeX: see `fcconan.latex.latex`.

        Raises:
            InputError: The command has none.
        """
        if self.paper is None:
            raise InputError(f"found no table for a paper in {self.command}: leave --latex out")
        return latex(self.paper, self.tables, self.references, self.command)

    def write(self, path: str | Path) -> None:
        """Writes the rows that other commands read to a file in .csv, .tsv, .jsonl or .parquet.

        Raises:
            InputError: The command has no rows to write, or the ending is another one.
        """
        suffix = Path(path).suffix
        if self.out is None or suffix not in ROW_FILES:
            raise InputError(f"found {path} for the rows of {self.command}, expected {' or '.join(ROW_FILES)}")
        table = self.tables[self.out]
        if suffix == ".parquet":
            table.to_parquet(path, index=False)
        elif suffix == ".jsonl":
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in _records(table))
            Path(path).write_text("".join(lines), encoding="utf-8")
        else:
            table.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")

    def shown(self, name: str | None = None) -> "DataFrame":
        """Returns a table as texts for readers, by default the main one: rounded, with intervals, pivoted."""
        from pandas import concat

        name = name or next(iter(self.tables))
        table = self.tables[name]
        if table.empty:
            return table
        interval = self.intervals.get(name)
        if name not in self.pivots:
            return _texts(table, interval)
        rows, columns, value = (list(part) if isinstance(part, tuple) else part for part in self.pivots[name])
        texts = concat([_texts(own, interval) for _, own in table.groupby(columns, sort=False)]).loc[table.index]
        if "reason" in table:
            lost = table[value].isna() & table["reason"].notna()
            texts[value] = texts[value].mask(lost, MISSING + " " + table["reason"].astype(str))
        wide = texts.pivot(index=rows, columns=columns, values=value)
        order = {"index": rows, "columns": columns}
        wide = wide.reindex(**{axis: texts.set_index(keys).index.unique() for axis, keys in order.items()})
        wide.columns = ["@".join(key) if isinstance(key, tuple) else key for key in wide.columns]
        return wide.fillna(MISSING).reset_index()

    def __str__(self) -> str:
        """Returns main table, notes and signature, and the first rows of further tables, but for those of `--out`."""
        parts: list[str] = []
        for name, table in self.tables.items():
            if table.empty or (parts and name == self.out):
                continue
            shown = self.shown(name)
            most = SHORT if parts else len(shown)
            more = f"\n... {len(shown) - most} more rows in --json and --report" if len(shown) > most else ""
            title = ": ".join(filter(None, (name, self.captions.get(name))))
            parts.append(f"{title}\n{shown.head(most).to_string(index=False, max_colwidth=WIDEST)}{more}")
        return "\n\n".join([*parts, *(["\n".join(self.notes)] if self.notes else []), self.signature])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Returns the main table and the notes, for notebooks."""
        return "<br>".join([self.shown(next(iter(self.tables))).to_html(index=False), *map(html.escape, self.notes)])


def glossary() -> dict[str, str]:
    """Returns the terms of the glossary in small letters, with their meanings as plain text."""
    installed = Path(__file__).with_name("glossary.md")
    path = installed if installed.exists() else Path(__file__).parents[1] / "docs" / "glossary.md"
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [re.sub(r" \(\[.*?\)\)", "", line).strip("| ").split(" | ", 1) for line in lines if line.startswith("| ")]
    return {term.lower(): meaning for terms, meaning in rows[1:] for term in terms.split(", ")}


def _records(table: "DataFrame") -> list[dict[str, Any]]:
    """Returns the rows of a table; a missing number is None."""
    found: list[dict[str, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    return found


def _texts(table: "DataFrame", interval: str | None) -> "DataFrame":
    """Returns a table with rounded numbers, and the interval behind the values of a column."""
    ends = ["low", "high"] if interval else []
    texts = table.drop(columns=ends)
    texts = texts.loc[:, texts.notna().any() | (texts.columns == interval)]
    for column in texts:
        cells = table[[column, *ends] if column == interval else [column]]
        if cells[column].dtype.kind in "if":
            form = "{:.0f}" if (cells.stack().dropna() % 1 == 0).all() else "{:.3f}"
            shown = cells.map(lambda cell, form=form: MISSING if math.isnan(cell) else form.format(cell))
            is_small = (cells[column] != 0) & (cells[column].abs() < SMALL)
            texts[column] = shown[column].mask(is_small, f"< {SMALL}")
            if column == interval:
                both = shown[column] + " [" + shown["low"] + ", " + shown["high"] + "]"
                texts[column] = shown[column].where(table["low"].isna(), both)
        else:
            texts[column] = cells[column].astype(object).where(cells[column].notna(), MISSING).map(str)
    return texts
