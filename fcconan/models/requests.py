"""Requests to models and their answers: one shape for endpoints, local models and recorded answers."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson

from fcconan.errors import InputError

Messages = list[dict[str, str]]
CallReason = Literal[
    "bad_request",  # the endpoint, or the model, takes no request like this one
    "rate_limited",
    "server_error",
    "timeout",
    "connection",
    "bad_body",
    "refused",  # by the endpoint itself, in a field of its own; what a model says is text
    "truncated",
    "filtered",
    "empty",
    "too_long",  # for the model's context
    "not_recorded",  # a replayed file holds no answer to this
]
# Failures that another try may end; the others say something about the model or the request.
PASSING_REASONS = frozenset({"rate_limited", "server_error", "timeout", "connection", "bad_body"})


@dataclass(frozen=True)
class Sampling:
    """How a model draws its words. None leaves a setting to the model. The options of commands check the ranges.

    Attributes:
        temperature: 0 takes the most likely token.
        max_tokens: The longest answer.
        top_p: The mass from which tokens are drawn.
        stop: The answer ends before any of these.
        seed: Of the draw.
        top_logprobs: How many alternatives of every token are asked for; 0 asks for none.
        top_k: From how many of the likeliest tokens is drawn, before the mass is looked at. A model on this machine
            draws from all where it is None.

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
        if "" in self.stop:  # it stands at the beginning of everything
            raise InputError("a stop string is empty: give words at which the answer ends, or none")


@dataclass(frozen=True)
class Call:
    """One request to a chat model.

    Attributes:
        messages: Role and content of every message.
        sampling: How the model draws its words.
        schema: JSON Schema of the answer, with its name under `title`; for endpoints that can enforce it.
        sample: Tells repetitions of one request apart.
        variables: What the prompt was filled with. Recorded answers are found by it; it is not sent.
    """

    messages: Messages
    sampling: Sampling = Sampling()
    schema: Mapping[str, Any] | None = None
    sample: int = 0
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TokenAlternatives:
    """One token of an answer and what else the model might have written.

    Attributes:
        token: The token.
        logprobs: Natural logarithm of the probability of each alternative, the token among them; what the model says
            is impossible, or gives no number for, is left out.
    """

    token: str
    logprobs: Mapping[str, float]


@dataclass(frozen=True)
class Reply:
    """What came of a call.

    Attributes:
        text: The model's words; None where there are none.
        reason: Why there are none.
        detail: What the endpoint said, for people. Never to be parsed for an answer.
        model: The name under which the model answered.
        prompt_tokens: As the model counts.
        completion_tokens: As the model counts.
        logprobs: For every token of the answer; None where the model gives none.
        structured: Whether the endpoint was held to the call's schema.
        cut: The words of an answer that was cut at its longest. They are no reply, unless their form shows that what
            is read of them is whole.
    """

    text: str | None = None
    reason: CallReason | None = None
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
        name: What its ratings are signed with.
        configuration: All that changes its answers, besides the calls.
    """

    name: str
    configuration: dict[str, Any]

    def replies(self, calls: Iterable[Call]) -> Iterator[Reply]:
        """Yields one reply for every call, in their order, reading the calls as they are needed.

        Raises:
            InputError: The model cannot be used at all.
        """
        ...


class Request:
    """A request with its key: computing the key takes longer than everything else done with it.

    Args:
        whole: Everything that the response depends on: endpoint or model, path, body, and sample, which tells
            repetitions of one request apart.

    Attributes:
        whole: The given one.
        key: The sha256 of `whole`, whatever the order of its fields, as 64 hexadecimal digits.
        sample: The number of the repetition.
    """

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self.whole, self.sample = whole, int(whole.get("sample") or 0)
        self.key = request_key(whole)

    @property
    def path(self) -> str:
        """The path below the address, such as `/chat/completions`."""
        return str(self.whole["path"])

    @property
    def body(self) -> Mapping[str, Any]:
        """The JSON object to send."""
        body: Mapping[str, Any] = self.whole["body"]
        return body


@dataclass(frozen=True)
class Finished:
    """A request with its response.

    Attributes:
        request: The request.
        response: The raw response.
        at: When the response came, as ISO 8601 in UTC.
        seconds: How long the request took.
    """

    request: Request
    response: Mapping[str, Any]
    at: str | None = None
    seconds: float | None = None


def request_key(request: Mapping[str, Any]) -> str:
    """Returns the sha256 of a whole request, whatever the order of its fields."""
    try:
        text = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half characters and very large numbers
        text = json.dumps(request, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()
    return hashlib.sha256(text).hexdigest()


def as_json(value: Any) -> str:
    """Returns JSON text that UTF-8 can hold."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half characters, large numbers, more than 254 levels
        return json.dumps(value, ensure_ascii=True)


def from_json(text: bytes) -> Any:
    """Reads what `as_json` has written.

    Raises:
        ValueError: The text is no JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:  # half characters, which JSON can write and UTF-8 cannot
        return json.loads(text)
