"""Tables of tests of differences between systems."""

from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import Any

from fcconan.data import counted
from fcconan.reporting.sections import interval, number
from fcconan.reporting.tables import MISSING, Table
from fcconan.scoring import PRIMARY

Row = Mapping[str, Any]
MOST = 15  # pairs that a terminal shows; of more, those of neighbours in the leaderboard


def difference_tables(
    result: Mapping[str, Any], *, every: bool = False, raters: Container[str] | None = None
) -> list[Table]:
    """Returns the tests of differences, a table for every family.

    Args:
        result: Result of `fcconan leaderboard` or `fcconan rank`.
        every: Whether the families of metrics and the exploratory families are shown, too, and all pairs of each.
        raters: Only differences by these raters; None for all.
    """
    judges = judging_raters(result.get("rows", ())) or [row["rater"] for row in result.get("rows", ())]
    tables = []
    for family in result.get("families", ()):
        rows = [row for row in result["comparisons"] if row["family"] == family["name"]]
        judged = rows[0]["rater"] is None or rows[0]["rater"] in judges
        is_first = family["name"].endswith(PRIMARY) and judged
        is_chosen = raters is None or rows[0]["rater"] is None or rows[0]["rater"] in raters
        if is_chosen and (every or is_first):
            tables.append(_differences(family, rows, [] if every else _order(result, rows[0])))
    return tables


def judging_raters(rows: Sequence[Row]) -> list[str]:
    """Returns the people and models of a leaderboard, and the metrics that rate the aspects of these.

    Args:
        rows: Rows of `fcconan leaderboard`.
    """
    shared = {row["aspect"] for row in rows if row["rater_kind"] != "metric"}
    found = [row["rater"] for row in rows if row["rater_kind"] != "metric" or row["aspect"] in shared]
    return list(dict.fromkeys(found))


def p_text(value: float | None) -> str:
    """Returns a p value as tables show it."""
    return "< 0.0001" if value is not None and value < 0.0001 else number(value, 4)


def family_text(n_tests: int, floor: float | None, correction: str) -> str:
    """Returns the size of a family, its correction, and the smallest corrected p, for titles of tables.

    Args:
        n_tests: Number of tests with a p value.
        floor: Smallest corrected p that can occur; None without such a bound.
        correction: Name of the correction.
    """
    smallest = "" if floor is None else f", smallest possible {floor:.2g}"
    return f"p corrected by {correction} for {counted(n_tests, 'test')}{smallest}"


def _order(result: Mapping[str, Any], test: Row) -> list[str]:
    """Returns the systems in the order of the column that was tested."""
    if test["rater"] is None:
        return [row["name"] for row in result["systems"]]
    column = (test["rater"], test["aspect"])
    return [row["system"] for row in result["rows"] if (row["rater"], row["aspect"]) == column]


def _differences(family: Row, rows: Sequence[Row], order: Sequence[str]) -> Table:
    aspects = list(dict.fromkeys(row["aspect"] for row in rows))
    lower = {row["aspect"] for row in rows if not row["higher_is_better"]}
    shown, only = rows, ""
    if order and len(rows) > MOST:
        neighbours = {frozenset(pair) for pair in pairwise(order)}
        shown = [row for row in rows if {row["a"], row["b"]} in neighbours]
        only = f"; neighbours only, {len(shown)} of {len(rows)}"
    named = {each: f"{each} (low is better)" if each in lower else each for each in aspects}
    cells = [
        [
            *([named[row["aspect"]]] if len(aspects) > 1 else []),
            row["a"],
            row["b"],
            number(row["difference"]) if row["reason"] is None else f"{MISSING} ({row['reason']})",
            interval(row["low"], row["high"]),
            p_text(row["p"]),
            p_text(row["p_corrected"]),
            str(row["n"]),
        ]
        for row in shown
    ]
    about = f": {named[aspects[0]]}" if len(aspects) == 1 else ""
    kind = family["name"].rpartition(", ")[2]
    by = "" if rows[0]["rater"] is None else f" by {rows[0]['rater']}"
    how = family_text(family["n_tests"], family["floor"], family["correction"])
    title = f"Differences between systems{by}{about} ({kind}; {how}{only})"
    columns = [*(["aspect"] if len(aspects) > 1 else []), "a", "b", "a - b", "interval", "p", "p corrected", "items"]
    return Table(title, columns, cells)
