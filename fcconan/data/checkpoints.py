"""Checkpoints: computed values on disk that are used again only while they are exactly what was computed.

Every value is sealed: a checksum covers the value and its inputs, that is everything that determines it. A value whose
checksum differs, or that belongs to other inputs, is never used: it is computed again. Damage is reported in one line
on standard error. Nothing here was paid for; paid answers have a store of their own.

A `Checkpoint` is a file with one value, one line of JSON:

    {"checksum": "32 hex digits", "format": 1, "inputs": {...}, "value": ...}

An `EntryLog` is a file of many values that are appended one by one, as JSON Lines. Its first line is a header without
a value; the checksum of each other line covers the inputs of the header, too:

    {"checksum": "32 hex digits", "format": 1, "inputs": {...}}
    {"checksum": "32 hex digits", "key": "32 hex digits", "value": ...}

The checksum is BLAKE2b with 128 bits (RFC 7693) over the bytes that follow it on the line. It detects damage and edits;
it does not authenticate the author of a file.

Values that are files themselves (shards, matrices) have a checkpoint with their hashes: see `seal_folder`.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from fcconan.data.atomic import write_whole, write_whole_bytes

try:
    import fcntl
except ImportError:  # Windows: one process at a time there
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
_SEAL = "checkpoint.json"
_START, _MIDDLE, _END = b'{"checksum": "', b'", ', b"}\n"
_DIGITS = 32
_BODY = len(_START) + _DIGITS + len(_MIDDLE)  # where the bytes under the checksum begin
_KEY, _VALUE = b'"key": "', b'", "value": '
_CONTENT = len(_KEY) + _DIGITS + len(_VALUE)  # where the value of an entry begins, in the bytes under the checksum


class Checkpoint:
    """A file with one computed value.

    Args:
        path: The file.
        inputs: Everything that determines the value, as values that JSON can hold.

    Raises:
        TypeError: JSON cannot hold an input. Its text would not do: that of a long array leaves out its middle.
    """

    def __init__(self, path: Path, inputs: Mapping[str, Any]) -> None:
        self.path = path
        self._inputs = _inputs(inputs)

    def load(self) -> Any:
        """Returns the value; None if there is none for these inputs.

        A damaged file is reported on standard error. Reading never fails: a file that cannot be read has no value.
        """
        try:
            line = self.path.read_bytes()
        except OSError:
            return None
        body = _unsealed(line)
        if body is None:
            report(f"{self.path} is damaged or of an older version: its content is computed again")
            return None
        expected = self._inputs + b', "value": '
        return json.loads(body.removeprefix(expected)) if body.startswith(expected) else None

    def save(self, value: Any) -> None:
        """Writes the value, whole or not at all.

        Args:
            value: Anything but None that JSON can hold.

        Raises:
            OSError: The file cannot be written.
            TypeError: JSON cannot hold the value.
        """
        line = _sealed(self._inputs + b', "value": ' + json.dumps(value).encode())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, line.decode())


class EntryLog:
    """A file of many computed values, appended one by one; a context manager, which holds a lock on the file.

    Where the file cannot be written, or another process holds the lock, the log has no values and stores none.

    Args:
        path: The file.
        inputs: Everything that determines all values, as for `Checkpoint`. The rest is in the key of each value.
    """

    def __init__(self, path: Path, inputs: Mapping[str, Any]) -> None:
        self.path = path
        self._header = _sealed(_inputs(inputs))
        self._salt = hashlib.blake2b(self._header, digest_size=16).digest()
        self._places: dict[bytes, int] = {}
        self._reader: BinaryIO | None = None
        self._writer: BinaryIO | None = None

    def __enter__(self) -> Self:
        try:
            if not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
                write_whole_bytes(self.path, [self._header])
            if self.path.is_file():
                self._open()
                self._read()
        except OSError:
            self._close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def get(self, key: str) -> Any:
        """Returns the value of a key that was in the file when the log was opened; None if there is none."""
        place = self._places.get(_digest(key.encode()))
        if place is None or self._reader is None:
            return None
        with suppress(OSError):
            self._reader.seek(place)
            body = _unsealed(self._reader.readline(), self._salt)
            return None if body is None else json.loads(body[_CONTENT:])
        return None

    def append(self, key: str, value: Any) -> None:
        """Adds a value; of two values with one key the later one counts.

        On a full disk the log ends, with a note, and the work goes on without it.

        Args:
            key: Everything that determines this value besides the inputs of the log.
            value: Anything but None that JSON can hold.

        Raises:
            TypeError: JSON cannot hold the value.
        """
        if self._writer is None:
            return
        body = _KEY + _digest(key.encode()) + _VALUE + json.dumps(value).encode()
        try:
            self._writer.write(_sealed(body, self._salt))
        except OSError as error:
            self._give_up(error)

    def flush(self) -> None:
        """Hands what was appended to the operating system, so that a killed process loses none of it."""
        try:
            if self._writer is not None:
                self._writer.flush()
        except OSError as error:
            self._give_up(error)

    def remove(self) -> None:
        """Removes the file, if there is one."""
        with suppress(OSError):
            self.path.unlink()

    def _open(self) -> None:
        self._reader, self._writer = self.path.open("rb"), self.path.open("ab")
        if fcntl is not None:
            fcntl.flock(self._writer.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)  # an OSError if it is held

    def _read(self) -> None:
        """Notes the place of every usable line, and rewrites a file that has others."""
        assert self._reader is not None
        usable: list[tuple[int, bytes]] = []
        number, place, whole = 0, 0, False
        for line in self._reader:
            body = _unsealed(line, self._salt)
            if place == 0 and line == self._header:
                whole = True
            elif place == 0 and _unsealed(line) is not None:  # the header of other inputs, or of another format
                self._rewrite([])
                return
            else:
                number += 1
                if body is not None:
                    usable.append((place, body[len(_KEY) : len(_KEY) + _DIGITS]))
            place += len(line)
        self._places = {key: place for place, key in usable}
        if whole and number == len(usable):
            return
        report(
            f"{self.path} is damaged or of an older version: {number - len(usable)} of {number} entries are computed "
            "again"
        )
        self._rewrite([place for place, _ in usable])

    def _rewrite(self, places: list[int]) -> None:
        """Replaces the file by one with the lines at some places only."""
        reader, old = self._reader, self._writer
        assert reader is not None and old is not None

        def lines() -> Iterator[bytes]:
            yield self._header
            for place in places:
                reader.seek(place)
                yield reader.readline()

        write_whole_bytes(self.path, lines())
        with reader, old:  # the lock on the old file is held until the new one is locked
            self._open()
        self._places, place = {}, len(self._header)
        assert self._reader is not None
        self._reader.seek(place)
        for line in self._reader:
            self._places[line[_BODY + len(_KEY) :][:_DIGITS]] = place
            place += len(line)

    def _give_up(self, error: OSError) -> None:
        report(f"{self.path} cannot be written ({error.strerror or error}): this run goes on without it")
        self._close()

    def _close(self) -> None:
        for file in (self._reader, self._writer):
            with suppress(OSError):
                if file is not None:
                    file.close()
        self._reader = self._writer = None
        self._places = {}


def seal_folder(folder: Path, inputs: Mapping[str, Any]) -> None:
    """Writes a checkpoint with the hashes of all files of a folder into it; for values that are files themselves.

    Args:
        folder: The folder, without folders in it.
        inputs: Everything that determines its files.

    Raises:
        OSError: A file cannot be read, or the checkpoint cannot be written.
    """
    Checkpoint(folder / _SEAL, inputs).save(_hashes_in(folder))


def is_sealed(folder: Path, inputs: Mapping[str, Any]) -> bool:
    """Returns whether a folder is as `seal_folder` found it, with the same inputs; damage is reported."""
    try:
        expected = Checkpoint(folder / _SEAL, inputs).load()
        whole = bool(expected == _hashes_in(folder))
    except OSError:
        return False
    if expected is not None and not whole:
        report(f"{folder} is damaged: its content is computed again")
    return whole


def file_hash(path: Path) -> str:
    """Returns the sha256 of a file as 64 hexadecimal digits.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _hashes_in(folder: Path) -> dict[str, str]:
    return {path.name: file_hash(path) for path in sorted(folder.iterdir()) if path.name != _SEAL}


def report(text: str) -> None:
    """Prints a note on standard error, on one line."""
    with suppress(OSError):
        print("note:", "".join(letter if letter.isprintable() else "?" for letter in text), file=sys.stderr)


def _inputs(inputs: Mapping[str, Any]) -> bytes:
    return f'"format": {FORMAT}, "inputs": {json.dumps(inputs, sort_keys=True)}'.encode()


def _digest(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=_DIGITS // 2).hexdigest().encode()


def _sealed(body: bytes, salt: bytes = b"") -> bytes:
    """Returns the line of a JSON object: a checksum, and the members of which `body` consists."""
    return _START + _digest(salt, body) + _MIDDLE + body + _END


def _unsealed(line: bytes, salt: bytes = b"") -> bytes | None:
    """Returns the body of a line whose checksum is right; None for any other bytes."""
    if not (line.startswith(_START) and line.endswith(_END)):
        return None
    body = line[_BODY : -len(_END)]
    return body if line == _sealed(body, salt) else None
