"""BLEU, ROUGE and METEOR against their definitions and against the libraries called one text at a time."""

import math
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.scoring.text.evaluation import score_texts
from fcconan.scoring.text.overlap import Bleu, Meteor, Rouge

WORDS = "the Ombrey readers return books early and late to a library in every Tessok town".split()


def _texts(count: int, *, seed: int, least: int = 1) -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, size=generator.integers(least, 12)).tolist()) + "." for _ in range(count)]


def test_bleu_of_a_text_by_hand() -> None:
    # 4 of 5 words are shared, and 2 of 4 pairs, 1 of 3 triples; no four: method 1 takes .1 of 2. Brevity exp(1 - 6/5).
    scores = score_texts(["a b c x d"], [["a b c y d z"]], ["bleu-1", "bleu-2", "bleu-3", "bleu-4"])
    brevity = math.exp(1 - 6 / 5)
    precisions = [4 / 5, 2 / 4, 1 / 3, 0.1 / 2]
    for order in (1, 2, 3, 4):
        expected = brevity * math.prod(precisions[:order]) ** (1 / order)
        assert scores[f"bleu-{order}"].values[0] == pytest.approx(expected, abs=1e-12)


def test_bleu_of_texts_is_that_of_nltk() -> None:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    texts, references = _texts(40, seed=0), _texts(40, seed=1)
    scores = score_texts(texts, [[each] for each in references], ["bleu-1", "bleu-4"])
    for order in (1, 4):
        expected = [
            sentence_bleu(
                [reference.split()],
                text.split(),
                weights=[1 / order] * order,
                smoothing_function=SmoothingFunction().method1,
            )
            for text, reference in zip(texts, references, strict=True)
        ]
        assert scores[f"bleu-{order}"].values == pytest.approx(expected, abs=1e-12)
    assert "|tok:white-space|case:mixed|smooth:method1|nltk:" in scores["bleu-4"].signature


def test_joint_bleu_is_that_of_nltk() -> None:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    generator = np.random.default_rng(12)
    texts, pool = _texts(40, seed=13), _texts(120, seed=14)
    references = [pool[3 * place :][: generator.integers(1, 4)] for place in range(40)]
    orders = (1, 2, 3, 4)
    scores = score_texts(texts, references, [f"bleu-{order}" for order in orders], several="joint")
    largest = score_texts(texts, references, ["bleu-4"])["bleu-4"].values
    for order in orders:
        expected = [
            sentence_bleu(
                [each.split() for each in own],
                text.split(),
                weights=[1 / order] * order,
                smoothing_function=SmoothingFunction().method1,
            )
            for text, own in zip(texts, references, strict=True)
        ]
        assert scores[f"bleu-{order}"].values == pytest.approx(expected, abs=1e-12)
    assert scores["bleu-4"].signature.startswith("bleu-4|refs:joint|tok:white-space|")
    assert (scores["bleu-4"].values != largest).any()


def test_joint_bleu_by_hand() -> None:
    # a is clipped at 2, its count in the first reference, not at 3: 3 of 4 words. Lengths 3 and 6: the nearest is 3, so
    # brevity costs nothing. Pairs: a-a and a-b of 3.
    scores = score_texts(
        ["a a a b", "x", "c"], [["a a z", "a b y y y y"], ["", "x"], []], ["bleu-1", "bleu-2"], several="joint"
    )
    assert scores["bleu-1"].values[:2] == pytest.approx([3 / 4, 1.0], abs=1e-12)
    assert scores["bleu-2"].values[0] == pytest.approx(math.sqrt(3 / 4 * 2 / 3), abs=1e-12)
    assert scores["bleu-1"].reasons == (None, None, "no_reference")


