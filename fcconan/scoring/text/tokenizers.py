"""Tokenisers of the text metrics, which need no download."""

import string
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Literal

from fcconan.scoring.names import check_names

Tokens = Literal["white-space", "plain", "13a", "treebank"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _mteval(text: str) -> list[str]:
    return str(_mteval_tokenizer()(text)).split()


def _treebank(text: str) -> list[str]:
    return list(_treebank_tokenizer().tokenize(text))


@cache
def _mteval_tokenizer() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="13a").tokenizer


@cache
def _treebank_tokenizer() -> Any:
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()


def plain(text: str) -> list[str]:
    """Returns lower-cased words without ASCII punctuation."""
    return text.lower().translate(_PUNCTUATION).split()


# Functions of the module, because metrics with lambdas cannot be pickled.
_TOKENISERS: dict[str, Callable[[str], list[str]]] = {
    "white-space": str.split,
    "plain": plain,
    "13a": _mteval,
    "treebank": _treebank,
}


def tokeniser(name: Tokens) -> Callable[[str], list[str]]:
    """Returns a function from a text to its tokens.

    Args:
        name: `white-space`: the words between white space. `plain`: the same in lower case and without ASCII
            punctuation. `13a`: mteval-v13a, the default of sacrebleu. `treebank`: nltk's `word_tokenize` without
            sentence splitting.

    Raises:
        InputError: The tokeniser is unknown.
    """
    check_names("tokeniser", [name], _TOKENISERS)
    return _TOKENISERS[name]


def ngrams(tokens: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    """Yields the n-grams of a text in their order."""
    return zip(*(tokens[start:] for start in range(order)), strict=False)
