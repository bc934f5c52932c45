"""Signals that come at bad moments: none is lost, none breaks a loop or a handler, and one is enough."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcconan.models.answers.store import Answers
from fcconan.models.client import Client
from fcconan.models.session import Session
from fcconan.models.signals import signals_held
from tests.models.server import Action, Server, embeddings, use_key

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


@pytest.mark.parametrize("own_thread", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_while_a_session_ends_costs_no_answer_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_thread: bool, times: int
) -> None:
    ended: list[Session] = []
    end: Any = Session._end

    async def interrupted(self: Session) -> None:
        ended.append(self)
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.05)
        await end(self)

    monkeypatch.setattr(Session, "_end", interrupted)
    with Server(lambda body, _: Action(body=embeddings(body))) as server:
        asking = Client(journal=tmp_path / "journal", base_url=server.url, own_thread=own_thread)
        with pytest.raises(KeyboardInterrupt):
            asking.send_all("/embeddings", [REQUEST])
    (session,) = ended
    assert session._loop.is_closed()
    assert session._thread is None or not session._thread.is_alive()
    assert [record["request"]["body"] for record in Answers(tmp_path / "journal").records()] == [REQUEST]


def test_a_signal_ends_a_loop_that_sleeps() -> None:
    loop = asyncio.new_event_loop()
    began = time.monotonic()
    sender = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    sender.start()
    with pytest.raises(KeyboardInterrupt), signals_held(loop), pytest.raises(RuntimeError, match="stopped before"):
        loop.run_until_complete(asyncio.sleep(60))
    assert time.monotonic() - began < 30
    sender.join()
    loop.close()


def test_the_third_signal_is_obeyed_at_once() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), signals_held():
        for place in range(3):
            signal.raise_signal(signal.SIGINT)
            done.append(place)
    assert done == [0, 1]


def test_every_kind_of_signal_that_came_is_handed_on() -> None:
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: noted.append(number))
    try:
        with pytest.raises(SystemExit) as caught, signals_held():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)
    assert noted == [signal.SIGINT]
    assert caught.value.code == 128 + signal.SIGTERM


def test_a_signal_between_putting_back_two_handlers_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def replaced(number: int, handler: Any) -> None:
        set_handler(number, handler)
        calls.append(number)
        if len(calls) == 3:  # two were set, and the first of them is back
            signal.raise_signal(signal.SIGINT)

    set_handler = signal.signal
    monkeypatch.setattr("fcconan.models.signals.signal.signal", replaced)
    with pytest.raises(KeyboardInterrupt), signals_held():
        pass
    monkeypatch.undo()
    assert len(calls) == 5


def test_a_session_inside_what_is_held_goes_on_to_its_end(tmp_path: Path) -> None:
    async def job(session: Session) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.01)
        return "done"

    told = []
    with pytest.raises(SystemExit), signals_held():
        told += list(Client(journal=tmp_path / "journal", base_url="http://127.0.0.1:9/v1").run([job]))
    assert told == ["done"]
