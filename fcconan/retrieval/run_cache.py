"""Cache of finished runs, and the number of requests of systems without a cached run."""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fcconan
from fcconan.data import Checkpoint, cache_folder, file_sha256, short_hash
from fcconan.models import AnswerStore
from fcconan.retrieval.collections import Collection
from fcconan.retrieval.systems import Rankings, Retriever


class RunCache:
    """Cache of finished runs in a folder.

    Args:
        folder: Folder of the cache; it is created with the first run.
        answers: Function that opens the store of responses of endpoints. The run of a system behind an endpoint belongs
            to one epoch of the store; `--fresh` starts a new epoch, in which the system ranks again.
        dry_run: Whether nothing is written, so that no new epoch is started.

    Attributes:
        dates: Name of a system behind an endpoint -> date of its cached run that was used (ISO 8601).
    """

    def __init__(
        self, folder: Path, answers: Callable[[], AnswerStore] | None = None, *, dry_run: bool = False
    ) -> None:
        self.folder, self._dry_run = folder, dry_run
        self._answers = answers
        self.dates: dict[str, str] = {}

    def checkpoint(self, system: Retriever, collection: Collection, depth: int) -> Checkpoint | None:
        """Returns the checkpoint of a run; None for a system without a `configuration`, or without a source file."""
        configuration = getattr(system, "configuration", None)
        code = _source_hash(system)
        if configuration is None or code is None:
            return None
        inputs: dict[str, Any] = {
            "version": fcconan.__version__,
            "configuration": configuration,
            "dataset": collection.fingerprint,
            "catalogue": _sha256(list(collection.corpus)),
            "training": _sha256(collection.train),
            "queries": _sha256(list(collection.queries)),
            "depth": depth,
        }
        if code:
            inputs["code"] = code
        if epoch := self._epoch(configuration):
            inputs["epoch"] = epoch
        key = short_hash(json.dumps(inputs, sort_keys=True))
        readable = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in system.name)[:60]
        return Checkpoint(self.folder / f"{readable}-{key}.json", inputs)

    def record_use(self, system: Retriever, checkpoint: Checkpoint) -> None:
        """Records that a cached run was used."""
        if uses_endpoint(getattr(system, "configuration", None)):
            saved = datetime.fromtimestamp(checkpoint.path.stat().st_mtime, UTC)
            self.dates[system.name] = saved.date().isoformat()

    def _epoch(self, configuration: Any) -> int:
        if self._answers is None or not uses_endpoint(configuration):
            return 0
        answers = self._answers()
        if answers.is_fresh and not self._dry_run:
            answers.prepare()
        return answers.epoch


def _source_hash(system: Retriever) -> str | None:
    """Returns the sha256 of the module of a user's system; "" for systems of this package, None without a file."""
    module = sys.modules.get(type(system).__module__)
    if module is None or module.__name__ == "__main__":
        return None
    if module.__name__.split(".")[0] == fcconan.__name__:
        return ""
    path = Path(getattr(module, "__file__", None) or "")
    return file_sha256(path) if path.is_file() else None


def uses_endpoint(configuration: Any) -> bool:
    """Returns whether a system calls models behind an endpoint."""
    return '"endpoint"' in json.dumps(configuration, default=str)


def load_run(checkpoint: Checkpoint) -> Rankings | None:
    """Returns the cached run of a checkpoint; None if it does not exist."""
    data = checkpoint.load()
    if data is None:
        return None
    rankings = {query: [(key, score) for key, score in run] for query, run in data["run"].items()}
    return Rankings(rankings)


def save_run(checkpoint: Checkpoint, found: Rankings) -> None:
    """Saves a run without failures; a run with failures is not saved, so that the next call repeats it."""
    if found.failures:
        return
    data: Mapping[str, Any] = {"run": dict(found)}
    # A failed write costs only time, and values that are not JSON-able could not be restored.
    with suppress(OSError, TypeError):
        checkpoint.save(data)


def default_folder() -> Path:
    """Returns the default folder of cached runs: `$FCCONAN_CACHE/runs`, or `runs` in the user's cache folder."""
    return cache_folder() / "runs"


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def count_requests(
    collection: Collection,
    systems: Sequence[Retriever],
    depth: int,
    *,
    cache: RunCache | None,
    progress: Callable[[str], None],
) -> list[str]:
    """Runs systems behind endpoints with clients that only count requests; see `fcconan.models.DryClient`.

    Args:
        collection: The dataset.
        systems: The systems; those without an endpoint are skipped.
        depth: Number of CNs that each system returns.
        cache: Cache of finished runs; None for no cache.
        progress: Function that receives a line of text for each system.

    Returns:
        Names of the systems with a cached run, which need no requests.
    """
    cached = []
    for system in systems:
        if not uses_endpoint(getattr(system, "configuration", None)):
            continue
        checkpoint = cache.checkpoint(system, collection, depth) if cache is not None else None
        if checkpoint is not None and load_run(checkpoint) is not None:
            cached.append(system.name)
            continue
        progress(f"{system.name}: counting requests")
        # Requests are counted before a missing response can raise an error.
        with suppress(Exception):
            system.rank(collection.queries, collection.corpus, depth)
    return cached
