"""Tokenisers of the text metrics; none needs a download."""

import string
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from fcconan.errors import InputError

Tokens = Literal["white-space", "plain", "13a", "treebank"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def tokeniser(name: Tokens) -> Callable[[str], list[str]]:
    """Returns a function from a text to its tokens.

    Args:
        name: `white-space`: what stands between white space. `plain`: the same after lower-casing and taking ASCII
            punctuation out. `13a`: mteval-v13a's, sacrebleu's default. `treebank`: nltk's `word_tokenize` without its
            splitting into sentences.

    Raises:
        InputError: There is no such tokeniser.
    """
    if name == "white-space":
        return str.split
    if name == "plain":
        return plain
    if name == "13a":
        from sacrebleu.metrics.bleu import BLEU

        marked = BLEU(tokenize="13a").tokenizer
        return lambda text: str(marked(text)).split()
    if name == "treebank":
        from nltk.tokenize import NLTKWordTokenizer

        treebank = NLTKWordTokenizer()
        return lambda text: [str(token) for token in treebank.tokenize(text)]
    raise InputError(f"tokens is {name!r}: give white-space, plain, 13a or treebank")


def plain(text: str) -> list[str]:
    """Returns lower-cased words without ASCII punctuation."""
    return text.lower().translate(_PUNCTUATION).split()


def ngrams(tokens: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    """Yields the n-grams of a text in their order."""
    return zip(*(tokens[start:] for start in range(order)), strict=False)
