"""Heat maps of correlations, agreement, tournaments and differences.

The background colours are in `heat.css`: ten steps to either side of a neutral one, equally far apart in OKLab, so that
equal differences look equal. Orange and blue are distinguishable with any kind of colour blindness. There is one set
for light pages and one for dark pages; text is readable on all of them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from fcconan.building import group_values
from fcconan.reporting.elements import markup
from fcconan.reporting.tables import MISSING, Row, Rows, format_number, value_text

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
# The level and the coefficient that come first, as far as there are any.
FIRST_LEVELS = ("pooled", "per_item", "per_system", "system_means")
FIRST_COEFFICIENTS = ("spearman", "kendall_b", "pearson")
ACCURACY = "pairwise_accuracy"


def correlation_maps(rows: Rows) -> list[HeatMap]:
    """Returns a heat map of metrics against aspects for every level and coefficient, the main one first.

    Metrics are in the order of the mean of their values in the map. Accuracies run from 0 to 1; their neutral ground is
    a half.
    """
    aspects = list(dict.fromkeys(row["aspect"] for row in rows))
    found = group_values(((row["level"], row["coefficient"]), row) for row in rows)
    order = product(in_order(rows, "level", FIRST_LEVELS), in_order(rows, "coefficient", FIRST_COEFFICIENTS))
    maps = []
    for level, coefficient in (each for each in order if each in found):
        own = {(row["metric"], row["aspect"]): row for row in found[level, coefficient]}
        is_share = ACCURACY in coefficient
        lines = [
            (metric, [_correlation(own.get((metric, aspect)), is_share) for aspect in aspects])
            for metric in _by_mean([*own.values()])
        ]
        title = f"{words(coefficient)} with people, {words(level)}"
        choices = {"level": level, "coefficient": coefficient}
        maps.append(HeatMap(title, "judge or metric", aspects, lines, SHARES if is_share else SIGNED, choices))
    return maps


def in_order(rows: Rows, key: str, first: Sequence[str]) -> list[str]:
    """Returns the distinct values of a column, some of them first."""
    there = dict.fromkeys(str(row[key]) for row in rows)
    return [name for name in first if name in there] + [name for name in there if name not in first]


def words(name: str) -> str:
    """Returns the name of a level, a coefficient or a reason for people."""
    return name.replace("_", " ")


def _by_mean(rows: Rows) -> list[str]:
    values = {
        metric: [row["value"] for row in own if row["value"] is not None]
        for metric, own in group_values((row["metric"], row) for row in rows).items()
    }
    return sorted(values, key=lambda name: (not values[name], -sum(values[name]) / (len(values[name]) or 1)))


def _correlation(row: Row | None, is_share: bool) -> HeatCell:
    if row is None:
        return EMPTY
    about = f"{row['metric']}, {row['aspect']}: {value_text(row)}, rows {row['n']}, missing {row['n_missing']}"
    if row["n_groups"] != 1:
        about += f", groups {row['n_groups']}, of these constant {row['n_constant']}"
    return _coefficient(row, about, is_share)


def _coefficient(row: Row, about: str, is_share: bool) -> HeatCell:
    if row["value"] is None:
        return HeatCell(f"{MISSING} {words(row['reason'])}", about, "none")
    return HeatCell(format_number(row["value"], 2), about, ground(row["value"], 0.0 if is_share else -1.0))


def _square(names: Sequence[str], cell: Callable[[str, str], HeatCell]) -> list[tuple[str, Sequence[HeatCell]]]:
    """Returns the rows of a map of names against the same names."""
    alone = {name: HeatCell(MISSING, f"{name} alone", "self") for name in names}
    return [(one, [alone[one] if one == other else cell(one, other) for other in names]) for one in names]


def agreement_maps(rows: Rows) -> list[HeatMap]:
    """Returns a heat map of raters against raters for every aspect and coefficient with values for pairs."""
    maps: dict[tuple[str, str], dict[tuple[str, str], Row]] = {}
    for row in rows:
        if row["level"] == "pair":
            first, second = row["raters"]
            own = maps.setdefault((row["aspect"] or "all", row["coefficient"]), {})
            own[first, second] = own[second, first] = row
    return [_agreement_map(aspect, coefficient, own) for (aspect, coefficient), own in maps.items()]


def _agreement_map(aspect: str, coefficient: str, own: Mapping[tuple[str, str], Row]) -> HeatMap:
    is_share = coefficient == "raw"

    def cell(one: str, other: str) -> HeatCell:
        if (row := own.get((one, other))) is None:
            return EMPTY
        about = f"{' and '.join(row['raters'])}: {value_text(row)}, rated by both {row['n']}"
        return _coefficient(row, about, is_share)

    names = list(dict.fromkeys(name for pair in own for name in pair))
    title = f"{aspect}: {'share of equal ratings' if is_share else words(coefficient)} of each two raters"
    choices = {"aspect": aspect, "coefficient": coefficient}
    return HeatMap(title, "rater", names, _square(names, cell), SHARES if is_share else SIGNED, choices)
