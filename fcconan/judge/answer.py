"""Finds answers in a judge's output: fields of JSON, lines, and what a field, a line or the whole output holds.

What counts as an answer, and how numbers are read, is told in `fcconan.judge.parse`.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple, TypeVar

from fcconan.errors import InputError
from fcconan.judge.parsed import AspectField, ParsedComparison, ParsedLabel, ParsedRating, Reason
from fcconan.llm.completion import whole_characters

_Value = TypeVar("_Value")
_Parsed = TypeVar("_Parsed", ParsedRating, ParsedLabel, ParsedComparison)

NUMBER = r"(\d+(?:\.\d+)?)"
_THOUGHTS = re.compile(r"(?:\s*+<think>(?:[^<]++|<(?!/think>))*+</think>)*+")
_END_OF_THOUGHT = "</think>"
# A word after a fence names a language only at the end of the line.
_FENCE = re.compile(r"```(?:[A-Za-z]*+[ \t\r]*+(?=\n))?")
_WRAPPERS = "*_`\"'“”‘’ \t\r\n"
# Possessive quantifiers (`*+`) keep every scan linear, whatever a model writes.
_GRADE = (
    r"(?:(?:score|rating|grade)\s*+[:=]?\s*+)?(?P<number>[+\-−]?\d++(?:\.(?P<fraction>\d++))?)"
    r"(?:\s*+\(?\s*+(?:/|out\s++of)\s*+(?P<top>\d++(?:\.\d++)?)\s*+\)?)?(?:\s*+(?:stars?|points?))?"
)
_GRADE_ALONE = re.compile(_GRADE + r"(?:\s*+\([^()\d]*+\))?\s*+\.?", re.IGNORECASE)
# A field or a line is known to hold a grade, so that words may follow; digits among them could be another grade.
_GRADE_AND_WORDS = re.compile(_GRADE + r"(?:\s*+\(\D*+|\s*+[-–—:.,;]\s\D*+|\s*+[.,;]?)", re.IGNORECASE)
_PLACEHOLDER = re.compile(
    r"[.…?_\s]*+|<.*|\{\{.*|\[[^\W\d]*+\]|x+"
    r"|\(?(?:(?:an?|the|your)\s+)?(?:number|integer|int|float|score|rating|grade|value)"
    r"(?:\s+(?:number|between|from|in|on)\b.*)?",
    re.IGNORECASE | re.DOTALL,
)
_BETWEEN_GRADES = re.compile(r"\d+(?:\.\d+)?|to|or|and|[-–—/|,;.\s()\[\]]", re.IGNORECASE)

# Closing marks are optional: an output that was cut lacks them.
_STRING = r'"(?:[^"\\]++|\\.)*+'
_VALUE = re.compile(
    rf"""(?P<string>{_STRING})(?P<closed>"?)|'(?P<single>[^'\n]*+)'|“(?P<curly>[^”\n]{0, 1000}+)”"""
    rf"""|\{{(?P<inner>(?:[^{{}}"]++|{_STRING}"?)*+)(?P<end>[{{}}]?)"""
    r"""|(?P<plain><[^>\n]*+>|[^,}\n"]*+)""",
    re.DOTALL,
)
# The text of a field that is not wanted.
_SKIPPED = re.compile(rf"""{_STRING}"?|'[^'\n]*+'|“[^”\n]{{0,1000}}+”""", re.DOTALL)
_OUTSIDE, _INSIDE = re.compile(rf"\{{|{_END_OF_THOUGHT}"), re.compile(rf'[{{}}]|{_STRING}"?', re.DOTALL)
# Texts in a list, in which nothing is a field.
_ELEMENT = rf'[\[,]\s*+{_STRING}"(?=\s*+[,\]])'
_OTHER_NAME = r"""(?:"[^"\\\n]{1,60}"|'[^'\\\n]{1,60}'|“[^“”\\\n]{1,60}”)"""
_ANY_FIELD = re.compile(rf'(?<!\\)"(?P<name>[^"\\\n]{{1,60}})"\s*+:\s*+|{_ELEMENT}', re.DOTALL)
# What may follow a value: anything else could be more of it, as in `"4"5`, also on the next line.
_FOLLOWS = re.compile(
    r"""[ \t\r]*+(?:\Z|[,}\])`*;]|\.(?!\d)|"[^"\n]{1,60}"\s*+[:：]"""
    r"""|\n(?!\s*+(?:(?!\d++[.)]\s)\d|/|[.+\-−–]\s*+\d)))"""
)
# Further values beside a value: `3, 5`, and a prompt's `"a" or "b"`.
_MORE = re.compile(r"""\s*+(?:(?:or|to|[|/-])\s*+["'\d]|,\s*+(?:[+\-−.]?\d|"\d+(?:\.\d+)?"\s*+[,}\]]))""")
_SCORE_KEYS = ("score", "rating", "grade", "value")
_EXPLANATION_KEYS = ("explanation", "reason", "reasoning", "rationale", "justification", "feedback")
_ANCHORS = tuple(
    f"{before}{name}"
    for before in ("", "final ", "overall ", "total ")
    for name in ("score", "rating", "grade", "result")
)
_RESULT = re.compile(r"\[RESULT\][\s:]*+(?P<line>[^\n]*+)", re.IGNORECASE)


