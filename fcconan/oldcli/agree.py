"""`fcconan agree`."""

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.AgreeResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import agreement_notes, agreement_tables

    print_tables(agreement_tables(result.rows(), pairs=verbose), agreement_notes(result.data))


COMMAND = Command(
    name="agree",
    help="Measure how far raters agree: on ratings, on verdicts between replies, or on labels of pairs.",
    example="fcconan agree ratings.csv --json agreement.json",
    show=_show,
    page="agreement_page",
    detailed=True,
)
