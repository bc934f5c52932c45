"""Fine-tuning of a language model on pairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Gt, Lt

import fcconan
from fcconan.services.configuration import argument, names_by, option, output
from fcconan.services.options import LARGEST_SEED, ROWS, PartSelection
from fcconan.services.results import Result

if TYPE_CHECKING:
    from fcconan.generation import FinetuningData, FinetuningSettings

LARGEST_RATE = 1e30  # Adam divides the rate by small numbers, in 32 bits
# Field of the options -> setting of a preset that it overrides.
_SETTINGS = {
    "tuning": "method",
    "learning_rate": "learning_rates",
    "max_epochs": "epochs",
    "patience": "patience",
    "train_batch_size": "batch_size",
    "gradient_accumulation": "accumulation",
    "lora_rank": "rank",
    "lora_alpha": "alpha",
    "lora_dropout": "dropout",
    "lr_schedule": "schedule",
    "warmup_steps": "warmup_steps",
    "max_length": "max_length",
    "dtype": "dtype",
    "seed": "seed",
}


class FinetuneOptions(PartSelection):
    """How a model is fine-tuned; settings without a value are those of the preset."""

    base_model: str = option(help="Model from which training starts (folder or Hub name).", role="model")
    model_revision: str | None = option(
        None, help="Tag, branch or commit of the model on the Hub.", rare=True, metavar="NAME"
    )
    preset: str = option(
        "pairwise-lora",
        help="Named training settings: pairwise-lora, pairwise-qlora or dialogpt.",
        metavar="NAME",
        complete=names_by("fcconan.generation.preset_names"),
    )
    prompt: str = option(
        "brief",
        help="Prompt: a name of the catalogue or a prompt file.",
        metavar="NAME or FILE.yaml",
        role="read",
    )
    prompt_format: str | None = option(
        None,
        help="Chat format: a named format or a Jinja file; default: the chat template of the model.",
        rare=True,
        metavar="NAME or FILE.jinja",
        role="read",
    )
    tuning: Literal["lora", "qlora", "full"] | None = option(
        None, help="Weights that are trained; qlora needs CUDA.", rare=True
    )
    learning_rate: tuple[Annotated[float, Gt(0), Lt(LARGEST_RATE)], ...] = option(
        (),
        help="Learning rate to try; the one with the lowest validation perplexity is used.",
        rare=True,
        metavar="FLOAT",
    )
    max_epochs: int | None = option(None, help="Largest number of epochs.", ge=1, metavar="INTEGER")
    patience: int | None = option(
        None, help="Epochs without improvement after which training stops; 0 never stops early.", rare=True, ge=0
    )
    train_batch_size: int | None = option(None, help="Pairs in an optimiser step.", rare=True, ge=1)
    gradient_accumulation: int | None = option(
        None,
        help="Parts in which an optimiser step is computed to save memory.",
        rare=True,
        ge=1,
    )
    lora_rank: int | None = option(None, help="Rank of the LoRA matrices.", rare=True, ge=1)
    lora_alpha: int | None = option(None, help="Scaling factor of LoRA.", rare=True, ge=1)
    lora_dropout: float | None = option(None, help="Dropout before the LoRA matrices.", rare=True, ge=0, lt=1)
    lr_schedule: Literal["inverse_sqrt", "linear", "cosine", "constant", "constant_with_warmup"] | None = option(
        None, help="Schedule of the learning rate.", rare=True
    )
    warmup_steps: int | None = option(None, help="Steps in which the learning rate rises from 0.", rare=True, ge=0)
    max_length: int | None = option(
        None, help="Longest training pair in tokens; longer pairs are left out.", rare=True, ge=2
    )
    dtype: Literal["auto", "float32", "bfloat16"] | None = option(
        None, help="Floating-point type of the computation.", rare=True
    )
    seed: int | None = option(
        None, help="Seed of all random choices; default: that of the preset.", ge=0, le=LARGEST_SEED
    )
    validation: str = option(
        "0.1", help="Validation pairs: a share of the pairs, a split or a file.", metavar="SHARE, SPLIT or FILE"
    )
    evaluation: tuple[str, ...] = option(
        (),
        help="Evaluation data whose messages must not occur in training.",
        metavar="DATASET[:CONFIG[:SPLIT]]",
    )
    leave_out_evaluation: bool = option(
        False, help="Leave out training pairs with evaluation messages instead of stopping.", rare=True
    )
    drop_duplicates: bool = option(False, help="Keep one random pair for each message.", rare=True)
    split: str | None = option(
        None, help="Split of the dataset; default: train.", group=ROWS, rare=True, metavar="NAME"
    )
    device: str | None = option(None, help="Device, such as cpu or cuda.", rare=True, metavar="NAME")
    dry_run: bool = option(False, help="Count pairs, tokens and steps; train nothing.")


@dataclass(frozen=True, repr=False)
class FinetuneResult(Result):
    """The report of a training; its main table has one row for each learning rate.

    Attributes:
        out: The folder of the model.
        plan: Numbers of pairs, tokens and steps, and the origin of the pairs.
        is_done: Whether the folder holds the trained model; otherwise the result is that of a dry run.
        resumed: Whether an earlier run had finished this training.
    """

    out: Path
    plan: Mapping[str, Any]
    is_done: bool
    resumed: bool
    table: ClassVar[str] = "runs"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns the outcome of each learning rate; none after a dry run."""
        return super().rows() if self.is_done else []

    @property
    def signature(self) -> str:
        """The package version, the model, the training pairs and, after training, a digest of the training."""
        data = self.plan["data"]
        parts = [f"fcconan:{fcconan.__version__}", f"finetune:{self.plan['model']}", f"data:{data['sha256'][:12]}"]
        return "|".join([*parts, f"training:{self.data['training'][:12]}"] if self.is_done else parts)


