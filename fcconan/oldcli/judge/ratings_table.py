"""Ratings of a judge as a table for people."""

from pathlib import Path
from typing import Any

from fcconan.oldcli.model_output import print_failed
from fcconan.oldcli.output import print_table


def print_ratings(result: dict[str, Any], out: Path) -> None:
    """Prints the counts as a table."""
    from fcconan.reporting import format_counts, make_table

    rows = result["rows"]
    columns: dict[str, Any] = {"rater": "rater", "aspect": "aspect", "n": "n"}
    if any("labels" in row for row in rows):
        columns["labels"] = lambda row: format_counts(row.get("labels", {}))
    else:
        columns["mean"] = "mean"
    columns["missing"] = lambda row: format_counts(row["missing"])
    if any(row["cited"] is not None for row in rows):
        columns["explanations that cite"] = "cited"
    print_table(make_table(f"Ratings in {out}", rows, columns))
    print_failed(result.get("failed_requests", 0))
