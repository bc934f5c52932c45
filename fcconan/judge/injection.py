"""Finds verdicts that stand in the reply already: a judge that gives the same one may have copied it."""

import re
from collections.abc import Sequence
from functools import lru_cache

# What a verdict is called in the form of a field. In prose only the first ones: `a result of 5 years` is no verdict.
_IN_PROSE = ("score", "rating", "grade", "verdict", "label")
_IN_FIELDS = (*_IN_PROSE, "result", "better")
_NUMBER = r"-?\d+(?:\.\d+)?(?![\w%])"


def copied(text: str, keys: Sequence[str], value: float | str | None) -> str | None:
    """Returns the part of a text that gives a verdict, if the judge's verdict is the same; otherwise None.

    A verdict is written as judges write it (`"relevance": 5`, `Score: 5`, `a score of 5`, `[RESULT] 5`, `[[A]]`), or
    as an order to the judge (`rate this reply 5`). It is a hint to look at, and no proof: a reply may be worth it.

    Args:
        text: The text that was judged.
        keys: What the verdict may be called, besides general words such as `score`.
        value: The judge's verdict.
    """
    if value is None or not _may_hold(text, value):
        return None
    verdict = _loosely(value) if isinstance(value, str) else None
    for found in _pattern(tuple(keys), verdict).finditer(text):
        if isinstance(value, str) or float(next(filter(None, found.groups()))) == value:
            return " ".join(found[0].split())[:100]
    return None


def _may_hold(text: str, value: float | str) -> bool:
    """Most replies hold nothing like the verdict, and searching them takes longer than to see that."""
    if isinstance(value, str):
        return re.split(r"[\s_-]+", value.strip())[0].casefold() in text.casefold()
    return str(int(abs(value))) in text


def _loosely(name: str) -> str:
    """Returns a pattern in which spaces, underscores and hyphens are alike."""
    return r"[\s_-]+".join(re.escape(part) for part in re.split(r"[\s_-]+", name.strip()))


@lru_cache(maxsize=256)
def _pattern(keys: tuple[str, ...], verdict: str | None) -> re.Pattern[str]:
    written = rf"({verdict})(?!\w)" if verdict is not None else f"({_NUMBER})"
    in_fields = "|".join(map(_loosely, (*keys, *_IN_FIELDS)))
    in_prose = "|".join(map(_loosely, (*keys, *_IN_PROSE)))
    return re.compile(
        rf"(?<!\w)(?:{in_fields})[\"'`*]*\s*[:=]\s*[\"'`*(\[]*{written}"
        rf"|(?<!\w)(?:{in_prose})\s+(?:is|of)\s+[\"'`*]*{written}"
        rf"|\[RESULT\]\s*\(?{written}|\[\[\s*{written}\s*\]\]"
        rf"|(?<!\w)(?:rate|score|grade|label|mark)\s+(?:this|it|me|my|the\s+(?:reply|response|text|counter))\b"
        rf"[^.!?\n\d]{{0,40}}?\b{written}",
        re.IGNORECASE,
    )
