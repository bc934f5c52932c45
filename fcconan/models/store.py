"""The store of paid answers: one sqlite table, which threads and processes share."""

import json
import sqlite3
import threading
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock

from fcconan.data import cache_folder
from fcconan.errors import InputError

_TABLE = "CREATE TABLE IF NOT EXISTS responses (key BLOB PRIMARY KEY, response TEXT) WITHOUT ROWID"


class Answers:
    """Store of finished requests and their responses.

    An answer is on the disk when `put` returns, so that a kill loses the requests in flight only.

    Args:
        path: The file; default: `answers.sqlite` in the cache folder.
        read: Whether to use answers of earlier runs.

    Raises:
        InputError: The file cannot be used.
    """

    def __init__(self, path: Path | None = None, *, read: bool = True) -> None:
        path = cache_folder() / "answers.sqlite" if path is None else path
        self._lock, self._own = threading.Lock(), None if read else set[bytes]()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Autocommit. The log and the waiting time let processes share the file; they cannot make it at once.
            with FileLock(f"{path}.lock"):
                self._file = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
                self._file.execute("PRAGMA journal_mode=WAL")
                self._file.execute("PRAGMA synchronous=NORMAL")
                self._file.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path} cannot be used as the store of answers ({error}): move it, or free it") from error

    def get(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the response to a request, or None."""
        key = _key(request)
        if self._own is not None and key not in self._own:
            return None
        with self._lock:
            found = self._file.execute("SELECT response FROM responses WHERE key = ?", (key,)).fetchone()
        response: dict[str, Any] | None = found and from_json(found[0])
        return response

    def put(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Stores the response to a request; it replaces an earlier one."""
        key = _key(request)
        with self._lock:
            self._file.execute("INSERT OR REPLACE INTO responses VALUES (?, ?)", (key, to_json(response).decode()))
            if self._own is not None:
                self._own.add(key)


def _key(request: Mapping[str, Any]) -> bytes:
    return sha256(to_json(request)).digest()


def to_json(value: Any) -> bytes:
    """Returns JSON with sorted keys; lone surrogates are escaped."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, sort_keys=True).encode()


def from_json(text: str | bytes) -> Any:
    """Parses JSON, also with escaped lone surrogates.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        return json.loads(text)
