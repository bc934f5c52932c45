"""Shortens two replies to what a model can read, both by the same share, or says that it cannot be done."""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Literal, get_args

from fcconan.errors import InputError
from fcconan.models import Messages

Overflow = Literal["shorten", "invalid"]
CountTokens = Callable[[Messages], int]
ELLIPSIS = "…"
_BYTES_A_TOKEN, _TOKENS_A_MESSAGE = 3, 16
_WORD = re.compile(r"\S+")


def careful_estimate(messages: Messages) -> int:
    """Returns how many tokens messages may have: one for three bytes, and 16 for every message.

    For endpoints, which do not say. English has about four bytes a token.
    """
    return sum(
        ceil(len(each["content"].encode(errors="surrogatepass")) / _BYTES_A_TOKEN) + _TOKENS_A_MESSAGE
        for each in messages
    )


@dataclass(frozen=True)
class ContextBudget:
    """How much a model can read and write, and what is done with replies that are too long for it.

    Attributes:
        tokens: Of question and answer together.
        count: Counts the tokens of messages; a local model's tokenizer, or an estimate.
        counter: What `count` is, for the configuration.
        overflow: `shorten` both replies, or leave the comparison `invalid`.
        least_kept: The share of its words that a shortened reply keeps at least; where that is still too long, the
            comparison is invalid.
    """

    tokens: int
    count: CountTokens = careful_estimate
    counter: str = "careful_estimate"
    overflow: Overflow = "shorten"
    least_kept: float = 0.5

    def __post_init__(self) -> None:
        if self.overflow not in get_args(Overflow):
            raise InputError(f"overflow is {self.overflow!r}: choose one of {', '.join(get_args(Overflow))}")
        if not 0 < self.least_kept <= 1:
            raise InputError(f"least_kept is {self.least_kept}: give a share above 0, and 1 at most")


@dataclass(frozen=True)
class Fitted:
    """Two replies as they are shown.

    Attributes:
        a: The first reply.
        b: The second reply.
        words_cut: How many words of each are not shown.
    """

    a: str
    b: str
    words_cut: tuple[int, int] = (0, 0)


def fit(
    render: Callable[[str, str], Messages], a: str, b: str, *, context: ContextBudget, answer_tokens: int
) -> Fitted | None:
    """Shortens two replies, as little as needed, until the question leaves room for the answer in either order.

    Both keep the same share of their words, rounded up, so that neither gets an advantage; what is cut is the end of
    each, and an ellipsis stands in its place. Both orders are measured, so that they show the same words.

    Args:
        render: Puts the first and the second reply into a prompt.
        a: One reply.
        b: The other one.
        context: What there is room for.
        answer_tokens: The room that the answer needs.

    Returns:
        None where the replies do not fit, or would have to be shortened more than the context allows.
    """

    def fits(shown: Fitted) -> bool:
        both = (render(shown.a, shown.b), render(shown.b, shown.a))
        return all(context.count(messages) + answer_tokens <= context.tokens for messages in both)

    whole = Fitted(a, b)
    if fits(whole):
        return whole
    if context.overflow == "invalid":
        return None
    words = [list(_WORD.finditer(text)) for text in (a, b)]
    longest = max(map(len, words))

    def shortened(cut: int) -> Fitted:
        """Without so many words of the longer reply, and as many of the other one in proportion."""
        kept = [ceil(len(each) * (longest - cut) / longest) for each in words]
        texts = [
            text if number == len(each) else f"{text[: each[number - 1].end()]} {ELLIPSIS}"
            for text, each, number in zip((a, b), words, kept, strict=True)
        ]
        return Fitted(texts[0], texts[1], (len(words[0]) - kept[0], len(words[1]) - kept[1]))

    cuts = range(1, longest - max(1, ceil(context.least_kept * longest)) + 1)
    place = bisect_left(cuts, True, key=lambda cut: fits(shortened(cut)))
    return shortened(cuts[place]) if place < len(cuts) else None
