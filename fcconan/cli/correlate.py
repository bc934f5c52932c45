"""`fcconan correlate`."""

from typing import TYPE_CHECKING

import typer

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import CorrelateResult


def _show(result: "CorrelateResult", verbose: bool) -> None:
    from fcconan.cli.output import print_tables
    from fcconan.reporting import correlation_tables

    print_tables(correlation_tables(result.data, details=verbose), result.data["notes"])
    if not verbose and (missing := sum(row["n"] for row in result.data.get("missing", ()))):
        typer.echo(f"Ratings without a value: {missing}; --verbose lists them.")


COMMAND = Command(
    name="correlate",
    help="Correlate models and metrics with people's ratings, pooled, per item and per system.",
    service="fcconan.services.correlate",
    example="fcconan correlate demo-dataset demo-ratings.csv --json correlations.json",
    show=_show,
    page="correlation_page",
    detailed=True,
)
