"""BERTScore: cosine similarity of the tokens of two texts, by the hidden states of a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.text.models import Encoded, ScoringModel, batches, reading, truncated
from fcconan.scoring.text.scores import Metric, Reason, Unit, UnitScores

# Layers that agree best with people on translations, from the package bert-score.
LAYERS = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9,
    "distilbert-base-uncased": 5,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "bart-base": 6,
    "bart-large": 10,
    "deberta-base-mnli": 9,
    "deberta-large-mnli": 18,
    "deberta-xlarge-mnli": 40,
    "deberta-v3-base": 9,
    "deberta-v3-large": 12,
}
_SPACE_FIRST = ("roberta", "gpt2")  # bert-score puts a space before texts: it changes the first token


class BertScore(Metric):
    """Precision, recall and F of BERTScore (Zhang et al., 2020), not rescaled.

    Every token is matched with the most similar token of the other text. Precision is the mean cosine over the tokens
    of the text, recall that over the tokens of the reference. Tokens that the tokenizer adds may be matched, but do not
    count in the means.

    Args:
        model: Folder, or name on the Hub, of any encoder.
        layer: Layer of the hidden states, 0 for the embeddings; None for that of `LAYERS`, or else the last layer.
        device: As for `ScoringModel`.

    Raises:
        InputError: The model cannot be used, or it lacks the layer.
    """

    needs_reference = True
    independent = True
    names = ("bertscore-precision", "bertscore-recall", "bertscore-f")

    def __init__(self, model: str | Path, *, layer: int | None = None, device: str | None = None) -> None:
        self._model = ScoringModel(model, "encoder", device)
        last = int(self._model.config.get_text_config().num_hidden_layers)
        if layer is None:
            layer = min(LAYERS.get(self._model.name.rsplit("/", 1)[-1], last), last)
        if not 0 <= layer <= last:
            raise InputError(f"{self._model.name} has no layer {layer}: give one from 0 to {last}")
        self._layer = layer

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores pairs of a text and a reference."""
        texts = {text: self._encode(text) for unit in units for text in (unit.text, unit.reference)}
        special = set(self._model.tokenizer.all_special_ids) - {self._model.tokenizer.unk_token_id}
        values = np.full((3, len(units)), np.nan)
        reasons: dict[int, Reason] = {}
        encoded = [(texts[unit.text], texts[unit.reference]) for unit in units]
        pairs = [(own.tokens, reference.tokens) for own, reference in encoded]
        for place, pair in enumerate(pairs):
            if any(set(tokens) <= special for tokens in pair):
                reasons[place] = "no_words"
        left = [place for place in range(len(units)) if place not in reasons]
        lengths = [max(map(len, pairs[place])) for place in left]
        for batch in batches(lengths, batch_size, label="BERTScore", progress=progress):
            places = [left[each] for each in batch]
            with reading(self._model):
                values[:, places] = self._match([pairs[place] for place in places], special)
        parts = {"layer": self._layer, "idf": "no", "rescaled": "no"}
        cut = truncated(encoded)
        return [
            UnitScores(name, row, self._model.signature(name, **parts), reasons=reasons, truncated=cut)
            for name, row in zip(self.names, values, strict=True)
        ]

    def _encode(self, text: str) -> Encoded:
        space = " " if self._model.config.model_type in _SPACE_FIRST else ""
        return self._model.encode(space + text.strip())

    def _match(self, pairs: Sequence[tuple[list[int], list[int]]], special: set[int]) -> Any:
        """Returns precision, recall and F of pairs; shape (3, pairs)."""
        import torch

        sides = [[pair[side] for pair in pairs] for side in (0, 1)]
        (states, mask), (others, other_mask) = (self._model.hidden_states(rows, self._layer) for rows in sides)
        states, others = (torch.nn.functional.normalize(each.float(), dim=-1) for each in (states, others))
        both = mask.bool().unsqueeze(2) & other_mask.bool().unsqueeze(1)
        cosines = torch.bmm(states, others.transpose(1, 2)).masked_fill(~both, -torch.inf)
        means = []
        for best, rows in ((cosines.amax(dim=2), sides[0]), (cosines.amax(dim=1), sides[1])):
            share = torch.zeros(best.shape, dtype=torch.float64)
            for place, tokens in enumerate(rows):
                share[place, : len(tokens)] = torch.tensor([token not in special for token in tokens])
            means.append((torch.where(share > 0, best.cpu().double(), 0.0) * share).sum(dim=1) / share.sum(dim=1))
        precision, recall = means
        return torch.stack([precision, recall, 2 * precision * recall / (precision + recall)]).numpy()
