"""Sentences that stand in several places."""

import difflib
from collections.abc import Iterable


def counted(number: int, what: str) -> str:
    """Returns a number with a noun, such as `1 rater` and `2 raters`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns a question with the nearest of the known names, and a space after it; nothing if none is near."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    return f"did you mean {near[0]!r}? " if near else ""


def failed(requests: int) -> str:
    """Says how many requests failed in a way that may be over when they are sent again."""
    return f"{counted(requests, 'request')} failed for a passing reason"
