"""`fcconan judge`: rate and compare replies with models, and see how far the judges can be trusted."""

import typer

from fcconan.cli.judge import audit, calibrate, compare, prompt, rate, rubric, show
from fcconan.cli.typer_command import Group

NAME = "judge"
app = typer.Typer(
    name=NAME,
    cls=Group,
    help="Rate and compare replies with language models, and audit the judges.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (rate, compare, calibrate, audit, prompt, show, rubric):
    verb.COMMAND.add_to(app)
