"""`fcconan.reproduce` on the released data: statuses, and values of other libraries and of the files themselves."""

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import ndcg_score

from fcconan import reproduce
from fcconan.reproduction import load_paper, parse_printed, status_of
from tests.upstream import oracle
from tests.upstream.conftest import Release, shared_folder

pytestmark = [
    pytest.mark.upstream,
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::pandas.errors.PerformanceWarning"),  # the index has the order of the papers
]

Values = Any  # a data frame by paper, table, row and column
ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")
TEST = "predictions/mistralai-Mistral-7B-Instruct-v0.3_remaining.csv"
DELTA = "gpt-4-minus-best-other"
PREDICTED = {
    "g-eval-llama-3-8b": "meta-llama-Llama-3-8b-chat-hf_zeroshot",
    "g-eval-mistral-7b": "mistralai-Mistral-7B-Instruct-v0.3_zeroshot",
    "g-eval-gpt-4": "gpt-4o_zeroshot",
    "llama-3-8b": "meta-llama-Llama-3-8b-chat-hf",
    "mistral-7b": "mistralai-Mistral-7B-Instruct-v0.3",
    "gpt-4": "gpt-4o",
}
STATUSES = {
    "cseval": "Table 1: equals_results_file 213, differs 17, not_released 4. Table 2: differs 6. "
    "Table 3: not_released 24. Table 5: differs 64, not_released 8. Table 6: exact 7, differs 1. "
    "text 3.1: exact 1, not_released 4. text 3.4: differs 2, not_released 3. text 4: exact 1. "
    "text 7: exact 1, differs 2. text A.1: exact 3. text D: exact 2, differs 1, not_released 3",
    "fc-conan": "Table 1: exact 12. Table 2: exact 8. Table 3: exact 12. "
    "Table 4: exact 12, needs_model 32, not_released 4. text abstract: exact 1, differs 1. text 1: not_released 3. "
    "text 2: exact 5, differs 2. text 3 selection: exact 4, differs 2. text 3 annotation: exact 1, not_released 3. "
    "text 3 validation: not_released 4. text 4.2 agreement: not_released 3. text 4.2 validity: exact 8, rounding 1. "
    "text 4.3 pool: exact 3. text 4.3 bm25: exact 1, differs 1. "
    "text 4.3 groups: exact 6, rounding 4, not_released 1",
    "pairwise-ranking": "Table 2: exact 8, differs 2. Table 3: needs_model 8. Table 4: exact 5, differs 31. "
    "Table 5: exact 54. Table B.1: exact 6. text abstract: differs 1. text 3.2: exact 4, differs 3. "
    "text 4.1 tournaments: exact 1, differs 2. text 4.1 people: exact 7. text 4.1 agreement: exact 2. "
    "text 4.2: exact 5. text 6.1 people: differs 3. text 6.1 pearson: differs 2. text 6.1 metrics: exact 2. "
    "released metrics CONAN: exact 39, differs 6. released BERTScore CONAN: needs_model 9. "
    "released metrics MT-CONAN: exact 36, rounding 3, differs 6. released BERTScore MT-CONAN: needs_model 9. "
    "released metrics both: not_released 45. released BERTScore both: not_released 9",
}


def datasets(release: Release, folder: Path) -> Path:
    for name in ("cn-ranking", "conan", "cseval", "fc-conan", "multi-aspect"):
        (folder / name).symlink_to(release(name))
    return folder


