"""The table that a paper prints of a result, in LaTeX."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pandas import DataFrame

LEVEL = 0.05  # of significance
SIGNS = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}
# A table that is wider than a column is made smaller.
TABLE = r"""%% needs \usepackage{booktabs,graphicx}
\begin{table}
\centering\footnotesize\setlength{\tabcolsep}{3pt}
\resizebox{\ifdim\width>\columnwidth\columnwidth\else\width\fi}{!}{\begin{tabular}{%s}
\toprule
%s
\bottomrule
\end{tabular}}
\caption{%s}\label{tab:%s}
\end{table}
"""


class Paper(NamedTuple):
    """The part of a long table that a paper prints.

    Attributes:
        table: Name of the table, with `value` and the interval `low` and `high`. Tests are in `differences`.
        rows: Column with the compared systems, which are the rows.
        columns: Column whose values are the columns.
        where: Column -> values of the rows that are printed.
        caption: Name of the values.
        baseline: Systems that all others were tested against; empty for all pairs.
        tested_as: Name of a column -> its name in the tests, where it is another one.
    """

    table: str
    rows: str
    columns: str
    where: Mapping[str, Sequence[str]]
    caption: str
    baseline: Sequence[str] = ()
    tested_as: Mapping[str, str] = {}


def latex(paper: Paper, tables: Mapping[str, "DataFrame"], references: Collection[str] = (), label: str = "") -> str:
    """Returns the table, which fits a column of an article: values with their intervals below, references at the end.

    The best value of each column is bold. An asterisk marks a system whose differences from the baselines, or else from
    the best system, all have an adjusted p of at most .05.

    Args:
        paper: The part of a table, and its caption.
        tables: Tables of the result.
        references: Rows below a line, which are never the best.
        label: Name of the table for references in the text.
    """
    table = tables[paper.table]
    tests = tables.get("differences", table.iloc[:0].assign(a="", b="", p_adjusted=1.0)).dropna(subset="p_adjusted")
    for key, values in paper.where.items():
        table = table[table[key].isin(values)]
        tests = tests[tests[key].isin(values)] if key in tests and key != paper.columns else tests
    names, columns = ([*table[key].unique()] for key in (paper.rows, paper.columns))
    lines: dict[str, list[str]] = {name: [_escaped(name), ""] for name in names}
    tested = []
    for column in columns:
        part = table[table[paper.columns] == column].set_index(paper.rows)
        digits = min(3, max(1, 3 - len(str(int(part["value"].abs().max()))))) if part["value"].abs().max() >= 1 else 3
        systems = part[~part.index.isin(references)].dropna(subset="value")
        better = systems.get("higher_is_better", True) * 2 - 1
        best = (systems["value"] * better).idxmax() if len(systems) > 1 else ""
        own = tests[tests[paper.columns] == paper.tested_as.get(column, column)]
        tested += [_escaped(column)] * (len(own) > 0)
        for name in names:
            others = [other for other in paper.baseline or [best] if other != name]
            compared = own[(own["a"].eq(name) & own["b"].isin(others)) | (own["b"].eq(name) & own["a"].isin(others))]
            differs = bool(others) and len(compared) == len(others) and (compared["p_adjusted"] <= LEVEL).all()
            value, low, high = part.loc[name, ["value", "low", "high"]] if name in part.index else [float("nan")] * 3
            shown = rf"\textbf{{{_number(value, digits)}}}" if name == best else _number(value, digits)
            lines[name][0] += f" & {shown}{'*' if differs else ''}"
            ends = rf"\scriptsize[{_number(low, digits)}, {_number(high, digits)}]" if low == low else ""
            lines[name][1] += f" & {ends}".rstrip()
    groups = [[f" & {' & '.join(_escaped(column) for column in columns)}"]]
    for is_reference in (False, True):
        own_names = [name for name in names if (name in references) == is_reference]
        groups.append([" \\\\\n".join(line for line in lines[name] if line.strip(" &")) for name in own_names])
    body = " \\\\\n\\midrule\n".join(" \\\\[2pt]\n".join(group) for group in groups if group) + r" \\"
    caption = f"{_escaped(paper.caption)}, with intervals in brackets. Bold: best {paper.rows} of a column."
    if tested:
        other = " and ".join(map(_escaped, paper.baseline)) or f"the best {paper.rows}"
        caption += rf" *: differs from {other} (adjusted $p \le .05$); tests are on {' and '.join(tested)}."
    if references:
        caption += " Rows below the line are references."
    return TABLE % ("l" + "c" * len(columns), body, caption, label)


def _escaped(text: str) -> str:
    return "".join(SIGNS.get(sign, sign) for sign in str(text))


def _number(value: float, digits: int) -> str:
    """Returns a number with a number of digits after the point, without a zero before it."""
    if value != value:
        return "--"
    shown = f"{abs(value):.{digits}f}"
    return ("$-$" if value < 0 else "") + (shown[1:] if shown.startswith("0.") else shown)
