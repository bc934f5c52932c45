"""Metrics that ask a model, with tiny ones of random weights."""

import contextlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.parallel.workers import open_workers
from fcconan.scoring.text import evaluation
from fcconan.scoring.text.bertscore import BertScore
from fcconan.scoring.text.evaluation import score_systems, score_texts
from fcconan.scoring.text.scores import Metric
from fcconan.scoring.text.seq2seq import BartScore, Question
from fcconan.scoring.text.toxicity import Toxicity
from tests.parallel.pickling import Pickling
from tests.retrieval.tiny import TEXTS, tiny_bart, tiny_bert

REFERENCES = [*TEXTS[1:], TEXTS[0]]
WITH_UNKNOWN = [*TEXTS, "The § Ombrey § sing."]  # tokens that the tokenizer does not know count as well
AND_REFERENCES = [*REFERENCES, "§ shops"]
QUESTION = "question: is this about books? text: {text} message: {message}"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("encoder") / "transformer")


def _with_tokenizer(model: Any, encoder: Path, folder: Path) -> Path:
    from transformers import AutoTokenizer

    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(encoder).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bart(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bart(tmp_path_factory.mktemp("bart"), encoder)


@pytest.fixture(scope="module")
def t5(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(2)
    config = T5Config(
        vocab_size=_size(encoder),
        d_model=32,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=2,
        initializer_factor=2.0,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=0,
    )
    return _with_tokenizer(T5ForConditionalGeneration(config), encoder, tmp_path_factory.mktemp("t5"))


@pytest.fixture(scope="module")
def classifier(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    def make(problem: str | None = None, labels: Sequence[str] = ("kind", "rude", "threat")) -> Path:
        import torch
        from transformers import BertConfig, BertForSequenceClassification

        torch.manual_seed(3)
        config = BertConfig(
            vocab_size=_size(encoder),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=64,
            initializer_range=0.5,
            id2label=dict(enumerate(labels)),
            label2id={label: place for place, label in enumerate(labels)},
            problem_type=problem,
        )
        return _with_tokenizer(BertForSequenceClassification(config), encoder, tmp_path_factory.mktemp("classifier"))

    return make


def _size(encoder: Path) -> int:
    from transformers import AutoTokenizer

    return len(AutoTokenizer.from_pretrained(encoder))


def _tokens(encoder: Path, text: str) -> list[int]:
    from transformers import AutoTokenizer

    return list(AutoTokenizer.from_pretrained(encoder)(text)["input_ids"])


def _values(metric: Metric, texts: Sequence[str], references: Sequence[str], **options: Any) -> dict[str, Any]:
    lists = [[each] for each in references]
    scores = score_texts(texts, lists, [metric], messages=list(references), **options)
    return {name: each.values for name, each in scores.items()}


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_bertscore_by_its_definition(encoder: Path, layer: int) -> None:
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(encoder).eval()

    def states(text: str) -> tuple[list[int], Any]:
        tokens = _tokens(encoder, text)
        with torch.no_grad():
            found = model(torch.tensor([tokens]), output_hidden_states=True).hidden_states[layer][0].double().numpy()
        return tokens, found / np.linalg.norm(found, axis=1, keepdims=True)

    expected = []
    for text, reference in zip(WITH_UNKNOWN, AND_REFERENCES, strict=True):
        (own, left), (other, right) = states(text), states(reference)
        cosines = left @ right.T
        precision = np.average(cosines.max(axis=1), weights=[token not in (2, 3) for token in own])
        recall = np.average(cosines.max(axis=0), weights=[token not in (2, 3) for token in other])
        expected.append((precision, recall, 2 * precision * recall / (precision + recall)))
    found = _values(BertScore(encoder, layer=layer, device="cpu"), WITH_UNKNOWN, AND_REFERENCES)
    for values, column in zip(found.values(), zip(*expected, strict=True), strict=True):
        assert values == pytest.approx(column, abs=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_bertscore_is_that_of_the_package(encoder: Path) -> None:
    package = pytest.importorskip("bert_score")
    with contextlib.redirect_stderr(None):
        expected = package.score(
            WITH_UNKNOWN, AND_REFERENCES, model_type=str(encoder), num_layers=1, nthreads=0, device="cpu"
        )
    found = _values(BertScore(encoder, layer=1, device="cpu"), WITH_UNKNOWN, AND_REFERENCES)
    for own, other in zip(found.values(), expected, strict=True):
        assert own == pytest.approx(other.numpy(), abs=1e-5)


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_bartscore_by_its_definition(kind: str, encoder: Path, request: pytest.FixtureRequest) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM

    folder = request.getfixturevalue(kind)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()

    def likelihood(source: str, target: str) -> float:
        labels = torch.tensor([_tokens(encoder, target)])
        with torch.no_grad():  # the loss is the mean negative log-likelihood of the labels
            return -float(model(input_ids=torch.tensor([_tokens(encoder, source)]), labels=labels).loss)

    precision = [likelihood(reference, text) for text, reference in zip(TEXTS, REFERENCES, strict=True)]
    recall = [likelihood(text, reference) for text, reference in zip(TEXTS, REFERENCES, strict=True)]
    found = _values(BartScore(folder, device="cpu"), TEXTS, REFERENCES)
    assert found["bartscore-precision"] == pytest.approx(precision, abs=1e-4)
    assert found["bartscore-recall"] == pytest.approx(recall, abs=1e-4)
    assert found["bartscore-f"] == pytest.approx((np.array(precision) + recall) / 2, abs=1e-4)
    assert abs(found["bartscore-precision"] - found["bartscore-recall"]).max() > 0.01


@pytest.mark.parametrize("kind", ["bart", "t5"])
def test_questions_by_their_definition(kind: str, encoder: Path, request: pytest.FixtureRequest) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM

    folder = request.getfixturevalue(kind)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    yes, no = _tokens(encoder, "the"), _tokens(encoder, "a")
    assert (yes[0], no[0], yes[1] != no[1]) == (2, 2, True)  # both begin with [CLS], so the second token tells
    expected = []
    for text in TEXTS:
        tokens = torch.tensor([_tokens(encoder, QUESTION.format(text=text, message="The Ombrey!"))])
        with torch.no_grad():
            logits = model(input_ids=tokens, labels=torch.tensor([yes])).logits[0, 1].double()
        chances = logits.softmax(dim=0)
        expected.append(float(chances[yes[1]] / (chances[yes[1]] + chances[no[1]])))
    metric = Question(folder, QUESTION, name="books", yes="the", no="a", device="cpu")
    values = score_texts(TEXTS, metrics=[metric], messages=["The Ombrey!"] * len(TEXTS))["books"].values
    assert values == pytest.approx(expected, abs=1e-5)
    assert np.ptp(values) > 1e-4


@pytest.mark.parametrize("problem", [None, "multi_label_classification"])
def test_toxicity_by_its_definition(problem: str | None, encoder: Path, classifier: Callable[..., Path]) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    folder = classifier(problem)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = torch.cat([model(torch.tensor([_tokens(encoder, text)])).logits for text in TEXTS]).double()
    both = [logits.softmax(dim=1)[:, 1:].sum(dim=1), logits.sigmoid()[:, 1:].max(dim=1).values]
    expected = both[problem is not None]
    scores = score_texts(TEXTS, metrics=[Toxicity(folder, ["rude", "threat"], device="cpu")])["toxicity"]
    assert scores.values == pytest.approx(expected.numpy(), abs=1e-5)
    assert scores.higher_is_better is False
    assert f"|labels:rude+threat|activation:{'softmax' if problem is None else 'sigmoid'}|" in scores.signature


def test_a_single_label_is_a_sigmoid(classifier: Callable[..., Path]) -> None:
    folder = classifier(None, ["toxic"])
    values = score_texts(TEXTS, metrics=[Toxicity(folder, ["toxic"], device="cpu")])["toxicity"].values
    assert (values < 1).all()
    assert np.ptp(values) > 1e-3


def test_neither_batches_nor_neighbours_change_a_value(
    encoder: Path, bart: Path, t5: Path, classifier: Callable[..., Path]
) -> None:
    metrics: list[Metric] = [
        BertScore(encoder, device="cpu"),
        BartScore(bart, device="cpu"),
        Question(t5, QUESTION, name="books", yes="the", no="a", device="cpu"),
        Toxicity(classifier(), ["rude"], device="cpu"),
    ]
    texts = [*TEXTS, "books", TEXTS[0]]
    references = [*REFERENCES, " ".join(TEXTS[1:3]), REFERENCES[0]]
    for metric in metrics:
        alone = [_values(metric, [text], [other]) for text, other in zip(texts, references, strict=True)]
        for batch_size in (3, 32):
            together = _values(metric, texts, references, batch_size=batch_size)
            again = _values(metric, texts, references, batch_size=batch_size)
            for name, values in together.items():
                assert values == pytest.approx([float(each[name][0]) for each in alone], abs=1e-4), name
                assert values.tolist() == again[name].tolist()


def test_workers_load_models_once_and_give_the_same_values(
    encoder: Path, bart: Path, classifier: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "_PART_SIZE", 2)
    question = Question(bart, QUESTION, name="on-topic")
    metrics = [BertScore(encoder), BartScore(bart), question, Toxicity(classifier(), ["rude"])]
    given: Any = (WITH_UNKNOWN, [[text] for text in AND_REFERENCES], TEXTS * 2)
    given = tuple(each[: len(WITH_UNKNOWN)] for each in given)
    expected = score_systems({"A": given}, metrics)["A"]
    executor = Pickling()
    with open_workers(executor=executor) as workers:
        found = score_systems({"A": given}, metrics, workers=workers)["A"]
        assert executor.tasks > 1
        for name, scores in found.items():
            np.testing.assert_allclose(scores.values, expected[name].values, rtol=1e-6, atol=1e-6)
            assert (scores.signature, scores.n_truncated) == (expected[name].signature, expected[name].n_truncated)


def test_what_a_model_does_not_read_is_counted(
    encoder: Path, bart: Path, t5: Path, classifier: Callable[..., Path]
) -> None:
    long = " ".join(TEXTS)
    metrics: dict[str, Metric] = {
        "bertscore-f": BertScore(encoder, device="cpu"),
        "bartscore-f": BartScore(bart, device="cpu"),
        "books": Question(t5, QUESTION, name="books", yes="the", no="a", device="cpu"),
        "toxicity": Toxicity(classifier(), ["rude"], device="cpu"),
    }
    scores = score_texts(
        [TEXTS[0], long, f"{long} and more", TEXTS[1]],
        [[TEXTS[1]], [TEXTS[1]], [TEXTS[1]], [long, "one", long]],
        list(metrics.values()),
        messages=["m"] * 4,
    )
    for name in metrics:
        assert scores[name].n_truncated == (3 if "score" in name else 2), name
        assert scores[name].n_missing == 0
        assert scores[name].values[1] == pytest.approx(scores[name].values[2], abs=1e-4)
    assert "|length:64|" in scores["bertscore-f"].signature
    assert "|length:48|" in scores["bartscore-f"].signature


def test_an_encoder_of_a_sequence_to_sequence_model_has_states(bart: Path, t5: Path) -> None:
    for folder in (bart, t5):
        same = _values(BertScore(folder, device="cpu"), TEXTS, TEXTS)
        assert same["bertscore-f"] == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_signatures_name_model_layer_and_weights(encoder: Path, bart: Path) -> None:
    first = score_texts(["a"], [["b"]], [BertScore(encoder, device="cpu")])["bertscore-f"].signature
    second = score_texts(["a"], [["b"]], [BertScore(encoder, layer=1, device="cpu")])["bertscore-f"].signature
    assert first.startswith("bertscore-f|refs:max|model:transformer|weights:")
    assert ("|layer:2|idf:no|" in first, "|layer:1|idf:no|" in second) == (True, True)


def test_a_reference_without_words_for_the_model(encoder: Path) -> None:
    scores = score_texts(["[SEP]", "a", "a"], [["a"], ["[SEP] [CLS]"], ["a"]], [BertScore(encoder, device="cpu")])
    assert scores["bertscore-f"].reasons == ("no_words", "no_words", None)


def test_weights_that_are_not_numbers(encoder: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(encoder)
    with torch.no_grad():
        model.encoder.layer[0].output.dense.bias.fill_(math.nan)
    folder = _with_tokenizer(model, encoder, tmp_path / "broken")
    scores = score_texts(["a", "b"], [["b"], ["a"]], [BertScore(folder, device="cpu")])["bertscore-f"]
    assert scores.reasons == ("not_finite", "not_finite")
    assert (scores.corpus.value, scores.corpus.reason) == (None, "no_values")


def test_models_of_another_kind(encoder: Path, bart: Path, classifier: Callable[..., Path], tmp_path: Path) -> None:
    cases: list[tuple[Callable[[], Metric], str]] = [
        (lambda: BartScore(encoder), "transformer is a bert model without encoder and decoder: give a sequence"),
        (lambda: Question(encoder, "{text}", name="q"), "transformer is a bert model without encoder and decoder"),
        (lambda: Toxicity(encoder, ["LABEL_0"]), "the weights of transformer lack classifier.bias and 1 more: give a"),
        (lambda: BertScore(tmp_path), f"{tmp_path} holds no weights"),
        (lambda: BertScore("./nowhere"), "no model folder at ./nowhere"),
        (lambda: BertScore(encoder, layer=3), "transformer has no layer 3: give one from 0 to 2"),
        (lambda: BertScore(encoder, device="abacus"), "the model transformer cannot be loaded"),
        (lambda: Toxicity(classifier(), ["hateful"]), "classifier"),
        (lambda: Toxicity(classifier(), []), "classifier"),
        (lambda: Toxicity(classifier(), ["kind", "rude", "threat"]), "all labels of classifier"),
        (lambda: Question(bart, "{reply}", name="q"), "the question of q has the fields ['reply']: give {text}"),
        (lambda: Question(bart, "{message}", name="q"), "the question of q has the fields ['message']"),
        (lambda: Question(bart, "{text", name="q"), "the question of q is not a template"),
        (
            lambda: Question(bart, "{text}", name="q", yes="the", no="The"),
            "bart0 has the same tokens for 'the' and 'The'",
        ),
        (
            lambda: Question(bart, "{text}", name="q", yes="§", no="a"),
            "bart0 has the same tokens for '§' and 'a'",
        ),
    ]
    for make, message in cases:
        with pytest.raises(InputError) as caught:
            make()
        assert str(caught.value).startswith(message), (str(caught.value), message)
        assert "\n" not in str(caught.value)


def test_no_texts_for_a_model(encoder: Path, bart: Path) -> None:
    scores = score_texts(["", "a"], [["a"], []], [BertScore(encoder, device="cpu"), BartScore(bart, device="cpu")])
    for each in scores.values():
        assert each.reasons == ("empty_text", "no_reference")
        assert each.corpus.reason == "no_values"
