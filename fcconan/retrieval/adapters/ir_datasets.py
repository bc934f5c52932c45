"""Registers a dataset with `ir_datasets`, with its tiers as subsets: `ir_datasets.load("fc-conan/gold")`."""

from collections import Counter
from functools import partial
from typing import Any

from fcconan.building import Card, read_card
from fcconan.data import release_folder
from fcconan.errors import InputError
from fcconan.retrieval.collections import load_collection


def register(dataset: str, name: str | None = None, *, revision: str | None = None) -> list[str]:
    """Registers a dataset with `ir_datasets` for the current process.

    The name alone loads documents (CNs) and queries (HS messages). A name with a tier, such as `fc-conan/gold`, adds
    the judgements of that tier: relevance 1 or 0 for each judged pair.

    Args:
        dataset: Folder of `fcconan build`, or name of a dataset on the Hub. It must include texts.
        name: Name of the dataset in `ir_datasets`; default: the name of its recipe.
        revision: Tag, branch or commit of the dataset on the Hub.

    Returns:
        The registered names.

    Raises:
        InputError: `ir_datasets` is not installed, the name is already registered, or the dataset cannot be read.
    """
    try:
        from fcconan.retrieval.adapters.ir_datasets_parts import make_components
    except ImportError as error:
        raise InputError(f"ir_datasets cannot be imported ({error}): run `pip install ir_datasets`") from error
    import ir_datasets
    from ir_datasets.util import MetadataComponent, MetadataProvider

    folder = release_folder(dataset, revision=revision)
    collection = load_collection(str(folder))
    name = name or collection.name
    taken = [each for each in ir_datasets.registry if each == name or each.startswith(f"{name}/")]
    if taken:
        raise InputError(f"ir_datasets has a dataset {taken[0]!r} already: give this one another name")
    card = read_card(folder)
    made = make_components(collection, name, card.one("language"))
    for each, parts in made.items():
        served = ir_datasets.Dataset(*parts, _Documentation(card))
        counts = _counts(served)
        provider = MetadataProvider(partial(dict, {each: counts}))
        ir_datasets.registry.register(each, ir_datasets.Dataset(MetadataComponent(each, served, provider), served))
    return list(made)


def _counts(served: Any) -> dict[str, Any]:
    """Returns the number of rows of each kind, in the metadata format of `ir_datasets`."""
    kinds = [kind for kind in ("docs", "queries", "qrels") if served.has(kind)]
    counts: dict[str, Any] = {kind: {"count": getattr(served, f"{kind}_count")()} for kind in kinds}
    if "qrels" in counts:
        counts["qrels"]["fields"] = {
            "relevance": {"counts_by_value": dict(Counter(str(qrel.relevance) for qrel in served.qrels_iter()))}
        }
    return counts


class _Documentation:
    """Documentation of a dataset in `ir_datasets`."""

    def __init__(self, card: Card) -> None:
        self._card = card

    def documentation(self) -> dict[str, str]:
        """Returns title, description and citation."""
        fields = {
            "pretty_name": self._card.title,
            "desc": self._card.summary,
            "bibtex": self._card.citation,
            "website": self._card.homepage,
        }
        return {name: text for name, text in fields.items() if text}
