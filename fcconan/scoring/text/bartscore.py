"""BARTScore: how likely a sequence-to-sequence model finds a text given the reference, and the reverse."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fcconan.scoring.text.models import ScoringModel, batches, reading
from fcconan.scoring.text.scores import Metric, Series, Unit


class BartScore(Metric):
    """Precision, recall and F of BARTScore (Yuan et al., 2021): mean log-likelihoods per token, at most 0.

    Precision is that of the text given the reference, recall that of the reference given the text, F their mean, as in
    the multi-aspect paper. All tokens of the target count, those that the tokenizer adds included.

    Args:
        model: A folder, or a name on the Hub, of any sequence-to-sequence model (facebook/bart-large-cnn).
        revision: The commit, tag or branch of a model on the Hub.
        device: By default an accelerator if there is one.
        max_length: Tokens of a text that are read; by default as many as the model takes.

    Raises:
        InputError: The model cannot be used.
    """

    needs_reference = True
    names = ("bartscore-precision", "bartscore-recall", "bartscore-f")

    def __init__(
        self,
        model: str | Path,
        *,
        revision: str | None = None,
        device: str | None = None,
        max_length: int | None = None,
    ) -> None:
        self._model = ScoringModel(
            model, "sequence-to-sequence", revision=revision, device=device, max_length=max_length
        )

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[Series]:
        """Scores pairs of a text and a reference."""
        texts = {text: self._model.encode(text) for unit in units for text in (unit.text, unit.reference)}
        pairs = [(texts[unit.text].tokens, texts[unit.reference].tokens) for unit in units]
        values = np.full((3, len(units)), np.nan)
        lengths = [max(map(len, pair)) for pair in pairs]
        for places in batches(lengths, batch_size, what="BARTScore", progress=progress):
            own, references = ([pairs[place][side] for place in places] for side in (0, 1))
            with reading(self._model):
                values[0, places] = self._model.log_likelihoods(references, own).double().cpu().numpy()
                values[1, places] = self._model.log_likelihoods(own, references).double().cpu().numpy()
        values[2] = (values[0] + values[1]) / 2
        cut = frozenset(
            place for place, unit in enumerate(units) if texts[unit.text].truncated or texts[unit.reference].truncated
        )
        return [
            Series(name, row, self._model.signature(name, mean="tokens"), truncated=cut)
            for name, row in zip(self.names, values, strict=True)
        ]
