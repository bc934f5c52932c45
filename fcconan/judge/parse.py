"""Reads a judge's answer from its raw output. What cannot be read is missing, with a reason; never a number.

An answer counts only where it is anchored: in the field that was asked for, on a line of its own that names it, or as
all there is. Digits elsewhere are prose. Numbers are read as follows:

- digits of any script count (`４` is 4), a minus sign too, and `4.0` is a whole number;
- a decimal comma is refused, since `3,5` may be two grades, and so are `1e1`, `NaN` and ranges such as `3-4`;
- a grade may carry its name (`2 (Possibly to choose)`) and the top of the scale (`4/5`), but no other top (`8/10`);
- the same answer twice is one answer, two different ones are none;
- a number at the very end of an unclosed object may have been cut, and is not read.
"""

import re
from collections.abc import Collection, Mapping

from fcconan.errors import InputError
from fcconan.judge.answer import (
    NUMBER,
    agreed_answer,
    answer_of,
    check_field,
    explanation_beside,
    plain_name,
    read_choice,
    read_field,
    read_result,
    read_without_key,
    with_explanation,
)
from fcconan.judge.parsed import REASONS, AspectField, ParsedComparison, ParsedLabel, ParsedRating, Reason, Verdict

__all__ = [
    "REASONS",
    "AspectField",
    "ParsedComparison",
    "ParsedLabel",
    "ParsedRating",
    "Reason",
    "Verdict",
    "parse_comparison",
    "parse_label",
    "parse_multi",
    "parse_rating",
    "parse_result",
    "parse_verdict",
]

_FENCE_LINE = re.compile(r"\s*```[A-Za-z]*\s*")
# Two numbers at the head of the first line, and after them the end of the line or a word: never a third number.
_TWO_SCORES = re.compile(rf"""["'`\s]*{NUMBER}(?:\s*,\s*|\s+){NUMBER}["'`]*\s*(?:$|(?<=\s)[^\d\s].*$)""")
_BRACKETS = re.compile(r"\[\[\s*+(a|b|c|tie)\s*+\]\]", re.IGNORECASE)


def parse_comparison(text: str, *, scale: tuple[float, float] = (1, 10)) -> ParsedComparison:
    """Reads JudgeLM's verdict: two scores on the first line of the output, the first reply's first.

    Args:
        text: The raw output. Code fences, quotes, a comma between the scores and prose after them are understood.
        scale: Lowest and highest possible score; JudgeLM is asked for 1 to 10.
    """
    lines = [line for line in text.splitlines() if line.strip() and not _FENCE_LINE.fullmatch(line)]
    if not lines:
        return ParsedComparison(None, "empty")
    match = _TWO_SCORES.match(lines[0])
    if match is None:
        return ParsedComparison(None, "no_scores")
    first, second = float(match[1]), float(match[2])
    if not all(scale[0] <= score <= scale[1] for score in (first, second)):
        return ParsedComparison(None, "out_of_scale")
    return ParsedComparison("a" if first > second else "b" if second > first else "tie", None, first, second)


def parse_rating(text: str, *, scale: tuple[float, float], key: str | None = None, decimals: int = 0) -> ParsedRating:
    """Reads one grade.

    Args:
        text: The raw output. What precedes `</think>` is not part of the answer.
        scale: Lowest and highest grade.
        key: The field that was asked for: `{"Relevance": 4}`, `{"Relevance": {"score": 4}}` or a line `Relevance: 4`,
            with anything around it; nothing else is read. None: the output must be nothing but the grade, or hold JSON
            with one number, a line such as `Score: 4`, or Prometheus's `[RESULT] 4`.
        decimals: How many a grade may have.

    Raises:
        InputError: The scale, the key or the number of decimals makes no sense.
    """
    field = AspectField(() if key is None else (key,), scale, decimals)
    check_field(field, keyed=key is not None)
    answer, reason = answer_of(text)
    if reason is not None:
        return ParsedRating(None, reason)
    found = read_without_key(answer, field) if key is None else read_field(answer, field)
    if found.value is None or found.explanation is not None:
        return found
    return with_explanation(found, explanation_beside(answer), field)


def parse_result(text: str, *, scale: tuple[float, float] = (1, 5), decimals: int = 0) -> ParsedRating:
    """Reads Prometheus's answer: feedback, then `[RESULT]` and the grade, with nothing else on its line.

    Args:
        text: The raw output.
        scale: Lowest and highest grade; Prometheus is asked for 1 to 5.
        decimals: How many a grade may have.

    Raises:
        InputError: The scale or the number of decimals makes no sense.
    """
    field = AspectField((), scale, decimals)
    check_field(field, keyed=False)
    answer, reason = answer_of(text)
    return ParsedRating(None, reason) if reason is not None else read_result(answer, field)


def parse_multi(text: str, *, aspects: Mapping[str, AspectField]) -> dict[str, ParsedRating]:
    """Reads a grade for each of several aspects; one that is missing leaves the others as they are.

    Args:
        text: The raw output: JSON with a field for each aspect, which holds a number or an object with `score` and
            `explanation`, or lines such as `Relevance: 4`.
        aspects: Where each aspect stands.

    Returns:
        A grade or the reason why there is none, for every name in `aspects`.

    Raises:
        InputError: An aspect has no key, or its scale makes no sense.
    """
    for field in aspects.values():
        check_field(field, keyed=True)
    answer, reason = answer_of(text)
    if reason is not None:
        return {name: ParsedRating(None, reason) for name in aspects}
    return {name: read_field(answer, field) for name, field in aspects.items()}


def parse_label(text: str, labels: Collection[str]) -> ParsedLabel:
    """Reads a choice among labels: `{"label": "..."}`, a line `Label: ...`, or nothing but the label.

    Args:
        text: The raw output.
        labels: What may be chosen; case does not count, and spaces, underscores and hyphens are alike.

    Raises:
        InputError: Two labels are alike, or there are none.
    """
    choices = {plain_name(label): label for label in labels}
    if len(choices) < max(1, len(labels)):
        raise InputError(
            f"the labels are {sorted(labels)}: give at least one, and none that differ in case or spaces only"
        )
    answer, reason = answer_of(text)
    if reason is not None:
        return ParsedLabel(None, reason)
    found = read_choice(answer, "label", choices)
    return ParsedLabel(*agreed_answer(found), explanation_beside(answer)) if found else ParsedLabel(None, "no_answer")


def parse_verdict(text: str) -> ParsedComparison:
    """Reads a verdict without scores: `{"better": "a"}`, `[[A]]`, or nothing but `A`; likewise B and tie.

    Args:
        text: The raw output. `[[C]]` is a tie, as in MT-Bench.
    """
    answer, reason = answer_of(text)
    if reason is not None:
        return ParsedComparison(None, reason)
    verdicts: dict[str, Verdict] = {"a": "a", "b": "b", "tie": "tie"}
    found: list[tuple[Verdict | None, Reason | None]] = read_choice(answer, "better", verdicts)
    found += [(verdicts.get(match[1].lower(), "tie"), None) for match in _BRACKETS.finditer(answer)]
    verdict: tuple[Verdict | None, Reason | None] = agreed_answer(found) if found else (None, "no_answer")
    return ParsedComparison(*verdict)
