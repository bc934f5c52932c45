"""`fcconan annotate validate`."""

from typing import TYPE_CHECKING

from fcconan.cli.annotate.next_step import next_of
from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import ValidateResult

_VALIDATORS = ("rater", "agreed", "disagreed", "skipped", "missing", "outdated")


def _show(result: "ValidateResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table, print_tables
    from fcconan.reporting import agreement_tables

    rows = [(row["label"], row["state"], row["units"], f"{row['share']:.3f}") for row in result.rows()]
    print_table(f"Validation of {result.campaign}", ("label", "state", "units", "share"), rows)
    validators = result.data["validators"]
    print_table("Validators", _VALIDATORS, [[row[name] for name in _VALIDATORS] for row in validators])
    tables = agreement_tables(result.data["agreement"], pairs=len(validators) > 2) if verbose else ()
    print_tables(tables, [*result.meanings, *result.data["notes"]])


COMMAND = Command(
    name="validate",
    help="Assign final labels to validators who had no part in them, and count the labels that they confirm.",
    service="fcconan.services.validate",
    example="fcconan annotate validate my-campaign --sample-size 4000 --overlap 2=0.1",
    show=_show,
    detailed=True,
    next_step=next_of,
)
