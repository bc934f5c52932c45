"""The output of commands that call models: dry runs, usage, stored answers, and the exit status."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from fcconan.data import failed as failure

if TYPE_CHECKING:
    from fcconan.services import ModelResult, Notices

FAILED = 1
_SENT = "model requests prompt_tokens completion_tokens requests_without_count from_store cost".split()


def figure(value: float | None) -> str:
    """Returns a number with three decimals; nothing for none."""
    return "" if value is None else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Returns an interval in brackets; nothing where there is none."""
    return "" if low is None else f"[{figure(low)}, {figure(high)}]"


def print_failed(requests: int) -> None:
    """Prints how many requests another run would repeat, if there are any."""
    if requests:
        print(f"{failure(requests)}: run the command again to ask for them anew")


def print_dry_run(rows: Sequence[Mapping[str, Any]], *, at_most: bool = False) -> None:
    """Prints the calls, tokens and cost of a dry run.

    Args:
        rows: One for each model or step.
        at_most: Whether the numbers are upper bounds.
    """
    from fcconan.cli.output import print_table

    names = list(dict.fromkeys(name for row in rows for name in row if row[name] is not None))
    cells = [["" if row.get(name) is None else row[name] for name in names] for row in rows]
    title = f"Requests{', at most' if at_most else ''} (nothing was sent)"
    print_table(title, [name.replace("_", " ") for name in names], cells)


def print_usage(used: Sequence[Mapping[str, Any]]) -> None:
    """Prints requests, tokens and cost of models at an endpoint, if there are any."""
    from fcconan.cli.output import print_table

    if used:
        shown = [name for name in _SENT if name != "cost" or used[0]["cost"] is not None]
        heads = [name.replace("_", " ") for name in shown]
        print_table("Requests of this run", heads, [[each[name] for name in shown] for each in used])


def print_stored_answers(notices: "Notices") -> None:
    """Prints how many answers were stored ones, and whether different models answered under one name."""
    for sentence in notices.stored:
        print(sentence)
    for sentence in notices.changed:
        print(f"fcconan: {sentence}", file=sys.stderr)


def finish(result: "ModelResult", verbose: bool) -> None:
    """Prints what follows the answer: notes, stored answers, problems; with `verbose`, also what was sent.

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
