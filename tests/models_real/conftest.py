"""A server of llama-cpp-python with Qwen2.5-Coder 1.5B on this machine, and `fcconan` in processes of its own."""

import ctypes
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

MODELS = os.environ.get("FCCONAN_MODELS")  # the environment of tests.models_real.weights
QWEN = "qwen2.5-coder-1.5b-instruct"
MEMORY = 8 * 2**30  # bytes of addresses, of which it uses 6; its memory is at most 4.6 GB
PATIENCE = 120  # seconds
_report: list[str] = []

Fcconan = Callable[..., dict[str, Any]]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints what the server needed."""
    for line in _report:
        terminalreporter.write_line(line)


class ModelServer:
    """The server.

    Attributes:
        url: Its address.
        peak: Its largest memory so far, in GB.
    """

    def __init__(self, environment: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.peak, self._log = f"http://127.0.0.1:{port}/v1", 0.0, log
        words: list[object] = [environment / "bin" / "python", "-m", "llama_cpp.server", "--host", "127.0.0.1"]
        words += ["--port", port, "--model", environment / "qwen.gguf", "--model_alias", QWEN]
        words += ["--n_ctx", 4096, "--n_threads", os.cpu_count()]
        self._command = [*map(str, words)]

    @property
    def answered(self) -> int:
        """Number of requests that were answered."""
        return self._log.read_text(encoding="utf-8").count('"POST /v1/chat/completions HTTP/1.1" 200')

    def start(self) -> None:
        """Starts the server and waits for it."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=_bounded
            )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/models", timeout=5).close()
                return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError(f"the server does not answer: {self._log.read_text(encoding='utf-8')[-2000:]}")

    def kill(self) -> None:
        """Kills the server, whatever it does."""
        state = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmHWM:\s+(\d+) kB", state)
        self.peak = max(self.peak, int(found[1]) / 1e6 if found else 0.0)
        self._process.kill()
        self._process.wait()


def _bounded() -> None:
    """Limits the memory of the server, and ends it with the run, however that ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


@pytest.fixture(scope="session")
def models() -> Path:
    """Folder with the models."""
    if MODELS is None:
        pytest.skip("FCCONAN_MODELS does not name the environment of models: run `make check-models`")
    return Path(MODELS)


@pytest.fixture(scope="session")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    """The server, which runs as long as these tests."""
    started = time.monotonic()
    running = ModelServer(models, tmp_path_factory.mktemp("server") / "log")
    running.start()
    try:
        yield running
    finally:
        running.kill()
        seconds = time.monotonic() - started
        _report.append(
            f"{QWEN}: {running.answered} answers in {seconds:.0f} s, at most {running.peak:.2f} GB of memory"
        )


@pytest.fixture
def environment(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables of a run. All tests share the stored answers, so that equal requests are sent once."""
    cache = str(tmp_path_factory.getbasetemp() / "answers")
    return {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "FCCONAN_CACHE": cache}


@pytest.fixture
def fcconan(environment: dict[str, str], tmp_path: Path) -> Fcconan:
    """Runs a command and returns its result as JSON, with the time in seconds."""

    def run(*words: object) -> dict[str, Any]:
        started = time.monotonic()
        command = [
            sys.executable,
            "-m",
            "fcconan",
            *map(str, words),
            "--json",
            str(tmp_path / "result.json"),
            "--force",
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path, timeout=1800
        )
        _report.append(f"{time.monotonic() - started:4.0f} s  fcconan {' '.join(map(str, words))[:140]}")
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        found: dict[str, Any] = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
        return found

    return run
