"""The reproduction table of the CSEval paper."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import ndcg_score

from fcconan.reproduction import cseval_correlations
from fcconan.reproduction.comparison import FROM_PRINT, Cell, as_rows, reproduce
from fcconan.reproduction.cseval import recompute
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper, parse_printed
from fcconan.reproduction.values import status_of
from tests.upstream import oracle
from tests.upstream.conftest import Release, shared_folder

pytestmark = [pytest.mark.upstream, pytest.mark.long]

Reproduced = dict[tuple[str, str, str], Cell]
ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")
TEST = "predictions/mistralai-Mistral-7B-Instruct-v0.3_remaining.csv"
RANKS = "data/annotations/dataset_analysis_human_annotations.csv"
PREDICTED = {
    "g-eval-llama-3-8b": "meta-llama-Llama-3-8b-chat-hf_zeroshot",
    "g-eval-mistral-7b": "mistralai-Mistral-7B-Instruct-v0.3_zeroshot",
    "g-eval-gpt-4": "gpt-4o_zeroshot",
    "llama-3-8b": "meta-llama-Llama-3-8b-chat-hf",
    "mistral-7b": "mistralai-Mistral-7B-Instruct-v0.3",
    "gpt-4": "gpt-4o",
}
_kept: list[Cell] = []


@pytest.fixture
def reproduced(release: Release, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """Computed once in a test session, however many processes share the tests."""
    if not _kept:
        built = release("cseval")
        with shared_folder(tmp_path_factory, "reproduced-cseval") as folder:
            file = folder / "cells.json"
            if not file.exists():
                (tmp_path / "cseval").symlink_to(built)
                file.write_text(json.dumps(as_rows(reproduce("cseval", Datasets(tmp_path), recompute))), "utf-8")
            _kept.extend(Cell(**row) for row in json.loads(file.read_text(encoding="utf-8")))
    return {(cell.table, cell.row, cell.column): cell for cell in _kept}


@pytest.fixture
def upstream(mirror: Path) -> Path:
    return mirror / oracle.CS_EVAL


def values(reproduced: Reproduced, table: str, name: str, digits: int = 3) -> list[float | None]:
    return [
        None if cell.recomputed is None else round(cell.recomputed, digits)
        for (where, row, _), cell in reproduced.items()
        if (where, row) == (table, name)
    ]


def scores(rows: list[dict[str, str]], column: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.array([float(row[column]) if row[column] else np.nan for row in rows])


def test_every_value_has_its_status(reproduced: Reproduced) -> None:
    counted = {
        table: dict(Counter(cell.status for (where, *_), cell in reproduced.items() if where == table))
        for table, *_ in reproduced
    }
    assert counted == {
        "Table 1": {"differs": 196, "not_released": 38},
        "Table 2": {"differs": 6},
        "Table 3": {"not_released": 24},
        "Table 5": {"differs": 64, "not_released": 8},
        "Table 6": {"exact": 7, "differs": 1},
        "text 3.1": {"exact": 1, "not_released": 4},
        "text 3.4": {"differs": 2, "not_released": 3},
        "text 4": {"exact": 1},
        "text 7": {"differs": 2, "exact": 1},
        "text A.1": {"exact": 3},
        "text D": {"differs": 1, "exact": 2, "not_released": 3},
    }
    assert all(cell.note for cell in reproduced.values() if cell.status != "exact")
    exact = [cell for cell in reproduced.values() if cell.status == "exact" and cell.note.startswith(FROM_PRINT)]
    assert Counter(cell.table for cell in exact) == {"Table 6": 7, "text D": 2}


def test_values_of_other_rows_are_close_to_the_printed_ones_by_chance(reproduced: Reproduced) -> None:
    near = {
        key
        for key, cell in reproduced.items()
        if key[0] in ("Table 1", "Table 2", "Table 5")
        and status_of(parse_printed(cell.published), cell.recomputed) != "differs"
    }
    assert near == {
        ("Table 1", "bleu-1", "suitableness/spearman"),
        ("Table 1", "bleu-1", "average/spearman"),
        ("Table 1", "rouge-1", "average/spearman"),
        ("Table 2", "gpt-4", "ndcg"),
        ("Table 5", "toxicity", "relevance/std"),
        ("Table 5", "gpt-4-zs", "suitableness/std"),
    }
    assert near == {
        key for key, cell in reproduced.items() if cell.note.endswith("; close to the printed value by chance")
    }


def test_correlations_on_the_released_rows(reproduced: Reproduced) -> None:
    assert values(reproduced, "Table 1", "gpt-4") == [
        0.581,
        0.494,
        0.410,
        0.386,
        0.541,
        0.440,
        0.319,
        0.267,
        0.463,
        0.397,
    ]
    assert values(reproduced, "Table 1", "gpt-4-zs")[:8] == [0.536, 0.449, 0.359, 0.332, 0.383, 0.322, 0.359, 0.309]
    assert values(reproduced, "Table 1", "g-eval-gpt-4")[:8] == [0.662, 0.581, 0.417, 0.386, 0.412, 0.333, 0.259, 0.218]
    assert values(reproduced, "Table 1", "llama-3-8b")[:8] == [0.415, 0.342, 0.033, 0.030, 0.297, 0.244, 0.300, 0.256]
    assert values(reproduced, "Table 1", "llama-3-8b-zs")[:8] == [
        0.366,
        0.301,
        0.118,
        0.109,
        0.267,
        0.219,
        0.066,
        0.057,
    ]
    assert values(reproduced, "Table 1", "mistral-7b")[:8] == [0.400, 0.337, 0.297, 0.277, 0.284, 0.230, 0.353, 0.305]
    assert values(reproduced, "Table 1", "mistral-7b-zs")[:8] == [
        0.393,
        0.332,
        0.247,
        0.229,
        0.281,
        0.231,
        0.332,
        0.285,
    ]
    assert values(reproduced, "Table 1", "rouge-l")[:8] == [0.251, 0.180, -0.097, -0.073, 0.278, 0.200, 0.234, 0.171]
    assert values(reproduced, "Table 1", "toxicity") == [0.069, 0.053, -0.038, -0.026]
    assert values(reproduced, "Table 1", "bartscore") == [None] * 10


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
def test_correlations_equal_scipy(reproduced: Reproduced, upstream: Path, row: str, column: str) -> None:
    rows = oracle.read_csv(upstream / TEST)
    found = []
    for aspect in ASPECTS:
        people, judge = scores(rows, f"{aspect}_score"), scores(rows, column.format(aspect))
        if "{" in column and aspect in ("aggressiveness", "suitableness"):
            judge = np.where(judge == -1, 3, judge)
        there = np.isfinite(judge)
        pair = people[there], judge[there]
        found.append((float(stats.spearmanr(*pair).statistic), float(stats.kendalltau(*pair).statistic)))
        for name, value in zip(("spearman", "kendall"), found[-1], strict=True):
            cell = reproduced["Table 1", row, f"{aspect}/{name}"]
            assert cell.recomputed == pytest.approx(value, abs=1e-12)
            assert cell.note.startswith(f"{there.sum()} released rows instead of 6526; ")
    for position, name in enumerate(("spearman", "kendall")):
        mean = float(np.mean([pair[position] for pair in found]))
        assert reproduced["Table 1", row, f"average/{name}"].recomputed == pytest.approx(mean, abs=1e-12)


def test_the_method_gives_the_authors_results_for_the_first_1000_rows(upstream: Path) -> None:
    table = cseval_correlations.load_released_scores()
    early = np.arange(len(table.item)) < 1000
    judges = ("gpt-4", "gpt-4-zs", "llama-3-8b", "llama-3-8b-zs", "mistral-7b")
    found = cseval_correlations.correlate_pooled(cseval_correlations._select(table, early, judges))
    for aspect in ASPECTS:
        theirs = {
            row["Model"]: float(row["Spearman Correlation (ρ)"])
            for row in oracle.read_csv(upstream / f"statistical_tests/{aspect}_top1000.csv")
        }
        for judge in judges:
            name = load_paper("cseval").names["results_files"][judge].replace("<aspect>", aspect)
            assert found[judge, aspect, "spearman"] == pytest.approx(theirs[name], abs=1e-9)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_printed_values_are_of_6526_rows(upstream: Path, aspect: str) -> None:
    rows = oracle.read_csv(upstream / f"statistical_tests/{aspect}_complete.csv")
    assert len(rows) == 25
    for row in rows:
        r, t = float(row["Spearman Correlation (ρ)"]), float(row["t-statistic"])
        assert 2 + t**2 * (1 - r**2) / r**2 == pytest.approx(6526, abs=1e-3)


def authors_results(upstream: Path) -> dict[tuple[str, str, str], float]:
    """The coefficients of the authors' results files by row of Table 1, aspect (or `average`) and name."""
    found: dict[tuple[str, str, str], float] = {}
    for name, stem in (("spearman", "spearman"), ("kendall", "kendalltau")):
        unieval = oracle.read_csv(upstream / f"results/{stem}_unieval.csv")
        for aspect in ASPECTS:
            column = f"{aspect}_score"
            if (name, aspect) == ("spearman", "suitableness"):
                rows = oracle.read_csv(upstream / "statistical_tests/suitableness_complete.csv")
                values = {row["Model"]: row["Spearman Correlation (ρ)"] for row in rows}
            else:
                rows = oracle.read_csv(upstream / f"results/{stem}_{column}.csv")
                values = {row["metric"]: row[column] for row in rows}
            values |= {row["metric"]: row[column] for row in unieval}
            for row, theirs in load_paper("cseval").names["results_files"].items():
                if values.get(theirs.replace("<aspect>", aspect)):  # two files lack toxicity
                    found[row, aspect, name] = float(values[theirs.replace("<aspect>", aspect)])
        for row in load_paper("cseval").names["results_files"]:
            aspects = ("aggressiveness", "suitableness") if row == "toxicity" else ASPECTS
            found[row, "average", name] = float(np.mean([found[row, aspect, name] for aspect in aspects]))
    return found


