"""How verbs of `fcconan judge` that ask models end: figures for people, a result for programs, and a status."""

from pathlib import Path
from typing import Any

import typer

from fcconan.data import failed as failure

FAILED = 1


def figure(value: float | None) -> str:
    """Returns a number with three decimals; nothing for none."""
    return "" if value is None else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Returns an interval in brackets; nothing where there is none."""
    return "" if low is None else f"[{figure(low)}, {figure(high)}]"


def print_failed(requests: int) -> None:
    """Says how many requests another run would send again, if there are any."""
    if requests:
        print(f"{failure(requests)}: run the command again to ask for them anew")


def finish(result: dict[str, Any], json_file: Path | None, *, failed: bool) -> None:
    """Writes the result of a run for programs.

    Raises:
        typer.Exit: Something failed, so that another run is worth it.
        InputError: The file cannot be written.
    """
    from fcconan.cli.output import write_json

    if json_file is not None:
        write_json(json_file, result)
    if failed:
        raise typer.Exit(FAILED)