@pytest.fixture
def values(release: Release, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Values:
    """Computed once in a test session, however many processes share the tests."""
    with shared_folder(tmp_path_factory, "reproduced") as folder:
        file = folder / "values.pickle"
        if not file.exists():
            reproduce(data_dir=datasets(release, tmp_path)).to_frame("values").to_pickle(file)
        return pd.read_pickle(file).set_index(["paper", "table", "row", "column"])


@pytest.fixture
def upstream(mirror: Path) -> Path:
    return mirror / oracle.CS_EVAL


def numbers(values: Values, *where: str, digits: int = 3) -> list[float]:
    return [round(each, digits) for each in values.loc[where, "recomputed"]]


def scores(rows: list[dict[str, str]], column: str) -> Any:
    return np.array([float(row[column]) if row[column] else np.nan for row in rows])


def test_every_value_has_its_status_source_and_command(values: Values) -> None:
    for paper, expected in STATUSES.items():
        counted = values.loc[paper].groupby("table", sort=False)["status"].value_counts()
        stated = {
            (table, status): int(n)
            for line in expected.split(". ")
            for table, _, all_counts in [line.partition(": ")]
            for status, n in (each.split() for each in all_counts.split(", "))
        }
        assert counted.to_dict() == stated
    assert values["status"].value_counts().to_dict() == {
        "not_released": 1169, "exact": 258, "equals_results_file": 213, "differs": 155, "needs_model": 58, "rounding": 8
    }  # fmt: skip
    training = values.loc["multi-aspect", "text 3", "training-pairs", "count"]
    assert (training["status"], training["recomputed"]) == ("exact", 4003)
    assert (values.loc[~values["status"].isin(["exact", "rounding"]), "note"] != "").all()
    computed = values[values["recomputed"].notna()]
    assert (computed["command"] != "").all()
    from_print = computed["note"].str.startswith("from printed values")
    assert (computed.loc[~from_print, "source"] != "").all()
    assert from_print[computed["status"] == "exact"].sum() == 16


# CSEval


def test_values_of_other_rows_are_close_to_the_printed_ones_by_chance(values: Values) -> None:
    cseval = values.loc["cseval"].loc[["Table 1", "Table 2", "Table 5"]]
    near = {
        key
        for key, published, number in cseval[["published", "recomputed"]].itertuples(name=None)
        if status_of(parse_printed(published), number) != "differs"
    }
    assert near == {
        ("Table 1", "bleu-1", "suitableness/spearman"),
        ("Table 1", "bleu-1", "average/spearman"),
        ("Table 1", "rouge-1", "average/spearman"),
        ("Table 2", "gpt-4", "ndcg"),
        ("Table 5", "toxicity", "relevance/std"),
        ("Table 5", "gpt-4-zs", "suitableness/std"),
    }
    assert near == {*cseval.index[cseval["note"].str.contains("close to the printed value by chance")]}


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("gpt-4", "gpt-4_{}_score"),
        ("gpt-4-zs", "gpt-4-zs_{}_score"),
        ("llama-3-8b-zs", "zs_Llama-3-8b-chat-hf_{}_score"),
        ("g-eval-gpt-4", "GEVAL-4_{}_score"),
        ("unieval", "{}_UniEval"),
        ("meteor", "meteor_score_(pred_cs, cs)"),
    ],
)
def test_correlations_equal_scipy(values: Values, upstream: Path, row: str, column: str) -> None:
    """The same method gives the authors' results for the first 1000 rows."""
    rows, found = oracle.read_csv(upstream / TEST), []
    for aspect in ASPECTS:
        people, judge = scores(rows, f"{aspect}_score"), scores(rows, column.format(aspect))
        if "{" in column and aspect in ("aggressiveness", "suitableness"):
            judge = np.where(judge == -1, 3, judge)
        there = np.isfinite(judge)
        pair = people[there], judge[there]
        found.append((float(stats.spearmanr(*pair).statistic), float(stats.kendalltau(*pair).statistic)))
        for name, value in zip(("spearman", "kendall"), found[-1], strict=True):
            cell = values.loc["cseval", "Table 1", row, f"{aspect}/{name}"]
            assert cell["recomputed"] == pytest.approx(value, abs=1e-12)
            assert cell["note"].startswith(f"{there.sum()} released rows instead of 6526; ")
        theirs = {each["Model"]: each for each in oracle.read_csv(upstream / f"statistical_tests/{aspect}_top1000.csv")}
        if row in ("gpt-4", "gpt-4-zs", "llama-3-8b-zs"):
            first = float(theirs[column.format(aspect)]["Spearman Correlation (ρ)"])
            assert stats.spearmanr(people[:1000], judge[:1000]).statistic == pytest.approx(first, abs=1e-9)
    means = np.mean(found, axis=0)
    for name, mean in zip(("spearman", "kendall"), means, strict=True):
        assert values.loc["cseval", "Table 1", row, f"average/{name}"]["recomputed"] == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_printed_values_are_of_6526_rows(upstream: Path, aspect: str) -> None:
    table = pd.read_csv(upstream / f"statistical_tests/{aspect}_complete.csv")
    r, t = table["Spearman Correlation (ρ)"], table["t-statistic"]
    assert (2 + t**2 * (1 - r**2) / r**2).tolist() == pytest.approx([6526] * 25, abs=1e-3)


