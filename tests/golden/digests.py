"""Digests of tables: one for each column, so that a new column counts as equal and texts stay out of the record."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.golden.values import Row


def digest(values: Iterable[Any]) -> str:
    """Returns 16 hex digits over values in their order, each as canonical JSON; floats with 9 significant digits."""
    found = hashlib.sha256()
    for value in values:
        kept = float(f"{value:.9g}") if isinstance(value, float) else value
        found.update(json.dumps(kept, sort_keys=True, ensure_ascii=False, default=str).encode() + b"\n")
    return found.hexdigest()[:16]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a parquet file."""
    found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def split_file(folder: Path, config: str, split: str) -> Path:
    """Returns the file of one split of a dataset folder."""
    (path,) = (folder / config).glob(f"{split}-*-of-*.parquet")
    return path


def dataset(folder: Path, row: str) -> Iterator[Row]:
    """Yields rows and digests of the columns of every config and split of a dataset folder; ids belong to D21."""
    for path in sorted(folder.glob("*/*.parquet")):
        keys = {"config": path.parent.name, "split": path.name.rsplit("-", 3)[0]}
        table = pq.read_table(path)
        yield Row("rows", keys, table.num_rows, row)
        for name in table.column_names:
            of = "D21" if name.endswith(("_id", "-id")) or name.startswith("reply_") else row
            yield Row(f"column {name}", keys, digest(table[name].to_pylist()), of)
