"""`fcconan evaluate-generators`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.model_output import print_dry_run
from fcconan.oldcli.output import print_table, print_tables, tell_progress


def _show(result: "services.GeneratorSuiteResult", verbose: bool) -> None:
    from fcconan.reporting import headline_tables, make_table

    if result.is_dry_run:
        if rows := result.rows():
            print_dry_run(rows)
        else:
            typer.echo("No model would get a request.")
        if not result.are_replies_written:
            typer.echo("Replies that are not written yet are counted at their longest.")
        return
    print_tables(headline_tables(result.out))
    steps = [row for row in result.rows() if verbose or row["status"] not in ("kept", "done")]
    if steps:
        title = f"Steps of {result.data['suite']}" + ("" if verbose else " that are not done")
        print_table(make_table(title, steps, ("step", "status", "problem")))
    missing = [f"{name} {number}" for name, number in result.data["missing"].items() if number]
    if missing:
        typer.echo("Without a value: " + ", ".join(missing))
    typer.echo(f"Report: {result.out / 'report.html'}")
    if not result.is_complete:
        raise typer.Exit(1)


COMMAND = Command(
    name="evaluate-generators",
    help="Compare systems by one suite file: replies, ratings, comparisons, rankings and a report.",
    example="fcconan evaluate-generators generation --out results",
    show=_show,
    detailed=True,
    keywords={"progress": tell_progress},
)
