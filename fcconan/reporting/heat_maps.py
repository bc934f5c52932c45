"""Heat maps of agreement and differences.

The background colours are in `heat.css`: ten steps to either side of a neutral one, equally far apart in OKLab, so that
equal differences look equal. Orange and blue are distinguishable with any kind of colour blindness. There is one set
for light pages and one for dark pages; text is readable on all of them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fcconan.reporting.benchmark_names import metric_title
from fcconan.reporting.elements import markup
from fcconan.reporting.tables import MISSING, Row, format_number, p_text
from fcconan.retrieval import ranked_systems
from fcconan.scoring import LEVEL, PRIMARY

if TYPE_CHECKING:
    from markupsafe import Markup

STEPS = 10


class HeatCell(NamedTuple):
    """A cell: its text, an explanation, and the class of its ground."""

    text: str
    about: str = ""
    ground: str = ""


class HeatMap(NamedTuple):
    """A heat map.

    Attributes:
        title: Its heading.
        corner: Name of the first column, such as `rater`.
        columns: Names of the columns.
        rows: Names of the rows, and a cell for every column.
        ends: The values of the lowest, the neutral and the highest ground.
        choices: The properties that distinguish the maps of a group, such as level and coefficient.
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
        low: The value of the last step on the low side.
        high: The value of the last step on the high side; the neutral ground is for the middle.
    """
    middle = (low + high) / 2
    # Half a step goes outwards: Python's own rounding would go to the even one.
    step = min(STEPS, math.floor(abs(value - middle) / (high - middle) * STEPS + 0.5))
    if step == 0:
        return "mid"
    return f"{'low' if value < middle else 'high'}{step}"


def heat_maps(maps: Sequence[HeatMap]) -> "Markup | None":
    """Returns heat maps as elements, None for no map; of several, a script shows the one that its choices name."""
    if not maps:
        return None
    return markup("heat.html.jinja", maps=maps, keys=list(maps[0].choices), steps=range(STEPS, 0, -1))


SIGNED = ("−1", "0", "1")
SHARES = ("0", "0.5", "1")


def words(name: str) -> str:
    """Returns the name of a level, a coefficient or a reason for people."""
    return name.replace("_", " ")


def _coefficient(row: Row, about: str, is_share: bool) -> HeatCell:
    if row["value"] is None:
        return HeatCell(f"{MISSING} {words(row['reason'])}", about, "none")
    return HeatCell(format_number(row["value"], 2), about, ground(row["value"], 0.0 if is_share else -1.0))


def _square(names: Sequence[str], cell: Callable[[str, str], HeatCell]) -> list[tuple[str, Sequence[HeatCell]]]:
    """Returns the rows of a map of names against the same names."""
    alone = {name: HeatCell(MISSING, f"{name} alone", "self") for name in names}
    return [(one, [alone[one] if one == other else cell(one, other) for other in names]) for one in names]


def difference_map(result: Row) -> HeatMap | None:
    """Returns the heat map of a benchmark's primary comparison; None without one.

    Args:
        result: The benchmark's result.
    """
    rows = [row for row in result["comparisons"] if row["family"] == PRIMARY]
    if not rows:
        return None
    limit = max((abs(row["difference"]) for row in rows if row["difference"] is not None), default=0.0) or 1.0
    tests = {(row["a"], row["b"]): row for row in rows}

    def cell(a: str, b: str) -> HeatCell:
        row = tests.get((a, b)) or tests.get((b, a))
        if row is None or row["difference"] is None:
            return EMPTY
        apart, p = row["difference"] if row["a"] == a else -row["difference"], row["p_corrected"]
        mark = "*" if p is not None and p < LEVEL else ""
        about = f"{a} minus {b}: {apart:+.4f}, p {p_text(p)} (corrected)"
        return HeatCell(f"{apart:+.3f}{mark}", about, ground(apart, -limit, limit))

    names = ranked_systems(result)
    metric, partition = metric_title(rows[0]["metric"]), rows[0]["partition"]
    title = f"Difference of {metric} on {partition}, row minus column; * is significant after correction"
    return HeatMap(title, "system", names, _square(names, cell), (f"−{limit:.3f}", "0", f"{limit:.3f}"), {})
