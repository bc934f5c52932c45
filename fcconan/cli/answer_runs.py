"""The run of a command that asks models: which stored answers it may use, and what it says about them."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from fcconan.models import Run

Fresh = Annotated[
    bool | None,
    typer.Option(
        "--fresh/--no-fresh",
        help="Ask everything again, and keep the older answers; --no-fresh gives up such a run that was interrupted.",
    ),
]
# Values that change neither what is asked nor of whom.
_ASIDE = frozenset(
    "out json_file report fresh run journal key_variable concurrency per_minute timeout retries prices max_cost "
    "dry_run device batch_size".split()
)


@contextmanager
def begun(command: str, values: Mapping[str, Any], fresh: bool | None, *, dry_run: bool = False) -> "Iterator[Run]":
    """Begins a run. Its fresh epoch ends if the command comes to its end, and is gone on with if it does not.

    Args:
        command: The name of the command.
        values: Its options. Those that only say how to ask or where to write do not tell runs apart.
        fresh: Whether everything is asked again.
        dry_run: Whether nothing is asked.
    """
    run = run_of(command, values, fresh)
    try:
        yield run
        if not dry_run:
            run.finish()
    finally:
        run.close()


def run_of(command: str, values: Mapping[str, Any], fresh: bool | None) -> "Run":
    """Returns the run of a command; see `begun`."""
    from fcconan.data import short_hash
    from fcconan.models import Run

    asked = {name: _plain(value) for name, value in values.items() if name not in _ASIDE}
    return Run(short_hash(json.dumps([command, asked], sort_keys=True, default=str)), fresh)


def report_answers(models: Iterable[Any], *, option: str = "--fresh") -> None:
    """Prints how many answers were stored ones and from when, and whether different models answered under one name.

    Args:
        models: Those that were asked.
        option: The option of the command that asks again.
    """
    from fcconan.models import origins_of

    for origins in {id(found): found for model in models if (found := origins_of(model)) is not None}.values():
        for name in origins.models:
            if (line := origins.stored(name, option=option)) is not None:
                print(line)
            if (change := origins.change(name, option=option)) is not None:
                print(f"fcconan: {change}", file=sys.stderr)


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.resolve())
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
