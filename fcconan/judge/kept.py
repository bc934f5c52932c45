"""What an interrupted run has made of the first replies: the run that goes on takes it as it is.

The journal keeps what was paid for, this keeps what was computed from it. It holds nothing that cannot be made again.
"""

import hashlib
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import orjson

import fcconan
from fcconan.identity import digest
from fcconan.judge.rate import ModelJudge

try:
    import fcntl
except ImportError:  # Windows: one process at a time there
    fcntl = None  # type: ignore[assignment]

Row = dict[str, Any]
_EVERY = 100  # replies after which what was written is handed to the system


class KeptRatings:
    """A file with the rows of the first replies, a line for each reply.

    Args:
        judge: Who rates; another configuration has another file.
        beside: The journal, next to which the file is.

    Attributes:
        path: The file.
    """

    def __init__(self, judge: ModelJudge, beside: Path) -> None:
        self._judge, self._journal = judge, beside
        what = {
            "version": fcconan.__version__,
            "rater": judge.name,
            "configuration": judge.configuration,
            "task": judge.plan.task.model_dump(mode="json"),
        }
        self.path = beside.with_name(f"{beside.name}.{digest(json.dumps(what, sort_keys=True, default=str))}.kept")

    def rate(self, replies: Iterable[Row]) -> Iterator[list[Row]]:
        """Yields what `judge.rate` yields; for the replies at the head that are in the file, from there.

        After the first reply with a failure that no journal keeps, nothing is kept: another run asks again.
        """
        file = self._open()
        if file is None:
            yield from self._judge.rate(replies)
            return
        with file:
            rest, whole = iter(replies), 0
            other: list[Row] = []
            for line in file:
                kept = _read(line)
                row = next(rest, None)
                if row is None:
                    break
                if kept is None or kept[0] != _digest(row):
                    other.append(row)
                    break
                whole += len(line)
                yield kept[1]
            file.truncate(whole)
            file.seek(whole)
            asked: deque[str] = deque()

            def noted() -> Iterator[Row]:
                for row in chain(other, rest):
                    asked.append(_digest(row))
                    yield row

            for number, rows in enumerate(self._judge.rate(noted())):
                of = asked.popleft()
                if not self._judge.not_kept:
                    file.write(_line(of, rows))
                    if number % _EVERY == 0:
                        file.flush()
                yield rows

    def forget(self) -> None:
        """Removes the file: the run has come to its end."""
        with suppress(OSError):
            self.path.unlink()

    def _open(self) -> BinaryIO | None:
        """Opens the file; None where it cannot be written, or another run is at it."""
        try:
            if not self._journal.exists():  # who deletes the answers wants new ones
                self.path.unlink(missing_ok=True)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            file = self.path.open("r+b")
        except OSError:
            return None
        if fcntl is not None:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                return None
        return file


def _digest(row: Mapping[str, Any]) -> str:
    try:
        text = orjson.dumps(row)
    except TypeError:  # half characters
        text = json.dumps(row, default=str).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _line(of: str, rows: list[Row]) -> bytes:
    try:
        return orjson.dumps([of, rows]) + b"\n"
    except TypeError:
        return json.dumps([of, rows]).encode() + b"\n"


def _read(line: bytes) -> tuple[str, list[Row]] | None:
    """Returns the digest of the reply and its rows; None for a line that a kill has torn."""
    if not line.endswith(b"]\n"):
        return None
    with suppress(ValueError, TypeError):
        of, rows = orjson.loads(line)
        if isinstance(of, str) and isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            return of, rows
    return None
