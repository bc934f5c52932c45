"""Text metrics and their results: values of texts and of the corpus, with signatures."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from fcconan.scoring.arrays import Floats
from fcconan.scoring.names import join_parts

Several = Literal["max", "mean", "joint"]
Reason = Literal[
    "empty_text",  # the text consists of white space
    "no_reference",  # the text has no reference, or only empty ones
    "no_message",  # the message that the text answers is empty
    "no_words",  # the metric's tokeniser finds no word, in the text or in a reference
    "too_short",  # the text, or a reference, has fewer words than the n-gram
    "corpus_only",  # the metric has no value for a single text
    "not_finite",  # the metric gave nan or an infinite number
    "no_values",  # no text of the corpus has a value
]
REFERENCE_COMBINATIONS: tuple[Several, ...] = get_args(Several)


@dataclass(frozen=True)
class Unit:
    """The input of one value: a text and, if the metric needs them, one of its references and the message.

    Attributes:
        text: The text; not empty, except for metrics with `takes_empty`.
        reference: The reference; `""` for metrics that need none.
        message: The message; `""` for metrics that need none.
        others: Further references, for `joint` values only.
    """

    text: str
    reference: str = ""
    message: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class UnitScores:
    """Values of a metric, one for each unit.

    Attributes:
        name: Name of the series, such as `rouge-l`.
        values: Values of the units, shape (units,); nan is undefined.
        signature: Signature of the values.
        higher_is_better: Whether a high value is good; None if neither is.
        reasons: Position of the unit -> reason of a missing value; without an entry, the reason is `not_finite`.
        truncated: Positions of the units with a truncated text.
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
    """Value of all texts together.

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
        values: Values of the texts, shape (texts,); nan is undefined.
        reasons: Reason of each missing value; None for texts with a value.
        signature: Signature of the values, in the format of sacrebleu.
        corpus: Value of all texts together: the mean, or a value that the metric computes from all texts.
        higher_is_better: Whether a high value is good; None if neither is.
        n_missing: Number of texts without a value.
        n_truncated: Number of texts that were truncated, or have a truncated reference.
        n_empty_references: Number of empty references, which are left out.
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
    """Base class of text metrics.

    Attributes:
        names: Names of the series.
        needs_reference: Whether a unit has a reference.
        needs_message: Whether a unit has the message that the text answers.
        takes_empty: Whether empty texts have a value.
        joins: Whether the metric is defined for all references of a text at once; a unit of `joint` values has them
            all.
        independent: Whether the value of a unit is independent of other units and the metric can be pickled, so that
            workers may score parts of the texts.
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
            batch_size: Number of units that a model reads together.
            progress: Whether to show a progress bar; None if standard error is a terminal.

        Returns:
            A series for each name, in the order of `names`.
        """

    def counts(self, texts: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, ...]:
        """Returns counts of a part of the texts, whose sums over all parts `corpus` receives; by default none.

        Args:
            texts: Texts that may have a value.
            references: List of references of each text.
        """
        return ()

    def corpus(
        self, series: UnitScores, texts: Sequence[str], references: Sequence[Sequence[str]]
    ) -> CorpusScore | None:
        """Computes the value of all texts together; None if it is the mean of the values of texts.

        Args:
            series: Series of the value, with the sums of `counts`.
            texts: Texts that may have a value.
            references: List of references of each text.
        """
        return None


def signature(name: str, **parts: object) -> str:
    """Returns the signature `name|part:value|...`, which ends with the version of this package."""
    import fcconan

    return f"{name}|{join_parts({**parts, 'fcconan': fcconan.__version__})}"


def mean(values: Floats) -> CorpusScore:
    """Returns the mean of the texts with a value, without a signature."""
    there = values[np.isfinite(values)]
    return CorpusScore(float(there.mean()), "") if len(there) else CorpusScore(None, "", "no_values")
