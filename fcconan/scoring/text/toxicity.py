"""Toxicity, or another label, by a text classifier."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Unpack, get_args

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.names import check_names
from fcconan.scoring.text.models import ModelOptions, ScoringModel, batches, reading, truncated
from fcconan.scoring.text.scores import Metric, Unit, UnitScores

Activation = Literal["softmax", "sigmoid"]


class Toxicity(Metric):
    """Probability of one or several labels of a classifier.

    The value is the sum of the probabilities of exclusive labels (softmax), and the largest probability of others
    (sigmoid).

    Args:
        model: Folder, or name on the Hub, of any text classifier (unitary/toxic-bert).
        labels: Names of the labels that mean toxic, from the model's configuration.
        activation: Activation of the outputs. None for that of the configuration: sigmoid for multi-label models and
            models with one label, otherwise softmax.
        name: Name of the series.
        options: See `ModelOptions`.

    Raises:
        InputError: The model cannot be used, or it lacks a label.
    """

    independent = True

    def __init__(
        self,
        model: str | Path,
        labels: Sequence[str],
        *,
        activation: Activation | None = None,
        name: str = "toxicity",
        **options: Unpack[ModelOptions],
    ) -> None:
        check_names("activation", () if activation is None else [activation], get_args(Activation))
        self._model = ScoringModel(model, "classifier", **options)
        known = {str(label): int(place) for place, label in self._model.config.id2label.items()}
        chosen = [labels] if isinstance(labels, str) else list(labels)
        unknown = [label for label in chosen if label not in known]
        if unknown or not chosen:
            raise InputError(
                f"{self._model.name} has the labels {', '.join(known)}, not {', '.join(unknown) or 'none at all'}: "
                "give the labels that mean toxic"
            )
        self._labels, self._places, self.names = sorted(chosen), sorted({known[label] for label in chosen}), (name,)
        several = self._model.config.problem_type == "multi_label_classification" or len(known) == 1
        self._activation: Activation = activation or ("sigmoid" if several else "softmax")
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
