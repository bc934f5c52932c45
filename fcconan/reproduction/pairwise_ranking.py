"""The figures of the paper on pairwise ranking with JudgeLM, computed anew from `cn-ranking`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from fcconan.building import read_csv, table_path
from fcconan.data import read_table
from fcconan.reproduction.datasets import Datasets, Row
from fcconan.reproduction.published import load_paper
from fcconan.reproduction.values import Key, Value, status_of
from fcconan.scoring import (
    Bleu,
    Floats,
    Metric,
    Novelty,
    RepetitionRate,
    bootstrap_means,
    correlate_tables,
    csv_cell,
    measure_agreement,
    rank_systems,
    score_texts,
    verdict_table,
)

PAPER = "pairwise-ranking"
DATASET = "cn-ranking"
REFERENCE = "gold_truth"
CORPORA = ("conan", "mt-conan")
SPLITS = ("train", "validation", "test")
FEATURES = ("relatedness", "specificity", "richness", "coherence", "grammaticality", "overall")
RELEASED = {"conan": "released metrics CONAN", "mt-conan": "released metrics MT-CONAN"}
HEADERS = {1: "the paper counts the header line of the file", 3: "the paper counts the header lines of the three files"}
EARLIER = "likely, not proven: an earlier set of replies"
RESAMPLES = 1_000  # of evaluate's ROUGE


def recompute(data: Datasets) -> dict[Key, Value]:
    """Computes every figure that data were released for.

    Args:
        data: `cn-ranking` is used.

    Returns:
        Values by table, row and column.

    Raises:
        InputError: The dataset cannot be built.
    """
    shares = _shares(data)
    parts = (
        _corpora(data),
        _table_4(data, shares),
        _features(data),
        _sizes(data),
        _people(data),
        _correlations(shares),
        *(_metrics(data, corpus) for corpus in CORPORA),
    )
    return {key: value for part in parts for key, value in part}


def _corpora(data: Datasets) -> Iterator[tuple[Key, Value]]:
    shown, parts = _printed("Table 2"), load_paper(PAPER).figures("text 3.2")
    for corpus in CORPORA:
        splits = {split: data.rows(DATASET, f"{corpus}-pairs", split) for split in SPLITS}
        pairs = [row for rows in splits.values() for row in rows]
        messages = {row["hate_speech"] for row in pairs}
        replies = {row["counter_narrative"] for row in pairs}
        words = float(np.mean([len(row["counter_narrative"].split()) for row in pairs]))
        for column, value in {
            "pairs": Value(len(pairs), _headers(len(pairs), shown["pairs"][corpus], len(splits))),
            "hate_speech": Value(len(messages)),
            "counter_narratives": Value(
                len(replies), "" if shown["counter_narratives"][corpus] == len(replies) else "no cause found"
            ),
            "replies_per_hate_speech": Value(len(pairs) / len(messages)),
            "words_per_reply": Value(words),
        }.items():
            yield ("Table 2", corpus, column), value
        for split, rows in splits.items():
            yield ("text 3.2", corpus, split), Value(len(rows), _headers(len(rows), parts[corpus][split].value))
        if corpus != "conan":
            yield ("text 3.2", corpus, "targets"), Value(len({row["target"] for row in pairs}))


def _headers(count: int, printed: float, files: int = 1) -> str:
    """Says so where a printed count is that of the lines of the files, with their headers."""
    return HEADERS[files] if printed == count + files else ""


def _shares(data: Datasets) -> dict[str, dict[str, float]]:
    """Percent of the points by system, of people (with the released and with strict majorities) and of every judge."""
    human, majorities = (data.rows(DATASET, "comparisons", split) for split in ("human", "human_majority"))
    raters = _raters(human)
    alone = [row for row in human if len(raters[_pair(row)]) == 1]
    verdicts = {
        name: [*alone, *(row for row in majorities if row["rater"] == kind)]
        for name, kind in (("human", "majority-released"), ("strict", "majority"))
    }
    for row in data.rows(DATASET, "comparisons", "judgelm"):
        verdicts.setdefault(row["rater"], []).append(row)
    return {
        name: {system["name"]: system["share"] for system in rank_systems(rows, resamples=0)["systems"]}
        for name, rows in verdicts.items()
    }


def _pair(row: Row) -> tuple[str, frozenset[str]]:
    return row["item_id"], frozenset((row["system_a"], row["system_b"]))


def _raters(comparisons: Sequence[Row]) -> dict[tuple[str, frozenset[str]], list[str]]:
    """Returns who judged every pair of replies."""
    found: dict[tuple[str, frozenset[str]], list[str]] = {}
    for row in comparisons:
        found.setdefault(_pair(row), []).append(row["rater"])
    return found


def _table_4(data: Datasets, shares: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[Key, Value]]:
    judged = [row for row in data.rows(DATASET, "comparisons", "judgelm") if row["rater"] == "judgelm-33b"]
    readable = sum(row["verdict"] != "invalid" for row in judged)
    printed = _printed("Table 4")
    compared = len(_raters(data.rows(DATASET, "comparisons", "human")))
    fitting = _numbers_of_comparisons(printed["human/share"].values(), compared)
    for column, given in (("human", shares["human"]), ("judgelm-33b", shares["judgelm-33b"])):
        for system, share in given.items():
            rank = 1 + sum(other > share for other in given.values())
            if column == "human":
                basis = f"strict majorities: {shares['strict'][system]:.2f}"
                if fitting and compared not in fitting:
                    basis += f"; the print fits {' or '.join(map(str, fitting))} comparisons, not {compared}"
            else:
                basis = f"{readable} readable of {len(judged)}"
            place = "" if rank == printed[f"{column}/rank"][system] else "rank of the recomputed share"
            if (column, system) == ("judgelm-33b", REFERENCE):
                shown = printed[f"{column}/share"]
                sixth = 1 + sum(other > shown[system] for other in shown.values())
                said = f"by its printed share, {shown[system]:.2f}, it has rank {sixth}"
                place = f"{place}; {said}" if place else said
            yield ("Table 4", system, f"{column}/rank"), Value(rank, place)
            yield ("Table 4", system, f"{column}/share"), Value(share, f"{basis}; {EARLIER}")


def _numbers_of_comparisons(shares: Iterable[float], most: int) -> list[int]:
    """Returns the numbers of comparisons, each one point in halves, of which shares in percent with two digits are."""
    of_all = np.array([*shares])
    halves = 2 * np.arange(1, most + 1)[:, None]
    off = np.abs(np.round(of_all / 100 * halves) / halves * 100 - of_all)
    return [int(number) + 1 for number in np.flatnonzero((off <= 0.005 + 1e-9).all(axis=1))]


def _features(data: Datasets) -> Iterator[tuple[Key, Value]]:
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
            yield ("Table 5", system, feature), Value(mean)
        table = np.full((len(raters), len(replies)), np.nan)
        for row in rows:
            table[raters.index(row["rater"]), replies.index(row["reply_id"])] = row["value"]
        kappas.append(_kappa(table, range(int(rows[0]["low"]), int(rows[0]["high"]) + 1)))
        yield ("Table B.1", feature, "kappa"), Value(kappas[-1])
    per_system = Counter(systems[reply] for reply in replies)
    (items,) = set(per_system.values())
    for row_name, value in {
        "annotators": len(raters),
        "replies": len(replies),
        "items": items,
        "systems": len(per_system),
        "mean_kappa": float(np.mean(kappas)),
    }.items():
        yield ("text 4.2", row_name, "value"), Value(value)


def _kappa(table: Floats, domain: Sequence[float]) -> float:
    """Cohen's kappa, unweighted, mean over the pairs of raters."""
    overall, *_ = measure_agreement(table, domain, coefficients=("cohen",), resamples=0)
    return float(overall["value"])


