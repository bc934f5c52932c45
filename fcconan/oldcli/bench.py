"""`fcconan bench`."""

import sys

import typer

from fcconan import services
from fcconan.data import TRACEBACK
from fcconan.oldcli.command import Command
from fcconan.oldcli.output import tell_progress


def _show(result: "services.BenchResult", verbose: bool) -> None:
    from fcconan.oldcli.model_output import print_stored_answers, print_usage

    if result.is_dry_run:
        _show_dry_run(result)
        return
    print_benchmark(result, verbose)
    if result.report is not None:
        typer.echo(f"Report: {result.report / 'report.html'}")
    print_usage([row for row in result.used if row["requests"]])
    print_stored_answers(result.notices)
    for line in result.reused:
        typer.echo(line)
    for name, problem in result.data["problems"].items():
        hint = f" ({TRACEBACK})" if name in result.own else ""
        print(f"fcconan: system {name!r} {' '.join(problem.split())}{hint}", file=sys.stderr)
    if result.data["problems"]:
        raise typer.Exit(1)


def print_benchmark(result: "services.BenchResult", verbose: bool) -> None:
    """Prints the leaderboard, notes and signature of a benchmark.

    Args:
        result: The result.
        verbose: Whether all tables are printed.
    """
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import answer_tables, label_notes, terminal_tables

    answer = answer_tables(result.data)
    for table in [answer[0], *terminal_tables(result.data)] if verbose else answer:
        print_table(table)
    for note in [*label_notes(result.data), *result.data["notes"]]:
        typer.echo(f"- {note}")
    typer.echo(f"Signature: {result.signature}")


def _show_dry_run(result: "services.BenchResult") -> None:
    from fcconan.oldcli.model_output import print_dry_run

    if rows := result.rows():
        print_dry_run(rows, at_most=True)
    else:
        typer.echo("No system calls an endpoint: nothing would be sent.")
    for name in result.data["cached_runs"]:
        typer.echo(f"{name}: its run is in the cache, so that it requests nothing")
    if any(row["completion_tokens_at_most"] is None for row in rows):
        typer.echo("The length of responses is not limited, so that their cost is unknown: --max-cost limits it.")


COMMAND = Command(
    name="bench",
    help="Run retrieval systems on a dataset and score them, with intervals, tests and chance level.",
    example="fcconan bench demo-dataset --system tfidf --system bm25 --json results.json --report-folder report",
    show=_show,
    detailed=True,
    keywords={"progress": tell_progress},
)
