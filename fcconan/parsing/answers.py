"""Reads answers from JSON fields, lines or the whole of a judge's output; `parsers` describes the rules."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from fcconan.errors import InputError
from fcconan.models import well_formed as replace_surrogates
from fcconan.parsing.context import (
    find_field_objection,
    find_objection,
    is_judge_refusal,
    match_other_choice,
    match_other_grade,
)
from fcconan.parsing.json_fields import (
    ANY_FIELD,
    PLACEHOLDER,
    STRING,
    WRAPPERS,
    Fields,
    blank_strings,
    field_patterns,
    find_fields,
    mark_answers,
    normalize_name,
    read_value,
)
from fcconan.parsing.phrases import MARK
from fcconan.parsing.results import AspectField, ParsedComparison, ParsedLabel, ParsedRating, Reason

_Value = TypeVar("_Value")
_Parsed = TypeVar("_Parsed", ParsedRating, ParsedLabel, ParsedComparison)

NUMBER = r"(\d+(?:\.\d+)?)"
_THOUGHTS = re.compile(r"(?:\s*+<think>(?:[^<]++|<(?!/think>))*+</think>)*+")
_END_OF_THOUGHT = "</think>"
# A word after a fence is a language only at the end of the line.
_FENCE = re.compile(r"```(?:[A-Za-z]*+[ \t\r]*+(?=\n))?")
# Possessive quantifiers (`*+`) keep each scan linear for any output.
_GRADE = (
    r"(?P<grade>(?:(?:score|rating|grade)\s*+[:=]?\s*+)?(?P<number>[+\-−]?\d++(?:\.(?P<fraction>\d++))?)"
    r"(?:\s*+\(?\s*+(?:/|out\s++of)\s*+(?P<top>\d++(?:\.\d++)?)\s*+\)?)?(?:\s*+(?:stars?|points?))?)"
)
_GRADE_ALONE = re.compile(_GRADE + r"(?:\s*+\([^()\d]*+\))?\s*+\.?", re.IGNORECASE)
# In a field or a named line, words may follow the grade; digits among them could be another grade.
_GRADE_AND_WORDS = re.compile(_GRADE + r"(?:\s*+\(\D*+|\s*+[-–—:.,;]\s\D*+|\s*+[.,;]?)", re.IGNORECASE)
_BETWEEN_GRADES = re.compile(r"\d+(?:\.\d+)?|to|or|and|[-–—/|,;.\s()\[\]]", re.IGNORECASE)

_OUTSIDE, _INSIDE = re.compile(rf"\{{|{_END_OF_THOUGHT}"), re.compile(rf'[{{}}]|{STRING}"?', re.DOTALL)
_SCORE_KEYS = ("score", "rating", "grade", "value")
_EXPLANATION_KEYS = ("explanation", "reason", "reasoning", "rationale", "justification", "feedback")
_ANCHORS = tuple(
    f"{before}{name}"
    for before in ("", "final ", "overall ", "total ")
    for name in ("score", "rating", "grade", "result", "answer")
)
# If one aspect is requested, an overall score is the score of something else.
_ALONE_KEYS = tuple(name for name in _ANCHORS if not name.startswith(("overall", "total")))
_GRADED_LINE = re.compile(r"^[\W\d_]{0,20}+[^\W\d_][^\n:=]{0,60}+[:=]\W{0,6}\d", re.MULTILINE)
# `refusal` replaces these reasons, because it is more specific.
_NOT_FOUND = ("no_field", "no_answer", "no_scores", "not_a_number", "unknown_label", "template")
_RESULT = re.compile(r"\[RESULT\][\s:]*+(?P<line>[^\n]*+)", re.IGNORECASE)


def check_field(field: AspectField, *, keyed: bool) -> None:
    """Checks scale, decimals and (if `keyed`) keys of a field.

    Raises:
        InputError: One of them is invalid.
    """
    low, high = field.scale
    if not (-1e9 < low < high < 1e9):
        raise InputError(f"the scale is {low} to {high}: give two finite numbers, the lowest grade first")
    if field.decimals < 0:
        raise InputError(f"the number of decimals is {field.decimals}: give 0 or more")
    if keyed and not (field.keys and all(normalize_name(key) for key in field.keys)):
        raise InputError(f"the keys of the field are {list(field.keys)}: give at least one, with letters or digits")


class SplitOutput(NamedTuple):
    """Parts of an output, without code fences.

    Attributes:
        thought: Text before a `</think>` without a `<think>`: mostly thinking, but possibly an answer.
        answer: Text after the thinking.
        reason: Reason for a missing answer.
    """

    thought: str
    answer: str
    reason: Reason | None = None


def split_output(text: str) -> SplitOutput:
    """Splits an output into thinking and answer.

    Raises:
        InputError: The output is not text.
    """
    if not isinstance(text, str):
        raise InputError(f"the output of the judge is {text!r:.80}, expected text: leave out missing answers")
    parts = split_thinking(text)
    if parts is None:
        return SplitOutput("", "", "truncated")
    thought, answer = (_FENCE.sub("", part) for part in parts)
    return SplitOutput(thought, answer, None if answer.strip() else "empty")


def split_thinking(text: str) -> tuple[str, str] | None:
    """Splits an output at the last `</think>`, after removing leading `<think>` blocks.

    Returns:
        The texts before and after it, unchanged; None if the thinking does not end.
    """
    thoughts = _THOUGHTS.match(text)
    rest = text[thoughts.end() :] if thoughts else text
    if rest.lstrip().startswith("<think>"):
        return None
    end = _end_of_thought(rest)
    return (rest[: end - len(_END_OF_THOUGHT)] if end else ""), rest[end:]


def _end_of_thought(text: str) -> int:
    """Returns the end of the last `</think>` outside of objects, where it is a quotation; 0 without one."""
    end = position = depth = 0
    if _END_OF_THOUGHT not in text:
        return 0
    while (found := (_INSIDE if depth else _OUTSIDE).search(text, position)) is not None:
        position = found.end()
        if found[0] == _END_OF_THOUGHT:
            end = position
        else:
            depth += {"{": 1, "}": -1}.get(found[0], 0)
    return end


def reconcile_with_thinking(found: _Parsed, thought: _Parsed) -> _Parsed:
    """Returns the answer; ambiguous if the thinking before it contains a different one."""
    differs = thought.value not in (None, found.value) or thought.reason == "contradicted"
    return type(found)(None, "ambiguous") if found.value is not None and differs else found


def _read_grade(content: str, field: AspectField, pattern: re.Pattern[str] = _GRADE_AND_WORDS) -> ParsedRating:
    """Reads the grade in a field, a line or the whole output."""
    content = content.strip(WRAPPERS)
    match = pattern.fullmatch(content)
    low, high = field.scale
    if match is None:
        bounds = re.findall(NUMBER, content[:200])
        every = len(bounds) > 1 and (float(bounds[0]), float(bounds[-1])) == (low, high)
        if PLACEHOLDER.fullmatch(content) or (every and not _BETWEEN_GRADES.sub("", content)):
            return ParsedRating(None, "template")
        return ParsedRating(None, "refusal" if find_objection(content, _never) == "refusal" else "not_a_number")
    if match["top"] and float(match["top"]) != high:
        return ParsedRating(None, "other_scale")
    value = float(match["number"].replace("−", "-")) + 0.0  # -0.0 becomes 0.0
    if not low <= value <= high:
        return ParsedRating(None, "out_of_scale")
    if any(int(digit) for digit in (match["fraction"] or "")[field.decimals :]):
        return ParsedRating(None, "not_on_scale")
    reason = find_objection(MARK + content[match.end("grade") :], match_other_grade(field.scale, value))
    return ParsedRating(value) if reason is None else ParsedRating(None, reason)


def _line(match: re.Match[str]) -> str:
    return match["line"].strip(WRAPPERS).rstrip(",}")


def _lines_with_digits(text: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    lines = list(pattern.finditer(text))
    return [line for line in lines if any(character.isdigit() for character in _line(line))] or lines


def _rate_value(value: re.Match[str], field: AspectField) -> ParsedRating:
    if (inner := value["inner"]) is not None:
        if value["end"] == "{":
            return ParsedRating(None, "not_a_number")
        inner = inner if value["end"] else "{" + inner
        fields = find_fields(inner, field_patterns(_SCORE_KEYS)[0])
        scores = [each for _, each in fields.found if each["inner"] is None]
        if not scores:
            return ParsedRating(None, "not_a_number" if value["end"] else "truncated")
        agreed = _agree_on_rating([_rate_value(score, field) for score in scores])
        rating = _in_context(agreed, MARK, fields.other, field)
        return add_explanation(rating, _explanation(inner), field)
    content, reason = read_value(value)
    return _read_grade(content, field) if reason is None else ParsedRating(None, reason)


def read_field(
    text: str, field: AspectField, *, cut: bool = False, alone: bool = False, thought: bool = False
) -> ParsedRating:
    """Reads the grade in a field or on a line with one of the field's names.

    Args:
        text: Output.
        field: Names and scale.
        cut: Whether the text is truncated; if so, only JSON fields are read.
        alone: Whether this is the only rated aspect, so that `4` and `Score: 4` are its grade.
        thought: Whether the text is thinking, whose context is not checked for objections.
    """
    if not text:
        return ParsedRating(None, "no_field")
    in_json, on_a_line = field_patterns(field.keys)
    fields = find_fields(text, in_json)
    lines = [] if cut else _lines_with_digits(fields.rest, on_a_line)
    if alone and not cut and not fields.found and not lines:
        return _read_alone(text, field)
    return _read_fields(fields, lines, field, "no_field", alone=alone, thought=thought)


def _read_fields(
    fields: Fields,
    lines: Sequence[re.Match[str]],
    field: AspectField,
    missing: Reason,
    *,
    alone: bool = True,
    thought: bool = False,
) -> ParsedRating:
    """Returns the grade on which all fields and lines agree, unless the text around them withdraws it."""
    found = [_rate_value(value, field) for _, value in fields.found]
    every = _with_lines(found, [_line(line) for line in lines], field)
    objected = find_field_objection(fields.other, _never)
    rating = _agree_on_rating(every) if every else ParsedRating(None, objected or missing)
    if thought:
        return rating
    places = [value.span() for _, value in fields.found] + [line.span() for line in lines]
    return _in_context(rating, mark_answers(fields.rest, places), fields.other, field, alone=alone)


def _in_context(
    rating: ParsedRating,
    said: str,
    other: Sequence[tuple[str, str]],
    field: AspectField,
    *,
    alone: bool = True,
    inline: bool = False,
) -> ParsedRating:
    """Returns a grade unless the text or fields around it withdraw it; several aspects may have different grades."""
    if rating.value is None:
        return rating
    differs = match_other_grade(field.scale, rating.value) if alone else _never
    reason = find_field_objection(other, differs) or find_objection(said, differs, inline=inline)
    return rating if reason is None else ParsedRating(None, reason)


def _never(_: str) -> int:
    return 0


def _with_lines(found: list[ParsedRating], lines: Sequence[str], field: AspectField) -> list[ParsedRating]:
    """Adds the grades of lines; next to fields, lines without a grade are prose and left out."""
    grades = [_read_grade(line, field) for line in lines]
    return [*found, *(each for each in grades if each.reason in (None, "refusal", "contradicted") or not found)]


def _read_alone(text: str, field: AspectField) -> ParsedRating:
    """Reads a grade without the aspect's name, such as `4` or `Score: 4`, unless something else is rated, too."""
    in_json, on_a_line = field_patterns(_ALONE_KEYS)
    whole = _read_grade(text, field, _GRADE_ALONE)
    if whole.reason not in ("not_a_number", "template"):
        return whole
    fields = find_fields(text, in_json)
    lines = list(on_a_line.finditer(fields.rest))
    if not fields.found and (reason := find_field_objection(fields.other, _never)):
        return ParsedRating(None, reason)
    others = len(_GRADED_LINE.findall(fields.rest)) > len(lines)
    if others or not {name for name, _ in fields.other} <= set(_EXPLANATION_KEYS):
        return ParsedRating(None, "no_field")
    return _read_fields(fields, lines, field, "no_field")