def results_files(upstream: Path) -> Any:
    """The authors' correlations with pandas, by row of Table 1: the four aspects, their means, the last row."""
    names, columns = load_paper("cseval").names["results_files"], {}
    for stem in ("spearman", "kendalltau"):
        unieval = pd.read_csv(upstream / f"results/{stem}_unieval.csv", index_col="metric")
        name = stem.removesuffix("tau")
        for aspect in ASPECTS:
            own = pd.read_csv(upstream / f"results/{stem}_{aspect}_score.csv", index_col="metric")[f"{aspect}_score"]
            if (name, aspect) == ("spearman", "suitableness"):  # the file is a copy of that of UniEval
                own = pd.read_csv(upstream / "statistical_tests/suitableness_complete.csv", index_col="Model")
                own = own["Spearman Correlation (ρ)"].drop("suitableness_UniEval")
            own = pd.concat([own, unieval[f"{aspect}_score"]])
            theirs = [metric.replace("<aspect>", aspect) for metric in names.values()]
            columns[f"{aspect}/{name}"] = pd.Series(own.reindex(theirs).to_numpy(), index=[*names])
        columns[f"average/{name}"] = pd.DataFrame({each: columns[f"{each}/{name}"] for each in ASPECTS}).mean(axis=1)
    found = pd.DataFrame(columns)
    found.loc[DELTA] = found.loc["gpt-4"] - found.drop("gpt-4").max()
    return found


def test_printed_values_that_equal_the_results_files(values: Values, upstream: Path) -> None:
    """213 of 234: 208 are in the files or means of these, and 5 are differences; 16 others were rounded twice."""
    results, table = results_files(upstream), values.loc["cseval", "Table 1"]
    counted: Counter[str] = Counter()
    for (row, column), cell in table.iterrows():
        theirs, printed = results.loc[row, column], float(cell["published"])
        assert f"the authors' results file: {theirs:.5f}" in cell["note"]
        equal = abs(theirs - printed) <= 0.0005
        assert (cell["status"] == "equals_results_file") == equal
        assert ("cs-eval/results/" in cell["source"]) or ("suitableness_complete.csv" in cell["source"])
        twice = not equal and abs(round(theirs + np.copysign(1e-9, theirs), 4) - printed) <= 0.0005 + 1e-9
        assert cell["note"].endswith(", rounded twice") == twice
        counted["equal" if equal else "twice" if twice else f"{row} {theirs:.5f}"] += 1
        counted["difference"] += equal and row == DELTA
    others = {"toxicity 0.28262", "toxicity 0.21880", f"{DELTA} 0.01861", f"{DELTA} 0.01833", f"{DELTA} 0.04284"}
    assert counted == {"equal": 213, "difference": 5, "twice": 16} | dict.fromkeys(others, 1)
    for row, said in {
        "pd-score": "the paper mixes up the labels of three rows: values of pc_score",
        "mistral-7b-zs": "the paper swaps this row and g-eval-mistral-7b",
    }.items():
        assert table.loc[row, "note"].str.contains(said, regex=False).all()
    assert (
        table.loc["toxicity", "note"].str.contains("the paper swaps the two coefficients").tolist()
        == [True] * 2 + [False] * 2
    )


