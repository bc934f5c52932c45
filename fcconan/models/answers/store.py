"""The store of paid answers: a sqlite file with every finished request and its response.

An answer is on the disk before it is used. Threads and processes may share a file. Each answer belongs to an epoch, and
`--fresh` opens a new one. For a request, the first answer of the newest epoch with an answer is used.

Rows have checksums. A damaged row is not used: its request is sent again.
"""

import sqlite3
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.models.answers.file import check_answers_file, connect, old_journals, store_path, transaction, usable
from fcconan.models.answers.journal import lines_of
from fcconan.models.answers.rows import FIND, INSERT, REMOVE, Row, StoredAnswer, row_of, stored_in
from fcconan.models.requests import Finished, Request

_PROBE = 1 << 16  # bytes written as a test before the first request
_WRITTEN_AT_ONCE = 1000  # rows per transaction
_NONE = 1 << 62  # larger than every epoch


class CommandRun:
    """A run of a command, which determines the usable answers.

    The epoch of a fresh run stays open until the run has finished. Until then, the same command continues this epoch,
    with or without `--fresh`.

    Args:
        name: Command with all its inputs and settings. Equal names mean the same run.
        fresh: Whether all requests are sent again. With None, an interrupted fresh run of this name continues;
            otherwise the newest answers are used. With False, the newest answers are used, and an interrupted fresh run
            is abandoned.
    """

    def __init__(self, name: str, fresh: bool | None = None) -> None:
        self.name, self.fresh = name, fresh
        self._stores: dict[Path, AnswerStore] = {}
        self._is_kept_open = False

    def answers(self, path: Path) -> "AnswerStore":
        """Returns the store of a file; all models of the run share it.

        Raises:
            InputError: As `AnswerStore`.
        """
        if path not in self._stores:
            self._stores[path] = AnswerStore(path, self)
        return self._stores[path]

    def finish(self) -> None:
        """Closes the epochs of the run; the next fresh run opens new ones.

        Raises:
            InputError: A file cannot be written.
        """
        for answers in self._stores.values():
            if not self._is_kept_open:
                answers.finish()

    def keep_open(self) -> None:
        """Leaves the epochs open for the next run of the command, because some requests failed."""
        self._is_kept_open = True

    def close(self) -> None:
        """Closes the stores; the next access opens them again."""
        for answers in self._stores.values():
            answers.close()


