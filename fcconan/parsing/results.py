"""Results of parsing a judge's output: an answer, or the reason for a missing one."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Reason = Literal[
    "empty",  # the output is empty
    "no_scores",  # the first line does not begin with two scores
    "no_answer",  # no part of the output has the form of an answer
    "no_field",  # the requested field is missing
    "not_a_number",  # the field holds something other than one number
    "unknown_label",  # the field holds none of the allowed labels
    "out_of_scale",  # the number is below the lowest grade or above the highest
    "not_on_scale",  # the number is between two grades
    "other_scale",  # the number has another highest grade, as in 8/10
    "ambiguous",  # the output gives two different answers
    "truncated",  # the output ends before the answer is complete
    "template",  # the field holds a copy of the prompt's placeholder
    "refusal",  # the judge refuses to judge
    "contradicted",  # the text around the answer denies, corrects or quotes it
]
Verdict = Literal["a", "b", "tie"]


@dataclass(frozen=True)
class ParsedComparison:
    """A verdict between two replies.

    Attributes:
        value: `a`, `b` or `tie`; None without a readable verdict.
        reason: Reason for a missing verdict.
        score_a: Score of the first reply.
        score_b: Score of the second reply.
    """

    value: Verdict | None
    reason: Reason | None = None
    score_a: float | None = None
    score_b: float | None = None


@dataclass(frozen=True)
class ParsedRating:
    """A grade.

    Attributes:
        value: Grade, always on the scale; None without a readable grade.
        reason: Reason for a missing grade.
        explanation: Explanation of the grade in the output; may be incomplete in a truncated output.
    """

    value: float | None
    reason: Reason | None = None
    explanation: str | None = None


@dataclass(frozen=True)
class ParsedLabel:
    """A choice among labels.

    Attributes:
        value: Label, spelled as in the list of labels; None without a readable label.
        reason: Reason for a missing label.
        explanation: Explanation of the choice in the output.
    """

    value: str | None
    reason: Reason | None = None
    explanation: str | None = None


class AspectField(NamedTuple):
    """Field of an aspect in an output, and its scale.

    Attributes:
        keys: Names of the field. Case is ignored; spaces, underscores and hyphens are equivalent.
        scale: Lowest and highest grade.
        decimals: Largest number of decimals of a grade.
    """

    keys: tuple[str, ...]
    scale: tuple[float, float]
    decimals: int = 0