def half_up(value: float, digits: int) -> float:
    return float(np.sign(value) * np.floor(abs(value) * 10**digits + 0.5 + 1e-9) / 10**digits)


def test_the_remarks_about_table_1_follow_from_the_authors_results(upstream: Path) -> None:
    results, paper = authors_results(upstream), load_paper("cseval")
    for row, cells in paper.printed("Table 1").items():
        for column, printed in cells.items():
            (note,) = paper.table("Table 1").notes(row, column)
            aspect, name = column.split("/")
            if row == "gpt-4-minus-best-other":
                others = [
                    value for (metric, *of), value in results.items() if of == [aspect, name] and metric != "gpt-4"
                ]
                value = results["gpt-4", aspect, name] - max(others)
            else:
                value = results[row, aspect, name]
            stated = re.search(r": (-?\d\.(\d+))", note)
            equal = half_up(value, 3) == pytest.approx(float(printed), abs=1e-5)
            assert equal == (stated is None), (row, column)
            if stated is not None:
                assert f"{value:.{len(stated[2])}f}" == stated[1]
                twice = half_up(half_up(value, 4), 3) == pytest.approx(float(printed), abs=1e-5)
                assert twice == (", rounded twice" in note)


def test_the_printed_values_and_the_authors_results(reproduced: Reproduced) -> None:
    """All 160 aspect cells of complete rows stand in the files, but for rounding and the swap of two rows."""
    complete = [
        row
        for row, cells in load_paper("cseval").tables[0].rows.items()
        if None not in cells and row != "gpt-4-minus-best-other"
    ]
    cells = {
        key: cell.note
        for key, cell in reproduced.items()
        if key[0] == "Table 1" and key[1] in complete and not key[2].startswith("average")
    }
    assert len(cells) == 160
    twice = {key[1:] for key, note in cells.items() if ", rounded twice" in note}
    assert twice == {
        ("meteor", "relevance/spearman"),
        ("bertscore", "coherence/spearman"),
        ("bartscore", "suitableness/spearman"),
        ("unieval", "suitableness/spearman"),
        ("g-eval-llama-3-8b", "suitableness/kendall"),
        ("g-eval-mistral-7b", "coherence/kendall"),
        ("mistral-7b", "relevance/kendall"),
        ("gpt-4-zs", "aggressiveness/kendall"),
        ("g-eval-gpt-4", "relevance/spearman"),
        ("g-eval-gpt-4", "coherence/spearman"),
        ("gpt-4", "relevance/kendall"),
    }
    equal = {key[1:] for key, note in cells.items() if "the printed value equals the authors' results file" in note}
    assert equal | twice == {key[1:] for key in cells}
    swapped = {key[1] for key, note in cells.items() if "the paper swaps the two rows" in note}
    assert swapped == {"mistral-7b-zs", "g-eval-mistral-7b"}


