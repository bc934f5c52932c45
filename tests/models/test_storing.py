"""Answers are stored by a thread that does not wait for the loop."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.answers.store import Answers
from fcconan.models.answers.writer import Storing
from fcconan.models.requests import Finished


def finished(number: int) -> Finished:
    return Finished({"n": number}, {"n": number})


def test_answers_that_came_meanwhile_are_committed_together_while_the_loop_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, goes_on, groups = threading.Event(), threading.Event(), list[int]()
    put_all: Any = Answers.put_all

    def slowly(self: Answers, given: Any) -> Any:
        begun.set()
        assert goes_on.wait(30)
        groups.append(len(given))
        return put_all(self, given)

    monkeypatch.setattr(Answers, "put_all", slowly)
    answers = Answers(tmp_path / "answers")

    async def work() -> list[Any]:
        storing = Storing(answers, asyncio.get_running_loop())
        tasks = [asyncio.create_task(storing.store(finished(0)))]
        await asyncio.sleep(0)
        assert begun.wait(30)
        tasks += [asyncio.create_task(storing.store(finished(number))) for number in (1, 2, 3)]
        await asyncio.sleep(0)
        tasks[3].cancel()  # whoever waits may go; the answer is paid for
        await asyncio.sleep(0)
        goes_on.set()
        end = time.monotonic() + 30
        while len(answers) < 4 and time.monotonic() < end:
            time.sleep(0.01)  # the loop does nothing meanwhile
        assert (len(answers), groups, [task.done() for task in tasks[:3]]) == (4, [1, 3], [False] * 3)
        stored = await asyncio.gather(*tasks, return_exceptions=True)
        storing.close()
        return stored

    *stored, cancelled = asyncio.run(work())
    assert [each.response for each in stored] == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert isinstance(cancelled, asyncio.CancelledError)


def test_an_answer_that_cannot_be_written_is_an_error_for_each_who_waits(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "answers")
    (tmp_path / "answers").mkdir()

    async def work() -> list[Any]:
        storing = Storing(answers, asyncio.get_running_loop())
        found = await asyncio.gather(*(storing.store(finished(each)) for each in (0, 1)), return_exceptions=True)
        storing.close()
        return list(found)

    assert [type(each) for each in asyncio.run(work())] == [InputError, InputError]
