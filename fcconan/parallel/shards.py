"""Shards of work: files that are written atomically, with checkpoints.

A file gets its final name only once it is complete; until then its name is hidden and holds host and process. The
checkpoint of a shard, in the folder `_checkpoints`, has the hash of the file and all inputs that determine its bytes.
A shard is finished while file and checkpoint agree, so an interrupted run continues. `claim_shards` writes these inputs
before the first shard, and refuses a folder with other inputs.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.data import Checkpoint, file_sha256, new_file, report, short_hash, write_whole
from fcconan.errors import InputError

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


def is_finished(folder: Path, shard: Shard, inputs: Mapping[str, Any]) -> bool:
    """Returns whether the file of a shard exists, is undamaged, and was written from these inputs.

    A file that differs from its checkpoint is reported on standard error.

    Args:
        folder: Folder of the shards.
        shard: The shard.
        inputs: All inputs that determine the bytes of the shards.
    """
    path = folder / shard.name
    expected = _checkpoint(folder, shard.name, inputs).load()
    if expected is None:
        return False
    try:
        whole = bool(file_sha256(path) == expected)
    except OSError:
        return False
    if not whole:
        report(f"{path} is damaged: it is computed again")
    return whole


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


def claim_shards(folder: Path, name: str, plan: Mapping[str, Any]) -> None:
    """Writes the plan of the shards into their folder, or checks that the plan in the folder is the same.

    The plan has a checkpoint. A damaged plan is written again if the checkpoint is of the same plan.

    Args:
        folder: Folder of the shards; it is created if it does not exist.
        name: Name of the file of the plan.
        plan: All inputs that determine the bytes of the shards, as JSON-able values.

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
        raise InputError(f"{path}: found no JSON object, expected the plan of this pairing: {advice}")
    differences = ", ".join(
        _difference(key, found.get(key), plan.get(key)) for key in {**plan, **found} if found.get(key) != plan.get(key)
    )
    raise InputError(
        f"{path}: found the plan of another pairing, expected the plan of this one ({differences}): {advice}"
    )


def _difference(key: str, found: Any, expected: Any) -> str:
    if isinstance(found, dict) or isinstance(expected, dict):
        return f"another {key}"
    # Twelve characters of a hash identify it, and keep the message short.
    return f"{key} {found!s:.12} instead of {expected!s:.12}"
