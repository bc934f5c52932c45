"""`fcconan train-retriever`."""

from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli.options import seed_option

NAME = "train-retriever"
EXAMPLE = "Example: fcconan train-retriever data/fc-conan --out models/minilm-cn --epochs 1"


def run(
    dataset: Annotated[str, typer.Argument(help="A dataset with training pairs, such as fc-conan.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write the model to.")],
    model: Annotated[
        str, typer.Option("--model", help="minilm (packaged), a folder, or a name on the Hub, to start from.")
    ] = "minilm",
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Fixed number of epochs; by default cross-validation chooses it.")
    ] = None,
    max_epochs: Annotated[int, typer.Option("--max-epochs", help="The largest number that is tried.")] = 2,
    batch_size: Annotated[int, typer.Option("--batch-size", help="Pairs a batch.")] = 32,
    learning_rate: Annotated[float, typer.Option("--learning-rate", help="Peak of the schedule.")] = 2e-5,
    hard_negatives: Annotated[int, typer.Option("--hard-negatives", help="Hard negatives a pair.")] = 1,
    folds: Annotated[int, typer.Option("--folds", help="Folds of the cross-validation.")] = 3,
    seed: Annotated[int, seed_option("Of folds, batches and dropout.")] = 13,
    as_released: Annotated[
        bool, typer.Option("--as-released", help="Keep pairs of evaluated HS in other words, too.")
    ] = False,
    device: Annotated[str | None, typer.Option("--device", help="cpu, cuda, ...")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write what was done to this file.")] = None,
) -> None:
    """Fine-tune an encoder on the training pairs of a dataset; labels of its evaluation part are never read."""
    from fcconan.cli.output import check_json_target, print_table, tell_progress, write_json
    from fcconan.retrieval import Training, load_training, train_retriever
    from fcconan.services import built_folder

    check_json_target(json_file, out)
    how = Training(
        epochs=epochs,
        max_epochs=max_epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        hard_negatives=hard_negatives,
        folds=folds,
        seed=seed,
    )
    how.check()
    pairs, left_out = load_training(str(built_folder(dataset)), as_released=as_released)
    report = train_retriever(
        pairs,
        out,
        model=model,
        training=how,
        left_out=None if as_released else left_out,
        device=device,
        progress=tell_progress,
    )
    if json_file is not None:
        write_json(json_file, report)
    validation = report["cross_validation"]
    if validation:
        means = validation["mean_of_hit_rate_mrr_ndcg_map_at_10_by_epochs"]
        rows = [(number, f"{value:.4f}") for number, value in enumerate(means)]
        print_table("Cross-validation inside the training pairs", ("epochs", "mean of 4 metrics at 10"), rows)
    if left_out:
        typer.echo(
            f"{left_out} pairs of evaluated HS, in the same or other words, were left out (--as-released keeps them)."
        )
    typer.echo(f"{report['pairs']} pairs, {report['epochs']} epochs. Written to {out}. Benchmark it:")
    typer.echo(f"  fcconan bench {dataset} --encoder {out}")
