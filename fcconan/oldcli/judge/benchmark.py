"""`fcconan judge benchmark`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.progress import LineProgress


def _show(result: "services.JudgeBenchmarkResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import judge_tables

    typer.echo(result.data["banner"])
    print_tables(judge_tables(result.data, details=verbose), result.data["notes"])
    if result.report is not None:
        typer.echo(f"Report: {result.report / 'report.html'}")


COMMAND = Command(
    name="benchmark",
    help="Compare judges, metrics and learned raters with people, out of fold where they learn.",
    service="benchmark_judges",
    example="fcconan judge benchmark data/cseval --json judges.json --report-folder judges",
    show=_show,
    detailed=True,
    keywords={"progress": LineProgress()},
)
