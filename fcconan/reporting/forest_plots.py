"""Forest plots: values as dots with intervals, drawn by the page itself, readable in both themes and any width."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from fcconan.reporting.elements import macro
from fcconan.reporting.tables import format_number, with_interval

if TYPE_CHECKING:
    from markupsafe import Markup

STEPS = (1, 2, 2.5, 5, 10)
MOST = 20  # rows of a plot that a page begins with
PUBLISHED = "(published"  # ends the name of a published system
TICKS = 5  # at most as many steps along the axis


class Dot(NamedTuple):
    """A value and its interval; None where there is none."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    is_grey: bool = False


class Scale(NamedTuple):
    """An axis: its ends, and the places of its ticks."""

    low: float
    high: float
    ticks: Sequence[float]

    def place(self, value: float) -> float:
        """Returns the position of a value on the axis, in percent of its length."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)


class ForestPlot(NamedTuple):
    """A plot of values that share an axis.

    Attributes:
        title: Its title; screen readers read it, followed by all values.
        rows: The values, in the order of the plot.
        scale: The axis.
        line: A value to mark across all rows, such as the level of chance.
        line_name: The name of the line.
    """

    title: str
    rows: Sequence[Dot]
    scale: Scale
    line: float | None = None
    line_name: str = ""

    def in_words(self) -> str:
        """Returns the plot in words."""
        found = [
            f"{dot.name} {'no value' if dot.value is None else with_interval(dot.value, dot.low, dot.high)}"
            for dot in self.rows
        ]
        found += [] if self.line is None else [f"{self.line_name} {format_number(self.line)}"]
        return f"{self.title}: {'; '.join(found)}."


def scale_of(dots: Sequence[Dot], origin: float = 0.0) -> Scale:
    """Returns an axis that holds all values and intervals, with ticks at round numbers.

    Args:
        dots: The values.
        origin: A value that the axis holds in any case: 0, or the lowest value of a scale of ratings.
    """
    values = [value for dot in dots for value in dot[1:4] if value is not None] or [0.0, 1.0]
    low, high = min(*values, origin), max(*values, origin)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / TICKS
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in STEPS if factor * magnitude >= raw - 1e-12)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [round(count * step, 12) for count in range(first, last + 1)]
    return Scale(ticks[0], ticks[-1], ticks)


def hollow_note(dots: Sequence[Dot]) -> str:
    """Returns the meaning of the hollow dots of a plot, for the end of its title: published values, or references."""
    hollow = [dot.name for dot in dots if dot.is_grey]
    printed = [name for name in hollow if PUBLISHED in name]
    said = ["are published values"] if printed else []
    said += ["ignore the message"] if len(printed) < len(hollow) else []
    return f"; hollow dots {' or '.join(said)}" if said else ""


def forest_plot(
    title: str, dots: Sequence[Dot], *, line: float | None = None, line_name: str = "", origin: float = 0.0
) -> "Markup | None":
    """Returns values as a plot on an axis of their own, with its title; None if there are none.

    Args:
        title: Its title.
        dots: The values.
        line: A value to mark across all rows.
        line_name: The name of the line.
        origin: A value that the axis holds in any case.
    """
    if not any(dot.value is not None for dot in dots):
        return None
    title += hollow_note(dots)
    if len(dots) > MOST:
        title += f"; the first {MOST} of {len(dots)}"
    rows = dots[:MOST]
    return macro("dots_figure", ForestPlot(title, rows, scale_of(rows, origin), line, line_name))
