"""Metrics by models on this machine: BERTScore, BARTScore, questions in the format of UniEval, and toxicity."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fcconan.errors import InputError
from fcconan.models import loading_errors, locate_model
from fcconan.scoring.text.corpus import Scores

if TYPE_CHECKING:
    from pandas import DataFrame

Kind = Literal["encoder", "sequence-to-sequence", "classifier"]
MAKERS = {
    "encoder": "AutoModel",
    "sequence-to-sequence": "AutoModelForSeq2SeqLM",
    "classifier": "AutoModelForSequenceClassification",
}
FIELDS = ("precision", "recall", "f")
COLUMNS = {"text": "text", "reference": "references", "message": "hate_speech"}  # of the fields of a question
# Models whose positions begin after the id of the padding token.
_OFFSET = ("roberta", "camembert", "data2vec", "longformer", "mpnet")
_NO_LIMIT = 1_000_000  # tokenizers without a limit state a larger number
_UNUSED = ("pooler", "position_ids")  # weights that no metric reads
# Layers that agree best with people on translations, from the package bert-score.
_BEST = {
    5: "distilbert-base-uncased",
    6: "bart-base",
    9: "bert-base-uncased bert-base-multilingual-cased xlm-roberta-base deberta-base-mnli deberta-v3-base",
    10: "roberta-base bart-large",
    12: "deberta-v3-large",
    17: "roberta-large xlm-roberta-large",
    18: "bert-large-uncased deberta-large-mnli",
    19: "roberta-large-mnli",
    40: "deberta-xlarge-mnli",
}
LAYERS = {name: layer for layer, names in _BEST.items() for name in names.split()}


class ScoringModel:
    """A model that runs on this machine, with 32-bit floats and without dropout. A process loads it once.

    Args:
        model: Folder, or name on the Hugging Face Hub.
        kind: `encoder` (any model with hidden states; of a sequence-to-sequence model its encoder),
            `sequence-to-sequence`, or `classifier` (of sequences).
        device: `cpu`, `cuda`, `cuda:1` or `mps`; by default an accelerator if there is one.

    Attributes:
        name: Name of the folder, or name on the Hub.
        limit: Largest number of tokens of a text; None without a limit.

    Raises:
        InputError: The model is not found, cannot be loaded, or is of another kind.
    """

    def __init__(self, model: str, kind: Kind, device: str | None = None) -> None:
        self._arguments = (model, kind, device)
        source, commit, weights = locate_model(model)
        self.name = model if commit else Path(source).resolve().name
        self._version = commit[:12] if commit else weights
        with loading_errors(self.name):
            import torch
            import transformers

            transformers.utils.logging.disable_progress_bar()
            self.config: Any = transformers.AutoConfig.from_pretrained(source, revision=commit)
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(source, revision=commit)
            found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else "cpu"
            self.device = torch.device(device or str(found))
        if kind == "sequence-to-sequence" and not self.config.is_encoder_decoder:
            raise InputError(
                f"{self.name} is a {self.config.model_type} model without encoder and decoder, expected a "
                "sequence-to-sequence model: give one, such as a BART or T5"
            )
        with loading_errors(self.name):
            how: dict[str, Any] = {"revision": commit, "dtype": "float32", "output_loading_info": True}
            own, report = getattr(transformers, MAKERS[kind]).from_pretrained(source, **how)
            own = own.get_encoder() if kind == "encoder" and self.config.is_encoder_decoder else own
            self.model: Any = own.to(self.device).eval()
        if missing := [key for key in report["missing_keys"] if not any(part in key for part in _UNUSED)]:
            raise InputError(  # they are random numbers
                f"the weights of {self.name} lack {min(missing)} and {len(missing) - 1} more: give a model that was "
                f"trained as a {kind}"
            )
        text = self.config.get_text_config()
        positions = getattr(text, "max_position_embeddings", None) or _NO_LIMIT
        if any(part in text.model_type for part in _OFFSET):
            positions -= (text.pad_token_id or 0) + 1
        limit = min(self.tokenizer.model_max_length, positions)
        self.limit: int | None = limit if limit < _NO_LIMIT else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the arguments."""
        return load, self._arguments

    @property
    def settings(self) -> str:
        """Model, version and limit, for the identity of a result."""
        return f"model={self.name},weights={self._version},length={self.limit or 'any'}"

    def encode(self, texts: Sequence[str], *, whole: bool = False) -> list[list[int]]:
        """Returns the tokens of texts with those that the tokenizer adds, cut at the limit unless `whole`."""
        how = {} if whole or self.limit is None else {"truncation": True, "max_length": self.limit}
        return [[*self.tokenizer(text, verbose=False, **how)["input_ids"]] for text in texts]

    def pad(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Returns tokens and mask as tensors of shape (rows, longest), padded on the right."""
        import torch

        width = max(map(len, rows))
        tokens = torch.full((len(rows), width), int(self.tokenizer.pad_token_id or 0))  # masked, so of no effect
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for place, row in enumerate(rows):
            tokens[place, : len(row)] = torch.tensor(row, dtype=torch.long)
            mask[place, : len(row)] = 1
        return tokens.to(self.device), mask.to(self.device)

    def logits(self, sources: Sequence[Sequence[int]], labels: Any) -> Any:
        """Returns the logits of a sequence-to-sequence model for each token of labels of shape (rows, longest)."""
        import torch

        tokens, mask = self.pad(sources)
        start = self.config.decoder_start_token_id
        start = self.model.generation_config.decoder_start_token_id if start is None else start
        begin = torch.cat([torch.full_like(labels[:, :1], start), labels[:, :-1]], dim=1)
        return self.model(input_ids=tokens, attention_mask=mask, decoder_input_ids=begin).logits


@cache
def load(model: str, kind: Kind, device: str | None = None) -> ScoringModel:
    """Loads a model once in a process; see `ScoringModel`."""
    return ScoringModel(model, kind, device)


def _batches(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yields positions of rows, longest first, so that a batch that exceeds the memory fails at once."""
    import torch

    order = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    with torch.inference_mode():
        for start in range(0, len(order), size):
            yield order[start : start + size]


def best_layer(model: ScoringModel) -> int:
    """Returns the layer of BERTScore: that of the package bert-score, or else the last one."""
    last = int(model.config.get_text_config().num_hidden_layers)
    return min(LAYERS.get(model.name.rsplit("/", 1)[-1], last), last)


def bertscore(model: ScoringModel, size: int, names: Sequence[str], units: "DataFrame") -> Scores:
    """Precision, recall and F of BERTScore (Zhang et al., 2020), not rescaled.

    Every token is matched with the most similar token of the other text. Precision is the mean cosine over the tokens
    of the text, recall that over the tokens of the reference. Tokens that the tokenizer adds may be matched, but do not
    count in the means.

    Args:
        model: The model.
        size: Number of rows that it reads together.
        names: Names of the metrics.
        units: Rows with `text` and `references`, one each.
    """
    import torch

    # bert-score puts a space before texts of these models: it changes the first token.
    space, layer = " " if model.config.model_type in ("roberta", "gpt2") else "", best_layer(model)
    sides = [model.encode([space + text.strip() for text in units[side]]) for side in ("text", "references")]
    special = {*model.tokenizer.all_special_ids} - {model.tokenizer.unk_token_id}
    pairs = [*zip(*sides, strict=True)]
    left = [place for place, pair in enumerate(pairs) if all({*tokens} - special for tokens in pair)]
    values = np.full((3, len(pairs)), np.nan)
    for batch in _batches([max(map(len, pairs[place])) for place in left], size):
        places = [left[each] for each in batch]
        states, masks, counted = [], [], []
        for side in (0, 1):
            tokens, mask = model.pad([pairs[place][side] for place in places])
            found = model.model(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states[layer]
            states.append(torch.nn.functional.normalize(found.float(), dim=-1))
            masks.append(mask.bool())
            counted.append(mask.bool() & ~torch.isin(tokens, torch.tensor([*special], device=model.device)))
        both = masks[0].unsqueeze(2) & masks[1].unsqueeze(1)
        cosines = torch.bmm(states[0], states[1].transpose(1, 2)).masked_fill(~both, -torch.inf)
        for side, share in enumerate(counted):
            best = torch.where(share, cosines.amax(dim=2 - side), 0.0).cpu().double()
            values[side, places] = (best.sum(dim=1) / share.sum(dim=1).cpu()).numpy()
    values[2] = 2 * values[0] * values[1] / (values[0] + values[1])
    return _columns(names, values, {*range(len(pairs))} - {*left})


def _columns(names: Sequence[str], values: Any, wordless: set[int]) -> Scores:
    rows = zip(names, values.tolist(), strict=True)
    return {name: ["no_words" if place in wordless else each for place, each in enumerate(row)] for name, row in rows}


def bartscore(model: ScoringModel, size: int, names: Sequence[str], units: "DataFrame") -> Scores:
    """Precision, recall and F of BARTScore (Yuan et al., 2021): mean log-likelihoods per token, at most 0.

    Precision is the value of the text given the reference, recall that of the reference given the text, and F their
    mean, as in the multi-aspect paper. All tokens of the target count, including those that the tokenizer adds.

    Args:
        model: The model.
        size: Number of rows that it reads together.
        names: Names of the metrics.
        units: Rows with `text` and `references`, one each.
    """
    import torch

    sides = [model.encode(units[side]) for side in ("text", "references")]
    values = np.full((3, len(units)), np.nan)
    for places in _batches([max(map(len, pair)) for pair in zip(*sides, strict=True)], size):
        for side in (0, 1):
            target, source = ([each[place] for place in places] for each in (sides[side], sides[1 - side]))
            labels, there = model.pad(target)
            logits = model.logits(source, labels)
            # The logarithm of the softmax, without a second copy of all logits.
            chosen = logits.gather(2, labels.unsqueeze(2)).squeeze(2) - logits.logsumexp(dim=-1)
            means = torch.where(there.bool(), chosen, 0.0).sum(dim=1) / there.sum(dim=1)
            values[side, places] = means.cpu().double().numpy()
    values[2] = (values[0] + values[1]) / 2
    return _columns(names, values, set())


def unieval(model: ScoringModel, size: int, question: str, names: Sequence[str], units: "DataFrame") -> Scores:
    """P(Yes) / (P(Yes) + P(No)) for the first different token of the answers to a question (Zhong et al., 2022).

    The fields of the question are `{text}`, `{reference}` and `{message}`. Inputs are cut at the end.

    Args:
        model: The model.
        size: Number of rows that it reads together.
        question: The question.
        names: Names of the metrics.
        units: Rows with `text`, `references`, one each, and `hate_speech`.

    Raises:
        InputError: Both answers have the same tokens.
    """
    import torch

    answers = yes, no = model.encode(["Yes", "No"])
    place = next((place for place, pair in enumerate(zip(*answers, strict=False)) if pair[0] != pair[1]), None)
    if place is None:
        raise InputError(f"{model.name} has the same tokens for Yes and No, expected others: give another model")
    fields = units[[*COLUMNS.values()]].set_axis([*COLUMNS], axis=1).to_dict("records")
    rows = model.encode([question.format(**each) for each in fields])
    values = np.full((1, len(rows)), np.nan)
    for places in _batches([*map(len, rows)], size):
        labels = torch.tensor([yes[: place + 1]], device=model.device).expand(len(places), -1)
        logits = model.logits([rows[each] for each in places], labels)[:, -1].cpu().double()
        values[0, places] = torch.sigmoid(logits[:, yes[place]] - logits[:, no[place]]).numpy()
    return _columns(names, values, set())


def toxicity(model: ScoringModel, size: int, labels: Sequence[str], names: Sequence[str], units: "DataFrame") -> Scores:
    """Probability of labels of a classifier: their sum if labels exclude each other, else the largest.

    Args:
        model: The model.
        size: Number of rows that it reads together.
        labels: The labels.
        names: Names of the metrics.
        units: Rows with `text`.
    """
    from transformers import pipeline

    how: dict[str, Any] = {"model": model.model, "tokenizer": model.tokenizer, "device": model.device}
    cut = {} if model.limit is None else {"truncation": True, "max_length": model.limit}
    several = model.config.problem_type == "multi_label_classification" or len(model.config.id2label) == 1
    classify = pipeline("text-classification", top_k=None, batch_size=size, **how)
    chances = [[each["score"] for each in own if each["label"] in labels] for own in classify([*units["text"]], **cut)]
    return {name: [float(max(own) if several else sum(own)) for own in chances] for name in names}
