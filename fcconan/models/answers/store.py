"""The store of paid answers: a sqlite file with every finished request and its response.

An answer is on the disk before it is used. Threads and processes may share a file. Answers belong to epochs: `--fresh`
opens one. The newest epoch that has an answer to a request wins, and within an epoch the first answer.

A row carries a checksum over its content. A damaged row is never believed: its request is sent again.
"""

import sqlite3
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.models.answers.file import (
    FIND,
    NEXT,
    REMOVE,
    Row,
    Stored,
    check_answers_file,
    connect,
    insert,
    lines_of,
    old_journals,
    put,
    row_of,
    store_path,
    stored_in,
    texts_of,
    transaction,
    usable,
)
from fcconan.models.requests import Finished, Request, from_json, keyed

_IMPORTED_AT_ONCE = 1 << 22  # characters of responses
_PROBE = 1 << 16  # bytes that are written before the first request
_AT_ONCE = 50  # rows that are read together; some are of a megabyte
_NONE = 1 << 62  # later than every epoch


class Run:
    """A run of a command. It tells which answers the run may use.

    The epoch that a fresh run opens stays open until the run has come to its end. The same command then goes on with
    it, with `--fresh` or without.

    Args:
        name: Of the command with all that it asks for. The same name is the same run.
        fresh: True asks everything again. None goes on with an interrupted fresh run of this name, and otherwise takes
            the newest answers there are. False takes those in any case, and gives up an interrupted fresh run.
    """

    def __init__(self, name: str, fresh: bool | None = None) -> None:
        self.name, self.fresh = name, fresh
        self._stores: dict[Path, Answers] = {}
        self._is_kept_open = False

    def answers(self, path: Path) -> "Answers":
        """Returns the store of a file, which all models of the run share.

        Raises:
            InputError: As `Answers`.
        """
        if path not in self._stores:
            self._stores[path] = Answers(path, self)
        return self._stores[path]

    def finish(self) -> None:
        """Ends the epochs of the run: the next fresh run opens others.

        Raises:
            InputError: That cannot be written.
        """
        for answers in self._stores.values():
            if not self._is_kept_open:
                answers.finish()

    def keep_open(self) -> None:
        """Lets the next run of the command continue with the epochs of this one, as some requests failed."""
        self._is_kept_open = True

    def close(self) -> None:
        """Closes the stores; they are opened again when they are needed."""
        for answers in self._stores.values():
            answers.close()


