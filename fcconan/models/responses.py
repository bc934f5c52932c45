"""Responses of endpoints: answers, errors and waiting times."""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, Literal

import orjson

from fcconan.data import without_secrets
from fcconan.errors import InputError
from fcconan.models.requests import Reply, TokenAlternatives


def fault(request: Mapping[str, Any], response: Mapping[str, Any]) -> str | None:
    """Returns what is wrong with the shape of a chat completion, or None."""
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "no choices"
    choice = choices[0]
    if choice.get("error") or choice.get("finish_reason") == "error":  # gateways whose own endpoint fails half-way
        return f"the choice is an error ({choice.get('error')})"
    message = choice.get("message")
    if not isinstance(message, dict):
        return "no message"
    content = message.get("content")
    if isinstance(content, list):
        return None if all(isinstance(each, dict) for each in content) else "no message"
    return None if isinstance(content, str | None) else "no message"


def read_reply(body: Mapping[str, Any], *, structured: bool = False) -> Reply:
    """Reads a chat completion in which `fault` finds nothing wrong.

    Words that were cut, filtered or refused are no reply: they may look like one.
    """
    choice = body["choices"][0]
    usage = body.get("usage")
    tokens = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    counted = [each if type(each) is int else None for each in tokens]
    said: dict[str, Any] = {
        "model": None if body.get("model") is None else whole_characters(str(body["model"])),
        "prompt_tokens": counted[0],
        "completion_tokens": counted[1],
        "structured": structured,
    }
    if choice["message"].get("refusal"):
        return Reply(reason="refused", **said)
    text = whole_characters(_text(choice["message"].get("content")))
    if choice.get("finish_reason") == "length":
        return Reply(reason="truncated", cut=text or None, **said)
    if choice.get("finish_reason") == "content_filter":
        return Reply(reason="filtered", **said)
    if not text.strip():
        return Reply(reason="empty", **said)
    return Reply(text, logprobs=_logprobs(choice.get("logprobs")), **said)


def whole_characters(text: str) -> str:
    """Replaces halves of characters, which endpoints send when a token ends in the middle of one.

    JSON can write them, and no file can hold them.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _text(content: Any) -> str:
    """The words of a message, which some endpoints give in parts; parts of other kinds, such as thinking, are none."""
    if not isinstance(content, list):
        return content or ""
    texts = [each.get("text") for each in content if each.get("type", "text") == "text"]
    return "".join(each for each in texts if isinstance(each, str))


def _logprobs(found: Any) -> tuple[TokenAlternatives, ...] | None:
    entries = found.get("content") if isinstance(found, dict) else None
    if not isinstance(entries, list) or not entries:
        return None
    tokens = []
    for entry in entries:
        try:
            alternatives: dict[str, float] = {}
            for each in (*(entry.get("top_logprobs") or ()), entry):  # two tokens may have one text: the likelier one
                token, logprob = str(each["token"]), each["logprob"]
                # What is impossible is left out: minus infinity is no JSON, and the store could not hold it.
                if logprob is not None and isfinite(float(logprob)):
                    alternatives[token] = max(float(logprob), alternatives.get(token, float(logprob)))
            tokens.append(TokenAlternatives(str(entry["token"]), alternatives))
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
    return tuple(tokens)


Reason = Literal["bad_request", "too_long", "rate_limited", "server_error", "timeout", "connection", "bad_body"]

_DEEPEST = 200  # objects and lists in one another, as far as JSON is read again


class EndpointError(InputError):
    """The endpoint refuses every request, so that a system cannot go on."""


@dataclass(frozen=True)
class Answer:
    """The outcome of one request.

    Attributes:
        body: The JSON object that the endpoint answered; None where there is none.
        reason: Why there is none.
        detail: The message of the endpoint or the connection, for people. Never to be parsed for an answer.
        retry_after: Seconds that the endpoint wants us to wait; None where it does not say.
        is_charged: Whether the endpoint may have charged for the request.
    """

    body: dict[str, Any] | None = None
    reason: Reason | None = None
    detail: str = ""
    retry_after: float | None = field(default=None, compare=False, repr=False)
    is_charged: bool = field(default=True, compare=False, repr=False)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns how many seconds `Retry-After`, a number or a date, wants us to wait; None where it does not say."""
    value = headers.get("Retry-After", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None  # not for "nan"


def error_of(raw: bytes) -> tuple[str, object]:
    """Returns the message of an endpoint's error and its code: OpenAI's shape, or the text that there is."""
    try:
        error = json.loads(raw)["error"]
        return str(error["message"]), error.get("code")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return raw[:1000].decode(errors="replace"), None


def read_body(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """Returns the JSON object of a body that the store can hold, or None; and the fault of the body."""
    try:
        body = orjson.loads(raw)
    except ValueError:
        try:  # half characters, very large numbers, and what is no number, which the store could not hold
            body = json.loads(raw, parse_constant=lambda _: None, parse_float=_finite, parse_int=_whole)
        except (ValueError, RecursionError) as error:
            return None, f"the body is no JSON ({one_line(error)})"
    if not isinstance(body, dict):
        return None, "the body is no JSON object"
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _is_deep(body):
        return None, f"the body has more than {_DEEPEST} objects and lists in one another"
    if body.get("error"):  # some gateways send their errors with status 200
        return None, f"the body is an error ({body['error']})"
    return body, ""


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if isfinite(number) else None


def _whole(digits: str) -> int | float | None:
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 64 else _finite(digits)


def _is_deep(body: Mapping[str, Any]) -> bool:
    level: list[Any] = [body]
    for _ in range(_DEEPEST):
        inner = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for values in inner for each in values if isinstance(each, dict | list)]
    return bool(level)


def one_line(said: object, secrets: Iterable[str] = ()) -> str:
    """Returns one line of whole characters, without secrets: some endpoints repeat them."""
    text = " ".join(without_secrets(whole_characters(str(said)), secrets).split())
    return text[:300] or ("nothing" if isinstance(said, str) else type(said).__name__)
