"""Signals that come at bad moments: none is lost, none breaks a loop or a handler, and one is enough."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcconan.models.answers.store import Answers
from fcconan.models.client import Client
from fcconan.models.session import Session
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


@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_while_a_session_ends_costs_no_answer_and_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
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
        asking = Client(journal=tmp_path / "journal", base_url=server.url)
        with pytest.raises(KeyboardInterrupt):
            asking.send_all("/embeddings", [REQUEST])
    (session,) = ended
    assert session._loop.is_closed()
    assert not session._thread.is_alive()
    assert [record["request"]["body"] for record in Answers(tmp_path / "journal").records()] == [REQUEST]
