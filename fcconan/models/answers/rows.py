"""Rows of the store of answers: each carries a checksum over its content, and one that is damaged is never believed."""

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcconan.models.requests import Finished, as_json, from_json

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
