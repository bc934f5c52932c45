"""Whether a text that everybody can read quotes texts that may not be passed on."""

import re
from collections.abc import Iterable

from fcconan.identity import normalise

QUOTED_WORDS = 8  # as many in a row are no coincidence
SHORTEST_TEXT = 4  # words of a text that is looked for as a whole


def quoted(public: str, texts: Iterable[str]) -> bool:
    """Returns whether a text quotes one of others: eight words in a row, or all of one that has four to seven.

    Words are compared without case and without what stands around them, such as quotation marks.
    """
    words = _words(public)
    whole = f" {' '.join(words)} "
    runs = {tuple(words[start : start + QUOTED_WORDS]) for start in range(len(words) - QUOTED_WORDS + 1)}
    for text in texts:
        parts = _words(text)
        if len(parts) < QUOTED_WORDS:
            if len(parts) >= SHORTEST_TEXT and f" {' '.join(parts)} " in whole:
                return True
        elif any(tuple(parts[at : at + QUOTED_WORDS]) in runs for at in range(len(parts) - QUOTED_WORDS + 1)):
            return True
    return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", normalise(text).casefold())