def check_field(field: AspectField, *, keyed: bool) -> None:
    """Checks that scale, decimals and (if `keyed`) keys make sense.

    Raises:
        InputError: They do not.
    """
    low, high = field.scale
    if not (-1e9 < low < high < 1e9):
        raise InputError(f"the scale is {low} to {high}: give two finite numbers, the lowest grade first")
    if field.decimals < 0:
        raise InputError(f"the number of decimals is {field.decimals}: give 0 or more")
    if keyed and not (field.keys and all(plain_name(key) for key in field.keys)):
        raise InputError(f"the keys of the field are {list(field.keys)}: give at least one, and none that is blank")


class Said(NamedTuple):
    """The parts of an output, without code fences.

    Attributes:
        thought: What precedes a `</think>` that no `<think>` belongs to: mostly thinking, but perhaps an answer.
        answer: What follows the thinking.
        reason: Why there is no answer.
    """

    thought: str
    answer: str
    reason: Reason | None = None


def answer_of(text: str) -> Said:
    """Tells what a model thought from what it answers.

    Raises:
        InputError: This is no text.
    """
    if not isinstance(text, str):
        raise InputError(f"the output of the judge is {text!r:.80}, expected text: leave out what was not answered")
    parts = without_thoughts(text)
    if parts is None:
        return Said("", "", "truncated")
    thought, answer = (_FENCE.sub("", part) for part in parts)
    return Said(thought, answer, None if answer.strip() else "empty")


def without_thoughts(text: str) -> tuple[str, str] | None:
    """Tells what precedes a `</think>` that no `<think>` belongs to from what follows all thinking.

    Returns:
        The two, as they stand; None where the thinking does not end.
    """
    thoughts = _THOUGHTS.match(text)
    rest = text[thoughts.end() :] if thoughts else text
    if rest.lstrip().startswith("<think>"):
        return None
    end = _end_of_thought(rest)
    return (rest[: end - len(_END_OF_THOUGHT)] if end else ""), rest[end:]


def _end_of_thought(text: str) -> int:
    """Where the last `</think>` ends that does not stand in an object; there, it is cited. 0 if there is none."""
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


def unless_thought(found: _Parsed, thought: _Parsed) -> _Parsed:
    """Returns the answer, unless what precedes it may be one, too, and differs: then there is no telling."""
    if found.value is None or thought.value in (None, found.value):
        return found
    return type(found)(None, "ambiguous")


def plain_name(text: str) -> str:
    """Returns a name as names are compared: case does not count, and spaces, underscores and hyphens are alike."""
    return re.sub(r"[\s_-]+", " ", text.strip(_WRAPPERS + ".")).casefold()


def _grade(content: str, field: AspectField, pattern: re.Pattern[str] = _GRADE_AND_WORDS) -> ParsedRating:
    """Reads what a field, a line or the whole output holds."""
    content = content.strip(_WRAPPERS)
    match = pattern.fullmatch(content)
    low, high = field.scale
    if match is None:
        bounds = re.findall(NUMBER, content[:200])
        every = len(bounds) > 1 and (float(bounds[0]), float(bounds[-1])) == (low, high)
        if _PLACEHOLDER.fullmatch(content) or (every and not _BETWEEN_GRADES.sub("", content)):
            return ParsedRating(None, "template")
        return ParsedRating(None, "not_a_number")
    if match["top"] and float(match["top"]) != high:
        return ParsedRating(None, "other_scale")
    value = float(match["number"].replace("−", "-")) + 0.0  # -0.0 becomes 0.0
    if not low <= value <= high:
        return ParsedRating(None, "out_of_scale")
    if any(int(digit) for digit in (match["fraction"] or "")[field.decimals :]):
        return ParsedRating(None, "not_on_scale")
    return ParsedRating(value)


