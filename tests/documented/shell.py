"""Runs the lines of shell blocks in this process; a line of an unknown form is an error."""

import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from itertools import groupby, pairwise
from pathlib import Path

from fcconan.data import recipe_names
from tests.conftest import run_here
from tests.documented import verbs
from tests.documented.blocks import ROOT
from tests.documented.output import ENVIRONMENT
from tests.documented.world import added, fewer_pairs, parsed_only, stand_in

_OPERATORS = set("();<>|&")
_ASSIGNED = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)")
_EXTRAS = re.compile(r"(?:\.|fcconan)(?:\[([a-z,]+)\])?")
_REFUSED = re.compile(r"\s# refused\b")
OUTPUTS = ("--out", "--json", "--report")
REHEARSED = ("--dry-run", "--status-only")  # with these, only --json is written
CLUSTER = "tcp://HOST:8786"  # as pages write it
SHARED = "/shared/"
_ALIKE = re.compile(r"fcconan build ")  # commands with one result for all pages
FEWER = {"--resamples": "100"}  # saves time; the widths of intervals are tested elsewhere


class MisunderstoodError(AssertionError):
    """A line has a form that `Shell` does not know."""


class Shell:
    """The commands of one page, which share a folder and an environment.

    The forms are: `fcconan ...`, alone or behind `NAME=value`; `export NAME=value`; `make TARGET`; `pip install`;
    `cp FILE FILE`; and `dask scheduler & dask worker ADDRESS ... &`. A comment `# refused` says that the command is
    refused as bad input.

    Args:
        environment: Variables of every command. They replace the values `...` and `path/to/...` of a page.
        shared: Folder for results that several pages use, which are computed once.
        long: Whether to run commands that take minutes.
    """

    def __init__(self, environment: Mapping[str, str], shared: Path, *, long: bool = False) -> None:
        self._environment, self._shared, self._long = dict(environment), shared, long
        self._replaced: set[str] = set()
        self._started: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])

    def close(self) -> None:
        """Ends the background processes."""
        for process in self._started:
            process.terminate()
        for process in self._started:
            process.wait()

    def run(self, line: str, *, shown: bool = False) -> str | None:
        """Runs a line.

        Args:
            line: Command with its arguments.
            shown: Whether the page shows its output. The command then runs as it is written, without fewer resamples.

        Returns:
            The standard output of `fcconan`. None if it differs here from the page's for a known reason: the command
            was only parsed, or it reads the demo in place of an upstream dataset.

        Raises:
            MisunderstoodError: The form of the line is unknown.
            NotACommandError: `fcconan` has no such command or option.
            AssertionError: The command fails, or does not write an output that it names.
        """
        line = line.replace(CLUSTER, f"tcp://127.0.0.1:{self._port}").replace(SHARED, SHARED.lstrip("/"))
        words = _words(stand_in(line))
        if stand_in(line) != line:
            self._replaced.update(str(path) for path in _outputs(words))
        given: dict[str, str] = {}
        if words[0] == "export":
            words = words[1:]
        while words and (assigned := _ASSIGNED.fullmatch(words[0])):
            given[assigned[1]] = self._value(*assigned.groups())
            words = words[1:]
        if line.startswith("export "):
            self._environment |= given
        if words[:1] == ["fcconan"]:
            printed = self._fcconan(line, words[1:], given, shown=shown)
            return printed if not self.is_replaced(line) else None
        if words[:1] == ["make"] and len(words) == 2 and not given:
            subprocess.run(["make", "--dry-run", words[1]], cwd=ROOT, check=True, capture_output=True)
        elif words[:2] == ["pip", "install"] and not given:
            _extras([word for word in words[2:] if word != "-e"])
        elif words[:1] == ["cp"] and len(words) == 3:
            shutil.copy(*words[1:])
        elif words[:2] == ["dask", "scheduler"]:
            self._dask(words)
        elif words or not line.startswith("export "):
            raise MisunderstoodError(f"`{line}`: give it a form that tests/documented/shell.py knows, or add this one")
        if shown:
            raise MisunderstoodError(f"`{line}`: only the output of `fcconan` can be shown")
        return None

    def is_replaced(self, text: str) -> bool:
        """Returns whether a command or program reads the demo in place of an upstream dataset."""
        return any(folder in text for folder in self._replaced)

    def _value(self, name: str, value: str) -> str:
        if value != "..." and not value.startswith("path/to/"):
            return value
        return self._environment.get(name, value)

    def _fcconan(self, line: str, words: list[str], given: Mapping[str, str], *, shown: bool) -> str | None:
        words = [word for each in words for word in _found(each) or [each]]
        command, _ = verbs.leaf(words)
        verbs.parsed(words)
        if parsed_only(line, long=self._long):
            return None
        outputs = _outputs(words)
        kept = self._shared / " ".join(word for word in words if Path(word) not in outputs)
        if kept.exists() and not shown:
            shutil.copytree(kept, outputs[0], dirs_exist_ok=True)
            return None
        known = verbs.options(command)
        fewer = {} if shown else {name: value for name, value in FEWER.items() if name in known and name not in words}
        cheaper = [each for pair in fewer.items() for each in pair]
        if words[0] == "finetune" and words[1].startswith("data/"):
            fewer_pairs(Path(*Path(words[1]).parts[:2]))
        before = {path: _state(path) for path in outputs}
        more = added(line)
        for name in {*more} & {*words}:  # an option cannot be repeated
            place = words.index(name)
            words[place : place + 2] = []
        run = run_here(*words, *cheaper, *more, **{**self._environment, **ENVIRONMENT, **given})
        wanted = 2 if _REFUSED.search(line) else 0
        assert run.returncode == wanted, f"`{line}` ended with {run.returncode}: {run.stderr or run.stdout[-500:]}"
        if wanted:
            return run.stdout
        for path in outputs:
            assert path.exists(), f"`{line}` did not write {path}"
            assert path.is_dir() or path.stat().st_size, f"`{line}` left {path} empty"
            assert _state(path) != before[path], f"`{line}` did not replace {path}"
        if _ALIKE.match(line) and (words[0] != "build" or words[1] in recipe_names()):
            shutil.copytree(outputs[0], kept, dirs_exist_ok=True)
        return run.stdout

    def _dask(self, words: list[str]) -> None:
        """Starts a scheduler and workers."""
        more = {
            "scheduler": ["--host", "127.0.0.1", "--port", self._port, "--no-dashboard"],
            "worker": ["--no-dashboard", "--local-directory", "dask"],
        }
        for separator, group in groupby(words, key=lambda word: word == "&"):
            if not separator:
                command = list(group)
                program = str(Path(sys.executable).with_name("dask"))
                self._started.append(
                    subprocess.Popen([program, *command[1:], *more[command[1]]], stderr=subprocess.DEVNULL)
                )


