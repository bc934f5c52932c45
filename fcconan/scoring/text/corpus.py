"""Metrics without references: length, distinct n-grams, repetition rate and novelty."""

import string
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame

Scores = dict[str, list[float | str]]  # name of a metric -> its values; where there is none, the reason
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def plain(text: str) -> list[str]:
    """Returns lower-cased words without ASCII punctuation."""
    return text.lower().translate(_PUNCTUATION).split()


def ngrams(tokens: Sequence[str], order: int) -> Iterator[tuple[str, ...]]:
    """Yields the n-grams of a text in their order."""
    return zip(*(tokens[start:] for start in range(order)), strict=False)


def length(names: Sequence[str], units: "DataFrame") -> Scores:
    """Number of words (between white space), and of characters (Unicode code points, including white space)."""
    words = {"length-words": [float(len(text.split())) for text in units["text"]]}
    found = words | {"length-characters": [float(len(text)) for text in units["text"]]}
    return {name: [*found[name]] for name in names}


def distinct(names: Sequence[str], units: "DataFrame") -> Scores:
    """Distinct n-grams as a share of all n-grams, within texts (Li et al., 2016)."""
    cut = [plain(text) for text in units["text"]]
    return {
        name: [_share([own], int(name[-1])) or ("too_short" if own else "no_words") for own in cut] for name in names
    }


def corpus_distinct(names: Sequence[str], rows: "DataFrame") -> dict[str, float | str]:
    """The same over all texts together, which decreases with their number."""
    cut = [plain(text) for text in rows["text"]]
    return {name: _share(cut, int(name[-1])) or "no_values" for name in names}


def _share(texts: Sequence[Sequence[str]], order: int) -> float:
    grams = [gram for tokens in texts for gram in ngrams(tokens, order)]
    return len({*grams}) / len(grams) if grams else 0.0


def no_scores(names: Sequence[str], units: "DataFrame") -> Scores:
    """Missing values of a metric that single texts do not have."""
    return {name: ["corpus_only"] * len(units) for name in names}


def corpus_repetition(names: Sequence[str], rows: "DataFrame") -> dict[str, float | str]:
    """The repetition rate of all texts."""
    return {name: repetition_rate(rows["text"]) for name in names}


def repetition_rate(
    texts: Sequence[str], *, windows: Literal["sliding", "script"] = "sliding", window: int = 1000
) -> float | str:
    """Repetition rate of a corpus in percent (Bertoldi et al., 2013; Cettolo et al., 2014).

    For n from 1 to 4, the share is the number of n-grams that occur more than once in a window, over that of all
    different n-grams of the window, both summed over all windows. The rate is the geometric mean of the four shares.
    n-grams do not cross texts. The order of the texts matters unless one window has all words.

    Args:
        texts: The texts; words are between white space.
        windows: `sliding`: all runs of `window` consecutive words, as in the paper. `script`: the authors' script, the
            source of published values. Its windows are blocks of whole texts with that many words, of which the last
            counts twice if it is complete; a text with fewer than n words is one n-gram, and an n without repetition is
            left out of the mean.
        window: Number of words of a window.

    Returns:
        The rate, or the reason why there is none.
    """
    cut = [text.split() for text in texts if text.strip()]
    count = _in_windows if windows == "sliding" else _in_blocks
    sums = [count(cut, order, window) for order in (1, 2, 3, 4)]
    if any(different == 0 for _, different in sums):
        return "too_short" if cut else "no_values"
    rates = [repeated / different for repeated, different in sums if repeated or windows == "sliding"]
    return 100 * float(np.prod(rates)) ** (1 / len(rates)) if rates else 0.0


def _in_windows(texts: list[list[str]], order: int, window: int) -> tuple[int, int]:
    """Counts repeated and all different n-grams, summed over the windows that begin at each word.

    An n-gram is the first of its kind in the windows that begin after its previous place, and the second in those that
    begin at or before that place, but after the one before.
    """
    words = sum(map(len, texts))
    room = min(window, words) - order + 1  # number of n-grams within a window
    last = words - order - room + 1  # where the last window begins
    earlier: dict[tuple[str, ...], tuple[int, int]] = {}
    repeated = different = start = 0
    for tokens in texts:
        for place, gram in enumerate(ngrams(tokens, order), start):
            previous, before = earlier.get(gram, (-1, -1))
            first = max(0, place - room + 1)
            different += max(0, min(place, last) - max(first, previous + 1) + 1)
            repeated += max(0, min(previous, last) - max(first, before + 1) + 1)
            earlier[gram] = place, previous
        start += len(tokens)
    return repeated, different


def _in_blocks(texts: list[list[str]], order: int, window: int) -> tuple[int, int]:
    """Counts repeated and all different n-grams, summed over blocks of whole texts."""
    blocks: list[list[list[str]]] = [[]]
    for tokens in texts:
        if sum(map(len, blocks[-1])) >= window:
            blocks.append([])
        blocks[-1].append(tokens)
    if sum(map(len, blocks[-1])) >= window:
        blocks.append(blocks[-1])  # a bug of the script, which reads the last block again
    repeated = different = 0
    for block in blocks:
        counts: Counter[tuple[str, ...]] = Counter()
        for tokens in block:
            counts.update(ngrams(tokens, order) if len(tokens) >= order else [tuple(tokens)])
        repeated += sum(count > 1 for count in counts.values())
        different += len(counts)
    return repeated, different


def training_words(texts: Sequence[str]) -> tuple[Any, Any]:
    """Returns the vocabulary of training CNs, and their sets of words as a matrix, for `novelty`."""
    from sklearn.feature_extraction.text import CountVectorizer

    vocabulary = CountVectorizer(analyzer=plain, binary=True)
    return vocabulary, vocabulary.fit_transform(texts)


def novelty(training: tuple[Any, Any], names: Sequence[str], units: "DataFrame") -> Scores:
    """1 - the largest Jaccard similarity of a text's set of words with that of a training CN (Wang and Wan, 2018)."""
    vocabulary, matrix = training
    shared = (vocabulary.transform(units["text"]) @ matrix.T).tocoo()  # only pairs that share a word are compared
    own = np.array([len({*plain(text)}) for text in units["text"]])
    others = np.asarray(matrix.sum(axis=1)).ravel()
    shared.data = shared.data / (own[shared.row] + others[shared.col] - shared.data)
    nearest = shared.tocsr().max(axis=1).toarray().ravel().tolist()
    found = [1 - most if words else "no_words" for most, words in zip(nearest, own, strict=True)]
    return dict.fromkeys(names, found)
