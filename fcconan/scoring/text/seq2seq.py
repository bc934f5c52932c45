"""Metrics by sequence-to-sequence models: BARTScore, and yes-no questions in the format of UniEval."""

import hashlib
import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.text.models import ScoringModel, batches, reading, truncated
from fcconan.scoring.text.scores import Metric, Unit, UnitScores


class BartScore(Metric):
    """Precision, recall and F of BARTScore (Yuan et al., 2021): mean log-likelihoods per token, at most 0.

    Precision is the value of the text given the reference, recall that of the reference given the text, and F their
    mean, as in the multi-aspect paper. All tokens of the target count, including those that the tokenizer adds.

    Args:
        model: Folder, or name on the Hub, of any sequence-to-sequence model (facebook/bart-large-cnn).
        device: As for `ScoringModel`.

    Raises:
        InputError: The model cannot be used.
    """

    needs_reference = True
    independent = True
    names = ("bartscore-precision", "bartscore-recall", "bartscore-f")

    def __init__(self, model: str | Path, *, device: str | None = None) -> None:
        self._model = ScoringModel(model, "sequence-to-sequence", device)

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores pairs of a text and a reference."""
        texts = {text: self._model.encode(text) for unit in units for text in (unit.text, unit.reference)}
        encoded = [(texts[unit.text], texts[unit.reference]) for unit in units]
        pairs = [(own.tokens, reference.tokens) for own, reference in encoded]
        values = np.full((3, len(units)), np.nan)
        lengths = [max(map(len, pair)) for pair in pairs]
        for places in batches(lengths, batch_size, label="BARTScore", progress=progress):
            own, references = ([pairs[place][side] for place in places] for side in (0, 1))
            with reading(self._model):
                values[0, places] = self._model.log_likelihoods(references, own).double().cpu().numpy()
                values[1, places] = self._model.log_likelihoods(own, references).double().cpu().numpy()
        values[2] = (values[0] + values[1]) / 2
        return [
            UnitScores(name, row, self._model.signature(name, mean="tokens"), truncated=truncated(encoded))
            for name, row in zip(self.names, values, strict=True)
        ]


_FIELDS = ("text", "reference", "message")


class Question(Metric):
    """P(yes) / (P(yes) + P(no)) for the first word of the answer to a question (UniEval; Zhong et al., 2022).

    Args:
        model: Folder, or name on the Hub, of any sequence-to-sequence model (MingZhong/unieval-dialog); or a loaded
            model, to share it between questions.
        question: Input of the model, with the fields `{text}`, `{reference}` and `{message}` (the HS). Double other
            braces. Inputs are truncated at the end, so put the texts last.
        name: Name of the series, such as `unieval-coherence`.
        yes: Positive answer. Of two answers with several tokens, the first different tokens are compared.
        no: Negative answer.
        device: As for `ScoringModel`, for a model that is not loaded.

    Raises:
        InputError: The model or the question cannot be used, or both answers have the same tokens.
    """

    independent = True

    def __init__(
        self,
        model: str | Path | ScoringModel,
        question: str,
        *,
        name: str,
        yes: str = "Yes",
        no: str = "No",
        device: str | None = None,
    ) -> None:
        try:
            fields = {field for _, field, _, _ in string.Formatter().parse(question) if field is not None}
        except ValueError as error:
            raise InputError(f"the question of {name} is not a template ({error}): double other braces") from error
        if "text" not in fields or not fields <= set(_FIELDS):
            raise InputError(
                f"the question of {name} has the fields {sorted(fields)}: give {{text}}, and {{reference}} and "
                "{message} where needed"
            )
        self.needs_reference, self.needs_message = "reference" in fields, "message" in fields
        self.names, self._question, self._answers = (name,), question, f"{yes}/{no}"
        if not isinstance(model, ScoringModel):
            model = ScoringModel(model, "sequence-to-sequence", device)
        self._model = model
        self._start, self._yes, self._no = self._answer_tokens(yes, no)

    def _answer_tokens(self, yes: str, no: str) -> tuple[list[int], int, int]:
        """Returns the common first tokens of both answers, and the first different token of each."""
        first, second = (self._model.encode(answer).tokens for answer in (yes, no))
        for place, (one, other) in enumerate(zip(first, second, strict=False)):
            if one != other:
                unknown = self._model.tokenizer.unk_token_id
                if unknown is not None and unknown in (one, other):
                    break
                return first[:place], one, other
        raise InputError(f"{self._model.name} has the same tokens for {yes!r} and {no!r}: give other answers")

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Asks the question of every unit."""
        import torch

        rows = [
            self._model.encode(self._question.format(text=unit.text, reference=unit.reference, message=unit.message))
            for unit in units
        ]
        values = np.full(len(units), np.nan)
        lengths = [len(row.tokens) for row in rows]
        (name,) = self.names
        for places in batches(lengths, batch_size, label=name, progress=progress):
            with reading(self._model):
                logits = self._model.first_logits([rows[place].tokens for place in places], self._start).double()
                share = torch.sigmoid(logits[:, self._yes] - logits[:, self._no])  # the softmax over these two
                values[places] = share.cpu().numpy()
        digest = hashlib.sha256(self._question.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        signature = self._model.signature(name, question=digest, answers=self._answers)
        return [UnitScores(name, values, signature, truncated=truncated([[row] for row in rows]))]