def test_the_last_row_of_table_1(values: Values) -> None:
    assert numbers(values, "cseval", "Table 1", DELTA) == [
        0.008, 0.008, 0.053, 0.052, 0.036, 0.036, -0.180, -0.164, 0.026, 0.026
    ]  # fmt: skip


def test_scores_by_gpt_4_on_the_two_parts_of_the_file(values: Values, upstream: Path) -> None:
    notes = [values.loc["cseval", "Table 1", "gpt-4", f"{aspect}/spearman"]["note"] for aspect in ASPECTS]
    assert [re.findall(r"first 1500 rows of the file (\S+), others (\S+)", note)[0] for note in notes] == [
        ("0.516", "1.000"), ("0.224", "0.840"), ("0.464", "0.736"), ("0.284", "0.765")
    ]  # fmt: skip
    others = oracle.read_csv(upstream / TEST)[1500:]
    assert (scores(others, "relevance_score") == scores(others, "gpt-4_relevance_score")).sum() == len(others) == 401


def _unified(reply: dict[str, str]) -> float:
    """Equation 2, with 3 for what is missing or off the scale."""
    found = {}
    for aspect in ASPECTS:
        (column,) = [name for name in reply if f"_{aspect}_score" in name and "_cleaned" in name]
        value = float(reply[column] or -1)
        found[aspect] = value if 1 <= value <= (3 if aspect == "suitableness" else 5) else 3
    return (found["relevance"] + 6 - found["aggressiveness"] + found["coherence"] + 2 * found["suitableness"] - 1) / 4


def test_ndcg_equals_scikit_learn(values: Values, upstream: Path) -> None:
    ranks = {
        (row["hatespeech"], row["predicted_counterspeech"], row["csType"].lower()): float(row["rank_human_annotation"])
        for row in oracle.read_csv(upstream / "data/annotations/dataset_analysis_human_annotations.csv")
    }
    ndcg = values.loc["cseval", "Table 2"].droplevel("column")
    for row, file in PREDICTED.items():
        replies = oracle.read_csv(upstream / f"predictions/human_eval/{file}.csv")
        groups = []
        for start in range(0, len(replies), 5):
            group = replies[start : start + 5]
            keys = [(reply["hatespeech"], reply["predicted_counterspeech"], reply["csType"].lower()) for reply in group]
            if keys[0] in ranks:
                groups.append(ndcg_score([[ranks[key] for key in keys]], [[_unified(reply) for reply in group]]))
        assert len(groups) == 61
        assert ndcg.loc[row, "recomputed"] == pytest.approx(float(np.mean(groups)), abs=1e-12)
    sound = "sound (mean rank of the raters, the best has the highest gain) "
    assert f"{sound}0.940 on 52 complete groups, chance 0.885" in ndcg.loc["g-eval-llama-3-8b", "note"]
    assert f"{sound}0.969 on 62 complete groups, chance 0.882" in ndcg.loc["gpt-4", "note"]


def test_samples_of_appendix_d_and_differences_of_printed_means(values: Values) -> None:
    table_5, table_1 = values.loc["cseval", "Table 5"], values.loc["cseval", "Table 1"]
    assert "12 samples of 100, 600, 1100, 1600 of 1901 rows" in table_5.loc["gpt-4", "relevance/mean"]["note"]
    assert "6 samples of 100, 600 of 904 rows" in table_5.loc["meteor", "relevance/mean"]["note"]
    for row in ("gpt-4", "gpt-4-zs", "rouge-l", "meteor", "bertscore"):
        means = [table_5.loc[row, f"{aspect}/mean"]["recomputed"] for aspect in ASPECTS]
        assert means == pytest.approx(
            [table_1.loc[row, f"{each}/spearman"]["recomputed"] for each in ASPECTS], abs=0.06
        )
    # From Table 5: .687 - .272, .461 - .272, .597 - .394, .566 - .249; and .687 - .629, .461 - .392 and so on.
    assert numbers(values, "cseval", "Table 6", "best-traditional-metric") == [0.415, 0.189, 0.203, 0.317]
    assert numbers(values, "cseval", "Table 6", "best-method") == [0.058, 0.069, 0.019, 0.044]
    assert numbers(values, "cseval", "text D", "mean-gain-over-best-traditional-metric") == [0.281]


