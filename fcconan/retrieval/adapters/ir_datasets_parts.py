"""What `ir_datasets` serves of a dataset, in classes that inherit from its own: importing this needs `ir_datasets`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericDoc, GenericQrel, GenericQuery
from ir_datasets.indices import Docstore

from fcconan.retrieval.collections import Collection

RELEVANCES = {0: "judged as no fitting answer to the message", 1: "judged as a fitting answer to the message"}


def parts_of(collection: Collection, name: str, language: str | None) -> dict[str, list[Any]]:
    """Returns the parts of what is served under every name: documents and queries, and the judgements of a tier.

    Args:
        collection: The dataset.
        name: What it is called; a tier is `name/tier`.
        language: Of the texts; None where nobody says.
    """
    texts = [_Docs(collection.corpus, name, language), _Queries(collection.queries, name, language)]
    return {name: texts} | {f"{name}/{tier}": [*texts, _Qrels(collection, tier)] for tier in collection.partitions}


class _Rows:
    """An iterator over rows that can be sliced, as `docs_iter()[:10]`."""

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
