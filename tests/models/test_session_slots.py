"""At most as many requests are paid for twice as may be under way, however slow the disk is."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.models.answers.store import AnswerStore
from fcconan.models.client import Client
from tests.models.server import Action, Body, Server, embeddings, use_key

PATH = "/embeddings"
ROOT = Path(__file__).parents[2]
CONCURRENCY = 8


def bodies(number: int) -> list[Body]:
    return [{"model": "m", "input": [f"text {each}"]} for each in range(number)]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)


def test_a_request_waits_until_an_earlier_answer_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, stored, groups, unsafe = threading.Lock(), [0], list[int](), list[int]()
    put_all: Any = AnswerStore.put_all

    def slowly(self: AnswerStore, finished: Any) -> Any:
        time.sleep(0.1)
        done = put_all(self, finished)
        with lock:
            stored[0] += len(finished)
            groups.append(len(finished))
        return done

    def behaviour(body: Body, number: int) -> Action:
        with lock:
            unsafe.append(len(server.requests) - stored[0])
        return Action(body=embeddings(body))

    monkeypatch.setattr(AnswerStore, "put_all", slowly)
    with Server(behaviour) as server:
        client = Client(journal=tmp_path / "answers", base_url=server.url, concurrency=CONCURRENCY)
        answers = client.send_all(PATH, bodies(48))
    assert [each.reason for each in answers] == [None] * 48
    assert max(unsafe) <= CONCURRENCY
    # Answers that come while the disk is busy share a commit.
    assert (sum(groups), max(groups) > 1, len(groups) <= 24) == (48, True, True)


def test_a_paid_answer_is_stored_though_its_job_was_ended_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error ends all jobs while some answers are being written and others wait for the disk."""
    put_all: Any = AnswerStore.put_all
    is_storing, is_over = threading.Event(), threading.Event()
    groups: list[int] = []

    def slowly(self: AnswerStore, finished: Any) -> Any:
        groups.append(len(finished))
        is_storing.set()
        is_over.wait(30)
        time.sleep(0.1)
        return put_all(self, finished)

    async def fails(sender: Any) -> None:
        await asyncio.to_thread(is_storing.wait, 30)
        while groups[0] + len(sender._batch) < 3:  # until all answers have come
            await asyncio.sleep(0.01)
        is_over.set()
        raise ZeroDivisionError("own")

    monkeypatch.setattr(AnswerStore, "put_all", slowly)
    with Server(lambda body, _: Action(body=embeddings(body))) as server:
        client = Client(journal=tmp_path / "answers", base_url=server.url, concurrency=CONCURRENCY)
        requests = [client.request(PATH, body) for body in bodies(3)]
        jobs = [lambda sender, request=request: sender.send(request) for request in requests]
        with pytest.raises(ZeroDivisionError, match="own"):
            list(client.run([fails, *jobs]))
        assert len(AnswerStore(tmp_path / "answers")) == len(server.requests) == 3


def test_an_answer_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "answers"

    def behaviour(body: Body, number: int) -> Action:
        path.rename(tmp_path / "elsewhere")
        return Action(body=embeddings(body))

    with Server(behaviour) as server:
        client = Client(journal=path, base_url=server.url, concurrency=1)
        with pytest.raises(InputError, match="was moved or deleted while it was in use"):
            client.send_all(PATH, bodies(3))
        assert len(server.requests) == 1


RUN = """
import sys, time
from pathlib import Path
from fcconan.models.client import Client
from fcconan.models.answers.store import AnswerStore
put_all = AnswerStore.put_all
def slowly(self, finished):
    time.sleep(0.5)
    return put_all(self, finished)
AnswerStore.put_all = slowly
client = Client(journal=Path(sys.argv[1]), base_url=sys.argv[2], concurrency=int(sys.argv[3]))
client.send_all("/embeddings", [{"model": "m", "input": [f"text {each}"]} for each in range(60)])
"""


def repeated(folder: Path, server: Server, seconds: float) -> int:
    """Kills a run some time after its first request, and returns how many requests the next run repeats."""
    server.requests.clear()
    command = [sys.executable, "-c", RUN, str(folder / "answers"), server.url, str(CONCURRENCY)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.Popen(command, env=environment)
    end = time.monotonic() + 30
    while not server.requests and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(seconds)
    run.send_signal(signal.SIGKILL)
    run.wait()
    before = Counter(body["input"][0] for body in server.bodies)
    assert set(before.values()) == {1}
    Client(journal=folder / "answers", base_url=server.url, concurrency=16).send_all(PATH, bodies(60))
    sent = Counter(body["input"][0] for body in server.bodies)
    assert len(sent) == 60
    return sent.total() - 60


def test_a_kill_repeats_no_more_requests_than_may_be_under_way(tmp_path: Path) -> None:
    with Server(lambda body, _: Action(body=embeddings(body))) as server:
        assert 1 <= repeated(tmp_path, server, 0.8) <= CONCURRENCY


@pytest.mark.long
def test_kills_at_any_time_repeat_no_more_requests_than_may_be_under_way(tmp_path: Path) -> None:
    random = np.random.default_rng(16)
    with Server(lambda body, _: Action(delay=0.02, body=embeddings(body))) as server:
        found = []
        for number in range(12):
            (folder := tmp_path / str(number)).mkdir()
            found.append(repeated(folder, server, float(random.uniform(0, 3))))
    assert max(found) <= CONCURRENCY
    assert max(found) > 0
