"""`fcconan judge rubric`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.model_output import with_dry_run


@with_dry_run
def _show(result: "services.RubricResult", verbose: bool) -> None:
    out = result.data["out"]
    typer.echo(f"{out}: edit it, then use it with `fcconan judge rate --task {out}`")


COMMAND = Command(
    name="rubric",
    help="Draft the grade descriptions of a new aspect with a model, for a person to edit.",
    service="draft_rubric",
    example=(
        "fcconan judge rubric empathy --definition 'how far the reply shows that it understands people' "
        "--model gpt-4o --out empathy.yaml"
    ),
    show=_show,
    detailed=True,
    protected=True,
)
