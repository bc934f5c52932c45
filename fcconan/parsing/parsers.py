"""Parses judges' outputs. An unreadable answer is missing, with a reason; it is never a number.

An answer must be the requested field, a line of its own with its name, or the whole output. Digits elsewhere are prose.
The text around an answer may explain it. If it refuses, denies, corrects or quotes the answer, the answer is missing
(`fcconan.parsing.context`). Numbers are read as follows:

- Digits of any script (`４` is 4), a minus sign and whole numbers such as `4.0` are accepted.
- Decimal commas (`3,5` may be two grades), `1e1`, `NaN` and ranges such as `3-4` are rejected.
- A grade may include its name (`2 (Possibly to choose)`) and the highest grade (`4/5`), but not another one (`8/10`).
- Equal answers count once. Different answers are ambiguous: in JSON, on lines or before `</think>`.
- Text in a field is not searched for fields. A value ends with a comma, a brace or its line: `"4"5` is rejected.
- A number at the end of an unclosed object may be truncated and is rejected.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from fcconan.errors import InputError
from fcconan.parsing.answers import (
    NUMBER,
    add_explanation,
    check_field,
    find_explanation,
    mark_refusal,
    read_choice,
    read_field,
    read_output,
    read_result,
    read_without_key,
    reconcile_with_thinking,
    split_output,
)
from fcconan.parsing.context import find_objection
from fcconan.parsing.json_fields import normalize_name
from fcconan.parsing.phrases import MARK
from fcconan.parsing.results import AspectField, ParsedComparison, ParsedLabel, ParsedRating, Verdict

# Two numbers at the start of the first line, followed by its end, a mark or a reason, but not by a noun.
_TWO_SCORES = re.compile(
    rf"""(?P<scores>["'`\s]*{NUMBER}(?:\s*,\s*|\s+){NUMBER}["'`]*\s*)"""
    r"""(?:$|(?<=\s)(?:(?:[-–—]\s|["'“”(\[])(?!\s*\d)|(?:because|since|as|for)\b).*$)""",
    re.IGNORECASE,
)
_OTHER_SCORES = re.compile(rf"[ :]{{0,2}}{NUMBER}(?:,\s?|\s(?:and\s)?){NUMBER}\s?(?:$|\n|[.;!])")
_VERDICTS: dict[str, Verdict] = {"a": "a", "b": "b", "tie": "tie"}
_BRACKETS = re.compile(r"\[\[\s*+(a|b|c|tie)\s*+\]\]", re.IGNORECASE)


def parse_comparison(text: str, *, scale: tuple[float, float] = (1, 10)) -> ParsedComparison:
    """Parses JudgeLM's verdict: two scores on the first line of the output, that of the first reply first.

    Args:
        text: Raw output. Code fences, quotation marks, a comma between the scores, thinking before them and a reason or
            punctuated prose after them are accepted.
        scale: Lowest and highest score; JudgeLM's scale is 1 to 10.

    Returns:
        The verdict with both scores, or the reason for a missing one.

    Raises:
        InputError: The output is not text.

    Examples:
        >>> parse_comparison("8 3").value
        'a'
    """
    said = split_output(text)
    thought = _two_scores(said.thought, scale, thought=True)
    if said.reason is not None:
        return thought if thought.value is not None else ParsedComparison(None, said.reason)
    found = mark_refusal(_two_scores(said.answer, scale), said.answer)
    # Scores on the first line are an answer, not thinking; the explanation below may contain `</think>`.
    return (
        thought
        if found.reason == "no_scores" and thought.value is not None
        else reconcile_with_thinking(found, thought)
    )


def _two_scores(text: str, scale: tuple[float, float], *, thought: bool = False) -> ParsedComparison:
    lines = text.splitlines()
    first_line = next((number for number, each in enumerate(lines) if each.strip()), None)
    line, rest = ("", []) if first_line is None else (lines[first_line], lines[first_line + 1 :])
    match = _TWO_SCORES.match(line)
    if match is None:
        return ParsedComparison(None, "no_scores")
    first, second = float(match[2]), float(match[3])
    if not all(scale[0] <= score <= scale[1] for score in (first, second)):
        return ParsedComparison(None, "out_of_scale")

    def differs(words: str) -> int:
        others = _OTHER_SCORES.match(words)
        return others.end() if others and (float(others[1]), float(others[2])) != (first, second) else 0

    explained = "\n".join([MARK + line[match.end("scores") :], *rest])
    reason = None if thought else find_objection(explained, differs)
    if reason is not None:
        return ParsedComparison(None, reason)
    return ParsedComparison("a" if first > second else "b" if second > first else "tie", None, first, second)


def parse_rating(
    text: str,
    *,
    scale: tuple[float, float],
    key: str | None = None,
    decimals: int = 0,
    names: Collection[str] = (),
) -> ParsedRating:
    """Parses one grade.

    Args:
        text: Raw output. Text before `</think>` is thinking. If no `<think>` opens it and it contains another answer
            than the text after it, the result is ambiguous.
        scale: Lowest and highest grade.
        key: Name of the only requested field: `{"Relevance": 4}`, `{"Relevance": {"score": 4}}` or a line
            `Relevance: 4`, with an explanation around it; otherwise `4`, `4/5`, `{"score": 4}` or a line `Score: 4`.
            None: the output must be the grade alone, or contain JSON with one field such as `score` or `rating`, a
            line such as `Score: 4`, or Prometheus's `[RESULT] 4`.
        decimals: Largest number of decimals of a grade.
        names: Further names of the field in JSON, without a key.

    Returns:
        The grade with its explanation, or the reason for a missing one.

    Raises:
        InputError: Scale, key or number of decimals is invalid, or the output is not text.

    Examples:
        >>> parse_rating("Score: 4", scale=(1, 5)).value
        4.0
    """
    field = AspectField(() if key is None else (key,), scale, decimals)
    check_field(field, keyed=key is not None)

    def read(part: str, thought: bool) -> ParsedRating:
        if key is None:
            found = read_without_key(part, field, names, thought=thought)
        else:
            found = read_field(part, field, alone=True, thought=thought)
        if found.value is None or found.explanation is not None:
            return found
        return add_explanation(found, find_explanation(part), field)

    return read_output(ParsedRating, text, read)


def parse_prometheus(text: str, *, scale: tuple[float, float] = (1, 5), decimals: int = 0) -> ParsedRating:
    """Parses Prometheus's answer: feedback, then `[RESULT]` and the grade, with nothing else on its line.

    Args:
        text: Raw output.
        scale: Lowest and highest grade; Prometheus's scale is 1 to 5.
        decimals: Largest number of decimals of a grade.

    Returns:
        The grade with the feedback as its explanation, or the reason for a missing one.

    Raises:
        InputError: Scale or number of decimals is invalid, or the output is not text.
    """
    field = AspectField((), scale, decimals)
    check_field(field, keyed=False)
    return read_output(ParsedRating, text, lambda part, thought: read_result(part, field, thought=thought))


def parse_multi(text: str, *, aspects: Mapping[str, AspectField], cut: bool = False) -> dict[str, ParsedRating]:
    """Parses a grade for each of several aspects; a missing grade does not affect the others.

    Args:
        text: Raw output: JSON with a field for each aspect, whose value is a number or an object with `score` and
            `explanation`, or lines such as `Relevance: 4`. For a single aspect also `4` or `Score: 4`.
        aspects: Field and scale of each aspect.
        cut: Whether the output is truncated. If so, only JSON fields are read, because their form shows whether they
            are complete.

    Returns:
        A grade, or the reason for a missing one, for each name in `aspects`.

    Raises:
        InputError: An aspect has no key, its scale is invalid, or the output is not text.

    Examples:
        >>> from fcconan.parsing import AspectField
        >>> fields = {name: AspectField((name,), (1, 5)) for name in ("relevance", "tone")}
        >>> found = parse_multi('{"relevance": 4, "tone": 9}', aspects=fields)
        >>> found["relevance"].value, found["tone"].reason
        (4.0, 'out_of_scale')
    """
    for field in aspects.values():
        check_field(field, keyed=True)
    said = split_output(text)
    if said.reason is not None:
        return {name: ParsedRating(None, said.reason) for name in aspects}
    alone = len(aspects) == 1

    def read(field: AspectField) -> ParsedRating:
        found = read_field(said.answer, field, cut=cut, alone=alone)
        return reconcile_with_thinking(found, read_field(said.thought, field, alone=alone, thought=True))

    return {name: mark_refusal(read(field), said.answer) for name, field in aspects.items()}


def parse_label(text: str, labels: Collection[str], *, cut: bool = False) -> ParsedLabel:
    """Parses a choice among labels: `{"label": "..."}`, a line `Label: ...`, or the label alone.

    Args:
        text: Raw output.
        labels: Allowed labels. Case is ignored; spaces, underscores and hyphens are equivalent.
        cut: Whether the output is truncated. If so, only `{"label": "..."}` is read.

    Returns:
        The label with its explanation, or the reason for a missing one.

    Raises:
        InputError: There are no labels, two of them are equal, or the output is not text.
    """
    choices = {normalize_name(label): label for label in labels}
    if len(choices) < max(1, len(labels)):
        raise InputError(
            f"the labels are {sorted(labels)}: give at least one, and labels that differ in more than case or spaces"
        )

    def read(part: str, thought: bool) -> ParsedLabel:
        value, reason = read_choice(part, "label", choices, cut=cut and not thought, thought=thought)
        return ParsedLabel(value, reason, find_explanation(part) if reason is None else None)

    return read_output(ParsedLabel, text, read)


def parse_verdict(text: str) -> ParsedComparison:
    """Parses a verdict without scores: `{"better": "a"}`, `[[A]]`, or `A` alone; likewise B and tie.

    Args:
        text: Raw output. `[[C]]` is a tie, as in MT-Bench.

    Returns:
        The verdict, or the reason for a missing one.

    Raises:
        InputError: The output is not text.
    """
    return read_output(ParsedComparison, text, _verdict)


def _verdict(text: str, thought: bool) -> ParsedComparison:
    return ParsedComparison(*read_choice(text, "better", _VERDICTS, marks=_marks, thought=thought))


def _marks(text: str) -> Iterator[tuple[Verdict, tuple[int, int]]]:
    return ((_VERDICTS.get(mark[1].lower(), "tie"), mark.span()) for mark in _BRACKETS.finditer(text))
