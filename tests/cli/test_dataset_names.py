"""Every command that reads a dataset takes its name in the catalogue: built into the cache once, and then reused."""

import csv
from pathlib import Path

import pytest
from fcconan.services import cached_folder

from tests.cli.judging import recorded
from tests.conftest import RunCli

COMMANDS = {
    "bench": "bench demo --system tfidf --resamples 100 --json out.json",
    "generate": "generate demo --strategy reference --limit 3 --out out.csv",
    "generate --background": "generate rows.csv --strategy retrieval --background demo --out out.csv",
    "judge rate": "judge rate demo --task cseval --model replay:recorded.csv --limit 2 --out out.csv",
    "judge audit": "judge audit --ratings demo --replies demo --resamples 100 --json out.json",
    "annotate new": "annotate new out --task appropriateness --corpus demo --hs 2 --encoder tfidf",
    "metrics": "metrics demo --metric length-words --out out.csv",
    "agree": "agree demo --resamples 0",
}


@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_command_takes_the_name_of_a_dataset(
    name: str, run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("hate_speech\nThe Ombrey never return a book.\n", encoding="utf-8")
    recorded()
    done = run_cli(*COMMANDS[name].split())
    line = f"note: building demo into {cached_folder('demo')}, for this and later commands"
    assert (done.returncode, done.stderr.splitlines()[:1], done.stderr.count("note: building")) == (0, [line], 1), done
    assert not (tmp_path / "demo").exists()


def test_files_and_datasets_are_concatenated(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text("HS,answer\nThe Ombrey never return a book.,They do.\n", encoding="utf-8")
    words = ("--task", "cseval", "--model", recorded(), "--out", "out.csv", "--rename.text", "answer")
    done = run_cli("judge", "rate", "mine.csv", demo, *words)
    assert done.returncode == 0, done
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        rated = list(dict.fromkeys(row["reply_id"] for row in csv.DictReader(file)))
    assert len(rated) == 1 + 96


def test_replies_have_their_columns_mapped_as_well(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(f"i{item}", f"The Ombrey say {item}.", system) for item in range(4) for system in "AB"]
    replies = "".join(f"{item},{text},{system},No.\n" for item, text, system in rows)
    (tmp_path / "replies.csv").write_text(f"thread,message,bot,answer\n{replies}", encoding="utf-8")
    columns = [f"--rename.{each}" for each in ("item_id=thread", "hate_speech=message", "system=bot", "text=answer")]
    rated = ("--task", "cseval", "--model", recorded(), "--out", "out.csv")
    assert run_cli("judge", "rate", "replies.csv", *rated, *columns).returncode == 0
    people = Path("out.csv").read_text(encoding="utf-8").replace(",model,", ",human,").replace("recorded", "people")
    Path("people.csv").write_text(people, encoding="utf-8")
    done = run_cli("correlate", "out.csv", "people.csv", "--resamples", "0")
    assert (done.returncode, done.stderr) == (0, ""), done
