"""Exhaustive pairing: every HS with every CN, as ids, streamed into parquet shards.

Each worker has one row group in memory at a time. Memory depends on the row group and on the two lists, not on their
product.
"""

import hashlib
import inspect
import json
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from fcconan.errors import InputError
from fcconan.parallel import Shard, claim_shards, is_finished, make_shards, write_shard

PLAN_NAME = "pairing.json"
ROWS_PER_SHARD = 1_000_000

# Increase it with each change of the bytes of shards, so that a resumed folder does not mix two layouts.
_LAYOUT = 1
# Twice as many rows would save a fifth of the disk space, but use a fifth more memory and slow down a single thread.
_ROWS_PER_GROUP = 125_000
# Pages are compressed separately, and a row resembles the one a whole CN list earlier, so pages must be long.
# Without the second option, newer versions of pyarrow end a page after 20,000 rows.
_PAGE_OPTIONS = {"data_page_size": 4 * 1024 * 1024}
if "max_rows_per_page" in inspect.signature(pq.ParquetWriter).parameters:
    _PAGE_OPTIONS["max_rows_per_page"] = _ROWS_PER_GROUP
# The files have plain strings. In memory, 64-bit offsets allow row groups beyond 2 GiB, and the parquet writer is
# fastest with dictionaries.
_PAIR_ID_SCHEMA = pa.schema(
    {
        "pair_id": pa.large_string(),
        "hs_id": pa.dictionary(pa.int32(), pa.string()),
        "cn_id": pa.dictionary(pa.int32(), pa.string()),
    }
)
# Every job needs memory for a row group; beyond this number, the disk and the interpreter lock limit the speed.
_MOST_JOBS = 8

_Integers = npt.NDArray[np.int64]


def write_exhaustive_pairs(
    hs_ids: Sequence[str],
    cn_ids: Sequence[str],
    folder: Path,
    *,
    rows_per_shard: int = ROWS_PER_SHARD,
    jobs: int | None = None,
) -> list[Path]:
    """Writes the ids of all combinations of HS and CN to parquet shards.

    The columns are the strings `pair_id` (`<hs id>:<cn id>`), `hs_id` and `cn_id`. The rows have all CNs in the given
    order for the first HS, then for the second, and so on. The bytes depend on the ids, on `rows_per_shard` and on the
    version of pyarrow, but not on `jobs`. Pair ids are unique if no HS id contains a colon.

    A complete shard gets its final name and a checkpoint in `_checkpoints`. Repeat an interrupted call to resume it:
    finished shards that match their checkpoints are unchanged. `pairing.json` records the ids and the shard size. Only
    one call at a time may write to a folder.

    Args:
        hs_ids: Ids of the HS, without duplicates.
        cn_ids: Ids of the CNs, without duplicates.
        folder: Folder of the shards; created if it does not exist.
        rows_per_shard: Number of pairs in each shard except the last.
        jobs: Number of threads; by default one per processor, at most eight.

    Returns:
        The paths of all shards, in row order.

    Raises:
        InputError: A list is empty or has duplicates, or the folder has shards of other ids or another shard size.
    """
    _require_distinct("HS", hs_ids)
    _require_distinct("CN", cn_ids)
    if jobs is None:
        jobs = min(os.cpu_count() or 1, _MOST_JOBS)

    product = _IdProduct.from_ids(hs_ids, cn_ids)
    shards = make_shards(product.size, rows_per_shard)
    plan = {
        "layout": _LAYOUT,
        "hs_count": len(hs_ids),
        "hs_digest": _hash_texts(hs_ids),
        "cn_count": len(cn_ids),
        "cn_digest": _hash_texts(cn_ids),
        "rows_per_shard": rows_per_shard,
        "shards": len(shards),
    }
    claim_shards(folder, PLAN_NAME, plan)

    missing = [shard for shard in shards if not is_finished(folder, shard, plan)]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        # After an error, `map` cancels the queued shards.
        list(pool.map(lambda shard: write_shard(folder, shard, plan, product.write), missing))
    return [folder / shard.name for shard in shards]


