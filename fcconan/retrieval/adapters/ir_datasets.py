"""Registers a dataset with `ir_datasets`, with its tiers as subsets: `ir_datasets.load("fc-conan/gold")`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from fcconan.errors import InputError
from fcconan.retrieval.collections import load_with_card

RELEVANCES = {0: "judged as no fitting answer to the message", 1: "judged as a fitting answer to the message"}


def register(dataset: str, name: str | None = None, *, revision: str | None = None) -> list[str]:
    """Registers a dataset with `ir_datasets` for the current process.

    The name alone loads documents (CNs) and queries (HS messages). A name with a tier, such as `fc-conan/gold`, adds
    the judgements of that tier: relevance 1 or 0 for each judged pair.

    Args:
        dataset: Folder of `fcconan build`, BEIR folder, or name of a dataset. It must include texts.
        name: Name of the dataset in `ir_datasets`; default: the name of its recipe.
        revision: Tag, branch or commit of the dataset on the Hub.

    Returns:
        The registered names.

    Raises:
        InputError: `ir_datasets` is not installed, the name is already registered, or the dataset cannot be read.
    """
    try:
        import ir_datasets
        from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericDoc, GenericQrel, GenericQuery
        from ir_datasets.indices import Docstore
        from ir_datasets.util import MetadataComponent, MetadataProvider
    except ImportError as error:
        raise InputError(f"ir_datasets cannot be imported ({error}): run `pip install ir_datasets`") from error
    collection, card = load_with_card(dataset, revision)
    name = name or collection.name
    if taken := [each for each in ir_datasets.registry if each == name or each.startswith(f"{name}/")]:
        raise InputError(f"ir_datasets has a dataset {taken[0]!r} already: give this one another name")
    docs = [GenericDoc(key, text) for key, text in collection.corpus.items()]
    queries = [GenericQuery(key, text) for key, text in collection.queries.items()]
    store = Docstore(GenericDoc)
    store.get_many_iter = lambda keys: filter(None, map({doc.doc_id: doc for doc in docs}.get, keys))
    about = {"namespace": name, "lang": card["language"][0] if len(card["language"]) == 1 else None}
    texts = [
        _component(BaseDocs(), "docs", docs, **about, store=store),
        _component(BaseQueries(), "queries", queries, **about),
    ]
    told = {"pretty_name": "title", "desc": "summary", "bibtex": "citation", "website": "homepage"}
    documentation = SimpleNamespace(
        documentation=partial(dict, {key: card[name] for key, name in told.items() if card.get(name)})
    )
    counts: dict[str, Any] = {"docs": {"count": len(docs)}, "queries": {"count": len(queries)}}
    made = {name: (texts, counts)}
    for tier, of_tier in collection.partitions.items():
        rows = ((query, key, value) for query, of in of_tier.items() for key, value in of.items())
        judged = [GenericQrel(*row) for row in rows]
        found = {"relevance": {"counts_by_value": dict(Counter(str(each.relevance) for each in judged))}}
        qrels = _component(BaseQrels(), "qrels", judged, defs=RELEVANCES)
        made[f"{name}/{tier}"] = [*texts, qrels], {**counts, "qrels": {"count": len(judged), "fields": found}}
    for each, (parts, numbers) in made.items():
        served = ir_datasets.Dataset(*parts, documentation)
        provider = MetadataProvider(partial(dict, {each: numbers}))
        ir_datasets.registry.register(each, ir_datasets.Dataset(MetadataComponent(each, served, provider), served))
    return list(made)


def _component(part: Any, kind: str, rows: Sequence[Any], **values: Any) -> Any:
    """Gives a part of a dataset its methods, such as `docs_iter`, `docs_count` and `docs_lang`."""
    vars(part)[f"{kind}_iter"] = lambda: _Rows(rows)
    for name, value in {"count": len(rows), **values}.items():
        vars(part)[f"{kind}_{name}"] = lambda *_, found=value: found
    return part


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
