"""The answers that were paid for, on disk: one line of JSON for each finished request, only ever appended.

A process that is killed loses at most the line it was writing, which readers ignore and the next writer ends. Several
processes may share a journal: every line is appended under a lock, and a line of another process is seen when it is
asked for.
"""

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fcconan.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: one process at a time there
    fcntl = None  # type: ignore[assignment]


def request_key(request: Mapping[str, Any]) -> str:
    """Returns the sha256 of a whole request, whatever the order of its keys."""
    text = json.dumps(request, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Journal:
    """Finished requests with their responses.

    Only where a line begins is kept in memory, so that a journal of embeddings may be large.

    Args:
        path: The file; made, with its folders, by the first record.

    Raises:
        InputError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._lines: dict[str, int] = {}
        self._read_to = 0
        with self._lock, self._errors():
            self._read_on()

    def __len__(self) -> int:
        """The number of requests of which an answer is known."""
        return len(self._lines)

    def get(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the response to a request, or None if it was never finished.

        Raises:
            InputError: The file cannot be read.
        """
        key = request_key(request)
        with self._lock, self._errors():
            if key not in self._lines:
                self._read_on()
            if key not in self._lines:
                return None
            with self.path.open("rb") as file:
                file.seek(self._lines[key])
                record = _record(file.readline())
        if record is None or record["key"] != key:
            raise InputError(f"{self.path} was changed while it was in use: leave journals as they are, and run again")
        return dict(record["response"])

    def put(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Appends a finished request; when this returns, the line is on the disk.

        Raises:
            InputError: The file cannot be written.
        """
        record = {
            "key": request_key(request),
            "request": request,
            "response": response,
            "usage": response.get("usage"),
        }
        line = json.dumps(record, ensure_ascii=True).encode() + b"\n"
        with self._lock, self._errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b", buffering=0) as file, _alone(file.fileno()):
                end = file.seek(0, os.SEEK_END)
                if end:
                    file.seek(end - 1)
                    if file.read(1) != b"\n":  # somebody was killed in the middle of a line
                        line = b"\n" + line
                left = memoryview(line)
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            self._read_on()

    def _read_on(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            file.seek(self._read_to)
            for line in file:
                if not line.endswith(b"\n"):  # torn, or being written: looked at again next time
                    break
                record = _record(line)
                if record is not None:
                    self._lines[record["key"]] = self._read_to
                self._read_to += len(line)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"the journal {self.path} cannot be used ({error.strerror}): choose another file, or free its disk"
            ) from error


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
        if not isinstance(record, dict) or not isinstance(record.get("response"), dict):
            return None
        # A line whose key is not that of its request was damaged: better asked again than believed.
        return record if record.get("key") == request_key(record.get("request", {})) else None
    except (ValueError, RecursionError):
        return None


@contextmanager
def _alone(descriptor: int) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
