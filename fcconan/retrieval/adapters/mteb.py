"""Retrieval tasks for `mteb`, one for each tier of a dataset.

`mteb` computes nDCG, MRR, recall, precision and hit rate at k like `fcconan.bench`. It divides MAP at k by the
number of all positives. Two definitions differ:

- Ties: `mteb` ranks the greater id first; `bench` orders equal scores by a hash.
- `accuracy`: in `mteb`, recall at 1; in `bench`, the share of CNs correctly inside or outside the first k.

Both treat judgements below 1 and unjudged pairs as not relevant.
"""

import re
from typing import Any, get_args

from fcconan.errors import InputError
from fcconan.retrieval.collections import Collection, load_with_card
from fcconan.retrieval.systems import Retriever, rank_all

PROTOCOLS = ("sound", "paper")
MAIN_SCORE = "ndcg_at_10"
# Values of dataset cards -> values of mteb; others have no equivalent and are omitted.
_ANNOTATED = {
    "expert-generated": "expert-annotated",
    "crowdsourced": "human-annotated",
    "machine-generated": "automatic",
}
_CREATED = {"expert-generated": "created", "crowdsourced": "created", "found": "found"}
_LANGUAGES = {"en": "eng", "fr": "fra", "it": "ita", "de": "deu", "es": "spa", "pt": "por"}


def task(dataset: str, tier: str | None = None, *, protocol: str = "sound", revision: str | None = None) -> Any:
    """Returns a retrieval task for `mteb.evaluate`: HS messages are the queries, CNs the documents.

    Args:
        dataset: Folder of `fcconan build`, BEIR folder (in English), or name of a dataset. It must include texts.
        tier: Tier, or qrels file of a BEIR folder, that supplies the judgements; default: the last one.
        protocol: Evaluation protocol. `sound` has the full catalogue and leaves out queries without a positive.
            `paper` has the CNs with a positive in Bronze and all queries; a query without a positive scores 0. Its
            MAP at 10 differs from Table 4 of FC-CONAN, which divides by min(10, positives) and breaks ties
            differently.
        revision: Tag, branch or commit of the dataset on the Hub.

    Returns:
        An `mteb.abstasks.retrieval.AbsTaskRetrieval`. Unknown metadata, such as the dates of the texts, are empty.

    Raises:
        InputError: `mteb` is not installed, the dataset cannot be read, or the tier or the protocol is unknown.
    """
    try:
        from mteb.abstasks.retrieval import AbsTaskRetrieval
    except ImportError as error:
        raise InputError(f"mteb cannot be imported ({error}): run `pip install 'mteb>=2'`") from error
    if protocol not in PROTOCOLS:
        raise InputError(f"unknown protocol {protocol!r}: give {' or '.join(PROTOCOLS)}")
    collection, card = load_with_card(dataset, revision)
    part = tier or [*collection.partitions][-1]
    if part not in collection.partitions:
        raise InputError(f"{dataset} has no tier {part!r}: give one of {', '.join(collection.partitions)}")
    chosen = collection.pool() if protocol == "paper" else collection
    judgements = chosen.partitions[part]
    qrels = {query: {key: max(value, 0) for key, value in judged.items()} for query, judged in judgements.items()}
    positive = {query for query, judged in qrels.items() if any(judged.values())}
    if not positive:
        raise InputError(f"{part} of {dataset} has no positive: there is nothing to retrieve")
    queries = {key: text for key, text in chosen.queries.items() if protocol == "paper" or key in positive}
    # mteb omits queries without judgements; a negative judgement keeps such a query in the mean, with a score of 0.
    judged = {query: qrels.get(query) or {next(iter(chosen.corpus)): 0} for query in queries}
    retrieval: Any = AbsTaskRetrieval

    class CounterNarrativeRetrieval(retrieval):  # type: ignore[misc]
        """Retrieval of CNs for HS messages, with data from a release folder."""

        metadata = _metadata(dataset, card, chosen, part, protocol, revision)

        def load_data(self, num_proc: int | None = None, **arguments: Any) -> None:
            from datasets import Dataset

            texts = {"queries": queries, "corpus": chosen.corpus}
            rows = {name: Dataset.from_dict({"id": [*of], "text": [*of.values()]}) for name, of in texts.items()}
            self.dataset = {"default": {"test": {**rows, "relevant_docs": judged, "top_ranked": None}}}
            self.data_loaded = True

    return CounterNarrativeRetrieval()


