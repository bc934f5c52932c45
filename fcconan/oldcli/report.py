"""`fcconan report`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.ReportResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    if verbose:
        print_table(make_table("Pages", result.rows(), ("page", "shows", "from")))
    for line in result.data["left_out"]:
        typer.echo(line)
    typer.echo(f"Open {result.index}")


COMMAND = Command(
    name="report",
    help="Write results as a folder of HTML pages that open without a server.",
    example="fcconan report results/ demo-dataset --out site",
    show=_show,
    detailed=True,
)
