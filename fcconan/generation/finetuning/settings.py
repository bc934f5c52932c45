"""Settings of a fine-tuning, and the presets in `annotations/generation/finetuning.yaml`."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from fcconan.data import YamlFile, content_folder
from fcconan.errors import InputError

_Number = Annotated[int, Field(ge=1)]
_Rate = Annotated[float, Field(gt=0, lt=1e30)]  # Adam divides it by small numbers, in 32 bits


@dataclass(frozen=True, config={"extra": "forbid"})
class FinetuningSettings:
    """Settings of a fine-tuning.

    Attributes:
        method: `lora` trains low-rank matrices of the attention blocks (Hu et al., 2021), `qlora` does so on a model
            in 4 bit (Dettmers et al., 2023), `full` trains all weights.
        learning_rates: Learning rates to try; the one with the lowest validation perplexity is used.
        rank: Rank of the low-rank matrices.
        alpha: Scaling factor of the low-rank matrices, divided by the rank.
        dropout: Dropout before the low-rank matrices.
        schedule: Schedule of the learning rate, as named by transformers.
        warmup_steps: Number of steps in which the learning rate rises from 0.
        batch_size: Number of pairs in each step.
        accumulation: Number of parts in which a batch is computed; it divides the batch size.
        epochs: Maximum number of epochs.
        patience: Number of epochs without a lower validation loss after which training ends; 0 trains all epochs.
        max_length: Maximum length of a pair with its prompt, in tokens; longer pairs are left out.
        max_grad_norm: Maximum norm of gradients; 0 disables clipping.
        dtype: Dtype of the computation; `auto` is bfloat16 on CUDA devices that support it, else float32.
        seed: Seed of the order of pairs, of dropout, and of the initial matrices.

    Raises:
        ValidationError: A setting is out of its range; `load_finetuning` raises an `InputError` of one line instead.
    """

    method: Literal["lora", "qlora", "full"] = "lora"
    learning_rates: Annotated[tuple[_Rate, ...], Field(min_length=1)] = (1e-4,)
    rank: _Number = 16
    alpha: _Number = 16
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.05
    schedule: Literal["inverse_sqrt", "linear", "cosine", "constant", "constant_with_warmup"] = "inverse_sqrt"
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    batch_size: _Number = 32
    accumulation: _Number = 1
    epochs: _Number = 10
    patience: Annotated[int, Field(ge=0)] = 3
    max_length: Annotated[int, Field(ge=2)] = 512
    max_grad_norm: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    seed: Annotated[int, Field(ge=0)] = 13

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if len(set(self.learning_rates)) < len(self.learning_rates):
            raise ValueError(f"the learning rates are {list(self.learning_rates)}: give each once")
        if self.batch_size % self.accumulation:
            raise ValueError(
                f"a batch of {self.batch_size} pairs has no {self.accumulation} parts of one size: give an "
                "accumulation that divides it"
            )
        return self


def preset_names() -> list[str]:
    """Returns the names of the presets."""
    return [str(name) for name in _file().data]


def load_finetuning(name: str, **overrides: Any) -> FinetuningSettings:
    """Returns a preset.

    Args:
        name: One of `preset_names`.
        overrides: Settings that differ from it; None leaves one as it is.

    Raises:
        InputError: The preset is unknown, or a setting is out of its range.
    """
    file = _file()
    if name not in file.data:
        raise InputError(f"there is no preset {name!r}: choose one of {', '.join(preset_names())}")
    given = {key: value for key, value in overrides.items() if value is not None}
    try:
        return FinetuningSettings(**{**file.data[name], **given})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "settings"
        said = first["msg"].removeprefix("Value error, ")
        raise InputError(f"the preset {name} of {file.path}, with your options: {where}: {said}") from error


def _file() -> YamlFile:
    return YamlFile(content_folder() / "annotations" / "generation" / "finetuning.yaml", top="mapping")
