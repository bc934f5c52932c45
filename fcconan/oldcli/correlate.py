"""`fcconan correlate`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.CorrelateResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import correlation_tables

    print_tables(correlation_tables(result.data, details=verbose), result.data["notes"])
    if not verbose and (missing := sum(row["n"] for row in result.data.get("missing", ()))):
        typer.echo(f"Ratings without a value: {missing}; --verbose lists them.")


COMMAND = Command(
    name="correlate",
    help="Correlate models and metrics with people's ratings, pooled, per item and per system.",
    example="fcconan correlate demo-dataset demo-ratings.csv --json correlations.json",
    show=_show,
    page="correlation_page",
    detailed=True,
)
