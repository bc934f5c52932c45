"""`fcconan judge train`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.progress import CountProgress


def _show(result: "services.TrainRaterResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import format_row_interval, make_table

    columns = {
        "aspect": "aspect",
        "Spearman": "value",
        "95% interval": format_row_interval,
        "replies": "n",
        "mean error": "mean_absolute_error",
        "half-width": "half_width",
        "coverage": "coverage",
    }
    print_table(make_table("Out-of-fold agreement with people", result.rows(), columns))
    for note in result.notes:
        typer.echo(note)
    typer.echo(f"Written to {result.folder}.")
    typer.echo(f"Rate with it: fcconan judge rate DATASET --model learned:{result.folder} --out RATINGS")


COMMAND = Command(
    name="train",
    help="Train a rater on people's ratings, with out-of-fold ratings of all training replies.",
    example="fcconan judge train data/cseval --split test --limit 1500 --out raters/cseval",
    show=_show,
    service="train_rater",
    keywords={"progress": CountProgress("fitting")},
)
