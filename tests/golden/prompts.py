"""Hashes of the messages that a model receives, read from a loopback stub of an endpoint."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from tests.golden.readers import Reader
from tests.golden.values import Row
from tests.golden.workplace import Workplace
from tests.models.server import KEY, Server, says

Answer = str | Callable[[dict[str, Any]], str] | None


def prompts(line: str, answer: Answer, row: str, read: Reader | None = None) -> Callable[[Workplace], Iterator[Row]]:
    """Returns a call that sends requests to a stub: the hash of each list of messages, and values of the result.

    Args:
        line: The words of the command, without the endpoint.
        answer: What the stub says; None for its answers to retrieval.
        row: Row of SCOPE.md.
        read: Reader of the result.
    """

    def run(place: Workplace) -> Iterator[Row]:
        words = place.words(line)
        name = hashlib.sha256(line.encode()).hexdigest()[:12]
        settings = {"OPENAI_API_KEY": KEY, "NO_PROXY": "127.0.0.1", "FCCONAN_CACHE": str(place / f"answers-{name}")}
        with Server(says(answer) if answer else None) as server, mock.patch.dict(os.environ, settings):
            found = place.result(*words, "--base-url", server.url)
        counts = Counter(_hash(body["messages"]) for body in server.bodies if "messages" in body)
        for each, count in counts.items():
            yield Row("messages", {"sha256": each}, count, row)
        if read:
            yield from read(found, place)

    return run


def _hash(messages: list[dict[str, str]]) -> str:
    shown = [{"role": each["role"], "content": each["content"]} for each in messages]
    return hashlib.sha256(json.dumps(shown, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
