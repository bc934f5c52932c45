"""`fcconan metrics`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.MetricsResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import metrics_tables

    print_tables(metrics_tables(result.data, details=verbose), result.data["notes"])
    typer.echo(f"Written: {result.data['out']}")


COMMAND = Command(
    name="metrics",
    help="Score replies by text metrics, as ratings that correlate and rank read.",
    example="fcconan metrics demo-dataset --metric rouge-l --metric bleu-4 --out scores.csv",
    show=_show,
    detailed=True,
    protected=True,
)
