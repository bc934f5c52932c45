"""A loopback stub of an OpenAI-compatible endpoint, with every fault that a client must survive.

In a test: `with Server() as server: ...`. As a process: `python -m tests.models.server LOG`, which prints its
address and appends a line to LOG for every request.
"""

import hashlib
import json
import os
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

KEY = "a-key-of-this-test"
DIMENSIONS = 64
Body = dict[str, Any]


@dataclass
class Action:
    """What the server does with one request.

    Attributes:
        status: The status.
        body: A JSON value, raw text or bytes; None for the normal answer.
        headers: Further headers.
        delay: Seconds before the answer.
        cut: Close the connection in the middle of the body.
        drop: Close the connection without an answer.
        reset: Break it off without an answer, so that the client's system says so.
        trickle: Seconds between white space that is sent for ever instead of an end.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0
    cut: bool = False
    drop: bool = False
    reset: bool = False
    trickle: float = 0


Behaviour = Callable[[Body, int], Action]


def error(status: int, *, code: str = "", **headers: str) -> Action:
    """An error in the shape of OpenAI; its text looks like an answer, which nobody may read as one."""
    said = {"message": '{"ranking": ["c1", "p1"], "grade": 7, "better": "a"}', "code": code}
    return Action(status, {"error": said}, {name.replace("_", "-"): value for name, value in headers.items()})


def always(action: Action) -> Behaviour:
    return lambda body, number: action


def first(times: int, action: Action) -> Behaviour:
    """The action for the first requests, then normal answers."""
    return lambda body, number: action if number < times else Action()


def without_schema(body: Body, number: int) -> Action:
    """Answers 400 to `response_format`."""
    return error(400) if "response_format" in body else Action()


def says(text: str | Callable[[Body], str], **choice: Any) -> Behaviour:
    """The model says these words to everything."""
    return lambda body, number: Action(body=completion(body, text if isinstance(text, str) else text(body), **choice))


def completion(body: Body, text: str | None, *, finish_reason: str = "stop", refusal: str | None = None) -> Body:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return {
        "object": "chat.completion",
        "model": f"{body['model']}-stub",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def content(body: Body) -> Body:
    """What a request shows the model."""
    shown: Body = json.loads(body["messages"][-1]["content"])
    return shown


def overlap(body: Body) -> str:
    """The model of the normal answers: counts the words that a text shares with the message."""
    shown = content(body)
    message = words(shown["message"])

    def shared(text: str) -> int:
        return len(words(text) & message)

    entries = shown["catalogue"] if "catalogue" in shown else shown["candidates"]
    ranked = sorted(entries, key=lambda entry: -shared(entry["text"]))
    return json.dumps({"ranking": [entry["id"] for entry in ranked[: shown.get("wanted", len(ranked))]]})


def bag(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A hashed bag of words."""
    vector = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()):
        vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % dimensions] += 1.0
    return vector


def embeddings(body: Body) -> Body:
    """The normal answer, last text first: the index says which is which."""
    data = [
        {"object": "embedding", "index": index, "embedding": bag(text, body.get("dimensions", DIMENSIONS))}
        for index, text in enumerate(body["input"])
    ]
    return {"object": "list", "model": f"{body['model']}-stub", "data": data[::-1], "usage": {"prompt_tokens": 5}}


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, *where: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that has gone is no error of the server
            super().handle_error(*where)


class Server:
    """The endpoint.

    Attributes:
        behaviour: Called with a request's body and its number; may be replaced at any time.
        requests: Path and body of every request, in the order of their arrival.
        headers: Those of every request.
        times: When each of them came, as `time.monotonic` counts.
        busiest: How many were being answered at the same time, at most.
        authorization: The header that is accepted; with another one, the answer is 401.
    """

    def __init__(self, behaviour: Behaviour | None = None, log: Path | None = None) -> None:
        self.behaviour = behaviour or always(Action())
        self.authorization = f"Bearer {KEY}"
        self.requests: list[tuple[str, Body]] = []
        self.headers: list[Message] = []
        self.times: list[float] = []
        self.busiest = self._busy = 0
        self._log, self._lock, self._ending = log, threading.Lock(), threading.Event()
        self._http = _QuietServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = False  # so that closing waits for them, and for their sockets
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self._ending.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def bodies(self) -> list[Body]:
        return [body for _, body in self.requests]

    def _note(self, path: str, body: Body, headers: Message) -> int:
        with self._lock:
            self.requests.append((path, body))
            self.headers.append(headers)
            self.times.append(time.monotonic())
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(body, sort_keys=True) + "\n")
            return len(self.requests) - 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                raw = self.rfile.read(length)
                if len(raw) < length:
                    raise ConnectionError("the client went before its request was whole")
                body = json.loads(raw)
                number = server._note(self.path, body, self.headers)
                action = server.behaviour(body, number)
                if self.headers["Authorization"] != server.authorization:
                    action = error(401)
                server._ending.wait(action.delay)
                self.close_connection = True
                with server._lock:
                    server._busy -= 1  # before the client can have the answer, and send the next request
                try:
                    self._answer(action, body)
                except OSError:
                    return  # the client has gone

            def _answer(self, action: Action, body: Body) -> None:
                if action.reset:
                    # Closing without lingering resets the connection.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    os.close(self.connection.detach())
                if action.reset or action.drop:
                    return
                answer = action.body
                if answer is None:
                    normal = embeddings(body) if self.path == "/v1/embeddings" else completion(body, overlap(body))
                    answer = normal
                text = answer if isinstance(answer, str | bytes) else json.dumps(answer)
                raw = text.encode() if isinstance(text, str) else text
                self.send_response(action.status)
                length = {} if action.trickle else {"Content-Length": str(len(raw))}
                headers = {"Content-Type": "application/json", **length, "Connection": "close"}
                for name, value in (headers | action.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(raw[: len(raw) // 2] if action.cut else raw)
                while action.trickle and not server._ending.wait(action.trickle):
                    self.wfile.write(b" ")

            def log_message(self, *unused: object) -> None:
                pass

        return Handler


def use_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the key into the environment, and nothing else that would change where requests go."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


if __name__ == "__main__":
    slow = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    with Server(always(Action(delay=slow)), Path(sys.argv[1])) as running:
        print(running.url, flush=True)
        while True:
            time.sleep(60)
