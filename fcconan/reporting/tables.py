"""Tables: one description of titles, columns and cells, from which the terminal, pages and files are made."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

MISSING = "–"
LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "±": r"$\pm$",
}
MARKDOWN = {"\\": "\\\\", "|": "\\|", "*": "\\*", "`": "\\`", "<": "&lt;", ">": "&gt;", "&": "&amp;"}
LATEX_PAGE = 40  # rows; a longer table runs over pages
NUMBER = re.compile(r"[±+\-<≤\[ ]*\d[\d,]*(\.\d+)?(?=$|[\s%\]]|, )")
MINUS = re.compile(r"(?<![\w.-])-(?=\d)")

Row = Mapping[str, Any]
Rows = Sequence[Row]
Columns = dict[str, Any]  # name of a column -> the key of its value in a row, or a function of the row


class DisplayTable(NamedTuple):
    """A table: title, names of the columns, rows of cells as text; the first cell names the row."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    def without(self, names: Iterable[str]) -> "DisplayTable":
        """Returns the table without some of its columns."""
        places = [place for place, name in enumerate(self.columns) if name not in set(names)]
        cells = [[row[place] for place in places] for row in self.rows]
        return self._replace(columns=[self.columns[place] for place in places], rows=cells)


def make_table(title: str, rows: Iterable[Any], columns: Columns | Iterable[str]) -> DisplayTable:
    """Returns rows as a table.

    Args:
        title: Its title.
        rows: The rows.
        columns: Name of each column -> the key of its value in a row, or a function of the row. A list of keys names
            the columns, with spaces for underscores.

    Examples:
        >>> make_table("Oaks", [{"name": "A", "age": 80, "width": 0.5}], {"oak": "name", "years": "age", "m": "width"})
        DisplayTable(title='Oaks', columns=['oak', 'years', 'm'], rows=[['A', '80', '0.500']])
    """
    if not isinstance(columns, dict):
        columns = {key.replace("_", " "): key for key in columns}
    forms = columns.values()
    cells = [[format_value(row[form] if isinstance(form, str) else form(row)) for form in forms] for row in rows]
    return DisplayTable(title, list(columns), cells)


def format_value(value: Any) -> str:
    """Returns a value as tables show it: numbers with a fraction have three digits, and a missing value is a dash."""
    return format_number(value) if value is None or isinstance(value, float) else str(value)


def format_number(value: float | None, digits: int = 3) -> str:
    """Returns a number as tables show it; a missing one is a dash."""
    return MISSING if value is None else f"{value:.{digits}f}"


def p_text(value: float | None) -> str:
    """Returns a p value as tables show it; no test has a p of 0."""
    return "< 0.0001" if value is not None and value < 0.0001 else format_number(value, 4)


def format_interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Returns an interval as tables show it."""
    return MISSING if low is None or high is None else f"[{low:.{digits}f}, {high:.{digits}f}]"


def format_row_interval(row: Row) -> str:
    """Returns the interval of a row with `low` and `high`."""
    return format_interval(row["low"], row["high"])


def reasoned(value: float | None, reason: str | None, digits: int = 3) -> str:
    """Returns a number, or the reason for which it is missing."""
    return format_number(value, digits) if reason is None else f"{MISSING} ({reason})"


def value_text(row: Row) -> str:
    """Returns the value of a row with its interval, or the reason for which it is missing."""
    if row["value"] is None:
        return f"{MISSING} ({row['reason']})"
    return with_interval(row["value"], row["low"], row["high"])


def with_interval(value: float | None, low: float | None, high: float | None, digits: int = 3) -> str:
    """Returns a number, followed by its interval if there is one.

    Args:
        value: The number.
        low: The lower end of the interval; None without one.
        high: The upper end.
        digits: Digits after the point.
    """
    return format_number(value, digits) + ("" if low is None else " " + format_interval(low, high, digits))


def format_counts(counts: Mapping[str, int]) -> str:
    """Returns counts by name in one cell."""
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or MISSING


def number_columns(table: DisplayTable) -> list[bool]:
    """Returns for each column whether it holds numbers, which are set flush right; the first one names the row."""
    return [place > 0 and all(_is_number(row[place]) for row in table.rows) for place in range(len(table.columns))]


def _is_number(cell: str) -> bool:
    return cell == MISSING or cell.startswith(f"{MISSING} (") or NUMBER.match(cell) is not None


def markdown_lines(table: DisplayTable) -> list[str]:
    """Returns a table in Markdown, line by line, without its title."""
    ends = "|" + "|".join("---:" if numbers else "---" for numbers in number_columns(table)) + "|"
    return [_markdown_row(table.columns), ends, *map(_markdown_row, table.rows)]


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown(cell) for cell in cells) + " |"


def markdown(text: str) -> str:
    """Returns text that is one line, and that is neither HTML nor the end of a cell."""
    return "".join(MARKDOWN.get(letter, letter) for letter in " ".join(text.split())).replace("](", "]\\(")


def latex_lines(table: DisplayTable) -> list[str]:
    """Returns a table in LaTeX, line by line."""
    alignment = "".join("r" if numbers else "l" for numbers in number_columns(table))
    head = ["\\toprule", _latex_row(table.columns), "\\midrule"]
    rows = [_latex_row(row) for row in table.rows]
    caption = f"\\caption{{{latex(table.title)}}}"
    if len(rows) > LATEX_PAGE:
        head = [caption + r" \\", *head, "\\endfirsthead", *head, "\\endhead", "\\bottomrule", "\\endfoot"]
        return [f"\\begin{{longtable}}{{{alignment}}}", *head, *rows, "\\end{longtable}"]
    begin = ["\\begin{table}", "\\centering", caption, f"\\begin{{tabular}}{{{alignment}}}"]
    return [*begin, *head, *rows, "\\bottomrule", "\\end{tabular}", "\\end{table}"]


def _latex_row(cells: Sequence[str]) -> str:
    row = " & ".join(MINUS.sub("$-$", latex(cell)) for cell in cells) + r" \\"
    # After the end of a row LaTeX takes `[` for a length and `*` for a variant, even on the next line.
    return "{}" + row if row[0] in "[*" else row


def latex(text: str) -> str:
    """Escapes text for LaTeX; it becomes one line."""
    return "".join(LATEX.get(letter, letter) for letter in " ".join(text.split()))


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Returns rows as CSV; a missing value is empty."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([columns, *rows])
    return file.getvalue()
