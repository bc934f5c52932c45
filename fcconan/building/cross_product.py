"""Exhaustive pairing: every HS with every CN, as ids, streamed into parquet shards.

The product of the two lists never exists in memory: each worker holds one row group at a time, so memory
depends on the row group and on the two lists, not on their product.
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

# Part of the plan: raise it when a change here alters the bytes of a shard, so that a resumed folder never
# mixes shards of two layouts.
_LAYOUT = 1
# Twice as many would save a fifth of the disk space, for a fifth more memory and a slower single thread.
_ROWS_PER_GROUP = 125_000
# A page is compressed by itself, and a row resembles the one a whole CN list earlier, so pages must be long.
# Versions of pyarrow that know the second option otherwise end a page after 20,000 rows.
_PAGE_OPTIONS = {"data_page_size": 4 * 1024 * 1024}
if "max_rows_per_page" in inspect.signature(pq.ParquetWriter).parameters:
    _PAGE_OPTIONS["max_rows_per_page"] = _ROWS_PER_GROUP
# The files hold plain strings. Here, 64-bit offsets are for long ids, which could pass 2 GiB in a row group,
# and dictionaries are what the parquet writer takes fastest.
PAIR_ID_SCHEMA = pa.schema(
    {
        "pair_id": pa.large_string(),
        "hs_id": pa.dictionary(pa.int32(), pa.string()),
        "cn_id": pa.dictionary(pa.int32(), pa.string()),
    }
)
# Every job holds a row group, and beyond this many the disk and the interpreter lock set the pace.
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
    """Write every (HS, CN) combination, ids only, to parquet shards.

    The columns are the strings `pair_id` ("<hs id>:<cn id>"), `hs_id` and `cn_id`; the rows run through the
    CNs in the given order for the first HS, then for the second, and so on. The bytes depend on the ids, on
    `rows_per_shard` and on the version of pyarrow, never on `jobs`. Pair ids are distinct as long as no HS id
    contains a colon.

    A shard gets its final name only once it is complete, and then a checkpoint in `_checkpoints`. A call that was
    interrupted is resumed by the same call: finished shards stay as they are while they agree with their checkpoints,
    and `pairing.json`, written first, tells whether they belong to the same ids and shard size. One call at a time may
    write to a folder.

    Args:
        hs_ids: The ids of the HS, without duplicates.
        cn_ids: The ids of the CN, without duplicates.
        folder: Where the shards go; made if it does not exist.
        rows_per_shard: The number of pairs in every shard but the last.
        jobs: The number of threads; by default one per processor, at most eight.

    Returns:
        The paths of all shards, in row order.

    Raises:
        InputError: A list is empty or repeats an id, or the folder holds shards of other ids or of another shard
            size.
    """
    require_distinct("HS", hs_ids)
    require_distinct("CN", cn_ids)
    if jobs is None:
        jobs = min(os.cpu_count() or 1, _MOST_JOBS)

    product = _Product.of(hs_ids, cn_ids)
    shards = make_shards(product.size, rows_per_shard)
    plan = {
        "layout": _LAYOUT,
        "hs_count": len(hs_ids),
        "hs_digest": digest_of(hs_ids),
        "cn_count": len(cn_ids),
        "cn_digest": digest_of(cn_ids),
        "rows_per_shard": rows_per_shard,
        "shards": len(shards),
    }
    claim_shards(folder, PLAN_NAME, plan, kind="pairing")

    missing = [shard for shard in shards if not is_finished(folder, shard, plan)]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        # After an error `map` cancels the shards that are still queued.
        list(pool.map(lambda shard: write_shard(folder, shard, plan, product.write), missing))
    return [folder / shard.name for shard in shards]


@dataclass(frozen=True)
class _Product:
    """The two lists in the forms that a row group is made from."""

    hs: list[bytes]
    cn: list[bytes]
    hs_lengths: _Integers
    cn_lengths: _Integers
    hs_array: pa.Array
    cn_array: pa.Array

    @classmethod
    def of(cls, hs_ids: Sequence[str], cn_ids: Sequence[str]) -> "_Product":
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

        # The text of all pair ids in one buffer: `bytes.join` puts "<hs id>:" before every CN id of one HS
        # at the speed of a memory copy, whatever the widths of the ids.
        pieces = []
        for position in range(first, last + 1):
            prefix = self.hs[position] + b":"
            begin = max(start - position * width, 0)
            end = min(stop - position * width, width)
            pieces += [prefix, prefix.join(self.cn[begin:end])]
        offsets = np.zeros(stop - start + 1, dtype=np.int64)
        np.cumsum(self.hs_lengths[hs_index] + self.cn_lengths[cn_index] + 1, out=offsets[1:])
        pair_ids = pa.LargeStringArray.from_buffers(stop - start, pa.py_buffer(offsets), pa.py_buffer(b"".join(pieces)))
        hs_column = id_column(hs_index - first, self.hs_array[first : last + 1])
        return pa.table([pair_ids, hs_column, id_column(cn_index, self.cn_array)], schema=PAIR_ID_SCHEMA)

    def write(self, shard: Shard, path: Path) -> None:
        with open_writer(path) as writer:
            for start in range(shard.start, shard.stop, _ROWS_PER_GROUP):
                writer.write_table(self.rows(start, min(start + _ROWS_PER_GROUP, shard.stop)))


def id_column(index: npt.NDArray[Any], texts: pa.Array) -> pa.Array:
    """Returns texts by their positions, as a column of ids."""
    return pa.DictionaryArray.from_arrays(pa.array(index.astype(np.int32)), texts, safe=False)


def open_writer(path: Path, schema: pa.Schema = PAIR_ID_SCHEMA, *, scores: Sequence[str] = ()) -> pq.ParquetWriter:
    """Opens a parquet file of pairs for writing, with the options that make it small.

    Args:
        path: The file.
        schema: Of its columns; it has at least those of a shard of pairs.
        scores: Its columns of numbers, whose bounds and missing values each row group notes.
    """
    return pq.ParquetWriter(
        path,
        schema,
        # Pair ids repeat nearly whole from one HS to the next, which the lowest level of zstd already finds;
        # higher levels and delta encodings cost time and save little.
        compression="zstd",
        compression_level=1,
        use_dictionary=[field.name for field in schema if pa.types.is_dictionary(field.type)],
        # The rows are in HS order, so only these bounds let a reader skip a row group.
        write_statistics=["hs_id", *scores],
        write_batch_size=8192,
        # Readers would otherwise get dictionary columns instead of strings.
        store_schema=False,
        **({"use_byte_stream_split": list(scores)} if scores else {}),
        **_PAGE_OPTIONS,
    )


def require_distinct(kind: str, ids: Sequence[str]) -> None:
    """Checks that there are ids, and that they differ.

    Raises:
        InputError: There are none, or one occurs twice.
    """
    if not ids:
        raise InputError(f"no {kind} ids, expected at least one: check the texts that are paired")
    if len(set(ids)) < len(ids):
        text = next(text for text, count in Counter(ids).items() if count > 1)
        raise InputError(f"{kind} id {text!r} occurs twice, expected distinct ids: remove the repeats")


def digest_of(texts: Sequence[str]) -> str:
    """Returns the sha256 of a list of texts."""
    # JSON rather than joined text, so that no two lists give the same bytes.
    return hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()
