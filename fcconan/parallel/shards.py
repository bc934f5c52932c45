"""Shards of work: files that any process may write atomically, with checkpoints.

A file gets its final name only once it is complete; until then its name is hidden and holds host and process. The
checkpoint of a shard, in the folder `_checkpoints`, has the hash of the file and all inputs that determine its bytes.
A shard is finished while file and checkpoint agree. So an interrupted run continues, and several machines can share a
folder. `claim_shards` writes these inputs before the first shard, and refuses a folder with other inputs.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

from fcconan.data import Checkpoint, file_sha256, new_file, remove_stale, report, short_hash, write_whole
from fcconan.errors import InputError
from fcconan.parallel.workers import Workers

Progress = Callable[[int, int], None]
_CHECKPOINTS = "_checkpoints"


@dataclass(frozen=True)
class Shard:
    """A range of units of work, written to one file.

    Attributes:
        number: Number of the shard, from 0.
        count: Number of all shards.
        start: First unit of the range.
        stop: End of the range, exclusive.
    """

    number: int
    count: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """The number of units of work."""
        return self.stop - self.start

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"part-{self.number:05d}-of-{self.count:05d}.parquet"


class ShardWriter(Protocol):
    """Writes shards. It is pickled for other processes, so large data belong into files in the folder.

    Attributes:
        folder: Folder of the shards, under a path that every process sees.
        inputs: All inputs that determine the bytes of the shards, as JSON-able values; hashes suffice.
    """

    @property
    def folder(self) -> Path:
        """The folder of the shards."""
        ...

    @property
    def inputs(self) -> Mapping[str, Any]:
        """All inputs that determine the bytes of the shards."""
        ...

    def write(self, shard: Shard, path: Path) -> None:
        """Writes a shard to a path: the same bytes in every process.

        Raises:
            InputError: The shard cannot be computed.
        """
        ...


def make_shards(size: int, per_shard: int) -> list[Shard]:
    """Divides units of work into shards of equal size; the last one may be smaller.

    Args:
        size: Number of units of work.
        per_shard: Number of units in each shard.
    """
    starts = range(0, size, per_shard)
    return [Shard(number, len(starts), start, min(start + per_shard, size)) for number, start in enumerate(starts)]


@dataclass(frozen=True)
class Portion:
    """The share of one machine in work that several machines divide: `--shard K/N`.

    Attributes:
        number: Number of the portion, from 1.
        count: Number of portions.

    Raises:
        InputError: The number is outside of 1 to `count`.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise InputError(f"shard {self.number}/{self.count} does not exist: give K/N with K from 1 to N")

    def holds(self, key: str) -> bool:
        """Returns whether a key, such as the id of an item, is in this portion. Each key is in exactly one portion."""
        return int(short_hash(key), 16) % self.count == self.number - 1

    def select(self, shards: Sequence[Shard]) -> list[Shard]:
        """Returns the shards of this portion. The sizes of portions differ by one shard at most."""
        return list(shards[self.number - 1 :: self.count])


def finish_shard(work: ShardWriter, shard: Shard) -> None:
    """Writes the file of a shard atomically, and its checkpoint, in this process.

    Raises:
        InputError: The shard cannot be computed, or the file cannot be written.
    """
    try:
        write_shard(work.folder, shard, work.inputs, work.write)
    except OSError as error:
        raise InputError(
            f"{work.folder / shard.name} cannot be written ({error.strerror or error}): check whether the disk is "
            "full, and run the same command again to continue"
        ) from error


def is_finished(folder: Path, shard: Shard, inputs: Mapping[str, Any]) -> bool:
    """Returns whether the file of a shard exists, is undamaged, and was written from these inputs.

    A file that differs from its checkpoint is reported on standard error.

    Args:
        folder: Folder of the shards.
        shard: The shard.
        inputs: All inputs that determine the bytes of the shards.
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
    """Returns the sha256 of a file; cached in this process while size, time and inode are unchanged."""
    return file_sha256(path)


def _checkpoint(folder: Path, name: str, inputs: Mapping[str, Any]) -> Checkpoint:
    return Checkpoint(folder / _CHECKPOINTS / f"{name}.json", {"file": name, **inputs})


def write_shard(folder: Path, shard: Shard, inputs: Mapping[str, Any], write: Callable[[Shard, Path], None]) -> None:
    """Writes the file of a shard atomically, and its checkpoint.

    Args:
        folder: Folder of the shards.
        shard: The shard.
        inputs: All inputs that determine the bytes of the shards.
        write: Function that writes the shard to a temporary path.

    Raises:
        OSError: The disk is full, or the folder is read-only.
    """
    with new_file(folder / shard.name) as temporary:
        write(shard, temporary)
        _checkpoint(folder, shard.name, inputs).save(file_sha256(temporary))


def run_shards(
    work: ShardWriter, shards: Sequence[Shard], workers: Workers | None = None, *, progress: Progress | None = None
) -> None:
    """Writes the shards that are not finished yet. If a worker is killed, another one writes its shard again.

    Args:
        work: The object that writes shards.
        shards: The shards to write; finished ones stay unchanged.
        workers: The workers; by default, shards are written in this process.
        progress: Function of the numbers of finished units and of all units. It is called after each shard, and at the
            start if some shards are finished already. An error that it raises stops the run.

    Raises:
        InputError: A shard cannot be written, or several workers were killed at the same shard. The others stay.
    """
    missing = [shard for shard in shards if not is_finished(work.folder, shard, work.inputs)]
    total = sum(shard.size for shard in shards)
    done = total - sum(shard.size for shard in missing)
    report_progress = progress or (lambda done, total: None)
    if done:
        report_progress(done, total)
    workers = workers or Workers([])
    try:
        for number, _ in workers.map(partial(finish_shard, work), missing):
            done += missing[number].size
            report_progress(done, total)
    except BaseException:
        workers.close()  # a process that ends in the middle of a shard leaves a temporary file
        for shard in missing:
            remove_stale(work.folder / shard.name)
        raise


def claim_shards(folder: Path, name: str, plan: Mapping[str, Any], *, kind: str) -> None:
    """Writes the plan of the shards into their folder, or checks that the plan in the folder is the same.

    The plan has a checkpoint. A damaged plan is written again if the checkpoint is of the same plan.

    Args:
        folder: Folder of the shards; it is created if it does not exist.
        name: Name of the file of the plan.
        plan: All inputs that determine the bytes of the shards, as JSON-able values.
        kind: Name of the work for messages, such as `pairing`.

    Raises:
        InputError: The folder holds shards of another plan, or shards without a plan.
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
    # Shards first: otherwise another process might write plan and shard between the two checks.
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
        raise InputError(f"{path}: found no JSON object, expected the plan of this {kind}: {advice}")
    differences = ", ".join(
        _difference(key, found.get(key), plan.get(key)) for key in {**plan, **found} if found.get(key) != plan.get(key)
    )
    raise InputError(
        f"{path}: found the plan of another {kind}, expected the plan of this one ({differences}): {advice}"
    )


def _difference(key: str, found: Any, expected: Any) -> str:
    if isinstance(found, dict) or isinstance(expected, dict):
        return f"another {key}"
    # Twelve characters of a hash identify it, and keep the message short.
    return f"{key} {found!s:.12} instead of {expected!s:.12}"