def mark_refusal(found: _Parsed, text: str) -> _Parsed:
    """Returns a parse result, with the reason `refusal` if the answer is missing because the judge refuses."""
    if found.reason in _NOT_FOUND and is_judge_refusal(text):
        return type(found)(None, "refusal")
    return found


def read_output(kind: type[_Parsed], text: str, read: Callable[[str, bool], _Parsed]) -> _Parsed:
    """Reads an answer and compares it with the thinking before it.

    Args:
        kind: Class of the result.
        text: Raw output.
        read: Function that reads a part of the output; its second argument is whether that part is thinking.

    Raises:
        InputError: The output is not text.
    """
    said = split_output(text)
    if said.reason is not None:
        return kind(None, said.reason)
    return mark_refusal(reconcile_with_thinking(read(said.answer, False), read(said.thought, True)), said.answer)


def read_without_key(
    text: str, field: AspectField, names: Collection[str] = (), *, thought: bool = False
) -> ParsedRating:
    """Reads the only grade: after `[RESULT]`, in JSON, as the whole output, or on a line such as `Score: 4`.

    Args:
        text: Output.
        field: Scale and decimals of the grade.
        names: Names of the grade in JSON in addition to names of scores, such as that of the aspect.
        thought: Whether the text is thinking, whose context is not checked for objections.

    Returns:
        The grade, or the reason for a missing one.
    """
    fields = find_fields(text, ANY_FIELD)
    if _RESULT.search(fields.rest):
        return read_result(text, field, thought=thought)
    scores = {normalize_name(name) for name in (*_SCORE_KEYS, *_ANCHORS, *names)}
    found: dict[str, list[tuple[str, re.Match[str]]]] = {}
    other: list[tuple[str, str]] = []
    for name, value in fields.found if "{" in text else []:
        # An object counts by the `score` within it.
        if (plain := normalize_name(name)) in scores or (value["inner"] is not None and plain not in _EXPLANATION_KEYS):
            if _rate_value(value, field).reason != "not_a_number":
                found.setdefault(plain, []).append((name, value))
        else:
            other.append((plain, read_value(value)[0]))
    if len(found) > 1:
        return ParsedRating(None, "ambiguous")
    alone = _read_grade(text, field, _GRADE_ALONE)
    if not found and alone.reason != "not_a_number":
        return alone
    read = Fields(next(iter(found.values()), []), other, fields.rest)
    lines = _lines_with_digits(fields.rest, field_patterns(_ANCHORS)[1])
    return _read_fields(read, lines, field, "no_answer", thought=thought)


