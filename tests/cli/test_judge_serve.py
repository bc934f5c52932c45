"""`fcconan judge` against `transformers serve`, a real OpenAI-compatible server, and a tiny model, or without it."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fcconan.build import build
from fcconan.row_files import read_rows
from tests.cli.judging import fcconan
from tests.llm.serve import transformers_serve
from tests.llm.tiny_chat import tiny_chat

# Every answer is one to whatever is asked: a grade, a choice, and two steps.
SAYS = [f"1. relevance: {grade}\n2. better: {better}" for grade, better in zip((1, 5, 2, 4, 3), "abaab", strict=True)]
GRADES = {1.0, 2.0, 3.0, 4.0, 5.0}
ITEMS = 24


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("model") / "tiny", context=8192, says=SAYS, whole=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Its address and its log."""
    folder = tmp_path_factory.mktemp("serve")
    with transformers_serve(folder) as address:
        yield address, folder / "serve.log"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "dataset"
    build("demo", folder, progress=False)
    return folder


@pytest.fixture
def replies(demo: Path) -> Path:
    """Two replies to every message of the demo."""
    every = list(read_rows(next((demo / "replies").glob("*.parquet"))))
    systems = sorted({row["system"] for row in every})[:2]
    columns = ["reply_id", "item_id", "hs_id", "hate_speech", "text", "system"]
    with Path("replies.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([row[name] for name in columns] for row in every if row["system"] in systems)
    return Path("replies.csv")


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-this-test")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def requests_in(log: Path) -> int:
    return log.read_text(encoding="utf-8").count("POST /v1/chat/completions")


def judged(verb: str, file: Path, model: object, *options: object, status: int = 0) -> list[dict[str, Any]]:
    done = fcconan("judge", verb, file, "--model", model, "--journal", "journal", "--out", "out.parquet", *options)
    assert (done.status, done.stderr) == (status, "")
    return list(read_rows(Path("out.parquet")))


def test_rate_reads_its_grades_which_are_those_of_the_model_without_a_server(
    model: Path, server: tuple[str, Path], replies: Path
) -> None:
    address, log = server
    before = requests_in(log)
    asked = ("--task", "cseval", "--aspect", "relevance", "--limit", 24)
    served = judged("rate", replies, model, "--base-url", address, *asked)
    assert [row["reason"] for row in served] == [None] * 24
    assert {row["value"] for row in served} <= GRADES
    assert requests_in(log) - before == 24
    again = judged("rate", replies, model, "--base-url", address, *asked)
    assert again == served
    assert requests_in(log) - before == 24
    own = judged("rate", replies, f"local:{model}", "--device", "cpu", *asked)
    assert [row["value"] for row in own] == [row["value"] for row in served]


def test_compare_reads_its_choices(model: Path, server: tuple[str, Path], replies: Path) -> None:
    address, log = server
    before = requests_in(log)
    served = judged("compare", replies, model, "--base-url", address, "--budget", 12, "--json", "out.json")
    assert [row["reason"] for row in served] == [None] * 12
    assert {row["verdict_ab"] for row in served} <= {"a", "b"}
    assert all((row["verdict_ab"] == row["verdict_ba"]) is not row["flipped"] for row in served)
    assert requests_in(log) - before == 24
    counts = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert counts["verdicts"] == dict(Counter(row["verdict"] for row in served))
    own = judged("compare", replies, f"local:{model}", "--device", "cpu", "--budget", 12)
    assert [row["verdict"] for row in own] == [row["verdict"] for row in served]


def test_calibrate_returns_steps_that_it_drafted(
    model: Path, server: tuple[str, Path], demo: Path, replies: Path
) -> None:
    address, log = server
    ratings = next((demo / "ratings").glob("*.parquet"))
    asked = ("--aspect", "relevance", "--ratings", ratings, "--size", 3, "--trials", 3, "--keep", 1, "--errors", 2)
    shared = ("--model", model, "--base-url", address, "--journal", "journal", "--resamples", 100)
    done = fcconan("judge", "calibrate", replies, *asked, *shared, "--out", "steps.yaml", "--json", "out.json")
    assert (done.status, done.stderr) == (0, "")
    steps = yaml.safe_load(Path("steps.yaml").read_text(encoding="utf-8"))
    assert (steps["aspect"], steps["low"], steps["high"]) == ("relevance", 1, 5)
    assert steps["steps"] in [[line[3:] for line in each.splitlines()] for each in SAYS]
    lines = Path("steps.log.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    candidates = [record for record in records if record["record"] == "candidate"]
    assert [each["phase"] for each in candidates[:3]] == ["draft"] * 3
    assert {each["status"] for each in candidates} <= {"usable", "duplicate", "undefined"}
    result = json.loads(Path("out.json").read_text(encoding="utf-8"))
    parts = result["parts"]
    assert (parts["draft"]["items"], parts["select"]["items"], parts["report"]["items"]) == (5, 9, 10)
    assert result["report"]["n"] + result["report"]["n_missing"] == parts["report"]["examples"] == 20

    sent, first = requests_in(log), Path("steps.log.jsonl").read_bytes()
    assert sent > 3
    assert fcconan("judge", "calibrate", replies, *asked, *shared, "--out", "steps.yaml").status == 0
    assert requests_in(log) == sent
    assert Path("steps.log.jsonl").read_bytes() == first
    given = ("--base-url", address, "--task", "cseval", "--strategy", "auto-cseval", "--steps", "steps.yaml")
    rated = judged("rate", replies, model, *given, "--aspect", "relevance", "--limit", 4)
    assert [(row["rater"].rpartition(":")[2], row["reason"]) for row in rated] == [("auto-cseval", None)] * 4


def test_what_a_model_cannot_read_at_once_is_too_long(tmp_path: Path, replies: Path) -> None:
    small = tiny_chat(tmp_path / "small", context=512)
    asked = ("--task", "cseval", "--aspect", "relevance", "--limit", 2)
    rated = judged("rate", replies, f"local:{small}", "--device", "cpu", *asked, status=1)
    assert [(row["value"], row["reason"]) for row in rated] == [(None, "too_long")] * 2
