"""Commands that read a dataset take its name in the catalogue, and several sources; columns are mapped."""

from pathlib import Path

import pandas as pd
import pytest

from tests.cli.judging import recorded
from tests.conftest import RunCli


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", ["bench demo --system tfidf --resamples 100", "metrics demo --metric length-words"])
def test_a_dataset_is_built_into_the_cache_once(command: str, run_cli: RunCli) -> None:
    for begins in ("note: building demo into", ""):
        done = run_cli(*command.split())
        assert done.returncode == 0 and done.stderr.startswith(begins) and done.stderr.count("note: building") < 2, done
    assert "note: building" not in done.stderr and not Path("demo").exists()


def test_files_and_datasets_are_concatenated(run_cli: RunCli, demo: Path) -> None:
    Path("mine.csv").write_text("HS,answer\nThe Ombrey never return a book.,They do.\n", encoding="utf-8")
    words = ("--task", "cseval", "--model", recorded(), "--out", "out.csv", "--rename.text", "answer")
    assert run_cli("judge", "rate", "mine.csv", demo, *words).returncode == 0
    assert pd.read_csv("out.csv")["reply_id"].nunique() == 1 + 96


def test_ratings_keep_the_mapped_columns_of_their_replies(run_cli: RunCli) -> None:
    rows = [(f"i{item}", f"The Ombrey say {item}.", system, "No.") for item in range(4) for system in "AB"]
    pd.DataFrame(rows, columns=["thread", "message", "bot", "answer"]).to_csv("replies.csv", index=False)
    columns = [f"--rename.{each}" for each in ("item_id=thread", "hate_speech=message", "system=bot", "text=answer")]
    rated = ("--task", "cseval", "--model", recorded(), "--out", "out.csv")
    assert run_cli("judge", "rate", "replies.csv", *rated, *columns).returncode == 0
    found = pd.read_csv("out.csv").drop_duplicates("reply_id")
    assert [*zip(found["item_id"], found["system"], strict=True)] == [(row[0], row[2]) for row in rows]
