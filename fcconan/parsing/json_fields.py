"""Finds fields of JSON, and lines like `Relevance: 4`, in a judge's output, and marks where they stood.

The output need not be JSON: quotation marks may be single or curly, an object may be cut, and prose may surround it.
"""

import json
import re
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from fcconan.models import whole_characters
from fcconan.parsing.phrases import MARK
from fcconan.parsing.results import Reason

WRAPPERS = "*_`\"'“”‘’ \t\r\n"
# Possessive quantifiers (`*+`) keep every scan linear, whatever a model writes.
PLACEHOLDER = re.compile(
    r"[.…?_\s]*+|<.*|\{\{.*|\[[^\W\d]*+\]|x+"
    r"|\(?(?:(?:an?|the|your)\s+)?(?:number|integer|int|float|score|rating|grade|value)"
    r"(?:\s+(?:number|between|from|in|on)\b.*)?",
    re.IGNORECASE | re.DOTALL,
)
# Closing marks are optional: an output that was cut lacks them.
STRING = r'"(?:[^"\\]++|\\.)*+'
_VALUE = re.compile(
    rf"""(?P<string>{STRING})(?P<closed>"?)|'(?P<single>[^'\n]*+)'|“(?P<curly>[^”\n]{{0, 1000}}+)”"""
    rf"""|\{{(?P<inner>(?:[^{{}}"]++|{STRING}"?)*+)(?P<end>[{{}}]?)"""
    r"""|(?P<plain><[^>\n]*+>|[^,}\n"]*+)""",
    re.DOTALL,
)
# The text of a field that is not wanted, and a value that is no text.
_SKIPPED = re.compile(rf"""{STRING}"?|'[^'\n]*+'|“[^”\n]{{0,1000}}+”""", re.DOTALL)
_LITERAL = re.compile(r"(?:true|false|null|none|yes|no|-?\d++(?:\.\d++)?)\b", re.IGNORECASE)
_BRACKET = re.compile(rf'[{{}}\[\]]|{STRING}"?', re.DOTALL)
# Texts in a list, in which nothing is a field.
_ELEMENT = rf'[\[,]\s*+{STRING}"(?=\s*+[,\]])'
_OTHER_NAME = r"""(?:"[^"\\\n]{1,60}"|'[^'\\\n]{1,60}'|“[^“”\\\n]{1,60}”)"""
ANY_FIELD = re.compile(rf'(?<!\\)"(?P<name>[^"\\\n]{{1,60}})"\s*+:\s*+|{_ELEMENT}', re.DOTALL)
# What may follow a value: anything else could be more of it, as in `"4"5`, also on the next line.
_FOLLOWS = re.compile(
    r"""[ \t\r]*+(?:\Z|[,}\])`*;]|\.(?!\d)|"[^"\n]{1,60}"\s*+[:：]"""
    r"""|\n(?!\s*+(?:(?!\d++[.)]\s)\d|/|[.+\-−–]\s*+\d)))"""
)
# Further values after a value: `3, 5`, and a prompt's `"a" or "b"`.
_MORE = re.compile(r"""\s*+(?:(?:or|to|[|/-])\s*+["'\d]|,\s*+(?:[+\-−.]?\d|"\d+(?:\.\d+)?"\s*+[,}\]]))""")
# Objects under these names hold the answer. Where no name is asked for, all objects do but those under the others.
_HOLDS_ANSWER = re.compile(
    r"(?:(?:final|overall|my|the|all|aspect|json) )?(?:scores?|ratings?|grades?|answers?|results?|evaluations?|"
    r"assessments?|judge?ments?|verdicts?|outputs?|response|aspects?|data)"
)
_HOLDS_NONE = re.compile(
    r"\b(?:schema|formats?|examples?|templates?|prompts?|inputs?|instructions?|request\w*|expected|injection|injected|"
    r"quot\w+|errors?|refus\w+|samples?|placeholders?|properties|default|hypothetical|repl(?:y|ies)|texts?|messages?)\b"
)
# An object in which the answers are marked and strings are blanked.
_MARKED_OBJECT = re.compile(
    rf"[\[{{](?:\[[\s,\d.]*+\]|[\s,{{}}\[\]{MARK}]|{_OTHER_NAME}\s*+[:：]\s*+(?:[\w.+-]++)?+)*+"
)


def normalize_name(text: str) -> str:
    """Returns a name as names are compared: case does not count, and spaces, underscores and hyphens are alike."""
    return re.sub(r"[\s_-]+", " ", text.strip(WRAPPERS + ".")).casefold()


