"""The scripts in `examples/` run as they stand, against a loopback endpoint."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.documented import verbs
from tests.models.server import KEY, Action, Body, Server, completion

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def _judge(body: Body, number: int) -> Action:
    asked = body["response_format"]["json_schema"]["schema"]["properties"]
    answer = {name: "a" if name == "better" else 3 for name in asked}
    return Action(body=completion(body, json.dumps(answer)))


@pytest.mark.long
def test_an_own_system_is_benchmarked_judged_and_ranked(demo: Path, tmp_path: Path) -> None:
    rows = {row["item_id"]: row for row in pq.read_table(next((demo / "replies").glob("*.parquet"))).to_pylist()}
    columns = ("item_id", "hs_id", "hate_speech", "text", "system")
    with (tmp_path / "mine.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        for row in rows.values():
            writer.writerow(
                {**{name: row[name] for name in columns}, "text": "Please ask them first.", "system": "mine"}
            )
    with Server(_judge) as server:
        command = [sys.executable, str(EXAMPLES / "own_system.py"), "mine.csv", "stub", server.url]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "OPENAI_API_KEY": KEY}
        )
    assert (done.returncode, done.stderr) == (0, "")
    ratings = json.loads((tmp_path / "ratings.json").read_text(encoding="utf-8"))["tables"]["ratings"]
    assert {row["value"] for row in ratings} == {3.0}
    assert len([row for row in ratings if row["system"] == "mine"]) == 4 * len(rows)
    benchmark = json.loads((tmp_path / "benchmark.json").read_text(encoding="utf-8"))
    assert {"bm25", "shared-words"} <= {row["system"] for row in benchmark["tables"]["systems"]}
    ranking = json.loads((tmp_path / "ranking.json").read_text(encoding="utf-8"))
    assert "mine" in str(ranking["tables"]["systems"])


@pytest.mark.slow
def test_the_demo_writes_its_dataset_ratings_and_pages(tmp_path: Path) -> None:
    for name, module in (("fcconan", "-m fcconan"), ("python", "")):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n', encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    for _ in range(2):  # a second run replaces the files of the first one
        command = ["bash", str(EXAMPLES / "demo.sh")]
        environment = {**os.environ, "PATH": path, "NUMBA_DISABLE_JIT": "0"}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
    assert all((tmp_path / "demo-report" / page).is_file() for page in ("judges/index.html", "tournament/index.html"))
    with (tmp_path / "demo-ratings.csv").open(encoding="utf-8", newline="") as file:
        assert {row["value"] for row in csv.DictReader(file)} <= {"1.0", "2.0", "3.0", "4.0", "5.0"}


def test_the_commands_of_the_demo_exist() -> None:
    commands = re.findall(r"^fcconan (.+)$", (EXAMPLES / "demo.sh").read_text().replace("\\\n", ""), re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        verbs.parsed(command.split())


def test_examples_are_short() -> None:
    for path in (*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.sh")):
        assert path.read_text(encoding="utf-8").count("\n") <= 40, path
