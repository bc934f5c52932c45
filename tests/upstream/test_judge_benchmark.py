"""The benchmark of judges on CSEval: raters that learn from few people's ratings, compared with GPT-4."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import fcconan
from fcconan.data import open_table
from tests.upstream.conftest import Release

pytestmark = [pytest.mark.upstream, pytest.mark.long]
ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")
SUITE = """
name: few
rows: {cseval: {split: test, clean: 1500, people: [agreement_round1, agreement_round2]}}
train_released: []
raters:
  minilm: {kind: learned, parts: [pair, surface]}
  minilm+gpt-4: {kind: learned, parts: [pair, surface], ratings: [gpt-4, gpt-4-zs]}
  trained: {kind: learned, parts: [surface], ratings: [gpt-4, gpt-4-zs]}
  permuted: {kind: control, parts: [pair, surface], permuted: true}
compare: [minilm+gpt-4, minilm, trained, gpt-4-zs, gpt-4]
"""


def test_learned_raters_follow_people_and_improve_gpt_4(release: Release, tmp_path: Path) -> None:
    folder = release("cseval")
    (tmp_path / "suite.yaml").write_text(SUITE)
    options = fcconan.JudgeBenchmarkOptions(suite=tmp_path / "suite.yaml", resamples=500)
    result = fcconan.benchmark_judges(folder, options).data
    values = {
        (row["rater"], row["aspect"]): row["value"]
        for row in result["rows"]
        if (row["evaluated"], row["part"], row["level"], row["coefficient"]) == ("clean", "all", "pooled", "spearman")
    }
    least = {
        "minilm": (0.67, 0.54, 0.64, 0.60),
        "minilm+gpt-4": (0.72, 0.56, 0.70, 0.67),
        "trained": (0.63, 0.50, 0.68, 0.64),
    }
    for rater, bars in least.items():
        for aspect, bar in zip(ASPECTS, bars, strict=True):
            assert values[rater, aspect] >= bar, (rater, aspect)
    for aspect in ASPECTS:
        assert abs(values["permuted", aspect]) < 0.1
    tests = [row for row in result["tests"] if (row["a"], row["b"]) == ("minilm+gpt-4", "trained")]
    assert [row["aspect"] for row in tests if row["difference"] > 0 and row["p_corrected"] < 0.05] == list(
        dict.fromkeys(row["aspect"] for row in tests)
    )
    assert result["counts"]["clean"] == 1493 and result["counts"]["doubtful"] == 401


def test_released_ratings_are_those_of_the_dataset(release: Release, tmp_path: Path) -> None:
    """People's relevance equals GPT-4's in the doubtful rows, and only there."""
    folder = release("cseval")
    (tmp_path / "suite.yaml").write_text(
        "name: none\ntrain_released: []\nraters: {}\nrows: {cseval: {split: test, clean: 1500}}\n"
    )
    options = fcconan.JudgeBenchmarkOptions(suite=tmp_path / "suite.yaml", resamples=0)
    rows = fcconan.benchmark_judges(folder, options).data["rows"]
    own = {
        row["evaluated"]: row["value"]
        for row in rows
        if (row["rater"], row["aspect"], row["part"], row["level"], row["coefficient"])
        == ("gpt-4", "relevance", "all", "pooled", "spearman")
    }
    given = {
        (row["rater"], row["reply_id"]): row["value"]
        for row in open_table("ratings", [folder], split="test")
        if row["aspect"] == "relevance"
    }
    first = [row["reply_id"] for row in open_table("replies", [folder], split="test")][:1500]
    pairs = np.array([[given[rater, reply] for rater in ("gpt-4", "annotators")] for reply in first], dtype=float)
    assert own["clean"] == pytest.approx(spearmanr(*pairs.T, nan_policy="omit").statistic)
    assert own["doubtful"] == pytest.approx(1.0)
