"""Correlations with people as tables."""

from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import Any

from fcconan.data import counted
from fcconan.reporting.sections import interval, number
from fcconan.reporting.tables import MISSING, Table, p_text
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


Rows = Sequence[Mapping[str, Any]]
# Coefficients of one kind share a table: accuracies know no constant groups, partial ones need larger groups.
KINDS = ("", "pairwise_accuracy", "_given_length")
COUNTS = {
    "rows": "n",
    "groups": "n_groups",
    "constant": "n_constant",
    "too few": "n_rows_too_few",
    "missing": "n_missing",
}


def correlation_tables(result: Mapping[str, Any], *, details: bool = True) -> list[Table]:
    """Returns the tables of correlations: judges by their mean over aspects, then all values, then what was added.

    Args:
        result: Result of `fcconan correlate`.
        details: Whether each aspect and level has a table, best judge first, and ratings without a value are listed.
    """
    from fcconan.reporting.heat_maps import judge_table

    rows: Rows = result["rows"]
    board = judge_table(rows)
    tables = [] if board is None else [board]
    for aspect in dict.fromkeys(row["aspect"] for row in rows) if details else ():
        for level in dict.fromkeys(row["level"] for row in rows):
            here = [row for row in rows if (row["aspect"], row["level"]) == (aspect, level)]
            kinds = [[row for row in here if _kind(row) == kind] for kind in KINDS]
            tables += [_correlations(aspect, level, own) for own in kinds if own]
    if ndcg := result.get("ndcg"):
        tables += [_ndcg(protocol, ndcg) for protocol in dict.fromkeys(row["protocol"] for row in ndcg)]
    if errors := result.get("errors"):
        tables.append(_errors(errors))
    if tests := result.get("tests"):
        tables.append(_tests(tests, result.get("families", ())))
    if samples := result.get("stability"):
        columns = ["metric", "aspect", "coefficient", "mean", "standard deviation", "lowest", "highest", "samples"]
        cells = [
            [
                row["metric"],
                row["aspect"],
                row["coefficient"],
                *(number(row[key]) for key in ("mean", "standard_deviation", "lowest", "highest")),
                str(row["n_trials"]),
            ]
            for row in samples
        ]
        tables.append(Table("Over random samples of the replies", columns, cells))
    if details and (missing := result.get("missing")):
        cells = [[row["rater"], row["aspect"], row["reason"], str(row["n"])] for row in missing]
        tables.append(Table("Ratings without a value", ["rater", "aspect", "reason", "ratings"], cells))
    return tables


def _kind(row: Mapping[str, Any]) -> str:
    name = str(row["coefficient"])
    return next((kind for kind in KINDS if kind and kind in name), KINDS[0])


def _correlations(aspect: str, level: str, rows: Rows) -> Table:
    names = list(dict.fromkeys(row["coefficient"] for row in rows))
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["metric"], {})[row["coefficient"]] = row
    order = next((name for name in names if name.startswith("spearman")), names[0])

    def place(metric: str) -> tuple[bool, float]:
        value = found[metric][order]["value"] if order in found[metric] else None
        return value is None, -(value or 0.0)

    columns, beside = ["metric"], []
    for name in names:
        columns.append(name)
        chances = {number(row["chance"]) for row in rows if row["coefficient"] == name}
        if len(chances) > 1:  # a metric's ties decide its accuracy by chance
            columns.append(f"chance of {name}")
        people = next(row["ceiling"] for row in rows if row["coefficient"] == name)
        chance = f"chance {chances.pop()}, " if len(chances) == 1 else ""
        beside.append(f"{name}: {chance}one person {number(people)}")
    cells = []
    for metric in sorted(found, key=place):
        own, line = found[metric], [metric]
        for name in names:
            line.append(value_text(own[name]) if name in own else MISSING)
            if f"chance of {name}" in columns:
                line.append(number(own[name]["chance"]) if name in own else MISSING)
        cells.append([*line, *(counts_text([*own.values()], key) for key in COUNTS.values())])
    return Table(f"{aspect}, {level} ({'; '.join(beside)})", [*columns, *COUNTS], cells)


def value_text(row: Mapping[str, Any]) -> str:
    """Returns a figure with its interval as tables show it, or why there is none."""
    if row["value"] is None:
        return f"{MISSING} ({row['reason']})"
    return number(row["value"]) + ("" if row["low"] is None else " " + interval(row["low"], row["high"]))


def _ndcg(protocol: str, rows: Rows) -> Table:
    own = [row for row in rows if row["protocol"] == protocol]
    columns = ["metric", "NDCG", "chance", "one person", "items", "incomplete", "missing"]
    apart = any(row["n_groups"] != row["n_groups_common"] for row in own)
    if apart:  # judges that lack different items are compared on those that none of them lacks
        columns += ["NDCG, common items", "chance, common items", "common items"]
    by = "value_common" if any(row["value_common"] is not None for row in own) else "value"
    cells = [
        [
            row["metric"],
            value_text(row),
            number(row["chance"]),
            number(row["ceiling"]),
            *(str(row[key]) for key in ("n_groups", "n_incomplete", "n_missing")),
            *(
                [number(row["value_common"]), number(row["chance_common"]), str(row["n_groups_common"])]
                if apart
                else []
            ),
        ]
        for row in sorted(own, key=lambda row: (row[by] is None, -(row[by] or 0.0)))
    ]
    return Table(f"Order of the replies to an item, protocol {protocol}", columns, cells)


def _errors(rows: Rows) -> Table:
    columns = ["metric", "aspect", "system", "mean absolute error", "chance", "one person", "bias", "rows", "missing"]
    cells = [
        [
            row["metric"],
            row["aspect"],
            row["system"] or "all",
            _with_ends(row, "mean_absolute_error"),
            number(row["chance"]),
            number(row["ceiling"]),
            _with_ends(row, "bias"),
            str(row["n"]),
            str(row["n_missing"]),
        ]
        for row in rows
    ]
    return Table("Errors against people", columns, cells)


def _with_ends(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return number(row[name]) + ("" if low is None else " " + interval(low, high))


def _tests(rows: Rows, families: Rows) -> Table:
    columns = ["metrics", "aspect", "level", "coefficient", "difference", "p", "p corrected", "rows"]
    cells = [
        [
            f"{row['a']} - {row['b']}",
            row["aspect"],
            row["level"],
            row["coefficient"],
            number(row["difference"]) if row["reason"] is None else f"{MISSING} ({row['reason']})",
            p_text(row["p"]),
            p_text(row["p_corrected"]),
            str(row["n"]),
        ]
        for row in rows
    ]
    how = "Williams' test" if rows[0]["test"] == "williams" else "random swaps"
    title = f"Differences between metrics, by {how}"
    if families:
        most = max(families, key=lambda family: int(family["n_tests"]))
        several = f"{len(families)} families, one by aspect, level and coefficient, the largest: "
        about = family_text(most["n_tests"], most["floor"], most["correction"])
        title += f" ({several if len(families) > 1 else ''}{about})"
    return Table(title, columns, cells)


def counts_text(rows: Rows, key: str) -> str:
    """Returns a count of several rows: one where all are equal, otherwise all in their order."""
    figures = [str(row[key]) for row in rows]
    return figures[0] if len(set(figures)) == 1 else " / ".join(figures)