def parse(line: str) -> None:
    """Parses a line of `fcconan` with its options; lines of other programs are skipped.

    Raises:
        NotACommandError: `fcconan` has no such command or option.
    """
    words = _words(line)
    while words and (words[0] == "export" or _ASSIGNED.fullmatch(words[0])):
        words = words[1:]
    if words[:1] == ["fcconan"] and not _REFUSED.search(line):
        verbs.parsed(words[1:])


def _state(path: Path) -> object:
    """Returns a value that changes when a file or folder is replaced."""
    return (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None


def _words(line: str) -> list[str]:
    """Returns the words and operators of a line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    words = list(lexer)
    operators = [word for word in words if set(word) <= _OPERATORS]
    if (operators and words[:1] != ["dask"]) or "$(" in line or "`" in line or not words:
        raise MisunderstoodError(f"`{line}`: pipes, redirections and substitutions are not run here")
    return words


def _found(word: str) -> list[str]:
    """Returns the files that match a word with a star."""
    return sorted(map(str, Path().glob(word))) if "*" in word else []


def _outputs(words: list[str]) -> list[Path]:
    """Returns the files and folders that the options of a command name as output."""
    wanted = ("--json",) if any(word in words for word in REHEARSED) else OUTPUTS
    return [Path(path) for name, path in pairwise(words) if name in wanted]


def _extras(packages: list[str]) -> None:
    """Checks that the extras of this package exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package in packages:
        match = _EXTRAS.fullmatch(package)
        if match is None:
            raise MisunderstoodError(f"`pip install {package}`: only this package and its extras are known")
        missing = set((match[1] or "").split(",")) - {"", *project["optional-dependencies"]}
        assert not missing, f"pyproject.toml has no extra {', '.join(sorted(missing))}"
