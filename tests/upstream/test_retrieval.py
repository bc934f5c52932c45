"""Table 4 of the FC-CONAN paper."""

import json
from pathlib import Path
from typing import Any

import pytest

from fcconan.retrieval.collections import load_collection
from tests.conftest import run_here
from tests.upstream.conftest import Release

# Average, minimum, maximum, CV%, as verified figures state them (docs/datasets.md).
TABLE_4 = {
    "tfidf": (0.2203, 0.0703, 0.4024, 63.26),
    "bm25": (0.1819, 0.0296, 0.3811, 81.67),
    "sbert-minilm": (0.3270, 0.1766, 0.4804, 39.20),
}
PRINTED = {"tfidf": (0.2203, 0.0703, 0.4024, 63.275), "sbert-minilm": (0.3270, 0.1766, 0.4804, 39.200)}
RANDOM = {"avg": 0.1500, "min": 0.0414, "max": 0.3115, "cv": 78.100}

pytestmark = [pytest.mark.upstream, pytest.mark.slow]


def bench(folder: Path, target: Path, *arguments: str) -> dict[str, Any]:
    done = run_here("bench", folder, *arguments, "--json", target, "--no-cache", "--resamples", "200")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(target.read_text())
    return result


@pytest.mark.long
def test_table_4_from_the_command_line(table_4_run: Path) -> None:
    paper = json.loads((table_4_run / "result.json").read_text(encoding="utf-8"))
    assert paper["dataset"]["n_corpus"] == 100
    assert (paper["dataset"]["training_pairs"], paper["dataset"]["training_pairs_left_out"]) == (3119, 0)
    assert "training:" not in paper["signature"]
    assert {name: part["n_positive"] for name, part in paper["partitions"].items()} == {
        "diamond": 35, "gold": 54, "silver": 431, "bronze": 702,
    }  # fmt: skip
    assert {name: part["n_without_positive"] for name, part in paper["partitions"].items()} == {
        "diamond": 22, "gold": 16, "silver": 0, "bronze": 0,
    }  # fmt: skip
    for name, (average, least, most, variation) in TABLE_4.items():
        summary = paper["systems"][name]["summary"]
        assert summary["avg"] == pytest.approx(average, abs=1e-4)
        assert summary["min"] == pytest.approx(least, abs=1e-4)
        assert summary["max"] == pytest.approx(most, abs=1e-4)
        assert summary["cv"] == pytest.approx(variation, abs=0.02)
    for name, printed in PRINTED.items():
        for key, value in zip(("avg", "min", "max", "cv"), printed, strict=True):
            assert paper["systems"][name]["summary"][key] == pytest.approx(value, abs=0.02 if key == "cv" else 5.1e-5)

    # The paper's row for random lies within the spread over seeds.
    for key, (low, high) in paper["systems"]["random"]["summary_over_seeds"].items():
        assert low <= RANDOM[key] <= high
        assert low <= paper["chance"]["summary"][key] <= high


def test_sound_ranks_the_full_catalogue(release: Release, tmp_path: Path) -> None:
    result = bench(release("fc-conan"), tmp_path / "r.json", "--system", "bm25", "--system", "bm25-fast")
    assert result["dataset"]["n_corpus"] == 130
    assert (result["dataset"]["training_pairs"], result["dataset"]["training_pairs_left_out"]) == (2301, 728)
    assert {name: row["n_queries"] for name, row in result["systems"]["bm25"]["partitions"].items()} == {
        "diamond": 23, "gold": 29, "silver": 45, "bronze": 45,
    }  # fmt: skip
    for system in result["systems"].values():
        for name, figures in system["partitions"].items():
            assert 0 < figures["judged@10"] < 1
            assert system["unjudged_right"][name]["precision@10"] > figures["precision@10"]


@pytest.mark.long
def test_an_oracle_among_eight_systems_differs_from_random_with_default_options(
    release: Release, tmp_path: Path
) -> None:
    folder = release("fc-conan")
    labels = load_collection(str(folder)).qrels("bronze")
    lines = [
        f"{query} Q0 {key} {place} {-place} oracle\n"
        for query, judged in labels.items()
        for place, key in enumerate(sorted(judged, key=lambda key: (-judged[key], key)), start=1)
    ]
    (tmp_path / "oracle.trec").write_text("".join(lines))
    systems = {name: {"kind": "bm25", "b": b} for name, b in (("b1", 0.1), ("b3", 0.3), ("b9", 0.9))}
    systems |= {name: {"kind": name} for name in ("random", "tfidf", "bm25", "bm25-fast")}
    (tmp_path / "suite.yaml").write_text(json.dumps({"name": "eight", "systems": systems}))
    arguments = [part for name in systems for part in ("--system", name)]
    done = run_here(
        "bench", folder, "--suite", tmp_path / "suite.yaml", *arguments, "--run", tmp_path / "oracle.trec",
        "--json", tmp_path / "r.json", "--no-cache",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())
    assert [(one["name"], one["n_tests"]) for one in result["families"]] == [("primary", 28), ("exploratory", 868)]
    assert result["settings"]["primary"] == "ndcg@10@silver"
    assert "the broadest tier whose labels are all confirmed by validators" in result["notes"][-1]
    rows = [row for row in result["comparisons"] if {row["a"], row["b"]} == {"oracle", "random"}]
    (primary,) = (row for row in rows if row["family"] == "primary")
    assert primary["p_corrected"] <= 0.001
    bronze = {row["metric"]: row["p_corrected"] for row in rows if row["partition"] == "bronze"}
    assert max(bronze["ndcg@10"], bronze["precision@10"], bronze["recall@10"]) <= 0.001
