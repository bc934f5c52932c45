"""Work cut into shards: each is written whole or not at all, by any process, and finished ones are never done again.

A shard has its final name only once it is complete; until then it has a hidden one that carries host and process. The
folder `_checkpoints` then gets a checkpoint of it: the hash of the file, sealed with everything that its bytes follow
from. An interrupted process, or one of several that share the shards by rank, takes a shard as finished while file and
checkpoint agree. `claim` first writes what the shards are made from, and refuses a folder of anything else.
"""

import json
import multiprocessing
import signal
import traceback
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from fcconan.data import Checkpoint, leftovers, mark, report, sha256_of, write_whole
from fcconan.errors import InputError

Progress = Callable[[int, int], None]
MOST_DEATHS = 3  # of workers, at one shard, after which it is held to be the shard's doing
_HIDDEN = ".shard."
_CHECKPOINTS = "_checkpoints"
_Answer = tuple[bool, str] | None


@dataclass(frozen=True)
class Shard:
    """A part of the work.

    Attributes:
        number: From 0.
        count: Of all shards.
        start: The first unit of work in it.
        stop: The first one after it.
    """

    number: int
    count: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """Units of work in it."""
        return self.stop - self.start

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"part-{self.number:05d}-of-{self.count:05d}.parquet"


class Work(Protocol):
    """What is done. It travels to other processes, so it is small: what it needs stands in the folder.

    Attributes:
        folder: Of the shards, as every process sees it.
        inputs: Everything that the bytes of the shards follow from, as JSON-able values; a digest will do.
    """

    @property
    def folder(self) -> Path:
        """Where the shards are."""
        ...

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Everything that the bytes of the shards follow from."""
        ...

    def write(self, shard: Shard, path: Path) -> None:
        """Writes a shard: the same bytes in every process.

        Raises:
            InputError: It cannot.
        """
        ...


def cut(size: int, per_shard: int) -> list[Shard]:
    """Cuts units of work into shards of equal size, the last one being shorter where they do not divide evenly."""
    starts = range(0, size, per_shard)
    return [Shard(number, len(starts), start, min(start + per_shard, size)) for number, start in enumerate(starts)]


def share(shards: Sequence[Shard], rank: int, world: int) -> list[Shard]:
    """Returns the shards of one of several processes that were started apart: every `world`-th one.

    Args:
        shards: All of them.
        rank: Which process, from 0.
        world: How many there are.

    Raises:
        InputError: There is no such rank.
    """
    if world < 1 or not 0 <= rank < world:
        raise InputError(f"rank {rank} of {world} is none: ranks are 0 to world size - 1, and the world size 1 or more")
    return list(shards[rank::world])


def finish(work: Work, shard: Shard) -> None:
    """Writes a shard, in this process.

    What killed processes of this host left in the folder is removed.

    Raises:
        InputError: As `Work.write`, or the file cannot be written.
    """
    try:
        write_shard(work.folder, shard, work.inputs, work.write)
    except OSError as error:
        raise InputError(
            f"{work.folder / shard.name} cannot be written ({error.strerror or error}): see whether the disk is full, "
            "and run the same command again to go on"
        ) from error


def is_finished(folder: Path, shard: Shard, inputs: Mapping[str, Any]) -> bool:
    """Returns whether a shard's file is there, as it was written, and follows from these inputs.

    A file that differs from its checkpoint is reported on standard error.

    Args:
        folder: Of the shards.
        shard: The shard.
        inputs: See `Work`.
    """
    path = folder / shard.name
    try:
        state = path.stat()
        expected = _checkpoint(folder, shard.name, inputs).load()
        if expected is None:
            return False
        whole = bool(_hash_of(path, state.st_size, state.st_mtime_ns, state.st_ino) == expected)
    except OSError:
        return False
    if not whole:
        report(f"{path} is damaged: it is computed again")
    return whole


@cache
def _hash_of(path: Path, *state: int) -> str:
    """Returns the sha256 of a file, computed once for every state of the file in this process."""
    return sha256_of(path)


def _checkpoint(folder: Path, name: str, inputs: Mapping[str, Any]) -> Checkpoint:
    return Checkpoint(folder / _CHECKPOINTS / f"{name}.json", {"file": name, **inputs})


def write_shard(folder: Path, shard: Shard, inputs: Mapping[str, Any], write: Callable[[Shard, Path], None]) -> None:
    """Writes the file of a shard whole or not at all, and its checkpoint.

    Args:
        folder: Where it goes.
        shard: The shard.
        inputs: See `Work`.
        write: Writes it under the name that it is given.

    Raises:
        OSError: The disk is full, or the folder cannot be written.
    """
    with suppress(OSError):  # a folder that cannot be listed may still be written
        for stale in leftovers(folder, _HIDDEN):
            stale.unlink()
    temporary = folder / (mark(_HIDDEN) + shard.name)
    try:
        write(shard, temporary)
        _checkpoint(folder, shard.name, inputs).save(sha256_of(temporary))
        temporary.replace(folder / shard.name)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def run(work: Work, shards: Sequence[Shard], *, jobs: int = 1, progress: Progress | None = None) -> None:
    """Finishes shards on this machine.

    A worker that is killed loses the shard that it was at, which is done again by the one that takes its place.

    Args:
        work: What is done.
        shards: Those that are wanted; finished ones are left as they are.
        jobs: The number of processes; with 1, it is done in this one.
        progress: Called here with the units of work that are done and with all of them, at first for the shards that
            were found finished, if any, then after each shard. What it raises stops the call.

    Raises:
        InputError: A shard cannot be made, or three workers were killed at one; the others' shards stay.
    """
    if jobs < 1:
        raise InputError(f"jobs is {jobs}, expected 1 or more: give a positive number")
    counted = Counted(work, shards, progress)
    if jobs == 1 or len(counted.missing) < 2:
        for shard in counted.missing:
            finish(work, shard)
            counted.add(shard)
        return
    _run_apart(work, counted, jobs)


class Counted:
    """How far the work has come.

    Args:
        work: What is done.
        shards: Those that are wanted.
        progress: See `run`.

    Attributes:
        missing: The shards that are not there yet.
    """

    def __init__(self, work: Work, shards: Sequence[Shard], progress: Progress | None) -> None:
        self.missing = [shard for shard in shards if not is_finished(work.folder, shard, work.inputs)]
        self._total = sum(shard.size for shard in shards)
        self._done = self._total - sum(shard.size for shard in self.missing)
        self._progress = progress
        if progress is not None and self._done:
            progress(self._done, self._total)

    def add(self, shard: Shard) -> None:
        """Counts a shard that is finished."""
        self._done += shard.size
        if self._progress is not None:
            self._progress(self._done, self._total)


@dataclass
class _Worker:
    """A process that finishes the shards it is sent, one after the other."""

    process: BaseProcess
    connection: Connection
    shard: Shard

    @classmethod
    def started(cls, work: Work, shard: Shard) -> "_Worker":
        # Not forked: the libraries underneath have threads, whose locks a fork would copy as they stand.
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there, work))
        process.start()
        there.close()  # or its end would never be seen
        worker = cls(process, here, shard)
        worker.take(shard)
        return worker

    def take(self, shard: Shard) -> None:
        self.shard = shard
        with suppress(OSError):  # it has died, which the next look at it tells
            self.connection.send(shard)

    def end(self, *, now: bool) -> None:
        self.connection.close()
        if now:
            self.process.terminate()
        self.process.join()


def _run_apart(work: Work, counted: Counted, jobs: int) -> None:
    waiting = deque(counted.missing)
    deaths: Counter[int] = Counter()
    busy: dict[Connection, _Worker] = {}

    def start() -> None:
        worker = _Worker.started(work, waiting.popleft())
        busy[worker.connection] = worker

    try:
        for _ in range(min(jobs, len(waiting))):
            start()
        while busy:
            for connection in wait(list(busy)):
                worker = busy[connection]  # type: ignore[index]
                try:
                    answer: _Answer = worker.connection.recv()
                except (EOFError, OSError):
                    del busy[worker.connection]
                    worker.end(now=True)
                    deaths[worker.shard.number] += 1
                    if deaths[worker.shard.number] >= MOST_DEATHS:
                        raise InputError(killed(worker.shard, f"exit code {worker.process.exitcode}")) from None
                    waiting.appendleft(worker.shard)
                    start()
                    continue
                if answer is not None:
                    foreseen, said = answer
                    raise InputError(said) if foreseen else RuntimeError(f"{worker.shard.name}: {said}")
                counted.add(worker.shard)
                if waiting:
                    worker.take(waiting.popleft())
                else:
                    del busy[worker.connection]
                    worker.end(now=False)
    finally:
        for worker in busy.values():
            worker.end(now=True)
        with suppress(OSError):
            for stale in leftovers(work.folder, _HIDDEN):
                stale.unlink()


def killed(shard: Shard, how: str) -> str:
    """Returns what is said of a shard at which worker after worker was killed."""
    return (
        f"{shard.name}: {MOST_DEATHS} workers were killed at it ({how}): see whether memory is short, and run the same "
        "command again to go on, with fewer workers at once or fewer rows in a shard"
    )


def _serve(connection: Connection, work: Work) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the first one decides
    while True:
        try:
            shard: Shard = connection.recv()
        except EOFError:  # there is no more to do, or the first process is gone
            return
        answer: _Answer = None
        try:
            finish(work, shard)
        except InputError as error:
            answer = (True, str(error))
        except Exception:
            answer = (False, traceback.format_exc())
        with suppress(OSError):
            connection.send(answer)


def claim(folder: Path, name: str, plan: Mapping[str, Any], *, what: str) -> None:
    """Puts the plan of shards into their folder, or makes sure that the one there is the same.

    The plan has a checkpoint, too: a damaged plan is written again where the folder is of the same plan.

    Args:
        folder: Of the shards; it is made if it does not exist.
        name: Of the plan's file.
        plan: All that the shards' bytes follow from, as JSON-able values.
        what: What the plan is of, such as `pairing`.

    Raises:
        InputError: The folder holds shards of another plan, or of none.
    """
    path, checkpoint = folder / name, _checkpoint(folder, name, plan)
    text = json.dumps(plan, indent=2, ensure_ascii=False) + "\n"

    def write_plan() -> None:
        write_whole(path, text)
        checkpoint.save(True)

    advice = "give an empty folder or delete this one"
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: found a file, expected a folder: give another path")
    folder.mkdir(parents=True, exist_ok=True)
    # In this order, or another process might write the plan and a shard between the two looks.
    found_shards = any(folder.glob("part-*.parquet"))
    if not path.exists():
        if found_shards:
            raise InputError(f"{folder}: found shards without {name}, expected both or neither: {advice}")
        write_plan()
        return
    content = path.read_bytes() if path.is_file() else b""
    if content == text.encode():
        return
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if found == plan or checkpoint.load() is not None:
        report(f"{path} is damaged: it is written again")
        write_plan()
        return
    if not isinstance(found, dict):
        raise InputError(f"{path}: found no JSON object, expected the plan of this {what}: {advice}")
    differences = [
        _difference(key, found.get(key), plan.get(key)) for key in {**plan, **found} if found.get(key) != plan.get(key)
    ]
    if differences:
        raise InputError(
            f"{path}: found the plan of another {what}, expected the plan of this one"
            f" ({', '.join(differences)}): {advice}"
        )


def _difference(key: str, found: Any, expected: Any) -> str:
    if isinstance(found, dict) or isinstance(expected, dict):
        return f"another {key}"
    # Twelve characters tell two digests apart and keep the message short.
    return f"{key} {found!s:.12} instead of {expected!s:.12}"