@dataclass(frozen=True)
class _IdProduct:
    """The two lists of ids, prepared for row groups."""

    hs: list[bytes]
    cn: list[bytes]
    hs_lengths: _Integers
    cn_lengths: _Integers
    hs_array: pa.Array
    cn_array: pa.Array

    @classmethod
    def from_ids(cls, hs_ids: Sequence[str], cn_ids: Sequence[str]) -> "_IdProduct":
        hs = [text.encode() for text in hs_ids]
        cn = [text.encode() for text in cn_ids]
        return cls(
            hs=hs,
            cn=cn,
            hs_lengths=np.array([len(text) for text in hs], dtype=np.int64),
            cn_lengths=np.array([len(text) for text in cn], dtype=np.int64),
            hs_array=pa.array(hs_ids, pa.string()),
            cn_array=pa.array(cn_ids, pa.string()),
        )

    @property
    def size(self) -> int:
        return len(self.hs) * len(self.cn)

    def rows(self, start: int, stop: int) -> pa.Table:
        width = len(self.cn)
        hs_index, cn_index = np.divmod(np.arange(start, stop, dtype=np.int64), width)
        first, last = int(hs_index[0]), int(hs_index[-1])

        # All pair ids in one buffer: `bytes.join` puts "<hs id>:" before every CN id of one HS at the speed of a
        # memory copy.
        pieces = []
        for position in range(first, last + 1):
            prefix = self.hs[position] + b":"
            begin = max(start - position * width, 0)
            end = min(stop - position * width, width)
            pieces += [prefix, prefix.join(self.cn[begin:end])]
        offsets = np.zeros(stop - start + 1, dtype=np.int64)
        np.cumsum(self.hs_lengths[hs_index] + self.cn_lengths[cn_index] + 1, out=offsets[1:])
        pair_ids = pa.LargeStringArray.from_buffers(stop - start, pa.py_buffer(offsets), pa.py_buffer(b"".join(pieces)))
        hs_column = _id_column(hs_index - first, self.hs_array[first : last + 1])
        return pa.table([pair_ids, hs_column, _id_column(cn_index, self.cn_array)], schema=_PAIR_ID_SCHEMA)

    def write(self, shard: Shard, path: Path) -> None:
        with _open_writer(path) as writer:
            for start in range(shard.start, shard.stop, _ROWS_PER_GROUP):
                writer.write_table(self.rows(start, min(start + _ROWS_PER_GROUP, shard.stop)))


def _id_column(index: npt.NDArray[Any], texts: pa.Array) -> pa.Array:
    """Returns texts by their positions, as a column of ids."""
    return pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32)), texts, safe=False)


def _open_writer(path: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        _PAIR_ID_SCHEMA,
        # The lowest level of zstd already exploits the repetition of pair ids; higher levels and delta encodings are
        # slower and save little.
        compression="zstd",
        compression_level=1,
        use_dictionary=["hs_id", "cn_id"],
        # Rows are in HS order, so readers can skip row groups only by these bounds.
        write_statistics=["hs_id"],
        write_batch_size=8192,
        # Otherwise readers get dictionary columns instead of strings.
        store_schema=False,
        **_PAGE_OPTIONS,
    )


def _require_distinct(kind: str, ids: Sequence[str]) -> None:
    """Checks that a list of ids is not empty and has no duplicates.

    Raises:
        InputError: The list is empty or has duplicates.
    """
    if not ids:
        raise InputError(f"no {kind} ids, expected at least one: check the texts that are paired")
    if len(set(ids)) < len(ids):
        text = next(text for text, count in Counter(ids).items() if count > 1)
        raise InputError(f"{kind} id {text!r} occurs twice, expected distinct ids: remove the duplicates")


def _hash_texts(texts: Sequence[str]) -> str:
    """Returns the sha256 of a list of texts."""
    # JSON rather than joined text, so that no two lists give the same bytes.
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
