"""Models of text metrics: loading, maximum lengths, and batches of tokens."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from fcconan.errors import InputError
from fcconan.models import loading_errors, locate_model
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
_NO_LIMIT = 1_000_000  # tokenizers without a limit state a larger number
_UNUSED = ("pooler", "position_ids")  # weights that no metric reads


@dataclass(frozen=True)
class Encoded:
    """A text as tokens.

    Attributes:
        tokens: Ids of the tokens, including those that the tokenizer adds.
        truncated: Whether the text was truncated to the limit of the model.
    """

    tokens: list[int]
    truncated: bool


class ScoringModel:
    """A model that runs on this machine, with 32-bit floats and without dropout.

    Args:
        model: Folder, or name on the Hugging Face Hub.
        kind: Kind of the model: `encoder` (any model with hidden states; of a sequence-to-sequence model its encoder),
            `sequence-to-sequence`, or `classifier` (of sequences).
        device: `cpu`, `cuda`, `cuda:1` or `mps`; by default an accelerator if there is one.

    Attributes:
        name: Name of the folder, or name on the Hub.
        limit: Largest number of tokens of a text; None without a limit.

    Raises:
        InputError: The model is not found, cannot be loaded, or is of another kind.
    """

    def __init__(self, model: str | Path, kind: Kind, device: str | None = None) -> None:
        self._arguments = (model, kind, device)
        source, commit, weights = locate_model(str(model), None)
        self.name = str(model) if commit else Path(source).resolve().name
        self._version = commit[:12] if commit else weights
        with loading_errors(self.name):
            import torch
            from transformers import AutoConfig, AutoTokenizer
            from transformers.utils import logging

            logging.disable_progress_bar()
            self.config: Any = AutoConfig.from_pretrained(source, revision=commit)
            self.tokenizer: Any = AutoTokenizer.from_pretrained(source, revision=commit)
            found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
            self.device = torch.device(device or str(found))
        if kind == "sequence-to-sequence" and not self.config.is_encoder_decoder:
            raise InputError(
                f"{self.name} is a {self.config.model_type} model without encoder and decoder: give a "
                "sequence-to-sequence model, such as a BART or T5"
            )
        self.model: Any = self._load(source, commit, kind)
        # Padding is masked, so its token has no effect.
        self.padding = int(self.tokenizer.pad_token_id or 0)
        self.limit = self._limit()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the arguments: each process loads the model once."""
        return _load_cached, self._arguments

    def _load(self, source: str, commit: str | None, kind: Kind) -> Any:
        import transformers

        makers = {
            "encoder": "AutoModel",
            "sequence-to-sequence": "AutoModelForSeq2SeqLM",
            "classifier": "AutoModelForSequenceClassification",
        }
        level = transformers.utils.logging.get_verbosity()
        transformers.utils.logging.set_verbosity_error()  # missing weights raise an error below
        try:
            with loading_errors(self.name):
                model, report = getattr(transformers, makers[kind]).from_pretrained(
                    source, revision=commit, dtype="float32", output_loading_info=True
                )
        finally:
            transformers.utils.logging.set_verbosity(level)
        missing = sorted(key for key in report["missing_keys"] if not any(part in key for part in _UNUSED))
        if missing:  # transformers initialises them with random numbers
            raise InputError(
                f"the weights of {self.name} lack {missing[0]} and {len(missing) - 1} more: give a model that was "
                f"trained as a {kind}"
            )
        if kind == "encoder" and self.config.is_encoder_decoder:
            model = model.get_encoder()
        with loading_errors(self.name):
            return model.to(self.device).eval()

    def _limit(self) -> int | None:
        text = self.config.get_text_config()
        positions = getattr(text, "max_position_embeddings", None)
        if positions is not None and text.model_type in _OFFSET:  # positions begin after the id of the padding token
            positions -= (text.pad_token_id or 0) + 1
        stated = [self.tokenizer.model_max_length, positions]
        known = [int(number) for number in stated if number is not None and 0 < number < _NO_LIMIT]
        return min(known) if known else None

    def signature(self, name: str, **parts: object) -> str:
        """Returns a signature with the model, its version and its limit."""
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
        """Start token of the decoder of a sequence-to-sequence model.

        Raises:
            InputError: The configuration does not name it.
        """
        found = self.config.decoder_start_token_id
        if found is None:
            found = self.model.generation_config.decoder_start_token_id
        if found is None:
            raise InputError(f"the configuration of {self.name} lacks decoder_start_token_id: add it")
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
def _load_cached(model: str | Path, kind: Kind, device: str | None) -> ScoringModel:
    return ScoringModel(model, kind, device)


def truncated(texts: Sequence[Sequence[Encoded]]) -> frozenset[int]:
    """Returns the positions of units with a truncated text, given the texts of each unit."""
    return frozenset(place for place, own in enumerate(texts) if any(text.truncated for text in own))


def batches(lengths: Sequence[int], batch_size: int, *, label: str, progress: bool | None) -> Iterator[list[int]]:
    """Yields positions of rows, longest first, so that a batch that exceeds the memory fails at once.

    Args:
        lengths: Number of tokens of each row.
        batch_size: Number of rows of a batch.
        label: Label of the progress bar.
        progress: Whether to show a progress bar; None if standard error is a terminal.
    """
    from tqdm import tqdm

    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    shown = sys.stderr.isatty() if progress is None else progress
    with tqdm(total=len(order), desc=label, unit="text", disable=not shown, leave=False) as bar:
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            yield batch
            bar.update(len(batch))


@contextmanager
def reading(model: ScoringModel) -> Iterator[None]:
    """Runs a model without gradients.

    Raises:
        InputError: A batch exceeds the memory of the device.
    """
    import torch

    try:
        with torch.inference_mode():
            yield
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"a batch of texts does not fit the memory of {model.device} with {model.name}: give a smaller batch size"
        ) from error
