"""Text from elsewhere reaches a terminal only with its unsafe characters written out; data files keep it as it is."""

import csv
import json
import os
import pty
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest

from tests.conftest import RunCli
from tests.models.server import Action, Body, Server, completion, use_key

pytestmark = pytest.mark.slow

# A colour, a cursor movement, C1, a carriage return, bidirectional controls, separators, and characters that hide.
SHOWN = (
    r"a\x1b[31mb\x1b[2A\x9b1mc\x0dd\x08e\u202ef\u2066g\u2069\u200eh\u200fi\u061cj\u2028k\u2029l\u200bm\ufeff"
    r"n\xado\u2060p\x7fq"
)
HOSTILE = SHOWN.encode().decode("unicode-escape")
NAME = "".join(HOSTILE.split())  # names of systems have no white space
ESCAPED = re.compile(r"\\(?:x|u00)1b\[31mb", re.IGNORECASE)
MESSAGE = "Every Tessok cheats at cards."


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def _write(name: str, *rows: tuple[object, ...]) -> str:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return name


def _unsafe(text: str) -> set[str]:
    return {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Zl", "Zp", "Cs")} - {"\n"}


def _rating(system: str) -> str:
    _write("replies.csv", ("hate_speech", "text", "system"), (MESSAGE, "Who saw it?", system), (MESSAGE, "When?", "b"))
    return "replies.csv"


def _ratings(rater: str) -> str:
    header = ("reply_id", "rater", "rater_kind", "aspect", "value", "low", "high", "higher_is_better")
    rows = [
        (f"r{n}", who, "human", "warm", 1 + (n + len(who)) % 5, 1, 5, True) for n in range(6) for who in (rater, "b")
    ]
    return _write("ratings.csv", header, *rows)


def _recipe(key: str) -> str:
    Path("own.yaml").write_text(json.dumps({key: 1}))
    return "own.yaml"


def _module() -> str:
    Path("mine.py").write_text(
        f"class Bad:\n    name = {NAME!r}\n    def rank(self, *a):\n        raise ValueError({HOSTILE!r})\n"
    )
    return "mine:Bad"


CASES = {
    "a system in a table": lambda: ("metrics", _rating(HOSTILE), "--metric", "length-words", "--out", "out.csv"),
    "a column": lambda: ("judge", "audit", "--ratings", _write("odd.csv", (HOSTILE, "text"), ("1", "2"))),
    "a file": lambda: ("judge", "audit", "--ratings", f"none{HOSTILE}.csv"),
    "a value in a column": lambda: (
        "agree",
        _write("odd.csv", ("reply_id", "rater", "aspect", "value"), ("r", "a", "b", HOSTILE)),
    ),
    "a key of YAML": lambda: ("build", _recipe(HOSTILE), "--out", "out"),
    "an option": lambda: ("list", f"--{HOSTILE}"),
    "a value of an option": lambda: ("build", "demo", "--out", "out", "--tier-rule", HOSTILE),
    "an aspect": lambda: ("judge", "rate", _rating("a"), "--task", "cseval", "--aspect", HOSTILE, "--model", "m"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_names_from_elsewhere_are_shown_in_safe_form(run_cli: RunCli, case: object) -> None:
    done = run_cli(*case())  # type: ignore[operator]
    printed = done.stdout + done.stderr
    assert _unsafe(printed) == set()
    assert ESCAPED.search(printed), printed


@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_what_an_endpoint_says_is_shown_in_safe_form(
    run_cli: RunCli, server: Server, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    def behaviour(body: Body, number: int) -> Action:
        return (
            Action(200, completion(body, HOSTILE)) if status == 200 else Action(status, {"error": {"message": HOSTILE}})
        )

    server.behaviour = behaviour
    monkeypatch.setattr("fcconan.models.endpoint.PAUSES", ())
    common = ("--model", "stub", "--base-url", server.url, "--no-structured-output", "--no-ask-again")
    done = run_cli("judge", "rate", _rating("a"), "--task", "cseval", *common, "--out", "out.parquet")
    printed = done.stdout + done.stderr
    assert _unsafe(printed) == set()
    assert r"\x1b[31mb" in printed


def test_texts_of_a_dataset_are_shown_in_safe_form(run_cli: RunCli) -> None:
    rows = _write("replies.csv", ("hate_speech", "text", "system"), (f"{HOSTILE} {MESSAGE}", f"{HOSTILE}?", "a"))
    done = run_cli("judge", "rate", rows, "--task", "cseval", "--aspect", "relevance", "--model", "m", "--dry-run")
    assert (done.returncode, _unsafe(done.stdout + done.stderr)) == (0, set()), done.stderr
    assert ESCAPED.search(done.stdout)


def test_a_terminal_gets_no_escape_sequence_of_a_file(tmp_path: Path) -> None:
    _rating(HOSTILE)
    parent, child = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "fcconan",
        "metrics",
        "replies.csv",
        "--metric",
        "length-words",
        "--out",
        "out.csv",
    ]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    with Popen(command, stdin=child, stdout=child, stderr=child, env=environment) as process:
        os.close(child)
        raw = b""
        try:
            while part := os.read(parent, 1 << 16):
                raw += part
        except OSError:  # how Linux says that the other end is closed
            pass
        assert process.wait() == 0, raw
    os.close(parent)
    text = raw.decode().replace("\r\n", "\n")
    assert r"\x1b[31mb" in text
    assert _unsafe(re.sub(r"\r? *[^\n\r]*it/s[^\n\r]*|\x1b\[[0-9;]*m|\r", "", text)) == set()
    assert "\x1b[31m" not in text
