"""Tables of the effect of labels on a benchmark: all CNs and judged pairs side by side."""

from collections.abc import Mapping
from typing import Any

from fcconan.reporting.benchmark_names import CHANCE, Result, has, marked, metric_title, percent
from fcconan.reporting.tables import MISSING, Columns, DisplayTable, Rows, format_interval, format_number, make_table
from fcconan.retrieval import CHANCE_AUC, interval_ends, ranked_systems

DIGITS = 3  # so that a table with three intervals fits a screen
HS_AND_CNS = "over HS and CNs"


def shown_metric(result: Result) -> tuple[str, str]:
    """Returns metric and partition that are shown first: of the primary comparison if it names them.

    Otherwise, as under protocol `paper`, NDCG and the last partition.
    """
    metrics, partitions = result["settings"]["metrics"], list(result["partitions"])
    primary = result["settings"].get("primary", "")
    found = next(((one, part) for one in metrics for part in partitions if primary == f"{one}@{part}"), None)
    return found or (next((one for one in metrics if one.startswith("ndcg@")), metrics[0]), partitions[-1])


def side_by_side_table(result: Result, partition: str) -> DisplayTable | None:
    """Returns one metric over all CNs and over judged pairs only, with intervals, and the message AUC.

    Args:
        result: The benchmark's result.
        partition: The partition.

    Returns:
        A table without the columns for which no system has values; None if only the values over all CNs are there.
    """
    metric = shown_metric(result)[0]
    columns = {"all CNs": True, "all: over HS": True, f"all: {HS_AND_CNS}": has(result, "two_way_intervals")}
    columns |= dict.fromkeys(("judged only", "judged: over HS"), has(result, "judged_only"))
    auc = ("message AUC", f"AUC: {HS_AND_CNS}", "pairs (CNs)")
    columns |= dict.fromkeys(auc, has(result, "message_auc"))
    if not any(list(columns.values())[2:]):
        return None
    rows = []
    for name in ranked_systems(result):
        system = result["systems"][name]
        judged = system.get("judged_only", {}).get(partition, {}).get(metric)
        area = system.get("message_auc", {}).get(partition) or {}
        cells = (
            format_number(system["partitions"][partition][metric], DIGITS),
            format_interval(*interval_ends(system, partition, metric), DIGITS),
            _ends(system, "two_way_intervals", partition, metric),
            format_number(judged, DIGITS),
            _ends(system, "judged_only_intervals", partition, metric),
            format_number(area.get("value"), DIGITS),
            format_interval(area.get("low"), area.get("high"), DIGITS),
            f"{area['n_pairs']} ({area['n_cns']})" if area else MISSING,
        )
        rows.append([marked(result, name, counts=False), *cells])
    all_cns, judged = (
        format_number(result["chance"].get(key, {}).get(partition, {}).get(metric), DIGITS)
        for key in ("partitions", "judged_only")
    )
    rows.append(
        [CHANCE, all_cns, MISSING, MISSING, judged, MISSING, format_number(CHANCE_AUC, DIGITS), MISSING, MISSING]
    )
    title = f"{metric_title(metric)} on {partition}: all CNs and judged pairs only, with {percent(result)} intervals"
    return DisplayTable(title, ["system", *columns], rows).without(
        [name for name, there in columns.items() if not there]
    )


def _ends(system: Mapping[str, Any], key: str, partition: str, metric: str) -> str:
    low, high = system.get(key, {}).get(partition, {}).get(metric) or (None, None)
    return format_interval(low, high, DIGITS)


def comparison_columns(rows: Rows, digits: int = DIGITS) -> Columns:
    """Returns further columns of comparisons: the interval over HS and CNs, and the difference on judged pairs only.

    Args:
        rows: The comparisons; a column is there if one of them has its value.
        digits: Digits after the point.
    """
    columns: Columns = {}
    if any("two_way" in row for row in rows):
        columns[HS_AND_CNS] = lambda row: format_interval(*_two_way(row), digits)
    if any("judged_only" in row for row in rows):
        columns["a - b, judged only"] = lambda row: format_number(_judged(row, "difference"), digits)
        columns["interval, judged only"] = lambda row: format_interval(
            _judged(row, "low"), _judged(row, "high"), digits
        )
    return columns


def message_difference_table(result: Result) -> DisplayTable | None:
    """Returns differences of the message AUC between systems, on the partition of the primary comparison."""
    partition = shown_metric(result)[1]
    rows = [row for row in result.get("message_auc_differences", ()) if row["partition"] == partition]
    if not rows:
        return None
    title = f"Differences of message AUC on {partition}, with {percent(result)} intervals over HS and CNs"
    columns: Columns = {
        "a": "a",
        "b": "b",
        "a - b": lambda row: format_number(row["difference"], DIGITS),
        HS_AND_CNS: lambda row: format_interval(row["low"], row["high"], DIGITS),
    }
    return make_table(title, rows, columns)


COMPARISON_VALUES = ("two_way_low", "two_way_high", "judged_only", "judged_only_low", "judged_only_high")


def comparison_values(row: Mapping[str, Any]) -> list[float | None]:
    """Returns these values of a comparison as numbers, None where there is none: `COMPARISON_VALUES`."""
    return [*_two_way(row), *(_judged(row, key) for key in ("difference", "low", "high"))]


def _two_way(row: Mapping[str, Any]) -> tuple[float | None, float | None]:
    low, high = row.get("two_way") or (None, None)
    return low, high


def _judged(row: Mapping[str, Any], key: str) -> float | None:
    value: float | None = (row.get("judged_only") or {}).get(key)
    return value
