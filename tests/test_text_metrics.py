"""`fcconan.metrics` against definitions, libraries that are called one text at a time, and values by hand."""

import json
import math
import string
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sacrebleu.metrics.bleu import BLEU

from fcconan import InputError, Result, metrics, rank
from fcconan.scoring import TEXT_METRICS, corpus_bleu, repetition_rate
from tests.retrieval.tiny import TEXTS, tiny_bart, tiny_bert

WORDS = "the Ombrey readers return books early and late to a library in every Tessok town".split()
Row = dict[str, Any]


def replies(texts: Sequence[str], references: Sequence[Any] | None = None, system: str = "A") -> list[Row]:
    rows: list[Row] = [
        {"reply_id": f"{system}{n}", "item_id": f"i{n}", "system": system, "hate_speech": "The Ombrey!", "text": text}
        for n, text in enumerate(texts)
    ]
    return [row | {"references": own} for row, own in zip(rows, references or [None] * len(rows), strict=True)]


def drawn(count: int, seed: int, least: int = 2) -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, size=generator.integers(least, 12)).tolist()) + "." for _ in range(count)]


def values(result: Result, rater: str, aspect: str = "score") -> Any:
    found = result.to_frame("ratings")
    return found[(found["rater"] == rater) & (found["aspect"] == aspect)]["value"].to_numpy()


def reasons(result: Result, name: str) -> list[str | None]:
    found = result.to_frame("ratings").assign(reason=lambda rows: rows["reason"].astype(object))
    rater, _, aspect = name.partition("/")
    own = found[(found["rater"] == rater) & (found["aspect"] == (aspect or "score"))]
    return [reason if isinstance(reason, str) else None for reason in own["reason"]]


def whole(result: Result, name: str, column: str = "value") -> Any:
    found = result.to_frame()
    return found[found["metric"] == name][column].iloc[0]


# With references


def test_overlap_by_hand() -> None:
    # 4 of 5 words are shared, and 2 of 4 pairs, 1 of 3 triples; no four: method 1 takes .1 of 2. Brevity exp(1 - 6/5).
    found = metrics(replies(["a b c x d"], [["a b c y d z"]]))
    precisions = [4 / 5, 2 / 4, 1 / 3, 0.1 / 2]
    for order in (1, 2, 3, 4):
        expected = math.exp(1 - 6 / 5) * math.prod(precisions[:order]) ** (1 / order)
        assert values(found, f"bleu-{order}") == pytest.approx([expected], abs=1e-12)
    # Words: a b c d and a c b d e, of which 4 are shared, no pair, and 3 in order.
    found = metrics(replies(["A b, c d"], ["a c b d e"]))
    rouge = [values(found, f"rouge-{name}")[0] for name in "12l"]
    assert rouge == pytest.approx([2 * 4 / 9, 0, 2 * 3 / 9], abs=1e-12)
    # the, readers/reader (by stem) and books match: 3 of 4 and of 3, in two stretches.
    found = metrics(replies(["the readers return books"], ["The reader books"]), metric=("meteor",))
    mean = 3 / 4 / (0.9 * 3 / 4 + 0.1)
    assert values(found, "meteor") == pytest.approx([mean * (1 - 0.5 * (2 / 3) ** 3)], abs=1e-12)


def test_values_of_texts_are_those_of_the_libraries() -> None:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from nltk.translate.meteor_score import single_meteor_score
    from rouge_score.rouge_scorer import RougeScorer

    class Nothing:
        def synsets(self, word: str) -> list[Any]:
            return []

    texts, references = drawn(40, 0), drawn(40, 1)
    found, pairs = metrics(replies(texts, references)), [*zip(texts, references, strict=True)]
    smooth, cut = SmoothingFunction().method1, NLTKWordTokenizer().tokenize
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    for order in (1, 2, 3, 4):
        weights: Any = [1 / order] * order
        expected = [sentence_bleu([b.split()], a.split(), weights=weights, smoothing_function=smooth) for a, b in pairs]
        assert values(found, f"bleu-{order}") == pytest.approx(expected, abs=1e-12)
    for name in "12l":
        expected = [scorer.score(b, a)[f"rouge{name.upper()}"].fmeasure for a, b in pairs]
        assert values(found, f"rouge-{name}") == pytest.approx(expected, abs=1e-12)
        assert whole(found, f"rouge-{name}") == pytest.approx(np.mean(expected), abs=1e-12)
    expected = [single_meteor_score(cut(b), cut(a), wordnet=Nothing()) for a, b in pairs]
    assert values(found, "meteor") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("smoothing", ["exp", "none"])
