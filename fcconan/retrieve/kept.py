"""Finished runs, kept on disk under the hash of everything that changed them, so that no system is ranked twice."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fcconan
from fcconan.retrieve.collection import Collection
from fcconan.retrieve.system import Rankings, Retriever
from fcconan.whole_files import write_whole

FORMAT = 1


class KeptRuns:
    """A folder of finished runs.

    Args:
        folder: The folder; it is made when the first run is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, system: Retriever, collection: Collection, depth: int) -> Path | None:
        """Returns where a run is kept; None for a system that does not say what changes its output."""
        configuration = getattr(system, "configuration", None)
        if configuration is None:
            return None
        what = {
            "format": FORMAT,
            "version": fcconan.__version__,
            "configuration": configuration,
            "dataset": collection.fingerprint,
            "catalogue": hashlib.sha256("\n".join(collection.corpus).encode()).hexdigest(),
            "training": hashlib.sha256(json.dumps(collection.train).encode()).hexdigest(),
            "queries": hashlib.sha256("\n".join(collection.queries).encode()).hexdigest(),
            "depth": depth,
        }
        key = hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()[:16]
        readable = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in system.name)[:60]
        return self.folder / f"{readable}-{key}.json"

    def load(self, path: Path | None) -> Rankings | None:
        """Reads a kept run; None if there is none, or if the file cannot be read."""
        if path is None or not path.is_file():
            return None
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            rankings = {query: [(str(key), float(score)) for key, score in run] for query, run in data["run"].items()}
            return Rankings(rankings, diagnostics=data["diagnostics"], resolved=data["resolved"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def keep(self, path: Path | None, found: Rankings, configuration: Mapping[str, Any] | None) -> None:
        """Writes a run, whole or not at all. A run with failures is not kept: the next call tries them again."""
        if path is None or found.failures:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        data = {
            "configuration": configuration,
            "resolved": found.resolved,
            "diagnostics": found.diagnostics,
            "run": dict(found),
        }
        write_whole(path, json.dumps(data, ensure_ascii=False, default=str) + "\n")


def default_folder() -> Path:
    """Returns the folder where runs are kept: `$FCCONAN_CACHE/runs`, or `runs` in the user's cache folder."""
    import pooch

    return Path(os.environ.get("FCCONAN_CACHE") or pooch.os_cache("fcconan")) / "runs"
