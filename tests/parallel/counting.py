"""A shard writer that is quickly done: a shard's file holds the numbers of its units. Worker processes import this."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.parallel.shards import Shard, ShardWriter


@dataclass(frozen=True)
class Counting:
    """Writes the units of each shard.

    Attributes:
        folder: Of the shards.
        fails_at: The number of a shard that cannot be written.
        breaks_at: The number of a shard at which the work has a fault.
    """

    folder: Path
    fails_at: int | None = None
    breaks_at: int | None = None

    @property
    def inputs(self) -> dict[str, Any]:
        return {"work": "counting"}

    def write(self, shard: Shard, path: Path) -> None:
        path.write_text(" ".join(map(str, range(shard.start, shard.stop))))
        if shard.number == self.fails_at:
            raise InputError("the unit 3 is odd: make it even")
        if shard.number == self.breaks_at:
            raise ZeroDivisionError("a fault")


@dataclass(frozen=True)
class Logged:
    """Other work, which notes the number of each shard before it is written.

    Attributes:
        work: The other work.
        log: The file of the numbers.
    """

    work: ShardWriter
    log: Path

    @property
    def folder(self) -> Path:
        return self.work.folder

    @property
    def inputs(self) -> Mapping[str, Any]:
        return self.work.inputs

    def write(self, shard: Shard, path: Path) -> None:
        with self.log.open("a") as file:
            file.write(f"{shard.number}\n")
        self.work.write(shard, path)


def pid_then_sleep(note: str) -> None:
    """Notes the process and works for longer than any test; without a note, it does nothing."""
    if not note:
        return
    Path(note).write_text(str(os.getpid()))
    time.sleep(600)


@dataclass(frozen=True)
class Killed:
    """Other work, whose worker is killed when it has written half of a shard: once, or every time.

    Attributes:
        work: The other work.
        at: The number of the shard.
        always: Whether every worker is.
    """

    work: ShardWriter
    at: int
    always: bool = False

    @property
    def folder(self) -> Path:
        return self.work.folder

    @property
    def inputs(self) -> Mapping[str, Any]:
        return self.work.inputs

    def write(self, shard: Shard, path: Path) -> None:
        self.work.write(shard, path)
        mark = self.folder.with_name("killed")
        if shard.number == self.at and (self.always or not mark.exists()):
            mark.touch()
            path.write_bytes(path.read_bytes()[:-5])
            os.kill(os.getpid(), signal.SIGKILL)


class Unknown:
    """A shard writer of a module that only the first process has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return import_module, ("a_module_of_the_first_process",)

    @property
    def inputs(self) -> dict[str, Any]:
        return {"work": "unknown"}

    def write(self, shard: Shard, path: Path) -> None:
        raise AssertionError("it cannot come this far")