def test_bleu_of_a_system_is_that_of_sacrebleu(smoothing: str) -> None:
    first, second = drawn(32, 3, 6), drawn(32, 4)
    texts = [*(f"{' '.join(each.split()[:5])} now." for each in first[:30]), "", "no reference"]
    references = [[one] if n % 2 else [one, other] for n, (one, other) in enumerate(zip(first, second, strict=True))]
    references[-1] = []
    streams: Any = [[own[0] for own in references[:30]], [own[1] if len(own) > 1 else None for own in references[:30]]]
    found = metrics(replies(texts, references))
    names = [f"bleu-{order}" for order in (1, 2, 3, 4)]
    own = corpus_bleu(names, pd.DataFrame({"text": texts, "references": references})[:30], smoothing=smoothing)
    for order, name in enumerate(names, 1):
        expected = BLEU(max_ngram_order=order, smooth_method=smoothing).corpus_score(texts[:30], streams).score / 100
        assert 0 < expected < 1 and own[name] == pytest.approx(expected, abs=1e-12)
        assert smoothing == "none" or whole(found, name) == own[name]
        assert (whole(found, name, "n"), whole(found, name, "n_missing")) == (32, 2)
    assert reasons(found, "bleu-4")[-2:] == ["empty_text", "no_reference"]


@pytest.mark.parametrize("name", ["bleu-4", "rouge-l", "meteor"])
def test_the_best_of_several_references_counts(name: str) -> None:
    texts, first, second = drawn(10, 9), drawn(10, 10), drawn(10, 11)
    alone = [values(metrics(replies(texts, own), metric=(name,)), name) for own in (first, second)]
    lists = [[one, " ", other] for one, other in zip(first, second, strict=True)]
    for both in (lists, [json.dumps(own) for own in lists], [np.array(own, dtype=object) for own in lists]):
        assert values(metrics(replies(texts, both), metric=(name,)), name) == pytest.approx(np.maximum(*alone))


def test_texts_without_words_have_no_value() -> None:
    found = metrics(replies(["книга", "book", "book", "...", "\u200b"], ["book", "книга", "book", "a", "b"]))
    assert reasons(found, "rouge-1") == ["no_words", "no_words", None, "no_words", "empty_text"]
    assert reasons(found, "rouge-2") == ["no_words", "no_words", "too_short", "no_words", "empty_text"]
    assert reasons(found, "distinct-2") == ["too_short", "too_short", "too_short", "no_words", "empty_text"]
    assert reasons(found, "length-words") == [None] * 5
    assert whole(found, "rouge-2", "reason") == "no_values" and math.isnan(whole(found, "rouge-2"))
    assert "1 replies have no value by rouge-2: too_short." not in found.notes  # three by distinct-2
    assert "3 replies have no value by rouge-2, distinct-2: too_short." in found.notes


class WordNet:
    """A WordNet in which books are texts."""

    def synsets(self, word: str) -> list[Any]:
        return [self] if word in ("book", "text") else []

    def lemmas(self) -> list[Any]:
        return [type("Lemma", (), {"name": lambda _, word=word: word})() for word in ("book", "text")]

    def get_version(self) -> str:
        return "3.0"