def test_mislabelled_rows(reproduced: Reproduced) -> None:
    for row, metric in (("pd-score", "pc_score"), ("pro-con", "aq_score"), ("argument-quality", "pd_score")):
        cell = reproduced["Table 1", row, "coherence/kendall"]
        assert cell.note.endswith(
            f"the printed value equals the authors' results file for {metric}; the labels of three rows are mixed up"
        )
    for name, value in (("spearman", "0.283"), ("kendall", "0.219")):
        note = reproduced["Table 1", "toxicity", f"aggressiveness/{name}"].note
        assert note.endswith(f"the authors' results file: {value}; the paper swaps it with the other coefficient")


def test_the_last_row_of_table_1(reproduced: Reproduced) -> None:
    assert values(reproduced, "Table 1", "gpt-4-minus-best-other") == [
        0.008, 0.008, 0.053, 0.052, 0.036, 0.036, -0.180, -0.164, 0.026, 0.026
    ]  # fmt: skip
    theirs = {
        column: note.partition("the authors' results files: ")[2]
        for (_, row, column), note in ((key, cell.note) for key, cell in reproduced.items())
        if row == "gpt-4-minus-best-other"
    }
    assert {column: note for column, note in theirs.items() if note} == {
        "relevance/spearman": "0.06150, rounded twice",
        "relevance/kendall": "0.06446, rounded twice",
        "coherence/spearman": "0.01861",
        "coherence/kendall": "0.01833",
        "suitableness/spearman": "0.04284",
    }


