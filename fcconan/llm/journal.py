"""The answers that were paid for, on disk: one line of JSON for each finished request, only ever appended.

A process that is killed loses at most the lines it was writing, which readers ignore and the next writer ends. Several
processes may share a journal: lines are appended under a lock, a line of another process is seen when it is asked for,
and of two answers to one request the first one stands.
"""

import hashlib
import json
import os
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from fcconan.errors import InputError
from fcconan.places import Places

try:
    import fcntl
except ImportError:  # Windows: one process at a time there
    fcntl = None  # type: ignore[assignment]

# How every line begins, so that the index can be read without reading the lines.
_HEAD = b'{"key": "'
_DIGITS = 64
# What follows the key: a checksum of the rest of the line.
_SUM = b'", "crc32": "'
_SUM_DIGITS = 8


class Request:
    """A request to an endpoint, with its key, which takes longer to compute than all else that is done with it.

    Args:
        endpoint: The address.
        path: Below it, such as `/chat/completions`.
        body: The JSON object to send.
        sample: Tells repetitions of one request apart.

    Attributes:
        whole: All that the response depends on.
        key: The sha256 of it.
    """

    def __init__(self, endpoint: str, path: str, body: Mapping[str, Any], sample: int = 0) -> None:
        self.path, self.body = path, body
        self.whole: dict[str, Any] = {"endpoint": endpoint, "path": path, "body": body, "sample": sample}
        self.key = request_key(self.whole)


@dataclass(frozen=True)
class Finished:
    """A request with its response.

    Attributes:
        request: All that the response depends on, or a request that has its key.
        response: The raw response.
        at: When it came, as ISO 8601 in UTC.
        seconds: How long it took.
    """

    request: Mapping[str, Any] | Request
    response: Mapping[str, Any]
    at: str | None = None
    seconds: float | None = None


