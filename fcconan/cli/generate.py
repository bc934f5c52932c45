"""`fcconan generate`."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fcconan.cli.command import Command
from fcconan.cli.model_output import print_failed, with_dry_run
from fcconan.cli.progress import CountProgress

if TYPE_CHECKING:
    from fcconan.services import GenerateResult


@with_dry_run
def _show(result: "GenerateResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table
    from fcconan.generation import COUNTED, counts_of
    from fcconan.reporting import Table

    data = result.data
    rows = [list(map(str, row)) for row in counts_of(data)]
    print_table(Table(f"Replies in {result.out}", list(COUNTED), rows))
    if picked := data.get("picked"):
        typer.echo(
            f"Messages whose reply {picked['by']} chose: {picked['judged']}; without a rated candidate, so that a draw "
            f"decided: {picked['unjudged']}; with one candidate, or only equal ones: {picked['alike']}"
        )
    print_failed(data.get("failed_requests", 0))
    if verbose:
        typer.echo(f"How they were made: {data['card']}")


def _card_of(out: Path) -> dict[str, Path]:
    from fcconan.generation import card_path

    return {"--out (its card)": card_path(out)}


def _is_output(out: Path, options: object) -> bool:
    """Returns whether an existing file is an output of this command, which has a card, or is empty."""
    return out.is_dir() or not out.stat().st_size or all(card.is_file() for card in _card_of(out).values())


COMMAND = Command(
    name="generate",
    help="Reply to every message of a dataset by a model, from a catalogue, or with replies that were made elsewhere.",
    service="fcconan.services.generate",
    example="fcconan generate demo-dataset --model local:models/my-chat-model --examples 3 --out replies.parquet",
    show=_show,
    detailed=True,
    protected=True,
    resumes=_is_output,
    companions=_card_of,
    removed={"--system": "--system-name NAME, or --filter system=NAME with --replies"},
    keywords={"progress": CountProgress("generating")},
)
