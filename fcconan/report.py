"""Plots of long tables, in colours that are readable on white and on black."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

LINES, POINTS = "#808080", "#3b82c4"


def forest(table: "DataFrame", *, label: str, values: str = "") -> Any:
    """Returns a plot of values with their intervals, one line for each row, the first row on top.

    Args:
        table: Rows with `value`, `low` and `high`.
        label: Column with the names of the lines.
        values: Name of the values.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 1 + 0.3 * len(table)), layout="constrained")
    axes = figure.subplots()
    places = range(len(table), 0, -1)
    if table["value"].min() < 0 < table["value"].max():
        axes.axvline(0, color=LINES, linewidth=0.5)
    axes.hlines(places, table["low"], table["high"], color=LINES)
    axes.plot(table["value"], places, "o", color=POINTS)
    axes.set_yticks(places, table[label].str.replace("_", " "))
    axes.set_xlabel(values)
    axes.set_ylim(0.5, len(table) + 0.5)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def bars(table: "DataFrame", *, label: str, column: str) -> Any:
    """Returns a plot of values, one group of bars for each label and one bar for each value of a column."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    order = {"index": table[label].unique(), "columns": table[column].unique()}
    pivots = (table.pivot(index=label, columns=column, values=each) for each in ("value", "low", "high"))
    wide, low, high = (each.reindex(**order) for each in pivots)
    for place, name in enumerate(wide):
        width = 0.8 / len(wide.columns)
        at = [row + (place - (len(wide.columns) - 1) / 2) * width for row in range(len(wide))]
        axes.bar(at, wide[name], 0.9 * width, label=str(name))
        axes.vlines(at, low[name], high[name], color=LINES)
    axes.set_xticks(range(len(wide)), wide.index, rotation=35, ha="right")
    axes.legend(ncols=len(wide.columns), frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def curves(table: "DataFrame", *, x: str, y: str, line: str) -> Any:
    """Returns a plot with a line for each value of a column, and a ring around the row that is `chosen`.

    Args:
        table: The rows, in the order of the lines.
        x: Column of the horizontal axis.
        y: Column of the vertical axis.
        line: Column whose values are lines.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name, rows in table.groupby(line, sort=False):
        axes.plot(rows[x], rows[y], marker="o", markersize=3, label=f"{line.replace('_', ' ')} {name}")
    best = table[table["chosen"]]
    axes.plot(best[x], best[y], "o", markersize=10, fillstyle="none", color=LINES)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
