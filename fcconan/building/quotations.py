"""The gate of labels-only folders: closed forms of strings, and quotations of texts."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from fcconan.data import NAME, NAMES, find_column
from fcconan.errors import InputError

RUN = 7  # consecutive words that count as a quotation
WHOLE = 4  # words of a shorter text that is searched within clauses
_WORD = re.compile(r"[^\W_]+")
_CLAUSE = re.compile(r'[\n|`"“”<>*:;,.!?()/]+')  # between lines, cells, clauses, and parts of paths


def find_quotation(strings: Iterable[str], texts: Iterable[str]) -> str | None:
    """Returns the first string that quotes a text.

    A quotation is seven consecutive words of a text, a whole text of four to six words, or a whole text as a clause or
    as one word. Case, punctuation and separators do not count. Texts of one word are names.

    Examples:
        >>> find_quotation(["Oaks.", "run-elves_bake-v2", "Elves_bake!"], ["Elves bake."])
        'Elves_bake!'
    """
    wholes, runs = set[str](), set[tuple[str, ...]]()
    for text in texts:
        words = _words(text)
        if len(words) > 1:
            wholes.add("".join(words))
        if len(words) >= WHOLE:
            runs.update(tuple(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1)))
    for string in strings:
        words = _words(string)
        places = ((at, at + size) for size in range(WHOLE, RUN + 1) for at in range(len(words) - size + 1))
        clauses = [string, *_CLAUSE.split(string)]
        joined = {"".join(_words(part)) for clause in clauses for part in (clause, *clause.split())}
        if not wholes.isdisjoint(joined) or any(tuple(words[start:end]) in runs for start, end in places):
            return string
    return None


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def open_names(config: str, columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Checks the strings of a labels-only table, and returns those that are not in a closed vocabulary.

    Args:
        config: Name of the config.
        columns: The values by column.

    Raises:
        InputError: A string has another form than its column.
    """
    names = [*columns]
    for name, values in columns.items():
        column = find_column(config, name)
        form = NAME if column is None else column.form
        lists = [each for each in values if isinstance(each, list)]
        strings = {each for each in chain(values, *lists) if isinstance(each, str)} - {""}
        for string in strings:
            if not re.fullmatch(form, string):
                raise InputError(
                    f"the column {name} of {config} holds {beginning(string)}, expected a name without spaces or an "
                    "entry of its vocabulary in a labels-only folder: declare it as `text` in the recipe, or rename it"
                )
        if form in (NAME, NAMES):
            names += [*strings, *(" ".join(filter(None, each)) for each in lists)]
    return names


def beginning(string: str) -> str:
    """Returns the beginning of a text for a message, which must not repeat it."""
    return f"{string[: min(6, len(string) // 2)]!a}... ({len(string)} characters)"
