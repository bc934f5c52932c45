"""`fcconan bench`."""

import sys
from typing import TYPE_CHECKING

import typer

from fcconan.cli.command import Command
from fcconan.cli.output import tell_progress
from fcconan.data import TRACEBACK

if TYPE_CHECKING:
    from fcconan.services import BenchResult

FAILED = 1
_SENT = "model requests prompt_tokens completion_tokens requests_without_count cost".split()


def _show(result: "BenchResult", verbose: bool) -> None:
    if result.is_dry_run:
        _show_dry_run(result)
        return
    print_benchmark(result, verbose)
    if result.report is not None:
        typer.echo(f"Report: {result.report / 'report.html'}")
    _show_requests(result)
    for name, problem in result.data["problems"].items():
        hint = f" ({TRACEBACK})" if name in result.own else ""
        print(f"fcconan: system {name!r} {' '.join(problem.split())}{hint}", file=sys.stderr)
    if result.data["problems"]:
        raise typer.Exit(FAILED)


def print_benchmark(result: "BenchResult", verbose: bool) -> None:
    """Prints the leaderboard, notes and signature of a benchmark.

    Args:
        result: The result.
        verbose: Whether all tables are printed.
    """
    from fcconan.cli.output import print_table
    from fcconan.reporting import leaderboard_table, terminal_tables

    for table in [leaderboard_table(result.data), *(terminal_tables(result.data) if verbose else ())]:
        print_table(*table)
    for note in result.data["notes"]:
        typer.echo(f"- {note}")
    typer.echo(f"Signature: {result.signature}")


def _show_requests(result: "BenchResult") -> None:
    """Prints what was requested in this run, and which responses came from the cache."""
    from fcconan.cli.output import print_table

    sent = [row for row in result.used if row["requests"]]
    if sent:
        columns = [name for name in _SENT if name != "cost" or sent[0]["cost"] is not None]
        print_table("Requests of this run", columns, [[row[name] for name in columns] for row in sent])
    for line in result.responses:
        typer.echo(line)
    for line in result.changes:
        print(f"fcconan: {line}", file=sys.stderr)


def _show_dry_run(result: "BenchResult") -> None:
    from fcconan.cli.output import print_table

    rows = result.rows()
    if rows:
        title = "Requests that would be sent, at most (nothing was sent)"
        print_table(title, list(rows[0]), [list(row.values()) for row in rows])
    else:
        typer.echo("No system calls an endpoint: nothing would be sent.")
    for name in result.data["cached_runs"]:
        typer.echo(f"{name}: its run is in the cache, so that it requests nothing")
    if any(row["completion_tokens_at_most"] is None for row in rows):
        typer.echo("The length of responses is not limited, so that their cost is unknown: --max-cost limits it.")


COMMAND = Command(
    name="bench",
    help="Run retrieval systems on a dataset and score them, with intervals, tests and chance level.",
    service="fcconan.services.bench",
    example="fcconan bench demo-dataset --system tfidf --system bm25 --json results.json --report-folder report",
    show=_show,
    detailed=True,
    keywords={"progress": tell_progress},
)
