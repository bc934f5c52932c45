"""`fcconan judge rubric`."""

from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli import models
from fcconan.cli.options import seed_option

NAME = "rubric"
EXAMPLE = (
    "Example: fcconan judge rubric empathy --definition 'how far the reply shows that it understands people' "
    "--model gpt-4o --out empathy.yaml"
)

SLOW = models.Connection(timeout=120.0, concurrency=1)  # all grades in one answer


@models.connected(without=("concurrency", "per_minute", "prices", "max_cost", "dry_run", "batch_size"))
def run(
    aspect: Annotated[str, typer.Argument(help="Name of the new aspect, such as empathy.")],
    definition: Annotated[str, typer.Option("--definition", help="What it measures.")],
    model: Annotated[str, typer.Option("--model", help=f"{models.MODEL_HELP}.")],
    out: Annotated[Path, typer.Option("--out", help="The task file to write (.yaml).")],
    title: Annotated[str | None, typer.Option("--title", help="As raters read it; default: the name.")] = None,
    low: Annotated[int, typer.Option("--low", min=-1000, max=1000, help="Lowest grade.")] = 1,
    high: Annotated[int, typer.Option("--high", min=-1000, max=1000, help="Highest grade.")] = 5,
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="A low grade is praise.")] = False,
    seed: Annotated[int, seed_option("Of sampling.")] = 0,
    connection: models.Connection = SLOW,
) -> None:
    """Draft the grade descriptions of a new aspect with a model, for a person to edit."""
    from fcconan.data import may_be_written, write_whole
    from fcconan.errors import InputError
    from fcconan.judging import draft_rubric, dump_task

    if out.suffix not in (".yaml", ".yml") or out.is_dir():
        raise InputError(f"{out} is no task file: expected a name that ends in .yaml")
    if out.exists():
        raise InputError(f"{out} is there already, and a person may have edited it: choose another --out")
    if not may_be_written(out):
        raise InputError(f"{out} cannot be written: choose another --out, in a folder that is there")
    connection.check_files({"--out": out}, names=[model])
    task = draft_rubric(
        connection.open(model),
        name=aspect,
        title=title or aspect.replace("_", " ").capitalize(),
        definition=definition,
        low=low,
        high=high,
        higher_is_better=not lower_is_better,
        seed=seed,
    )
    try:
        write_whole(out, f"# Drafted by {model}. Read every line before anyone rates by it.\n" + dump_task(task))
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror}): choose another --out") from error
    typer.echo(f"{out}: edit it, then use it with `fcconan judge rate --task {out}`")
