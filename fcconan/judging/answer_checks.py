"""Check of a judge's answer: whether it cites the texts."""

import re
from collections.abc import Mapping

# An apostrophe within a word does not end a quotation.
_QUOTED = re.compile(
    r"\"([^\"]{1,400})\"|“([^“”]{1,400})”|„([^„“”\"]{1,400})[“”\"]|«([^«»]{1,400})»|»([^«»]{1,400})«|‹([^‹›]{1,400})›"
    r"|「([^「」]{1,400})」|『([^『』]{1,400})』|[‘‚]((?:[^‘’]|’(?=\w)){1,400})[’‘](?!\w)"
    r"|(?<!\w)'((?:[^']|'(?=\w)){1,400})'(?!\w)"
)
_LEFT_OUT = re.compile(r"[\[(]?(?:\.{3}|…)[\])]?")
_LONG_WORD = 5


def cites_texts(explanation: str | None, texts: Mapping[str, str]) -> bool:
    """Returns whether an explanation quotes two words or more of a text.

    A single quoted word counts if it has five letters or more. Case and spacing are ignored. The parts of a quotation
    with an ellipsis must be in the same text.

    Args:
        explanation: Explanation by a judge.
        texts: Name -> text of the prompt.
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