@pytest.mark.parametrize("name", ["rouge-l", "meteor"])
def test_joint_values_of_others_are_the_largest(name: str) -> None:
    texts, pool = _texts(8, seed=15), _texts(16, seed=16)
    both = [[one, other] for one, other in zip(pool[:8], pool[8:], strict=True)]
    joint, largest = (score_texts(texts, both, [name], several=several)[name] for several in ("joint", "max"))
    assert joint.values.tolist() == largest.values.tolist()
    assert joint.signature == largest.signature


@pytest.mark.parametrize("smoothing", ["exp", "none"])
def test_bleu_of_the_corpus_is_that_of_sacrebleu(smoothing: str) -> None:
    from sacrebleu.metrics.bleu import BLEU

    first, second = _texts(32, seed=3, least=6), _texts(32, seed=4)
    texts = [*(f"{' '.join(each.split()[:5])} now." for each in first[:30]), "", "no reference"]
    references = [[one, other] for one, other in zip(first, second, strict=True)]
    references[::2] = [[one] for one in first[::2]]
    references[-1] = []
    scores = score_texts(texts, references, [Bleu(corpus_smoothing=smoothing)])
    streams: Any = [[own[0] for own in references[:30]], [own[1] if len(own) > 1 else None for own in references[:30]]]
    for order in (1, 2, 3, 4):
        metric = BLEU(max_ngram_order=order, smooth_method=smoothing)
        expected = metric.corpus_score(texts[:30], streams).score / 100
        found = scores[f"bleu-{order}"].corpus
        assert 0 < expected < 1
        assert found.value == pytest.approx(expected, abs=1e-12)
        assert found.signature.startswith(f"bleu-{order}|{metric.get_signature()}|scale:1|")


def test_rouge_by_hand() -> None:
    # text: a b c d (4), reference: a c b d e (5). Words shared: 4. Pairs shared: none. Longest in order: 3.
    scores = score_texts(["A b, c d"], [["a c b d e"]], ["rouge-1", "rouge-2", "rouge-l"])
    assert scores["rouge-1"].values[0] == pytest.approx(2 * 4 / 9, abs=1e-12)
    assert scores["rouge-2"].values[0] == 0
    assert scores["rouge-l"].values[0] == pytest.approx(2 * 3 / 9, abs=1e-12)


@pytest.mark.parametrize("stem", [True, False])
def test_rouge_is_that_of_the_library(stem: bool) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    texts, references = _texts(40, seed=5, least=2), _texts(40, seed=6, least=2)
    scores = score_texts(texts, [[each] for each in references], [Rouge(stem=stem)])
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stem)
    for name, key in (("rouge-1", "rouge1"), ("rouge-2", "rouge2"), ("rouge-l", "rougeL")):
        expected = [scorer.score(one, other)[key].fmeasure for other, one in zip(texts, references, strict=True)]
        assert scores[name].values == pytest.approx(expected, abs=1e-12)
        assert scores[name].corpus.value == pytest.approx(float(np.mean(expected)), abs=1e-12)
        assert f"|stem:{'porter' if stem else 'no'}|" in scores[name].signature


def test_stems_change_rouge() -> None:
    found = [score_texts(["readers"], [["reader"]], [Rouge(["1"], stem=stem)])["rouge-1"] for stem in (True, False)]
    assert [scores.values[0] for scores in found] == [1.0, 0.0]


def test_rouge_has_no_value_without_words_of_its_own() -> None:
    scores = score_texts(["книга", "book", "book"], [["book"], ["книга"], ["book"]], ["rouge-1", "rouge-2"])
    assert scores["rouge-1"].reasons == ("no_words", "no_words", None)
    assert scores["rouge-2"].reasons == ("no_words", "no_words", "too_short")
    assert "|tok:a-z0-9|" in scores["rouge-1"].signature


