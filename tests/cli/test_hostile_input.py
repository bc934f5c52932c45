"""Inputs and outputs that nobody would choose: one line, exit code 2, nothing half-written, nothing destroyed."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.scored import ratings, write_rows
from tests.conftest import RunCli

REPLIES = "hate_speech,text,system\nEvery Tessok cheats.,Who saw it?,a\n"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("replies.csv").write_text(REPLIES, encoding="utf-8")
    rows = ratings("anna", [1, 2, 3, 4, 5, 1]) + ratings("ben", [1, 2, 3, 4, 5, 2])
    write_rows(Path("ratings.csv"), rows)


def _refused(run_cli: RunCli, command: str) -> str:
    before = sorted(Path().iterdir())
    done = run_cli(*command.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert sorted(Path().iterdir()) == before
    return done.stderr.removeprefix("fcconan: ").removesuffix("\n")


WRITING = (
    "list --json {}",
    "build demo --out out --json {}",
)


@pytest.mark.parametrize("command", WRITING)
def test_a_pipe_is_never_replaced_by_a_result(run_cli: RunCli, command: str) -> None:
    os.mkfifo("pipe.csv")
    assert "pipe.csv" in _refused(run_cli, command.format("pipe.csv"))
    assert stat.S_ISFIFO(Path("pipe.csv").lstat().st_mode)


@pytest.mark.parametrize("command", WRITING)
def test_a_result_below_a_file_is_refused_before_any_work(run_cli: RunCli, command: str) -> None:
    assert "replies.csv/o.csv" in _refused(run_cli, command.format("replies.csv/o.csv"))


@pytest.mark.parametrize(
    "command",
    [*WRITING[1:], "metrics {} --metric rouge-l --out o.csv"],
)
def test_a_link_to_itself_is_refused(run_cli: RunCli, command: str) -> None:
    Path("loop.csv").symlink_to("loop.csv")
    assert "loop.csv" in _refused(run_cli, command.format("loop.csv"))


def _shell(line: str) -> "subprocess.CompletedProcess[str]":
    command = line.format(f'"{sys.executable}" -m fcconan')
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False)


def test_a_closed_standard_output_is_no_error() -> None:
    done = _shell("{} list --json list.json >&-")
    assert (done.returncode, done.stderr) == (0, "")
    assert "demo" in Path("list.json").read_text(encoding="utf-8")