def test_scores_by_gpt_4_on_the_two_parts_of_the_file(reproduced: Reproduced, upstream: Path) -> None:
    def parts(row: str) -> list[str]:
        notes = [reproduced["Table 1", row, f"{aspect}/spearman"].note for aspect in ASPECTS]
        return [note.split("first 1500 rows of the file ")[1].split(";")[0].split(" (")[0] for note in notes]

    assert parts("gpt-4") == [
        "0.516, others 1.000",
        "0.224, others 0.840",
        "0.464, others 0.736",
        "0.284, others 0.765",
    ]
    assert [part[:5] for part in parts("gpt-4-zs")] == ["0.579", "0.436", "0.601", "0.387"]
    others = oracle.read_csv(upstream / TEST)[1500:]
    apart = {
        aspect: dict(
            sorted(Counter(scores(others, f"{aspect}_score") - scores(others, f"gpt-4_{aspect}_score")).items())
        )
        for aspect in ASPECTS
    }
    assert apart == {
        "relevance": {0: 401},
        "aggressiveness": {0: 364, 1: 37},
        "coherence": {0: 158, 1: 161, 2: 69, 3: 11, 4: 2},
        "suitableness": {0: 167, 1: 234},
    }


def test_ndcg_equals_scikit_learn(reproduced: Reproduced, upstream: Path) -> None:
    ranks = {
        (row["hatespeech"], row["predicted_counterspeech"], row["csType"].lower()): float(row["rank_human_annotation"])
        for row in oracle.read_csv(upstream / RANKS)
    }
    for row, file in PREDICTED.items():
        replies = oracle.read_csv(upstream / f"predictions/human_eval/{file}.csv")
        groups = []
        for start in range(0, len(replies), 5):
            group = replies[start : start + 5]
            keys = [(reply["hatespeech"], reply["predicted_counterspeech"], reply["csType"].lower()) for reply in group]
            if keys[0] in ranks:
                groups.append(ndcg_score([[ranks[key] for key in keys]], [[_unified(reply) for reply in group]]))
        assert len(groups) == 61
        assert reproduced["Table 2", row, "ndcg"].recomputed == pytest.approx(float(np.mean(groups)), abs=1e-12)
    found = [round(reproduced["Table 2", row, "ndcg"].recomputed or 0, 3) for row in PREDICTED]
    assert found == [0.872, 0.885, 0.885, 0.879, 0.883, 0.898]
    sound = "sound (mean rank of the raters, the best has the highest gain) "
    assert (
        f"{sound}0.940 on 52 complete groups, chance 0.885" in reproduced["Table 2", "g-eval-llama-3-8b", "ndcg"].note
    )
    assert f"{sound}0.969 on 62 complete groups, chance 0.882" in reproduced["Table 2", "gpt-4", "ndcg"].note


