"""Heat maps: tables whose cells hold the number, and a ground whose lightness and hue say the same.

The grounds stand in `heat.css`: ten steps to either side of a neutral one, equally far apart in OKLab, so that equal
differences look equal, and orange against blue, which people with any kind of colour blindness can tell apart. There is
one set for light pages and one for dark ones; the ink of the page is readable on all of them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fcconan.reporting.page import markup

if TYPE_CHECKING:
    from markupsafe import Markup

STEPS = 10
STYLE = "heat.css"
SCRIPT = "heat.js"


class HeatCell(NamedTuple):
    """A cell: what it says, what is to be said of it, and the class of its ground."""

    text: str
    about: str = ""
    ground: str = ""


class HeatMap(NamedTuple):
    """A heat map.

    Attributes:
        title: Its heading.
        corner: What the rows are.
        columns: Names of the columns.
        rows: Names of the rows, and a cell for every column.
        ends: What the lowest, the neutral and the highest ground stand for.
        choices: What tells it apart from the other maps of a group, such as level and coefficient.
    """

    title: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[HeatCell]]]
    ends: tuple[str, str, str]
    choices: Mapping[str, str]


EMPTY = HeatCell("", "nothing to compare", "none")


def ground(value: float, low: float = -1.0, high: float = 1.0) -> str:
    """Returns the class of the ground of a value: `low10` to `low1`, `mid`, `high1` to `high10`.

    Args:
        value: The value; beyond an end it has the ground of the end.
        low: What the last step on the low side stands for.
        high: What the last step on the high side stands for; the neutral ground is for the middle.
    """
    middle = (low + high) / 2
    # Half a step goes outwards: Python's own rounding would go to the even one.
    step = min(STEPS, math.floor(abs(value - middle) / (high - middle) * STEPS + 0.5))
    if step == 0:
        return "mid"
    return f"{'low' if value < middle else 'high'}{step}"


def heat_maps(maps: Sequence[HeatMap]) -> "Markup":
    """Returns heat maps as elements; of several, a script shows the one that its choices name.

    A page with them has `STYLE` among its styles, and `SCRIPT` among its scripts.
    """
    keys = list(maps[0].choices) if maps else []
    return markup("heat.html.jinja", maps=maps, keys=keys, steps=range(STEPS, 0, -1))
