"""Finds answers in a judge's output: fields of JSON, lines, and what a field, a line or the whole output holds.

What counts as an answer, and how numbers are read, is told in `fcconan.judge.parse`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from fcconan.errors import InputError
from fcconan.judge.parsed import AspectField, ParsedRating, Reason

_Value = TypeVar("_Value")

NUMBER = r"(\d+(?:\.\d+)?)"
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
    rf"""(?P<string>{_STRING})(?P<closed>"?)|'(?P<single>[^'\n]*+)'"""
    rf"""|\{{(?P<inner>(?:[^{{}}"]++|{_STRING}"?)*+)(?P<end>[{{}}]?)"""
    r"""|(?P<plain><[^>\n]*+>|[^,}\n"]*+)""",
    re.DOTALL,
)
_ANY_FIELD = re.compile(r'(?<!\\)"(?P<name>[^"\\\n]{1,60})"\s*+:\s*+')
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
    """Raises an InputError where scale, decimals or (if `keyed`) keys make no sense."""
    low, high = field.scale
    if not (-1e9 < low < high < 1e9):
        raise InputError(f"the scale is {low} to {high}: give two finite numbers, the lowest grade first")
    if field.decimals < 0:
        raise InputError(f"the number of decimals is {field.decimals}: give 0 or more")
    if keyed and not (field.keys and all(plain_name(key) for key in field.keys)):
        raise InputError(f"the keys of the field are {list(field.keys)}: give at least one, and none that is blank")


def answer_of(text: str) -> tuple[str, Reason | None]:
    """What follows the model's thinking, without code fences, or the reason why there is nothing."""
    _, thought, answer = text.rpartition("</think>")
    if not thought and text.lstrip().startswith("<think>"):
        return "", "truncated"
    answer = _FENCE.sub("", answer)
    return answer, None if answer.strip() else "empty"


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
    in_json = rf"""(?<!\\)["'“”]\s*+(?P<name>{names})\s*+["'“”]\s*+[:：]\s*+"""
    on_a_line = (
        rf"""^[ \t>*_#•{{-]*+(?:\d+[.)][ \t*_]*+)?["'“”`]?(?:{names})["'“”`*_ \t]*+(?:\([^()\n]*+\))?"""
        r"[*_ \t]*+[:：=][ \t]*+(?P<line>[^\n]+)"
    )
    return re.compile(in_json, re.IGNORECASE), re.compile(on_a_line, re.IGNORECASE | re.MULTILINE)