def test_meteor_says_whether_it_matched_synonyms(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk.corpus

    rows = replies(["a text"], ["a book"])
    alone = metrics(rows, metric=("meteor",))
    monkeypatch.setattr(nltk.corpus, "wordnet", WordNet())
    there = metrics(rows, metric=("meteor",))
    assert (whole(alone, "meteor"), whole(there, "meteor")) == (0.25, pytest.approx(1 - 0.5 * (1 / 2) ** 3))
    assert "|meteor:match=exact+stem,tok=" in alone.signature
    assert "|meteor:match=exact+stem+wordnet-3.0,tok=" in there.signature


# Without references


def rate(windows: list[list[list[str]]]) -> float:
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


def sliding(texts: list[str], size: int) -> list[list[list[str]]]:
    words = [(place, word) for place, text in enumerate(texts) for word in text.split()]
    windows = []
    for start in range(max(1, len(words) - size + 1)):
        parts: dict[int, list[str]] = {}
        for place, word in words[start : start + size]:
            parts.setdefault(place, []).append(word)
        windows.append(list(parts.values()))
    return windows


@pytest.mark.parametrize("window", [4, 7, 30, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_repetition_rate_slides(window: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    texts = [" ".join(generator.choice([*"abc"], size=generator.integers(1, 15)).tolist()) for _ in range(25)]
    expected = rate(sliding(texts, window))
    assert repetition_rate(texts, window=window) == pytest.approx(expected, rel=1e-12)
    assert window < 1000 or whole(metrics(replies(texts)), "repetition-rate") == pytest.approx(expected, rel=1e-12)


def test_repetition_rate_by_hand() -> None:
    # Words: a twice, b twice, c, d, e of 5. Pairs: a-b twice of 5. No triple is repeated, so the mean is 0.
    assert repetition_rate(["a b c", "a b d e"]) == 0
    # The script leaves out what is 0, and the square root of 2/5 * 1/4 remains: d and e end in different texts.
    assert repetition_rate(["a b c", "a b d e"], windows="script") == pytest.approx(100 * math.sqrt(2 / 5 * 1 / 4))
    assert repetition_rate(["a b c d", "a b c d"]) == pytest.approx(100)
    texts = ["a b c d a b c d", "a b c d e f", "a a a a a b b b b b"]
    blocks = [[text.split() for text in texts[:2]], [texts[2].split()]]
    assert repetition_rate(texts, window=12, windows="script") == pytest.approx(rate(blocks))
    # The last block is complete at 10 words, and the script counts it twice.
    assert repetition_rate(texts, window=10, windows="script") == pytest.approx(rate([*blocks, blocks[-1]]))
    found = metrics(replies(["a b", "c", ""]), metric=("repetition-rate",))
    assert (whole(found, "repetition-rate", "reason"), whole(found, "repetition-rate", "n_missing")) == ("too_short", 3)
    assert found.to_frame("ratings").empty and repetition_rate([" "]) == "no_values"


def test_distinct_and_length_by_hand() -> None:
    found = metrics(replies(["A b, a.", "b", "..."]))
    assert values(found, "distinct-1")[:2].tolist() == [2 / 3, 1.0]
    assert (whole(found, "distinct-1"), whole(found, "distinct-2")) == (2 / 4, 1.0)
    assert values(found, "length-words").tolist() == [3, 1, 1]
    assert values(found, "length-characters").tolist() == [7, 1, 3]
    assert [*dict.fromkeys(found.to_frame()["metric"])] == [*TEXT_METRICS[8:]]  # those that need no reference


def test_novelty_is_its_definition(tmp_path: Path) -> None:
    def words(text: str) -> set[str]:
        return set(text.translate(str.maketrans("", "", string.punctuation)).lower().split())

    texts, training = [*drawn(600, 0), "W1, w2!", "nothing of this", "?!"], [*drawn(60, 1), "...", "w1 w2 w3 W3."]
    expected = [
        1 - max(len(own & other) / len(own | other) for other in map(words, training) if other)
        for own in map(words, texts[:-1])
    ]
    rows = [{"counter_narrative": text} for text in training]
    found = metrics(replies(texts), metric=("novelty",), novelty_against=rows)
    assert values(found, "novelty")[:-1] == pytest.approx(expected, abs=1e-12)
    assert values(found, "novelty")[-3:-1].tolist() == pytest.approx([1 / 3, 1.0])
    assert reasons(found, "novelty")[-1] == "no_words"
    assert whole(found, "novelty") == pytest.approx(np.mean(expected), abs=1e-12)
    pd.DataFrame(rows).to_csv(tmp_path / "train.csv", index=False)
    again = metrics(replies(texts), novelty_against=tmp_path / "train.csv")
    assert whole(again, "novelty") == whole(found, "novelty") and "against=train.csv@" in again.signature


# Models


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("encoder") / "transformer")


@pytest.fixture(scope="module")
def bart(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bart(tmp_path_factory.mktemp("bart"), encoder)


@pytest.fixture(scope="module")
def classifier(encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    def make(problem: str | None = None, labels: Sequence[str] = ("kind", "rude", "threat")) -> Path:
        import torch
        from transformers import AutoConfig, AutoTokenizer, BertForSequenceClassification

        torch.manual_seed(3)
        names = {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
        config = AutoConfig.from_pretrained(encoder, problem_type=problem, initializer_range=0.5, **names)
        folder = tmp_path_factory.mktemp("classifier")
        BertForSequenceClassification(config).save_pretrained(folder)
        AutoTokenizer.from_pretrained(encoder).save_pretrained(folder)
        return folder

    return make


def tokens(folder: Path, text: str) -> list[int]:
    from transformers import AutoTokenizer

    return list(AutoTokenizer.from_pretrained(folder)(text)["input_ids"])


OWN = [*TEXTS, "The § Ombrey § sing."]  # tokens that the tokenizer does not know count as well
OTHERS = [*TEXTS[1:], TEXTS[0], "§ shops"]


def test_bertscore_by_its_definition(encoder: Path) -> None:
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(encoder).eval()

    def states(text: str) -> tuple[list[int], Any]:
        ids = tokens(encoder, text)
        with torch.no_grad():
            found = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[2][0].double().numpy()
        return ids, found / np.linalg.norm(found, axis=1, keepdims=True)

    expected = []
    for text, reference in zip(OWN, OTHERS, strict=True):
        (own, left), (other, right) = states(text), states(reference)
        cosines = left @ right.T
        precision = np.average(cosines.max(axis=1), weights=[token not in (2, 3) for token in own])
        recall = np.average(cosines.max(axis=0), weights=[token not in (2, 3) for token in other])
        expected.append((precision, recall, 2 * precision * recall / (precision + recall)))
    rows = replies([*OWN, "[SEP]", "a"], [*OTHERS, "a", "[SEP] [CLS]"])
    for size in (2, 32):
        found = metrics(rows, bertscore=str(encoder), device="cpu", batch_size=size)
        for field, column in zip(("precision", "recall", "f"), zip(*expected, strict=True), strict=True):
            assert values(found, "bertscore", field)[:-2] == pytest.approx(column, abs=1e-5)
    assert reasons(found, "bertscore/f")[-2:] == ["no_words"] * 2
    assert ":model=transformer,weights=" in found.signature and ",length=64,layer=2,idf=no," in found.signature


def test_bartscore_and_questions_by_their_definitions(bart: Path) -> None:
    import torch
    from transformers import AutoModelForSeq2SeqLM

    model, asked = AutoModelForSeq2SeqLM.from_pretrained(bart).eval(), "text: {text} message: {message}"

    def likelihood(source: str, target: str) -> float:
        labels = torch.tensor([tokens(bart, target)])
        with torch.no_grad():  # the loss is the mean negative log-likelihood of the labels
            return -float(model(input_ids=torch.tensor([tokens(bart, source)]), labels=labels).loss)

    pairs = [*zip(TEXTS, OTHERS[:-1], strict=True)]
    precision, recall = [likelihood(b, a) for a, b in pairs], [likelihood(a, b) for a, b in pairs]
    yes, no = tokens(bart, "Yes"), tokens(bart, "No")
    first = next(place for place in range(9) if yes[place] != no[place])
    chances = []
    for text in TEXTS:
        ids = torch.tensor([tokens(bart, asked.format(text=text, message="The Ombrey!"))[:48]])
        with torch.no_grad():
            logits = model(input_ids=ids, labels=torch.tensor([yes])).logits[0, first].double().softmax(dim=0)
        chances.append(float(logits[yes[first]] / (logits[yes[first]] + logits[no[first]])))
    rows = replies(TEXTS, OTHERS[:-1])
    for size in (2, 32):
        both: Any = {"bartscore": str(bart), "unieval": str(bart), "question": {"books": asked}}
        found = metrics(rows, device="cpu", batch_size=size, **both)
        assert values(found, "bartscore", "precision") == pytest.approx(precision, abs=1e-4)
        assert values(found, "bartscore", "recall") == pytest.approx(recall, abs=1e-4)
        assert values(found, "bartscore", "f") == pytest.approx((np.array(precision) + recall) / 2, abs=1e-4)
        assert values(found, "books") == pytest.approx(chances, abs=1e-5)
    assert np.ptp(chances) > 1e-4 and abs(np.subtract(precision, recall)).max() > 0.01


@pytest.mark.parametrize(
    ("problem", "labels"),
    [(None, ("kind", "rude", "threat")), ("multi_label_classification", ("kind", "rude", "threat")), (None, ("rude",))],
)
def test_toxicity_by_its_definition(
    problem: str | None, labels: tuple[str, ...], classifier: Callable[..., Path]
) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    folder, toxic = classifier(problem, labels), tuple(label for label in labels if label != "kind")
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = torch.cat([model(torch.tensor([tokens(folder, text)])).logits for text in TEXTS]).double()
    alone = problem is None and len(labels) > 1
    expected = logits.softmax(dim=1)[:, 1:].sum(dim=1) if alone else logits.sigmoid()[:, -len(toxic) :].amax(dim=1)
    found = metrics(replies(TEXTS), toxicity=str(folder), toxic_label=toxic, device="cpu", batch_size=3)
    assert values(found, "toxicity") == pytest.approx(expected.numpy(), abs=1e-5)
    assert not whole(found, "toxicity", "higher_is_better") and f"labels={'+'.join(toxic)}," in found.signature


def test_long_texts_and_odd_weights_of_models(encoder: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    found = metrics(replies([" ".join(TEXTS), "a"], ["b", "c"]), bertscore=str(encoder), device="cpu")
    assert found.notes == ["transformer reads 64 tokens: 1 of 4 replies and references are cut."]
    model = AutoModel.from_pretrained(encoder)
    with torch.no_grad():
        model.encoder.layer[0].output.dense.bias.fill_(math.nan)
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(encoder).save_pretrained(tmp_path)
    broken = metrics(replies(["a", "b"], ["b", "a"]), bertscore=str(tmp_path), device="cpu")
    assert set(reasons(broken, "bertscore/f")) == {"not_finite"}
    assert whole(broken, "bertscore-f", "reason") == "no_values"


# The verb


@pytest.mark.slow
def test_two_processes_give_the_same_values(encoder: Path) -> None:
    texts = drawn(700, 5)
    rows = [*replies(texts, drawn(700, 6)), *replies(texts[:9], drawn(9, 7), "B")]
    options: Any = {"metric": ("bleu-2", "distinct-1"), "novelty_against": [{"text": "Ombrey readers"}]}
    one, two = (metrics(rows, bertscore=str(encoder), device="cpu", jobs=jobs, **options) for jobs in (1, 2))
    assert one.signature == two.signature
    for name in ("systems", "ratings"):
        pd.testing.assert_frame_equal(one.to_frame(name), two.to_frame(name), rtol=1e-5)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_what_out_writes_is_ranked(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_cli: Any) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [*replies(drawn(9, 1), drawn(9, 2)), *replies(["", *drawn(8, 3)], drawn(9, 2), "B")]
    pd.DataFrame(rows).to_csv("x.csv", index=False)
    options = ["metrics", "x.csv", "--metric", "rouge-1", "--metric", "rouge-l", "--out", f"y.{suffix}"]
    done = run_cli(*options)
    assert done.returncode == 0, done.stderr
    found = metrics("x.csv", metric=("rouge-1", "rouge-l"))
    ranked = rank(f"y.{suffix}", rater=("rouge-l",)).to_frame()
    means = found.to_frame().query("metric == 'rouge-l'").set_index("system")["value"]
    assert ranked.set_index("system")["value"].to_dict() == pytest.approx(means.to_dict(), abs=1e-15)
    assert ranked.set_index("system")["n_missing"].to_dict() == {"A": 0, "B": 1}
    refused = run_cli(*options)
    assert refused.returncode == 2 and f"y.{suffix} exists: choose another name, or give --force" in refused.stderr
    assert run_cli(*options, "--force").returncode == 0


def test_mistakes_are_named(encoder: Path, bart: Path, classifier: Callable[..., Path]) -> None:
    rows, model = replies(["a", "b"], ["c", "d"]), {"device": "cpu"}
    mistakes: list[tuple[str, Any, Any]] = [
        ("unknown metric 'blue-4': did you mean 'bleu-4'?", rows, {"metric": ("blue-4",)}),
        ("has no column text, only item_id", [{"item_id": "i", "system": "A", "reply_id": "r"}], {}),
        ("found the reply A0 twice: remove one", [*rows, rows[0]], {}),
        ("bleu-1 needs references, and no reply has any", replies(["a"]), {"metric": ("bleu-1",)}),
        ("novelty needs the CNs that were trained on", rows, {"metric": ("novelty",)}),
        ("has no column counter_narrative or text, only cn_", rows, {"novelty_against": [{"cn_": "a"}]}),
        ("--unieval and --question.NAME is missing", rows, {"unieval": "model"}),
        ("the question q has the fields reply, expected", rows, {"unieval": str(bart), "question": {"q": "{reply}"}}),
        ("is a bert model without encoder and decoder", rows, {"bartscore": str(encoder), **model}),
        ("the weights of transformer lack classifier.bias and 1 more", rows, {"toxicity": str(encoder), **model}),
        ("unknown label 'toxic': known are kind, rude, threat", rows, {"toxicity": str(classifier()), **model}),
        ("found no folder ./nowhere", rows, {"bertscore": "./nowhere"}),
        ("the model transformer cannot be loaded", rows, {"bertscore": str(encoder), "device": "abacus"}),
    ]
    for message, given, options in mistakes:
        with pytest.raises(InputError) as caught:
            metrics(given, **options)
        assert message in str(caught.value) and "\n" not in str(caught.value), (message, str(caught.value))


def test_a_dask_cluster_gives_the_same_values() -> None:
    distributed = pytest.importorskip("distributed")
    rows = replies(drawn(40, 5), drawn(40, 6))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        found = metrics(rows, metric=("bleu-2",), scheduler=cluster.scheduler_address)
    pd.testing.assert_frame_equal(found.to_frame(), metrics(rows, metric=("bleu-2",)).to_frame())
