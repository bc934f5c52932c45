"""A request to a model, and the key under which its answer is stored."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from fcconan.errors import InputError


class Request:
    """A request to an endpoint, with its key: computing the key takes longer than everything else done with it.

    Args:
        endpoint: The address.
        path: Below the address, such as `/chat/completions`.
        body: The JSON object to send.
        sample: Tells repetitions of one request apart.

    Attributes:
        whole: Everything that the response depends on.
        key: The key of `whole`.
    """

    def __init__(self, endpoint: str, path: str, body: Mapping[str, Any], sample: int = 0) -> None:
        self.path, self.body, self.sample = path, body, sample
        self.whole: dict[str, Any] = {"endpoint": endpoint, "path": path, "body": body, "sample": sample}
        self.key = request_key(self.whole)


@dataclass(frozen=True)
class Finished:
    """A request with its response.

    Attributes:
        request: Everything that the response depends on, or a request that has its key.
        response: The raw response.
        at: When the response came, as ISO 8601 in UTC.
        seconds: How long the request took.
    """

    request: Mapping[str, Any] | Request
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


def keyed(request: Mapping[str, Any] | Request) -> tuple[str, int, Mapping[str, Any]]:
    """Returns key, sample number and whole of a request."""
    if isinstance(request, Request):
        return request.key, request.sample, request.whole
    return request_key(request), int(request.get("sample") or 0), request


def as_json(value: Any) -> str:
    """Returns JSON text that UTF-8 can hold.

    Raises:
        InputError: The value is nested too deeply.
    """
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half characters, large numbers, more than 254 levels
        try:
            return json.dumps(value, ensure_ascii=True)
        except RecursionError as error:
            raise InputError(
                "a response has too many objects and lists in one another to be stored: check the endpoint"
            ) from error


def encoded(body: Mapping[str, Any]) -> bytes:
    """Returns a body as JSON in UTF-8."""
    try:
        return orjson.dumps(body)
    except TypeError:  # half characters, which JSON can write and UTF-8 cannot
        return json.dumps(body).encode()


def from_json(text: bytes) -> Any:
    """Reads what `as_json` has written.

    Raises:
        ValueError: The text is no JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:  # half characters, which JSON can write and UTF-8 cannot
        return json.loads(text)
