"""Rows of a benchmark's result: systems in order, intervals, and one row for every system, partition and metric."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any


def ranked_systems(result: Mapping[str, Any]) -> list[str]:
    """Returns the systems, best average first; equal ones by name."""
    systems = result["systems"]

    def place(name: str) -> tuple[bool, float, str]:
        average = systems[name]["summary"]["avg"]
        return average is None, -(average or 0.0), name

    return sorted(systems, key=place)


def ends_of(system: Mapping[str, Any], partition: str, metric: str) -> tuple[float | None, float | None]:
    """Returns the interval of a figure, None at both ends where there is none."""
    low, high = system.get("intervals", {}).get(partition, {}).get(metric) or (None, None)
    return (low, high) if low is not None and high is not None else (None, None)


COLUMNS = ("value", "low", "high", "unjudged_right", "failures_as_zero", "sd_over_seeds", "chance")


def score_rows(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields one row for every system, partition and metric; what is missing is None."""
    for name in ranked_systems(result):
        system = result["systems"][name]
        for partition, figures in system["partitions"].items():
            more = [system.get(key, {}).get(partition, {}) for key in ("unjudged_right", "failures_as_zero", "spread")]
            for metric in result["settings"]["metrics"]:
                values = (
                    figures[metric],
                    *ends_of(system, partition, metric),
                    *(one.get(metric) for one in more),
                    result["chance"]["partitions"][partition][metric],
                )
                yield {
                    "system": name,
                    "partition": partition,
                    "metric": metric,
                    **dict(zip(COLUMNS, values, strict=True)),
                    "n_queries": figures["n_queries"],
                    "n_failed": figures["n_failed"],
                }


def benchmark_csv(result: Mapping[str, Any]) -> str:
    """Returns the rows as CSV, with plain numbers; what is missing is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["system", "partition", "metric", *COLUMNS, "n_queries", "n_failed"])
    for row in score_rows(result):
        writer.writerow(["" if value is None else value for value in row.values()])
    return file.getvalue()


def leaderboard_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns average and primary metric of each system, with intervals; failed systems come last, without values."""
    primary = result["settings"]["primary"]
    columns = ["system", "average", "average_low", "average_high", primary, f"{primary}_low", f"{primary}_high"]
    rows = []
    for name in ranked_systems(result):
        system = result["systems"][name]
        low, high = system.get("summary_intervals", {}).get("avg") or (None, None)
        values = (name, system["summary"]["avg"], low, high, *_primary_values(result, system))
        rows.append({**dict(zip(columns, values, strict=True)), "n_failed": len(system.get("failures") or {})})
    without = dict.fromkeys(columns)
    failed = [{**without, "system": name, "n_failed": result["dataset"]["n_queries"]} for name in result["failed"]]
    return rows + sorted(failed, key=lambda row: str(row["system"]))


def primary_by_chance(result: Mapping[str, Any]) -> float | None:
    """Returns the primary metric of a random order; None for an average."""
    metric, partition = _split(result)
    found: float | None = result["chance"]["partitions"].get(partition, {}).get(metric)
    return found


def _primary_values(
    result: Mapping[str, Any], system: Mapping[str, Any]
) -> tuple[float | None, float | None, float | None]:
    metric, partition = _split(result)
    if metric in system["partitions"].get(partition, {}):
        return system["partitions"][partition][metric], *ends_of(system, partition, metric)
    # Protocol paper may declare an average: of the metrics of the summary, on one partition or on all.
    names = [partition] if partition in system["partitions"] else list(system["partitions"])
    values = [system["partitions"][name][each] for name in names for each in result["settings"]["summarised"]]
    return (None if None in values else sum(values) / len(values)), None, None


def _split(result: Mapping[str, Any]) -> tuple[str, str]:
    """Returns metric and partition of the primary comparison; both may hold an @."""
    primary: str = result["settings"]["primary"]
    names = [*result["partitions"], "all"]
    partition = max((name for name in names if primary.endswith(f"@{name}")), key=len)
    return primary.removesuffix(f"@{partition}"), partition
