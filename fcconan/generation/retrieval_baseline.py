"""The retrieval baseline: the CN of a pool that a retrieval system ranks first for a message."""

from collections.abc import Iterable, Iterator
from typing import Any

from fcconan.data import make_cn_id
from fcconan.errors import InputError
from fcconan.generation.items import Generated, Item
from fcconan.generation.training_pool import TrainingPool
from fcconan.retrieval import make_systems, rank_all

NO_CANDIDATES = "no_candidates"


class RetrievalGenerator:
    """A system that replies with the CN of a pool, outside of the item's leakage group, that a retriever ranks first.

    All items are ranked together. Trained retrievers learn from pairs outside of the leakage groups of all items.

    Args:
        pool: Pairs whose CNs are ranked.
        retriever: A name, `module:factory` or object; see `fcconan.retrieval.make_systems`.
        name: Name of the system; by default the name of the retriever with `:retrieval`.
        options: Further arguments of `make_systems`.

    Attributes:
        name: Name of the system.
        strategy: `retrieval`.
        configuration: All settings that change the replies, as JSON-able values.

    Raises:
        InputError: The retriever is unknown or cannot be created.
    """

    strategy = "retrieval"

    def __init__(
        self,
        pool: TrainingPool,
        retriever: Any = "tfidf",
        *,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self.pool, self._retriever = pool, retriever
        self._texts: dict[str, str] = {}
        for pair in pool.pairs:
            self._texts.setdefault(pair.cn_id, pair.counter_narrative)
        self._options = options
        (system,) = make_systems([retriever], train=pool.training(), **options)
        self.name = name or f"{system.name}:retrieval"
        source = {
            "pool": pool.configuration,
            "retriever": system.name,
        }
        self.configuration: dict[str, Any] = {"strategy": self.strategy, "candidates": source}

    def answers(self, items: Iterable[Item]) -> Iterator[Generated]:
        """Yields the best CN for each item; the reason is `no_candidates` if all CNs are in its leakage group.

        Raises:
            InputError: The system cannot be used or returns an invalid ranking, or the pool is a benchmark of these
                items, so that only inappropriate CNs would remain.
        """
        asked = list(items)
        self._check_labels(asked)
        positions = [self.pool.excluded_pairs(item) for item in asked]
        left_out = [{self.pool.pairs[position].cn_id for position in excluded} for excluded in positions]
        train = self.pool.training(without=frozenset[int]().union(*positions))
        (system,) = make_systems([self._retriever], train=train, **self._options)
        depth = min(len(self._texts), 1 + max(map(len, left_out), default=0))
        ranked = rank_all(system, {item.item_id: item.hate_speech for item in asked}, self._texts, depth)
        for item, excluded in zip(asked, left_out, strict=True):
            # Stable: of equal scores the system's order holds.
            best = sorted(ranked.get(item.item_id, []), key=lambda entry: -entry[1])
            found = next((key for key, _ in best if key not in excluded), None)
            if found is None:
                yield Generated(None, ranked.failures.get(item.item_id, NO_CANDIDATES), {"sources": []})
                continue
            text = self._texts[found].strip() or None
            yield Generated(text, None if text else "empty", {"sources": [found]})

    def _check_labels(self, items: list[Item]) -> None:
        if not self.pool.judged:
            return
        judged = {(pair.hate_speech, pair.cn_id) for pair in self.pool.pairs}
        known = sum(
            any({("", cn), (item.hate_speech, cn)} & judged for cn in map(make_cn_id, item.references))
            for item in items
        )
        if known:
            raise InputError(
                f"the pool has CNs labelled for {known} of the {len(items)} messages, which are left out as leakage: "
                "give other pairs with --pool"
            )
