"""The model of a fine-tuning: loading, adapters, batches, and the loss of reply tokens."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fcconan.errors import InputError
from fcconan.generation.finetuning.settings import FinetuningSettings
from fcconan.models import loading_errors, locate_model

if TYPE_CHECKING:
    import torch

IGNORED = -100  # labels without a loss
_EXTRA = "fine-tuning needs the extra: `pip install 'fcconan[finetune]'`"
# Modules that hold the projections of attention are called `attn`, `self_attn`, `attention`, `self_attention`.
_ATTENTION = re.compile(r"attn|attention", re.IGNORECASE)


class EncodedPair(NamedTuple):
    """A pair in tokens.

    Attributes:
        tokens: Tokens of prompt and reply, and the end token.
        prompt: Number of prompt tokens, which have no loss.
    """

    tokens: tuple[int, ...]
    prompt: int

    @property
    def reply(self) -> int:
        """The number of tokens with a loss."""
        return len(self.tokens) - self.prompt


class PretrainedModel:
    """A model to start from, found but not yet loaded.

    Args:
        model: A folder, or a name on the Hugging Face Hub.
        revision: The commit, tag or branch of a model on the Hub.

    Attributes:
        found: Where the model is loaded from.
        name: The folder's own name, or the name on the Hub.
        revision: The commit, of a model on the Hub.
        weights: The hash of a folder's files.

    Raises:
        InputError: The model is unknown, or it is an adapter.
    """

    def __init__(self, model: str, revision: str | None = None) -> None:
        self.found = found = locate_model(model, revision)
        if Path(found.path, "adapter_config.json").is_file():
            raise InputError(
                f"{model} holds an adapter: fine-tune the model that it belongs to, or merge the two first"
            )
        self.name, self.revision, self.weights = found.name, found.commit, found.hash
        # Adapters store the path of their base model, which must be valid in any working folder.
        self.source = found.path if found.commit else str(Path(found.path).resolve())

    def tokenizer(self) -> Any:
        """Returns the model's tokenizer.

        Raises:
            InputError: It cannot be loaded, or names no end of a text.
        """
        with loading_errors(self.name):
            from transformers import AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(self.source, revision=self.revision)
        if tokenizer.eos_token_id is None:
            raise InputError(
                f"the tokenizer of {self.name} has no end token (eos_token): give it one, or no reply ends"
            )
        return tokenizer

    def load(self, settings: FinetuningSettings, device: str) -> Any:
        """Returns the model, ready to be trained: for `lora` and `qlora` with new adapters.

        The first matrices are drawn with the seed.

        Raises:
            InputError: The model cannot be loaded or has no attention blocks, or the extra is missing.
        """
        import torch

        quantised = (
            {"quantization_config": four_bit_configuration(), "device_map": {"": device}}
            if settings.method == "qlora"
            else {}
        )
        with loading_errors(self.name):
            if settings.method != "full":
                import peft  # noqa: F401  # before the base is loaded, which takes minutes
            from transformers import AutoModelForCausalLM, set_seed
            from transformers.utils import logging

            logging.disable_progress_bar()
            # Full fine-tuning needs weights of 32 bits: small steps would be lost in 16.
            dtype = torch.float32 if settings.method == "full" else compute_dtype(settings, device)
            model = AutoModelForCausalLM.from_pretrained(self.source, revision=self.revision, dtype=dtype, **quantised)
            if not quantised:
                model.to(device)
        model.config.use_cache = False
        if settings.method == "full":
            return model
        set_seed(settings.seed)
        return self._with_adapters(model, settings)

    def _with_adapters(self, model: Any, settings: FinetuningSettings) -> Any:
        from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training

        if settings.method == "qlora":
            model = prepare_model_for_kbit_training(model)
        config = LoraConfig(
            r=settings.rank,
            lora_alpha=settings.alpha,
            lora_dropout=settings.dropout,
            bias="none",
            target_modules=attention_pattern(model, self.name),
            fan_in_fan_out=any(type(layer).__name__ == "Conv1D" for _, layer in attention_layers(model)),
            task_type="CAUSAL_LM",
            base_model_name_or_path=self.source,
            revision=self.revision,
        )
        return get_peft_model(model, config)


@contextmanager
def quiet_training() -> Iterator[None]:
    """Suppresses log messages and warnings of transformers during training."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.set_verbosity(before)


