"""Models behind text metrics: which one, how long a text it takes, and how texts become batches of tokens."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

from fcconan.errors import InputError
from fcconan.models import loading, locate_model
from fcconan.scoring.text.scores import signature

Kind = Literal["encoder", "sequence-to-sequence", "classifier"]

_OFFSET = (
    "roberta",
    "xlm-roberta",
    "camembert",
    "xlm-roberta-xl",
    "data2vec-text",
    "longformer",
    "mpnet",
    "roberta-prelayernorm",
)
_ENDLESS = 1_000_000  # tokenizers without a limit state a larger number
_UNUSED = ("pooler", "position_ids")  # weights that no metric reads


@dataclass(frozen=True)
class Encoded:
    """A text as tokens.

    Attributes:
        tokens: Their ids, those that the tokenizer adds included.
        truncated: The text was longer than the model takes; its end is missing.
    """

    tokens: list[int]
    truncated: bool


class ModelOptions(TypedDict, total=False):
    """Where a model comes from and runs, as `ScoringModel` takes it.

    Attributes:
        revision: The commit, tag or branch of a model on the Hub.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; by default an accelerator if there is one.
        max_length: Tokens of a text that are read; by default as many as the model takes.
    """

    revision: str | None
    device: str | None
    max_length: int | None


class ScoringModel:
    """A model on this machine, deterministic: in 32-bit floats and without dropout.

    Args:
        model: A folder, or a name on the Hugging Face Hub.
        kind: Kind of the model: `encoder` (any model with hidden states; of a sequence-to-sequence model its encoder),
            `sequence-to-sequence`, or `classifier` (of sequences).
        options: See `ModelOptions`.

    Attributes:
        name: The folder's own name, or the name on the Hub.
        limit: Tokens of a text that are read; None for a model that takes any number.

    Raises:
        InputError: The model is not there, cannot be loaded, is not of the needed kind, or takes fewer tokens.
    """

    def __init__(self, model: str | Path, kind: Kind, **options: Unpack[ModelOptions]) -> None:
        self._arguments = (model, kind, *options.items())
        source, commit, weights = locate_model(str(model), options.get("revision"))
        self.name = str(model) if commit else Path(source).resolve().name
        self._version = commit[:12] if commit else weights
        with loading(self.name):
            import torch
            from transformers import AutoConfig, AutoTokenizer
            from transformers.utils import logging

            logging.disable_progress_bar()
            self.config: Any = AutoConfig.from_pretrained(source, revision=commit)
            self.tokenizer: Any = AutoTokenizer.from_pretrained(source, revision=commit)
            found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
            self.device = torch.device(options.get("device") or str(found))
        if kind == "sequence-to-sequence" and not self.config.is_encoder_decoder:
            raise InputError(
                f"{self.name} is a {self.config.model_type} model without encoder and decoder: give a "
                "sequence-to-sequence model, such as a BART or T5"
            )
        self.model: Any = self._load(source, commit, kind)
        # Padding is masked, so any token will do.
        self.padding = int(self.tokenizer.pad_token_id or 0)
        self.limit = self._limit(options.get("max_length"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns how other processes load the model, each of them once."""
        return _loaded, self._arguments

    def _load(self, source: str, commit: str | None, kind: Kind) -> Any:
        import transformers

        makers = {
            "encoder": "AutoModel",
            "sequence-to-sequence": "AutoModelForSeq2SeqLM",
            "classifier": "AutoModelForSequenceClassification",
        }
        level = transformers.utils.logging.get_verbosity()
        transformers.utils.logging.set_verbosity_error()  # its warnings are errors below
        try:
            with loading(self.name):
                model, report = getattr(transformers, makers[kind]).from_pretrained(
                    source, revision=commit, dtype="float32", output_loading_info=True
                )
        finally:
            transformers.utils.logging.set_verbosity(level)
        missing = sorted(key for key in report["missing_keys"] if not any(part in key for part in _UNUSED))
        if missing:  # transformers would fill them with random numbers
            raise InputError(
                f"the weights of {self.name} lack {missing[0]} and {len(missing) - 1} more: give a model that was "
                f"trained as a {kind}"
            )
        if kind == "encoder" and self.config.is_encoder_decoder:
            model = model.get_encoder()
        with loading(self.name):
            return model.to(self.device).eval()

    def _limit(self, asked: int | None) -> int | None:
        text = self.config.get_text_config()
        positions = getattr(text, "max_position_embeddings", None)
        if positions is not None and text.model_type in _OFFSET:  # their positions begin after the padding token's id
            positions -= (text.pad_token_id or 0) + 1
        if asked is not None:
            if asked < 4:
                raise InputError(f"max_length is {asked}: give 4 tokens or more")
            if positions is not None and 0 < positions < asked:
                raise InputError(
                    f"{self.name} takes {positions} tokens, max_length is {asked}: give at most {positions}"
                )
            return asked
        stated = [self.tokenizer.model_max_length, positions]
        known = [int(number) for number in stated if number is not None and 0 < number < _ENDLESS]
        return min(known) if known else None

    def signature(self, name: str, **parts: object) -> str:
        """Returns a signature that names the model, its version and how much it reads."""
        from importlib.metadata import version

        return signature(
            name,
            model=self.name,
            weights=self._version,
            length=self.limit or "any",
            **parts,
            transformers=version("transformers"),
        )

    def encode(self, text: str) -> Encoded:
        """Returns the tokens of a text, truncated to the limit of the model."""
        tokens = self.tokenizer(text, add_special_tokens=True, verbose=False)["input_ids"]
        if self.limit is None or len(tokens) <= self.limit:
            return Encoded(list(tokens), False)
        cut = self.tokenizer(text, add_special_tokens=True, truncation=True, max_length=self.limit)["input_ids"]
        return Encoded(list(cut), True)

    def pad(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Returns tokens and mask as tensors of shape (rows, longest), padded on the right."""
        import torch

        width = max(len(row) for row in rows)
        tokens = torch.full((len(rows), width), self.padding)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for place, row in enumerate(rows):
            tokens[place, : len(row)] = torch.tensor(row, dtype=torch.long)
            mask[place, : len(row)] = 1
        return tokens.to(self.device), mask.to(self.device)

    def hidden_states(self, rows: Sequence[Sequence[int]], layer: int) -> tuple[Any, Any]:
        """Returns the outputs of a layer, shape (rows, longest, dimensions), and the mask."""
        tokens, mask = self.pad(rows)
        states = self.model(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
        return states[layer], mask

    def first_logits(self, rows: Sequence[Sequence[int]], start: Sequence[int]) -> Any:
        """Returns a sequence-to-sequence model's logits after its start token and `start`; shape (rows, vocabulary)."""
        import torch

        tokens, mask = self.pad(rows)
        begin = torch.tensor([[self.start, *start]], device=self.device).expand(len(rows), -1)
        return self.model(input_ids=tokens, attention_mask=mask, decoder_input_ids=begin).logits[:, -1]

    @property
    def start(self) -> int:
        """The token that the decoder of a sequence-to-sequence model starts with.

        Raises:
            InputError: The configuration names none.
        """
        found = self.config.decoder_start_token_id
        if found is None:
            found = self.model.generation_config.decoder_start_token_id
        if found is None:
            raise InputError(f"the configuration of {self.name} names no decoder_start_token_id: put it there")
        return int(found)

    def log_likelihoods(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Any:
        """Returns the mean log-likelihood of the tokens of every target given its source; shape (rows,)."""
        import torch

        tokens, mask = self.pad(sources)
        labels, there = self.pad(targets)
        begin = torch.cat([torch.full_like(labels[:, :1], self.start), labels[:, :-1]], dim=1)
        logits = self.model(input_ids=tokens, attention_mask=mask, decoder_input_ids=begin).logits
        # The logarithm of the softmax, without a second copy of all logits.
        chosen = logits.gather(2, labels.unsqueeze(2)).squeeze(2) - logits.logsumexp(dim=-1)
        return torch.where(there.bool(), chosen, 0.0).sum(dim=1) / there.sum(dim=1)


@cache
def _loaded(model: str | Path, kind: Kind, *options: tuple[str, Any]) -> ScoringModel:
    return ScoringModel(model, kind, **dict(options))


def truncated(texts: Sequence[Sequence[Encoded]]) -> frozenset[int]:
    """Returns the positions of units that the model does not read to the end, given the texts of each."""
    return frozenset(place for place, own in enumerate(texts) if any(text.truncated for text in own))


def batches(lengths: Sequence[int], batch_size: int, *, what: str, progress: bool | None) -> Iterator[list[int]]:
    """Yields positions of rows, longest first so that a batch that does not fit memory fails at once.

    Args:
        lengths: Tokens of every row.
        batch_size: Rows of a batch.
        what: Label of the progress bar.
        progress: Whether to show it; by default where standard error is a terminal.
    """
    from tqdm import tqdm

    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    shown = sys.stderr.isatty() if progress is None else progress
    with tqdm(total=len(order), desc=what, unit="text", disable=not shown, leave=False) as bar:
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            yield batch
            bar.update(len(batch))


@contextmanager
def reading(model: ScoringModel) -> Iterator[None]:
    """Runs a model without gradients.

    Raises:
        InputError: The memory does not suffice.
    """
    import torch

    try:
        with torch.inference_mode():
            yield
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"a batch of texts does not fit the memory of {model.device} with {model.name}: give a smaller batch size"
        ) from error