@lru_cache(maxsize=256)
def field_patterns(keys: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compiles the patterns of a field with one of some names.

    Args:
        keys: The names of the field.

    Returns:
        The beginning of the field in JSON, and a line that is nothing but the field.
    """
    names = "|".join(r"[\s_-]+".join(map(re.escape, re.split(r"[\s_-]+", key.strip(WRAPPERS)))) for key in keys)
    wanted = rf"""["'“”]\s*+(?P<name>{names})\s*+["'“”]"""
    in_json = rf"(?<!\\)(?:{wanted}|{_OTHER_NAME})\s*+[:：]\s*+|{_ELEMENT}"
    on_a_line = (
        rf"""^[ \t>*_#•{{-]*+(?:\d+[.)][ \t*_]*+)?["'“”`]?(?:{names})["'“”`*_ \t]*+(?:\([^()\n]*+\))?"""
        r"[*_ \t]*+[:：=][ \t]*+(?P<line>[^\n]+)"
    )
    return re.compile(in_json, re.IGNORECASE | re.DOTALL), re.compile(on_a_line, re.IGNORECASE | re.MULTILINE)


class Fields(NamedTuple):
    """The fields of some names, in their order, and what is around them.

    Attributes:
        found: Name and value of each.
        other: Plain name and content of the other fields that hold a text, a number or a word such as `null`.
        rest: The text with blanks in the place of these fields and of all strings.
    """

    found: list[tuple[str, re.Match[str]]]
    other: list[tuple[str, str]]
    rest: str


def find_fields(text: str, pattern: re.Pattern[str]) -> Fields:
    """Finds every such field; what looks like one in the value of another, or in a text of a list, is none."""
    found: list[tuple[str, re.Match[str]]] = []
    other: list[tuple[str, str]] = []
    rest: list[str] = []
    kept = position = 0
    while (name := pattern.search(text, position)) is not None:
        begin, position = name.span()
        if name[0][0] not in "[,":
            wanted = name["name"] is not None
            nested = text[position : position + 1] in ("{", "[")
            if nested and not _may_hold_answer(name, pattern):
                value_end = _end_of_object(text, position)
            elif nested and not wanted:
                continue  # there may be fields in it
            else:
                value = (_VALUE if wanted else _SKIPPED).match(text, position)
                if value is None:
                    if literal := _LITERAL.match(text, position):
                        other.append((_name_of(name), literal[0]))
                    continue
                if wanted:
                    found.append((name["name"], value))
                else:
                    other.append((_name_of(name), unescape(value[0].strip("\"'“”"))))
                # The texts of a list are looked at one by one.
                value_end = position if wanted and value[0].startswith("[") else value.end()
            begin = begin if wanted else position
            position = value_end
        rest += text[kept:begin], " " * (position - begin)
        kept = position
    return Fields(found, other, "".join([*rest, text[kept:]]))


def _name_of(name: re.Match[str]) -> str:
    return normalize_name(name[0].rstrip().rstrip(":："))


def _may_hold_answer(name: re.Match[str], pattern: re.Pattern[str]) -> bool:
    if pattern is ANY_FIELD:
        return not _HOLDS_NONE.search(_name_of(name))
    return name["name"] is not None or _HOLDS_ANSWER.fullmatch(_name_of(name)) is not None


def _end_of_object(text: str, begin: int) -> int:
    """Where an object or a list ends; one that was cut ends with the text."""
    depth = 0
    for found in _BRACKET.finditer(text, begin):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(text)


def mark_answers(rest: str, answers: list[tuple[int, int]]) -> str:
    """Returns the rest of a text with `MARK` in the place of every answer and of the object that holds it."""
    pieces: list[str] = []
    end = 0
    for begin, until in sorted(answers):
        pieces += rest[end:begin].replace(MARK, " "), MARK
        end = max(end, until)
    marked = "".join([*pieces, rest[end:].replace(MARK, " ")])
    return _MARKED_OBJECT.sub(_without_braces, marked)


def _without_braces(found: re.Match[str]) -> str:
    """The mark of an object, if it holds an answer, and what follows its end."""
    end = max(found[0].rfind(mark) for mark in ("}", "]", MARK)) + 1 or 1
    return (MARK if MARK in found[0] else " ") + found[0][end:]


def read_value(value: re.Match[str]) -> tuple[str, Reason | None]:
    """Reads a value that is not an object.

    Args:
        value: The match of the value.

    Returns:
        The text, and the reason why it may not be read, or None.
    """
    string, plain = value["string"], value["plain"] or ""
    content = next((each for each in (value["single"], value["curly"]) if each is not None), plain)
    if string is not None:
        content = unescape(string[1:])
    if _MORE.match(value.string, value.end()):
        return content, "ambiguous"
    if string is not None and not value["closed"]:
        return content, "truncated"
    at_end = value["plain"] is not None and value.end() == len(value.string) and not plain[-1:].isspace()
    if at_end and "{" in value.string[: value.start()]:
        return content, "truncated"
    goes_on = not _FOLLOWS.match(value.string, value.end()) and not PLACEHOLDER.fullmatch(content.strip())
    return content, "not_a_number" if goes_on else None


def unescape(string: str) -> str:
    """Returns the text that a JSON string stands for; the string itself where it is broken."""
    if "\\" in string:
        with suppress(ValueError):
            string = json.loads(f'"{string}"', strict=False)
    return whole_characters(string)


def blank_strings(text: str) -> str:
    """The text with blanks in place of all that its fields hold, which may cite anything."""
    return find_fields(text, ANY_FIELD).rest