def _unified(reply: dict[str, str]) -> float:
    """Equation 2, with 3 for what is missing or off the scale."""
    found = {}
    for aspect in ASPECTS:
        (column,) = [name for name in reply if f"_{aspect}_score" in name and "_cleaned" in name]
        value = float(reply[column] or -1)
        found[aspect] = value if 1 <= value <= (3 if aspect == "suitableness" else 5) else 3
    return (found["relevance"] + 6 - found["aggressiveness"] + found["coherence"] + 2 * found["suitableness"] - 1) / 4


def test_samples_of_appendix_d(reproduced: Reproduced) -> None:
    assert "12 samples of 100, 600, 1100, 1600 of 1901 rows" in reproduced["Table 5", "gpt-4", "relevance/mean"].note
    assert "6 samples of 100, 600 of 904 rows" in reproduced["Table 5", "meteor", "relevance/mean"].note
    # The mean over samples is near the value of all rows.
    for row in ("gpt-4", "gpt-4-zs", "rouge-l", "meteor", "bertscore"):
        for aspect in ASPECTS:
            mean = reproduced["Table 5", row, f"{aspect}/mean"].recomputed
            assert mean == pytest.approx(reproduced["Table 1", row, f"{aspect}/spearman"].recomputed, abs=0.06)


def test_agreement_and_sizes(reproduced: Reproduced, upstream: Path) -> None:
    alphas = [reproduced["text 3.4", f"alpha-round-{number}", "value"] for number in (1, 2)]
    assert [round(cell.recomputed or 0, 3) for cell in alphas] == [0.429, 0.690]
    assert [cell.note.split("; ")[1] for cell in alphas] == ["ordinal 0.426", "ordinal 0.686"]
    assert reproduced["text 7", "data-points", "value"].recomputed == 310
    with (upstream / "data/annotations/Human Evaluation - EMNLP 2024 - annotations.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    blank = sum(not any(cell.strip() for cell in row) for row in rows)
    assert (len(rows), blank) == (372, 61)
    assert values(reproduced, "text 7", "percent-of-test-set") == [4.75]
    assert [reproduced["text 3.1", row, "count"].note for row in ("hs", "references", "replies")] == [
        f"the full file is not available here; {number} in the released files" for number in (979, 1809, 2543)
    ]
