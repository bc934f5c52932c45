"""Models behind OpenAI-compatible endpoints: concurrent requests, whose answers are stored before they count."""

import os
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import cached_property, partial
from time import monotonic, time
from typing import Any, NamedTuple

from fcconan.data import one_line, read_yaml, without_secrets
from fcconan.errors import InputError
from fcconan.groups import Endpoint
from fcconan.models.requests import PASSING_REASONS, ChatRequest, ChatResponse, FailureReason, read_reply
from fcconan.models.store import Answers, from_json, to_json

OPENAI_URL = "https://api.openai.com/v1"
_CHAT, _EMBEDDINGS = "/chat/completions", "/embeddings"
PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before each repetition of a failed request
_LONGEST_PAUSE = 120.0  # seconds; an endpoint that asks for more has no quota left
_AHEAD = 8  # requests for each one in flight that are prepared, so that a slow answer does not hold up the others
_MOST_IN_A_ROW = 20  # equal failures, after which others would fail, too
# Fields that a server may refuse, and words of its message that mean them.
_OPTIONAL = {
    "response_format": "response_format|json_schema|structured output",
    "top_logprobs": "(?:top_)?logprobs",
    "logprobs": "(?:top_)?logprobs",
    "top_k": "top_k",
    "seed": "seed",
    "stop": "stop",
    "top_p": "top_p",
    "temperature": "temperature",
}
_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size)|too (?:long|many tokens)|maximum.{0,20}tokens", re.IGNORECASE
)
_NO_MODEL = re.compile(r"\bmodel\b.*(?:not.(?:exist|found|available|supported)|unknown|invalid)", re.IGNORECASE)
_ADVICE = {
    401: "check the key in OPENAI_API_KEY",
    402: "check the credit of the account",
    403: "check that the key in OPENAI_API_KEY may use this model",
    404: "check the address and the name of the model",
    405: "check the address",
}


# Function of a request and its response that raises ValueError if the response has another form.
Check = Callable[[Mapping[str, Any], Any], object]


class EndpointError(InputError):
    """The endpoint refuses all requests, or the limit of cost is reached."""


class Outcome(NamedTuple):
    """The body of a response, or why there is none."""

    body: dict[str, Any] | None = None
    reason: FailureReason | None = None
    detail: str = ""


