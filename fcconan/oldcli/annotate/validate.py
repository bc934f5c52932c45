"""`fcconan annotate validate`."""

from fcconan import services
from fcconan.oldcli.annotate.next_step import next_of
from fcconan.oldcli.command import Command

_AGREEMENT = ("a", "b", "coefficient", "value", "low", "high", "n", "n_items")
_VALIDATORS = ("rater", "agreed", "disagreed", "skipped", "missing", "outdated")


def _show(result: "services.ValidateResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import make_table

    validators = result.data["validators"]
    tables = [
        make_table(f"Validation of {result.campaign}", result.rows(), ("label", "state", "units", "share")),
        make_table("Validators", validators, _VALIDATORS),
    ]
    if verbose:
        tables.append(make_table("Agreement of validators", result.data["agreement"], _AGREEMENT))
    print_tables(tables, [*result.meanings, *result.data["notes"]])


COMMAND = Command(
    name="validate",
    help="Assign final labels to independent validators, and count the labels that they confirm.",
    example="fcconan annotate validate my-campaign --sample-size 4000 --overlap 2=0.1",
    show=_show,
    detailed=True,
    next_step=next_of,
)
