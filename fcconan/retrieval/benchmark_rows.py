"""Rows of a benchmark's result: systems in order, intervals, and one row for every system, partition and metric."""

import csv
import io
from collections.abc import Mapping
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


def benchmark_csv(result: Mapping[str, Any]) -> str:
    """Returns one row for every system, partition and metric, with plain numbers; what is missing is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    columns = ("value", "low", "high", "unjudged_right", "failures_as_zero", "sd_over_seeds", "chance")
    writer.writerow(["system", "partition", "metric", *columns, "n_queries", "n_failed"])
    for name in ranked_systems(result):
        system = result["systems"][name]
        for partition, figures in system["partitions"].items():
            more = [system.get(key, {}).get(partition, {}) for key in ("unjudged_right", "failures_as_zero", "spread")]
            for metric in result["settings"]["metrics"]:
                chance = result["chance"]["partitions"][partition][metric]
                values = (
                    figures[metric],
                    *ends_of(system, partition, metric),
                    *(one.get(metric) for one in more),
                    chance,
                )
                cells = ["" if value is None else repr(value) for value in values]
                writer.writerow([name, partition, metric, *cells, figures["n_queries"], figures["n_failed"]])
    return file.getvalue()
