"""Registers a dataset with `ir_datasets`, with its tiers as subsets: `ir_datasets.load("fc-conan/gold")`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

from fcconan.adapters.card import Card, read_card
from fcconan.errors import InputError
from fcconan.hub_folders import release_folder
from fcconan.retrieve.collection import Collection, load_collection

RELEVANCES = {0: "judged as no fitting answer to the message", 1: "judged as a fitting answer to the message"}


def register(dataset: str, name: str | None = None, *, revision: str | None = None) -> list[str]:
    """Makes a dataset known to `ir_datasets`, until the process ends.

    The name itself gives documents (CNs) and queries (HS messages). A tier behind it, as in `fc-conan/gold`, adds the
    judgements of that tier: relevance 1 or 0 for the pairs that it judges, and nothing for the others.

    Args:
        dataset: A folder that `fcconan build` wrote, or the name of such a dataset on the Hub; it needs its texts.
        name: What it is to be called; by default the name of its recipe.
        revision: A tag, branch or commit of the dataset on the Hub.

    Returns:
        The names that can be loaded.

    Raises:
        InputError: `ir_datasets` is not installed or has a dataset of that name already, or the dataset cannot be read.
    """
    kinds = _kinds()
    import ir_datasets
    from ir_datasets.util import MetadataComponent, MetadataProvider

    folder = release_folder(dataset, revision=revision)
    collection = load_collection(str(folder))
    name = name or collection.name
    taken = [each for each in ir_datasets.registry if each == name or each.startswith(f"{name}/")]
    if taken:
        raise InputError(f"ir_datasets has a dataset {taken[0]!r} already: give this one another name")
    card = read_card(folder)
    language = card.one("language")
    texts = [
        kinds.Docs(collection.corpus, name, language),
        kinds.Queries(collection.queries, name, language),
    ]
    made = {name: texts}
    made |= {f"{name}/{tier}": [*texts, kinds.Qrels(collection, tier)] for tier in collection.partitions}
    for each, parts in made.items():
        served = ir_datasets.Dataset(*parts, _Documentation(card))
        counts = _counts(served)
        provider = MetadataProvider(partial(dict, {each: counts}))
        ir_datasets.registry.register(each, ir_datasets.Dataset(MetadataComponent(each, served, provider), served))
    return list(made)


def _counts(served: Any) -> dict[str, Any]:
    """Returns what `ir_datasets` calls metadata, for which it has a list of its own."""
    kinds = [kind for kind in ("docs", "queries", "qrels") if served.has(kind)]
    counts: dict[str, Any] = {kind: {"count": getattr(served, f"{kind}_count")()} for kind in kinds}
    if "qrels" in counts:
        counts["qrels"]["fields"] = {
            "relevance": {"counts_by_value": dict(Counter(str(qrel.relevance) for qrel in served.qrels_iter()))}
        }
    return counts


@cache
def _kinds() -> Any:
    """Returns the classes that `ir_datasets` serves; they inherit from its own, which need not be installed."""
    try:
        from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericDoc, GenericQrel, GenericQuery
        from ir_datasets.indices import Docstore
    except ImportError as error:
        raise InputError(f"ir_datasets cannot be imported ({error}): run `pip install ir_datasets`") from error

    class Rows:
        """An iterator over rows that can be sliced, as `docs_iter()[:10]`."""

        def __init__(self, rows: Sequence[Any]) -> None:
            self._rows, self._next = rows, iter(rows)

        def __iter__(self) -> Iterator[Any]:
            return self

        def __next__(self) -> Any:
            return next(self._next)

        def __getitem__(self, key: int | slice) -> Any:
            return Rows(self._rows[key]) if isinstance(key, slice) else self._rows[key]

    class Store(Docstore):  # type: ignore[misc]
        def __init__(self, docs: Mapping[str, Any]) -> None:
            super().__init__(GenericDoc)
            self._docs = docs

        def get_many_iter(self, doc_ids: Iterable[str]) -> Iterator[Any]:
            return (self._docs[key] for key in doc_ids if key in self._docs)

        def count(self) -> int:
            return len(self._docs)

    class Docs(BaseDocs):  # type: ignore[misc]
        def __init__(self, texts: Mapping[str, str], name: str, language: str | None) -> None:
            self._docs = {key: GenericDoc(key, text) for key, text in texts.items()}
            self._name, self._language = name, language

        def docs_iter(self) -> Rows:
            return Rows(list(self._docs.values()))

        def docs_store(self, field: str = "doc_id") -> Store:
            return Store(self._docs)

        def docs_count(self) -> int:
            return len(self._docs)

        def docs_namespace(self) -> str:
            return self._name

        def docs_lang(self) -> str | None:
            return self._language

    class Queries(BaseQueries):  # type: ignore[misc]
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

    class Qrels(BaseQrels):  # type: ignore[misc]
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

    return SimpleNamespace(Docs=Docs, Queries=Queries, Qrels=Qrels)


class _Documentation:
    """What `ir_datasets` shows of a dataset."""

    def __init__(self, card: Card) -> None:
        self._card = card

    def documentation(self) -> dict[str, str]:
        """Returns title, description and citation."""
        said = {
            "pretty_name": self._card.title,
            "desc": self._card.summary,
            "bibtex": self._card.citation,
            "website": self._card.homepage,
        }
        return {name: text for name, text in said.items() if text}
