"""Requests to models and their answers: the same types for endpoints, local models and recorded answers."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson

from fcconan.errors import InputError

Messages = list[dict[str, str]]
FailureReason = Literal[
    "bad_request",  # the endpoint or the model rejects this request
    "rate_limited",
    "server_error",
    "timeout",
    "connection",
    "bad_body",
    "refused",  # by the endpoint, in a separate field; refusals of a model are text
    "truncated",
    "filtered",
    "empty",
    "too_long",  # for the model's context
    "not_recorded",  # a file of recorded outputs has no answer
]
# Temporary failures, which another run may resolve; other reasons are permanent.
PASSING_REASONS = frozenset({"rate_limited", "server_error", "timeout", "connection", "bad_body"})


@dataclass(frozen=True)
class Sampling:
    """Sampling settings. None leaves a setting to the model. The options of commands check the ranges.

    Attributes:
        temperature: Temperature; 0 selects the most likely token.
        max_tokens: Maximum length of an answer.
        top_p: Probability mass of nucleus sampling.
        stop: Strings before which an answer ends.
        seed: Seed of sampling.
        top_logprobs: Number of alternatives to return for each token; 0 for none.
        top_k: Number of most likely tokens to sample from, applied before `top_p`. With None, local models sample from
            all tokens.

    Raises:
        InputError: A stop string is empty.
    """

    temperature: float | None = 0.0
    max_tokens: int | None = 512
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = 0
    top_logprobs: int = 0
    top_k: int | None = None

    def __post_init__(self) -> None:
        if "" in self.stop:  # every text starts with it
            raise InputError("a stop string is empty: give words at which the answer ends, or none")


@dataclass(frozen=True)
class ChatRequest:
    """A request to a chat model.

    Attributes:
        messages: Role and content of each message.
        sampling: Sampling settings.
        schema: JSON Schema of the answer, with its name under `title`; for endpoints that can enforce it.
        sample: Number of the repetition.
        variables: Values of the prompt variables, by which recorded answers are found; they are not sent.
    """

    messages: Messages
    sampling: Sampling = Sampling()
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TokenAlternatives:
    """A token of an answer with its alternatives.

    Attributes:
        token: The token.
        logprobs: Alternative -> natural logarithm of its probability, including the token; alternatives that are
            impossible or have no number are left out.
    """

    token: str
    logprobs: Mapping[str, float]


@dataclass(frozen=True)
class ChatResponse:
    """The answer to a call.

    Attributes:
        text: Text of the answer; None if it is missing.
        reason: Reason of a missing answer.
        detail: Message of the endpoint, for people; it is never parsed.
        model: Name of the model, as reported.
        prompt_tokens: Number of prompt tokens, as reported.
        completion_tokens: Number of generated tokens, as reported.
        logprobs: Alternatives of each token; None if the model returns none.
        structured: Whether the endpoint enforced the schema of the call.
        cut: Text of an answer that was cut at the token limit. It counts as missing, unless a parser finds a complete
            value in it.
    """

    text: str | None = None
    reason: FailureReason | None = None
    detail: str = ""
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    logprobs: tuple[TokenAlternatives, ...] | None = None
    structured: bool = False
    cut: str | None = None


class Model(Protocol):
    """A chat model.

    Attributes:
        name: Name of the model, also as a rater.
        configuration: All settings that change the answers, in addition to the calls.
    """

    name: str
    configuration: dict[str, Any]

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Yields one reply for each call, in order; calls are read lazily.

        Raises:
            InputError: The model cannot be used.
        """
        ...


class Request:
    """A request with its key, which is computed once because it is slow.

    Args:
        whole: All inputs of the response: endpoint or model, path, body, and sample (the number of the repetition).

    Attributes:
        whole: All inputs of the response.
        key: The sha256 of `whole`, independent of the order of its fields, as 64 hexadecimal digits.
        sample: Number of the repetition.
    """

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self.whole, self.sample = whole, int(whole.get("sample") or 0)
        self.key = request_key(whole)

    @property
    def path(self) -> str:
        """Path below the address, such as `/chat/completions`."""
        return str(self.whole["path"])

    @property
    def body(self) -> Mapping[str, Any]:
        """JSON object to send."""
        body: Mapping[str, Any] = self.whole["body"]
        return body


@dataclass(frozen=True)
class Finished:
    """A request with its response.

    Attributes:
        request: The request.
        response: The raw response.
        at: Date of the response, as ISO 8601 in UTC.
        seconds: Duration of the request.
    """

    request: Request
    response: Mapping[str, Any]
    at: str | None = None
    seconds: float | None = None


def request_key(request: Mapping[str, Any]) -> str:
    """Returns the sha256 of a whole request, independent of the order of its fields."""
    try:
        text = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # lone surrogates and very large numbers
        text = json.dumps(request, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()
    return hashlib.sha256(text).hexdigest()


def as_json(value: Any) -> str:
    """Returns JSON text that is valid UTF-8."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # lone surrogates, large numbers, more than 254 levels
        return json.dumps(value, ensure_ascii=True)


def from_json(text: bytes) -> Any:
    """Parses the output of `as_json`.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:  # lone surrogates, which JSON can escape and UTF-8 cannot encode
        return json.loads(text)