@lru_cache(maxsize=256)
def _patterns(keys: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """How a field with one of these names begins in JSON, and a line that is nothing but such a field."""
    names = "|".join(r"[\s_-]+".join(map(re.escape, re.split(r"[\s_-]+", key.strip(_WRAPPERS)))) for key in keys)
    wanted = rf"""["'“”]\s*+(?P<name>{names})\s*+["'“”]"""
    in_json = rf"(?<!\\)(?:{wanted}|{_OTHER_NAME})\s*+[:：]\s*+|{_ELEMENT}"
    on_a_line = (
        rf"""^[ \t>*_#•{{-]*+(?:\d+[.)][ \t*_]*+)?["'“”`]?(?:{names})["'“”`*_ \t]*+(?:\([^()\n]*+\))?"""
        r"[*_ \t]*+[:：=][ \t]*+(?P<line>[^\n]+)"
    )
    return re.compile(in_json, re.IGNORECASE | re.DOTALL), re.compile(on_a_line, re.IGNORECASE | re.MULTILINE)


class _Fields(NamedTuple):
    """The fields of some names, in their order, and the text with blanks in their place and in that of all strings."""

    found: list[tuple[str, re.Match[str]]]
    rest: str


def _fields(text: str, pattern: re.Pattern[str]) -> _Fields:
    """Finds every such field; what looks like one in the value of another, or in a text of a list, is none."""
    found: list[tuple[str, re.Match[str]]] = []
    rest: list[str] = []
    kept = position = 0
    while (name := pattern.search(text, position)) is not None:
        begin, position = name.span()
        if name[0][0] not in "[,":
            wanted = name["name"] is not None
            value = (_VALUE if wanted else _SKIPPED).match(text, position)
            if value is None:
                continue  # an object or a list: there may be fields in it
            if wanted:
                found.append((name["name"], value))
            else:
                begin = position
            # The texts of a list are looked at one by one.
            position = position if (value[0] if wanted else "").startswith("[") else value.end()
        rest += text[kept:begin], " " * (position - begin)
        kept = position
    return _Fields(found, "".join([*rest, text[kept:]]))


def _lines(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [match["line"].strip(_WRAPPERS).rstrip(",}") for match in pattern.finditer(text)]


def _lines_with_digits(text: str, pattern: re.Pattern[str]) -> list[str]:
    lines = _lines(text, pattern)
    return [line for line in lines if any(character.isdigit() for character in line)] or lines


def _content(value: re.Match[str]) -> tuple[str, Reason | None]:
    """The text of a value that is no object, and the reason why it is not to be read."""
    string, plain = value["string"], value["plain"] or ""
    content = next((each for each in (value["single"], value["curly"]) if each is not None), plain)
    if string is not None:
        content = _unescaped(string[1:])
    if _MORE.match(value.string, value.end()):
        return content, "ambiguous"
    if string is not None and not value["closed"]:
        return content, "truncated"
    at_end = value["plain"] is not None and value.end() == len(value.string) and not plain[-1:].isspace()
    if at_end and "{" in value.string[: value.start()]:
        return content, "truncated"
    goes_on = not _FOLLOWS.match(value.string, value.end()) and not _PLACEHOLDER.fullmatch(content.strip())
    return content, "not_a_number" if goes_on else None


def _rated(value: re.Match[str], field: AspectField) -> ParsedRating:
    if (inner := value["inner"]) is not None:
        if value["end"] == "{":
            return ParsedRating(None, "not_a_number")
        inner = inner if value["end"] else "{" + inner
        scores = [each for _, each in _fields(inner, _patterns(_SCORE_KEYS)[0]).found if each["inner"] is None]
        if not scores:
            return ParsedRating(None, "not_a_number" if value["end"] else "truncated")
        return with_explanation(_agreed_rating([_rated(score, field) for score in scores]), _explanation(inner), field)
    content, reason = _content(value)
    return _grade(content, field) if reason is None else ParsedRating(None, reason)


def read_field(text: str, field: AspectField, *, cut: bool = False) -> ParsedRating:
    """Reads the grade in a field, or on a line, of one of its names; if the text was cut, in a field only."""
    in_json, on_a_line = _patterns(field.keys)
    fields = _fields(text, in_json)
    found = [_rated(value, field) for _, value in fields.found]
    found = _with_lines(found, [] if cut else _lines_with_digits(fields.rest, on_a_line), field)
    return _agreed_rating(found) if found else ParsedRating(None, "no_field")


def _with_lines(found: list[ParsedRating], lines: Sequence[str], field: AspectField) -> list[ParsedRating]:
    """Adds what lines hold; beside fields, a line counts only if it holds a grade, since it may well be prose."""
    grades = [_grade(line, field) for line in lines]
    return [*found, *(each for each in grades if each.value is not None or not found)]


def read_without_key(text: str, field: AspectField, names: Collection[str] = ()) -> ParsedRating:
    """Reads the only grade there is: after `[RESULT]`, in JSON, as the whole output, or on a line like `Score: 4`.

    In JSON, a number counts under a name of a score, or one of these names.
    """
    fields = _fields(text, _ANY_FIELD)
    if _RESULT.search(fields.rest):
        return read_result(text, field)
    scores = {plain_name(name) for name in (*_SCORE_KEYS, *_ANCHORS, *names)}
    found: dict[str, list[ParsedRating]] = {}
    for name, value in fields.found if "{" in text else []:
        # An object counts by the `score` within it.
        if (plain := plain_name(name)) in scores or (value["inner"] is not None and plain not in _EXPLANATION_KEYS):
            rating = _rated(value, field)
            if rating.reason != "not_a_number":
                found.setdefault(plain, []).append(rating)
    if len(found) > 1:
        return ParsedRating(None, "ambiguous")
    alone = _grade(text, field, _GRADE_ALONE)
    if not found and alone.reason != "not_a_number":
        return alone
    lines = _lines_with_digits(fields.rest, _patterns(_ANCHORS)[1])
    every = _with_lines(next(iter(found.values()), []), lines, field)
    return _agreed_rating(every) if every else ParsedRating(None, "no_answer")


def read_result(text: str, field: AspectField) -> ParsedRating:
    """Reads the grade after `[RESULT]`, with what precedes it as the explanation."""
    marks = list(_RESULT.finditer(_fields(text, _ANY_FIELD).rest))
    if not marks:
        return ParsedRating(None, "no_answer")
    lines = [re.sub(r"^\((.*)\)$", r"\1", mark["line"].strip()) for mark in marks]
    found = _agreed_rating([_grade(line, field, _GRADE_ALONE) for line in lines])
    feedback = re.sub(r"^\s*(?:feedback\s*:)?\s*", "", text[: marks[0].start()], flags=re.IGNORECASE).strip()
    return with_explanation(found, whole_characters(feedback) or None, field)


def _explanation(text: str) -> str | None:
    """The first explanation among the fields of a text."""
    for _, value in _fields(text, _patterns(_EXPLANATION_KEYS)[0]).found:
        if value["string"] is not None:
            return _content(value)[0].strip() or None
    return None


def explanation_beside(text: str) -> str | None:
    """The explanation in the object that holds the answer; with several objects there is no telling whose it is."""
    return _explanation(text) if text.count("{") == 1 else None


def with_explanation(rating: ParsedRating, explanation: str | None, field: AspectField) -> ParsedRating:
    """Adds the explanation. The lowest grade with dots for an explanation is the prompt's skeleton, not a grade."""
    if rating.value is None or explanation is None:
        return rating
    if not _PLACEHOLDER.fullmatch(explanation):
        return replace(rating, explanation=explanation)
    return ParsedRating(None, "template") if rating.value == field.scale[0] else rating


def read_choice(
    text: str, key: str, choices: Mapping[str, _Value], *, cut: bool = False
) -> list[tuple[_Value | None, Reason | None]]:
    """Returns the choices in the fields and on the lines, or else the whole text; empty if there is none.

    Args:
        text: The output.
        key: What the field is called.
        choices: Plain name -> what it stands for.
        cut: Whether the text was cut; then only fields count. Beside fields, a line counts only if it holds a choice.
    """
    in_json, on_a_line = _patterns((key,))
    fields = _fields(text, in_json)
    found = [
        _chosen(*(("", None) if value["inner"] is not None else _content(value)), choices) for _, value in fields.found
    ]
    if cut:
        return found
    lines = [_chosen(line, None, choices) for line in _lines(fields.rest, on_a_line)]
    found += [each for each in lines if each[0] is not None or not fields.found]
    if not found and plain_name(text) in choices:
        return [(choices[plain_name(text)], None)]
    return found


def _chosen(content: str, reason: Reason | None, choices: Mapping[str, _Value]) -> tuple[_Value | None, Reason | None]:
    if reason is not None:
        return None, "unknown_label" if reason == "not_a_number" else reason
    if plain_name(content) in choices:
        return choices[plain_name(content)], None
    is_list = {plain_name(part) for part in re.split("[|/,]", content)} == set(choices)
    return None, "template" if is_list or _PLACEHOLDER.fullmatch(content.strip()) else "unknown_label"


def outside_strings(text: str) -> str:
    """The text with blanks in place of all that its fields hold, which may cite anything."""
    return _fields(text, _ANY_FIELD).rest


def agreed_answer(found: Sequence[tuple[_Value | None, Reason | None]]) -> tuple[_Value | None, Reason | None]:
    """Returns the one answer in all, or why there is none.

    Copies of the prompt and answers that were cut count only if there is nothing else.
    """
    answers = {each for each in found if each[1] not in ("template", "truncated")} or set(found[:1])
    return answers.pop() if len(answers) == 1 else (None, "ambiguous")


def _agreed_rating(found: Sequence[ParsedRating]) -> ParsedRating:
    value, reason = agreed_answer([(each.value, each.reason) for each in found])
    return next((each for each in found if (each.value, each.reason) == (value, reason)), ParsedRating(value, reason))


def _unescaped(string: str) -> str:
    with suppress(ValueError):
        string = json.loads(f'"{string}"', strict=False)
    return whole_characters(string)
