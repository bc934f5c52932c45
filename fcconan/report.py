"""Plots of long tables, in colours that are readable on white and on black."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

LINES, POINTS = "#808080", "#3b82c4"


def forest(table: "DataFrame", *, label: str) -> Any:
    """Returns a plot of values with their intervals, one line for each row, the first row on top.

    Args:
        table: Rows with `value`, `low` and `high`.
        label: Column with the names of the lines.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 1 + 0.3 * len(table)), layout="constrained")
    axes = figure.subplots()
    places = range(len(table), 0, -1)
    axes.hlines(places, table["low"], table["high"], color=LINES)
    axes.plot(table["value"], places, "o", color=POINTS)
    axes.set_yticks(places, table[label])
    axes.set_ylim(0.5, len(table) + 0.5)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
