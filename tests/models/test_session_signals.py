"""Signals that come at bad moments: none is lost, none breaks a loop or a handler, and one is enough."""

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fcconan.models.client import Client
from fcconan.models.jobs import Sender
from fcconan.models.session import Session
from fcconan.models.transport import Transport
from tests.models.server import Action, Server, embeddings, use_key
from tests.models.stored import records

REQUEST = {"model": "m", "input": ["text"]}


def terminate(number: int, frame: object) -> None:
    sys.exit(128 + number)


@pytest.fixture(autouse=True)
def _handlers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    use_key(monkeypatch)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGTERM, terminate)
    yield
    assert signal.getsignal(signal.SIGTERM) is terminate
    assert signal.getsignal(signal.SIGINT) is before[signal.SIGINT]
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_while_a_session_ends_costs_no_answer_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    ended: list[Session] = []
    serve: Any = Session._serve

    async def interrupted(self: Session) -> None:
        ended.append(self)
        await serve(self)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.05)

    monkeypatch.setattr(Session, "_serve", interrupted)
    with Server(lambda body, _: Action(body=embeddings(body))) as server:
        asking = Client(journal=tmp_path / "journal", base_url=server.url)
        with pytest.raises(KeyboardInterrupt):
            asking.send_all("/embeddings", [REQUEST])
    (session,) = ended
    assert session._loop is not None
    assert session._loop.is_closed()
    assert not session._thread.is_alive()
    assert [record["request"]["body"] for record in records(tmp_path / "journal")] == [REQUEST]


def is_interrupted(step: int, work: Callable[[], object]) -> bool:
    """Runs work, raising KeyboardInterrupt at a step of it; tells whether there were so many steps."""
    steps = 0

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal steps
        if frame.f_code.co_filename == threading.__file__:  # a signal may leave its locks locked
            return None
        steps += 1
        if steps == step:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def session_of(folder: Path) -> Session:
    """A session in which nothing is sent."""
    client = Client(journal=folder / "answers")
    return Session(client, Transport("http://127.0.0.1:9/v1", "Bearer k", (), "KEY", 1.0))


async def job(sender: Sender) -> str:
    return "result"


def ends(session: Session) -> bool:
    """Closes a session, as Python does at its end, without waiting longer than it should."""
    closing = threading.Thread(target=session.close, daemon=True)
    closing.start()
    closing.join(10)
    if session._thread.ident is not None:
        session._thread.join(10)
    return not closing.is_alive() and not session._thread.is_alive()


def test_a_signal_at_any_step_of_the_end_of_a_session_leaves_no_thread(tmp_path: Path) -> None:
    step, goes_on = 0, True
    while goes_on:
        step += 1
        session = session_of(tmp_path)
        session.begin(0, job)
        goes_on = is_interrupted(step, session.close)
        assert ends(session)
        assert session._loop is None or session._loop.is_closed()
    assert step > 15


@contextmanager
def nothing_is_left(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Checks that nothing is printed, no error is dropped, and that neither a thread nor a socket stays open."""
    dropped: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda found: dropped.append((found.exc_type, str(found.object)))
    before = sockets()
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
            end = time.monotonic() + 10
            while "fcconan-client" in [each.name for each in threading.enumerate()] and time.monotonic() < end:
                time.sleep(0.001)
            gc.collect()
    finally:
        sys.unraisablehook = hook
    assert "fcconan-client" not in [each.name for each in threading.enumerate()]
    assert dropped == []
    assert [str(each.message) for each in warned] == []
    assert sockets() == before
    assert capfd.readouterr() == ("", "")


def sockets() -> int:
    """The number of sockets that are open in this process."""
    return sum(isinstance(each, socket.socket) and each.fileno() >= 0 for each in gc.get_objects())


def test_a_signal_at_any_step_of_the_beginning_of_a_session_leaves_nothing_open(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    step, goes_on = 0, True
    while goes_on:
        step += 1
        with nothing_is_left(capfd):
            session = session_of(tmp_path)
            goes_on = is_interrupted(step, partial(session.begin, 0, job))
            assert ends(session)
            del session
    assert step > 5


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("slowness", [0.0, 0.05])
def test_a_signal_while_the_thread_of_a_session_starts_leaves_nothing_open(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_there: bool, slowness: float
) -> None:
    """It comes before the thread is there, or while the caller waits for it, which may be making its loop."""
    start, new_event_loop = threading.Thread.start, asyncio.new_event_loop
    loops: list[asyncio.AbstractEventLoop] = []

    def slowly() -> asyncio.AbstractEventLoop:
        time.sleep(slowness)
        loops.append(new_event_loop())
        time.sleep(slowness)
        return loops[-1]

    def interrupted(self: threading.Thread) -> None:
        if is_there:
            start(self)
        if self.name == "fcconan-client":
            terminate(signal.SIGTERM, None)

    monkeypatch.setattr(asyncio, "new_event_loop", slowly)
    gc.collect()
    with nothing_is_left(capfd):
        with monkeypatch.context() as patch, pytest.raises(SystemExit) as raised:
            patch.setattr(threading.Thread, "start", interrupted)
            session = session_of(tmp_path)
            session.begin(0, job)
        session.close()
        assert raised.value.code == 128 + signal.SIGTERM
        del raised, session
    assert all(loop.is_closed() for loop in loops)
    assert is_there or not loops


@pytest.mark.parametrize("is_there", [False, True])
def test_a_signal_at_any_step_of_a_wait_for_results_stops_no_session(tmp_path: Path, is_there: bool) -> None:
    step, goes_on = 0, True
    while goes_on:
        step += 1
        session = session_of(tmp_path)
        for number in range(3):
            session.begin(number, job)
        results: dict[int, Any] = {}
        if is_there:
            session.collect(results, 0, wait=True)

        def wait(session: Session = session, results: dict[int, Any] = results) -> None:
            for number in range(3):
                session.collect(results, number, wait=True)

        goes_on = is_interrupted(step, wait)
        assert ends(session)
    assert results == {0: "result", 1: "result", 2: "result"}
    assert step > 5
