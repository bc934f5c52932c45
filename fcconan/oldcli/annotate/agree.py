"""`fcconan annotate agree`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.RaterQualityResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import main_quality_tables, quality_tables

    tables = quality_tables if verbose else main_quality_tables
    print_tables(tables(result.data, units=result.listed))
    for note in result.data["notes"]:
        typer.echo(note)


COMMAND = Command(
    name="agree",
    help="Measure the agreement of raters, and the gold accuracy and median time of each rater.",
    service="check_raters",
    example="fcconan annotate agree my-campaign --report agreement.html",
    show=_show,
    page="quality_page",
    detailed=True,
)
