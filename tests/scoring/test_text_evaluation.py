"""One call for many metrics: what it takes, what it refuses, and what it says of texts without a value."""

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from fcconan.errors import InputError
from fcconan.parallel.workers import open_workers
from fcconan.scoring.text import evaluation
from fcconan.scoring.text.corpus import Distinct, Length
from fcconan.scoring.text.evaluation import REFERENCE_METRICS, TEXT_METRICS, score_systems, score_texts
from fcconan.scoring.text.novelty import Novelty
from fcconan.scoring.text.overlap import Bleu, Rouge
from fcconan.scoring.text.scores import Metric, Unit, UnitScores, signature
from tests.parallel.pickling import Pickling

REPLIES = [
    "Ombrey readers return books early.",
    "",
    "Cards were banned in Tessok towns.",
    " \n",
]
REFERENCES = [
    ["Ombrey readers return their books early.", "The library keeps a list."],
    ["Some reference."],
    [],
    ["Another reference."],
]

UNKNOWN: Any = "punkt"


class Given(Metric):
    """A metric with given values."""

    names = ("given",)

    def __init__(self, values: Sequence[float], *, references: bool = False, messages: bool = False) -> None:
        self.values, self.needs_reference, self.needs_message = values, references, messages
        self.seen: list[Unit] = []

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        self.seen = list(units)
        return [UnitScores("given", np.array(self.values), signature("given"), truncated=frozenset(range(len(units))))]


