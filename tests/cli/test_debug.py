"""`--debug`: tracebacks of a user's own code and of unexpected errors; without it, one line."""

import os
from pathlib import Path

import pytest

from tests.conftest import RunCli

SYSTEM = """
class Fails:
    name = "fails"

    def rank(self, queries, corpus, k):
        raise ValueError("no lamp at http://me:tarn-lamp-9@host/v1")


def factory():
    return unknown_word
"""
HINT = "`fcconan --debug COMMAND` shows the traceback"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FCCONAN_DEBUG", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_system.py").write_text(SYSTEM)
    (tmp_path / "own_broken.py").write_text("import lamps_of_tarn\n")


@pytest.mark.parametrize(
    ("system", "status", "line", "said"),
    [
        ("own_system:factory", 2, "return unknown_word", "raised NameError: name 'unknown_word' is not defined"),
        ("own_broken:Any", 2, "import lamps_of_tarn", "raised ModuleNotFoundError: No module named"),
    ],
)
def test_the_traceback_of_ones_own_system_is_shown_on_request(
    run_cli: RunCli, demo: Path, system: str, status: int, line: str, said: str
) -> None:
    command = ("bench", demo, "--system", system, "--resamples", 100)
    for debug, environment in (
        ((), {}),
        ((), {"FCCONAN_DEBUG": "0"}),
        (("--debug",), {}),
        ((), {"FCCONAN_DEBUG": "1"}),
    ):
        done = run_cli(*debug, *command, **environment)
        assert done.returncode == status
        last = done.stderr.splitlines()[-1]
        assert said in last
        assert HINT in last
        wanted = bool(debug) or environment.get("FCCONAN_DEBUG") == "1"
        assert (line in done.stderr, done.stderr.count("\n") > 1) == (wanted, wanted)
        assert done.stderr.count("Traceback (most recent call last)") <= 2
        assert "tarn-lamp-9" not in done.stdout + done.stderr
        assert "FCCONAN_DEBUG" not in os.environ  # one command in debug mode leaves the next one alone


def test_an_unexpected_error_is_one_line_and_a_traceback_on_request(
    run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise RuntimeError("two\nlines at http://me:tarn-lamp-9@host\x1b[2J")

    monkeypatch.setattr("fcconan.oldcli.output.print_table", fails)
    done = run_cli("list")
    said = r"fcconan: unexpected error (RuntimeError: two lines at http://host\x1b[2J): "
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{said}{HINT}\n")
    done = run_cli("--debug", "list")
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    assert "in fails" in done.stderr
    assert done.stderr.endswith(f"{said}report it with this traceback\n")
    assert "tarn-lamp-9" not in done.stderr


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_bad_input_stays_bad_input(run_cli: RunCli, debug: tuple[str, ...]) -> None:
    done = run_cli(*debug, "bench", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert ("Traceback" in done.stderr) == bool(debug)
    assert done.stderr.splitlines()[-1].startswith("fcconan: ")