def test_agreement_and_sizes_of_cseval(values: Values, upstream: Path) -> None:
    assert numbers(values, "cseval", "text 3.4")[3:] == [0.429, 0.690]
    notes = values.loc["cseval", "text 3.4"]["note"].tolist()[3:]
    assert [note.split("; ")[1] for note in notes] == ["ordinal 0.426", "ordinal 0.686"]
    assert numbers(values, "cseval", "text 7") == [310, 3, 4.75]
    file = upstream / "data/annotations/Human Evaluation - EMNLP 2024 - annotations.csv"
    rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"), newline="")))
    assert (len(rows), sum(not any(cell.strip() for cell in row) for row in rows)) == (372, 61)


# FC-CONAN


def test_table_4_of_fc_conan(values: Values) -> None:
    table = values.loc["fc-conan", "Table 4"]
    for system, expected in {
        "tfidf": [0.2203, 0.0703, 0.4024, 63.275],
        "bm25": [0.1819, 0.0296, 0.3810, 81.650],
        "sbert-minilm": [0.3270, 0.1766, 0.4804, 39.200],
    }.items():
        assert table.loc[system, "recomputed"].tolist() == pytest.approx(expected, abs=5.1e-5)
    assert table.loc["tfidf", "avg"]["note"] == "protocol sound: 0.2248"  # without pairs of evaluated HS
    plain = [table.loc[system, "cv"]["note"].split(": ")[-1] for system in ("tfidf", "bm25", "sbert-minilm")]
    assert plain == ["63.260", "81.669", "39.199"]


def test_what_differs_in_fc_conan(values: Values) -> None:
    fc_conan = values.loc["fc-conan"]
    assert fc_conan.loc["text 3 selection", "retrieved_replies", "value"]["note"].endswith("; 130 were released")
    differing = fc_conan[fc_conan["status"].isin(["differs", "rounding"])]["recomputed"].to_dict()
    assert differing == {
        ("text abstract", "counter_narratives", "value"): 130,
        ("text 2", "pairs", "value"): 4069,
        ("text 2", "english_pairs_with_translations_and_paraphrases", "value"): 6645,
        ("text 3 selection", "counter_narratives", "value"): 130,
        ("text 3 selection", "combinations", "value"): 5850,
        ("text 4.2 validity", "1_annotator", "percent"): pytest.approx(11.498786, abs=1e-6),
        ("text 4.3 bm25", "bm25", "k1"): 1.5,
        ("text 4.3 groups", "embeddings", "cv"): pytest.approx(46.80625),
        ("text 4.3 groups", "rerankers", "avg"): pytest.approx(0.237833, abs=1e-6),
        ("text 4.3 groups", "gpt-4o_and_rr25-1", "avg"): pytest.approx(0.21595),
        ("text 4.3 groups", "gpt-4o_and_rr25-1", "cv"): pytest.approx(89.525),
    }
    strict = fc_conan[fc_conan["note"].str.contains("must all agree")]["note"].str.split().str[0]
    assert strict.tolist() == ["530", "29", "501", "530", "174"]
    assert {row for _, row, _ in strict.index} == {"diamond"}


