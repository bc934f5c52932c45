"""How commands of `fcconan judge` that ask models print their results, and their exit status."""

import sys
from typing import TYPE_CHECKING

import typer

from fcconan.data import failed as failure

if TYPE_CHECKING:
    from fcconan.services import ModelResult

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


def print_dry_run(result: "ModelResult") -> None:
    """Prints the calls, tokens and cost of a dry run."""
    from fcconan.cli.output import print_table

    rows = result.rows()
    most = " at most" if result.at_most else ""
    print_table(f"What would be asked{most} (nothing was sent)", list(rows[0]), [list(row.values()) for row in rows])


def finish(result: "ModelResult", verbose: bool) -> None:
    """Prints what follows the answer: notes, stored answers, problems; with `verbose`, also what was sent.

    Raises:
        typer.Exit: Requests failed, so that another run is worth it, or there is no value.
    """
    from fcconan.cli.output import print_table

    for note in result.notes:
        print(note)
    used = result.data["used"]
    if used and verbose:
        shown = [name for name in _SENT if name != "cost" or used[0]["cost"] is not None]
        print_table("What was sent in this run", shown, [[each[name] for name in shown] for each in used])
    for sentence in result.notices.stored:
        print(sentence)
    for sentence in result.notices.changed:
        print(f"fcconan: {sentence}", file=sys.stderr)
    for problem in result.problems:
        print(problem)
    if result.failed:
        raise typer.Exit(FAILED)
