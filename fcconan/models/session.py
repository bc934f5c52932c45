"""Runs requests to an endpoint, many at a time: repetitions, waiting, cost, and every answer stored before its use."""

import asyncio
import atexit
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, TypeVar

from fcconan.data import masked, proxy_for
from fcconan.errors import InputError
from fcconan.models.answers.origins import Origins
from fcconan.models.answers.store import Answers
from fcconan.models.answers.writer import Storing, seen
from fcconan.models.begun import Begun
from fcconan.models.budget import Budget
from fcconan.models.requests import Finished, Request, encoded
from fcconan.models.responses import (
    Answer,
    Check,
    one_line,
    read_body,
    read_whole,
    refused,
    retry_after,
    said_by,
    too_large,
)

Result = TypeVar("Result")

_LONGEST_WAIT = 120.0  # seconds; who is told to wait longer is out of quota, and waiting would not end
_PATIENCE = 3  # signals, of which the last one does not wait for the end of a session
_WHOLE = 10  # timeouts that a request as a whole may take, for bodies that trickle for ever


@dataclass(frozen=True)
class Settings:
    """How requests are sent.

    Attributes:
        endpoint: The address without user and password.
        answers: The store of answers.
        origins: Counts where they came from.
        authorization: The header that carries the key, or the address's user and password.
        secrets: Texts that are masked in all that the endpoint sends.
        key_variable: The environment variable that holds it, for messages.
        timeout: Seconds without a sign of the endpoint.
        retries: How many times a failed request is sent again.
        concurrency: How many requests run at the same time.
        backoff: Seconds before the first repetition.
        gap: Seconds between two requests.
        budget: Keeps the cost at or below a limit.
    """

    endpoint: str
    answers: Answers
    origins: Origins
    authorization: str
    secrets: tuple[str, ...]
    key_variable: str
    timeout: float
    retries: int
    concurrency: int
    backoff: float
    gap: float
    budget: Budget | None


