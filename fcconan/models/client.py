"""A client for OpenAI-compatible endpoints: an answer or a reason for each request; no answer is paid for twice."""

import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.data import OPENAI_URL, endpoint_address, proxy_for
from fcconan.errors import InputError
from fcconan.models.answers.origins import Origins
from fcconan.models.answers.store import AnswerStore
from fcconan.models.budget import Budget
from fcconan.models.jobs import Check, Job, KnownResult, Result
from fcconan.models.requests import Request
from fcconan.models.responses import EndpointError, EndpointResponse
from fcconan.models.session import Session
from fcconan.models.transport import Transport

__all__ = ["OPENAI_URL", "Client", "EndpointError", "EndpointResponse"]

_AHEAD = 8  # started jobs per concurrent request, so that a slow answer does not block the others


class Client:
    """Sends requests to an OpenAI-compatible endpoint and stores their answers.

    Requests that fail with status 3xx, 408, 409, 429 or 5xx, a timeout, a broken connection or an invalid body are sent
    again. Failures are not stored.

    Args:
        journal: File of the answers (see `AnswerStore`), or the open store.
        base_url: Address of the endpoint, with its `/v1`; by default OPENAI_BASE_URL, then OpenAI.
        api_key_variable: Environment variable of the key.
        timeout: Seconds without data after which a request fails. The whole answer may take ten times as long.
        retries: Number of repetitions of a failed request.
        concurrency: Number of concurrent requests.
        backoff: Seconds before the first repetition, doubled for each further one. `Retry-After` takes precedence and
            delays all requests.
        requests_per_minute: Maximum number of requests in a minute, evenly spread; None for no limit.
        budget: Counter of tokens and limit of cost.
        progress: Function of the number of results so far, called after each result.

    Attributes:
        endpoint: Address without user and password, for configurations and messages.
        answers: Store of answers.
        origins: Origins of the answers of this run.
        budget: Counter of tokens and limit of cost.
        sent: Number of requests sent so far, including repetitions.
        timeout: Timeout in seconds.
        retries: Number of repetitions of a failed request.
        concurrency: Number of concurrent requests.
        backoff: Seconds before the first repetition.
        gap: Seconds between two requests.
    """

    def __init__(
        self,
        *,
        journal: Path | AnswerStore,
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
        self.answers = journal if isinstance(journal, AnswerStore) else AnswerStore(journal)
        self.origins = Origins()
        self.sent = 0
        self._key_variable = api_key_variable
        self.timeout, self.retries, self.concurrency, self.backoff = timeout, retries, concurrency, backoff
        self.gap = 60 / requests_per_minute if requests_per_minute else 0.0
        self.budget = budget
        self._progress, self._results = progress, 0

    def send_all(
        self, path: str, bodies: Sequence[Mapping[str, Any]], *, sample: int = 0, check: Check | None = None
    ) -> list[EndpointResponse]:
        """Answers requests from the store and sends the others, each distinct one once.

        Args:
            path: Path below the address, such as `/chat/completions`.
            bodies: JSON objects to send.
            sample: Number of the repetition; at a temperature above 0, repetitions are different requests.
            check: Function of a request and its response that returns the error in the response's shape, or None. An
                invalid response is not stored, and its request is sent again.

        Returns:
            One answer for each body, in order.

        Raises:
            EndpointError: The status is 401, 402, 403, 404 or 405, or the quota is exhausted.
            InputError: A request must be sent, and the key is unusable or the extra is not installed.
        """
        requests = [self.request(path, body, sample=sample) for body in bodies]
        distinct = {request.key: request for request in requests}

        def work(request: Request) -> KnownResult[EndpointResponse] | Job[EndpointResponse]:
            known = self.known(request, check)
            return KnownResult(known) if known is not None else lambda sender: sender.send(request, check)

        answers = dict(zip(distinct, self.run(work(request) for request in distinct.values()), strict=True))
        return [answers[request.key] for request in requests]

    def request(self, path: str, body: Mapping[str, Any], *, sample: int = 0) -> Request:
        """Returns the request for a body."""
        return Request({"endpoint": self.endpoint, "path": path, "body": body, "sample": sample})

    def known(self, request: Request, check: Check | None = None) -> EndpointResponse | None:
        """Returns the stored answer to a request, or None; sends no request."""
        stored = self.answers.get(request)
        if stored is None or (check is not None and check(request.body, stored.response)):
            return None
        self.origins.add(request.body.get("model"), stored)
        return EndpointResponse(stored.response)

    def run(self, jobs: Iterable[KnownResult[Result] | Job[Result]]) -> Generator[Result, None, None]:
        """Runs jobs, many at a time, and yields their results in the order of the jobs.

        Jobs are read lazily, so their number is not limited. The connection opens with the first job that is not
        `KnownResult`; before it, no key is necessary. To stop early, close the generator; earlier answers are stored.

        Raises:
            EndpointError: As in `send_all`.
            InputError: As in `send_all`, or the limit of cost is reached.
        """
        rest, has_more = iter(jobs), True
        results: dict[int, Result] = {}  # finished results that are not yielded yet
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
                if isinstance(job, KnownResult):
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
        # Users may give the key itself by mistake, which must not be printed.
        is_name = re.fullmatch(r"[A-Z_][A-Z0-9_]*", self._key_variable)
        variable = self._key_variable if is_name else "the environment variable that --api-key-variable names"
        if not key:
            raise InputError(f"no key for {self.endpoint}: set {variable} (to any word, if the endpoint needs none)")
        if not (key.isascii() and key.isprintable()):  # the HTTP library would print it in an error
            raise InputError(
                f"{variable} has characters that are invalid in a key, such as a line break: set it to the key only"
            )
        try:
            import aiohttp  # noqa: F401
        except ImportError as error:
            raise InputError("models behind an endpoint need the extra: `pip install 'fcconan[llm]'`") from error
        self.answers.prepare()
        address = self._address
        authorization, secrets = address.authorization or f"Bearer {key}", (key, *address.secrets)
        return Session(self, Transport(self.endpoint, authorization, secrets, variable, self.timeout))
