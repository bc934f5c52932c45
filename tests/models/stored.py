"""The answers in a store, as the tests read them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from fcconan.models import store_path

_COLUMNS = ("key", "sample", "epoch", "at", "seconds", "usage", "request", "response")


def records(path: Path) -> list[dict[str, Any]]:
    """All answers with their requests, in order of insertion; none without a file."""
    store = store_path(path)
    if not store.exists():
        return []
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM answers ORDER BY rowid").fetchall()
    found = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    texts = ("usage", "request", "response")
    return [
        row | {"key": row["key"].hex()} | {name: json.loads(row[name] or "null") for name in texts} for row in found
    ]