class Session:
    """Runs jobs in an event loop, in a thread of its own.

    Signals reach the main thread only, which waits for results outside of the loop: none breaks a step of the loop.

    Args:
        settings: How requests are sent.

    Attributes:
        sent: Requests that were sent so far, repetitions among them.

    Raises:
        InputError: There is no usable key, or the extra is not installed.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.sent = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._work, name="fcconan-client", daemon=True)
        self._over: Begun[None] = Begun()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._error: BaseException | None = None
        # Requests under way, so that none is sent twice at the same time.
        self._asked: dict[str, asyncio.Future[Answer]] = {}
        self._storing: Storing | None = None
        self._free = asyncio.Semaphore(settings.concurrency)
        self._settled = asyncio.Event()
        self._in_turn = asyncio.Lock()
        self._next = self._not_before = 0.0
        self._http: Any = None
        if settings.budget is not None:
            settings.budget.purse.waiting.append(self._wake)
        self._is_closed = False
        self._ending: asyncio.Task[None] | None = None
        try:
            self._thread.start()
            atexit.register(self._close_at_exit)
            self._begin(self._connect).result()
        except BaseException:
            self.close()
            raise

    def begin(self, job: "Job[Result]") -> "Begun[Result]":
        """Begins a job."""
        return self._begin(self._run, job)

    def result(self, begun: "Begun[Result]") -> Result:
        """Waits for the result of a job.

        Raises:
            EndpointError: The endpoint refuses every request.
            InputError: What else ended all jobs.
        """
        try:
            return begun.result()
        except CancelledError:
            if self._error is not None:
                raise self._error from None
            raise

    def close(self) -> None:
        """Ends all jobs; all answers until now are on the disk when this returns, or raises the exception of a signal.

        The third signal is obeyed at once.
        """
        if self._is_closed:
            return
        self._is_closed = True
        interruption: BaseException | None = None
        for _ in range(_PATIENCE):
            try:
                self._is_closed = True
                with suppress(RuntimeError):  # a signal came after the loop had ended
                    self._loop.call_soon_threadsafe(self._begin_end)
                # Without a connection nothing was sent, and a signal may have come before the thread was there.
                if self._storing is not None:
                    self._over.result()
                    self._thread.join()
                break
            except (KeyboardInterrupt, SystemExit) as error:
                interruption = interruption or error
        atexit.unregister(self._close_at_exit)
        if self._settings.budget is not None:
            self._settings.budget.purse.waiting.remove(self._wake)
        if interruption is not None:
            raise interruption

    def _work(self) -> None:
        """Runs the loop, in its thread, until `_end`."""
        try:
            self._loop.run_forever()
            self._loop.close()
        finally:
            self._over.finish(error=None if self._ending is None else self._ending.exception())

    def _begin_end(self) -> None:
        """Begins the end once, in the loop."""
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())

    def _close_at_exit(self) -> None:
        """Closes a session that is still open when Python ends, while there are modules and an event loop."""
        with suppress(RuntimeError):  # no thread can be started any more
            self.close()

    def _begin(self, work: "Callable[..., Coroutine[Any, Any, Result]]", *given: Any) -> "Begun[Result]":
        begun: Begun[Result] = Begun()

        def start() -> None:  # in the loop: a signal between making a coroutine and its task would lose it
            self._loop.create_task(work(*given)).add_done_callback(finish)

        def finish(task: asyncio.Task[Result]) -> None:
            if task.cancelled():
                begun.finish(error=CancelledError())
            elif (error := task.exception()) is not None:
                begun.finish(error=error)
            else:
                begun.finish(task.result())

        self._loop.call_soon_threadsafe(start)
        return begun

    async def send(self, request: Request, check: Check | None = None) -> Answer:
        """Answers a request from the store, or sends it; when this returns, an answer is on the disk.

        Raises:
            EndpointError: The endpoint refuses every request.
            CostLimitError: The request may cost more than is left.
        """
        key = request.key
        if key not in self._asked:
            known = answer_from(self._settings.answers, self._settings.origins, request, check)
            if known is not None:
                return known
            return await self._first(request, check)
        return await self._asked[key]

    async def _first(self, request: Request, check: Check | None) -> Answer:
        """Sends a request for the first one who asks for it; whoever asks in the meantime gets the same answer."""
        asked = self._asked[request.key] = self._loop.create_future()
        asked.add_done_callback(seen)
        try:
            answer = await self._finish(request, check)
        except asyncio.CancelledError:
            asked.cancel()
            raise
        except BaseException as error:
            asked.set_exception(error)
            raise
        else:
            asked.set_result(answer)
            return answer
        finally:
            del self._asked[request.key]

    async def _connect(self) -> None:
        try:
            import aiohttp
        except ImportError as error:
            raise InputError("models behind an endpoint need the extra: `pip install 'fcconan[llm]'`") from error
        timeout = self._settings.timeout
        headers = {"Content-Type": "application/json", "Authorization": self._settings.authorization}
        # The library would look for a proxy in a thread for every request, and read the user's .netrc as often.
        proxy = proxy_for(self._settings.endpoint)
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # our own limit goes before it
            timeout=aiohttp.ClientTimeout(total=_WHOLE * timeout, sock_connect=timeout, sock_read=timeout),
            headers=headers,
            proxy=None if proxy is None else proxy.with_login,
        )
        self._storing = Storing(self._settings.answers, self._loop)

    async def _run(self, job: "Job[Result]") -> Result:
        task = asyncio.current_task()
        assert task is not None
        if self._error is not None:
            raise asyncio.CancelledError
        self._tasks.add(task)
        try:
            return await job(self)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            # One that cannot go on ends all: the others would be refused as well.
            if self._error is None:
                self._error = error
                for other in self._tasks - {task}:
                    other.cancel()
            raise
        finally:
            self._tasks.discard(task)

    def _wake(self) -> None:
        with suppress(RuntimeError):  # called from the thread of another session, as this one ended
            self._loop.call_soon_threadsafe(self._settled.set)

    async def _end(self) -> None:
        try:
            for task in (running := list(self._tasks)):
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            if self._storing is not None:
                self._storing.close()
            if self._http is not None:
                await self._http.close()
            await self._loop.shutdown_default_executor()
        finally:
            self._loop.stop()

    async def _finish(self, request: Request, check: Check | None) -> Answer:
        settings = self._settings
        for attempt in range(settings.retries + 1):
            answer, retry_after = await self._send_once(request, check)
            if answer.body is not None:
                return answer
            if answer.reason in ("bad_request", "too_long") or (retry_after or 0) > _LONGEST_WAIT:
                break
            wait = min(settings.backoff * 2.0 ** min(attempt, 60), _LONGEST_WAIT)
            if retry_after is not None:
                wait = retry_after
                self._not_before = max(self._not_before, time.monotonic() + retry_after)
            if attempt == settings.retries:
                break
            await asyncio.sleep(wait)
        return answer

    async def _send_once(self, request: Request, check: Check | None) -> tuple[Answer, float | None]:
        """Sends a request once; returns what came of it and how long the endpoint wants us to wait.

        The next request may go once the answer is on the disk: a kill repeats as many as may be under way, and no more.
        """
        budget = self._settings.budget
        async with self._free:
            aside = 0.0
            if budget is not None:
                aside = budget.bound(request.body)
                while not budget.set_aside(aside):
                    self._settled.clear()
                    await self._settled.wait()
            usage, charged = None, True
            try:
                await self._turn()
                self.sent += 1
                began = time.monotonic()
                answer, retry_after, charged = await self._post(request, check)
                usage = (answer.body or {}).get("usage")
                if "input" in request.body and isinstance(usage, Mapping):
                    usage = {"completion_tokens": 0, **usage}  # embeddings have none
            finally:
                if budget is not None:
                    budget.settle(aside, usage if isinstance(usage, Mapping) else None, charged=charged)
            if answer.body is not None:
                now = datetime.now(UTC).isoformat(timespec="milliseconds")
                finished = Finished(request, answer.body, now, round(time.monotonic() - began, 3))
                assert self._storing is not None  # it is there once a connection is
                stored = await self._storing.store(finished)
                # A stored answer may be of an earlier version, which checked less.
                if check is None or not check(request.body, stored.response):
                    answer = Answer(stored.response)
                self._settings.origins.add(request.body.get("model"), stored)
        return answer, retry_after

    async def _turn(self) -> None:
        """Waits until the next request may be sent."""
        if not self._settings.gap and self._not_before <= time.monotonic():
            return
        async with self._in_turn:
            while (wait := max(self._next, self._not_before) - time.monotonic()) > 0:
                await asyncio.sleep(wait)
            self._next = time.monotonic() + self._settings.gap

    async def _post(self, request: Request, check: Check | None) -> tuple[Answer, float | None, bool]:
        """Also returns whether the endpoint may have charged for it."""
        import aiohttp

        settings = self._settings
        whole = _WHOLE * settings.timeout
        try:
            async with self._http.post(settings.endpoint + request.path, data=encoded(request.body)) as response:
                raw = await read_whole(response)
                raw = None if raw is None else masked(raw, settings.secrets)
                status, headers = response.status, response.headers
                turned = next((each for each in response.history if each.status not in (307, 308)), None)
        except TimeoutError as error:
            waited = isinstance(error, aiohttp.ServerTimeoutError)
            said = f"no answer within {settings.timeout:g} s" if waited else f"no whole answer within {whole:g} s"
            return Answer(reason="timeout", detail=said), None, True
        except (aiohttp.ClientError, OSError) as error:
            # Without a connection nothing was sent; after any other error, an endpoint may have answered, and charged.
            sent = not isinstance(error, aiohttp.ClientConnectorError)
            said = (
                type(error).__name__
                if isinstance(error, aiohttp.ClientResponseError)
                else one_line(error, settings.secrets)
            )
            return Answer(reason="connection", detail=said), None, sent
        if turned is not None:  # the request became a GET, whose answer is none to it
            place = turned.headers.get("Location", "nowhere")
            said = f"the request is sent on to {place}, without its body: give that address"
            return self._refused(turned.status, said, None), None, False
        if raw is None:
            return too_large(), None, True
        if status != HTTPStatus.OK:
            return self._refused(status, *said_by(raw)), retry_after(headers), status >= 500
        body, fault = read_body(raw)
        if body is not None and check is not None:
            fault = check(request.body, body) or ""
        if fault or body is None:
            return Answer(reason="bad_body", detail=one_line(fault, settings.secrets)), None, True
        return Answer(body), None, True

    def _refused(self, status: int, said: str, code: object) -> Answer:
        settings = self._settings
        return refused(
            status,
            one_line(said, settings.secrets),
            code,
            endpoint=settings.endpoint,
            key_variable=settings.key_variable,
        )


Job = Callable[[Session], Awaitable[Result]]


def answer_from(answers: Answers, origins: Origins, request: Request, check: Check | None) -> Answer | None:
    """Returns the stored answer to a request, or None.

    Args:
        answers: The store.
        origins: Counts the answer.
        request: The whole request.
        check: Says what is wrong with an answer, which is then none; None for no check.
    """
    stored = answers.get(request)
    if stored is None or (check is not None and check(request.body, stored.response)):
        return None
    origins.add(request.body.get("model"), stored)
    return Answer(stored.response)
