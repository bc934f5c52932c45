"""The requests of a benchmark, counted by a dry run."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from fcconan.retrieval.collections import Collection
from fcconan.retrieval.run_cache import KeptRuns, asks_endpoint, load_run
from fcconan.retrieval.systems import Retriever


def count_requests(
    collection: Collection,
    systems: Sequence[Retriever],
    depth: int,
    *,
    kept: KeptRuns | None,
    progress: Callable[[str], None],
) -> list[str]:
    """Lets systems behind endpoints rank with clients that count requests; see `fcconan.models.DryClient`.

    Args:
        collection: The dataset.
        systems: The systems. Those that call no endpoint do not run.
        depth: Number of CNs that each system returns.
        kept: Cached runs; None for no cache.
        progress: Receives a line for each system.

    Returns:
        Names of the systems whose runs are in the cache, so that they request nothing.
    """
    cached = []
    for system in systems:
        if not asks_endpoint(getattr(system, "configuration", None)):
            continue
        checkpoint = kept.checkpoint(system, collection, depth) if kept is not None else None
        if checkpoint is not None and load_run(checkpoint) is not None:
            cached.append(system.name)
            continue
        progress(f"{system.name}: counting requests")
        # What follows from missing responses is no matter here; the requests before it are counted.
        with suppress(Exception):
            system.rank(collection.queries, collection.corpus, depth)
    return cached
