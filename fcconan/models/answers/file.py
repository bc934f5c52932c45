"""The sqlite file of paid answers: its path, its schema, and connections to it."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from weakref import WeakKeyDictionary

from fcconan.errors import InputError
from fcconan.models.answers.journal import is_journal_beginning

_SQLITE = b"SQLite format 3\0"  # the first bytes of sqlite files
_SUFFIX = ".sqlite"
_OLD_SUFFIX = ".jsonl"  # of the journals that earlier versions wrote
_APPLICATION = 0x46434E41  # "FCNA", in the header of the file
_VERSION = 1
_WAIT = 60.0  # seconds for another process to finish its transaction
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answers (key BLOB NOT NULL, sample INTEGER NOT NULL, epoch INTEGER NOT NULL, "
    "request TEXT NOT NULL, response TEXT NOT NULL, at TEXT, seconds REAL, usage TEXT, checksum BLOB NOT NULL, "
    "UNIQUE (key, sample, epoch))",
    "CREATE TABLE IF NOT EXISTS epochs (epoch INTEGER PRIMARY KEY, run TEXT NOT NULL, finished TEXT)",
    "CREATE TABLE IF NOT EXISTS imports (file TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS probes (filler BLOB)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)


class _Connection(sqlite3.Connection):
    """A connection that can be in a weak dictionary."""


# Open connections, with device and inode of their files. Closing any handle of a file drops all locks of the process,
# including those of sqlite, so a file with an open connection is never opened in another way.
_open: WeakKeyDictionary[_Connection, tuple[int, int]] = WeakKeyDictionary()
_opening = threading.RLock()


def store_path(path: Path) -> Path:
    """Returns the path of the store for a given path.

    It is the path itself, except for JSONL journals of earlier versions and paths with their suffix: their store is
    next to them, with the suffix `.sqlite`.
    """
    store = path.with_name(path.name + _SUFFIX)
    if path.suffix == _OLD_SUFFIX and _beginning(path)[: len(_SQLITE)] != _SQLITE:
        return path.with_suffix(_SUFFIX)
    return store if is_journal_beginning(_beginning(path)) or (not path.exists() and store.exists()) else path


def old_journals(store: Path) -> list[Path]:
    """Returns the journals of earlier versions whose answers are imported into a store."""
    if store.suffix != _SUFFIX:
        return []
    paths = (store.with_suffix(_OLD_SUFFIX), store.with_suffix(""))
    return [path for path in paths if is_journal_beginning(_beginning(path))]


def check_answers_file(path: Path) -> None:
    """Checks that a file is a store or a journal of answers, or is missing or empty.

    Raises:
        InputError: The file has other content.
    """
    beginning = _beginning(path)
    if beginning and not beginning.startswith(_SQLITE) and not is_journal_beginning(beginning):
        raise InputError(f"{path} is not a file of answers; it is left unchanged: choose another --response-cache")


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Opens a store. A writer creates it, with its folders, if it is missing or empty.

    The file uses WAL mode, in which readers and a writer do not block each other, or a rollback journal where WAL is
    refused, as on network file systems. A commit returns after its data are on the disk.

    Raises:
        InputError: The file is not a store, or has a newer version.
        sqlite3.Error: The file cannot be opened; `usable` turns this into an `InputError`.
    """
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
    with _opening:
        check_answers_file(path)
        connection = _opened(path, "rwc" if write else "rw")
    try:
        if _is_new(connection, path) and write:
            with transaction(connection):
                for statement in _SCHEMA:
                    connection.execute(statement)
        if write:
            with suppress(sqlite3.OperationalError):  # another process is doing the same
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.OperationalError as error:
        connection.close()
        refused = error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
        if write or not refused or _has_log(path):
            raise
        # WAL mode needs to create files, which a read-only folder refuses; without a log, none is necessary.
        connection = _opened(path, "ro&immutable=1")
        _is_new(connection, path)
    except BaseException:
        connection.close()
        raise
    connection.text_factory = bytes
    return connection


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turns errors of sqlite and of the file system into errors of one line.

    Raises:
        InputError: Such an error occurred.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise InputError(
                f"the file of answers {path} is damaged ({error}): restore a copy, or recover its answers with "
                f"`sqlite3 {path} .recover`; otherwise all requests are paid for again"
            ) from error
        reason = "Is a directory" if path.is_dir() else getattr(error, "strerror", None) or error
        raise InputError(
            f"the file of answers {path} cannot be used ({reason}): choose another file, or free its disk"
        ) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Runs statements as one transaction, which is on the disk at the end, or rolled back after an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _has_log(path: Path) -> bool:
    """Returns whether there are answers in the write-ahead log, as after a kill."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    with _opening:
        connection = sqlite3.connect(
            address, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False, factory=_Connection
        )
        _open[connection] = _place(path)
    return connection


def _place(path: Path) -> tuple[int, int]:
    now = path.stat()
    return now.st_dev, now.st_ino


def _is_new(connection: sqlite3.Connection, path: Path) -> bool:
    """Returns whether a database is empty.

    Raises:
        InputError: It belongs to another program, or to a newer version.
    """
    # One statement, because another process may create the tables at the same time.
    application, version, tables = connection.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) "
        "FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if application == version == tables == 0:
        return True
    if application != _APPLICATION:
        raise InputError(f"{path} is a database of another program: choose another --response-cache")
    if version > _VERSION:
        raise InputError(
            f"{path} has answers in version {version} of their format, and this version of fcconan reads version "
            f"{_VERSION}: update fcconan, or choose another --response-cache"
        )
    return False


def _beginning(path: Path) -> bytes:
    try:
        with _opening:
            if not path.is_file():
                return b""
            if _place(path) in _open.values():
                return _SQLITE
            with path.open("rb") as file:
                return file.read(64)
    except OSError:
        return b""  # reported when the file is opened
