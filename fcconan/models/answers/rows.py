"""Rows of the store of paid answers, with their checksums."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fcconan.models.requests import Finished, as_json, from_json

Row = tuple[Any, ...]

_COLUMNS = "epoch, request, response, at, seconds, usage, checksum"
FIND = f"SELECT {_COLUMNS} FROM answers WHERE key = ? AND sample = ? AND epoch >= ? ORDER BY epoch DESC LIMIT 1"
REMOVE = "DELETE FROM answers WHERE key = ? AND sample = ? AND epoch = ?"
INSERT = f"INSERT OR IGNORE INTO answers (key, sample, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True)
class StoredAnswer:
    """An answer in the store.

    Attributes:
        response: The raw response.
        at: Date of the response, as ISO 8601 in UTC; None if it is unknown.
    """

    response: dict[str, Any]
    at: str | None


def row_of(finished: Finished, epoch: int) -> Row:
    """Returns the columns of an answer, with their checksum.

    Args:
        finished: The request with its response.
        epoch: The epoch to which the answer belongs.
    """
    usage = finished.response.get("usage")
    content = (
        epoch,
        as_json(finished.request.whole),
        as_json(finished.response),
        finished.at,
        None if finished.seconds is None else float(finished.seconds),
        None if usage is None else as_json(usage),
    )
    key, sample = bytes.fromhex(finished.request.key), finished.request.sample
    return (key, sample, *content, _checksum(key, sample, content))


def stored_in(key: bytes, sample: int, row: Sequence[Any]) -> StoredAnswer | None:
    """Reads a row of the columns `_COLUMNS`; returns None if it is damaged."""
    *content, checksum = row
    if _checksum(key, sample, content) != checksum:
        return None
    _, _, response, at, _, _ = content
    return StoredAnswer(from_json(response), None if at is None else at.decode())


def _checksum(key: bytes, sample: int, content: Sequence[Any]) -> bytes:
    parts = [each if isinstance(each, bytes) else str(each).encode() for each in (key, sample, *content)]
    lengths = ",".join([str(len(part)) for part in parts])
    return hashlib.blake2b(b"".join([lengths.encode(), *parts]), digest_size=16).digest()
