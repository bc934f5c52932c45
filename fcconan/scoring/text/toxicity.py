"""Toxicity, or any other label, by a classifier of texts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.text.models import ScoringModel, batches, reading
from fcconan.scoring.text.scores import Metric, Series, Unit

Activation = Literal["softmax", "sigmoid"]


class Toxicity(Metric):
    """Probability of one or several labels of a classifier.

    Labels that exclude each other (softmax) add up; of others (sigmoid) the largest probability counts.

    Args:
        model: A folder, or a name on the Hub, of any classifier of texts (unitary/toxic-bert).
        labels: The labels that mean toxic, by the names in the model's configuration.
        activation: By default what the configuration says: sigmoid for several labels at once or a single one.
        name: Of the series.
        revision: The commit, tag or branch of a model on the Hub.
        device: By default an accelerator if there is one.
        max_length: Tokens of a text that are read; by default as many as the model takes.

    Raises:
        InputError: The model cannot be used, or it has no such label.
    """

    independent = True

    def __init__(
        self,
        model: str | Path,
        labels: Sequence[str],
        *,
        activation: Activation | None = None,
        name: str = "toxicity",
        revision: str | None = None,
        device: str | None = None,
        max_length: int | None = None,
    ) -> None:
        if activation not in (None, "softmax", "sigmoid"):
            raise InputError(f"activation is {activation!r}: give softmax or sigmoid")
        self._model = ScoringModel(model, "classifier", revision=revision, device=device, max_length=max_length)
        known = {str(label): int(place) for place, label in self._model.config.id2label.items()}
        asked = [labels] if isinstance(labels, str) else list(labels)
        unknown = [label for label in asked if label not in known]
        if unknown or not asked:
            raise InputError(
                f"{self._model.name} has the labels {', '.join(known)}, not {', '.join(unknown) or 'none at all'}: "
                "say which of them mean toxic"
            )
        self._labels, self._places, self._name = sorted(asked), sorted({known[label] for label in asked}), name
        several = self._model.config.problem_type == "multi_label_classification" or len(known) == 1
        self._activation: Activation = activation or ("sigmoid" if several else "softmax")
        if self._activation == "softmax" and len(self._places) == len(known):
            raise InputError(f"all labels of {self._model.name} are given, so every text has 1: give some of them")

    @property
    def names(self) -> tuple[str, ...]:
        """What the series is called."""
        return (self._name,)

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[Series]:
        """Classifies texts."""
        rows = [self._model.encode(unit.text) for unit in units]
        values = np.full(len(units), np.nan)
        for places in batches([len(row.tokens) for row in rows], batch_size, what=self._name, progress=progress):
            with reading(self._model):
                values[places] = self._probabilities([rows[place].tokens for place in places]).cpu().numpy()
        labels = "+".join(self._labels)
        name = self._model.signature(self._name, labels=labels, activation=self._activation)
        cut = frozenset(place for place, row in enumerate(rows) if row.truncated)
        return [Series(self._name, values, name, False, truncated=cut)]

    def _probabilities(self, rows: Sequence[Sequence[int]]) -> Any:
        tokens, mask = self._model.pad(rows)
        logits = self._model.model(input_ids=tokens, attention_mask=mask).logits.double()
        if self._activation == "softmax":
            return logits.softmax(dim=-1)[:, self._places].sum(dim=1)
        return logits.sigmoid()[:, self._places].amax(dim=1)