def test_without_minilm_its_row_has_a_reason(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = reproduce("fc-conan", data_dir=datasets(release, tmp_path)).to_frame("values")
    minilm = found[found["row"].isin(["sbert-minilm", "similar_per_reply", "retrieved_replies"])]
    assert (minilm["status"] == "needs_model").all() and len(minilm) == 6
    assert minilm["note"].str.contains("'.[minilm]'", regex=False).all()


# Pairwise ranking


def test_table_4_does_not_follow_from_the_released_verdicts(values: Values) -> None:
    table = values.loc["pairwise-ranking", "Table 4"]["recomputed"].unstack(sort=False)
    assert table["human/share"].round(2).to_dict() == {
        "zephyr_zs": 18.68, "gold_truth": 13.19, "mistral_zs_instruct": 17.36, "zephyr": 8.06, "mistral_zs": 7.08,
        "mistral": 8.82, "mistral_instruct": 10.00, "llama_zs_chat": 10.42, "llama_chat": 6.39,
    }  # fmt: skip
    assert table["judgelm-33b/share"].round(2).to_dict() == {
        "zephyr_zs": 20.54, "gold_truth": 6.82, "mistral_zs_instruct": 17.76, "zephyr": 8.70, "mistral_zs": 4.32,
        "mistral": 7.66, "mistral_instruct": 9.96, "llama_zs_chat": 17.55, "llama_chat": 6.69,
    }  # fmt: skip
    assert table["human/rank"].tolist() == [1, 3, 2, 7, 8, 6, 5, 4, 9]
    assert table["judgelm-33b/rank"].tolist() == [1, 7, 2, 5, 9, 6, 4, 3, 8]
    notes = values.loc["pairwise-ranking", "Table 4", "zephyr_zs"]["note"]
    assert "718 readable verdicts of 720" in notes["judgelm-33b/share"]
    assert "strict majorities: 18.92" in notes["human/share"]


def test_correlations_agreement_and_sizes_of_pairwise_ranking(values: Values) -> None:
    pairwise = values.loc["pairwise-ranking"]
    assert numbers(values, "pairwise-ranking", "text abstract", digits=4) == [0.8]
    assert numbers(values, "pairwise-ranking", "text 6.1 people", digits=4) == [0.6667, 0.8, 0.4167]
    assert numbers(values, "pairwise-ranking", "text 6.1 pearson", digits=4) == [0.7907, 0.0112]
    assert numbers(values, "pairwise-ranking", "text 6.1 metrics", digits=4) == [0.8833, 0.3]
    assert numbers(values, "pairwise-ranking", "text 4.1 agreement", digits=5) == [0.42221, 0.58339]
    assert pairwise.loc["text 4.2", "mean_kappa", "value"]["recomputed"] == pytest.approx(0.694845, abs=5e-7)
    sizes = pairwise.loc["Table 2"]["recomputed"].unstack(sort=False)
    assert sizes[["pairs", "counter_narratives"]].to_numpy().tolist() == [[6645, 4041], [5003, 4997]]
    assert numbers(values, "pairwise-ranking", "text 4.1 tournaments") == [9, 2277, 81972]


def test_released_metrics(values: Values, mirror: Path) -> None:
    """The released files are transcribed, and all but the unseeded medians of ROUGE follow."""
    theirs = {"rouge-l": "rougeL", "bleu": "bleu", "length": "gen_len", "novelty": "novelty", "repetition_rate": "RR"}
    for corpus, file in {
        "CONAN": "CONAN/metrics/Regular_metrics_human.csv",
        "MT-CONAN": "CONAN-MT/metrics/Regular_metrics_human.csv",
        "both": "Regular_metrics_human_all.csv",
    }.items():
        rows = oracle.read_csv(mirror / oracle.CN_EVAL / "evaluation/manual_evaluation/rank" / file)
        metrics = values.loc["pairwise-ranking", f"released metrics {corpus}"]
        bertscore = values.loc["pairwise-ranking", f"released BERTScore {corpus}"]
        for row in rows:
            assert metrics.loc[row["model"], "published"].to_dict() == {
                ours: row[name] for ours, name in theirs.items()
            }
            assert bertscore.loc[row["model"], "published"].tolist() == [row["bertscore"]]
        if corpus == "both":
            continue
        rouge = metrics.xs("rouge-l", level="column")
        others = metrics.drop(index="rouge-l", level="column")
        assert set(others["status"]) <= {"exact", "rounding"}
        for published, number, note in rouge[["published", "recomputed", "note"]].itertuples(index=False):
            assert number == pytest.approx(float(published), abs=0.0019)
            ends = [float(end) for end in re.findall(r"0\.\d{4}", note)]
            assert not ends or ends[0] <= float(published) <= ends[1]
