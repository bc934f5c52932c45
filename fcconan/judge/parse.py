"""Reads a judge's verdict from its raw output. What cannot be read is missing, with a reason; never a number."""

import re
from dataclasses import dataclass
from typing import Literal

Reason = Literal["empty", "no_scores", "out_of_scale"]
_NUMBER = r"(\d+(?:\.\d+)?)"
_FENCE = re.compile(r"\s*```[A-Za-z]*\s*")
# Two numbers at the head of the first line, and after them the end of the line or a word: never a third number.
_TWO_SCORES = re.compile(rf"""["'`\s]*{_NUMBER}(?:\s*,\s*|\s+){_NUMBER}["'`]*\s*(?:$|(?<=\s)[^\d\s].*$)""")


@dataclass(frozen=True)
class ParsedComparison:
    """A verdict between two replies.

    Attributes:
        value: `a`, `b` or `tie`; None where the output holds no readable verdict.
        reason: Why there is none.
        score_a: The score of the first reply.
        score_b: The score of the second reply.
    """

    value: Literal["a", "b", "tie"] | None
    reason: Reason | None = None
    score_a: float | None = None
    score_b: float | None = None


def parse_comparison(text: str, *, scale: tuple[float, float] = (1, 10)) -> ParsedComparison:
    """Reads JudgeLM's verdict: two scores on the first line of the output, the first reply's first.

    Args:
        text: The raw output. Code fences, quotes, a comma between the scores and prose after them are understood.
        scale: Lowest and highest possible score; JudgeLM is asked for 1 to 10.
    """
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE.fullmatch(line)]
    if not lines:
        return ParsedComparison(None, "empty")
    match = _TWO_SCORES.match(lines[0])
    if match is None:
        return ParsedComparison(None, "no_scores")
    first, second = float(match[1]), float(match[2])
    if not all(scale[0] <= score <= scale[1] for score in (first, second)):
        return ParsedComparison(None, "out_of_scale")
    return ParsedComparison("a" if first > second else "b" if second > first else "tie", None, first, second)