def choose_device(device: str | None) -> str:
    """Returns the training device: the given one, or else the first CUDA device, or else the CPU.

    Raises:
        InputError: The device is unknown.
    """
    try:
        import torch
    except ImportError as error:
        raise InputError(_EXTRA) from error
    cuda = torch.cuda.is_available()
    chosen = device or ("cuda" if cuda else "cpu")
    if chosen not in ("cpu", "cuda") or (chosen == "cuda" and not cuda):
        raise InputError(f"there is no device {chosen!r} to train on: give cpu{' or cuda' if cuda else ''}")
    return chosen


def compute_dtype(settings: FinetuningSettings, device: str) -> "torch.dtype":
    """Returns the dtype of the computation."""
    import torch

    if settings.dtype == "auto":
        return torch.bfloat16 if device == "cuda" and torch.cuda.is_bf16_supported() else torch.float32
    dtype: torch.dtype = getattr(torch, settings.dtype)
    return dtype


def check_four_bit(device: str) -> None:
    """Checks that a model can be loaded in 4 bit.

    Raises:
        InputError: The device is not CUDA, or bitsandbytes is not installed.
    """
    from importlib.util import find_spec

    if device != "cuda":
        raise InputError(
            f"method qlora holds the model in 4 bit, which needs a CUDA device, not {device}: take method lora (preset "
            "pairwise-lora)"
        )
    if find_spec("bitsandbytes") is None:
        raise InputError("method qlora needs bitsandbytes: `pip install bitsandbytes`, or take method lora")


def four_bit_configuration() -> Any:
    """Returns the configuration of a model in 4 bit: NF4, computed in bfloat16 (pairwise ranking, section 5.2).

    The constants of the blocks are not quantised in turn: the paper does not say that they were.
    """
    import torch
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=torch.bfloat16,
        bnb_4bit_use_double_quant=False,
    )


def attention_layers(model: Any) -> list[tuple[str, Any]]:
    """Returns names and layers of all linear projections of a model's attention blocks."""
    import torch
    from transformers.pytorch_utils import Conv1D

    return [
        (name, layer)
        for name, layer in model.named_modules()
        if isinstance(layer, torch.nn.Linear | Conv1D) and any(_ATTENTION.search(part) for part in name.split(".")[:-1])
    ]


def attention_pattern(model: Any, name: str) -> str:
    """Returns a regular expression for the names of `attention_layers`; block numbers become digits.

    Whole names: in GPT-2 a layer of the feed-forward blocks has the same last name.

    Raises:
        InputError: There are none.
    """
    found = [re.sub(r"(?<=\\\.)\d+(?=\\\.)", r"\\d+", re.escape(path)) for path, _ in attention_layers(model)]
    if not found:
        raise InputError(f"{name} has no attention blocks with linear layers: take method full")
    return "|".join(dict.fromkeys(found))


def pad_batch(pairs: Sequence[EncodedPair], padding: int) -> "dict[str, torch.Tensor]":
    """Returns a batch: tokens, mask and labels of shape (pairs, longest pair); labels only for the replies."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tokens = [torch.tensor(pair.tokens) for pair in pairs]
    labels = [each.clone() for each in tokens]
    for pair, each in zip(pairs, labels, strict=True):
        each[: pair.prompt] = IGNORED
    return {
        "input_ids": pad_sequence(tokens, batch_first=True, padding_value=padding),
        "attention_mask": pad_sequence([torch.ones_like(each) for each in tokens], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    }


def reply_loss(logits: "torch.Tensor", labels: "torch.Tensor") -> "torch.Tensor":
    """Returns the sum of the negative log likelihoods (in nats) of all tokens that have a label."""
    import torch

    return torch.nn.functional.cross_entropy(
        logits[:, :-1].float().flatten(0, 1),
        labels[:, 1:].flatten().to(logits.device),
        ignore_index=IGNORED,
        reduction="sum",
    )


def mean_loss(model: Any, pairs: Sequence[EncodedPair], *, batch_size: int, padding: int) -> float:
    """Returns the mean negative log likelihood of a reply token, in nats; its exponential is the perplexity.

    All tokens have the same weight. (The mean of batch means, which Trainer reports, depends on the batch size.)

    Args:
        model: Model of transformers or peft.
        pairs: The pairs.
        batch_size: Pairs that are computed together.
        padding: The token that fills up shorter pairs; it is masked.
    """
    import torch

    total, training = 0.0, model.training
    by_length = sorted(pairs, key=lambda pair: len(pair.tokens))
    model.eval()
    with torch.no_grad():
        for start in range(0, len(pairs), batch_size):
            batch = pad_batch(by_length[start : start + batch_size], padding)
            inputs = {name: values.to(model.device) for name, values in batch.items()}
            labels = inputs.pop("labels")
            total += float(reply_loss(model(**inputs).logits, labels))
    model.train(training)
    return total / sum(pair.reply for pair in pairs)
