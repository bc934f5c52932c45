"""Stores the answers of a session in a thread: those that come while the disk is busy share a commit."""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from fcconan.models.answers.file import Stored
from fcconan.models.answers.store import Answers
from fcconan.models.requests import Finished

_Waiting = tuple[Finished, "asyncio.Future[Stored]"]


class Storing:
    """A queue of answers and the thread that commits them.

    The thread begins the next commit by itself. If the loop began it, answers would wait for what else the loop does,
    and the slots of their requests with them.

    Args:
        answers: The store.
        loop: The loop in which answers are waited for.
    """

    def __init__(self, answers: Answers, loop: asyncio.AbstractEventLoop) -> None:
        self._answers, self._loop = answers, loop
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()  # None ends the thread
        self._thread = threading.Thread(target=self._work, name="fcconan-answers", daemon=True)
        self._thread.start()

    async def store(self, finished: Finished) -> Stored:
        """Returns the answer that counts (see `Answers.put_all`), once it is on the disk.

        Raises:
            InputError: It cannot be written.
        """
        stored: asyncio.Future[Stored] = self._loop.create_future()
        stored.add_done_callback(seen)
        self._queue.put((finished, stored))
        return await stored

    def close(self) -> None:
        """Waits until all is on the disk."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        ended = False
        while not ended:
            taken = [self._queue.get()]
            with suppress(Empty):
                while True:
                    taken.append(self._queue.get_nowait())
            batch = [each for each in taken if each is not None]
            ended = len(batch) < len(taken)
            if batch:
                self._commit(batch)

    def _commit(self, batch: Sequence[_Waiting]) -> None:
        try:
            stored: Sequence[Stored | Exception] = self._answers.put_all([finished for finished, _ in batch])
        except Exception as error:
            stored = [error] * len(batch)
        self._loop.call_soon_threadsafe(_settle, batch, stored)


def _settle(batch: Sequence[_Waiting], stored: Sequence[Stored | Exception]) -> None:
    for (_, waiting), each in zip(batch, stored, strict=True):
        if waiting.done():
            continue
        if isinstance(each, Exception):
            waiting.set_exception(each)
        else:
            waiting.set_result(each)


def seen(done: "asyncio.Future[Any]") -> None:
    """Looks at the error of a future: who waited for it may have been cancelled, and then its error would be logged."""
    if not done.cancelled():
        done.exception()
