"""`fcconan annotate`: from two lists of texts to a graded, agreed, publishable dataset."""

from importlib import import_module
from pkgutil import iter_modules

import typer

NAME = "annotate"
app = typer.Typer(
    name=NAME,
    help="Run an annotation campaign: choose pairs, assign them, collect and check answers, grade and release.",
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in iter_modules(__path__):
    verb = import_module(f"{__name__}.{module.name}")
    app.command(name=verb.NAME, epilog=verb.EXAMPLE)(verb.run)
