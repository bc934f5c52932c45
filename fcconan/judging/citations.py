"""Tells whether an explanation cites the texts that were judged."""

import re
from collections.abc import Mapping

# An apostrophe within a word ends no quotation. A quotation of one mark is found, too, or its end would begin another.
_QUOTED = re.compile(
    r"\"([^\"]{1,400})\"|“([^“”]{1,400})”|„([^„“”\"]{1,400})[“”\"]|«([^«»]{1,400})»|»([^«»]{1,400})«|‹([^‹›]{1,400})›"
    r"|「([^「」]{1,400})」|『([^『』]{1,400})』|[‘‚]((?:[^‘’]|’(?=\w)){1,400})[’‘](?!\w)"
    r"|(?<!\w)'((?:[^']|'(?=\w)){1,400})'(?!\w)"
)
_LEFT_OUT = re.compile(r"[\[(]?(?:\.{3}|…)[\])]?")
_LONG_WORD = 5


def cites(explanation: str | None, texts: Mapping[str, str]) -> bool:
    """Tells whether an explanation cites: a phrase in quotation marks, of two words or more, that a text has.

    A single word counts if it is all that is quoted and has five letters or more. Case and spacing do not count, and
    what stands on both sides of dots must be in one text.

    Args:
        explanation: What a judge said.
        texts: The texts that it was shown, by their names.
    """
    if not explanation:
        return False
    known = [_plain(text) for text in texts.values()]
    for found in _QUOTED.findall(explanation):
        parts = [_plain(part).strip(" .,;:!?") for part in _LEFT_OUT.split(next(filter(None, found)))]
        parts = [part for part in parts if part]
        long = any(" " in part or len(part) >= _LONG_WORD for part in parts)
        if long and any(all(part in text for part in parts) for text in known):
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())