@pytest.mark.parametrize("several", ["max", "mean", "joint"])
@pytest.mark.parametrize("of_part", [1, 3, 6, 7])
def test_values_do_not_depend_on_the_parts_that_workers_score(
    monkeypatch: pytest.MonkeyPatch, of_part: int, several: Any
) -> None:
    monkeypatch.setattr(evaluation, "_PART_SIZE", of_part)
    texts = [
        "The Ombrey sing loudly.",
        "",
        "Ask the bakers, they know.",
        "!",
        "The Ombrey sing.",
        "No.",
    ]
    references = [
        ["The Ombrey sing well.", "They do."],
        ["One."],
        [],
        ["", "Ask."],
        ["The Ombrey sing."],
        ["No, it is."],
    ]
    metrics: list[str | Metric] = [*TEXT_METRICS, Novelty(["The Ombrey know it.", "No."])]
    systems = {"A": (texts, references, None), "B": (texts[::-1], references[::-1], None), "C": ([], [], None)}
    executor = Pickling()
    with open_workers(executor=executor) as workers:
        found = score_systems(systems, metrics, several=several, workers=workers)
    assert executor.tasks == 2 * -(-6 // of_part)
    expected = {system: score_texts(*given[:2], metrics, several=several) for system, given in systems.items()}
    for system, scores in expected.items():
        assert list(found[system]) == list(scores)
        for name, own in scores.items():
            other = found[system][name]
            assert np.array_equal(other.values, own.values, equal_nan=True)
            assert replace(other, values=own.values) == own
    assert expected["A"]["bleu-2"].n_empty_references == 1
    assert len({reason for scores in expected["A"].values() for reason in scores.reasons}) == 6


def test_corpus_bleu_of_counts_is_that_of_sacrebleu() -> None:
    texts = ["The Ombrey sing loudly in town.", "Ask the bakers, they know.", "The Ombrey sing every day."]
    references = [
        ["The Ombrey sing well in town.", "They do."],
        ["Ask the bakers now."],
        ["They sing every single day."],
    ]
    streams: Any = [[own[place] if place < len(own) else None for own in references] for place in range(2)]
    for smoothing in ("exp", "floor", "add-k", "none"):
        found = score_texts(texts, references, [Bleu(corpus_smoothing=smoothing)])
        for order in (1, 2, 3, 4):
            metric = BLEU(max_ngram_order=order, smooth_method=smoothing, force=True)
            corpus = found[f"bleu-{order}"].corpus
            assert corpus.value == metric.corpus_score(texts, streams).score / 100
            assert str(metric.get_signature()) in corpus.signature


def test_every_metric_in_one_call() -> None:
    scores = score_texts(REPLIES, REFERENCES)
    assert tuple(scores) == TEXT_METRICS
    for name, each in scores.items():
        assert each.name == name
        assert each.values.shape == (4,)
        assert [reason is None for reason in each.reasons] == np.isfinite(each.values).tolist()
        assert each.signature.startswith(f"{name}|")
        assert each.corpus.signature.startswith(f"{name}|")
        assert each.n_missing == 4 - int(np.isfinite(each.values).sum())
    for name in REFERENCE_METRICS:
        assert scores[name].reasons == (None, "empty_text", "no_reference", "empty_text")
    assert scores["length-words"].values.tolist() == [5, 0, 6, 0]
    assert scores["length-characters"].values.tolist() == [34, 0, 34, 2]
    assert scores["length-words"].corpus.value == 2.75
    assert scores["repetition-rate"].reasons == ("corpus_only", "empty_text", "corpus_only", "empty_text")


def test_without_references_the_metrics_that_need_none() -> None:
    assert tuple(score_texts(REPLIES)) == tuple(name for name in TEXT_METRICS if name not in REFERENCE_METRICS)


def test_the_order_and_the_series_asked_for() -> None:
    scores = score_texts(REPLIES, REFERENCES, ["rouge-l", Distinct([3]), "bleu-2", "length-words"])
    assert list(scores) == ["rouge-l", "distinct-3", "bleu-2", "length-words"]


@pytest.mark.parametrize(("several", "expected"), [("max", 5.0), ("mean", 3.0), ("joint", 5.0)])
def test_several_references(several: Any, expected: float) -> None:
    metric = Given([5.0, 1.0, 7.0], references=True)
    scores = score_texts(["a", "b"], [["x", " ", "y"], ["z"]], [metric], several=several)["given"]
    assert metric.seen == [Unit("a", "x"), Unit("a", "y"), Unit("b", "z")]
    assert scores.values.tolist() == [expected, 7.0]
    assert scores.corpus.value == (expected + 7) / 2
    assert f"|refs:{'mean' if several == 'mean' else 'max'}|" in scores.signature  # none that are joint by definition
    assert (scores.n_missing, scores.n_truncated, scores.n_empty_references) == (0, 2, 1)


def test_a_metric_that_gives_nan_or_infinity() -> None:
    scores = score_texts(["a", "b", "c"], metrics=[Given([math.nan, math.inf, 2.0])])["given"]
    assert scores.reasons == ("not_finite", "not_finite", None)
    assert scores.values.tolist() == pytest.approx([math.nan, math.nan, 2.0], nan_ok=True)
    assert (scores.corpus.value, scores.n_missing) == (2.0, 2)


def test_a_reference_without_a_value_leaves_the_others() -> None:
    scores = score_texts(["a"], [["x", "y"]], [Given([math.nan, 2.0], references=True)], several="mean")["given"]
    assert scores.values.tolist() == [2.0]


def test_messages() -> None:
    metric = Given([1.0], messages=True)
    scores = score_texts(["a", "b", ""], metrics=[metric], messages=["m", " ", "n"])["given"]
    assert metric.seen == [Unit("a", "", "m")]
    assert scores.reasons == (None, "no_message", "empty_text")


def test_no_text_at_all_has_values_nowhere() -> None:
    for replies, references in (([], []), ([""], [["a"]])):
        for name, scores in score_texts(replies, references).items():
            if not name.startswith("length") or not replies:
                assert (scores.corpus.value, scores.corpus.reason) == (None, "no_values"), name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a text",), "found a str as replies: give a list"),
        ((3,), "found a int as replies: give a list"),
        ((["a", None],), "number 2 of replies is a NoneType: give strings only"),
        ((["a", 1.5],), "number 2 of replies is a float: give strings only"),
        ((["a"], "b"), "found a str as references: give a list"),
        ((["a"], ["b"]), "found a str as references of reply 1: give a list"),
        ((["a"], [None]), "found a NoneType as references of reply 1: give a list"),
        ((["a"], [["b", None]]), "number 2 of references of reply 1 is a NoneType: give strings only"),
        (
            (["a", "b", "c"], [["x", "y", "z"], ["u", "v", "w"]]),
            "found 3 replies and 2 references: give one entry (or list) for each reply",
        ),
        ((["a"], [["b"]], "bleu-4"), "metrics is 'bleu-4': give a list of metrics, at least one"),
        ((["a"], [["b"]], []), "metrics is []: give a list of metrics, at least one"),
        ((["a"], None, ["rouge-l"]), "rouge-l needs references: give a list of references for each reply"),
        ((["a"], [["b"]], [Bleu([4]), "bleu-4"]), "two metrics are called bleu-4"),
        ((["a"], None, [Given([1.0, 2.0])]), "the metric given gave 2 values for 1 texts, expected one each"),
        ((["a"], None, [Given([1.0], messages=True)]), "given needs the messages that are answered"),
    ],
)
def test_bad_input(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        score_texts(*arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["bleu"]}, "unknown metric 'bleu': did you mean 'bleu-4'? known are bleu-1, "),
        (
            {"several": "median"},
            "unknown combination of references 'median': did you mean 'mean'? known are max, mean, joint",
        ),
        ({"batch_size": 0}, "batch_size is 0: give 1 or more"),
        ({"messages": ["a", "b"]}, "found 1 replies and 2 messages: give one entry"),
        ({"messages": [None]}, "number 1 of messages is a NoneType: give strings only"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        score_texts(["a"], [["b"]], **options)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bleu([5]), "orders of BLEU are [5]"),
        (lambda: Bleu(corpus_tokens="flores200"), "unknown tokeniser of sacrebleu 'flores200': known are 13a, none"),
        (lambda: Bleu(corpus_smoothing="1"), "unknown smoothing of sacrebleu '1': known are exp, floor"),
        (lambda: Bleu(tokens=UNKNOWN), "unknown tokeniser 'punkt': known are white-space, plain, 13a, treebank"),
        (lambda: Rouge(["w"]), "unknown variant of ROUGE 'w': known are 1, 2, l"),
        (lambda: Rouge(tokens=UNKNOWN), "unknown tokeniser 'punkt': known are white-space, plain, 13a, treebank"),
        (lambda: Distinct([0]), "orders of distinct n-grams are [0]"),
    ],
)
def test_bad_settings(make: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_importing_it_imports_no_large_library() -> None:
    code = (
        "import sys, fcconan.scoring.text.evaluation; "
        "print(sorted({'torch', 'transformers', 'scipy', 'nltk', 'sacrebleu', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_length_keeps_its_name_in_a_signature() -> None:
    scores = score_texts(["a b"], metrics=[Length()])
    assert scores["length-words"].signature.startswith("length-words|tok:white-space|fcconan:")
    assert scores["length-words"].corpus.signature == scores["length-words"].signature + "|corpus:mean"
