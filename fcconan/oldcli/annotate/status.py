"""`fcconan annotate status`."""

import typer

from fcconan import services
from fcconan.oldcli.annotate.next_step import line_of
from fcconan.oldcli.command import Command

_RATERS = ("round", "rater", "state", "assigned", "returned", "skipped", "open", "imports")


def _show(result: "services.StatusResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    if rounds := result.rounds():
        print_table(make_table(f"Rounds of {result.campaign}, in units", rounds, list(rounds[0])))
    if rows := [row for row in result.rows() if verbose or row["open"]]:
        title = "Raters" if verbose else "Raters with open units"
        print_table(make_table(title, rows, _RATERS))
    units = result.data["units"]
    typer.echo(
        "Units: " + ", ".join(f"{number} {'in all' if name == 'all' else name}" for name, number in units.items())
    )
    typer.echo(line_of(result.data["next"]))


COMMAND = Command(
    name="status",
    help="Show the returned and open units of each rater, and the next command.",
    service="campaign_status",
    example="fcconan annotate status my-campaign",
    show=_show,
    detailed=True,
)