def read_result(text: str, field: AspectField, *, thought: bool = False) -> ParsedRating:
    """Reads the grade after `[RESULT]`, with the text before it as the explanation."""
    rest = find_fields(text, ANY_FIELD).rest
    marks = list(_RESULT.finditer(rest))
    if not marks:
        return ParsedRating(None, "no_answer")
    lines = [re.sub(r"^\((.*)\)$", r"\1", mark["line"].strip()) for mark in marks]
    found = _agree_on_rating([_read_grade(line, field, _GRADE_ALONE) for line in lines])
    if not thought:
        found = _in_context(found, mark_answers(rest, [mark.span() for mark in marks]), (), field, inline=True)
    feedback = re.sub(r"^\s*(?:feedback\s*:)?\s*", "", text[: marks[0].start()], flags=re.IGNORECASE).strip()
    return add_explanation(found, replace_surrogates(feedback) or None, field)


def _explanation(text: str) -> str | None:
    """Returns the first explanation among the fields of a text."""
    for _, value in find_fields(text, field_patterns(_EXPLANATION_KEYS)[0]).found:
        if value["string"] is not None:
            return read_value(value)[0].strip() or None
    return None


def find_explanation(text: str) -> str | None:
    """Returns the explanation in the only object of a text; with several objects its grade is unknown."""
    return _explanation(text) if text.count("{") == 1 else None


