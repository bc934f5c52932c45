"""What came of rating, as a table for people."""

from pathlib import Path
from typing import Any

from fcconan.cli.output import print_table
from fcconan.wording import failed


def print_ratings(result: dict[str, Any], out: Path) -> None:
    """Prints the counts as a table."""

    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    rows = []
    given = "labels" if any("labels" in row for row in result["rows"]) else "mean"
    for row in result["rows"]:
        what = ", ".join(f"{name} {number}" for name, number in row["missing"].items())
        mean = ", ".join(f"{name} {number}" for name, number in row.get("labels", {}).items()) or share(row["mean"])
        rows.append((row["rater"], row["aspect"], row["n"], mean, what, share(row["cited"]), row["n_suspicious"]))
    print_table(
        f"Ratings in {out}", ("rater", "aspect", "n", given, "missing", "explanations that cite", "suspicious"), rows
    )
    if result.get("failed_requests"):
        print(f"{failed(result['failed_requests'])}: run the command again to ask for them anew")
