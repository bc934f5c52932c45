"""`fcconan annotate adjudicate`."""

from typing import TYPE_CHECKING

import typer

from fcconan.cli.annotate.next_step import next_of
from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import AdjudicateResult


def _show(result: "AdjudicateResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table
    from fcconan.reporting import table_of

    if result.outcome is not None:
        rows = [row for row in result.rows() if verbose or row["units"]]
        columns = ("what", "which", "units")
        print_table(table_of(f"Final labels of {result.campaign}", rows, columns))
    for note in result.notes:
        typer.echo(note)


COMMAND = Command(
    name="adjudicate",
    help="Decide the final label of every unit by the votes, by rule or by a person; discard units without a label.",
    service="fcconan.services.adjudicate",
    example="fcconan annotate adjudicate my-campaign --export-conflicts conflicts.csv",
    show=_show,
    detailed=True,
    next_step=next_of,
)
