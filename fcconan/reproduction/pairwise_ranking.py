"""The values of the paper on pairwise ranking with JudgeLM, recomputed from `cn-ranking`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from fcconan.building import group_values, read_csv, table_path
from fcconan.data import read_table
from fcconan.groups import Bootstrap
from fcconan.reproduction.datasets import Datasets, Row
from fcconan.reproduction.published import load_paper
from fcconan.reproduction.values import Key, RecomputedValue, status_of
from fcconan.scoring import agree, corpus_bleu, measure_agreement, metrics, rank, repetition_rate

PAPER = "pairwise-ranking"
DATASET = "cn-ranking"
REFERENCE = "gold_truth"
CORPORA = ("conan", "mt-conan")
NONE = Bootstrap(resamples=0)
SPLITS = ("train", "validation", "test")
FEATURES = ("relatedness", "specificity", "richness", "coherence", "grammaticality", "overall")
RELEASED = {"conan": "released metrics CONAN", "mt-conan": "released metrics MT-CONAN"}
METRIC_NAMES = {  # names of metrics in this package, by column of these tables
    "rouge-l": "rouge-l",
    "bleu": "bleu-4",
    "length": "length-words",
    "novelty": "novelty",
    "repetition_rate": "repetition-rate",
}


def recompute(data: Datasets) -> dict[Key, RecomputedValue]:
    """Recomputes every value whose data were released.

    Args:
        data: Datasets; `cn-ranking` is used.

    Returns:
        Values by table, row and column.

    Raises:
        InputError: The dataset cannot be built.
    """
    shares = _compute_shares(data)
    parts = (
        _recompute_corpora(data),
        _recompute_table_4(data, shares),
        _recompute_features(data),
        recompute_sizes(data),
        _recompute_annotation(data),
        _recompute_correlations(shares),
        *(_recompute_metrics(data, corpus) for corpus in CORPORA),
    )
    return {key: value for part in parts for key, value in part}


def _recompute_corpora(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    for corpus in CORPORA:
        splits = {split: data.rows(DATASET, f"{corpus}-pairs", split) for split in SPLITS}
        pairs = [row for rows in splits.values() for row in rows]
        messages = {row["hate_speech"] for row in pairs}
        replies = {row["counter_narrative"] for row in pairs}
        words = float(np.mean([len(row["counter_narrative"].split()) for row in pairs]))
        for column, value in {
            "pairs": len(pairs),
            "hate_speech": len(messages),
            "counter_narratives": len(replies),
            "replies_per_hate_speech": len(pairs) / len(messages),
            "words_per_reply": words,
        }.items():
            yield ("Table 2", corpus, column), RecomputedValue(value)
        for split, rows in splits.items():
            yield ("text 3.2", corpus, split), RecomputedValue(len(rows))
        if corpus != "conan":
            yield ("text 3.2", corpus, "targets"), RecomputedValue(len({row["target"] for row in pairs}))


def _compute_shares(data: Datasets) -> dict[str, dict[str, float]]:
    """Returns shares of points in percent, by rater and system.

    The raters are the judge models, `human` (with the released majorities) and `strict` (with strict majorities).
    """
    human, majorities = (data.rows(DATASET, "comparisons", split) for split in ("human", "human_majority"))
    raters = _raters_by_pair(human)
    alone = [row for row in human if len(raters[_pair(row)]) == 1]
    verdicts = {
        name: [*alone, *(row for row in majorities if row["rater"] == kind)]
        for name, kind in (("human", "majority-released"), ("strict", "majority"))
    }
    for row in data.rows(DATASET, "comparisons", "judgelm"):
        verdicts.setdefault(row["rater"], []).append(row)
    found = {}
    for name, rows in verdicts.items():
        systems = rank(rows, bootstrap=NONE).to_frame().query("aspect == 'share'")
        found[name] = dict(zip(systems["system"], systems["value"], strict=True))
    return found


def _pair(row: Row) -> tuple[str, frozenset[str]]:
    return row["item_id"], frozenset((row["system_a"], row["system_b"]))


def _raters_by_pair(comparisons: Sequence[Row]) -> dict[tuple[str, frozenset[str]], list[str]]:
    """Returns the raters of each pair of replies."""
    return group_values((_pair(row), row["rater"]) for row in comparisons)


def _recompute_table_4(
    data: Datasets, shares: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[Key, RecomputedValue]]:
    judged = [row for row in data.rows(DATASET, "comparisons", "judgelm") if row["rater"] == "judgelm-33b"]
    readable = sum(row["verdict"] != "invalid" for row in judged)
    for column in ("human", "judgelm-33b"):
        for system, share in shares[column].items():
            rank = 1 + sum(other > share for other in shares[column].values())
            strict = f"strict majorities: {shares['strict'][system]:.2f}"
            note = strict if column == "human" else f"{readable} readable verdicts of {len(judged)}"
            yield ("Table 4", system, f"{column}/rank"), RecomputedValue(rank)
            yield ("Table 4", system, f"{column}/share"), RecomputedValue(share, note)


def _recompute_features(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    systems = {
        row["reply_id"]: row["system"]
        for config in ("conan", "mt_conan")
        for row in data.rows(DATASET, "replies", config)
    }
    ratings = data.rows(DATASET, "ratings", "features")
    raters = sorted({row["rater"] for row in ratings})
    replies = list(dict.fromkeys(row["reply_id"] for row in ratings))
    kappas = []
    for feature in FEATURES:
        rows = [row for row in ratings if row["aspect"] == feature]
        for system in load_paper(PAPER).printed("Table 5"):
            mean = float(np.mean([row["value"] for row in rows if systems[row["reply_id"]] == system]))
            yield ("Table 5", system, feature), RecomputedValue(mean)
        table = np.full((len(raters), len(replies)), np.nan)
        for row in rows:
            table[raters.index(row["rater"]), replies.index(row["reply_id"])] = row["value"]
        kappas.append(float(measure_agreement(table, coefficients=["cohen"], bootstrap=NONE)["value"][0]))
        yield ("Table B.1", feature, "kappa"), RecomputedValue(kappas[-1])
    per_system = Counter(systems[reply] for reply in replies)
    (items,) = set(per_system.values())
    for row_name, value in {
        "annotators": len(raters),
        "replies": len(replies),
        "items": items,
        "systems": len(per_system),
        "mean_kappa": float(np.mean(kappas)),
    }.items():
        yield ("text 4.2", row_name, "value"), RecomputedValue(value)


def recompute_sizes(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    """Yields the numbers of systems, items and comparisons of the tournaments."""
    table = read_table(data.path(DATASET) / table_path("comparisons", "tournament")).select(["system_a", "system_b"])
    systems = len(set(table.column("system_a").to_pylist()) | set(table.column("system_b").to_pylist()))
    items = sum(len(data.rows(DATASET, "items", config)) for config in ("conan", "mt_conan"))
    comparisons = items * systems * (systems - 1) // 2
    for row, value in (("systems", systems), ("items", items), ("comparisons", comparisons)):
        yield ("text 4.1 tournaments", row, "value"), RecomputedValue(value)


def _recompute_annotation(data: Datasets) -> Iterator[tuple[Key, RecomputedValue]]:
    human = data.rows(DATASET, "comparisons", "human")
    per_corpus = {corpus: _raters_by_pair([row for row in human if row["corpus"] == corpus]) for corpus in CORPORA}
    judged = [names for found in per_corpus.values() for names in found.values()]
    raters = {name for names in judged for name in names}
    (items,) = {len({item for item, _ in found}) for found in per_corpus.values()}
    (common,) = {sum(len(names) == len(raters) for names in found.values()) for found in per_corpus.values()}
    alone = Counter(names[0] for names in judged if len(names) == 1)
    (by_each,) = set(alone.values())
    for row, value in {
        "annotators": len(raters),
        "items_per_corpus": items,
        "comparisons": len(judged),
        "by_all_annotators": len(CORPORA) * common,
        "by_all_annotators_per_corpus": common,
        "by_one_annotator": alone.total(),
        "alone_per_annotator": by_each,
    }.items():
        yield ("text 4.1 people", row, "value"), RecomputedValue(value)
    for corpus in CORPORA:
        # All three annotators judged the comparisons that several judged.
        rows = [row for row in human if row["corpus"] == corpus]
        found = agree(rows, kind="comparisons", coefficient=("cohen",), bootstrap=NONE).to_frame()
        yield ("text 4.1 agreement", corpus, "mean_kappa"), RecomputedValue(float(found["value"][0]))


def _recompute_correlations(shares: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[Key, RecomputedValue]]:
    from scipy.stats import pearsonr

    people, judge = shares["human"], shares["judgelm-33b"]
    rouge, bleu = (_printed_column("released metrics both", column) for column in ("rouge-l", "bleu"))
    bertscore = _printed_column("released BERTScore both", "bertscore")
    # BLEU is 0 for most systems; the paper ranks equal values by name.
    bleu_ranks = {name: float(rank) for rank, name in enumerate(sorted(sorted(bleu), key=bleu.__getitem__))}
    for table, row, x, y in (
        ("text abstract", "judgelm_human", people, judge),
        ("text 6.1 people", "judgelm-33b", people, judge),
        ("text 6.1 people", "judgelm-7b", people, shares["judgelm-7b"]),
        ("text 6.1 people", "bertscore", bertscore, people),
    ):
        yield (table, row, "spearman"), RecomputedValue(_spearman(x, y))
    for row, y in (("rouge-l_bertscore", bertscore), ("rouge-l_bleu", bleu_ranks)):
        value = RecomputedValue(_spearman(rouge, y), "metrics as released", from_print=True)
        yield ("text 6.1 metrics", row, "spearman"), value
    systems = sorted(people)
    found = pearsonr([people[name] for name in systems], [judge[name] for name in systems])
    yield ("text 6.1 pearson", "judgelm-33b", "pearson"), RecomputedValue(float(found.statistic))
    yield ("text 6.1 pearson", "judgelm-33b", "p"), RecomputedValue(float(found.pvalue))


def _printed_column(table: str, column: str) -> dict[str, float]:
    """Returns the printed values of a column by row."""
    return {row: cells[column].value for row, cells in load_paper(PAPER).parsed(table).items()}


def _spearman(x: Mapping[str, float], y: Mapping[str, float]) -> float:
    from scipy.stats import spearmanr

    systems = sorted(x.keys() & y.keys())
    # Shares that differ by rounding errors are ties.
    return float(spearmanr(*([round(scores[name], 11) for name in systems] for scores in (x, y))).statistic)


def _recompute_metrics(data: Datasets, corpus: str) -> Iterator[tuple[Key, RecomputedValue]]:
    texts = _texts_by_system(data, corpus)
    printed = load_paper(PAPER).parsed(RELEASED[corpus])
    wide = pd.DataFrame(texts).assign(references=[[text] for text in texts[REFERENCE]])
    rows = (
        wide.rename_axis("item_id").reset_index().melt(["item_id", "references"], var_name="system", value_name="text")
    )
    rows["reply_id"] = rows["system"] + rows["item_id"].astype(str)
    training = data.rows(DATASET, f"{corpus}-pairs", "train")
    scored = metrics(rows, metric=("rouge-l", "length-words"), novelty_against=training).to_frame()
    for system, own in rows.groupby("system", sort=False):
        values = scored[scored["system"] == system].set_index("metric")["value"].to_dict()
        values |= corpus_bleu(["bleu-4"], own, smoothing="none")
        # The authors' script reads replies as cells of a CSV file, with quotation marks where they need it.
        cells = [pd.Series([text]).to_csv(index=False, header=False).removesuffix("\n") for text in own["text"]]
        values["repetition-rate"] = repetition_rate(cells, windows="script")
        for column, name in METRIC_NAMES.items():
            value = values[name]
            # The released ROUGE values are medians of unseeded resamples: `rounding` would be a coincidence.
            resampled = column == "rouge-l" and status_of(printed[system][column], value) != "exact"
            yield (RELEASED[corpus], system, column), RecomputedValue(value, by_chance=resampled)


def _texts_by_system(data: Datasets, corpus: str) -> dict[str, list[str]]:
    """Returns the replies to the compared items by system, in the order of the released evaluation files."""
    compared = {row["item_id"] for row in data.rows(DATASET, "comparisons", "human")}
    rows = [row for row in data.rows(DATASET, "replies", corpus.replace("-", "_")) if row["item_id"] in compared]
    if corpus == "mt-conan":
        key = "mt_conan_order"
        references = read_csv(data.source(PAPER, key), load_paper(PAPER).sources[key])["reference"]
        positions = {text.strip(): number for number, text in enumerate(references)}
        items = {
            row["item_id"]: positions.get(row["text"].strip(), len(positions))
            for row in rows
            if row["system"] == REFERENCE
        }
        rows.sort(key=lambda row: items[row["item_id"]])
    return group_values((row["system"], row["text"]) for row in rows)
