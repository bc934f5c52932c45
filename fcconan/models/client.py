"""A client for any OpenAI-compatible endpoint: an answer or a reason for every request, and none is paid for
twice.
"""

import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.data import OPENAI_URL, endpoint_address, proxy_for
from fcconan.errors import InputError
from fcconan.models.answers.origins import Origins
from fcconan.models.answers.store import Answers
from fcconan.models.budget import Budget
from fcconan.models.jobs import Check, Job, Known, Result
from fcconan.models.requests import Request
from fcconan.models.responses import Answer, EndpointError
from fcconan.models.session import Session
from fcconan.models.transport import Transport

__all__ = ["OPENAI_URL", "Answer", "Client", "EndpointError"]

_AHEAD = 8  # jobs that are begun for every one that may run, so that one slow answer does not hold up the others


class Client:
    """Sends requests to an OpenAI-compatible endpoint and keeps their answers.

    Requests that hit 3xx, 408, 409, 429, 5xx, a timeout, a broken connection or an unusable body are sent again. Only
    answers are kept, never failures.

    Args:
        journal: The file that holds the answers (see `Answers`), or the opened store.
        base_url: Where the endpoint is, with its `/v1`; by default OPENAI_BASE_URL, then OpenAI.
        api_key_variable: The environment variable that holds the key.
        timeout: Seconds without a sign of the endpoint after which a request has failed. A request whose answer goes on
            and on has failed after ten times as long.
        retries: How many times a failed request is sent again.
        concurrency: How many requests run at the same time.
        backoff: Seconds before the first repetition, doubled for every further one. `Retry-After` goes before it, and
            holds back all requests.
        requests_per_minute: The most that are sent in a minute, evenly spread; None for no limit.
        budget: Counts what chat completions use, and keeps their cost at or below a limit.
        progress: Receives the number of results so far, after each one.

    Attributes:
        endpoint: The address without user and password, for configurations and messages.
        answers: The store of answers.
        origins: Where the answers of this run came from.
        budget: The given one.
        sent: Requests that were sent so far, repetitions among them.
        timeout: The given one; so are `retries`, `concurrency` and `backoff`.
        gap: Seconds between two requests.
    """

    def __init__(
        self,
        *,
        journal: Path | Answers,
        base_url: str | None = None,
        api_key_variable: str = "OPENAI_API_KEY",
        timeout: float = 60,
        retries: int = 4,
        concurrency: int = 4,
        backoff: float = 1.0,
        requests_per_minute: float | None = None,
        budget: Budget | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> None:
        self._address = endpoint_address(base_url)
        self.endpoint = self._address.url
        proxy_for(self.endpoint)  # refuses a wrong proxy before anything is written
        self.answers = journal if isinstance(journal, Answers) else Answers(journal)
        self.origins = Origins()
        self.sent = 0
        self._key_variable = api_key_variable
        self.timeout, self.retries, self.concurrency, self.backoff = timeout, retries, concurrency, backoff
        self.gap = 60 / requests_per_minute if requests_per_minute else 0.0
        self.budget = budget
        self._progress, self._results = progress, 0

    def send_all(
        self, path: str, bodies: Sequence[Mapping[str, Any]], *, sample: int = 0, check: Check | None = None
    ) -> list[Answer]:
        """Answers requests from the store and sends the others, each distinct one once.

        Args:
            path: Where they go, such as `/chat/completions`.
            bodies: The JSON objects to send.
            sample: Tells repetitions of one request apart, which at a temperature above 0 are requests of their own.
            check: Called with a request and its response; returns the fault of the response's shape, or None. A faulty
                response is not stored, and its request is sent again.

        Returns:
            One answer for every body, in their order.

        Raises:
            EndpointError: The endpoint answered 401, 402, 403, 404 or 405, or says that the quota is spent.
            InputError: There is no usable key, or the extra is not installed, and a request must be sent.
        """
        requests = [self.request(path, body, sample=sample) for body in bodies]
        distinct = {request.key: request for request in requests}

        def work(request: Request) -> Known[Answer] | Job[Answer]:
            known = self.known(request, check)
            return Known(known) if known is not None else lambda sender: sender.send(request, check)

        answers = dict(zip(distinct, self.run(work(request) for request in distinct.values()), strict=True))
        return [answers[request.key] for request in requests]

    def request(self, path: str, body: Mapping[str, Any], *, sample: int = 0) -> Request:
        """Returns the request that a body becomes."""
        return Request({"endpoint": self.endpoint, "path": path, "body": body, "sample": sample})

    def known(self, request: Request, check: Check | None = None) -> Answer | None:
        """Returns the answer that `send_all` would take from the store, or None; sends nothing."""
        stored = self.answers.get(request)
        if stored is None or (check is not None and check(request.body, stored.response)):
            return None
        self.origins.add(request.body.get("model"), stored)
        return Answer(stored.response)

    def run(self, jobs: Iterable[Known[Result] | Job[Result]]) -> Generator[Result, None, None]:
        """Runs jobs, many at a time, and yields their results in the order of the jobs.

        Jobs are read as they are needed, so that there may be any number of them. Nothing is connected, and no key is
        needed, until one is not `Known`. Who stops early closes the generator: what was answered until then is kept.

        Raises:
            EndpointError: As in `send_all`.
            InputError: As in `send_all`, or the limit of cost is reached.
        """
        rest, has_more = iter(jobs), True
        results: dict[int, Result] = {}  # those that wait for their turn
        begun = yielded = 0
        session: Session | None = None
        try:
            while has_more or yielded < begun:
                wait = not has_more or begun - yielded >= _AHEAD * self.concurrency
                if session is not None and yielded < begun:
                    session.collect(results, yielded, wait=wait)
                if yielded in results:
                    yield self._counted(results.pop(yielded))
                    yielded += 1
                    continue
                job = next(rest, None)
                has_more = job is not None
                if isinstance(job, Known):
                    results[begun] = job.result
                elif job is not None:
                    session = session or self._session()
                    session.begin(begun, job)
                begun += has_more
        finally:
            if session is not None:
                session.close()
                self.sent += session.sent

    def _counted(self, result: Result) -> Result:
        self._results += 1
        if self._progress is not None:
            self._progress(self._results)
        return result

    def _session(self) -> Session:
        key = os.environ.get(self._key_variable, "").strip()  # files of keys end with a line break
        # Who mistakes the option gives the key itself.
        is_name = re.fullmatch(r"[A-Z_][A-Z0-9_]*", self._key_variable)
        variable = self._key_variable if is_name else "the environment variable that --api-key-variable names"
        if not key:
            raise InputError(f"no key for {self.endpoint}: set {variable} (to any word, if the endpoint needs none)")
        if not (key.isascii() and key.isprintable()):  # the connection would refuse it, and print it
            raise InputError(
                f"{variable} holds characters that no key has, such as a line break: set it to the key alone"
            )
        try:
            import aiohttp  # noqa: F401
        except ImportError as error:
            raise InputError("models behind an endpoint need the extra: `pip install 'fcconan[llm]'`") from error
        self.answers.prepare()
        address = self._address
        authorization, secrets = address.authorization or f"Bearer {key}", (key, *address.secrets)
        return Session(self, Transport(self.endpoint, authorization, secrets, variable, self.timeout))
