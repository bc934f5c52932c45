"""Tables as a hash per column, so that a difference names the column and no text enters the record."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from tests.golden.masks import MASK, masked, rounded

Json = Any
Row = dict[str, Any]
CARD, MANIFEST = "README.md", "manifest.json"


def column_hash(values: Iterable[Any], *, digits: int | None = None) -> str:
    """Returns 16 hex digits over the values in row order, each as canonical JSON.

    Args:
        values: The values.
        digits: Significant digits of computed floats; None for values that are read and not computed.
    """
    found = hashlib.sha256()
    for value in values:
        kept = value if digits is None else rounded(value, digits)
        found.update(json.dumps(kept, sort_keys=True, ensure_ascii=False, default=str).encode() + b"\n")
    return found.hexdigest()[:16]


def digest(path: Path, *, digits: int | None = None) -> Json:
    """Returns the number of rows of a parquet file and each column's type and hash, in the order of the columns."""
    table = pq.read_table(path)
    columns = [
        {
            "column": field.name,
            "type": str(field.type),
            "missing": table[field.name].null_count,
            "sha256": column_hash(table[field.name].to_pylist(), digits=digits),
        }
        for field in table.schema
    ]
    return {"rows": table.num_rows, "columns": columns}


def rows(path: Path) -> list[Row]:
    """Returns the rows of a parquet file."""
    found: list[Row] = pq.read_table(path).to_pylist()
    return found


def split_file(folder: Path, config: str, split: str) -> Path:
    """Returns the file of one split of a dataset folder."""
    (path,) = (folder / config).glob(f"{split}-*-of-*.parquet")
    return path


def tables(folder: Path) -> Json:
    """Returns the digest of every config and split of a dataset folder."""
    found = sorted(folder.glob("*/*.parquet"))
    return {f"{path.parent.name}/{path.name.rsplit('-', 3)[0]}": digest(path) for path in found}


def dataset(folder: Path) -> Json:
    """Returns tables, manifest and the card's header, without bytes, versions of libraries and the card's prose."""
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    # The bytes of parquet files and of the card follow from versions of libraries and from prose.
    manifest["files"] = sorted(manifest["files"])
    return {"tables": tables(folder), "manifest": masked(manifest), "card": masked(header(folder / CARD))}


def header(path: Path) -> Json:
    """Returns the YAML header of a card without the sizes of files, its features as one hash per config."""
    text = path.read_text(encoding="utf-8")
    found = yaml.safe_load(text.split("\n---\n")[0].removeprefix("---\n"))
    for config in _listed(found.get("dataset_info")):
        config["features"] = column_hash(config.get("features", []))
        config |= {name: MASK for name in ("download_size", "dataset_size") if name in config}
        for split in config.get("splits", []):
            split["num_bytes"] = MASK
    return found


def _listed(value: Any) -> list[Row]:
    return value if isinstance(value, list) else [value] if value else []
