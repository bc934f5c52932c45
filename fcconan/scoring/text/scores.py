"""Text metrics and their results: one value per text, one of the corpus, and a signature for each."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from fcconan.scoring.arrays import Floats
from fcconan.scoring.names import join_parts

Several = Literal["max", "mean", "joint"]
Reason = Literal[
    "empty_text",  # the text has no character but white space
    "no_reference",  # the text has no reference, or only empty ones
    "no_message",  # the message that the text answers is empty
    "no_words",  # the metric's tokeniser finds no word, in the text or in a reference
    "too_short",  # the text, or a reference, has fewer words than the n-gram
    "corpus_only",  # the metric has no value for a single text
    "not_finite",  # the metric gave nan or an infinite number
    "no_values",  # the corpus holds no text with a value
]
REFERENCE_COMBINATIONS: tuple[Several, ...] = get_args(Several)


@dataclass(frozen=True)
class Unit:
    """The input of one value: a text and, if the metric needs them, one of its references and the message.

    Attributes:
        text: Never empty.
        reference: Never empty; `""` for metrics that need none.
        message: Never empty; `""` for metrics that need none.
        others: Further references, of `joint` values only.
    """

    text: str
    reference: str = ""
    message: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnitScores:
    """One value for every unit, from a metric.

    Attributes:
        name: Name of the series, such as `rouge-l`.
        values: Values of the units, shape (units,); nan is undefined.
        signature: Signature of the values.
        higher_is_better: None where neither end is good in itself.
        reasons: Why a unit has no value, by its position; `not_finite` where a nan has no entry.
        truncated: Positions of the units that the model did not read to the end.
        counts: Sums of `Metric.counts` over all texts.
    """

    name: str
    values: Floats
    signature: str
    higher_is_better: bool | None = True
    reasons: dict[int, Reason] = field(default_factory=dict)
    truncated: frozenset[int] = frozenset()
    counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class CorpusScore:
    """One value for all texts together.

    Attributes:
        value: Value of the corpus; None if it is undefined.
        signature: Signature of the value, without the texts.
        reason: Reason of an undefined value.
    """

    value: float | None
    signature: str
    reason: Reason | None = None


@dataclass(frozen=True)
class TextScores:
    """The values of one metric for many texts.

    Attributes:
        name: Name of the series, such as `bertscore-f`.
        values: One a text; shape (texts,); nan is undefined.
        reasons: Why a text has no value; None where it has one.
        signature: All that changes the values, in the manner of sacrebleu.
        corpus: Value of all texts together: the mean, or a value that the metric computes from all texts.
        higher_is_better: None where neither end is good in itself.
        n_missing: Texts without a value.
        n_truncated: Texts that the model did not read to the end, or one of whose references it did not.
        n_empty_references: Empty references of texts, which were left out.
    """

    name: str
    values: Floats
    reasons: tuple[Reason | None, ...]
    signature: str
    corpus: CorpusScore
    higher_is_better: bool | None
    n_missing: int
    n_truncated: int
    n_empty_references: int


class Metric(ABC):
    """A text metric, ready to be applied.

    Attributes:
        names: Names of the series.
        needs_reference: A unit is a pair of a text and one of its references.
        needs_message: A unit holds the message that the text answers.
        takes_empty: Empty texts have a value.
        joins: It is defined for all references of a text at once; with `joint`, a unit then has them all.
        independent: The value of a unit does not depend on other units, and the metric can be pickled: workers may
            compute parts of a text list.
    """

    names: tuple[str, ...]
    needs_reference = False
    needs_message = False
    takes_empty = False
    joins = False
    independent = False

    @abstractmethod
    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores units one by one.

        Args:
            units: Units to score; may be empty.
            batch_size: How many units a model reads together.
            progress: Whether to show a progress bar; by default where standard error is a terminal.

        Returns:
            One series a name, in the order of `names`.
        """

    def counts(self, texts: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, ...]:
        """Returns counts of some texts, of which `corpus` needs the sums over all texts; by default none.

        Args:
            texts: The texts that may have a value.
            references: Their references; shape (texts, any number).
        """
        return ()

    def corpus(
        self, series: UnitScores, texts: Sequence[str], references: Sequence[Sequence[str]]
    ) -> CorpusScore | None:
        """Computes a value of all texts together; None if that is the mean of the values of texts.

        Args:
            series: The series that it is for, with the sums of `counts`.
            texts: The texts that may have a value.
            references: Their references; shape (texts, any number).
        """
        return None


def signature(name: str, **parts: object) -> str:
    """Returns name and parts, `name|part:value|...`, with the version of this package at the end."""
    import fcconan

    return f"{name}|{join_parts({**parts, 'fcconan': fcconan.__version__})}"


def mean(values: Floats) -> CorpusScore:
    """Returns the mean over texts that have a value, without a signature."""
    there = values[np.isfinite(values)]
    return CorpusScore(float(there.mean()), "") if len(there) else CorpusScore(None, "", "no_values")
