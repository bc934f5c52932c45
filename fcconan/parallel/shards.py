"""Work cut into shards: each is a file that any process may write, whole or not at all; finished ones stay.

A file has its final name only once it is complete; until then it has a hidden one with host and process. Its checkpoint
in the folder `_checkpoints` holds its hash, sealed with everything that determines its bytes. A shard is finished while
file and checkpoint agree, so that an interrupted run continues and several machines can share a folder. `claim` first
writes the inputs of the shards, and refuses a folder with other inputs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from fcconan.data import Checkpoint, new_file, remove_stale, report, sha256_of, short_hash, write_whole
from fcconan.errors import InputError
from fcconan.parallel.workers import Workers

Progress = Callable[[int, int], None]
_CHECKPOINTS = "_checkpoints"


@dataclass(frozen=True)
class Shard:
    """A part of the work.

    Attributes:
        number: Its number, from 0.
        count: The number of all shards.
        start: Its first unit of work.
        stop: The first unit after it.
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
    """Work that writes shards. It is sent to other processes, so it is small: its data are in the folder.

    Attributes:
        folder: The folder of the shards, under the path that every process sees.
        inputs: Everything that determines the bytes of the shards, as values that JSON can hold; a digest suffices.
    """

    @property
    def folder(self) -> Path:
        """The folder of the shards."""
        ...

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Everything that determines the bytes of the shards."""
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


@dataclass(frozen=True)
class Portion:
    """One of several portions of the work, for as many machines; together they are the whole.

    Attributes:
        number: Its number, from 1.
        count: The number of portions.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError(f"shard {self.number}/{self.count} does not exist: give K/N with K from 1 to N")

    def holds(self, key: str) -> bool:
        """Returns whether a key, such as the id of an item, belongs to it; a key belongs to exactly one portion."""
        return int(short_hash(key), 16) % self.count == self.number - 1

    def select(self, shards: Sequence[Shard]) -> list[Shard]:
        """Returns its shards, which are as many as those of other portions or one less."""
        return list(shards[self.number - 1 :: self.count])


def finish(work: Work, shard: Shard) -> None:
    """Writes the file of a shard whole or not at all, and its checkpoint, in this process.

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
    with new_file(folder / shard.name) as temporary:
        write(shard, temporary)
        _checkpoint(folder, shard.name, inputs).save(sha256_of(temporary))


def run(
    work: Work, shards: Sequence[Shard], workers: Workers | None = None, *, progress: Progress | None = None
) -> None:
    """Finishes shards; a worker that is killed costs the shard that it was at, which is written again.

    Args:
        work: The work.
        shards: The wanted ones; finished ones stay as they are.
        workers: Where it is done; by default in this process.
        progress: Receives finished units of work and all of them, first for the shards that were found finished, if
            any, then after each shard. An error that it raises stops the call.

    Raises:
        InputError: A shard cannot be written, or worker after worker was killed at one; the other shards stay.
    """
    missing = [shard for shard in shards if not is_finished(work.folder, shard, work.inputs)]
    total = sum(shard.size for shard in shards)
    done = total - sum(shard.size for shard in missing)
    report_progress = progress or (lambda done, total: None)
    if done:
        report_progress(done, total)
    workers = workers or Workers([])
    try:
        for number, _ in workers.map(partial(finish, work), missing):
            done += missing[number].size
            report_progress(done, total)
    except BaseException:
        workers.close()  # a process in the middle of a shard leaves its file
        for shard in missing:
            remove_stale(work.folder / shard.name)
        raise


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
    differences = ", ".join(
        _difference(key, found.get(key), plan.get(key)) for key in {**plan, **found} if found.get(key) != plan.get(key)
    )
    raise InputError(
        f"{path}: found the plan of another {what}, expected the plan of this one ({differences}): {advice}"
    )


def _difference(key: str, found: Any, expected: Any) -> str:
    if isinstance(found, dict) or isinstance(expected, dict):
        return f"another {key}"
    # Twelve characters tell two digests apart and keep the message short.
    return f"{key} {found!s:.12} instead of {expected!s:.12}"
