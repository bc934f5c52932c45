"""A client for any OpenAI-compatible endpoint: an answer or a reason for every request, and none is paid for
twice.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from fcconan.errors import InputError
from fcconan.llm.journal import Journal, request_key

OPENAI_URL = "https://api.openai.com/v1"
Body = Mapping[str, Any]
Check = Callable[[Body, Body], str | None]
Reason = Literal["bad_request", "rate_limited", "server_error", "timeout", "connection", "bad_body"]

_SHORTEST_KEY = 8  # a shorter one is a word that stands for none, and may occur in what an endpoint says
_LONGEST_WAIT = 120.0  # seconds; who is told to wait longer is out of quota, and waiting would not end
_STOPPING = {
    401: "check the key in {key}",
    402: "check the account's credit",
    403: "check that the key in {key} may use this model",
    404: "check the address and the model's name",
}


class EndpointError(InputError):
    """The endpoint refuses every request, so that a system cannot go on."""


@dataclass(frozen=True)
class Answer:
    """What came of one request.

    Attributes:
        body: The JSON object that the endpoint answered; None where there is none.
        reason: Why there is none.
        detail: What the endpoint or the connection said, for people. Never to be parsed for an answer.
    """

    body: dict[str, Any] | None = None
    reason: Reason | None = None
    detail: str = ""


class Client:
    """Sends requests to an OpenAI-compatible endpoint and keeps their answers.

    Requests that hit 408, 409, 429, 5xx, a timeout, a broken connection or an unusable body are sent again. Only
    answers are kept, never failures.

    Args:
        journal: The file that keeps the answers.
        base_url: Where the endpoint is, with its `/v1`; by default OPENAI_BASE_URL, then OpenAI.
        api_key_variable: The environment variable that holds the key.
        timeout: Seconds without a sign of the endpoint after which a request has failed.
        retries: How many times a failed request is sent again.
        concurrency: How many requests run at the same time.
        backoff: Seconds before the first repetition, doubled for every further one. `Retry-After` goes before it.

    Attributes:
        endpoint: The address without user and password, for configurations and messages.
    """

    def __init__(
        self,
        *,
        journal: Path,
        base_url: str | None = None,
        api_key_variable: str = "OPENAI_API_KEY",
        timeout: float = 60,
        retries: int = 4,
        concurrency: int = 4,
        backoff: float = 1.0,
    ) -> None:
        for name, number, least in (("timeout", timeout, 0), ("retries", retries, -1), ("concurrency", concurrency, 0)):
            if number <= least:
                raise InputError(f"{name} is {number}: give a number above {least}")
        self._base_url = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).rstrip("/")
        self.endpoint = _without_secrets(self._base_url)
        self.journal = Journal(journal)
        self._key_variable = api_key_variable
        self._timeout, self._retries, self._concurrency, self._backoff = timeout, retries, concurrency, backoff

    def send_all(
        self, path: str, bodies: Sequence[Body], *, sample: int = 0, check: Check | None = None
    ) -> list[Answer]:
        """Answers requests from the journal and sends the others, each distinct one once.

        Args:
            path: Where they go, such as `/chat/completions`.
            bodies: The JSON objects to send.
            sample: Tells repetitions of one request apart, which at a temperature above 0 are requests of their own.
            check: Called with a request and its response; returns what is wrong with the response's shape, or None.
                What is wrong is not kept and is asked again.

        Returns:
            One answer for every body, in their order.

        Raises:
            EndpointError: The endpoint answered 401, 402, 403 or 404, or says that the quota is spent.
            InputError: There is no usable key, or the extra is not installed, and a request must be sent.
        """
        requests = [self._request(path, body, sample) for body in bodies]
        keys = [request_key(request) for request in requests]
        answers: dict[str, Answer] = {}
        missing: dict[str, dict[str, Any]] = {}
        for key, request in zip(keys, requests, strict=True):
            if key in answers or key in missing:
                continue
            known = self._kept(request, check)
            if known is None:
                missing[key] = request
            else:
                answers[key] = known
        if missing:
            answers |= self._send_missing(missing, check)
        return [answers[key] for key in keys]

    def known(self, path: str, body: Body, *, sample: int = 0, check: Check | None = None) -> Answer | None:
        """Returns the answer that `send_all` would take from the journal, or None; sends nothing."""
        return self._kept(self._request(path, body, sample), check)

    def _request(self, path: str, body: Body, sample: int) -> dict[str, Any]:
        return {"endpoint": self.endpoint, "path": path, "body": body, "sample": sample}

    def _kept(self, request: Mapping[str, Any], check: Check | None) -> Answer | None:
        response = self.journal.get(request)
        if response is None or (check is not None and check(request["body"], response)):
            return None
        return Answer(response)

    def _send_missing(self, missing: Mapping[str, dict[str, Any]], check: Check | None) -> dict[str, Answer]:
        stop = threading.Event()
        answers = {}
        with self._connected() as sdk, ThreadPoolExecutor(self._concurrency) as pool:
            running = {pool.submit(self._finish, sdk, each, check, stop): key for key, each in missing.items()}
            try:
                for future in as_completed(running):
                    answers[running[future]] = future.result()
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return answers

    def _connected(self) -> Any:
        key = os.environ.get(self._key_variable, "").strip()  # files of keys end with a line break
        if not key:
            raise InputError(
                f"no key for {self.endpoint}: set {self._key_variable} (to any word, if the endpoint needs none)"
            )
        if not (key.isascii() and key.isprintable()):  # the connection would refuse it, and print it
            raise InputError(
                f"{self._key_variable} holds characters that no key has, such as a line break: set it to the key alone"
            )
        try:
            import openai
        except ImportError as error:
            raise InputError("systems behind an endpoint need the extra: `pip install 'fcconan[llm]'`") from error
        # The repetitions are our own: the SDK does not repeat a body that is cut or is no JSON.
        return openai.OpenAI(api_key=key, base_url=self._base_url, timeout=self._timeout, max_retries=0)

    def _finish(self, sdk: Any, request: dict[str, Any], check: Check | None, stop: threading.Event) -> Answer:
        for attempt in range(self._retries + 1):
            answer, retry_after = self._send(sdk, request, check)
            if answer.body is not None:
                self.journal.put(request, answer.body)
                return answer
            wait = self._backoff * 2**attempt if retry_after is None else retry_after
            if answer.reason == "bad_request" or wait > _LONGEST_WAIT or attempt == self._retries or stop.wait(wait):
                break
        return answer

    def _send(self, sdk: Any, request: dict[str, Any], check: Check | None) -> tuple[Answer, float | None]:
        """Sends a request once; returns what came of it and how long the endpoint wants us to wait."""
        import openai

        try:
            text = sdk.post(request["path"], cast_to=str, body=dict(request["body"]))
        except openai.APIStatusError as error:
            return self._refused(error, sdk.api_key), _retry_after(error.response.headers)
        except openai.APITimeoutError:
            return Answer(reason="timeout", detail=f"no answer within {self._timeout} s"), None
        except openai.APIConnectionError as error:
            return Answer(reason="connection", detail=_line(error.__cause__ or error, sdk.api_key)), None
        except (openai.OpenAIError, ValueError) as error:  # a body that is not what its headers say
            return Answer(reason="bad_body", detail=_line(error, sdk.api_key)), None
        body, fault = _read(text)
        if body is not None and check is not None:
            fault = check(request["body"], body) or ""
        if fault or body is None:
            return Answer(reason="bad_body", detail=_line(fault, sdk.api_key)), None
        return Answer(body), None

    def _refused(self, error: Any, key: str) -> Answer:
        status, said = int(error.status_code), _line(error, key)
        advice = _STOPPING.get(status)
        if status == 429 and getattr(error, "code", None) == "insufficient_quota":
            advice = "check the account's credit"
        if advice is not None:
            raise EndpointError(
                f"{self.endpoint} answered {status} ({said}): {advice.format(key=self._key_variable)}"
            ) from error
        if status == 429:
            return Answer(reason="rate_limited", detail=said)
        if status >= 500 or status in (408, 409):
            return Answer(reason="server_error", detail=said)
        return Answer(reason="bad_request", detail=said)


def _read(text: Any) -> tuple[dict[str, Any] | None, str]:
    try:
        body = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        return None, f"the body is no JSON ({_line(error)})"
    if not isinstance(body, dict):
        return None, "the body is no JSON object"
    if body.get("error"):  # some gateways send their errors with status 200
        return None, f"the body is an error ({body['error']})"
    return body, ""


def _retry_after(headers: Any) -> float | None:
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None  # not for "nan"


def _line(said: object, key: str = "") -> str:
    """One line, without the key: some endpoints repeat it."""
    text = " ".join(str(said).split())
    return (text.replace(key, "***") if len(key) >= _SHORTEST_KEY else text)[:300] or type(said).__name__


def _without_secrets(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{url!r} is no address: give one such as {OPENAI_URL}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{url!r} is no address: give one such as {OPENAI_URL}")
    if parts.query or parts.fragment:  # it may hold a key, and the journal must tell addresses apart without it
        raise InputError(f"the address of {parts.hostname} has a `?` or `#`: give one such as {OPENAI_URL}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return urlunsplit((parts.scheme, host if port is None else f"{host}:{port}", parts.path, "", ""))
