"""Checkpoints of the ratings of an unfinished run: a run that goes on takes them as they are.

Answers that were paid for have a store of their own; this log holds the rows that were made of them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import fcconan
from fcconan.data import EntryLog, short_hash
from fcconan.errors import InputError
from fcconan.judging.rating import ModelJudge
from fcconan.judging.streams import answered

Row = dict[str, Any]
_EVERY = 100  # replies after which new entries are handed to the operating system


class KeptRatings:
    """A log with the rows of each reply.

    Args:
        judge: The judge; another configuration has another file.
        store: The store of paid answers; the checkpoint is written to the same folder.
        epoch: The epoch of the answers; ratings of another epoch are not used.

    Attributes:
        path: The file.
    """

    def __init__(self, judge: ModelJudge, store: Path, *, epoch: int = 0) -> None:
        self._judge, self._answers = judge, store
        inputs = {
            "version": fcconan.__version__,
            "rater": judge.name,
            "configuration": judge.configuration,
            "task": judge.plan.task.model_dump(mode="json"),
            "epoch": epoch,
        }
        key = short_hash(json.dumps(inputs, sort_keys=True))
        self.path = store.with_name(f"{store.name}.{key}.kept")
        self._log = EntryLog(self.path, inputs)

    def rate(self, replies: Iterable[Row]) -> Iterator[list[Row]]:
        """Yields what `judge.rate` yields; the rows of replies in the log are taken from there.

        Replies with a failure that is in no store of answers are not added: another run asks again.

        Raises:
            InputError: As `judge.rate`, or the file changed while it was read.
        """
        if not self._answers.exists():  # whoever deletes the answers wants new ones
            self.forget()
        with self._log as log:
            rest = iter(replies)
            for row in rest:
                rows = log.get(_key(row))
                if rows is None:
                    yield from self._rate(chain([row], rest), log)
                    return
                yield rows

    def _rate(self, replies: Iterable[Row], log: EntryLog) -> Iterator[list[Row]]:
        """Has the judge rate the replies that are not in the log, and yields all in their order."""
        keyed = ((_key(row), row) for row in replies)
        asked = ((key, [] if log.get(key) is not None else [row]) for key, row in keyed)
        failures = self._judge.not_kept
        for number, (key, made) in enumerate(answered(self._judge.name, self._judge.rate, asked)):
            rows = made[0] if made else log.get(key)
            if rows is None:
                raise InputError(f"{self.path} changed while it was read: run the same command again")
            if made:
                if self._judge.not_kept == failures:
                    log.append(key, rows)
                failures = self._judge.not_kept
            if number % _EVERY == 0:
                log.flush()
            yield rows

    def forget(self) -> None:
        """Removes the file: the run has come to its end."""
        self._log.remove()


def _key(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, default=str).encode()).hexdigest()
