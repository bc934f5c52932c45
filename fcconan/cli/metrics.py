"""`fcconan metrics`."""

from typing import TYPE_CHECKING

import typer

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import MetricsResult


def _show(result: "MetricsResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table
    from fcconan.reporting import metrics_tables

    for shown in metrics_tables(result.data, details=verbose):
        print_table(shown.title, shown.columns, shown.rows)
    for note in result.data["notes"]:
        typer.echo(note)
    typer.echo(f"Written: {result.data['out']}")


COMMAND = Command(
    name="metrics",
    help="Score replies by text metrics, as ratings that correlate and leaderboard read.",
    service="fcconan.services.metrics",
    example="fcconan metrics demo-dataset --metric rouge-l --metric bleu-4 --out scores.csv",
    show=_show,
    detailed=True,
    protected=True,
    renamed={"--train": "--novelty-against"},
)