def tasks(dataset: str, *, protocol: str = "sound", revision: str | None = None) -> list[Any]:
    """Returns the tasks of all tiers of a dataset, strictest tier first, or of all qrels of a BEIR folder.

    Args:
        dataset: As in `task`.
        protocol: Evaluation protocol, `sound` or `paper`; see `task`.
        revision: Tag, branch or commit of the dataset on the Hub.

    Raises:
        InputError: `mteb` is not installed, the dataset cannot be read, or the protocol is unknown.
    """
    tiers = load_with_card(dataset, revision)[0].partitions
    return [task(dataset, tier, protocol=protocol, revision=revision) for tier in tiers]


class SearchModel:
    """A retrieval system as a model of `mteb.evaluate`; `mteb` stores results by its name, unless `cache` is None.

    Args:
        system: The system, with `name` and `rank`.
    """

    def __init__(self, system: Retriever) -> None:
        self.system = system
        self._corpus: dict[str, str] = {}

    @property
    def mteb_model_meta(self) -> Any:
        """Name of the system, as `own/NAME`; the rest is empty."""
        from mteb.models.model_meta import ModelMeta

        return ModelMeta.create_empty({"name": f"own/{self.system.name}"})

    def index(self, corpus: Any, **_: Any) -> None:
        """Keeps the texts of the documents, each with its title in front."""
        self._corpus = {row["id"]: f"{row.get('title') or ''} {row['text']}".strip() for row in corpus}

    def search(self, queries: Any, *, top_k: int, **_: Any) -> dict[str, dict[str, float]]:
        """Ranks the documents for each query.

        Raises:
            InputError: The system ranks nothing for a query, for which `mteb` has no missing value.
        """
        texts = dict(zip(queries["id"], queries["text"], strict=True))
        found = rank_all(self.system, texts, self._corpus, top_k)
        if lost := [query for query in texts if not found.get(query)]:
            reason = found.failures.get(lost[0], "it left it out")
            raise InputError(f"{self.system.name} ranks nothing for {len(lost)} queries, such as {lost[0]}: {reason}")
        return {query: dict(ranking) for query, ranking in found.items()}


def _metadata(
    dataset: str, card: dict[str, Any], collection: Collection, tier: str, protocol: str, revision: str | None
) -> Any:
    from mteb.abstasks.task_metadata import TaskMetadata
    from mteb.types import Licenses

    words = re.split(r"[^A-Za-z0-9]+", f"{collection.name} {tier} {'' if protocol == 'sound' else protocol}")
    licence, languages = card.get("license"), card.get("language", [])
    if not languages or {*languages} - {*_LANGUAGES}:
        raise InputError(f"{dataset} is in {', '.join(languages) or 'no language'}, expected {', '.join(_LANGUAGES)}")
    return TaskMetadata(
        name="".join(word[:1].upper() + word[1:] for word in words) + "Retrieval",
        description=f"{card['title']}, {tier}, protocol {protocol}, {len(collection.corpus)} CNs. {card['summary']}",
        reference=card.get("homepage"),
        dataset={"path": dataset, "revision": revision or collection.fingerprint},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=[f"{_LANGUAGES[code]}-Latn" for code in languages],
        main_score=MAIN_SCORE,
        domains=["Written"],
        license=licence if licence in get_args(Licenses) else "not specified",
        annotations_creators=_ANNOTATED.get(",".join(card.get("annotations_creators", ()))),
        sample_creation=_CREATED.get(",".join(card.get("language_creators", ()))),
        bibtex_citation=card.get("citation") or "",
        is_public=collection.redistributable,
    )
