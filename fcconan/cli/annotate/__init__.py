"""`fcconan annotate`: from two lists of texts to a graded, agreed, publishable dataset."""

import typer

from fcconan.cli.annotate import (
    adjudicate,
    agree,
    assign,
    export,
    import_,
    new,
    queue,
    raters,
    score,
    simulate,
    status,
    tier,
    validate,
)
from fcconan.cli.typer_command import Group

NAME = "annotate"
app = typer.Typer(
    name=NAME,
    cls=Group,
    help="Run an annotation campaign: choose pairs, assign them, collect and check answers, grade and release.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# In the order in which a campaign needs them.
for verb in (new, raters, assign, export, import_, agree, adjudicate, validate, tier, status, queue, simulate, score):
    verb.COMMAND.add_to(app)
