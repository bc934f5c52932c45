"""`fcconan judge rate` is killed again and again, and shared by two processes: nothing is asked twice, nothing lost."""

import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.oldcli import app
from tests.cli.judging import slowly, texts_of
from tests.models.server import Body, Server, use_key
from tests.models.stored import records

pytestmark = pytest.mark.long

REPLIES = 40
REQUESTS = REPLIES * 4  # the aspects of cseval
KILLS = 10
DELAY = 0.02  # of an answer, in seconds
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)


def command_line(demo: Path, server: Server, journal: Path, out: Path, *options: object) -> list[str]:
    arguments: list[object] = ["judge", "rate", demo, "--task", "cseval", "--limit", REPLIES, "--model", "stub"]
    return [*map(str, [*arguments, "--base-url", server.url, "--response-cache", journal, "--out", out, *options])]


def finish(*arguments: Any) -> None:
    """Runs it to its end, in this process."""
    assert app(command_line(*arguments), standalone_mode=False) in (None, 0)


class Run:
    """`fcconan judge rate` in a process of its own."""

    def __init__(
        self,
        demo: Path,
        server: Server,
        journal: Path,
        out: Path,
        *options: object,
        stderr: int = subprocess.PIPE,
    ) -> None:
        command = shutil.which("fcconan", path=str(Path(sys.executable).parent))
        assert command is not None
        self.process = subprocess.Popen(
            [command, *command_line(demo, server, journal, out, *options)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )

    def end(self) -> tuple[int, str, str]:
        stdout, stderr = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, stdout, stderr

    def succeed(self) -> None:
        status, _, stderr = self.end()
        assert (status, stderr) == (0, "")


def wait_for(server: Server, requests: int) -> None:
    end = time.monotonic() + PATIENCE
    while len(server.requests) < requests:
        assert time.monotonic() < end, f"{len(server.requests)} requests came, {requests} were expected"
        time.sleep(0.005)


def named(body: Body) -> str:
    return json.dumps(body, sort_keys=True)


def finished(journal: Path) -> set[str]:
    """The requests whose answers are in the journal."""
    return {named(record["request"]["body"]) for record in records(journal)}


@pytest.fixture(scope="module")
def undisturbed(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch, Server(slowly(0)) as server:
        use_key(patch)
        finish(demo, server, folder / "journal", folder / "ratings.parquet")
        assert len(server.requests) == REQUESTS
    return (folder / "ratings.parquet").read_bytes()


def test_killed_ten_times_it_asks_nothing_again_that_was_answered(
    demo: Path, undisturbed: bytes, tmp_path: Path
) -> None:
    random = np.random.default_rng(10)
    journal, out = tmp_path / "journal", tmp_path / "ratings.parquet"
    known: set[str] = set()
    grown = 0
    with Server(slowly(DELAY)) as server:
        for _ in range(KILLS):
            before = len(server.requests)
            run = Run(demo, server, journal, out, "--concurrency", 2)
            wait_for(server, before + 1)
            time.sleep(random.uniform(0, 0.25))
            run.process.kill()
            assert run.end()[0] == -signal.SIGKILL
            now = finished(journal)
            grown += now > known
            assert not {named(body) for body in server.bodies[before:]} & known
            known = now
            assert not out.exists()
        assert 0 < len(known) < REQUESTS
        assert grown > KILLS // 2
        before = len(server.requests)
        finish(demo, server, journal, out, "--concurrency", 32)
        rest = [named(body) for body in server.bodies[before:]]
        assert not set(rest) & known
        assert len(rest) == len(set(rest)) == REQUESTS - len(known)
        assert len(finished(journal)) == REQUESTS
        assert out.read_bytes() == undisturbed
        finish(demo, server, journal, out)
        assert len(server.requests) == before + len(rest)
    assert out.read_bytes() == undisturbed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_no_half_written_file_and_goes_on(
    demo: Path, undisturbed: bytes, tmp_path: Path, number: signal.Signals
) -> None:
    journal, out = tmp_path / "journal", tmp_path / "ratings.parquet"
    with Server(slowly(DELAY)) as server:
        run = Run(demo, server, journal, out, "--concurrency", 4)
        wait_for(server, 20)
        run.process.send_signal(number)
        status, stdout, stderr = run.end()
        assert (status, stdout) == (128 + number, "")
        told = "fcconan: interrupted; no file is incomplete: run the command again to continue\n"
        assert stderr == told
        assert [path.name for path in tmp_path.iterdir()] == ["journal"]  # the answers, and no ratings
        known, before = finished(journal), len(server.requests)
        assert 0 < len(known) < REQUESTS
        finish(demo, server, journal, out, "--concurrency", 32)
        assert len(server.requests) - before == REQUESTS - len(known)
        assert not {named(body) for body in server.bodies[before:]} & known
    assert out.read_bytes() == undisturbed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["journal", "ratings.parquet"]


def test_two_runs_on_one_journal_both_finish(demo: Path, undisturbed: bytes, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    outs = [tmp_path / f"{number}.parquet" for number in range(2)]
    with Server(slowly(0.01)) as server:
        runs = [Run(demo, server, journal, out) for out in outs]
        for run in runs:
            run.succeed()
    assert [out.read_bytes() for out in outs] == [undisturbed, undisturbed]
    kept = records(journal)
    assert len(kept) == len({record["key"] for record in kept}) == REQUESTS
    for record in kept:
        body = record["request"]["body"]
        assert record["response"]["model"] == "stub-stub"
        assert texts_of(body)["counter_narrative"]


def test_progress_is_shown_on_a_terminal_only(demo: Path, undisturbed: bytes, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    out = tmp_path / "ratings.parquet"
    with Server(slowly(0)) as server:
        run = Run(demo, server, tmp_path / "journal", out, stderr=theirs)
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how Linux tells that nobody has the terminal any more
            while read := os.read(ours, 1000):
                shown += read
        os.close(ours)
        assert run.end()[0] == 0
    assert re.match(rf"\rrating:   0%\| +\| 0/{REPLIES} \[00:00<\?, \?it/s\]\r", shown.decode())
    assert shown.endswith(b" " * 20 + b"\r")  # it is wiped away
    assert out.read_bytes() == undisturbed
