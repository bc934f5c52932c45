"""Metrics without references: length, distinct n-grams and repetition rate."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.names import check_names
from fcconan.scoring.text.scores import CorpusScore, Metric, Reason, Unit, UnitScores, signature
from fcconan.scoring.text.tokenizers import Tokens, ngrams, tokeniser

Windows = Literal["sliding", "blocks", "script"]
ORDERS = (1, 2, 3, 4)


class Length(Metric):
    """Number of words (between white space) and of characters (Unicode code points, including white space)."""

    takes_empty = True
    independent = True
    names = ("length-words", "length-characters")

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores units one by one."""
        words = np.array([len(unit.text.split()) for unit in units], dtype=np.float64)
        characters = np.array([len(unit.text) for unit in units], dtype=np.float64)
        return [
            UnitScores("length-words", words, signature("length-words", tok="white-space"), None),
            UnitScores("length-characters", characters, signature("length-characters", unit="code-point"), None),
        ]


class Distinct(Metric):
    """Distinct n-grams as a share of all n-grams, within texts (Li et al., 2016).

    The value of the corpus is that of all texts together. It decreases with the number of words, so compare systems
    with equal numbers of words.

    Args:
        orders: Values of n, one series for each.
        tokens: Name of the tokeniser.

    Raises:
        InputError: An order is below 1.
    """

    independent = True

    def __init__(self, orders: Sequence[int] = (1, 2), *, tokens: Tokens = "plain") -> None:
        if not orders or any(order < 1 for order in orders):
            raise InputError(f"orders of distinct n-grams are {list(orders)}: give whole numbers from 1 up")
        self.orders = tuple(orders)
        self.names = tuple(f"distinct-{order}" for order in orders)
        self._tokens, self._cut = tokens, tokeniser(tokens)

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores units one by one."""
        cut = [self._cut(unit.text) for unit in units]
        found = []
        for order, name in zip(self.orders, self.names, strict=True):
            values = np.full(len(units), np.nan)
            reasons: dict[int, Reason] = {}
            for place, tokens in enumerate(cut):
                if len(tokens) < order:
                    reasons[place] = "too_short" if tokens else "no_words"
                else:
                    values[place] = len(set(ngrams(tokens, order))) / (len(tokens) - order + 1)
            found.append(UnitScores(name, values, signature(name, tok=self._tokens), True, reasons))
        return found

    def corpus(
        self, series: UnitScores, texts: Sequence[str], references: Sequence[Sequence[str]]
    ) -> CorpusScore | None:
        """Computes the share over all texts together."""
        order = int(series.name.removeprefix("distinct-"))
        counts = Counter(gram for text in texts for gram in ngrams(self._cut(text), order))
        name = signature(series.name, tok=self._tokens, corpus="pooled")
        return CorpusScore(len(counts) / counts.total(), name) if counts else CorpusScore(None, name, "no_values")


class RepetitionRate(Metric):
    """Repetition rate of a corpus in percent (Bertoldi et al., 2013; Cettolo et al., 2014); single texts have none.

    For n from 1 to 4, the share is the number of n-grams that occur more than once in a window, over that of all
    different n-grams of the window, both summed over all windows. The rate is the geometric mean of the four shares.
    n-grams do not cross texts. The order of the texts matters unless one window has all words; Cettolo's instructions
    are to shuffle them.

    Args:
        window: Number of words (between white space) of a window.
        windows: `sliding`: all runs of that many consecutive words, as in the paper. `blocks`: consecutive blocks of
            whole texts with that many words, the last one shorter; a text with fewer than n words is one n-gram.
            `script`: the authors' script, the source of published values. It uses blocks, counts the last block twice
            if its last text completes it, and leaves an n without repetition out of the mean. A corpus without repeated
            4-grams may then score higher than one with a few.

    Raises:
        InputError: An argument is out of range.
    """

    independent = True
    names = ("repetition-rate",)

    def __init__(self, *, window: int = 1000, windows: Windows = "sliding") -> None:
        if window < len(ORDERS):
            raise InputError(f"the window is {window} words: give {len(ORDERS)} or more")
        check_names("kind of windows", [windows], get_args(Windows))
        self._window, self._windows = window, windows

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Returns missing values: single texts have no rate."""
        reasons: dict[int, Reason] = dict.fromkeys(range(len(units)), "corpus_only")
        return [UnitScores("repetition-rate", np.full(len(units), np.nan), self._signature(), False, reasons)]

    def corpus(
        self, series: UnitScores, texts: Sequence[str], references: Sequence[Sequence[str]]
    ) -> CorpusScore | None:
        """Computes the rate."""
        rates = self.rates(texts)
        if rates is None:
            return CorpusScore(None, self._signature(), "too_short" if texts else "no_values")
        included = [rate for rate in rates if rate > 0] if self._windows == "script" else rates
        value = 100 * float(np.prod(included)) ** (1 / len(included)) if included else 0.0
        return CorpusScore(value, self._signature())

    def rates(self, texts: Sequence[str]) -> list[float] | None:
        """Returns the four rates, from 0 to 1; None if there is no n-gram for some n."""
        cut = [tokens for tokens in map(str.split, texts) if tokens]
        if self._windows == "sliding":
            sums = [_count_in_windows(cut, order, self._window) for order in ORDERS]
        else:
            blocks = list(_whole_texts(cut, self._window))
            if self._windows == "script" and blocks and sum(map(len, blocks[-1])) >= self._window:
                blocks.append(blocks[-1])  # a bug of the script, which reads the last block again
            sums = [_count_in_blocks(blocks, order) for order in ORDERS]
        if any(total == 0 for _, total in sums):
            return None
        return [repeated / total for repeated, total in sums]

    def _signature(self) -> str:
        window = {"window": self._window, "windows": self._windows}
        return signature("repetition-rate", n="1-4", tok="white-space", case="mixed", **window, scale=100)


