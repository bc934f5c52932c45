"""A session with an endpoint: concurrent requests with repetitions, pace and cost; answers are stored immediately."""

import asyncio
import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from fcconan.models.answers.origins import Origins
from fcconan.models.answers.rows import StoredAnswer
from fcconan.models.answers.store import AnswerStore
from fcconan.models.budget import Budget
from fcconan.models.jobs import Check, Job
from fcconan.models.requests import Finished, Request
from fcconan.models.responses import EndpointResponse
from fcconan.models.transport import Transport

_LONGEST_WAIT = 120.0  # seconds; longer waiting times mean that the quota is exhausted
_BUDGET_CHECK = 0.02  # seconds between checks of a budget that requests in flight have reserved
_PATIENCE = 3  # signals; the last one does not wait for the end of the session


class SessionSettings(Protocol):
    """Settings of requests and the store of answers; implemented by the client."""

    answers: AnswerStore
    origins: Origins
    budget: Budget | None
    retries: int
    concurrency: int
    backoff: float
    gap: float

    def known(self, request: Request, check: Check | None = None) -> EndpointResponse | None:
        """Returns the stored answer to a request, or None."""
        ...


class Session:
    """Runs jobs in an event loop in a separate thread.

    Signals are delivered to the main thread, which waits for results outside of the loop. So they cannot interrupt a
    step of the loop or its creation.

    Args:
        client: Settings of requests and the store of answers.
        transport: Connection that sends single requests.

    Attributes:
        sent: Number of requests sent so far, including repetitions.
    """

    def __init__(self, client: SessionSettings, transport: Transport) -> None:
        self.sent = 0
        self._client, self._transport, self._budget = client, transport, client.budget or Budget(None, None)
        self._free, self._in_turn = asyncio.Semaphore(client.concurrency), asyncio.Lock()
        self._next = 0.0  # earliest time of the next request
        self._jobs: set[asyncio.Task[None]] = set()
        # Key -> request in flight, so that equal requests are sent once.
        self._under_way: dict[str, asyncio.Task[EndpointResponse]] = {}
        self._batch: list[Finished] = []
        self._commit: asyncio.Task[list[StoredAnswer]] | None = None
        self._disk = asyncio.Lock()
        # Number, result and error of finished jobs. This kind of queue is safe in case of signals; futures of
        # `concurrent.futures` may stay locked.
        self._results: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
        self._over: SimpleQueue[None] = SimpleQueue()
        self._error: BaseException | None = None
        self._has_begun = self._is_over = self._is_closed = self._is_cancelled = False
        self._closing = asyncio.Event()
        # Numbers and jobs that wait for their start; the loop is None until it can be notified.
        self._waiting: deque[tuple[int, Job[Any]]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="fcconan-client", daemon=True)

    # In the thread of the caller

    def begin(self, number: int, job: Job[Any]) -> None:
        """Starts a job under a number. The first job starts the thread, which `close` ends."""
        self._waiting.append((number, job))
        if self._thread.ident is None:
            atexit.register(self.close)  # while modules and event loop still exist
            self._thread.start()
        if len(self._waiting) == 1:  # otherwise the loop is already starting jobs
            self._tell(self._start)

    def collect(self, results: dict[int, Any], number: int, *, wait: bool) -> None:
        """Moves finished results to a dictionary.

        Args:
            results: Dictionary that receives results by number.
            number: Number of the job whose result is needed next.
            wait: Whether to wait for this result.

        Raises:
            EndpointError: The endpoint refuses every request.
            InputError: Another error that ended all jobs.
        """
        with suppress(Empty):
            while self._error is None:
                found, result, self._error = self._results.get(block=wait and number not in results)
                if self._error is None:
                    results[found] = result
        if self._error is not None and number not in results:  # earlier results are returned before the error
            raise self._error

    def close(self) -> None:
        """Ends all jobs. When this returns or raises the exception of a signal, all answers are on the disk.

        The third signal ends the wait immediately.
        """
        if self._is_closed:
            return
        interruption: BaseException | None = None
        for _ in range(_PATIENCE):
            try:
                self._is_closed = True
                self._tell(self._closing.set)
                if (
                    self._has_begun
                ):  # otherwise a signal arrived before the thread started its work, and it will do none
                    while not self._is_over:
                        self._over.get()
                    self._thread.join()
                break
            except (KeyboardInterrupt, SystemExit) as error:
                interruption = interruption or error
        atexit.unregister(self.close)
        if interruption is not None:
            raise interruption

    def _tell(self, step: Callable[[], object]) -> None:
        """Runs a step in the loop, if it exists; a new loop checks its tasks itself."""
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop has ended, by an error that `collect` raises or before a signal
                loop.call_soon_threadsafe(step)

    # In the thread of the loop

    def _work(self) -> None:
        self._has_begun = True
        try:
            if not self._is_closed:
                # Created here, because a signal could interrupt its creation in the thread of the caller.
                with closing(asyncio.new_event_loop()) as loop:
                    loop.run_until_complete(self._serve())
        except BaseException as error:
            self._results.put((0, None, error))
        finally:
            self._is_over = True
            self._over.put(None)

    async def _serve(self) -> None:
        """Runs jobs until the session is closed."""
        async with self._transport:
            self._loop = asyncio.get_running_loop()
            self._start()
            if not self._is_closed:
                await self._closing.wait()
            self._cancel()
            await asyncio.gather(*self._jobs, return_exceptions=True)
            if self._commit is not None:
                await asyncio.wait([self._commit])

    def _start(self) -> None:
        """Starts waiting jobs, one per iteration of the loop, so that requests are sent while others are created."""
        if self._is_cancelled:
            self._waiting.clear()
        elif self._waiting:
            task = asyncio.create_task(self._run(*self._waiting.popleft()))
            self._jobs.add(task)
            task.add_done_callback(self._jobs.discard)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._start)

    async def _run(self, number: int, job: Job[Any]) -> None:
        try:
            self._results.put((number, await job(self), None))
        except BaseException as error:
            self._results.put((number, None, error))
            if not isinstance(error, asyncio.CancelledError):
                self._cancel()  # the others would fail as well

    def _cancel(self) -> None:
        self._is_cancelled = True  # waiting and new jobs never start
        for job in self._jobs:
            job.cancel()

    async def send(self, request: Request, check: Check | None = None) -> EndpointResponse:
        """Returns the stored answer to a request, or sends it; the answer is on the disk when this returns.

        Raises:
            EndpointError: The endpoint refuses all requests.
            CostLimitError: The request may exceed the limit of cost.
        """
        sending = self._under_way.get(request.key)
        if sending is None:
            known = self._client.known(request, check)
            if known is not None:
                return known
            sending = self._under_way[request.key] = asyncio.create_task(self._send(request, check))
            sending.add_done_callback(partial(self._forget, request.key))
        return await sending

    def _forget(self, key: str, sending: asyncio.Task[EndpointResponse]) -> None:
        del self._under_way[key]
        if not sending.cancelled():
            sending.exception()  # marks the error as retrieved, in case that all waiting jobs were cancelled

    async def _send(self, request: Request, check: Check | None) -> EndpointResponse:
        """Sends a request until it is answered, permanently refused, or out of retries."""
        answer = await self._attempt(request, check)
        for attempt in range(self._client.retries):
            if answer.body is not None or answer.reason in ("bad_request", "too_long"):
                break
            backoff = min(self._client.backoff * 2.0 ** min(attempt, 60), _LONGEST_WAIT)
            wait = backoff if answer.retry_after is None else answer.retry_after
            if wait > _LONGEST_WAIT:
                break
            await asyncio.sleep(wait)
            answer = await self._attempt(request, check)
        return answer

    async def _attempt(self, request: Request, check: Check | None) -> EndpointResponse:
        """Sends a request once.

        The slot is released after the answer is on the disk, so a kill repeats at most `concurrency` requests.
        """
        async with self._free:
            reserved = self._budget.bound(request.body)
            while not self._budget.reserve(reserved):
                await asyncio.sleep(_BUDGET_CHECK)
            answer = EndpointResponse()
            try:
                await self._turn()
                self.sent += 1
                began = time.monotonic()
                answer = await self._transport.post(request, check)
            finally:
                usage = (answer.body or {}).get("usage")
                if "input" in request.body and isinstance(usage, Mapping):
                    usage = {"completion_tokens": 0, **usage}  # embeddings have no completion tokens
                self._budget.commit(reserved, usage, is_charged=answer.is_charged)
            if answer.retry_after is not None and answer.retry_after <= _LONGEST_WAIT:
                self._next = max(self._next, time.monotonic() + answer.retry_after)
            if answer.body is None:
                return answer
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            stored = await self._store(Finished(request, answer.body, now, round(time.monotonic() - began, 3)))
            self._client.origins.add(request.body.get("model"), stored)
            # An earlier version with fewer checks may have stored the answer.
            return (
                answer
                if check is not None and check(request.body, stored.response)
                else EndpointResponse(stored.response)
            )

    async def _turn(self) -> None:
        """Waits until the next request may be sent."""
        if not self._client.gap and self._next <= time.monotonic():
            return
        async with self._in_turn:
            while (wait := self._next - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            self._next = time.monotonic() + self._client.gap

    async def _store(self, finished: Finished) -> StoredAnswer:
        """Stores an answer and returns the valid one; answers that arrive during a commit share the next one."""
        if not self._batch or self._commit is None:
            self._commit = asyncio.create_task(self._put_batch())
        self._batch.append(finished)
        place, commit = len(self._batch) - 1, self._commit
        return (await asyncio.shield(commit))[place]

    async def _put_batch(self) -> list[StoredAnswer]:
        async with self._disk:
            batch, self._batch = self._batch, []
            try:
                return await asyncio.get_running_loop().run_in_executor(None, self._client.answers.put_all, batch)
            except RuntimeError:  # no new threads can start while Python shuts down
                return self._client.answers.put_all(batch)
