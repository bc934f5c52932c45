"""Lexical systems: scores by hand, and equality with scikit-learn and rank-bm25."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.retrieval.lexical import BM25, BM25Fast, Random, TfIdf, top_k
from fcconan.retrieval.systems import TrainingPair
from fcconan.scoring.retrieval.evaluation import Ranking

CORPUS = {
    "cn-1": "Cards were banned in Tessok towns.",
    "cn-2": "Velmari bakers feed the towns, and the Tessok bake as well.",
    "cn-3": "The Dravene sing at the moon, and rather well.",
    "cn-4": "The inspector gave Quillish shops the highest mark.",
}
QUERIES = {"hs-1": "Every Tessok cheats at cards in the towns.", "hs-2": "Nobody needs the moon."}


def words(ranking: Ranking) -> list[str]:
    return [key for key, _ in ranking]


def as_dict(ranking: Ranking) -> dict[str, float]:
    assert len(dict(ranking)) == len(ranking)
    return dict(ranking)


@pytest.mark.parametrize(
    ("scores", "k", "expected"),
    [
        ([0.1, 0.9, 0.5, 0.7], 2, [("b", 0.9), ("d", 0.7)]),
        ([0.1, 0.9, 0.5, 0.7], 4, [("b", 0.9), ("d", 0.7), ("c", 0.5), ("a", 0.1)]),
        ([0.1, 0.9, 0.5, 0.7], 9, [("b", 0.9), ("d", 0.7), ("c", 0.5), ("a", 0.1)]),
        ([0.5, 0.5, 0.5, 0.5], 3, [("a", 0.5), ("b", 0.5), ("c", 0.5)]),
        ([0.5, 0.9, 0.5, 0.5], 2, [("b", 0.9), ("a", 0.5)]),
        ([-2.0, -1.0, -2.0, -1.0], 3, [("b", -1.0), ("d", -1.0), ("a", -2.0)]),
        ([0.5, 0.5, 0.9, 0.9], 1, [("c", 0.9)]),
        ([0.5, 0.5, 0.9, 0.9], 0, []),
        ([0.0, 0.0, 0.0, 1.0], 9, [("d", 1.0), ("a", 0.0), ("b", 0.0), ("c", 0.0)]),
    ],
)
def test_the_best_come_first_and_ties_in_the_order_of_the_ids(
    scores: list[float], k: int, expected: list[tuple[str, float]]
) -> None:
    assert top_k(np.array(scores), ["a", "b", "c", "d"], k) == expected


def test_the_best_are_the_head_of_a_stable_sort() -> None:
    generator = np.random.default_rng(0)
    for size, values in ((1, 5), (2, 5), (7, 5), (130, 5), (700, 5), (700, 400)):
        ids = [f"cn-{index}" for index in range(size)]
        scores = generator.integers(0, values, size).astype(np.float32)
        whole = sorted(zip(ids, scores.tolist(), strict=True), key=lambda entry: -entry[1])
        for k in range(1, min(size + 2, 140)):
            assert top_k(scores, ids, k) == whole[:k]


def test_chance_draws_anew_for_every_query_and_repeats_with_its_seed() -> None:
    corpus = {f"cn-{index}": "" for index in range(20)}
    found = Random(seed=7).rank(QUERIES, corpus, 20)
    again = Random(seed=7).rank(QUERIES, corpus, 20)
    other = Random(seed=8).rank(QUERIES, corpus, 20)
    draws = np.random.default_rng(7).random((2, 20))
    for row, query in enumerate(QUERIES):
        order = np.argsort(-draws[row]).tolist()
        assert found[query] == [(f"cn-{index}", float(draws[row, index])) for index in order]
    assert found == again
    assert words(found["hs-1"]) != words(found["hs-2"])
    assert words(found["hs-1"]) != words(other["hs-1"])
    assert words(Random(seed=7).rank(QUERIES, corpus, 3)["hs-1"]) == words(found["hs-1"])[:3]


def test_chance_prefers_no_place_in_the_catalogue() -> None:
    corpus = {f"cn-{index}": "" for index in range(5)}
    first = [
        words(ranking)[0]
        for ranking in Random(seed=1).rank({f"hs-{index}": "" for index in range(5000)}, corpus, 1).values()
    ]
    counts = [first.count(key) for key in corpus]
    assert max(abs(count - 1000) for count in counts) < 4 * math.sqrt(5000 * 0.2 * 0.8)


def test_chance_is_replicated_with_consecutive_seeds() -> None:
    corpus = {f"cn-{index}": "" for index in range(6)}
    system = Random("luck", seed=3, seeds=4)
    replicates = list(system.replicates())
    assert [(part.name, part.seed, part.seeds) for part in replicates] == [("luck", seed, 1) for seed in (3, 4, 5, 6)]
    assert replicates[0].rank(QUERIES, corpus, 6) == system.rank(QUERIES, corpus, 6)
    assert system.configuration == {"kind": "random", "seed": 3, "seeds": 4}


@pytest.mark.parametrize("options", [{}, {"sublinear_tf": True, "ngram_range": (1, 2)}])
def test_tfidf_is_the_cosine_of_scikit_learn(options: dict[str, Any]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    vectoriser = TfidfVectorizer(**options)
    catalogue = vectoriser.fit_transform(CORPUS.values())
    expected = cosine_similarity(vectoriser.transform(QUERIES.values()), catalogue)
    found = TfIdf(options=options).rank(QUERIES, CORPUS, 4)
    for row, query in enumerate(QUERIES):
        scores = as_dict(found[query])
        assert list(scores.values()) == sorted(scores.values(), reverse=True)
        assert [scores[key] for key in CORPUS] == pytest.approx(expected[row].tolist(), abs=1e-12)
    assert found.resolved["sublinear_tf"] == str(bool(options))


def test_tfidf_by_hand() -> None:
    # Two CNs: `ombrey` is in both (weight 1), `books` and `songs` in one (weight 1 + ln(3 / 2)).
    rare = 1 + math.log(1.5)
    length = math.sqrt(1 + rare * rare)
    found = TfIdf().rank({"hs": "ombrey books"}, {"cn-a": "ombrey songs", "cn-b": "Ombrey, books!"}, 2)
    assert words(found["hs"]) == ["cn-b", "cn-a"]
    assert [score for _, score in found["hs"]] == pytest.approx([1.0, 1 / length**2], abs=1e-12)


def test_tfidf_fitted_on_training_cns_knows_their_words_only() -> None:
    train = [TrainingPair("unread", "ombrey songs"), TrainingPair("unread too", "ombrey moon")]
    corpus = {"cn-a": "songs of bakers", "cn-b": "bakers bakers", "cn-c": "ombrey moon"}
    found = TfIdf(train=train).rank({"hs": "bakers sing ombrey songs", "other": "bakers unread"}, corpus, 3)
    # In the training CNs `ombrey` has the weight 1, `songs` and `moon` have 1 + ln(3 / 2); `bakers` is not known.
    rare = 1 + math.log(1.5)
    length = math.sqrt(1 + rare * rare)
    assert words(found["hs"]) == ["cn-a", "cn-c", "cn-b"]
    assert [score for _, score in found["hs"]] == pytest.approx([rare / length, 1 / length**2, 0.0], abs=1e-12)
    assert found["other"] == [("cn-a", 0.0), ("cn-b", 0.0), ("cn-c", 0.0)]
    on_catalogue = TfIdf().rank({"hs": "bakers"}, corpus, 3)
    assert words(on_catalogue["hs"])[0] == "cn-b"
    assert TfIdf(train=train).configuration["fit_on"] == "2 training CNs"
    assert TfIdf().configuration["fit_on"] == "the catalogue"


@pytest.mark.parametrize("texts", [["", ""], ["a", "!?"]])
def test_tfidf_without_a_word_is_bad_input(texts: list[str]) -> None:
    corpus = {"cn-a": texts[0], "cn-b": texts[1]}
    with pytest.raises(InputError, match=r"^TF-IDF cannot be fitted .*: give texts with words of two letters or more$"):
        TfIdf().rank({"hs": "ombrey"}, corpus, 2)


def test_unknown_options_of_tfidf_are_bad_input() -> None:
    with pytest.raises(
        InputError,
        match=r"^TfidfVectorizer rejects the options of tfidf \(.*'ngrams'\): give arguments of TfidfVectorizer$",
    ):
        TfIdf(options={"ngrams": 2}).rank({"q": "bread"}, {"c": "bread"}, 1)


def test_a_cn_without_a_word_scores_0_whatever_the_weight_of_length() -> None:
    found = BM25(b=1.0, epsilon=0).rank({"q": "bread"}, {"a": "", "b": "bread", "c": "moon", "d": "moon"}, 4)["q"]
    # idf log(3.5 / 1.5); the CN with the word is 4/3 as long as the mean of 3/4, so 2.5 / (1 + 1.5 * 4/3).
    assert found[0][0] == "b"
    assert found[0][1] == pytest.approx(np.log(3.5 / 1.5) * 2.5 / 3, abs=1e-12)
    assert found[1:] == [("a", 0.0), ("c", 0.0), ("d", 0.0)]


def test_bm25_by_hand_with_an_inverse_document_frequency_below_zero() -> None:
    # Three CNs of 3, 2 and 1 words (mean 2). `ombrey` is in all three: ln(0.5 / 3.5) = -ln 7 < 0; `books` and `songs`
    # are in one each: ln(2.5 / 1.5). Okapi of rank-bm25 replaces the first by a quarter of the mean of all three,
    # which is negative itself.
    corpus = {"cn-a": "ombrey books books", "cn-b": "ombrey songs", "cn-c": "ombrey"}
    rare = math.log(5 / 3)
    common = 0.25 * (-math.log(7) + 2 * rare) / 3
    assert common == pytest.approx(-0.0770215, abs=1e-7)
    found = BM25().rank({"hs": "ombrey books unknown", "twice": "songs songs"}, corpus, 3)
    # Denominators: tf + 1.5 * (0.25 + 0.75 * words / 2) = tf + 2.0625, tf + 1.5, tf + 0.9375.
    expected = {
        "cn-a": common * 2.5 / 3.0625 + rare * 2 * 2.5 / 4.0625,
        "cn-b": common * 2.5 / 2.5,
        "cn-c": common * 2.5 / 1.9375,
    }
    assert words(found["hs"]) == ["cn-a", "cn-b", "cn-c"]
    assert as_dict(found["hs"]) == pytest.approx(expected, abs=1e-12)
    assert as_dict(found["hs"])["cn-a"] == pytest.approx(0.5658338, abs=1e-7)
    assert words(found["twice"]) == ["cn-b", "cn-a", "cn-c"]
    assert [score for _, score in found["twice"]] == pytest.approx([2 * rare, 0, 0], abs=1e-12)


def test_parameters_of_bm25_are_used() -> None:
    corpus = {"cn-a": "ombrey books books", "cn-b": "ombrey songs", "cn-c": "ombrey"}
    rare = math.log(5 / 3)
    found = BM25(k1=1.2, b=0.5, epsilon=0).rank({"hs": "ombrey books"}, corpus, 1)
    # tf * (k1 + 1) / (tf + k1 * (0.5 + 0.5 * 3 / 2))
    assert words(found["hs"]) == ["cn-a"]
    assert found["hs"][0][1] == pytest.approx(rare * 2 * 2.2 / (2 + 1.2 * 1.25), abs=1e-12)
    assert BM25(k1=1.2, b=0.5, epsilon=0).configuration == {
        "kind": "bm25",
        "library": "rank-bm25, BM25Okapi",
        "k1": 1.2,
        "b": 0.5,
        "epsilon": 0,
        "tokens": "white space",
        "lowercase": False,
    }


def test_bm25_keeps_case_and_punctuation_unless_told() -> None:
    corpus = {"cn-a": "Books", "cn-b": "books,", "cn-c": "songs", "cn-d": "bread"}
    assert [score > 0 for _, score in BM25().rank({"hs": "Books"}, corpus, 4)["hs"]] == [True, False, False, False]
    lowered = BM25(lowercase=True).rank({"hs": "BOOKS books,"}, corpus, 4)["hs"]
    assert words(lowered) == ["cn-a", "cn-b", "cn-c", "cn-d"]
    assert [score for _, score in lowered] == pytest.approx([math.log(7 / 3), math.log(7 / 3), 0, 0], abs=1e-12)


@pytest.mark.parametrize("system", [BM25(), BM25Fast()])
def test_bm25_ranks_texts_without_a_word_as_ties(system: BM25 | BM25Fast) -> None:
    found = system.rank({"hs": "ombrey", "empty": ""}, {"cn-a": "", "cn-b": " "}, 2)
    assert found == {"hs": [("cn-a", 0.0), ("cn-b", 0.0)], "empty": [("cn-a", 0.0), ("cn-b", 0.0)]}


def test_fast_bm25_by_hand() -> None:
    # Lucene's variant: ln(1 + (N - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * words / mean)).
    corpus = {"cn-a": "Ombrey books, books!", "cn-b": "ombrey songs", "cn-c": "Ombrey"}
    common, rare = math.log(1 + 0.5 / 3.5), math.log(1 + 2.5 / 1.5)
    expected = {
        "cn-a": common / 3.0625 + rare * 2 / 4.0625,
        "cn-c": common / 1.9375,
        "cn-b": common / 2.5,
    }
    found = BM25Fast().rank({"hs": "OMBREY books"}, corpus, 3)["hs"]
    assert words(found) == list(expected)
    assert as_dict(found) == pytest.approx(expected, abs=1e-6)


def random_texts(seed: int, count: int, longest: int, vocabulary: int) -> list[str]:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, longest, count)
    # Words are drawn unevenly, so that some stand in more than half of the texts.
    return [
        " ".join(f"w{int(word)}" for word in np.floor(vocabulary * generator.random(length) ** 3)) for length in lengths
    ]


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (1.2, 0.0), (0.9, 0.95)])
def test_fast_bm25_equals_rank_bm25(k1: float, b: float) -> None:
    corpus = {f"cn-{index}": text for index, text in enumerate(random_texts(1, 60, 25, 40))}
    queries = {f"hs-{index}": text for index, text in enumerate(random_texts(2, 40, 9, 50))}
    assert "" in corpus.values()
    assert "" in queries.values()
    assert sum("w0" in text.split() for text in corpus.values()) > 30
    slow = BM25(k1=k1, b=b, epsilon=0).rank(queries, corpus, 60)
    fast = BM25Fast(k1=k1, b=b, method="atire", idf_method="robertson", tokens="white space").rank(queries, corpus, 60)
    assert list(slow) == list(fast) == list(queries)
    assert max(score for ranking in slow.values() for _, score in ranking) > 1
    for query in queries:
        assert len(fast[query]) == 60
        assert as_dict(fast[query]) == pytest.approx(as_dict(slow[query]), abs=1e-5)


def test_fast_bm25_leaves_out_what_shares_no_word_unless_all_are_asked_for() -> None:
    system = BM25Fast()
    shared = words(system.rank(QUERIES, CORPUS, 3)["hs-2"])
    assert sorted(shared) == ["cn-2", "cn-3", "cn-4"]
    assert shared[0] == "cn-3"
    assert words(system.rank({"hs": "moon bakers"}, CORPUS, 3)["hs"]) == ["cn-3", "cn-2"]
    for k in (4, 5, 100):
        whole = system.rank({"hs": "moon bakers"}, CORPUS, k)["hs"]
        assert words(whole) == ["cn-3", "cn-2", "cn-1", "cn-4"]
        assert [score for _, score in whole[2:]] == [0.0, 0.0]


@pytest.mark.parametrize("text", ["xyzzy plugh", "", "  ", "?!"])
def test_a_query_without_a_known_word_finds_nothing(text: str) -> None:
    queries = {"hs-1": "moon", "hs": text}
    found = BM25Fast().rank(queries, CORPUS, 3)
    assert found["hs"] == []
    assert words(found["hs-1"]) == ["cn-3"]
    assert BM25Fast().rank(queries, CORPUS, 4)["hs"] == [(key, 0.0) for key in CORPUS]
    assert BM25().rank(queries, CORPUS, 4)["hs"] == [(key, 0.0) for key in CORPUS]


def test_unknown_words_do_not_change_a_score() -> None:
    plain = BM25Fast().rank({"hs": "moon towns"}, CORPUS, 4)
    assert BM25Fast().rank({"hs": "moon xyzzy towns"}, CORPUS, 4) == plain


def test_stems_join_forms_of_a_word() -> None:
    corpus = {"cn-a": "She baked for the town.", "cn-b": "A card was shown.", "cn-c": "Songs of the moon."}
    queries = {"hs": "baking cards"}
    assert BM25Fast().rank(queries, corpus, 2)["hs"] == []
    assert sorted(words(BM25Fast(stemmer="english").rank(queries, corpus, 2)["hs"])) == ["cn-a", "cn-b"]


@pytest.mark.parametrize("stopwords", ["en", ["THE", "of"], ("the", "Of")])
def test_stop_words_are_taken_out_of_both_sides(stopwords: str | Sequence[str]) -> None:
    corpus = {"cn-a": "The song of the Ombrey", "cn-b": "ombrey bread the the the", "cn-c": "The mill, The moon"}
    found = BM25Fast(stopwords=stopwords).rank({"hs": "THE ombrey of", "none": "the of"}, corpus, 2)
    # What is left: `song ombrey`, `ombrey bread`, `mill moon`: two words each, and `ombrey` in two of three.
    expected = math.log(1 + 1.5 / 2.5) / 2.5
    assert words(found["hs"]) == ["cn-a", "cn-b"]
    assert [score for _, score in found["hs"]] == pytest.approx([expected, expected], abs=1e-6)
    assert found["none"] == []


def test_stop_words_are_compared_before_stemming() -> None:
    system = BM25Fast(stemmer="english", stopwords=["baking"])
    corpus = {"cn-a": "baking", "cn-b": "bakes", "cn-c": "song"}
    assert words(system.rank({"hs": "bake"}, corpus, 2)["hs"]) == ["cn-b"]
    assert system.configuration["stopwords"] == ["baking"]
    assert system.configuration["stemmer"] == "english"


def test_tokens_between_white_space_keep_case_and_punctuation() -> None:
    corpus = {"cn-a": "Moon, songs", "cn-b": "moon songs", "cn-c": "bread"}
    assert words(BM25Fast(tokens="white space").rank({"hs": "Moon,"}, corpus, 2)["hs"]) == ["cn-a"]
    assert words(BM25Fast(tokens="words").rank({"hs": "Moon,"}, corpus, 2)["hs"]) == ["cn-a", "cn-b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stemmer": "tessok"}, "there is no Snowball stemmer for 'tessok': known are .*english"),
        (
            {"stopwords": "tessok"},
            "bm25s has no stop words 'tessok': give a language such as en, or a list of words",
        ),
    ],
)
def test_unknown_options_are_bad_input(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}") as caught:
        BM25Fast(**options)
    assert len(str(caught.value).splitlines()) == 1


def test_the_configuration_of_fast_bm25_is_whole() -> None:
    assert BM25Fast(method="atire").configuration == {
        "kind": "bm25-fast",
        "library": "bm25s",
        "k1": 1.5,
        "b": 0.75,
        "method": "atire",
        "idf_method": "atire",
        "tokens": "words",
        "stemmer": None,
        "stopwords": None,
    }
    assert BM25Fast(idf_method="robertson").configuration["idf_method"] == "robertson"
