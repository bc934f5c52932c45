"""`fcconan judge audit`."""

from fcconan import services
from fcconan.oldcli.command import Command

_NO_INTERVAL = {
    "one_unit": "none (one HS)",
    "no_spread": "none (all resamples are equal)",
    "biased": "none (the bootstrap is biased)",
}


def _show(result: "services.AuditResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import format_row_interval, make_table

    columns = {
        "rater": lambda row: row.get("rater") or None,
        "check": lambda row: row["check"] if row["failure"] is None else f"{row['check']}: {row['failure']}",
        "aspect": lambda row: row.get("aspect") or None,
        "value": "value",
        "interval": lambda row: _NO_INTERVAL.get(row["no_interval"]) or format_row_interval(row),
        "unbiased": "baseline",
        "n": "n",
        "note": lambda row: "; ".join(filter(None, (row["reason"], row["note"]))),
    }
    print_table(make_table(f"Audit, with {result.confidence:.0%} intervals", result.rows(), columns))


COMMAND = Command(
    name="audit",
    help="Find biases of a judge: length, position, refusals, own replies, compression of the scale, failures.",
    example="fcconan judge audit --ratings ratings.parquet --replies demo-dataset --json audit.json",
    show=_show,
)
