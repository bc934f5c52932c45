"""`fcconan annotate validate`."""

from fcconan import services
from fcconan.oldcli.annotate.next_step import next_of
from fcconan.oldcli.command import Command

_VALIDATORS = ("rater", "agreed", "disagreed", "skipped", "missing", "outdated")


def _show(result: "services.ValidateResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import agreement_tables, make_table

    validators = result.data["validators"]
    tables = [
        make_table(f"Validation of {result.campaign}", result.rows(), ("label", "state", "units", "share")),
        make_table("Validators", validators, _VALIDATORS),
    ]
    if verbose:
        tables += agreement_tables(result.data["agreement"], pairs=len(validators) > 2)
    print_tables(tables, [*result.meanings, *result.data["notes"]])


COMMAND = Command(
    name="validate",
    help="Assign final labels to independent validators, and count the labels that they confirm.",
    example="fcconan annotate validate my-campaign --sample-size 4000 --overlap 2=0.1",
    show=_show,
    detailed=True,
    next_step=next_of,
)