def _sizes(data: Datasets) -> Iterator[tuple[Key, Value]]:
    table = read_table(data.path(DATASET) / table_path("comparisons", "tournament")).select(
        ["rater", "system_a", "system_b"]
    )
    outcomes = Counter(table.column("rater").to_pylist())["judgelm-33b"]
    systems = len(set(table.column("system_a").to_pylist()) | set(table.column("system_b").to_pylist()))
    items = sum(len(data.rows(DATASET, "items", config)) for config in ("conan", "mt_conan"))
    comparisons = items * systems * (systems - 1) // 2
    shown = _printed("text 4.1 tournaments")["value"]
    header, fewer = _headers(items, shown["items"]), round(shown["items"]) - items
    note = f"{outcomes} outcomes of JudgeLM-33B were released"
    if shown["comparisons"] - comparisons == fewer * systems * (systems - 1) // 2 != 0:
        note = f"{fewer} {'item' if fewer == 1 else 'items'} fewer than the paper counts; {note}"
    for row, value in {
        "systems": Value(systems),
        "items": Value(items, f"{header} of CONAN" if header else ""),
        "comparisons": Value(comparisons, note),
    }.items():
        yield ("text 4.1 tournaments", row, "value"), value


def _people(data: Datasets) -> Iterator[tuple[Key, Value]]:
    human = data.rows(DATASET, "comparisons", "human")
    per_corpus = {corpus: _raters([row for row in human if row["corpus"] == corpus]) for corpus in CORPORA}
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
        yield ("text 4.1 people", row, "value"), Value(value)
    for corpus in CORPORA:
        table = verdict_table([row for row in human if row["corpus"] == corpus])[1]
        table = table[:, ~np.isnan(table).any(axis=0)]
        yield ("text 4.1 agreement", corpus, "mean_kappa"), Value(_kappa(table, (0, 1, 2)))


