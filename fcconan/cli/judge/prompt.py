"""`fcconan judge prompt`."""

from typing import TYPE_CHECKING

import typer

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import PromptResult


def _show(result: "PromptResult", verbose: bool) -> None:
    typer.echo(result.text(), nl=False)


COMMAND = Command(
    name="prompt",
    help="Print the messages that a model will be sent, as a prompt file; several, with `---` between them.",
    service="fcconan.services.show_prompt",
    example="fcconan judge prompt --task cseval --rating-method g-eval --aspect relevance",
    show=_show,
    renamed={"--fast": "--no-explain"},
)
