"""Documents, queries and judgements as subclasses of `ir_datasets`, which must be installed to import this module."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericDoc, GenericQrel, GenericQuery
from ir_datasets.indices import Docstore

from fcconan.retrieval.collections import Collection

RELEVANCES = {0: "judged as no fitting answer to the message", 1: "judged as a fitting answer to the message"}


def make_components(collection: Collection, name: str, language: str | None) -> dict[str, list[Any]]:
    """Returns the components of each registered name: documents, queries and, for a tier, its judgements.

    Args:
        collection: The dataset.
        name: Name of the dataset; its tiers are called `name/tier`.
        language: Language code of the texts; None if unknown.
    """
    texts = [_Docs(collection.corpus, name, language), _Queries(collection.queries, name, language)]
    return {name: texts} | {f"{name}/{tier}": [*texts, _Qrels(collection, tier)] for tier in collection.partitions}


class _Rows:
    """Iterator over rows that supports slices, as in `docs_iter()[:10]`."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows, self._next = rows, iter(rows)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._next)

    def __getitem__(self, key: int | slice) -> Any:
        return _Rows(self._rows[key]) if isinstance(key, slice) else self._rows[key]


class _Store(Docstore):  # type: ignore[misc]
    def __init__(self, docs: Mapping[str, Any]) -> None:
        super().__init__(GenericDoc)
        self._docs = docs

    def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Any]:
        return (self._docs[key] for key in doc_ids if key in self._docs)

    def count(self) -> int:
        return len(self._docs)


class _Docs(BaseDocs):  # type: ignore[misc]
    def __init__(self, texts: Mapping[str, str], name: str, language: str | None) -> None:
        self._docs = {key: GenericDoc(key, text) for key, text in texts.items()}
        self._name, self._language = name, language

    def docs_iter(self) -> _Rows:
        return _Rows(list(self._docs.values()))

    def docs_store(self, field: str = "doc_id") -> _Store:
        return _Store(self._docs)

    def docs_count(self) -> int:
        return len(self._docs)

    def docs_namespace(self) -> str:
        return self._name

    def docs_lang(self) -> str | None:
        return self._language


class _Queries(BaseQueries):  # type: ignore[misc]
    def __init__(self, texts: Mapping[str, str], name: str, language: str | None) -> None:
        self._queries = [GenericQuery(key, text) for key, text in texts.items()]
        self._name, self._language = name, language

    def queries_iter(self) -> Iterator[Any]:
        return iter(self._queries)

    def queries_count(self) -> int:
        return len(self._queries)

    def queries_namespace(self) -> str:
        return self._name

    def queries_lang(self) -> str | None:
        return self._language


class _Qrels(BaseQrels):  # type: ignore[misc]
    def __init__(self, collection: Collection, tier: str) -> None:
        self._qrels = [
            GenericQrel(query, key, value)
            for query, judged in collection.qrels(tier).items()
            for key, value in judged.items()
        ]

    def qrels_iter(self) -> Iterator[Any]:
        return iter(self._qrels)

    def qrels_count(self) -> int:
        return len(self._qrels)

    def qrels_defs(self) -> dict[int, str]:
        return RELEVANCES
