"""Training of retrievers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fcconan.services.configuration import Configuration, argument, option, output
from fcconan.services.locations import built_folder
from fcconan.services.options import LARGEST_SEED
from fcconan.services.results import Result


class RetrieverTrainingOptions(Configuration):
    """How an encoder is fine-tuned."""

    base_model: str = option(
        "minilm",
        help="Model from which training starts: minilm (packaged), a folder, or a name on the Hub.",
        metavar="MODEL",
    )
    epochs: int | None = option(None, help="Fixed number of epochs; default: chosen by cross-validation.", ge=0)
    max_epochs: int = option(2, help="Largest number of epochs.", ge=1)
    train_batch_size: int = option(32, help="Pairs in an optimiser step.", rare=True, ge=2)
    learning_rate: float = option(2e-5, help="Peak learning rate.", gt=0)
    hard_negatives: int = option(1, help="Hard negatives for each pair.", rare=True, ge=0)
    folds: int = option(3, help="Folds of the cross-validation.", rare=True, ge=2)
    seed: int = option(13, help="Seed of folds, batches and dropout.", ge=0, le=LARGEST_SEED)
    keep_leakage: bool = option(False, help="Keep training pairs whose HS paraphrases an evaluated HS.", rare=True)
    device: str | None = option(None, help="Device of local models, such as cpu or cuda.", metavar="NAME")


@dataclass(frozen=True, repr=False)
class RetrieverTrainingResult(Result):
    """A training run, as in `training.json` of the folder. The main table has the cross-validation.

    Attributes:
        folder: The folder of the model.
        left_out: Number of pairs that paraphrase an evaluated HS and were left out.
    """

    folder: Path
    left_out: int

    def rows(self) -> list[dict[str, Any]]:
        """Returns the mean of hit ratio, MRR, NDCG and MAP at 10 after each number of epochs; none if it was fixed."""
        validation = self.data["cross_validation"]
        means = validation["mean_of_hit_rate_mrr_ndcg_map_at_10_by_epochs"] if validation else []
        return [{"epochs": number, "mean_of_4_metrics_at_10": value} for number, value in enumerate(means)]

    @property
    def signature(self) -> str:
        """The package version, the model at the start, the pairs and the number of epochs."""
        data = self.data
        pairs = f"{data['pairs']}-{data['pairs_sha256'][:12]}"
        seed = data["settings"]["seed"]
        return (
            f"fcconan:{data['fcconan']}|model:{data['model']['name']}|pairs:{pairs}|epochs:{data['epochs']}|seed:{seed}"
        )


def train_retriever(
    dataset: Annotated[Path | str, argument("A dataset with training pairs, such as fc-conan.", role="read")],
    out: Annotated[Path | str, output("Folder to write the model to.")],
    options: RetrieverTrainingOptions = RetrieverTrainingOptions(),
    *,
    progress: Callable[[str], None] = lambda line: None,
) -> RetrieverTrainingResult:
    """Fine-tunes an encoder on the training pairs of a dataset; labels of its evaluation part are never read.

    Args:
        dataset: A folder or name of a dataset.
        out: The folder to write; it must be new or empty.
        options: The options.
        progress: Function that receives a line at each stage.

    Returns:
        The training report, as in `training.json` of the folder. The main table has the cross-validation: one row for
        each number of `epochs`, with the mean of hit rate, MRR, NDCG and MAP at 10 (`mean_of_4_metrics_at_10`, 0 to
        1). It is empty for a fixed number of epochs.

    Raises:
        InputError: The dataset has too few training pairs, the folder is not empty, or the model cannot be loaded.
    """
    from fcconan.retrieval import TrainingSettings, load_training, train_retriever as train

    named = {"epochs", "max_epochs", "learning_rate", "hard_negatives", "folds", "seed"}
    how = TrainingSettings(**options.model_dump(include=named), batch_size=options.train_batch_size)
    pairs, left_out = load_training(str(built_folder(dataset)), keep_leakage=options.keep_leakage)
    done = train(
        pairs,
        Path(out),
        model=options.base_model,
        training=how,
        left_out=None if options.keep_leakage else left_out,
        device=options.device,
        progress=progress,
    )
    return RetrieverTrainingResult(done, Path(out), left_out)
