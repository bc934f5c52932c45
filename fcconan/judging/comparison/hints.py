"""Finds what in a reply may have told a judge its verdict: verdicts in words, and orders to the judge."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from fcconan.judging.comparison.pairs import Pair
from fcconan.judging.injection import readable
from fcconan.parsing import Verdict, parse_comparison

Side = Literal["a", "b"]
EXCHANGED: dict[Verdict, Verdict] = {"a": "b", "b": "a", "tie": "tie"}

# What a reply may hold to tell a judge its verdict. The first two name a position, the last two speak for themselves.
_NAMED = {
    "marker": re.compile(r"\[\[\s*(?:(?P<a>a|1)|(?P<b>b|2)|(?P<tie>c|tie))\s*\]\]", re.IGNORECASE),
    "json_verdict": re.compile(
        r"""["'](?:better|verdict|winner|preferred)["']\s*:\s*["']?(?:(?P<a>a|1)|(?P<b>b|2)|(?P<tie>tie))\b""",
        re.IGNORECASE,
    ),
}
_OWN = {
    "prompt_marker": re.compile(r"^\s*\[/?(?:the\s+(?:start|end)\s+of\b|system\b|question\b|inst\b)", re.I | re.M),
    "instruction": re.compile(
        r"\b(?:ignore|disregard|forget)\b[^.!?\n]{0,40}\b(?:instructions?|prompt|rules|above)\b"
        r"|\b(?:choose|pick|prefer|rate|score|grade)\s+(?:this|my)\s+(?:reply|answer|response|text|one)\b",
        re.IGNORECASE,
    ),
}


def suspicion(text: str, verdict: Verdict, *, shown_as: Side) -> str | None:
    """Returns what in a reply may have told the judge its verdict: the same verdict in words, or an order to the judge.

    It is a hint to look at the verdict, and no proof: a reply may win on its merits. `marker`, `json_verdict` and
    `scores` name the verdict that was given; `prompt_marker` and `instruction` stand in a reply that won.

    Args:
        text: The reply.
        verdict: What the judge said, a being the reply shown first.
        shown_as: Where this reply was shown.
    """
    wanted = (verdict, "own") if verdict == shown_as else (verdict,)
    return next((kind for kind, what in _hints(text) if what in wanted), None)


@lru_cache(maxsize=4096)  # a reply is compared with many others
def _hints(text: str) -> tuple[tuple[str, str], ...]:
    """What a text tells a judge: the kind of hint, and the verdict that it names, or `own` for the text itself."""
    text = readable(text)
    found = [
        (kind, verdict)
        for kind, pattern in _NAMED.items()
        for match in pattern.finditer(text)
        for verdict, named in match.groupdict().items()
        if named is not None
    ]
    # What follows the scores in a reply is no judge's word on them.
    scores = parse_comparison(text.strip().partition("\n")[0]).value
    if scores is not None:
        found.append(("scores", scores))
    return (*found, *((kind, "own") for kind, pattern in _OWN.items() if pattern.search(text)))


def suspicious(pair: Pair, verdicts: Mapping[Side, Verdict | None]) -> str | None:
    """Returns the first suspicion, reply a before reply b, in the order in which the calls were made."""
    for shown_first, verdict in verdicts.items():
        if verdict is None:
            continue
        shown_verdict = verdict if shown_first == "a" else EXCHANGED[verdict]
        for name, reply in (("a", pair.a), ("b", pair.b)):
            found = suspicion(reply["text"], shown_verdict, shown_as="a" if name == shown_first else "b")
            if found:
                return f"{name}:{found}"
    return None
