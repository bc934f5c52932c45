"""The output of commands that ask language models: progress, dry runs, usage and stored answers."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from fcconan.services import Notices

_USAGE = "model requests prompt_tokens completion_tokens requests_without_count from_store cost".split()


def progress_bar(rows: Iterable[Any], number: int, work: str) -> Iterator[Any]:
    """Yields rows, and shows on a terminal how many of them are done."""
    from tqdm import tqdm

    yield from tqdm(rows, total=number, desc=work, disable=None, leave=False)


def print_dry_run(rows: Sequence[Mapping[str, Any]], *, at_most: bool = False) -> None:
    """Prints what models would be asked.

    Args:
        rows: One for each model or step.
        at_most: Whether the numbers are upper bounds.
    """
    from fcconan.cli.output import print_table

    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [["" if name in row and row[name] is None else row.get(name, "") for name in names] for row in rows]
    print_table(f"What would be asked{' at most' if at_most else ''} (nothing was sent)", names, cells)


def print_usage(used: Sequence[Mapping[str, Any]]) -> None:
    """Prints requests, tokens and cost of models at an endpoint, if there are any."""
    from fcconan.cli.output import print_table

    if used:
        shown = [name for name in _USAGE if name != "cost" or used[0]["cost"] is not None]
        print_table("What was sent in this run", shown, [[each[name] for name in shown] for each in used])


def print_stored_answers(answers: "Notices") -> None:
    """Prints how many answers were stored ones, and whether different models answered under one name."""
    for line in answers.stored:
        typer.echo(line)
    for line in answers.changed:
        print(f"fcconan: {line}", file=sys.stderr)
