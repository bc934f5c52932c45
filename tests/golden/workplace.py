"""A folder in which commands run as a user gives them, and what they write is read."""

import io
import json
import os
import re
import runpy
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Any

Made = Mapping[str, Callable[["Workplace", Path], None]]
ROOT = Path(__file__).parents[2]


class Workplace:
    """A folder for datasets and results. Commands run in it, so that no path of the machine enters an output.

    Args:
        folder: The folder.
        made: What writes files and folders that commands name, by name.
    """

    def __init__(self, folder: Path, made: "Made" = MappingProxyType({})) -> None:
        self.made = made
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def run(self, *arguments: object) -> str:
        """Runs `python -m fcconan` with arguments, in this process, which spares the imports; returns what it printed.

        Raises:
            RuntimeError: It did not end with 0.
        """
        out, complaints = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        code: Any = 0
        with chdir(self.folder), _command_line(*map(str, arguments)), redirect_stdout(out), redirect_stderr(complaints):
            try:
                runpy.run_module("fcconan", run_name="__main__")
            except SystemExit as ended:
                code = ended.code
        written = []
        for stream in (out, complaints):
            stream.seek(0)
            written.append(stream.read())
        if code not in (0, None):
            raise RuntimeError(f"fcconan {' '.join(map(str, arguments))} ended with {code}: {written[1].strip()}")
        return written[0]

    def result(self, *arguments: object) -> Any:
        """Runs a command with `--json` and returns what it wrote."""
        path = self / "result.json"
        path.unlink(missing_ok=True)
        self.run(*arguments, "--json", path.name)
        return json.loads(path.read_text(encoding="utf-8"))

    def words(self, line: str) -> list[str]:
        """Returns the words of a command line; `@NAME` in it is a dataset that is built, or a file that is made."""

        def name(found: re.Match[str]) -> str:
            whole, first = found[1], found[1].split("/")[0]
            if first not in self.made:
                self.dataset(first)
            elif not (self / first).exists():
                self.made[first](self, self / first)
            return whole

        return [re.sub(r"(?<!\w)@([\w./-]+)", name, word) for word in shlex.split(line)]

    def dataset(self, name: str) -> str:
        """Builds a dataset of the catalogue, unless it is here, and returns its folder's name."""
        if not (self / name / "manifest.json").exists():
            self.run("build", name, "--out", name)
        return name


@contextmanager
def _command_line(*arguments: str) -> Iterator[None]:
    before, handler = sys.argv, signal.getsignal(signal.SIGTERM)
    sys.argv = ["fcconan", *arguments]
    try:
        yield
    finally:
        sys.argv = before
        signal.signal(signal.SIGTERM, handler)


def settle(folder: Path) -> None:
    """Sets the environment: caches of this run alone, no network, and one thread, so that sums have one order."""
    os.environ["FCCONAN_CACHE"] = str(folder / "cache")
    os.environ["HF_HOME"] = str(folder / "huggingface")
    os.environ["FCCONAN_RAW_URL"] = "http://127.0.0.1:9"  # nothing listens there
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "OMP_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"
    os.environ["COLUMNS"] = "120"
