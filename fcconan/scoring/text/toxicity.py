"""Toxicity, or another label, by a text classifier."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.text.models import ScoringModel, batches, reading, truncated
from fcconan.scoring.text.scores import Metric, Unit, UnitScores


class Toxicity(Metric):
    """Probability of one or several labels of a classifier.

    The value is the largest probability (sigmoid) for multi-label models and models with one label, otherwise the sum
    of the probabilities (softmax).

    Args:
        model: Folder, or name on the Hub, of any text classifier (unitary/toxic-bert).
        labels: Names of the labels that mean toxic, from the model's configuration.
        device: As for `ScoringModel`.

    Raises:
        InputError: The model cannot be used, or it lacks a label.
    """

    independent = True
    names = ("toxicity",)

    def __init__(self, model: str | Path, labels: Sequence[str], *, device: str | None = None) -> None:
        self._model = ScoringModel(model, "classifier", device)
        known = {str(label): int(place) for place, label in self._model.config.id2label.items()}
        unknown = [label for label in labels if label not in known]
        if unknown or not labels:
            raise InputError(
                f"{self._model.name} has the labels {', '.join(known)}, not {', '.join(unknown) or 'none at all'}: "
                "give the labels that mean toxic"
            )
        self._labels, self._places = sorted(labels), sorted({known[label] for label in labels})
        several = self._model.config.problem_type == "multi_label_classification" or len(known) == 1
        self._activation = "sigmoid" if several else "softmax"
        if self._activation == "softmax" and len(self._places) == len(known):
            raise InputError(f"all labels of {self._model.name} are given, so every text has 1: give some of them")

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Classifies texts."""
        rows = [self._model.encode(unit.text) for unit in units]
        values = np.full(len(units), np.nan)
        (name,) = self.names
        for places in batches([len(row.tokens) for row in rows], batch_size, label=name, progress=progress):
            with reading(self._model):
                values[places] = self._probabilities([rows[place].tokens for place in places]).cpu().numpy()
        signature = self._model.signature(name, labels="+".join(self._labels), activation=self._activation)
        return [UnitScores(name, values, signature, False, truncated=truncated([[row] for row in rows]))]

    def _probabilities(self, rows: Sequence[Sequence[int]]) -> Any:
        tokens, mask = self._model.pad(rows)
        logits = self._model.model(input_ids=tokens, attention_mask=mask).logits.double()
        if self._activation == "softmax":
            return logits.softmax(dim=-1)[:, self._places].sum(dim=1)
        return logits.sigmoid()[:, self._places].amax(dim=1)