def test_rouge_with_words_of_any_alphabet() -> None:
    texts = ["Книга, мир.", "Perché books?", "?!"]
    references = [["мир"], ["perché book"], ["a"]]
    found = score_texts(texts, references, [Rouge(["1", "l"], tokens="plain")])
    assert found["rouge-1"].values[:2] == pytest.approx([2 / 3, 1.0], abs=1e-12)  # books and book share their stem
    assert found["rouge-1"].reasons == (None, None, "no_words")
    assert "|tok:plain|case:lc|stem:porter|" in found["rouge-l"].signature
    bare = score_texts(texts, references, [Rouge(["1"], tokens="plain", stem=False)])["rouge-1"]
    assert bare.values[:2] == pytest.approx([2 / 3, 1 / 2], abs=1e-12)


def test_meteor_by_hand() -> None:
    # the, readers/reader (by stem), books match: 3 of 4 and of 3, in two stretches: the readers | books.
    text, reference = "the readers return books", "The reader books"
    precision, recall = 3 / 4, 3 / 3
    mean = precision * recall / (0.9 * precision + 0.1 * recall)
    expected = mean * (1 - 0.5 * (2 / 3) ** 3)
    scores = score_texts([text], [[reference]], [Meteor(synonyms=False)])["meteor"]
    assert scores.values[0] == pytest.approx(expected, abs=1e-12)
    assert "|match:exact+stem|tok:treebank|" in scores.signature


def test_meteor_is_that_of_nltk() -> None:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.meteor_score import single_meteor_score

    class Nothing:
        def synsets(self, word: str) -> list[Any]:
            return []

    texts, references = _texts(30, seed=7), _texts(30, seed=8)
    cut = NLTKWordTokenizer().tokenize
    expected = [
        single_meteor_score(cut(one), cut(other), wordnet=Nothing())
        for other, one in zip(texts, references, strict=True)
    ]
    scores = score_texts(texts, [[each] for each in references], [Meteor(synonyms=False)])["meteor"]
    assert scores.values == pytest.approx(expected, abs=1e-12)


class _Lemma:
    def __init__(self, word: str) -> None:
        self.word = word

    def name(self) -> str:
        return self.word


class _Synset:
    def lemmas(self) -> list[_Lemma]:
        return [_Lemma("book"), _Lemma("text")]


class _WordNet:
    def synsets(self, word: str) -> list[_Synset]:
        return [_Synset()] if word in ("book", "text") else []

    def get_version(self) -> str:
        return "3.0"


class _Absent:
    def synsets(self, word: str) -> list[_Synset]:
        raise LookupError("not there")


def test_meteor_says_whether_it_matched_synonyms(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk.corpus

    monkeypatch.setattr(nltk.corpus, "wordnet", _WordNet())
    there = score_texts(["a text"], [["a book"]], ["meteor"])["meteor"]
    refused = score_texts(["a text"], [["a book"]], [Meteor(synonyms=False)])["meteor"]
    monkeypatch.setattr(nltk.corpus, "wordnet", _Absent())
    absent = score_texts(["a text"], [["a book"]], ["meteor"])["meteor"]
    assert there.values[0] == pytest.approx(1 - 0.5 * (1 / 2) ** 3)
    assert absent.values[0] == refused.values[0] == pytest.approx(0.5 * 0.5)
    assert "|match:exact+stem+wordnet-3.0|" in there.signature
    assert absent.signature == refused.signature
    with pytest.raises(InputError, match="WordNet is not on this machine"):
        Meteor(synonyms=True)


@pytest.mark.parametrize("name", ["bleu-4", "rouge-l", "meteor"])
def test_the_best_and_the_mean_of_references(name: str) -> None:
    texts = _texts(10, seed=9)
    first, second = _texts(10, seed=10), _texts(10, seed=11)
    alone = [score_texts(texts, [[each] for each in own], [name])[name].values for own in (first, second)]
    both = [[one, other] for one, other in zip(first, second, strict=True)]
    best = score_texts(texts, both, [name], several="max")[name].values
    average = score_texts(texts, both, [name], several="mean")[name].values
    assert best == pytest.approx(np.maximum(*alone))
    assert average == pytest.approx((alone[0] + alone[1]) / 2)
    assert not np.allclose(best, average)
