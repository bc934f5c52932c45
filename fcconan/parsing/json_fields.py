"""Finds JSON fields and lines such as `Relevance: 4` in a judge's output, and marks their positions.

The output may be other than valid JSON: single or curly quotation marks, truncated objects and surrounding prose are
accepted.
"""

import json
import re
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from fcconan.models import well_formed as replace_surrogates
from fcconan.parsing.phrases import MARK
from fcconan.parsing.results import Reason

WRAPPERS = "*_`\"'“”‘’ \t\r\n"
# Possessive quantifiers (`*+`) keep each scan linear for any output.
PLACEHOLDER = re.compile(
    r"[.…?_\s]*+|<.*|\{\{.*|\[[^\W\d]*+\]|x+"
    r"|\(?(?:(?:an?|the|your)\s+)?(?:number|integer|int|float|score|rating|grade|value)"
    r"(?:\s+(?:number|between|from|in|on)\b.*)?",
    re.IGNORECASE | re.DOTALL,
)
# Closing marks are optional: truncated outputs lack them.
STRING = r'"(?:[^"\\]++|\\.)*+'
_VALUE = re.compile(
    rf"""(?P<string>{STRING})(?P<closed>"?)|'(?P<single>[^'\n]*+)'|“(?P<curly>[^”\n]{{0, 1000}}+)”"""
    rf"""|\{{(?P<inner>(?:[^{{}}"]++|{STRING}"?)*+)(?P<end>[{{}}]?)"""
    r"""|(?P<plain><[^>\n]*+>|[^,}\n"]*+)""",
    re.DOTALL,
)
# Text of another field, and a value that is a number or a word.
_SKIPPED = re.compile(rf"""{STRING}"?|'[^'\n]*+'|“[^”\n]{{0,1000}}+”""", re.DOTALL)
_LITERAL = re.compile(r"(?:true|false|null|none|yes|no|-?\d++(?:\.\d++)?)\b", re.IGNORECASE)
_BRACKET = re.compile(rf'[{{}}\[\]]|{STRING}"?', re.DOTALL)
# Strings in a list; they contain no fields.
_ELEMENT = rf'[\[,]\s*+{STRING}"(?=\s*+[,\]])'
_OTHER_NAME = r"""(?:"[^"\\\n]{1,60}"|'[^'\\\n]{1,60}'|“[^“”\\\n]{1,60}”)"""
ANY_FIELD = re.compile(rf'(?<!\\)"(?P<name>[^"\\\n]{{1,60}})"\s*+:\s*+|{_ELEMENT}', re.DOTALL)
# Text that may follow a value. Anything else could continue it, as in `"4"5`, also on the next line.
_FOLLOWS = re.compile(
    r"""[ \t\r]*+(?:\Z|[,}\])`*;]|\.(?!\d)|"[^"\n]{1,60}"\s*+[:：]"""
    r"""|\n(?!\s*+(?:(?!\d++[.)]\s)\d|/|[.+\-−–]\s*+\d)))"""
)
# Further values after a value: `3, 5`, and a prompt's `"a" or "b"`.
_MORE = re.compile(r"""\s*+(?:(?:or|to|[|/-])\s*+["'\d]|,\s*+(?:[+\-−.]?\d|"\d+(?:\.\d+)?"\s*+[,}\]]))""")
# Objects under these names contain the answer. Without a requested name, all objects do except `_HOLDS_NONE`.
_HOLDS_ANSWER = re.compile(
    r"(?:(?:final|overall|my|the|all|aspect|json) )?(?:scores?|ratings?|grades?|answers?|results?|evaluations?|"
    r"assessments?|judge?ments?|verdicts?|outputs?|response|aspects?|data)"
)
_HOLDS_NONE = re.compile(
    r"\b(?:schema|formats?|examples?|templates?|prompts?|inputs?|instructions?|request\w*|expected|injection|injected|"
    r"quot\w+|errors?|refus\w+|samples?|placeholders?|properties|default|hypothetical|repl(?:y|ies)|texts?|messages?)\b"
)
# An object with marked answers and blanked strings.
_MARKED_OBJECT = re.compile(
    rf"[\[{{](?:\[[\s,\d.]*+\]|[\s,{{}}\[\]{MARK}]|{_OTHER_NAME}\s*+[:：]\s*+(?:[\w.+-]++)?+)*+"
)


def normalize_name(text: str) -> str:
    """Normalizes a name: lower case, with blanks instead of underscores and hyphens."""
    return re.sub(r"[\s_-]+", " ", text.strip(WRAPPERS + ".")).casefold()


@lru_cache(maxsize=256)
def field_patterns(keys: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compiles the patterns of a field.

    Args:
        keys: Names of the field.

    Returns:
        The pattern of the beginning of the field in JSON, and that of a line with the field only.
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
    """Fields with requested names, in order, and their surroundings.

    Attributes:
        found: Name and value of each field.
        other: Normalized name and content of other fields with a text, a number or a word such as `null`.
        rest: Text in which these fields and all strings are replaced by blanks.
    """

    found: list[tuple[str, re.Match[str]]]
    other: list[tuple[str, str]]
    rest: str


def find_fields(text: str, pattern: re.Pattern[str]) -> Fields:
    """Finds all fields that match a pattern, except within the value of another field or a string of a list."""
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
                continue  # it may contain fields
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
                # The strings of a list are searched one by one.
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
    """Returns the end of an object or list; a truncated one ends with the text."""
    depth = 0
    for found in _BRACKET.finditer(text, begin):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(text)


def mark_answers(rest: str, answers: list[tuple[int, int]]) -> str:
    """Replaces each answer, and the object that contains it, with `MARK` in the rest of a text."""
    pieces: list[str] = []
    end = 0
    for begin, until in sorted(answers):
        pieces += rest[end:begin].replace(MARK, " "), MARK
        end = max(end, until)
    marked = "".join([*pieces, rest[end:].replace(MARK, " ")])
    return _MARKED_OBJECT.sub(_without_braces, marked)


def _without_braces(found: re.Match[str]) -> str:
    """Returns the mark of an object, if it contains an answer, and the text after its end."""
    end = max(found[0].rfind(mark) for mark in ("}", "]", MARK)) + 1 or 1
    return (MARK if MARK in found[0] else " ") + found[0][end:]


def read_value(value: re.Match[str]) -> tuple[str, Reason | None]:
    """Reads a value other than an object.

    Args:
        value: Match of the value.

    Returns:
        The text, and the reason why it cannot be read, or None.
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
    """Decodes a JSON string; returns an invalid one unchanged."""
    if "\\" in string:
        with suppress(ValueError):
            string = json.loads(f'"{string}"', strict=False)
    return replace_surrogates(string)


def blank_strings(text: str) -> str:
    """Replaces the contents of all fields with blanks, because they may be quotations."""
    return find_fields(text, ANY_FIELD).rest
