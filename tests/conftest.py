"""Every test runs offline, with caches of its own, and without the mirror unless it asks for it."""

import gc
import io
import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)  # a loaded machine makes no test fail
settings.load_profile("no-deadline")

os.environ.setdefault("OMP_NUM_THREADS", "1")  # several workers with several threads each would wait for one another
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")  # ranx as it is written, without a minute of compiling
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
# A job in a shell's background ignores Ctrl-C and hands that on; the programs that tests interrupt must not inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)

MIRROR = os.environ.get("FCCONAN_MIRROR")  # not popped: the workers of pytest-xdist inherit it

_numbers = itertools.count()

RunCli = Callable[..., subprocess.CompletedProcess[str]]


def pytest_collection() -> None:
    """Collecting makes hundreds of thousands of objects that stay: nothing is garbage yet."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keeps modules and tests out of every later search for garbage, and searches less often."""
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


@pytest.hookimpl(trylast=True)  # after `-m` removed tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts slow tests first: the last test of a worker keeps the other workers waiting.

    pytest-xdist gives each worker an equal, contiguous part of the list. The tests of a module stay together.
    """
    slow: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        (slow if item.get_closest_marker("slow") else others).append(item)
    modules = [list(module) for _, module in itertools.groupby(slow, key=lambda item: item.path)]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    total, ordered = len(items), list[pytest.Item]()
    for number in range(workers):
        share = (total - len(ordered)) // (workers - number)
        first = [item for module in modules[number::workers] for item in module]
        rest = max(0, share - len(first))
        ordered += first + others[:rest]
        others = others[rest:]
    items[:] = ordered + others


@pytest.fixture(autouse=True, scope="module")
def _no_garbage() -> None:
    """The same for what earlier test modules imported: with torch among it a single search takes a second."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _no_mirror() -> None:
    """Fixtures of a module precede those of a test: they would read the mirror although nothing asked for it."""
    os.environ.pop("FCCONAN_MIRROR", None)


@pytest.fixture(autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not `mktemp`, which lists all folders of earlier tests; whoever writes there makes the folder.
    folder = tmp_path_factory.getbasetemp() / "caches" / str(next(_numbers))
    monkeypatch.setenv("FCCONAN_CACHE", str(folder / "fcconan"))
    monkeypatch.setenv("HF_HOME", str(folder / "huggingface"))
    # Nothing listens there: a test that reaches for the network fails at once.
    monkeypatch.setenv("FCCONAN_RAW_URL", "http://127.0.0.1:9")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The dataset folder of the demo, shared by all tests of a worker: a test that changes it works on a copy."""
    from fcconan.building import build

    folder = tmp_path_factory.mktemp("demo") / "dataset"
    build("demo", out=folder)
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    yield folder
    assert {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()} == before


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The upstream files; tests that use it are skipped where they are not there."""
    if MIRROR is None:
        pytest.skip("FCCONAN_MIRROR is not set")
    assert Path(MIRROR).is_dir(), f"FCCONAN_MIRROR names {MIRROR}, which is no folder"
    monkeypatch.setenv("FCCONAN_MIRROR", MIRROR)
    return Path(MIRROR)


@pytest.fixture
def run_process() -> RunCli:
    """Runs `fcconan` in a process of its own and returns what came of it."""
    command = shutil.which("fcconan", path=str(Path(sys.executable).parent))
    assert command is not None, "fcconan is not installed next to this Python"

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **environment},
            timeout=300,
        )

    return run


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def run_here(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `fcconan` to its end in this process, which saves the seconds of importing everything.

    With `COLUMNS`, the standard output behaves as a terminal of that width.
    """
    from fcconan.cli import main

    command = ["fcconan", *map(str, arguments)]
    out = _Terminal if "COLUMNS" in environment else io.TextIOWrapper
    streams = [stream(io.BytesIO(), encoding="utf-8") for stream in (out, io.TextIOWrapper)]
    before = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        patch.setattr(sys, "argv", command)
        for name, value in environment.items():
            patch.setenv(name, value)
        code = 0
        try:
            main()
        except SystemExit as ended:
            assert isinstance(ended.code, int)
            code = ended.code
    signal.signal(signal.SIGTERM, before)
    written = []
    for stream in streams:
        stream.seek(0)
        written.append(stream.read())
    return subprocess.CompletedProcess(command, code, *written)


@pytest.fixture
def run_cli() -> RunCli:
    """What `run_here` does."""
    return run_here
