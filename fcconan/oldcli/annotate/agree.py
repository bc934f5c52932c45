"""`fcconan annotate agree`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.RaterQualityResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import count_skipped_checks, main_quality_tables, quality_tables

    tables = quality_tables if verbose else main_quality_tables
    print_tables(tables(result.data, units=result.listed))
    if verbose:
        for check, reasons in count_skipped_checks(result.data["checks"]).items():
            typer.echo(f"Not checked: {check}: " + ", ".join(f"{reason} {n}" for reason, n in reasons.items()))
    for note in result.data["notes"]:
        typer.echo(note)


COMMAND = Command(
    name="agree",
    help="Measure the agreement of raters, and check each rater for drift, speed, constant answers and gold questions.",
    service="check_raters",
    example="fcconan annotate agree my-campaign --report agreement.html",
    show=_show,
    page="quality_page",
    detailed=True,
)
