"""Correlations with people as tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fcconan.data import count_noun
from fcconan.reporting.heat_maps import FIRST_COEFFICIENTS, FIRST_LEVELS, in_order, words
from fcconan.reporting.tables import (
    MISSING,
    Columns,
    DisplayTable,
    Row,
    Rows,
    format_number,
    make_table,
    p_text,
    reasoned,
    value_text,
)

P_VALUES: Columns = {"p": lambda row: p_text(row["p"]), "p corrected": lambda row: p_text(row["p_corrected"])}


def family_text(n_tests: int, floor: float | None, correction: str) -> str:
    """Returns the size of a family, its correction, and the smallest corrected p, for titles of tables.

    Args:
        n_tests: Number of tests with a p value.
        floor: Smallest corrected p that can occur; None without such a bound.
        correction: Name of the correction.
    """
    smallest = "" if floor is None else f", smallest possible {floor:.2g}"
    return f"p corrected by {correction} for {count_noun(n_tests, 'test')}{smallest}"


def _difference(row: Row) -> str:
    return reasoned(row["difference"], row["reason"])


# Coefficients of one kind share a table: accuracies know no constant groups.
KINDS = ("", "pairwise_accuracy")
COUNTS = {
    "rows": "n",
    "groups": "n_groups",
    "constant": "n_constant",
    "too few": "n_rows_too_few",
    "missing": "n_missing",
}


def correlation_tables(result: Mapping[str, Any], *, details: bool = True) -> list[DisplayTable]:
    """Returns the tables of correlations: judges by their mean over aspects, then all values, then further analyses.

    Args:
        result: Result of `fcconan correlate`.
        details: Whether each aspect and level has a table, best judge first, and ratings without a value are listed.
    """
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
    if tests := result.get("tests"):
        tables.append(_tests(tests, result.get("families", ())))
    if samples := result.get("stability"):
        names = ("metric", "aspect", "coefficient", "mean", "standard_deviation", "lowest", "highest")
        columns = {words(name): name for name in names} | {"samples": "n_trials"}
        tables.append(make_table("Over random samples of the replies", samples, columns))
    if details and (missing := result.get("missing")):
        columns = {"rater": "rater", "aspect": "aspect", "reason": "reason", "ratings": "n"}
        tables.append(make_table("Ratings without a value", missing, columns))
    return tables


def _kind(row: Mapping[str, Any]) -> str:
    name = str(row["coefficient"])
    return next((kind for kind in KINDS if kind and kind in name), KINDS[0])


def _correlations(aspect: str, level: str, rows: Rows) -> DisplayTable:
    names = list(dict.fromkeys(row["coefficient"] for row in rows))
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["metric"], {})[row["coefficient"]] = row
    order = next((name for name in names if name.startswith("spearman")), names[0])

    def place(metric: str) -> tuple[bool, float]:
        value = found[metric][order]["value"] if order in found[metric] else None
        return value is None, -(value or 0.0)

    columns, levels = ["metric"], []
    for name in names:
        columns.append(name)
        chances = {format_number(row["chance"]) for row in rows if row["coefficient"] == name}
        if len(chances) > 1:  # a metric's ties decide its accuracy by chance
            columns.append(f"chance of {name}")
        people = next(row["ceiling"] for row in rows if row["coefficient"] == name)
        chance = f"chance {chances.pop()}, " if len(chances) == 1 else ""
        levels.append(f"{name}: {chance}one person {format_number(people)}")
    cells = []
    for metric in sorted(found, key=place):
        own, line = found[metric], [metric]
        for name in names:
            line.append(value_text(own[name]) if name in own else MISSING)
            if f"chance of {name}" in columns:
                line.append(format_number(own[name]["chance"]) if name in own else MISSING)
        cells.append([*line, *(same_or_all([*own.values()], key) for key in COUNTS.values())])
    return DisplayTable(f"{aspect}, {level} ({'; '.join(levels)})", [*columns, *COUNTS], cells)


def _ndcg(protocol: str, rows: Rows) -> DisplayTable:
    own = [row for row in rows if row["protocol"] == protocol]
    columns: Columns = {"metric": "metric", "NDCG": value_text, "chance": "chance", "one person": "ceiling"}
    columns |= {"items": "n_groups", "incomplete": "n_incomplete", "missing": "n_missing"}
    if any(row["n_groups"] != row["n_groups_common"] for row in own):
        # Judges that lack different items are compared on those that none of them lacks.
        columns |= {"NDCG, common items": "value_common", "chance, common items": "chance_common"}
        columns["common items"] = "n_groups_common"
    by = "value_common" if any(row["value_common"] is not None for row in own) else "value"
    own.sort(key=lambda row: (row[by] is None, -(row[by] or 0.0)))
    return make_table(f"Order of the replies to an item, protocol {protocol}", own, columns)


def _tests(rows: Rows, families: Rows) -> DisplayTable:
    title = "Differences between metrics, by random swaps"
    if families:
        most = max(families, key=lambda family: int(family["n_tests"]))
        several = f"{len(families)} families, one by aspect, level and coefficient, the largest: "
        about = family_text(most["n_tests"], most["floor"], most["correction"])
        title += f" ({several if len(families) > 1 else ''}{about})"
    columns: Columns = {"metrics": lambda row: f"{row['a']} - {row['b']}", "aspect": "aspect"}
    columns |= {"level": "level", "coefficient": "coefficient", "difference": _difference, **P_VALUES, "rows": "n"}
    return make_table(title, rows, columns)


def judge_table(rows: Rows) -> DisplayTable | None:
    """Returns judges and metrics by the mean over aspects of their correlation with people; None if there are none.

    The correlation is Spearman's over all replies, or else the first other one. Signs stay: a metric of quality falls
    where people see a fault. A judge without a value for every aspect has no mean and comes last.
    """
    if not rows:
        return None
    level, coefficient = in_order(rows, "level", FIRST_LEVELS)[0], in_order(rows, "coefficient", FIRST_COEFFICIENTS)[0]
    own = {
        (row["metric"], row["aspect"]): row
        for row in rows
        if (row["level"], row["coefficient"]) == (level, coefficient)
    }
    aspects = list(dict.fromkeys(aspect for _, aspect in own))
    lines = []
    for metric in dict.fromkeys(metric for metric, _ in own):
        there = {aspect: own[metric, aspect] for aspect in aspects if (metric, aspect) in own}
        values = [row["value"] for row in there.values() if row["value"] is not None]
        mean = sum(values) / len(values) if len(values) == len(aspects) else None
        cells = [value_text(there[aspect]) if aspect in there else MISSING for aspect in aspects]
        counts = [_range([row[key] for row in there.values()]) for key in ("n", "n_missing")]
        lines.append((mean, [metric, format_number(mean), *cells, *counts]))
    lines.sort(key=lambda line: (line[0] is None, -(line[0] or 0.0)))
    table = [cells for _, cells in lines]
    for name, key in (("(chance)", "chance"), ("(one person)", "ceiling")):
        levels = [
            _range([row[key] for (_, of), row in own.items() if of == aspect], format_number) for aspect in aspects
        ]
        if set(levels) != {MISSING}:
            table.append([name, MISSING, *levels, MISSING, MISSING])
    title = f"Judges and metrics by their mean {words(coefficient)} with people ({words(level)})"
    return DisplayTable(title, ["judge or metric", "mean", *aspects, "rows", "missing"], table)


def _range(values: Sequence[Any], shown: Callable[[Any], str] = str) -> str:
    """Returns a value, or the lowest and the highest of several; missing ones only if there is no other."""
    there = [value for value in values if value is not None]
    if not there:
        return MISSING
    lowest, highest = shown(min(there)), shown(max(there))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def same_or_all(rows: Rows, key: str) -> str:
    """Returns a count of several rows: one if all are equal, otherwise all in their order."""
    counts = [MISSING if row[key] is None else str(row[key]) for row in rows]
    return counts[0] if len(set(counts)) == 1 else " / ".join(counts)
