"""What came of rating, as a table for people."""

from pathlib import Path
from typing import Any

from fcconan.cli.model_output import figure, print_failed
from fcconan.cli.output import print_table


def print_ratings(result: dict[str, Any], out: Path) -> None:
    """Prints the counts as a table."""
    rows = []
    cites = any(row["cited"] is not None for row in result["rows"])
    given = "labels" if any("labels" in row for row in result["rows"]) else "mean"
    for row in result["rows"]:
        what = ", ".join(f"{name} {number}" for name, number in row["missing"].items())
        mean = ", ".join(f"{name} {number}" for name, number in row.get("labels", {}).items()) or figure(row["mean"])
        cited = [figure(row["cited"])] if cites else []
        rows.append((row["rater"], row["aspect"], row["n"], mean, what, *cited, row["n_suspicious"]))
    columns = ("rater", "aspect", "n", given, "missing", *(["explanations that cite"] if cites else []), "suspicious")
    print_table(f"Ratings in {out}", columns, rows)
    print_failed(result.get("failed_requests", 0))