class EndpointModel:
    """A model of an endpoint.

    A request that fails by a timeout, a broken connection, status 408, 409, 429 or 5xx, or an unreadable body is
    repeated after 1, 2, 4 and 8 s, or as `Retry-After` states. A field that the server refuses is left out of this and
    all later requests of the run, with a note. Status 3xx, 401, 402, 403, 405, an unknown model, and 20 equal failures
    in a row at the beginning, or of the endpoint, end the run.

    Args:
        name: Name of the model at the endpoint.
        endpoint: Address, limits and prices.
        answers: Store of answers.

    Attributes:
        name: Name of the model at the endpoint.
        identity: Endpoint and model.
        price: Cost of a million tokens of prompts and of answers; None if it is unknown.
        used: Numbers of requests, stored answers and tokens of this run.
        reported: Names of models in the answers.

    Raises:
        InputError: The address is not valid, there is no key, or no price for a limit of cost.
    """

    def __init__(self, name: str, endpoint: Endpoint, answers: Answers) -> None:
        self.name, self.answers, self._endpoint = name, answers, endpoint
        self._url = (endpoint.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).strip().rstrip("/")
        if not self._url.startswith(("http://", "https://")):
            raise InputError(f"found no http:// or https:// in --base-url: give an address such as {OPENAI_URL}")
        self._shown = without_secrets(self._url).replace("***@", "")
        self.identity: dict[str, Any] = {"endpoint": self._shown, "model": name}
        if not endpoint.structured_output:
            self.identity["form"] = "no-structured-output"
        self.used, self.reported, self._failures = Counter[str](), dict[str, None](), Counter[str]()
        self.price = load_price(endpoint, name)
        self._left_out: dict[str, str] = {} if endpoint.structured_output else {"response_format": ""}
        self._newer_limit = False  # whether the endpoint requires `max_completion_tokens`
        self._in_a_row, self._not_before = Counter[str](), 0.0
        self._lock, self._is_over = threading.Lock(), threading.Event()

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Yields one answer for each request, in order; many requests are in flight at a time.

        Raises:
            EndpointError: The endpoint refuses all requests, or the limit of cost is reached.
        """
        from tqdm import tqdm

        stops = deque[tuple[str, ...]]()

        def wholes() -> Iterator[dict[str, Any]]:
            for call in calls:
                stops.append(call.sampling.stop)
                yield self._whole(call)

        total = len(calls) if isinstance(calls, Sized) else None
        outcomes = self._send(wholes(), lambda _, found: read_reply(found))
        for outcome in tqdm(outcomes, total=total, desc=self.name, disable=None, leave=False):
            stop = stops.popleft()
            if outcome.body is None:
                yield ChatResponse(reason=outcome.reason, detail=outcome.detail)
            else:
                yield read_reply(outcome.body, stop)

    def embeddings(self, bodies: Iterable[Mapping[str, Any]], check: Check) -> list[Outcome]:
        """Sends requests for embeddings.

        Args:
            bodies: JSON objects, each with `model` and `input`.
            check: Function of a request and its response that raises ValueError if it has another form.

        Raises:
            EndpointError: As `replies`.
        """
        return [*self._send(({**self.identity, "path": _EMBEDDINGS, "body": body} for body in bodies), check)]

    def is_known(self, call: ChatRequest) -> bool:
        """Returns whether the answer to a request is stored."""
        return self.answers.get(self._whole(call)) is not None

    def body(self, call: ChatRequest) -> dict[str, Any]:
        """Returns the JSON object of a request, with all fields."""
        sampling = vars(call.sampling)
        fields = {name: sampling[name] for name in ("temperature", "max_tokens", "top_p", "top_k", "seed")}
        fields["stop"] = list(call.sampling.stop) or None
        if call.sampling.top_logprobs:
            fields |= {"logprobs": True, "top_logprobs": call.sampling.top_logprobs}
        if call.schema is not None:
            schema = {name: each for name, each in call.schema.items() if name != "title"}
            wanted = {"name": call.schema.get("title", "answer"), "strict": True, "schema": schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": wanted}
        given = {name: each for name, each in fields.items() if each is not None}
        return {"model": self.name, **given, "messages": call.messages}

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about refused fields and failed requests of this run."""
        found = [
            f"{self.name} refuses {name}, so it was left out ({said})" for name, said in self._left_out.items() if said
        ]
        if self._failures:
            reasons = ", ".join(f"{reason} {n}" for reason, n in self._failures.most_common())
            found.append(f"requests to {self.name} without an answer: {reasons}; the same command asks them again")
        return tuple(found)

    def cost(self) -> float | None:
        """Returns the cost of this run; None without prices."""
        if self.price is None:
            return None
        return (self.used["prompt_tokens"] * self.price[0] + self.used["completion_tokens"] * self.price[1]) / 1e6

    def _whole(self, call: ChatRequest) -> dict[str, Any]:
        """Returns all inputs of an answer. Fields that a server refuses are among them, so that they change no key."""
        body = self.body(call)
        if not self._endpoint.structured_output:
            body.pop("response_format", None)
        return {**self.identity, "path": _CHAT, "body": body, "sample": call.sample}

    def _send(self, wholes: Iterable[Mapping[str, Any]], check: Check) -> Iterator[Outcome]:
        """Yields stored answers and those of the endpoint, in order. Equal requests in flight are sent once."""
        waiting, flying = deque[Outcome | Future[Outcome]](), dict[bytes, Future[Outcome]]()
        self._is_over.clear()
        errors: list[BaseException] = []

        def landed(key: bytes, sent: Future[Outcome]) -> None:
            flying.pop(key, None)
            if not sent.cancelled() and (error := sent.exception()) is not None:
                errors.append(error)
                self._is_over.set()

        pool = ThreadPoolExecutor(self._endpoint.concurrency)
        try:
            for whole in wholes:
                key = to_json(whole)
                if (sent := flying.get(key)) is not None:
                    waiting.append(sent)
                elif (stored := self.answers.get(whole)) is not None:
                    self._count(stored, "stored")
                    waiting.append(Outcome(stored))
                else:
                    flying[key] = sent = pool.submit(self._ask, whole, check)
                    sent.add_done_callback(partial(landed, key))
                    waiting.append(sent)
                while waiting and (
                    len(waiting) > _AHEAD * self._endpoint.concurrency
                    or isinstance(waiting[0], Outcome)
                    or waiting[0].done()
                ):
                    yield self._counted(waiting.popleft(), errors)
            while waiting:
                yield self._counted(waiting.popleft(), errors)
        finally:
            # Requests in flight end, and their answers are stored; others are not sent.
            self._is_over.set()
            pool.shutdown(cancel_futures=True)
            if (client := self.__dict__.pop("_client", None)) is not None:
                client.close()  # a server may keep connections open

    def _counted(self, sent: Outcome | Future[Outcome], errors: list[BaseException]) -> Outcome:
        outcome = sent.result() if isinstance(sent, Future) else sent
        if errors:
            raise errors[0]
        if outcome.reason is not None:
            self._failures[outcome.reason] += 1
            self._in_a_row[outcome.reason] += 1
            failed, is_new = self._in_a_row[outcome.reason], not self.used["requests"]
            most = 1 if is_new and outcome.reason == "connection" else _MOST_IN_A_ROW
            if failed >= most and (is_new or outcome.reason in PASSING_REASONS):
                raise EndpointError(
                    f"{self._shown} answered none of {failed} requests ({outcome.reason}: {outcome.detail}): "
                    "check its address, the model and whether the server runs; answers so far are stored"
                )
        return outcome

    def _count(self, body: Mapping[str, Any], kind: str) -> None:
        usage = body.get("usage") or {}
        if self._endpoint.max_cost is not None and not usage.get("prompt_tokens"):
            raise EndpointError(f"{self._shown} counts no tokens, which --max-cost needs: leave it out")
        with self._lock:
            self._in_a_row.clear()
            self.used[kind] += 1
            if body.get("model"):
                self.reported[str(body["model"])] = None
            for name in ("prompt_tokens", "completion_tokens") if kind == "requests" else ():
                self.used[name] += usage.get(name) or 0

    # In the threads

    def _ask(self, whole: Mapping[str, Any], check: Check) -> Outcome:
        """Sends a request until it is answered, refused, or out of repetitions, and stores the answer."""
        limit, cost = self._endpoint.max_cost, self.cost()
        if limit is not None and cost is not None and cost >= limit:
            raise EndpointError(
                f"the limit of cost is reached: {cost:.4f} of {limit:g} is spent, and all answers are stored: raise "
                "--max-cost and run again to continue"
            )
        outcome = Outcome(reason="connection", detail="the run ended")
        for pause in (*PAUSES, None):
            while (rest := self._not_before - monotonic()) > 0 and not self._is_over.wait(rest):
                pass
            if self._is_over.is_set():
                break
            outcome, wanted = self._attempt(whole, check)
            if outcome.body is not None:
                self.answers.put(whole, outcome.body)
                self._count(outcome.body, "requests")
                break
            if outcome.reason in ("bad_request", "too_long") or pause is None or (wanted or 0) > _LONGEST_PAUSE:
                break
            if wanted is not None:
                self._not_before = max(self._not_before, monotonic() + wanted)
            self._is_over.wait(pause if wanted is None else wanted)
        return outcome

    def _attempt(self, whole: Mapping[str, Any], check: Check) -> tuple[Outcome, float | None]:
        """Sends a request once, or in other forms until the server takes one; returns also the wanted pause."""
        client = self._client
        import openai

        tried: dict[str, str] = {}  # refused fields
        while True:
            body = {name: each for name, each in whole["body"].items() if name not in {**self._left_out, **tried}}
            if self._newer_limit and "max_tokens" in body:
                body["max_completion_tokens"] = body.pop("max_tokens")
            try:
                found = client.post(whole["path"], cast_to=object, body=body)
                found = from_json(found) if isinstance(found, str) else found  # a server that names no type of content
                check(whole["body"], found)
            except ValueError as error:  # also of JSON
                return Outcome(reason="bad_body", detail=one_line(error)), None
            except openai.APITimeoutError:
                return Outcome(reason="timeout", detail=f"no answer within {self._endpoint.timeout:g} s"), None
            except openai.APIConnectionError as error:
                return Outcome(reason="connection", detail=one_line(error.__cause__ or error)), None
            except openai.APIStatusError as error:
                message, code = error.response.text, None
                with suppress(ValueError, KeyError, TypeError, AttributeError):  # not in OpenAI's shape
                    said = from_json(message)["error"]
                    message, code = said["message"], said.get("code")
                message = one_line(message[:1000], 500)
                if (
                    not self._newer_limit
                    and "max_completion_tokens" in message
                    and re.search(r"\bmax_tokens\b", message)
                ):
                    self._newer_limit = True
                    continue
                refused = self._refused(error.status_code, message, body)
                if refused is not None:
                    tried |= dict.fromkeys(refused, f"status {error.status_code}: {message:.120}")
                    continue
                return self._failure(error, message, code)
            self._left_out |= tried
            return Outcome(found), None

    def _refused(self, status: int, message: str, body: Mapping[str, Any]) -> list[str] | None:
        """Returns the fields of a request that an error refuses, if it may be that."""
        if status not in (400, 404, 415, 422, 500) or _TOO_LONG.search(message):
            return None
        # A passing fault has status 500, too, and may name anything but the schema of an answer.
        known = {
            name: words for name, words in _OPTIONAL.items() if name in body and (status != 500 or "json" in words)
        }
        named = [name for name, words in known.items() if re.search(rf"\b(?:{words})\b", message, re.IGNORECASE)]
        if named:
            return [name for name in named if _OPTIONAL[name] == _OPTIONAL[named[0]]]
        # A server that names no field and has answered nothing yet may refuse any.
        may_be_any = status in (400, 415, 422) and not self.used["requests"] and not _NO_MODEL.search(message)
        return next(([name] for name in _OPTIONAL if name in body), None) if may_be_any else None

    def _failure(self, error: Any, message: str, code: object) -> tuple[Outcome, float | None]:
        status = error.status_code
        advice = _ADVICE.get(status)
        if 300 <= status < 400:
            message, advice = f"moved to {error.response.headers.get('Location')}", "give the new address"
        elif code == "insufficient_quota":
            advice = _ADVICE[402]
        elif status == 400 and (code == "model_not_found" or _NO_MODEL.search(message)):
            advice = _ADVICE[404]
        if advice is not None:
            raise EndpointError(f"{self._shown} answered {status} ({one_line(message)}): {advice}")
        said = f"status {status}: {message}"
        if status == 429:
            return Outcome(reason="rate_limited", detail=said), _retry_after(error.response.headers)
        if status >= 500 or status in (408, 409):
            return Outcome(reason="server_error", detail=said), _retry_after(error.response.headers)
        return Outcome(reason="too_long" if _TOO_LONG.search(message) else "bad_request", detail=said), None

    @cached_property
    def _client(self) -> Any:
        try:
            import openai
        except ImportError as error:
            raise InputError("endpoints need the extra: `pip install -e '.[llm]'` in the clone") from error
        key = os.environ.get("OPENAI_API_KEY", "").strip()  # files of keys end with a line break
        if not key and self._url == OPENAI_URL:
            raise InputError(f"found no key for {OPENAI_URL}: set OPENAI_API_KEY, or give --base-url")
        # The client would follow redirects with the texts, and repeat a request that timed out.
        return openai.OpenAI(
            api_key=key or "none",
            base_url=self._url,  # httpx sends its user name and password
            timeout=self._endpoint.timeout,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )


def load_price(endpoint: Endpoint, model: str) -> tuple[float, float] | None:
    """Reads the prices of a model for a million tokens of prompts and answers, and returns both; None without prices.

    Raises:
        InputError: The file has no two numbers for the model, or there is a limit of cost without prices.
    """
    if endpoint.prices is None:
        if endpoint.max_cost is not None:
            raise InputError("--max-cost needs --prices FILE, with the price of the model")
        return None
    found = read_yaml(endpoint.prices).get(model)
    try:
        return float(found["input"]), float(found["output"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{endpoint.prices} has {found!r} for {model}, expected `{model}: {{input: 2.5, output: 10}}` for a "
            "million tokens: add it"
        ) from error


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("Retry-After", "")
    try:
        return max(float(value), 0.0)
    except ValueError:
        try:
            return max(parsedate_to_datetime(value).timestamp() - time(), 0.0)
        except ValueError:
            return None
