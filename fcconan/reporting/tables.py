"""Tables, and their forms in Markdown and LaTeX."""

import re
from collections.abc import Sequence
from typing import NamedTuple

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


LATEX_PAGE = 40


FIGURE = re.compile(r"[-±+< ]*\d+(\.\d+)?(\s|$)")


MINUS = re.compile(r"(?<![\w.-])-(?=\d)")


class Table(NamedTuple):
    """A table: title, names of the columns, rows of cells as text; the first cell names the row."""

    title: str
    columns: list[str]
    rows: list[list[str]]


def number(value: float | None, digits: int = 4) -> str:
    """Formats a figure; a missing one is a dash."""
    return MISSING if value is None else f"{value:.{digits}f}"


def p_text(value: float | None) -> str:
    """Formats a p value; no test has a p of 0."""
    return "< 0.0001" if value is not None and value < 0.0001 else number(value)


def interval(ends: Sequence[float | None] | None, digits: int = 4) -> str:
    """Formats an interval."""
    if not ends or ends[0] is None or ends[1] is None:
        return MISSING
    return f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"


def markdown_lines(table: Table) -> list[str]:
    """Returns a table in Markdown, line by line, without its title."""
    ends = "|" + "|".join("---:" if figures else "---" for figures in figure_columns(table)) + "|"
    return [_markdown_row(table.columns), ends, *map(_markdown_row, table.rows)]


def figure_columns(table: Table) -> list[bool]:
    """Says of every column whether it holds figures, which are set flush right."""
    return [
        position > 0 and all(row[position] == MISSING or FIGURE.match(row[position]) for row in table.rows)
        for position in range(len(table.columns))
    ]


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    """Returns text that is one line, and that is neither HTML nor the end of a cell."""
    return "".join(MARKDOWN.get(letter, letter) for letter in " ".join(text.split())).replace("](", "]\\(")


def latex_lines(table: Table) -> list[str]:
    """Returns a table in LaTeX, line by line."""
    alignment = "".join("r" if figures else "l" for figures in figure_columns(table))
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
