"""Numbers that no command can use: one line, exit code 2, and nothing written."""

from pathlib import Path
from typing import Any

import pytest
import typer.main

from fcconan.oldcli import app
from fcconan.services import LARGEST_SEED
from tests.conftest import RunCli


def _commands(command: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not hasattr(command, "commands"):
        return {" ".join(path): command}
    for name, each in command.commands.items():
        found |= _commands(each, (*path, name))
    return found


COMMANDS = _commands(typer.main.get_command(app))
SEEDED = {name for name, each in COMMANDS.items() if any("--seed" in option.opts for option in each.params)}
# What a command needs besides its seed, so that only the seed is wrong.
NEEDED: dict[str, list[object]] = {
    "annotate new": ["out", "--task", "t"],
    "annotate assign": ["c"],
    "annotate validate": ["c", "--sample-size", 1],
    "annotate simulate": ["c", "--out", "out"],
}


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _refused(run_cli: RunCli, *arguments: object) -> str:
    done = run_cli(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert list(Path().iterdir()) == []
    return done.stderr


def test_every_command_with_a_seed_is_in_the_table() -> None:
    assert set(NEEDED) == SEEDED


@pytest.mark.parametrize("seed", ["-1", "-2", "0.5", "nan", "one", "", str(2**32), "1" + "0" * 30, "9" * 5000])
@pytest.mark.parametrize("command", sorted(NEEDED))
def test_a_seed_that_is_none_is_refused(run_cli: RunCli, command: str, seed: str) -> None:
    said = _refused(run_cli, *command.split(), *NEEDED[command], f"--seed={seed}")
    assert said.startswith("fcconan: Invalid value for '--seed': "), said


@pytest.mark.parametrize("seed", [0, 1_000_000_000])
@pytest.mark.parametrize("command", sorted(NEEDED))
def test_a_seed_that_can_be_used_is_accepted(run_cli: RunCli, command: str, seed: int) -> None:
    assert "--seed" not in _refused(run_cli, *command.split(), *NEEDED[command], "--seed", seed)


def test_the_largest_seed_can_be_used(run_cli: RunCli) -> None:
    assert "--seed" not in _refused(run_cli, "bench", "data", "--seed", LARGEST_SEED)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"annotate raters c --add-annotators {10**9}", "'--add-annotators'"),
        (f"annotate raters c --add-validators {10**9}", "'--add-validators'"),
    ],
)
def test_a_number_that_would_never_end_is_refused(run_cli: RunCli, command: str, said: str) -> None:
    assert f"Invalid value for {said}: " in _refused(run_cli, *command.split())


def test_a_build_starts_no_more_threads_than_it_has_files(run_cli: RunCli) -> None:
    assert run_cli("build", "demo", "--out", "out", "--jobs", 1_000_000).returncode == 0