def _fields(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """Yields the name and the value of every such field; fields within a value that was yielded are not fields."""
    position = 0
    while (name := pattern.search(text, position)) is not None:
        value = _VALUE.match(text, name.end())
        assert value is not None  # `plain` matches anything
        yield name["name"], value
        position = value.end()


def _lines(text: str, pattern: re.Pattern[str]) -> list[str]:
    lines = [match["line"].strip(_WRAPPERS).rstrip(",}") for match in pattern.finditer(text)]
    return [line for line in lines if any(character.isdigit() for character in line)] or lines


def _content(value: re.Match[str]) -> tuple[str, Reason | None]:
    """The text of a value that is no object, or the reason why it is not to be read."""
    if _MORE.match(value.string, value.end()):
        return "", "ambiguous"
    if (string := value["string"]) is not None:
        return _unescaped(string[1:]), None if value["closed"] else "truncated"
    if (single := value["single"]) is not None:
        return str(single), None
    plain: str = value["plain"] or ""
    cut = value.end() == len(value.string) and not plain[-1:].isspace() and "{" in value.string[: value.start()]
    return plain, "truncated" if cut else None


def _rated(value: re.Match[str], field: AspectField) -> ParsedRating:
    if (inner := value["inner"]) is not None:
        if value["end"] == "{":
            return ParsedRating(None, "not_a_number")
        inner = inner if value["end"] else "{" + inner
        scores = [each for _, each in _fields(inner, _patterns(_SCORE_KEYS)[0]) if each["inner"] is None]
        if not scores:
            return ParsedRating(None, "not_a_number" if value["end"] else "truncated")
        return with_explanation(_agreed_rating([_rated(score, field) for score in scores]), _explanation(inner), field)
    content, reason = _content(value)
    return _grade(content, field) if reason is None else ParsedRating(None, reason)


def read_field(text: str, field: AspectField, keys: tuple[str, ...] = ()) -> ParsedRating:
    """Reads the grade in a field, or else on a line, of one of its names."""
    in_json, on_a_line = _patterns(keys or field.keys)
    found = [_rated(value, field) for _, value in _fields(text, in_json)]
    found = found or [_grade(line, field) for line in _lines(text, on_a_line)]
    return _agreed_rating(found) if found else ParsedRating(None, "no_field")


def read_without_key(text: str, field: AspectField) -> ParsedRating:
    """Reads the only grade there is: after `[RESULT]`, in JSON, as the whole output, or on a line like `Score: 4`."""
    if _RESULT.search(text):
        return read_result(text, field)
    found: dict[str, list[ParsedRating]] = {}
    if "{" in text:
        for name, value in _fields(text, _ANY_FIELD):
            rating = _rated(value, field)
            if plain_name(name) not in _EXPLANATION_KEYS and rating.reason != "not_a_number":
                found.setdefault(plain_name(name), []).append(rating)
    if found:
        return _agreed_rating(next(iter(found.values()))) if len(found) == 1 else ParsedRating(None, "ambiguous")
    alone = _grade(text, field, _GRADE_ALONE)
    if alone.reason != "not_a_number":
        return alone
    anchored = read_field(text, field, _ANCHORS)
    return ParsedRating(None, "no_answer") if anchored.reason == "no_field" else anchored


def read_result(text: str, field: AspectField) -> ParsedRating:
    """Reads the grade after `[RESULT]`, with what precedes it as the explanation."""
    marks = list(_RESULT.finditer(text))
    if not marks:
        return ParsedRating(None, "no_answer")
    lines = [re.sub(r"^\((.*)\)$", r"\1", mark["line"].strip()) for mark in marks]
    found = _agreed_rating([_grade(line, field, _GRADE_ALONE) for line in lines])
    feedback = re.sub(r"^\s*(?:feedback\s*:)?\s*", "", text[: marks[0].start()], flags=re.IGNORECASE).strip()
    return with_explanation(found, _writable(feedback) or None, field)


def _explanation(text: str) -> str | None:
    """The first explanation among the fields of a text."""
    for _, value in _fields(text, _patterns(_EXPLANATION_KEYS)[0]):
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


def read_choice(text: str, key: str, choices: Mapping[str, _Value]) -> list[tuple[_Value | None, Reason | None]]:
    """The choices in the fields, or else on the lines, or else the whole text; empty if there is none."""
    in_json, on_a_line = _patterns((key,))
    contents = [("", None) if value["inner"] is not None else _content(value) for _, value in _fields(text, in_json)]
    contents = contents or [(line, None) for line in _lines(text, on_a_line)]
    if not contents:
        return [(choices[plain_name(text)], None)] if plain_name(text) in choices else []
    found: list[tuple[_Value | None, Reason | None]] = []
    for content, reason in contents:
        if reason is not None:
            found.append((None, reason))
        elif plain_name(content) in choices:
            found.append((choices[plain_name(content)], None))
        elif _PLACEHOLDER.fullmatch(content.strip()) or {
            plain_name(part) for part in re.split("[|/,]", content)
        } == set(choices):
            found.append((None, "template"))
        else:
            found.append((None, "unknown_label"))
    return found


def agreed_answer(found: Sequence[tuple[_Value | None, Reason | None]]) -> tuple[_Value | None, Reason | None]:
    """The one answer in all. Copies of the prompt and answers that were cut count only if there is nothing else."""
    answers = {each for each in found if each[1] not in ("template", "truncated")} or set(found[:1])
    return answers.pop() if len(answers) == 1 else (None, "ambiguous")


def _agreed_rating(found: Sequence[ParsedRating]) -> ParsedRating:
    value, reason = agreed_answer([(each.value, each.reason) for each in found])
    return next((each for each in found if (each.value, each.reason) == (value, reason)), ParsedRating(value, reason))


def _unescaped(string: str) -> str:
    with suppress(ValueError):
        string = json.loads(f'"{string}"', strict=False)
    return _writable(string)


def _writable(text: str) -> str:
    """Replaces halves of characters, which occur in cut outputs and which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
