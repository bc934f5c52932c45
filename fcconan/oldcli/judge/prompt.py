"""`fcconan judge prompt`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.PromptResult", verbose: bool) -> None:
    typer.echo(result.text(), nl=False)


COMMAND = Command(
    name="prompt",
    help="Print the messages that a model will be sent, as a prompt file; several, with `---` between them.",
    service="show_prompt",
    example="fcconan judge prompt --task cseval --rating-method g-eval --aspect relevance",
    show=_show,
)
