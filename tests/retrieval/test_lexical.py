"""Lexical systems against rank-bm25, bm25s and scikit-learn, and by hand; random rankings."""

import math
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.retrieval import BM25, BM25Fast, Random, TfIdf, TrainingPair
from fcconan.retrieval.systems import top_k

CORPUS = {
    "cn-1": "Cards were banned in Tessok towns.",
    "cn-2": "Velmari bakers feed the towns, and the Tessok bake as well.",
    "cn-3": "The Dravene sing at the moon, and rather well.",
    "cn-4": "The inspector gave Quillish shops the highest mark.",
}
QUERIES = {"hs-1": "Every Tessok cheats at cards in the towns.", "hs-2": "The Dravene only want the moon."}


def random_texts(seed: int, count: int, longest: int, vocabulary: int) -> dict[str, str]:
    """Words are drawn unevenly, so that some stand in more than half of the texts; some texts are empty."""
    generator = np.random.default_rng(seed)
    texts = [np.floor(vocabulary * generator.random(length) ** 3) for length in generator.integers(0, longest, count)]
    return {f"{seed}-{place}": " ".join(f"w{int(word)}" for word in words) for place, words in enumerate(texts)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_best_are_the_head_of_a_stable_sort(dtype: Any) -> None:
    generator = np.random.default_rng(0)
    for size, values in ((1, 5), (2, 5), (7, 5), (130, 5), (700, 5), (700, 400)):
        ids = [f"cn-{index}" for index in range(size)]
        scores = generator.integers(0, values, size).astype(dtype)
        whole = sorted(zip(ids, scores.tolist(), strict=True), key=lambda entry: -entry[1])
        assert all(top_k(scores, ids, k) == whole[:k] for k in range(min(size + 2, 140)))


def test_random_orders_follow_from_the_seed_and_prefer_no_place() -> None:
    corpus = {f"cn-{index}": "" for index in range(5)}
    queries = {f"hs-{index}": "" for index in range(5000)}
    found = Random(seed=1).rank(queries, corpus, 1)
    assert found == Random(seed=1).rank(queries, corpus, 1) != Random(seed=2).rank(queries, corpus, 1)
    first = [ranking[0][0] for ranking in found.values()]
    assert max(abs(first.count(key) - 1000) for key in corpus) < 4 * math.sqrt(5000 * 0.2 * 0.8)


@pytest.mark.parametrize("options", [{}, {"sublinear_tf": True, "ngram_range": (1, 2)}])
def test_tfidf_is_the_cosine_of_scikit_learn(options: dict[str, Any]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    train = [TrainingPair("unread", "Tessok songs"), TrainingPair("unread too", "The moon and the towns")]
    for system, texts in (
        (TfIdf(options=options), CORPUS.values()),
        (TfIdf(train=train, options=options), [pair.counter_narrative for pair in train]),
        (TfIdf(train=train, fit_on="catalogue", options=options), CORPUS.values()),
    ):
        vectoriser = TfidfVectorizer(**options).fit(texts)
        expected = cosine_similarity(*(vectoriser.transform(each.values()) for each in (QUERIES, CORPUS)))
        found = system.rank(QUERIES, CORPUS, 4)
        for query, row in zip(QUERIES, expected, strict=True):
            assert dict(found[query]) == pytest.approx(dict(zip(CORPUS, row, strict=True)), abs=1e-12)
            assert [score for _, score in found[query]] == sorted(dict(found[query]).values(), reverse=True)


def test_tfidf_refuses_texts_without_a_word_and_unknown_options() -> None:
    with pytest.raises(InputError, match=r"^tfidf cannot be fitted \(empty vocabulary.*words of two letters or more"):
        TfIdf().rank({"hs": "ombrey"}, {"cn-a": "a", "cn-b": "!?"}, 2)
    with pytest.raises(InputError, match=r"^tfidf cannot be fitted \(.*'ngrams'\)"):
        TfIdf(options={"ngrams": 2}).rank({"q": "bread"}, {"c": "bread"}, 1)


@pytest.mark.parametrize(("k1", "b", "epsilon"), [(1.5, 0.75, 0.25), (1.2, 0.0, 0.0), (0.9, 0.95, 0.5)])
def test_scores_of_bm25_equal_those_of_rank_bm25_to_the_last_bit(k1: float, b: float, epsilon: float) -> None:
    from rank_bm25 import BM25Okapi

    corpus, queries = random_texts(1, 60, 25, 40), random_texts(2, 600, 9, 50)  # queries in several blocks
    assert "" in corpus.values() and "" in queries.values()
    assert sum("w0" in text.split() for text in corpus.values()) > 30  # negative inverse document frequency
    index = BM25Okapi([text.split() for text in corpus.values()], k1=k1, b=b, epsilon=epsilon)
    found = BM25(k1=k1, b=b, epsilon=epsilon).rank(queries, corpus, 60)
    assert list(found) == list(queries)
    for query, text in queries.items():
        assert dict(found[query]) == dict(zip(corpus, index.get_scores(text.split()).tolist(), strict=True))


def test_bm25_by_hand_with_an_inverse_document_frequency_below_zero() -> None:
    """Words 3, 2, 1 (mean 2); `ombrey` is in all: ln(.5 / 3.5) < 0, replaced by a quarter of the mean."""
    rare = math.log(2.5 / 1.5)
    common = 0.25 * (-math.log(7) + 2 * rare) / 3
    corpus = {"cn-a": "ombrey books books", "cn-b": "ombrey songs", "cn-c": "ombrey"}
    (found,) = BM25().rank({"hs": "ombrey books unknown"}, corpus, 3).values()
    # Denominators: tf + 1.5 * (0.25 + 0.75 * words / 2) = tf + 2.0625, tf + 1.5, tf + 0.9375.
    expected = [common * 2.5 / 3.0625 + rare * 2 * 2.5 / 4.0625, common * 2.5 / 2.5, common * 2.5 / 1.9375]
    assert [key for key, _ in found] == list(corpus)
    assert [score for _, score in found] == pytest.approx(expected)


def test_bm25_keeps_case_unless_told_and_texts_without_a_word_are_tied() -> None:
    corpus = {"cn-a": "Books", "cn-b": "books,", "cn-c": "songs", "cn-d": ""}
    assert [score > 0 for _, score in BM25().rank({"hs": "Books"}, corpus, 4)["hs"]] == [True, False, False, False]
    lowered = BM25(lowercase=True, b=1.0).rank({"hs": "BOOKS books,"}, corpus, 4)["hs"]
    assert [key for key, score in lowered if score > 0] == ["cn-a", "cn-b"]
    found = BM25().rank({"hs": "ombrey", "empty": ""}, {"cn-a": "", "cn-b": " "}, 2)
    assert found["hs"] == found["empty"] == [("cn-a", 0.0), ("cn-b", 0.0)]


def test_fast_bm25_is_that_of_bm25s_with_its_defaults() -> None:
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(CORPUS.values()), show_progress=False), show_progress=False)
    asked = bm25s.tokenize(list(QUERIES.values()), show_progress=False)
    places, scores = index.retrieve(asked, k=4, show_progress=False)
    found = BM25Fast().rank(QUERIES, CORPUS, 4)
    for row, query in enumerate(QUERIES):
        expected = {list(CORPUS)[place]: float(score) for place, score in zip(places[row], scores[row], strict=True)}
        assert dict(found[query]) == pytest.approx(expected, abs=1e-6) and max(expected.values()) > 0


def test_fast_bm25_by_hand() -> None:
    """Lucene's variant: ln(1 + (N - df + .5) / (df + .5)) * tf / (tf + k1 * (1 - b + b * words / mean))."""
    corpus = {"cn-a": "Ombrey books, books!", "cn-b": "the ombrey songs", "cn-c": "Ombrey"}
    common, rare = math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5)
    expected = [common / 3.0625 + rare * 2 / 4.0625, common / 1.9375, common / 2.5]
    found = BM25Fast().rank({"hs": "OMBREY books xyzzy"}, corpus, 3)["hs"]
    assert [key for key, _ in found] == ["cn-a", "cn-c", "cn-b"]
    assert [score for _, score in found] == pytest.approx(expected)