def finetune(
    dataset: Annotated[
        Path | str,
        argument(
            "Training pairs: a folder that `fcconan build` wrote, a name of the catalogue or of the Hub, or a file of "
            "rows.",
            path=True,
            role="read",
        ),
    ],
    out: Annotated[Path | str, output("Folder to write; a run that was interrupted continues.")],
    options: FinetuneOptions,
    *,
    progress: Callable[[str], None] = lambda line: None,
) -> FinetuneResult:
    """Fine-tunes a model on pairs of hate speech and counter-narratives.

    Args:
        dataset: A folder, the name of a dataset, or a file of pairs.
        out: The folder of the new model: a new or empty folder, or one with an interrupted run of the same training.
        options: The options.
        progress: Function that receives notices during the training, such as a batch that did not fit the memory.

    Returns:
        The report, as in `training.json` of the folder. The main table has one row for each learning rate, with
        `validation_loss` (mean cross-entropy of a token, in nats), `perplexity`, `best_epoch` and the loss `curve`.
        After a dry run, it is empty, and `plan` has the numbers of pairs, tokens and optimiser steps.

    Raises:
        RefusedPairsError: Pairs are incomplete, or have messages of the evaluation data.
        InputError: The data, the model, the options or the folder cannot be used.

    Examples:
        >>> options = FinetuneOptions(base_model="path/to/model", learning_rate=(1e-4,), max_epochs=1)
        >>> finetune("pairs.jsonl", "models/tuned", options)  # doctest: +SKIP
        FinetuneResult(1 row, signature='fcconan:...|finetune:path/to/model|data:...|training:...')
    """
    from fcconan.generation import Finetuner, PretrainedModel, load_finetuning
    from fcconan.reporting import curve_plot

    given = {setting: getattr(options, name) for name, setting in _SETTINGS.items()}
    settings = load_finetuning(options.preset, **{name: value for name, value in given.items() if value != ()})
    lesson = _lesson(Path(dataset), settings, options)
    base = PretrainedModel(options.base_model.removeprefix("local:"), options.model_revision)
    finetuner = Finetuner(base, lesson, settings, device=options.device, plot=curve_plot)
    plan, folder = {**finetuner.plan(), "data": dict(lesson.notes)}, Path(out)
    if options.dry_run:
        return FinetuneResult({"dry_run": plan}, folder, plan, is_done=False, resumed=False)
    before = finetuner.finished(folder)
    return FinetuneResult(
        before or finetuner.run(folder, notify=progress), folder, plan, is_done=True, resumed=before is not None
    )


def _lesson(dataset: Path, settings: "FinetuningSettings", options: FinetuneOptions) -> "FinetuningData":
    """Reads the pairs and the evaluation data, and returns the pairs with their prompt."""
    from fcconan.generation import FinetuningData, load_generation_prompt, load_items, prepare_pairs
    from fcconan.models import load_format
    from fcconan.services.locations import built_folder, dataset_part

    items = {}
    for each in options.evaluation:
        part = dataset_part(each)
        items[each] = load_items(part.source, config=part.config, split=part.split)
    parts, notes = prepare_pairs(
        built_folder(dataset),
        config=options.subset,
        split=options.split,
        columns=options.rename,
        filter=options.filter,
        validation=options.validation,
        evaluation=items,
        leave_out_evaluation=options.leave_out_evaluation,
        drop_duplicates=options.drop_duplicates,
        seed=settings.seed,
    )
    template = None if options.prompt_format is None else load_format(options.prompt_format)
    return FinetuningData(load_generation_prompt(options.prompt), template, parts, notes)