class AnswerStore:
    """Store of finished requests with their responses, on the disk only.

    Args:
        path: The file; the first answer creates it, with its folders. Answers of a JSONL journal of an earlier version
            are imported into a store next to it (see `store_path`).
        run: The current run. None uses the newest answers.

    Attributes:
        path: The sqlite file.

    Raises:
        InputError: The file cannot be read, has other content, or has a newer version.
    """

    def __init__(self, path: Path, run: CommandRun | None = None) -> None:
        check_answers_file(path)
        self.path = store_path(path)
        self._run = run
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._connections: dict[bool, sqlite3.Connection] = {}  # the writer's is that of True
        self._closing = weakref.finalize(self, _close, self._connections)
        self._inode = 0
        self._has_reported_damage = self._is_prepared = False
        self._own: int | None = None  # the epoch that the run has opened, in this process or an earlier one
        with usable(self.path):
            for journal in old_journals(self.path):
                self._import(journal)
        self._join()

    def __len__(self) -> int:
        """The number of requests with an answer in any epoch; each sample of a request counts."""
        found = self._read("SELECT count(*) FROM (SELECT 1 FROM answers GROUP BY key, sample)")
        return int(found[0][0]) if found else 0

    def is_empty(self) -> bool:
        """Returns whether the run may use none of the answers."""
        return not self._read("SELECT 1 FROM answers WHERE epoch >= ? LIMIT 1", self._lowest)

    @property
    def epoch(self) -> int:
        """The epoch of new answers: 0, or the start of a fresh run in milliseconds since 1970."""
        if self._own is not None:
            return self._own
        found = self._read("SELECT max(epoch) FROM epochs")
        return int(found[0][0] or 0) if found else 0

    def get(self, request: Mapping[str, Any] | Request) -> StoredAnswer | None:
        """Returns the answer to a request, or None.

        Raises:
            InputError: The file cannot be read.
        """
        asked = _request(request)
        key = bytes.fromhex(asked.key)
        found = self._read(FIND, key, asked.sample, self._lowest)
        stored = stored_in(key, asked.sample, found[0]) if found else None
        if found and stored is None and not self._has_reported_damage:
            self._has_reported_damage = True
            _say(f"answers in {self.path} are damaged, so their requests are sent again")
        return stored

    def put(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Stores one answer; it is on the disk when this returns.

        Raises:
            InputError: The file cannot be written.
        """
        self.put_all([Finished(_request(request), response)])

    def put_all(self, finished: Sequence[Finished]) -> list[StoredAnswer]:
        """Stores answers in one transaction; they are on the disk when this returns.

        Returns:
            The valid answers: the given ones, or those that another process has stored earlier.

        Raises:
            InputError: The file cannot be written.
        """
        with self._writing, usable(self.path):
            connection = self._writer()
            with transaction(connection):
                self._open_epoch(connection)
                (newest,) = connection.execute("SELECT max(epoch) FROM epochs").fetchone()
                epoch = self._own or newest or 0
                return [_put(connection, epoch, each) for each in finished]

    def prepare(self) -> None:
        """Checks before the first request that answers can be written; opens or abandons the epoch of the run.

        Raises:
            InputError: The file cannot be written.
        """
        if self._is_prepared:
            return
        with self._writing, usable(self.path):
            connection = self._writer()
            with transaction(connection):
                if self._run is not None and self._run.fresh is False:  # also if this run is interrupted
                    _end_epoch(connection, self._run.name)
                self._open_epoch(connection)
                connection.execute("INSERT INTO probes VALUES (zeroblob(?))", (_PROBE,))
            connection.execute("DELETE FROM probes")
        self._is_prepared = True

    def finish(self) -> None:
        """Closes the epoch of a fresh run, or an abandoned epoch.

        Raises:
            InputError: The file cannot be written.
        """
        run = self._run
        if run is None or (self._own is None and run.fresh is not False) or self._open_epoch_of(run) is None:
            return
        with self._writing, usable(self.path):
            _end_epoch(self._writer(), run.name)

    def close(self) -> None:
        """Closes the file; the next access opens it again."""
        with self._reading, self._writing:
            _close(self._connections)

    # Epochs

    @property
    def _wants_epoch(self) -> bool:
        return self._own is None and self._run is not None and self._run.fresh is True

    @property
    def _lowest(self) -> int:
        """The first epoch with usable answers."""
        return _NONE if self._wants_epoch else self._own or 0

    def _join(self) -> None:
        """Continues the open epoch of an interrupted run of the same name."""
        run = self._run
        if run is None or run.fresh is False:
            return
        self._own = self._open_epoch_of(run)
        if self._own is not None:
            date = datetime.fromtimestamp(self._own / 1000, UTC).date().isoformat()
            _say(f"continuing the interrupted --fresh run of {date} ({self.path}); --no-fresh abandons it")

    def _open_epoch_of(self, run: CommandRun) -> int | None:
        found = self._read("SELECT max(epoch) FROM epochs WHERE run = ? AND finished IS NULL", run.name)
        return found[0][0] if found else None

    def _open_epoch(self, connection: sqlite3.Connection) -> None:
        """Opens the epoch of a fresh run, or joins that of another model of the same run."""
        if not self._wants_epoch or self._run is None:
            return
        name = self._run.name
        (own, newest) = connection.execute(
            "SELECT max(CASE WHEN run = ? AND finished IS NULL THEN epoch END), max(epoch) FROM epochs", (name,)
        ).fetchone()
        if own is None:
            own = max((newest or 0) + 1, int(datetime.now(UTC).timestamp() * 1000))
            connection.execute("INSERT INTO epochs VALUES (?, ?, NULL)", (own, name))
        self._own = own

    # Answers of other files

    def _import(self, journal: Path) -> None:
        """Imports a journal of an earlier version, unless it is unchanged since the last import."""
        now = journal.stat()
        state = (journal.name, now.st_size, now.st_mtime_ns)
        if self._read("SELECT 1 FROM imports WHERE file = ? AND size = ? AND changed = ?", *state):
            return
        lines = [0, 0]  # damaged and whole

        def rows() -> Iterator[Row]:
            for line in lines_of(journal):
                lines[line is not None] += 1
                if line is not None:
                    yield row_of(line, epoch=0)

        new = self._take(rows())
        with self._writing:
            self._writer().execute("INSERT OR REPLACE INTO imports VALUES (?, ?, ?)", state)
        if new or lines[0]:
            left = f"; damaged lines left out: {lines[0]}" if lines[0] else ""
            _say(f"answers imported from {journal} into {self.path}: {new}{left}")

    def _take(self, rows: Iterator[Row]) -> int:
        """Stores the rows that are new in their epochs; returns their number."""
        new = 0
        with self._writing, usable(self.path):
            connection = self._writer()
            for row in rows:
                with transaction(connection):
                    batch = chain([row], islice(rows, _WRITTEN_AT_ONCE))
                    new += connection.executemany(INSERT, batch).rowcount
        return new

    # Connections

    def _read(self, statement: str, *values: Any) -> list[Row]:
        """Returns the rows of a query; none if the file does not exist yet."""
        with self._reading, usable(self.path):
            connection = self._connections.get(False)
            if connection is None:
                if not self.path.exists() or not self.path.stat().st_size:
                    return []
                connection = connect(self.path, write=False)
                self._connections[False] = connection
            try:
                return connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):  # another process is creating them
                    return []
                raise

    def _writer(self) -> sqlite3.Connection:
        connection = self._connections.get(True)
        if connection is None:
            connection = self._connections[True] = connect(self.path, write=True)
            self._inode = self._inode_now()
        elif self._inode_now() != self._inode:
            raise InputError(f"{self.path} was moved or deleted while it was in use: leave it there, and run again")
        return connection

    def _inode_now(self) -> int:
        return self.path.stat().st_ino if self.path.exists() else 0


def _request(given: Mapping[str, Any] | Request) -> Request:
    return given if isinstance(given, Request) else Request(given)


def _put(connection: sqlite3.Connection, epoch: int, finished: Finished) -> StoredAnswer:
    """Stores an answer unless there is an undamaged one; returns the valid answer."""
    key, sample = bytes.fromhex(finished.request.key), finished.request.sample
    while (found := connection.execute(FIND, (key, sample, epoch)).fetchone()) is not None:
        stored = stored_in(key, sample, found)
        if stored is not None:
            return stored
        connection.execute(REMOVE, (key, sample, found[0]))
    connection.execute(INSERT, row_of(finished, epoch))
    return StoredAnswer(dict(finished.response), finished.at)


def _end_epoch(connection: sqlite3.Connection, run: str) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    connection.execute("UPDATE epochs SET finished = ? WHERE run = ? AND finished IS NULL", (now, run))


def _close(connections: dict[bool, sqlite3.Connection]) -> None:
    while connections:
        connections.popitem()[1].close()


def _say(line: str) -> None:
    shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)
    print(f"fcconan: {shown}", file=sys.stderr)
