"""Submitted files become rows of the leaderboard, with values that follow from how the files were made."""

import importlib
from pathlib import Path

import pandas as pd
import pytest

import fcconan

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "leaderboard.py"


def test_submitted_files_become_rows(mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    script = importlib.import_module("leaderboard")
    monkeypatch.setattr(script, "SUBMISSIONS", tmp_path / "submissions")
    for name in ("cross-validated", "judges", "generators"):
        (tmp_path / "submissions" / name).mkdir(parents=True)
    # A run with all positives of Silver in front, and ratings by length: raters.md has .467 for it.
    fcconan.build("fc-conan", out=tmp_path / "fc-conan")
    pairs = pd.read_parquet(next((tmp_path / "fc-conan" / "qrels").glob("test-*.parquet")))
    ranked = pairs.sort_values(["query-id", "score"], ascending=[True, False], kind="stable")
    place = ranked.groupby("query-id").cumcount()
    columns = zip(ranked["query-id"], ranked["corpus-id"], place + 1, 1000 - place, strict=True)
    lines = [f"{query} Q0 {cn} {rank} {score} best" for query, cn, rank, score in columns]
    (tmp_path / "submissions" / "cross-validated" / "best.run").write_text("\n".join(lines))
    fcconan.build("cn-ranking", out=tmp_path / "cn-ranking")
    replies = pd.concat([pd.read_parquet(path) for path in (tmp_path / "cn-ranking" / "replies").glob("*.parquet")])
    lengths = replies[["reply_id"]].assign(value=replies["text"].str.split().str.len())
    lengths.to_csv(tmp_path / "submissions" / "judges" / "length.csv", index=False)
    rated = pd.DataFrame({"item_id": [f"i{n}" for n in range(20)], "value": [2.5] * 20})
    rated.to_csv(tmp_path / "submissions" / "generators" / "steady.csv", index=False)

    script.main(tmp_path / "leaderboard.md")

    page = (tmp_path / "leaderboard.md").read_text(encoding="utf-8").replace("\u00a0", " ")
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in page.splitlines()}
    assert "| message AUC, silver |" in page
    assert rows["best"].count("1.000 [1.000, 1.000]") >= 2
    assert rows["length"].split(" | ")[1].startswith("0.467 [")
    assert "2.500 [2.500, 2.500]" in rows["steady"]

    monkeypatch.setattr(script, "SUBMISSIONS", tmp_path / "none")
    script.main(tmp_path / "again.md")
    assert (tmp_path / "again.md").read_bytes() == (SCRIPT.parents[1] / "docs" / "leaderboard.md").read_bytes()
