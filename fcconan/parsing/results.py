"""What reading a judge's output gives: an answer, or the reason why there is none."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Reason = Literal[
    "empty",  # the output holds nothing
    "no_scores",  # the first line does not begin with two scores
    "no_answer",  # no part of the output has the form of an answer
    "no_field",  # the field that was asked for is not there
    "not_a_number",  # the field holds something other than one number
    "unknown_label",  # the field holds none of the labels that may be chosen
    "out_of_scale",  # the number is below the lowest grade or above the highest
    "not_on_scale",  # the number lies between two grades
    "other_scale",  # the number is given out of another highest grade
    "ambiguous",  # the answer is given more than once, and differently
    "truncated",  # the output ends before the answer is complete
    "template",  # the field still holds what the prompt put there
    "refusal",  # the judge refuses to judge
    "contradicted",  # the text around the answer denies, corrects or quotes it
]
Verdict = Literal["a", "b", "tie"]


@dataclass(frozen=True)
class ParsedComparison:
    """A verdict between two replies.

    Attributes:
        value: `a`, `b` or `tie`; None where the output holds no readable verdict.
        reason: Why there is none.
        score_a: The score of the first reply.
        score_b: The score of the second reply.
    """

    value: Verdict | None
    reason: Reason | None = None
    score_a: float | None = None
    score_b: float | None = None


@dataclass(frozen=True)
class ParsedRating:
    """A grade.

    Attributes:
        value: The grade, always on the scale; None where the output holds no readable one.
        reason: Why there is none.
        explanation: What the output gives as its reason for the grade, as far as it goes in an output that was cut.
    """

    value: float | None
    reason: Reason | None = None
    explanation: str | None = None


@dataclass(frozen=True)
class ParsedLabel:
    """A choice among labels.

    Attributes:
        value: The label, written as in the list of labels; None where the output holds no readable one.
        reason: Why there is none.
        explanation: What the output gives as its reason for the choice.
    """

    value: str | None
    reason: Reason | None = None
    explanation: str | None = None


class AspectField(NamedTuple):
    """Where an aspect stands in an output, and what may stand there.

    Attributes:
        keys: Names of its field; case does not count, and spaces, underscores and hyphens are alike.
        scale: Lowest and highest grade.
        decimals: How many a grade may have.
    """

    keys: tuple[str, ...]
    scale: tuple[float, float]
    decimals: int = 0
