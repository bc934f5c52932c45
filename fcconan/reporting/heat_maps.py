"""Heat maps of correlations, agreement and tournaments, and the table of judges by their correlations.

The grounds stand in `heat.css`: ten steps to either side of a neutral one, equally far apart in OKLab, so that equal
differences look equal, and orange against blue, which people with any kind of colour blindness can tell apart. There is
one set for light pages and one for dark ones; the ink of the page is readable on all of them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fcconan.reporting.benchmark_tables import SIGNIFICANT, metric_title
from fcconan.reporting.elements import markup
from fcconan.reporting.sections import interval, number
from fcconan.reporting.tables import MISSING, Table, p_text
from fcconan.retrieval import ranked_systems
from fcconan.scoring import PRIMARY

if TYPE_CHECKING:
    from markupsafe import Markup

STEPS = 10


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
    """Returns heat maps as elements; of several, a script shows the one that its choices name."""
    keys = list(maps[0].choices) if maps else []
    return markup("heat.html.jinja", maps=maps, keys=keys, steps=range(STEPS, 0, -1))


Row = Mapping[str, Any]
SIGNED = ("−1", "0", "1")
SHARES = ("0%", "50%", "100%")
# What a leaderboard of judges goes by, the first that there is.
FIRST_LEVELS = ("pooled", "per_item", "per_system", "system_means")
FIRST_COEFFICIENTS = ("spearman", "kendall_b", "pearson")
ACCURACY = "pairwise_accuracy"


def correlation_maps(rows: Sequence[Row]) -> list[HeatMap]:
    """Returns a heat map of metrics against aspects for every level and coefficient, the one to show first first.

    Metrics stand by the mean of their values in the map. A figure that is undefined says why. Accuracies run from 0 to
    1; their neutral ground is a half.
    """
    aspects = list(dict.fromkeys(row["aspect"] for row in rows))
    maps = []
    for level in _in_order(rows, "level", FIRST_LEVELS):
        for coefficient in _in_order(rows, "coefficient", FIRST_COEFFICIENTS):
            own = {
                (row["metric"], row["aspect"]): row
                for row in rows
                if (row["level"], row["coefficient"]) == (level, coefficient)
            }
            if not own:
                continue
            accuracy = ACCURACY in coefficient
            maps.append(
                HeatMap(
                    f"{_words(coefficient)} with people, {_words(level)}",
                    "judge or metric",
                    aspects,
                    [
                        (metric, [_correlation(own.get((metric, aspect)), accuracy) for aspect in aspects])
                        for metric in _by_mean(own)
                    ],
                    ("0", "0.5", "1") if accuracy else SIGNED,
                    {"level": level, "coefficient": coefficient},
                )
            )
    return maps


def _in_order(rows: Sequence[Row], key: str, first: Sequence[str]) -> list[str]:
    there = dict.fromkeys(str(row[key]) for row in rows)
    return [name for name in first if name in there] + [name for name in there if name not in first]


def _words(name: str) -> str:
    return name.replace("_", " ")


def _by_mean(own: Mapping[tuple[str, str], Row]) -> list[str]:
    values: dict[str, list[float]] = {}
    for (metric, _), row in own.items():
        found = values.setdefault(metric, [])
        if row["value"] is not None:
            found.append(row["value"])
    return sorted(values, key=lambda name: (not values[name], -sum(values[name]) / (len(values[name]) or 1)))


def _correlation(row: Row | None, accuracy: bool) -> HeatCell:
    if row is None:
        return EMPTY
    about = f"{row['metric']}, {row['aspect']}: {_value(row)}, rows {row['n']}, missing {row['n_missing']}"
    if row["n_groups"] != 1:
        about += f", groups {row['n_groups']}, of these constant {row['n_constant']}"
    if row["value"] is None:
        return HeatCell(f"{MISSING} {_words(row['reason'])}", about, "none")
    return HeatCell(number(row["value"], 2), about, ground(row["value"], 0.0 if accuracy else -1.0))


def _value(row: Row) -> str:
    if row["value"] is None:
        return f"no value ({row['reason']})"
    return number(row["value"]) + ("" if row["low"] is None else f" {interval(row['low'], row['high'])}")


def judge_table(rows: Sequence[Row]) -> Table | None:
    """Returns judges and metrics by the mean over aspects of their correlation with people; None if there are none.

    The correlation is Spearman's over all replies, or else the first other one that there is. Signs stay: a metric of
    quality falls where people see a fault. A judge without a value for every aspect has no mean and stands last.
    """
    levels, coefficients = _in_order(rows, "level", FIRST_LEVELS), _in_order(rows, "coefficient", FIRST_COEFFICIENTS)
    if not rows:
        return None
    own = {
        (row["metric"], row["aspect"]): row
        for row in rows
        if (row["level"], row["coefficient"]) == (levels[0], coefficients[0])
    }
    aspects = list(dict.fromkeys(aspect for _, aspect in own))
    lines = []
    for metric in dict.fromkeys(metric for metric, _ in own):
        found = [own.get((metric, aspect)) for aspect in aspects]
        values = [row["value"] for row in found if row is not None and row["value"] is not None]
        mean = sum(values) / len(values) if len(values) == len(aspects) else None
        there = [row for row in found if row is not None]
        rated, missing = (_range([row[key] for row in there]) for key in ("n", "n_missing"))
        lines.append((mean, [metric, number(mean), *map(_cell, found), rated, missing]))
    lines.sort(key=lambda line: (line[0] is None, -(line[0] or 0.0)))
    cells = [cells for _, cells in lines]
    for title, key in (("(chance)", "chance"), ("(one person)", "ceiling")):
        said = [_range([row[key] for (_, of), row in own.items() if of == aspect], number) for aspect in aspects]
        if any(one != MISSING for one in said):
            cells.append([title, MISSING, *said, MISSING, MISSING])
    title = f"Judges and metrics by their mean {_words(coefficients[0])} with people ({_words(levels[0])})"
    return Table(title, ["judge or metric", "mean", *aspects, "rows", "missing"], cells)


def _cell(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return MISSING if row is None else f"{MISSING} ({row['reason']})"
    return _value(row)


def _range(values: Sequence[Any], shown: Callable[[Any], str] = str) -> str:
    """Returns a figure, or the lowest and the highest of several; missing ones only where there is no other."""
    there = [value for value in values if value is not None]
    if not there:
        return MISSING
    lowest, highest = shown(min(there)), shown(max(there))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def agreement_maps(rows: Sequence[Row]) -> list[HeatMap]:
    """Returns a heat map of raters against raters for every aspect and coefficient of which pairs have figures."""
    pairs = [row for row in rows if row["level"] == "pair"]
    maps = []
    for aspect in dict.fromkeys(row["aspect"] or "all" for row in pairs):
        for coefficient in dict.fromkeys(row["coefficient"] for row in pairs):
            own = {}
            for row in pairs:
                if ((row["aspect"] or "all"), row["coefficient"]) == (aspect, coefficient):
                    first, second = row["raters"]
                    own[first, second] = own[second, first] = row
            if not own:
                continue
            names = list(dict.fromkeys(name for pair in own for name in pair))
            raw = coefficient == "raw"
            maps.append(
                HeatMap(
                    f"{aspect}: {'share of equal ratings' if raw else _words(coefficient)} of each two raters",
                    "rater",
                    names,
                    [
                        (one, [_self(one) if one == other else _agreed(own.get((one, other)), raw) for other in names])
                        for one in names
                    ],
                    ("0", "0.5", "1") if raw else SIGNED,
                    {"aspect": aspect, "coefficient": coefficient},
                )
            )
    return maps


def _self(name: str) -> HeatCell:
    return HeatCell(MISSING, f"{name} alone", "self")


def _agreed(row: Row | None, raw: bool) -> HeatCell:
    if row is None:
        return EMPTY
    about = f"{' and '.join(row['raters'])}: {_value(row)}, rated by both {row['n']}"
    if row["value"] is None:
        return HeatCell(f"{MISSING} {_words(row['reason'])}", about, "none")
    return HeatCell(number(row["value"], 2), about, ground(row["value"], 0.0 if raw else -1.0))


def win_map(result: Row) -> HeatMap:
    """Returns the heat map of a tournament: the share of points that the row won against the column, in percent.

    Args:
        result: What `fcconan.scoring.tournament.ranking.rank_systems` returned; a tie is half a win.
    """
    matrix = result["win_matrix"]
    names = [row["name"] for row in result["systems"]]
    place = {name: index for index, name in enumerate(matrix["systems"])}
    rows = []
    for one in names:
        cells = []
        for other in names:
            a, b = place[one], place[other]
            wins, losses, ties = matrix["wins"][a][b], matrix["wins"][b][a], matrix["ties"][a][b]
            n = wins + losses + ties
            if one == other:
                cells.append(_self(one))
            elif not n:
                cells.append(HeatCell(f"{MISSING} never met", f"{one} and {other} were never compared", "none"))
            else:
                share = 100 * (wins + ties / 2) / n
                about = f"{one} against {other}: {wins} won, {losses} lost, {ties} ties"
                cells.append(HeatCell(f"{share:.1f}", about, ground(share, 0.0, 100.0)))
        rows.append((one, cells))
    return HeatMap("Points won by the row against the column, in percent", "system", names, rows, SHARES, {})


def difference_map(result: Row) -> HeatMap | None:
    """Returns the heat map of a benchmark's primary comparison; None without one.

    Args:
        result: The benchmark's result.
    """
    rows = [row for row in result["comparisons"] if row["family"] == PRIMARY]
    if not rows:
        return None
    names = ranked_systems(result)
    limit = max((abs(row["difference"]) for row in rows if row["difference"] is not None), default=0.0) or 1.0
    cells = {}
    for row in rows:
        for a, b, sign in ((row["a"], row["b"], 1), (row["b"], row["a"], -1)):
            if row["difference"] is None:
                cells[a, b] = EMPTY
                continue
            apart, p = sign * row["difference"], row["p_corrected"]
            mark = "*" if p is not None and p < SIGNIFICANT else ""
            about = f"{a} minus {b}: {apart:+.4f}, p {p_text(p)} (corrected)"
            cells[a, b] = HeatCell(f"{apart:+.3f}{mark}", about, ground(apart, -limit, limit))
    metric, partition = metric_title(rows[0]["metric"]), rows[0]["partition"]
    title = f"Difference of {metric} on {partition}, row minus column; * is significant after correction"
    shown = [(a, [_self(a) if a == b else cells.get((a, b), EMPTY) for b in names]) for a in names]
    return HeatMap(title, "system", names, shown, (f"−{limit:.3f}", "0", f"{limit:.3f}"), {})