def add_explanation(rating: ParsedRating, explanation: str | None, field: AspectField) -> ParsedRating:
    """Adds the explanation. The lowest grade with dots as its explanation is a copy of the prompt's template."""
    if rating.value is None or explanation is None:
        return rating
    if not PLACEHOLDER.fullmatch(explanation):
        return replace(rating, explanation=explanation)
    return ParsedRating(None, "template") if rating.value == field.scale[0] else rating


def read_choice(
    text: str,
    key: str,
    choices: Mapping[str, _Value],
    *,
    cut: bool = False,
    marks: Callable[[str], Iterable[tuple[_Value, tuple[int, int]]]] | None = None,
    thought: bool = False,
) -> tuple[_Value | None, Reason | None]:
    """Reads the choice in fields, on lines and in marks, or otherwise as the whole text.

    Args:
        text: Output.
        key: Name of the field.
        choices: Normalized name -> value.
        cut: Whether the text is truncated; if so, only JSON fields are read. Next to fields, lines without a choice are
            ignored.
        marks: Function that finds choices in another form, with their positions, in a text without strings.
        thought: Whether the text is thinking, whose context is not checked for objections.

    Returns:
        The choice, or None and the reason for a missing one.
    """
    in_json, on_a_line = field_patterns((key,))
    fields = find_fields(text, in_json)
    found = [
        _match_choice(*(("", None) if value["inner"] is not None else read_value(value)), choices)
        for _, value in fields.found
    ]
    places = [value.span() for _, value in fields.found]
    for line in [] if cut else on_a_line.finditer(fields.rest):
        chosen = _match_choice(_line(line), None, choices)
        if chosen[0] is not None or not fields.found:
            found.append(chosen)
            places.append(line.span())
    if not cut and not found and normalize_name(text) in choices:
        return choices[normalize_name(text)], None
    rest = fields.rest
    if marks is not None:
        rest = blank_strings(text)
        for choice, place in marks(rest):
            found.append((choice, None))
            places.append(place)
    value, reason = agree_on_answer(found) if found else (None, "no_answer")
    if value is None or thought:
        return value, reason
    differs = match_other_choice([name for name, choice in choices.items() if choice != value])
    reason = find_field_objection(fields.other, differs)
    reason = reason or find_objection(mark_answers(rest, places), differs, inline=marks is not None)
    return (value, None) if reason is None else (None, reason)


def _match_choice(
    content: str, reason: Reason | None, choices: Mapping[str, _Value]
) -> tuple[_Value | None, Reason | None]:
    if reason is not None:
        return None, "unknown_label" if reason == "not_a_number" else reason
    if normalize_name(content) in choices:
        return choices[normalize_name(content)], None
    is_list = {normalize_name(part) for part in re.split("[|/,]", content)} == set(choices)
    return None, "template" if is_list or PLACEHOLDER.fullmatch(content.strip()) else "unknown_label"


def agree_on_answer(found: Sequence[tuple[_Value | None, Reason | None]]) -> tuple[_Value | None, Reason | None]:
    """Returns the answer if all are equal, otherwise None with the reason.

    Copies of the prompt and truncated answers count only if there are no others.
    """
    answers = {each for each in found if each[1] not in ("template", "truncated")} or set(found[:1])
    return answers.pop() if len(answers) == 1 else (None, "ambiguous")


def _agree_on_rating(found: Sequence[ParsedRating]) -> ParsedRating:
    answers: list[tuple[float | None, Reason | None]] = [(each.value, each.reason) for each in found]
    value, reason = agree_on_answer(answers)
    return next((each for each in found if (each.value, each.reason) == (value, reason)), ParsedRating(value, reason))
