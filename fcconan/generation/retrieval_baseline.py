"""The retrieval baseline: the CNs of a pool that a retrieval system ranks first for a message."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fcconan.data import make_cn_id
from fcconan.errors import InputError
from fcconan.generation.items import Example, Item
from fcconan.generation.training_pool import Pair, TrainingPool
from fcconan.retrieval import MINILM, Retriever, SystemFactory, load_suite, rank_all
from fcconan.scoring import Ranking

LEARNS_FROM = "pairs outside of the leakage groups of all items"


class RetrievedCandidates:
    """Retrieves CNs of a pool, outside of the leakage group of the item.

    All items are ranked together, deep enough that k CNs remain without those of the leakage group. Trained systems
    learn from pairs outside of the leakage groups of all items. So `prepare` needs all items of a run, including those
    with stored replies.

    Args:
        pool: Pairs whose CNs are ranked.
        retriever: A system of `benchmarks/retrieval.yaml` or of another suite, `module:factory`, `minilm`, the folder
            or the name on the Hub (`owner/model`) of a sentence-transformers model, or a system.
        k: Number of CNs for each item.
        own: Whether CNs of the item's leakage group are included, as on a retrieval benchmark.
        client: Function that creates the client of systems behind an endpoint when it is needed.
        device: Device of local models.
        batch_size: Batch size of local models.

    Attributes:
        configuration: All settings that change the result, as JSON-able values.
        failures: Item id -> reason of a missing ranking.

    Raises:
        InputError: The system is unknown or cannot be created.
    """

    def __init__(
        self,
        pool: TrainingPool,
        retriever: str | Retriever = "tfidf",
        k: int = 1,
        *,
        own: bool = False,
        client: Callable[[str], Any] | None = None,
        device: str | None = None,
        batch_size: int | None = None,
    ) -> None:
        self.pool, self.k, self.own = pool, k, own
        self._first: dict[str, Pair] = {}
        for pair in pool.pairs:
            self._first.setdefault(pair.cn_id, pair)
        self._texts = {key: pair.counter_narrative for key, pair in self._first.items()}
        self._retriever = retriever
        self._maker = SystemFactory(load_suite(), pool.training(), client=client, device=device, batch_size=batch_size)
        system = self._system()
        told: dict[str, Any] = getattr(system, "configuration", {})
        self.configuration: dict[str, Any] = {
            "pool": pool.configuration,
            "catalogue": len(self._texts),
            "retriever": system.name,
            "system": {key: value for key, value in told.items() if key != "fit_on"},  # which depends on the items
            "train": pool.configuration,
            "learns_from": LEARNS_FROM if isinstance(retriever, str) else None,
            "k": k,
            "own": own,
        }
        self.failures: dict[str, str] = {}
        self._found: dict[str, tuple[Example, ...]] = {}

    def prepare(self, items: Iterable[Item]) -> None:
        """Ranks the catalogue for all items of a run.

        Raises:
            InputError: The system cannot be used or returns an invalid ranking, or the pool is a benchmark of these
                items, so that only inappropriate CNs would remain.
        """
        new = {item.item_id: item for item in items}
        if not new:
            return
        self._check_own(new.values())
        left_out = {key: self._left_out(item) for key, item in new.items()}
        excluded = frozenset[int]().union(*(self.pool.excluded_pairs(item) for item in new.values()))
        self._maker.train = tuple(self.pool.training(without=excluded))
        system = self._system()
        depth = min(len(self._texts), self.k + max(map(len, left_out.values())))
        queries = {key: item.hate_speech for key, item in new.items()}
        ranked = rank_all(system, queries, self._texts, depth)
        self.failures |= ranked.failures
        for key in new:
            self._found[key] = self._best(ranked.get(key, []), left_out[key])

    def find(self, item: Item) -> tuple[Example, ...]:
        """Returns the pairs of the CNs with the best ranks, the best one first; each CN once.

        An item that was not prepared is ranked on its own.

        Raises:
            InputError: As `prepare`.
        """
        if item.item_id not in self._found:
            self.prepare([item])
        return self._found[item.item_id]

    def _check_own(self, items: Iterable[Item]) -> None:
        if self.own or not self.pool.judged:
            return
        asked = list(items)
        judged = {(pair.hate_speech, pair.cn_id) for pair in self.pool.pairs}
        known = sum(
            any({("", cn), (item.hate_speech, cn)} & judged for cn in map(make_cn_id, item.references))
            for item in asked
        )
        if known:
            raise InputError(
                f"the pool has CNs labelled for {known} of the {len(asked)} messages, which are left out as leakage: "
                "give --allow-own-cns if retrieving them is the task, or other pairs with --pool"
            )

    def _left_out(self, item: Item) -> frozenset[str]:
        if self.own:
            return frozenset()
        return frozenset(self.pool.pairs[position].cn_id for position in self.pool.excluded_pairs(item))

    def _best(self, ranking: Ranking, left_out: frozenset[str]) -> tuple[Example, ...]:
        best = sorted(ranking, key=lambda entry: -entry[1])  # stable: of equal scores the system's order holds
        allowed = [(key, score) for key, score in best if key not in left_out]
        return tuple(self._first[key].example(score) for key, score in allowed[: self.k])

    def _system(self) -> Retriever:
        retriever = self._retriever
        if not isinstance(retriever, str):
            return retriever
        is_model = retriever == MINILM or "/" in retriever or Path(retriever).is_dir()
        if retriever not in self._maker.suite.systems and ":" not in retriever and is_model:
            return self._maker.dense(retriever)
        return self._maker.make(retriever)
