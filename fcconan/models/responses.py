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
from fcconan.models.requests import ChatResponse, TokenAlternatives


def fault(request: Mapping[str, Any], response: Mapping[str, Any]) -> str | None:
    """Returns the error in the shape of a chat completion, or None."""
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "no choices"
    choice = choices[0]
    if choice.get("error") or choice.get("finish_reason") == "error":  # gateways report errors of their backend here
        return f"the choice is an error ({choice.get('error')})"
    message = choice.get("message")
    if not isinstance(message, dict):
        return "no message"
    content = message.get("content")
    if isinstance(content, list):
        return None if all(isinstance(each, dict) for each in content) else "no message"
    return None if isinstance(content, str | None) else "no message"


def read_reply(body: Mapping[str, Any], *, structured: bool = False) -> ChatResponse:
    """Reads a valid chat completion (see `fault`).

    Cut, filtered and refused answers count as missing, although their text may look like an answer.
    """
    choice = body["choices"][0]
    usage = body.get("usage")
    tokens = [usage.get(name) if isinstance(usage, dict) else None for name in ("prompt_tokens", "completion_tokens")]
    counted = [each if type(each) is int else None for each in tokens]
    said: dict[str, Any] = {
        "model": None if body.get("model") is None else replace_surrogates(str(body["model"])),
        "prompt_tokens": counted[0],
        "completion_tokens": counted[1],
        "structured": structured,
    }
    if choice["message"].get("refusal"):
        return ChatResponse(reason="refused", **said)
    text = replace_surrogates(_text(choice["message"].get("content")))
    if choice.get("finish_reason") == "length":
        return ChatResponse(reason="truncated", cut=text or None, **said)
    if choice.get("finish_reason") == "content_filter":
        return ChatResponse(reason="filtered", **said)
    if not text.strip():
        return ChatResponse(reason="empty", **said)
    return ChatResponse(text, logprobs=_logprobs(choice.get("logprobs")), **said)


def replace_surrogates(text: str) -> str:
    """Replaces lone surrogates, which endpoints send when a token ends within a character.

    JSON can escape them, but UTF-8 files cannot store them.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _text(content: Any) -> str:
    """Returns the text of a message. Of messages in parts, other types, such as reasoning, are ignored."""
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
            for each in (*(entry.get("top_logprobs") or ()), entry):  # of tokens with equal text, the more likely one
                token, logprob = str(each["token"]), each["logprob"]
                # Impossible alternatives are left out, because JSON has no minus infinity.
                if logprob is not None and isfinite(float(logprob)):
                    alternatives[token] = max(float(logprob), alternatives.get(token, float(logprob)))
            tokens.append(TokenAlternatives(str(entry["token"]), alternatives))
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
    return tuple(tokens)


Reason = Literal["bad_request", "too_long", "rate_limited", "server_error", "timeout", "connection", "bad_body"]

_DEEPEST = 200  # nested objects and lists; deeper JSON cannot be parsed again


class EndpointError(InputError):
    """The endpoint refuses all requests."""


@dataclass(frozen=True)
class EndpointResponse:
    """The outcome of one request.

    Attributes:
        body: JSON object of the response; None if it is missing.
        reason: Reason of a missing body.
        detail: Message of the endpoint or the connection, for people; it is never parsed.
        retry_after: Waiting time that the endpoint requests, in seconds; None if it requests none.
        is_charged: Whether the endpoint may have charged for the request.
    """

    body: dict[str, Any] | None = None
    reason: Reason | None = None
    detail: str = ""
    retry_after: float | None = field(default=None, compare=False, repr=False)
    is_charged: bool = field(default=True, compare=False, repr=False)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the waiting time of `Retry-After` (a number or a date) in seconds; None without a valid header."""
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
    """Returns message and code of an error in OpenAI's shape; otherwise the text of the body and None."""
    try:
        error = json.loads(raw)["error"]
        return str(error["message"]), error.get("code")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return raw[:1000].decode(errors="replace"), None


def read_body(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """Returns the JSON object of a body, or None, and the error of an invalid body."""
    try:
        body = orjson.loads(raw)
    except ValueError:
        try:  # lone surrogates, very large numbers, and NaN or infinity, which become None
            body = json.loads(raw, parse_constant=lambda _: None, parse_float=_finite, parse_int=_whole)
        except (ValueError, RecursionError) as error:
            return None, f"the body is not JSON ({one_line(error)})"
    if not isinstance(body, dict):
        return None, "the body is not a JSON object"
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST and _is_deep(body):
        return None, f"the body has more than {_DEEPEST} nested objects and lists"
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
    """Returns a message as one line without secrets, which some endpoints repeat in their errors."""
    text = " ".join(without_secrets(replace_surrogates(str(said)), secrets).split())
    return text[:300] or ("nothing" if isinstance(said, str) else type(said).__name__)
