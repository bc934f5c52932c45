"""`fcconan train-retriever`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.output import tell_progress


def _show(result: "services.RetrieverTrainingResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    if verbose and result.rows():
        columns = {"epochs": "epochs", "mean of 4 metrics at 10": "mean_of_4_metrics_at_10"}
        print_table(make_table("Cross-validation inside the training pairs", result.rows(), columns))
    if result.left_out:
        typer.echo(
            f"{result.left_out} pairs of evaluated HS, in the same or other words, were left out (--keep-leakage keeps "
            "them)."
        )
    typer.echo(f"{result.data['pairs']} pairs, {result.data['epochs']} epochs. Written to {result.folder}.")
    typer.echo(f"Benchmark it: fcconan bench DATASET --encoder {result.folder}")


COMMAND = Command(
    name="train-retriever",
    help="Fine-tune an encoder on the training pairs of a dataset; labels of its evaluation part are never read.",
    example="fcconan train-retriever data/fc-conan --out models/minilm-cn --epochs 1",
    show=_show,
    detailed=True,
    keywords={"progress": tell_progress},
)