def _correlations(shares: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[Key, Value]]:
    from scipy.stats import pearsonr

    people = shares["human"]
    columns = _printed("Table 4")
    shown = columns["human/share"], columns["judgelm-33b/share"]
    by_rows = _spearman(columns["human/rank"], columns["judgelm-33b/rank"])
    note = f"Table 4's row numbers give {by_rows:.2f}; its shares {_spearman(*shown):.2f}"
    large = Value(_spearman(people, shares["judgelm-33b"]), note)
    yield ("text abstract", "judgelm_human", "spearman"), large
    yield ("text 6.1 people", "judgelm-33b", "spearman"), large
    small = Value(_spearman(people, shares["judgelm-7b"]), "the paper prints no shares of this judge")
    yield ("text 6.1 people", "judgelm-7b", "spearman"), small
    bert = _printed("released BERTScore both")["bertscore"]
    with_print = _spearman(bert, columns["human/share"])
    note = f"BERTScore as released; with the printed shares of people {with_print:.2f}"
    yield ("text 6.1 people", "bertscore", "spearman"), Value(_spearman(bert, people), note)
    systems = sorted(people)
    recomputed = pearsonr([people[name] for name in systems], [shares["judgelm-33b"][name] for name in systems])
    of_print = pearsonr(*([column[name] for name in systems] for column in shown))
    for column, value, other in (
        ("pearson", recomputed.statistic, of_print.statistic),
        ("p", recomputed.pvalue, of_print.pvalue),
    ):
        yield ("text 6.1 pearson", "judgelm-33b", column), Value(float(value), f"the printed shares give {other:.4f}")
    rouge, bleu = (_printed("released metrics both")[column] for column in ("rouge-l", "bleu"))
    yield (
        ("text 6.1 metrics", "rouge-l_bertscore", "spearman"),
        Value(_spearman(rouge, bert), "metrics as released", from_print=True),
    )
    # Sorting keeps the order of names among equal values.
    places = {name: float(place) for place, name in enumerate(sorted(sorted(bleu), key=bleu.__getitem__))}
    zeros = sum(value == 0 for value in bleu.values())
    note = f"metrics as released; {zeros} BLEU of 0 ranked by name; as ties {_spearman(rouge, bleu):.2f}"
    yield ("text 6.1 metrics", "rouge-l_bleu", "spearman"), Value(_spearman(rouge, places), note, from_print=True)


def _spearman(x: Mapping[str, float], y: Mapping[str, float]) -> float:
    (row,) = (row for row in correlate_tables(x, y) if row["coefficient"] == "spearman")
    return float(row["value"])


def _metrics(data: Datasets, corpus: str) -> Iterator[tuple[Key, Value]]:
    texts = _texts(data, corpus)
    printed = load_paper(PAPER).figures(RELEASED[corpus])
    references = [[text] for text in texts[REFERENCE]]
    training = [row["counter_narrative"] for row in data.rows(DATASET, f"{corpus}-pairs", "train")]
    metrics: list[str | Metric] = [Bleu([4], corpus_smoothing="none"), "rouge-l", "length-words", Novelty(training)]
    for system, replies in texts.items():
        scores = score_texts(replies, references, metrics, progress=False)
        cells = [csv_cell(text) for text in replies]
        scores |= score_texts(cells, metrics=[RepetitionRate(windows="script")], progress=False)
        for column, series, reason in (
            ("rouge-l", "rouge-l", _rouge_note(scores["rouge-l"].values)),
            ("bleu", "bleu-4", ""),
            ("length", "length-words", ""),
            ("novelty", "novelty", ""),
            ("repetition_rate", "repetition-rate", "the release's script rounds its four rates to six digits first"),
        ):
            value = scores[series].corpus.value
            same = status_of(printed[system][column], value) == "exact"
            # The release's ROUGE is the outcome of a draw: what is not equal was not cut off either.
            drawn = column == "rouge-l" and not same
            yield (RELEASED[corpus], system, column), Value(value, "" if same else reason, by_chance=drawn)


def _texts(data: Datasets, corpus: str) -> dict[str, list[str]]:
    """Replies to the compared items by system, in the order of the release's evaluation files."""
    compared = {row["item_id"] for row in data.rows(DATASET, "comparisons", "human")}
    rows = [row for row in data.rows(DATASET, "replies", corpus.replace("-", "_")) if row["item_id"] in compared]
    if corpus == "mt-conan":
        key = "mt_conan_order"
        references = read_csv(data.source(PAPER, key), load_paper(PAPER).sources[key])["reference"]
        place = {text.strip(): number for number, text in enumerate(references)}
        items = {
            row["item_id"]: place.get(row["text"].strip(), len(place)) for row in rows if row["system"] == REFERENCE
        }
        rows.sort(key=lambda row: items[row["item_id"]])
    texts: dict[str, list[str]] = {}
    for row in rows:
        texts.setdefault(row["system"], []).append(row["text"])
    return texts


def _rouge_note(values: Floats) -> str:
    """What the release's ROUGE can be: evaluate gives the median of the means of resamples without a seed."""
    draws = bootstrap_means(values[None], resamples=100 * RESAMPLES, seed=0).reshape(100, RESAMPLES)
    medians = np.median(draws, axis=1)
    return f"mean; the release: median of unseeded resamples, {medians.min():.4f} to {medians.max():.4f} in 100 trials"


def _printed(name: str) -> dict[str, dict[str, float]]:
    """Returns the printed numbers of a table by column and row."""
    columns: dict[str, dict[str, float]] = {}
    for row, figures in load_paper(PAPER).figures(name).items():
        for column, each in figures.items():
            columns.setdefault(column, {})[row] = each.value
    return columns
