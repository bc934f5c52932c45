"""`transformers serve`, a real OpenAI-compatible server, on this machine and without the network."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE = 60.0  # seconds


@contextmanager
def transformers_serve(folder: Path) -> Iterator[str]:
    """Runs the server while the context lasts, and yields its address with `/v1`.

    The name of a model in a request is the path of its folder.

    Args:
        folder: Where its log and its caches go.
    """
    command = shutil.which("transformers", path=str(Path(sys.executable).parent))
    assert command is not None, "transformers is not installed next to this Python"
    folder.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    log = folder / "serve.log"
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HOME": str(folder / "huggingface"),
        "CUDA_VISIBLE_DEVICES": "",
    }
    with log.open("wb") as out:
        server = subprocess.Popen(
            [command, "serve", "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
        )
        try:
            _wait(server, f"http://127.0.0.1:{port}/health", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(server: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"the server ended with {server.returncode}: {log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"the server did not answer within {_PATIENCE} s: {log.read_text()[-2000:]}")