def request_key(request: Mapping[str, Any]) -> str:
    """Returns the sha256 of a whole request, whatever the order of its keys."""
    try:
        text = orjson.dumps(request, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half characters and very large numbers
        text = json.dumps(request, sort_keys=True, ensure_ascii=True, allow_nan=False).encode()
    return hashlib.sha256(text).hexdigest()


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
        self._errors = _Errors(path)
        self._lock = threading.Lock()
        # The key's first 64 bits -> where its line begins; several places only where a request stands twice.
        self._lines = Places()
        self._read_to = self._inode = 0
        self._file: Any = None
        with self._lock, self._errors:
            self._read_on()

    def __len__(self) -> int:
        """The number of requests of which an answer is known."""
        return len(self._lines)

    def get(self, request: Mapping[str, Any] | Request, *, look: bool = True) -> dict[str, Any] | None:
        """Returns the response to a request, or None if it was never finished.

        Args:
            request: The request.
            look: Whether to look for what other processes have appended in the meantime.

        Raises:
            InputError: The file cannot be read.
        """
        key, whole = _keyed(request)
        with self._lock, self._errors:
            record = self._find(key, whole)
            if record is None and look and self._read_on():
                record = self._find(key, whole)
        return None if record is None else dict(record["response"])

    def put(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Appends a finished request; when this returns, the line is on the disk.

        Raises:
            InputError: The file cannot be written.
        """
        self.put_all([Finished(request, response)])

    def put_all(self, finished: Sequence[Finished]) -> list[dict[str, Any]]:
        """Appends finished requests; when this returns, all lines are on the disk.

        Returns:
            The responses that stand: the ones given, or those that another process was faster to append.

        Raises:
            InputError: The file cannot be written.
        """
        keyed = [_keyed(each.request) for each in finished]
        keys = [key for key, _ in keyed]
        standing = [dict(each.response) for each in finished]
        with self._lock, self._errors:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a+b", buffering=0) as file, _alone(file.fileno()):
                self._read_on()
                lines: dict[str, bytes] = {}
                for position, ((key, whole), each) in enumerate(zip(keyed, finished, strict=True)):
                    known = self._find(key, whole)
                    if known is not None:
                        standing[position] = dict(known["response"])
                    elif key in lines:
                        standing[position] = standing[keys.index(key)]
                    else:
                        lines[key] = _line(key, whole, each)
                left = memoryview(self._line_break(file) + b"".join(lines.values())) if lines else memoryview(b"")
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
                self._read_on()
        return standing

    def records(self) -> Iterator[dict[str, Any]]:
        """Yields every undamaged record, in the order of the file.

        Raises:
            InputError: The file cannot be read.
        """
        with self._errors:
            if self.path.exists():
                with self.path.open("rb") as file:
                    for line in file:
                        record = _record(line)
                        if record is not None and _is_of_its_request(record):
                            yield record

    def close(self) -> None:
        """Closes the file; it is opened again when it is needed."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def _line_break(self, file: Any) -> bytes:
        end = file.seek(0, os.SEEK_END)
        if not end:
            return b""
        file.seek(end - 1)
        return b"" if file.read(1) == b"\n" else b"\n"  # somebody was killed in the middle of a line

    def _find(self, key: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Reads the first undamaged line of a key, and forgets the damaged ones before it."""
        short = _short(key)
        for place in self._lines.of(short):
            record = _record(self._read_line(place))
            # The same values are the same request; otherwise its key tells.
            if (
                record is not None
                and record["key"] == key
                and (record.get("request") == request or _is_of_its_request(record))
            ):
                return record
            # A line whose key is not that of its request was damaged: better asked again than believed.
            self._lines.remove(short, place)
        return None

    def _read_line(self, place: int) -> bytes:
        file = self._opened()
        file.seek(place)
        line: bytes = file.readline()
        return line

    def _opened(self) -> Any:
        if self._file is None:
            # Answers are mostly read in the order in which they came.
            self._file = self.path.open("rb", buffering=1 << 20)
            self._inode = os.fstat(self._file.fileno()).st_ino
        return self._file

    def _read_on(self) -> bool:
        """Reads what was appended since; returns whether there was anything."""
        try:
            now = self.path.stat()
        except FileNotFoundError:
            if self._read_to:
                raise
            return False
        file = self._opened()
        if now.st_ino == self._inode and now.st_size == self._read_to:
            return False
        if now.st_ino != self._inode or now.st_size < self._read_to:
            raise InputError(f"{self.path} was changed while it was in use: leave journals as they are, and run again")
        file.seek(self._read_to)
        for line in file:
            if not line.endswith(b"\n"):  # torn, or being written: looked at again next time
                break
            key = _key(line)
            if key is not None:
                self._lines.add(_short(key), self._read_to)
            self._read_to += len(line)
        return True


class _Errors:
    """Errors of the system become ones that say what to do; a class, because every request passes here."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise InputError(
                f"the journal {self._path} cannot be used ({error.strerror}): choose another file, or free its disk"
            ) from error


def _keyed(request: Mapping[str, Any] | Request) -> tuple[str, Mapping[str, Any]]:
    return (request.key, request.whole) if isinstance(request, Request) else (request_key(request), request)


def _line(key: str, whole: Mapping[str, Any], finished: Finished) -> bytes:
    record = {
        "at": finished.at,
        "seconds": finished.seconds,
        "usage": finished.response.get("usage"),
        "request": whole,
        "response": finished.response,
    }
    try:
        text = orjson.dumps(record)
    except TypeError:
        try:
            text = json.dumps(record, ensure_ascii=True).encode()
        except RecursionError as error:
            raise InputError(
                "a response has too many objects and lists in one another for a journal: check the endpoint"
            ) from error
    rest = b'", ' + text[1:] + b"\n"
    return _HEAD + key.encode() + _SUM + _sum(rest) + rest


def _sum(rest: bytes) -> bytes:
    return b"%08x" % zlib.crc32(rest)


def _short(key: str) -> int:
    return int(key[:16], 16)


def _key(line: bytes) -> str | None:
    """The key of a line, as it is written there."""
    digits = line[len(_HEAD) : len(_HEAD) + _DIGITS]
    if line.startswith(_HEAD) and line.endswith(b"}\n") and len(digits) == _DIGITS:
        with suppress(ValueError):
            int(digits, 16)
            return digits.decode()
    return None


def _record(line: bytes) -> dict[str, Any] | None:
    begin = len(_HEAD) + _DIGITS
    end = begin + len(_SUM) + _SUM_DIGITS
    if not line.startswith(_SUM, begin) or line[end - _SUM_DIGITS : end] != _sum(line[end:]):
        return None
    try:
        record = orjson.loads(line)
    except ValueError:
        try:  # half characters, which JSON can write and UTF-8 cannot
            record = json.loads(line)
        except (ValueError, RecursionError):
            return None
    is_one = isinstance(record, dict) and isinstance(record.get("response"), dict) and "key" in record
    return record if is_one else None


def _is_of_its_request(record: Mapping[str, Any]) -> bool:
    request = record.get("request")
    return isinstance(request, dict) and request_key(request) == record["key"]


@contextmanager
def _alone(descriptor: int) -> Iterator[Literal[True]]:
    if fcntl is None:
        yield True
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield True
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
