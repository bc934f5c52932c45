"""Repetition rate, distinct n-grams and novelty against their definitions, written out."""

import math
import string
from collections import Counter

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.scoring.text.corpus import Distinct, RepetitionRate, csv_cell
from fcconan.scoring.text.evaluation import score_texts
from fcconan.scoring.text.novelty import Novelty


def _texts(count: int, *, seed: int, words: int = 12) -> list[str]:
    generator = np.random.default_rng(seed)
    vocabulary = [f"w{number}" for number in range(words)]
    return [" ".join(generator.choice(vocabulary, size=generator.integers(1, 15)).tolist()) for _ in range(count)]


def _rate(windows: list[list[list[str]]]) -> float:
    """The definition: windows are lists of stretches of words that n-grams do not leave."""
    rates = []
    for order in (1, 2, 3, 4):
        repeated = different = 0
        for window in windows:
            counts = Counter(
                tuple(part[start : start + order]) for part in window for start in range(len(part) - order + 1)
            )
            repeated += sum(1 for count in counts.values() if count > 1)
            different += len(counts)
        rates.append(repeated / different)
    return 100 * math.prod(rates) ** 0.25


def _sliding_windows(texts: list[str], size: int) -> list[list[list[str]]]:
    words = [(place, word) for place, text in enumerate(texts) for word in text.split()]
    windows = []
    for start in range(max(1, len(words) - size + 1)):
        parts: dict[int, list[str]] = {}
        for place, word in words[start : start + size]:
            parts.setdefault(place, []).append(word)
        windows.append(list(parts.values()))
    return windows


def _value(texts: list[str], metric: RepetitionRate) -> float | None:
    return score_texts(texts, metrics=[metric])["repetition-rate"].corpus.value


@pytest.mark.parametrize("window", [4, 7, 30, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_repetition_rate_slides(window: int, seed: int) -> None:
    texts = _texts(25, seed=seed, words=3)
    expected = _rate(_sliding_windows(texts, window))
    assert _value(texts, RepetitionRate(window=window)) == pytest.approx(expected, rel=1e-12)
    assert window < 30 or expected > 0


def test_repetition_rate_by_hand() -> None:
    # Words: a twice, b twice, c, d, e of 5. Pairs: a-b twice of 5. No triple is repeated, so the mean is 0.
    assert _value(["a b c", "a b d e"], RepetitionRate()) == 0
    # The script leaves out what is 0, and the square root of 2/5 * 1/4 remains.
    script = _value(["a b c", "a b d e"], RepetitionRate(windows="script"))
    assert script == pytest.approx(100 * math.sqrt(2 / 5 * 1 / 4))
    # One text twice: every n-gram is repeated.
    assert _value(["a b c d", "a b c d"], RepetitionRate()) == pytest.approx(100)


def test_blocks_hold_whole_texts() -> None:
    texts = ["a b c d a b c d", "a b c d e f", "a a a a a b b b b b"]
    # The first two texts make a block of 14 words, the last one the next.
    blocks = [[text.split() for text in texts[:2]], [texts[2].split()]]
    expected = _rate(blocks)
    assert expected > 0
    assert _value(texts, RepetitionRate(window=12, windows="blocks")) == pytest.approx(expected)
    # The last block is complete at 10 words, and the script counts it twice.
    assert _value(texts, RepetitionRate(window=10, windows="blocks")) == pytest.approx(expected)
    assert _value(texts, RepetitionRate(window=10, windows="script")) == pytest.approx(_rate([*blocks, blocks[-1]]))
    assert _value(texts, RepetitionRate(window=12, windows="script")) == pytest.approx(expected)


def test_a_short_text_is_one_ngram_of_a_block() -> None:
    # n = 4: a b c d and the two short texts, which are equal: 1 of 2.
    rates = RepetitionRate(windows="blocks").rates(["a b c d", "x", "x"])
    assert rates == [1 / 5, 1 / 4, 1 / 3, 1 / 2]


def test_repetition_rate_without_ngrams() -> None:
    scores = score_texts(["a b", "c", ""], metrics=["repetition-rate"])["repetition-rate"]
    assert (scores.corpus.value, scores.corpus.reason) == (None, "too_short")
    assert scores.reasons == ("corpus_only", "corpus_only", "empty_text")
    assert "|window:1000|windows:sliding|" in scores.corpus.signature


def test_cells_are_quoted_where_they_need_it() -> None:
    assert [csv_cell(text) for text in ("a b", "a, b", 'say "a"')] == ["a b", '"a, b"', '"say ""a"""']


@pytest.mark.parametrize("options", [{"window": 3}, {"windows": "jumping"}])
def test_bad_windows(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="window"):
        RepetitionRate(**options)  # type: ignore[arg-type]


def test_distinct() -> None:
    scores = score_texts(["A b, a.", "b", "..."], metrics=[Distinct([1, 2])])
    assert scores["distinct-1"].values[:2].tolist() == [2 / 3, 1.0]
    assert scores["distinct-1"].reasons == (None, None, "no_words")
    assert scores["distinct-1"].corpus.value == 2 / 4
    assert scores["distinct-2"].values[0] == 1.0
    assert scores["distinct-2"].reasons == (None, "too_short", "no_words")
    assert scores["distinct-2"].corpus.value == 1.0
    raw = score_texts(["A a"], metrics=[Distinct([1], tokens="white-space")])["distinct-1"]
    assert (raw.values[0], "|tok:white-space|" in raw.signature) == (1.0, True)


def _words(text: str) -> set[str]:
    return set(text.translate(str.maketrans("", "", string.punctuation)).lower().split())


def test_novelty_is_its_definition() -> None:
    texts = [*_texts(1_200, seed=0, words=40), "W1, w2!", "nothing of this"]  # more than are compared at a time
    training = [*_texts(60, seed=1, words=40), "", "...", "w1 w2 w3 W3."]
    expected = [
        1 - max(len(own & other) / len(own | other) for other in map(_words, training) if other)
        for own in map(_words, texts)
    ]
    scores = score_texts(texts, metrics=[Novelty(training)])["novelty"]
    assert scores.values == pytest.approx(expected, abs=1e-12)
    assert scores.values[-2:].tolist() == pytest.approx([1 / 3, 1.0])
    assert scores.corpus.value == pytest.approx(float(np.mean(expected)), abs=1e-12)


def test_novelty_has_no_value_without_words() -> None:
    scores = score_texts(["?!", "", "a"], metrics=[Novelty(["A!", "b"])])["novelty"]
    assert scores.reasons == ("no_words", "empty_text", None)
    assert scores.values[2] == 0


def test_the_signature_of_novelty_names_the_training_set() -> None:
    def name(training: list[str]) -> str:
        return score_texts(["a"], metrics=[Novelty(training)])["novelty"].signature

    assert name(["a b", "c"]) == name(["c", "B a!", "a b"])
    assert name(["a b", "c"]) != name(["a b", "d"])


@pytest.mark.parametrize("training", [[], ["..."], "a text", ["a", None]])
def test_novelty_needs_training_texts(training: list[str]) -> None:
    with pytest.raises(InputError, match="training"):
        Novelty(training)
