"""How a model is fine-tuned: the settings, and the named ones in `annotations/generation/finetuning.yaml`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any

from fcconan.data import YamlFile, content_folder
from fcconan.errors import InputError

METHODS = ("lora", "qlora", "full")
SCHEDULES = ("inverse_sqrt", "linear", "cosine", "constant", "constant_with_warmup")
DTYPES = ("auto", "float32", "bfloat16")
_FASTEST = 1e30  # Adam divides it by small numbers, in 32 bits


@dataclass(frozen=True)
class Finetuning:
    """How a model is fine-tuned.

    Attributes:
        method: `lora` trains low-rank matrices beside the attention blocks (Hu et al., 2021), `qlora` does so on a
            model in 4 bit (Dettmers et al., 2023), `full` trains all weights.
        learning_rates: Each is tried; the one with the lowest validation perplexity is taken.
        rank: Of the low-rank matrices.
        alpha: Their scaling factor, divided by the rank.
        dropout: Before them.
        schedule: Of the learning rate, as transformers names it.
        warmup_steps: Steps in which the learning rate rises from 0.
        batch_size: Pairs behind one step.
        accumulation: Parts in which a batch is computed; it divides the batch size.
        epochs: The largest number.
        patience: Epochs without a lower validation loss after which training ends; 0 trains all.
        max_length: The longest pair, prompt included, in tokens; longer ones are left out.
        max_grad_norm: Gradients are cut to this length; 0 leaves them.
        dtype: What is computed in; `auto` is bfloat16 on CUDA devices that have it, float32 elsewhere.
        seed: Of the order of pairs, of dropout, and of the first matrices.

    Raises:
        InputError: A setting is out of its range.
    """

    method: str = "lora"
    learning_rates: tuple[float, ...] = (1e-4,)
    rank: int = 16
    alpha: int = 16
    dropout: float = 0.05
    schedule: str = "inverse_sqrt"
    warmup_steps: int = 0
    batch_size: int = 32
    accumulation: int = 1
    epochs: int = 10
    patience: int = 3
    max_length: int = 512
    max_grad_norm: float = 1.0
    dtype: str = "auto"
    seed: int = 13

    def __post_init__(self) -> None:
        for name, chosen, known in (
            ("method", self.method, METHODS),
            ("schedule", self.schedule, SCHEDULES),
            ("dtype", self.dtype, DTYPES),
        ):
            if chosen not in known:
                raise InputError(f"the {name} is {chosen!r}: choose one of {', '.join(known)}")
        for name, least in (
            ("rank", 1),
            ("alpha", 1),
            ("warmup_steps", 0),
            ("batch_size", 1),
            ("accumulation", 1),
            ("epochs", 1),
            ("patience", 0),
            ("max_length", 2),
            ("max_grad_norm", 0),
            ("seed", 0),
        ):
            number = getattr(self, name)
            if not least <= number < inf:
                raise InputError(f"{name} is {number}: give {least} or more")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}: give a number from 0 and below 1")
        if not self.learning_rates or not all(0 < rate < _FASTEST for rate in self.learning_rates):
            raise InputError(f"the learning rates are {list(self.learning_rates)}: give one or more above 0")
        if len(set(self.learning_rates)) < len(self.learning_rates):
            raise InputError(f"the learning rates are {list(self.learning_rates)}: give each once")
        if self.batch_size % self.accumulation:
            raise InputError(
                f"a batch of {self.batch_size} pairs has no {self.accumulation} parts of one size: give an "
                "accumulation that divides it"
            )


def preset_names() -> list[str]:
    """Returns the names of the presets."""
    return [str(name) for name in _file().data]


def load_finetuning(name: str, **overrides: Any) -> Finetuning:
    """Returns a preset.

    Args:
        name: One of `preset_names`.
        overrides: Settings that differ from it; None leaves one as it is.

    Raises:
        InputError: There is no such preset, or a setting is out of its range.
    """
    file = _file()
    if name not in file.data:
        raise InputError(f"there is no preset {name!r}: choose one of {', '.join(preset_names())}")
    written = dict(file.data[name])
    unknown = sorted(written.keys() - {field.name for field in fields(Finetuning)})
    if unknown:
        raise InputError(f"{file.path}: the preset {name} has {unknown[0]!r}, which is no setting: take it out")
    return replace(made(written), **{key: _frozen(value) for key, value in overrides.items() if value is not None})


def made(written: dict[str, Any]) -> Finetuning:
    """Returns settings from what a file has of them."""
    return Finetuning(**{key: _frozen(value) for key, value in written.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _file() -> YamlFile:
    return YamlFile(content_folder() / "annotations" / "generation" / "finetuning.yaml", top="mapping")