def csv_cell(text: str) -> str:
    """Returns a text as a cell of a CSV file, with quotation marks if necessary.

    The ranking paper's repetition rates are those of the script for texts in this form.
    """
    cell = io.StringIO()
    csv.writer(cell, lineterminator="").writerow([text])
    return cell.getvalue()


def _count_in_windows(texts: list[list[str]], order: int, window: int) -> tuple[int, int]:
    """Counts repeated and all different n-grams, summed over the windows that begin at each word."""
    grams: list[tuple[str, ...] | None] = []  # by their first word; None if they would cross texts
    for tokens in texts:
        grams += [*ngrams(tokens, order), *[None] * min(order - 1, len(tokens))]
    if len(grams) < order:
        return 0, 0
    held: Counter[tuple[str, ...]] = Counter()
    repeated = sum_repeated = sum_different = 0
    room = min(window, len(grams)) - order + 1  # number of n-grams within a window
    for place, gram in enumerate(grams):
        if gram is not None:
            held[gram] += 1
            repeated += held[gram] == 2
        gone = grams[place - room] if place >= room else None
        if gone is not None:
            held[gone] -= 1
            repeated -= held[gone] == 1
            if not held[gone]:
                del held[gone]
        if room - 1 <= place <= len(grams) - order:
            sum_repeated += repeated
            sum_different += len(held)
    return sum_repeated, sum_different


def _count_in_blocks(blocks: list[list[list[str]]], order: int) -> tuple[int, int]:
    """Counts repeated and all different n-grams, summed over blocks of whole texts."""
    repeated = different = 0
    for block in blocks:
        counts: Counter[tuple[str, ...]] = Counter()
        for tokens in block:
            counts.update(ngrams(tokens, order) if len(tokens) >= order else [tuple(tokens)])
        repeated += sum(count > 1 for count in counts.values())
        different += len(counts)
    return repeated, different


def _whole_texts(texts: list[list[str]], window: int) -> Iterator[list[list[str]]]:
    block: list[list[str]] = []
    words = 0
    for tokens in texts:
        block.append(tokens)
        words += len(tokens)
        if words >= window:
            yield block
            block, words = [], 0
    if block:
        yield block
