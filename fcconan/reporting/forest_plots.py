"""Figures with their intervals as dots and whiskers, drawn by the page itself: readable on every ground and width."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fcconan.reporting.elements import environment

if TYPE_CHECKING:
    from markupsafe import Markup

STEPS = (1, 2, 2.5, 5, 10)
MOST = 20  # rows of a plot that a page begins with
TICKS = 5  # at most as many steps along the axis


class Dot(NamedTuple):
    """A figure and its interval; None where there is none."""

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
        """Returns how far along the axis a value lies, in per cent of its length."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 2)


class Dots(NamedTuple):
    """A plot of figures that share an axis.

    Attributes:
        title: What is plotted; people who do not see it hear it, with all figures.
        rows: The figures, in the order of the plot.
        scale: The axis.
        line: A value to mark across all rows, such as the level of chance.
        line_name: What it is.
        digits: Digits after the point.
    """

    title: str
    rows: Sequence[Dot]
    scale: Scale
    line: float | None = None
    line_name: str = ""
    digits: int = 3

    def told(self) -> str:
        """Returns the plot in words."""
        said = [self._told(row) for row in self.rows]
        if self.line is not None:
            said.append(f"{self.line_name} {self.line:.{self.digits}f}")
        return f"{self.title}: {'; '.join(said)}."

    def shown(self, value: float) -> str:
        """Returns a figure as it stands in the plot."""
        return f"{value:.{self.digits}f}"

    def tick(self, value: float) -> str:
        """Returns the name of a tick."""
        return f"{value:g}"

    def _told(self, row: Dot) -> str:
        if row.value is None:
            return f"{row.name} has no figure"
        said = f"{row.name} {self.shown(row.value)}"
        return (
            said
            if row.low is None or row.high is None
            else f"{said}, {self.shown(row.low)} to {row.high:.{self.digits}f}"
        )


def scale_of(dots: Sequence[Dot], *, zero: bool = True) -> Scale:
    """Returns an axis that holds all figures and intervals, with ticks at round numbers.

    Args:
        dots: The figures.
        zero: Whether the axis begins or ends at 0 where all figures are on one side of it.
    """
    values = [value for dot in dots for value in dot[1:4] if value is not None] or [0.0, 1.0]
    low, high = min(values), max(values)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / TICKS
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in STEPS if factor * magnitude >= raw - 1e-12)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [round(count * step, 12) for count in range(first, last + 1)]
    return Scale(ticks[0], ticks[-1], ticks)


def dots_html(plot: Dots) -> "Markup":
    """Returns a plot as elements, with its title."""
    from markupsafe import Markup

    module: Any = environment().get_template("site/parts.html.jinja").module
    return Markup(module.dots_figure(plot))


def dots_of(title: str, dots: Sequence[Dot], *, line: float | None = None, line_name: str = "") -> "Markup | None":
    """Returns figures as a plot on an axis of their own; None where there is none.

    Args:
        title: What is plotted.
        dots: The figures.
        line: A value to mark across all rows.
        line_name: What it is.
    """
    if not any(dot.value is not None for dot in dots):
        return None
    if any(dot.is_grey for dot in dots):
        title += "; hollow dots are published figures"
    if len(dots) > MOST:
        title += f"; the first {MOST} of {len(dots)}"
    shown = dots[:MOST]
    return dots_html(Dots(title, shown, scale_of(shown), line, line_name))
