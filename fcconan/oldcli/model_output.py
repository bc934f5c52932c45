"""The output of commands that call models: dry runs, usage, stored answers, and the exit status."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from fcconan import services
from fcconan.data import describe_failures as failure

FAILED = 1
_SENT = "model requests prompt_tokens completion_tokens requests_without_count from_store cost".split()


def print_failed(requests: int) -> None:
    """Prints how many requests another run would repeat, if there are any."""
    if requests:
        print(f"{failure(requests)}: run the command again to repeat them")


def print_dry_run(rows: Sequence[Mapping[str, Any]], *, at_most: bool = False) -> None:
    """Prints the calls, tokens and cost of a dry run.

    Args:
        rows: One for each model or step.
        at_most: Whether the numbers are upper bounds.
    """
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    names = dict.fromkeys(name for row in rows for name in row if row[name] is not None)
    title = f"Requests{', at most' if at_most else ''} (nothing was sent)"
    all_rows = [{**dict.fromkeys(names), **row} for row in rows]
    print_table(make_table(title, all_rows, list(names)))


def print_usage(used: Sequence[Mapping[str, Any]]) -> None:
    """Prints requests, tokens and cost of models at an endpoint, if there are any."""
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    if used:
        names = [name for name in _SENT if name != "cost" or used[0]["cost"] is not None]
        print_table(make_table("Requests of this run", used, names))


def print_stored_answers(notices: "services.Notices") -> None:
    """Prints how many answers were stored ones, and whether different models answered under one name."""
    for sentence in notices.stored:
        print(sentence)
    for sentence in notices.changed:
        print(f"fcconan: {sentence}", file=sys.stderr)


def with_dry_run(show: Callable[[Any, bool], None]) -> Callable[[Any, bool], None]:
    """Returns a function that prints the result of a command that calls models, or of its dry run.

    Args:
        show: Function that prints the result of a command without `--dry-run`.
    """

    def print_result(result: "services.ModelResult", verbose: bool) -> None:
        if result.is_dry_run:
            print_dry_run(result.rows(), at_most=result.at_most)
        else:
            show(result, verbose)
        finish(result, verbose)

    return print_result


def finish(result: "services.ModelResult", verbose: bool) -> None:
    """Prints notes, stored answers and problems after the result; with `verbose`, also the sent requests.

    Raises:
        typer.Exit: Requests failed, so that another run is worth it, or there is no value.
    """
    for note in result.notes:
        print(note)
    if verbose:
        print_usage(result.data.get("used") or ())
    print_stored_answers(result.notices)
    for problem in result.problems:
        print(problem)
    if result.failed:
        raise typer.Exit(FAILED)
