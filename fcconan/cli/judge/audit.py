"""`fcconan judge audit`."""

from typing import TYPE_CHECKING

from fcconan.cli.command import Command
from fcconan.cli.model_output import figure, interval

if TYPE_CHECKING:
    from fcconan.services import AuditResult

_NO_INTERVAL = {"one_unit": "none: one HS", "no_spread": "none: no spread", "biased": "none: biased"}


def _show(result: "AuditResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table

    rows = [
        (
            row.get("rater") or "",
            row["check"] if row["failure"] is None else f"{row['check']}: {row['failure']}",
            row.get("aspect") or "",
            figure(row["value"]),
            _NO_INTERVAL.get(row["no_interval"]) or interval(row["low"], row["high"]),
            figure(row["baseline"]),
            row["n"],
            "; ".join(filter(None, (row["reason"], row["note"]))),
        )
        for row in result.rows()
    ]
    columns = ("rater", "check", "aspect", "value", f"{result.confidence:.0%} interval", "unbiased", "n", "note")
    print_table("Audit", columns, rows)


COMMAND = Command(
    name="audit",
    help="Find biases of a judge: length, position, refusals, own replies, compression of the scale, failures.",
    service="fcconan.services.audit",
    example="fcconan judge audit --ratings ratings.parquet --replies demo-dataset --json audit.json",
    show=_show,
)