class Answers:
    """Finished requests with their responses. Nothing of them is held in memory.

    Args:
        path: The file, which the first answer makes, with its folders. For a JSONL journal of an earlier version it is
            a file next to it (see `store_path`), into which the answers of the journal are imported.
        run: Who asks. None takes the newest answers there are.

    Attributes:
        path: The sqlite file.

    Raises:
        InputError: The file cannot be read, is something else, or is of a newer version.
    """

    def __init__(self, path: Path, run: Run | None = None) -> None:
        check_answers_file(path)
        self.path = store_path(path)
        self._run = run
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._connections: dict[bool, sqlite3.Connection] = {}  # the writer's is that of True
        self._closing = weakref.finalize(self, _close, self._connections)
        self._inode = 0
        self._given_up: int | None = None
        self._told = False
        self._damaged: dict[str, Row] = {}  # key -> where the row is, until there is another answer
        self._prepared = False
        self._current: int | None = None  # the epoch of new answers, once it is known
        self._own: int | None = None  # the epoch that the run has opened, in this process or an earlier one
        with usable(self.path):
            self._import_old()
            self._join()

    def __len__(self) -> int:
        """The number of requests with an answer in any epoch; samples of a request count on their own."""
        found = self._read("SELECT count(*) FROM (SELECT 1 FROM answers GROUP BY key, sample)")
        return int(found[0][0]) if found else 0

    def is_empty(self) -> bool:
        """Tells whether every answer is unusable."""
        return not self._read("SELECT 1 FROM answers WHERE epoch >= ? LIMIT 1", self._lowest)

    @property
    def epoch(self) -> int:
        """The epoch to which new answers belong: 0, or milliseconds since 1970 when a fresh run began."""
        if self._own is not None:
            return self._own
        found = self._read("SELECT max(epoch) FROM epochs")
        return int(found[0][0] or 0) if found else 0

    @property
    def is_fresh(self) -> bool:
        """Whether only answers of one fresh run may be used."""
        return self._own is not None or self._wants_epoch

    def get(self, request: Mapping[str, Any] | Request) -> Stored | None:
        """Returns the answer to a request, or None.

        Raises:
            InputError: The file cannot be read.
        """
        key, sample, _ = keyed(request)
        found = self._read(FIND, bytes.fromhex(key), sample, self._lowest)
        if not found:
            return None
        stored = stored_in(bytes.fromhex(key), sample, found[0])
        if stored is None:
            self._damaged[key] = (bytes.fromhex(key), sample, found[0][0])
            if not self._told:
                _say(f"answers in {self.path} are damaged, so their requests are sent again")
            self._told = True
        return stored

    def put(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Stores one answer; when this returns, it is on the disk.

        Raises:
            InputError: The file cannot be written.
        """
        self.put_all([Finished(request, response)])

    def put_all(self, finished: Sequence[Finished]) -> list[Stored]:
        """Stores answers in one transaction; when this returns, all are on the disk.

        Returns:
            The answers that count: the given ones, or those that another process was faster to store.

        Raises:
            InputError: The file cannot be written.
        """
        whole = [(keyed(each.request), each) for each in finished]
        with self._writing, usable(self.path):
            connection = self._writer()
            epoch = self._epoch_of(connection)
            rows = [row_of(key, sample, epoch, request, each) for (key, sample, request), each in whole]
            for lost in [self._damaged.pop(key) for (key, _, _), _ in whole if key in self._damaged]:
                connection.execute(REMOVE, lost)  # it may be of a later epoch than its new answer
            given = [Stored(dict(each.response), each.at) for each in finished]
            if insert(connection, rows) == len(rows):
                return given
            with transaction(connection):
                return [put(connection, row) or each for row, each in zip(rows, given, strict=True)]

    def prepare(self) -> None:
        """Checks, before anything is paid for, that answers can be written; opens or gives up the epoch of a run.

        Raises:
            InputError: They cannot.
        """
        if self._prepared:
            return
        with self._writing, usable(self.path):
            connection = self._writer()
            if self._given_up is not None:  # also if this run is interrupted, or some of its requests fail
                self._end_epoch(connection, self._given_up)
            with transaction(connection):
                self._open_epoch(connection)
                connection.execute("INSERT INTO probes VALUES (zeroblob(?))", (_PROBE,))
            with transaction(connection):
                connection.execute("DELETE FROM probes")
        self._prepared = True

    def finish(self) -> None:
        """Ends the epoch of a fresh run, or the one that the run gives up.

        Raises:
            InputError: That cannot be written.
        """
        ended = self._own or self._given_up
        if ended is None:
            return
        with self._writing, usable(self.path):
            self._end_epoch(self._writer(), ended)

    def merge(self, other: Path) -> int:
        """Takes over the answers of another store, or of a journal of an earlier version; returns how many were new.

        Where both have an answer to a request in the same epoch, the own one stays.

        Raises:
            InputError: The store is missing or cannot be written.
        """
        if not other.is_file():
            raise InputError(f"{other} is not a file of answers: give the file that another run has written")
        source = Answers(other)
        epochs = source._read("SELECT epoch, run, finished FROM epochs")
        new = 0
        with self._writing, usable(self.path):
            connection = self._writer()
            with transaction(connection):
                # A run that was interrupted there is not gone on with here.
                ended = [(epoch, run.decode(), (finished or b"").decode()) for epoch, run, finished in epochs]
                connection.executemany("INSERT OR IGNORE INTO epochs VALUES (?, ?, ?)", ended)
            for rows in source._rows():
                whole = [texts_of(row[1:]) for row in rows if stored_in(row[1], row[2], row[3:]) is not None]
                new += insert(connection, whole)
        source.close()
        return new

    def records(self) -> Iterator[dict[str, Any]]:
        """Yields every undamaged answer with its request, in the order in which they were stored.

        Raises:
            InputError: The file cannot be read.
        """
        for rows in self._rows():
            for _, key, sample, *row in rows:
                stored = stored_in(key, sample, row)
                if stored is not None:
                    epoch, request, _, _, seconds, usage, _ = row
                    yield {
                        "key": key.hex(),
                        "sample": sample,
                        "epoch": epoch,
                        "at": stored.at,
                        "seconds": seconds,
                        "usage": from_json(usage or b"null"),
                        "request": from_json(request),
                        "response": stored.response,
                    }

    def close(self) -> None:
        """Closes the file; it is opened again when it is needed."""
        with self._reading, self._writing:
            _close(self._connections)

    # Epochs

    @property
    def _wants_epoch(self) -> bool:
        return self._own is None and self._run is not None and self._run.fresh is True

    @property
    def _lowest(self) -> int:
        """The first epoch whose answers may be used."""
        return _NONE if self._wants_epoch else self._own or 0

    def _join(self) -> None:
        """Goes on with the epoch that an interrupted run of the same name has left open."""
        run = self._run
        if run is None:
            return
        found = self._read("SELECT max(epoch) FROM epochs WHERE run = ? AND finished IS NULL", run.name)
        epoch = found[0][0] if found else None
        if epoch is None:
            return
        if run.fresh is False:
            self._given_up = epoch
            return
        self._own = epoch
        date = datetime.fromtimestamp(epoch / 1000, UTC).date().isoformat()
        _say(f"the --fresh run of {date} was interrupted and goes on ({self.path}); --no-fresh gives it up")

    def _epoch_of(self, connection: sqlite3.Connection) -> int:
        """The epoch of answers that are stored now; a fresh run without one opens it."""
        if self._wants_epoch:
            with transaction(connection):
                self._open_epoch(connection)
        if self._current is None:
            self._current = self.epoch
        return self._current

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

    def _end_epoch(self, connection: sqlite3.Connection, epoch: int) -> None:
        with transaction(connection):
            connection.execute(
                "UPDATE epochs SET finished = ? WHERE epoch = ? AND finished IS NULL",
                (datetime.now(UTC).isoformat(timespec="seconds"), epoch),
            )

    # Journals of earlier versions

    def _import_old(self) -> None:
        """Imports journals of earlier versions that belong into this store, unless they are as they were last time."""
        for path in old_journals(self.path):
            now = path.stat()
            state = (now.st_size, now.st_mtime_ns)
            if self._read("SELECT 1 FROM imports WHERE file = ? AND size = ? AND changed = ?", path.name, *state):
                continue
            new = damaged = 0
            with self._writing:
                connection = self._writer()
                batch: list[Row] = []
                size = 0
                for line in lines_of(path):
                    if line is None:
                        damaged += 1
                        continue
                    key, sample, request = keyed(line.request)
                    batch.append(row_of(key, sample, 0, request, line))
                    size += len(batch[-1][4])
                    if size > _IMPORTED_AT_ONCE:
                        new += insert(connection, batch)
                        batch, size = [], 0
                new += insert(connection, batch)
                with transaction(connection):
                    connection.execute("INSERT OR REPLACE INTO imports VALUES (?, ?, ?)", (path.name, *state))
            left = f"; damaged lines left out: {damaged}" if damaged else ""
            if new or damaged:
                _say(f"answers imported from {path} into {self.path}: {new}{left}")

    # Connections

    def _read(self, statement: str, *values: Any) -> list[Row]:
        """Returns the rows of a query; none where there is no file yet."""
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
                if "no such table" in str(error):  # another process is about to make them
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
        try:
            return self.path.stat().st_ino
        except FileNotFoundError:
            return 0

    def _rows(self) -> Iterator[list[Row]]:
        last = -1
        while rows := self._read(NEXT, last, _AT_ONCE):
            last = rows[-1][0]
            yield rows


def _close(connections: dict[bool, sqlite3.Connection]) -> None:
    while connections:
        connections.popitem()[1].close()


def _say(line: str) -> None:
    shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)
    print(f"fcconan: {shown}", file=sys.stderr)
