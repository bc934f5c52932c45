"""The sqlite file of paid answers: its location, its rows and their checksums, and journals of earlier versions.

A line is `{"key": "...", "crc32": "...", "at": ..., "seconds": ..., "usage": ..., "request": ..., "response": ...}`.
The CRC-32 is that of everything after it, up to and with the line feed. A line that was copied with CRLF, or lost its
line feed at the end of the file, is whole.
"""

import hashlib
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.models.requests import Finished, as_json, from_json

# How a file of sqlite begins, and how a line of a JSONL journal does, which earlier versions wrote.
_SQLITE = b"SQLite format 3\0"
OLD_LINE = b'{"key": "'
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # editors on Windows put it in front
_SUFFIX = ".sqlite"
_OLD_SUFFIX = ".jsonl"
_APPLICATION = 0x46434E41  # "FCNA", in the header of the file
_VERSION = 1
_WAIT = 60.0  # seconds for another process to finish its transaction
_SCHEMA = (
    "CREATE TABLE answers (key BLOB NOT NULL, sample INTEGER NOT NULL, epoch INTEGER NOT NULL, request TEXT NOT NULL, "
    "response TEXT NOT NULL, at TEXT, seconds REAL, usage TEXT, checksum BLOB NOT NULL, UNIQUE (key, sample, epoch))",
    "CREATE TABLE epochs (epoch INTEGER PRIMARY KEY, run TEXT NOT NULL, finished TEXT)",
    "CREATE TABLE imports (file TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL)",
    "CREATE TABLE probes (filler BLOB)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)


# Closing a file drops all locks that the process has on it, those of sqlite, too: a store that is open here is never
# opened in another way. Device and inode of each, and how many connections it has.
_open: Counter[tuple[int, int]] = Counter()
_opening = threading.RLock()


class _Connection(sqlite3.Connection):
    """A connection that is counted while it is open."""

    counted: tuple[int, int] | None = None

    def close(self) -> None:
        """Closes it."""
        with _opening:
            super().close()
            if self.counted is not None:
                _open[self.counted] -= 1
                self.counted = None


def store_path(path: Path) -> Path:
    """Returns the sqlite file in which the answers of a given file are stored.

    It is the file itself, unless that is a JSONL journal of an earlier version, or has the name of one: then it is a
    file next to it, with the suffix `.sqlite`.
    """
    store = path.with_name(path.name + _SUFFIX)
    if path.suffix == _OLD_SUFFIX and _beginning(path)[: len(_SQLITE)] != _SQLITE:
        return path.with_suffix(_SUFFIX)
    return store if is_old_journal(path) or (not path.exists() and store.exists()) else path


def old_journals(store: Path) -> list[Path]:
    """Returns the journals of earlier versions whose answers belong into a store."""
    if store.suffix != _SUFFIX:
        return []
    return [path for path in (store.with_suffix(_OLD_SUFFIX), store.with_suffix("")) if is_old_journal(path)]


def is_old_journal(path: Path) -> bool:
    """Tells whether a file is a JSONL journal. The first line may be torn or damaged, and then the second one tells."""
    first, *others = _beginning(path).removeprefix(BYTE_ORDER_MARK).split(b"\n")
    torn = bool(first) and all(OLD_LINE.startswith(each[: len(OLD_LINE)]) for each in (first, *others[:1]))
    return first.startswith(OLD_LINE) or torn


def check_answers_file(path: Path) -> None:
    """Checks that a file is a store or a journal of answers, or is missing or empty, so that one may be made there.

    Raises:
        InputError: The file is something else.
    """
    beginning = _beginning(path)
    if beginning and not beginning.startswith(_SQLITE) and not is_old_journal(path):
        raise InputError(
            f"{path} is not a file of answers, so nothing is read from it or written to it: choose another "
            "--response-cache"
        )


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Opens a store. A writer makes it, with its folders, if it is missing or empty.

    The file is in WAL mode, where a reader and a writer never wait for each other; where that is refused, as on network
    file systems, it has a rollback journal. Every commit is on the disk before it returns.

    Raises:
        InputError: The file is no store, or one of a newer version.
        sqlite3.Error: It cannot be opened; `usable` makes one line of it.
    """
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
    with _opening:
        check_answers_file(path)
        connection = _opened(path, "rwc" if write else "rw")
    try:
        if write:
            _make(connection)
        _check(connection, path)
        if write:
            _choose_mode(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        refused = error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
        if write or not refused or _has_log(path):
            raise
        # A folder that cannot be written has no room for the files of the WAL mode, and here none is needed.
        connection = _opened(path, "ro&immutable=1")
        _check(connection, path)
    except BaseException:
        connection.close()
        raise
    connection.text_factory = bytes
    return connection


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Makes one line of errors of sqlite and of the system.

    Raises:
        InputError: There was such an error.
    """
    try:
        yield
    except sqlite3.Error as error:
        if path.is_dir():
            raise InputError(_cannot(path, "Is a directory")) from error
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise InputError(
                f"the file of answers {path} is damaged ({error}): put a copy in its place, or save what is left with "
                f"`sqlite3 {path} .recover`; without it, all is paid for again"
            ) from error
        raise InputError(_cannot(path, error)) from error
    except OSError as error:
        raise InputError(_cannot(path, error.strerror or error)) from error


def _cannot(path: Path, reason: object) -> str:
    return f"the file of answers {path} cannot be used ({reason}): choose another file, or free its disk"


def _has_log(path: Path) -> bool:
    """Tells whether the newest answers are still in the write-ahead log, as after a kill."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    with _opening:
        connection = sqlite3.connect(
            address, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False, factory=_Connection
        )
        connection.counted = _place(path)
        _open[connection.counted] += 1
    return connection


def _place(path: Path) -> tuple[int, int]:
    now = path.stat()
    return now.st_dev, now.st_ino


def _make(connection: sqlite3.Connection) -> None:
    if _is_new(connection):
        with transaction(connection):
            if _is_new(connection):  # another process may have been faster
                for statement in _SCHEMA:
                    connection.execute(statement)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Runs statements as one transaction, which is on the disk at the end, or undone after an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _is_new(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return not tables and _header(connection) == (0, 0)


def _header(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,), (version,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    return application, version


def _check(connection: sqlite3.Connection, path: Path) -> None:
    application, version = _header(connection)
    if (application, version) == (0, 0) and _is_new(connection):
        return  # another process is about to make it
    if application != _APPLICATION:
        raise InputError(f"{path} is a database of another program: choose another --response-cache")
    if version > _VERSION:
        raise InputError(
            f"{path} has answers in version {version} of their format, and this version of fcconan reads version "
            f"{_VERSION}: update fcconan, or choose another --response-cache"
        )


def _choose_mode(connection: sqlite3.Connection) -> None:
    mode, end = None, time.monotonic() + _WAIT
    while mode is None:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname.startswith("SQLITE_BUSY") and time.monotonic() < end:
                time.sleep(0.01)  # another process is doing the same, for which sqlite does not wait
            else:
                mode = "refused"
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = TRUNCATE")
    connection.execute("PRAGMA synchronous = FULL")


def _beginning(path: Path) -> bytes:
    try:
        with _opening:
            if not path.is_file():
                return b""
            if _open[_place(path)]:
                return _SQLITE
            with path.open("rb") as file:
                return file.read(64)
    except OSError:
        return b""  # reported when the file is opened


_COLUMNS = "epoch, request, response, at, seconds, usage, checksum"
FIND = f"SELECT {_COLUMNS} FROM answers WHERE key = ? AND sample = ? AND epoch >= ? ORDER BY epoch DESC LIMIT 1"
NEXT = f"SELECT rowid, key, sample, {_COLUMNS} FROM answers WHERE rowid > ? ORDER BY rowid LIMIT ?"
REMOVE = "DELETE FROM answers WHERE key = ? AND sample = ? AND epoch = ?"
_FIND_IN = f"SELECT {_COLUMNS} FROM answers WHERE key = ? AND sample = ? AND epoch = ?"
_PUT = f"INSERT OR {{}} INTO answers (key, sample, {_COLUMNS}) VALUES "
_VALUES = "(?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERTED_AT_ONCE = 500  # rows of a statement, which may have 32,766 values

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Stored:
    """An answer in the store.

    Attributes:
        response: The raw response.
        at: When it came, as ISO 8601 in UTC; None where that is unknown.
    """

    response: dict[str, Any]
    at: str | None


def row_of(key: str, sample: int, epoch: int, request: Mapping[str, Any], finished: Finished) -> Row:
    """Returns the columns of an answer, with their checksum.

    Args:
        key: Of the request, as 64 hexadecimal digits.
        sample: Of the request.
        epoch: To which the answer belongs.
        request: Everything that the response depends on.
        finished: The request with its response.
    """
    usage = finished.response.get("usage")
    content = (
        epoch,
        as_json(request),
        as_json(finished.response),
        finished.at,
        None if finished.seconds is None else float(finished.seconds),
        None if usage is None else as_json(usage),
    )
    short = bytes.fromhex(key)
    return (short, sample, *content, _checksum(short, sample, content))


def insert(connection: sqlite3.Connection, rows: Sequence[Row]) -> int:
    """Stores the rows that are new in their epochs; returns how many.

    It is one statement, and so one transaction. Between two of them, this thread would wait for the one that sends.
    """
    new = 0
    for start in range(0, len(rows), _INSERTED_AT_ONCE):
        part = rows[start : start + _INSERTED_AT_ONCE]
        statement = _PUT.format("IGNORE") + ", ".join([_VALUES] * len(part))
        new += connection.execute(statement, [value for row in part for value in row]).rowcount
    return new


def put(connection: sqlite3.Connection, row: Row) -> Stored | None:
    """Replaces a damaged answer of the same request and epoch by a row; returns the answer if it is undamaged."""
    key, sample, epoch, *_ = row
    known = stored_in(key, sample, connection.execute(_FIND_IN, (key, sample, epoch)).fetchone())
    if known is None:
        connection.execute(_PUT.format("REPLACE") + _VALUES, row)
    return known


def texts_of(row: Row) -> Row:
    """Makes texts of the bytes that were read for them: all but the key and the checksum, which are first and last."""
    return (row[0], *(each.decode() if isinstance(each, bytes) else each for each in row[1:-1]), row[-1])


def _checksum(key: bytes, sample: int, content: Sequence[Any]) -> bytes:
    parts = [each if isinstance(each, bytes) else str(each).encode() for each in (key, sample, *content)]
    lengths = ",".join([str(len(part)) for part in parts])
    return hashlib.blake2b(b"".join([lengths.encode(), *parts]), digest_size=16).digest()


def stored_in(key: bytes, sample: int, row: Sequence[Any]) -> Stored | None:
    """Reads a row of the columns `_COLUMNS`; None where it is damaged."""
    *content, checksum = row
    if _checksum(key, sample, content) != checksum:
        return None
    _, _, response, at, _, _ = content
    return Stored(from_json(response), None if at is None else at.decode())


_DIGITS = 64
_SUM = b'", "crc32": "'
_SUM_DIGITS = 8


def lines_of(path: Path) -> Iterator[Finished | None]:
    """Yields the answers of a journal in their order; None for a damaged line.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        for line in file:
            text = line.removeprefix(BYTE_ORDER_MARK).rstrip(b"\r\n")
            if text:
                yield _answer(text + b"\n")


def _answer(line: bytes) -> Finished | None:
    begin = len(OLD_LINE) + _DIGITS
    end = begin + len(_SUM) + _SUM_DIGITS
    if not line.startswith(_SUM, begin) or line[end - _SUM_DIGITS : end] != b"%08x" % zlib.crc32(line[end:]):
        return None
    try:
        found: Any = from_json(line)
    except (ValueError, RecursionError):
        return None
    request, response, at, seconds = (found.get(name) for name in ("request", "response", "at", "seconds"))
    whole = isinstance(request, dict) and isinstance(response, dict) and type(request.get("sample") or 0) is int
    if not whole or not isinstance(at, str | None) or not isinstance(seconds, float | int | None):
        return None
    return Finished(request, response, at, seconds)
