"""Small dataset folders, written as `fcconan build` lays them out."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def write_part(folder: Path, config: str, split: str, rows: Rows) -> Path:
    """Writes one split of one config and returns the folder of the dataset."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / config / f"{split}-00000-of-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return folder


def write_manifest(folder: Path, name: str = "small", *, labels_only: bool = False) -> None:
    """Writes a manifest of the form that is checked."""
    manifest = {
        "format": 1,
        "name": name,
        "labels_only": labels_only,
        "tier_rule": None,
        "package": {"name": "fcconan", "version": "0.1.0"},
        "fingerprint": "0123456789ab",
        "versions": {"train": "1.0.0"},
        "counts": {"train": {"train": 2}},
        "files": {"README.md": {"sha256": "0" * 64, "bytes": 0}},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def write_lines(path: Path, rows: Rows) -> Path:
    """Writes rows as JSONL and returns the file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def pair(hate_speech: str, counter_narrative: str, **more: Any) -> dict[str, Any]:
    """Returns a pair without ids."""
    return {"hate_speech": hate_speech, "counter_narrative": counter_narrative, **more}
