"""Cross-validation of systems that learn from labels.

HS are split by leakage group: HS with the same meaning, in the same or other words, are in one group. The HS of a group
are ranked by a system that was fitted on labels of the other groups only.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from fcconan.data import show_traceback
from fcconan.errors import InputError
from fcconan.retrieval.collections import Collection, Qrels
from fcconan.retrieval.systems import Rankings, Retriever, format_error, rank_all, reraise_sigterm
from fcconan.scoring import Ranking

Ints = npt.NDArray[np.int64]


class LabelledPair(NamedTuple):
    """A judged pair, as an input of `LearningRetriever.fit`.

    Attributes:
        query_id: Id of the HS.
        corpus_id: Id of the CN.
        hate_speech: Text of the HS.
        counter_narrative: Text of the CN.
        relevance: Relevance of the CN; above 0 for a positive.
        group: Leakage group of the HS, for systems that cross-validate themselves.
    """

    query_id: str
    corpus_id: str
    hate_speech: str
    counter_narrative: str
    relevance: int
    group: int


@runtime_checkable
class LearningRetriever(Retriever, Protocol):
    """A system that learns from labels; it needs no base class.

    A system with the attribute `ignores_message = True` ranks the CNs identically for all HS.
    """

    def fit(self, labels: Sequence[LabelledPair]) -> None:
        """Fits the system on labels of other HS, and discards all earlier labels.

        Args:
            labels: All judged pairs outside the leakage groups that are ranked next.
        """
        ...


def learns_from_labels(system: Retriever) -> bool:
    """Returns whether a system learns from labels."""
    return callable(getattr(system, "fit", None))


def labelled_pairs(collection: Collection, qrels: Qrels, groups: Ints) -> list[LabelledPair]:
    """Returns the judged pairs of a partition, in the order of the dataset's HS.

    Args:
        collection: The dataset.
        qrels: Judgements of CNs in the catalogue.
        groups: Leakage group of each HS; shape (HS,).
    """
    return [
        LabelledPair(query, key, text, collection.corpus[key], value, int(group))
        for (query, text), group in zip(collection.queries.items(), groups, strict=True)
        for key, value in qrels.get(query, {}).items()
    ]


def rank_held_out(
    system: LearningRetriever, collection: Collection, labels: Sequence[LabelledPair], folds: Ints, depth: int
) -> Rankings:
    """Ranks the HS of each fold with the system fitted on the labels of the other folds.

    Args:
        system: The system.
        collection: The dataset.
        labels: Judged pairs of the dataset.
        folds: Fold of each HS, of shape (HS,); HS of one leakage group are in one fold.
        depth: Number of CNs for each HS.

    Raises:
        InputError: All HS are in one fold, or a run is invalid.
    """
    fold_of = dict(zip(collection.queries, folds.tolist(), strict=True))
    if len(set(fold_of.values())) < 2:
        raise InputError(
            f"{system.name} learns from labels of other HS, but all {len(fold_of)} HS of {collection.name} are in one "
            "leakage group: give a dataset with more HS"
        )
    found = Rankings()
    for fold in dict.fromkeys(fold_of.values()):
        held_out = {query: text for query, text in collection.queries.items() if fold_of[query] == fold}
        part = _fit_and_rank(
            system, [label for label in labels if fold_of[label.query_id] != fold], held_out, collection.corpus, depth
        )
        found.update(part)
        for name in ("failures", "explained", "diagnostics", "resolved"):
            getattr(found, name).update(getattr(part, name))
    ordered = Rankings({query: found[query] for query in collection.queries if query in found})
    ordered.failures, ordered.explained = found.failures, found.explained
    ordered.diagnostics, ordered.resolved = found.diagnostics, found.resolved
    return ordered


def _fit_and_rank(
    system: LearningRetriever,
    labels: Sequence[LabelledPair],
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
    depth: int,
) -> Rankings:
    """Fits a system and ranks; if fitting raises an exception, the system failed on all these HS."""
    try:
        system.fit(labels)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # a user's code may raise any exception
        reraise_sigterm(error)
        show_traceback(error)
        return Rankings(failures=dict.fromkeys(queries, f"fit: {format_error(error)}"))
    return rank_all(system, queries, corpus, depth)


def check_held_out(
    system: LearningRetriever,
    collection: Collection,
    labels: Sequence[LabelledPair],
    folds: Ints,
    depth: int,
    found: Rankings,
) -> None:
    """Checks that a system discards earlier labels, and that it ignores the message if it declares this.

    The system was last fitted on labels that include the HS of the first fold. It is fitted again without these
    labels and must reproduce its ranking of these HS.

    Args:
        system: The system.
        collection: The dataset.
        labels: Judged pairs of the dataset.
        folds: Fold of each HS; shape (HS,).
        depth: Number of CNs for each HS.
        found: Result of `rank_held_out`.

    Raises:
        InputError: The ranking differs, or it depends on the HS although `ignores_message` is true.
    """
    fold_of = dict(zip(collection.queries, folds.tolist(), strict=True))
    first = folds.tolist()[0]
    others = [label for label in labels if fold_of[label.query_id] != first]
    repeated = _fit_and_rank(system, others, collection.queries, collection.corpus, depth)
    for query in (query for query, fold in fold_of.items() if fold == first and query in found and query in repeated):
        if not _equal(found[query], repeated[query]):
            raise InputError(
                f"{system.name} ranks {query} differently when it is fitted on the same labels again: make fit() "
                "discard all earlier labels, and seed random choices"
            )
    check_ignores_message(system, repeated)


def check_ignores_message(system: Retriever, found: Rankings) -> None:
    """Checks that a system with `ignores_message` ranks the CNs identically for all HS.

    Args:
        system: The system.
        found: Rankings of one fit.

    Raises:
        InputError: The rankings differ between HS.
    """
    rankings = list(found.values())
    if getattr(system, "ignores_message", False) and not all(_equal(rankings[0], other) for other in rankings[1:]):
        raise InputError(
            f"{system.name} has ignores_message = True but ranks CNs differently for different HS: remove the attribute"
        )


def _equal(one: Ranking, other: Ranking) -> bool:
    """Returns whether two rankings have the same CNs with equal scores, up to rounding."""
    left, right = dict(one), dict(other)
    return left.keys() == right.keys() and bool(
        np.allclose(list(left.values()), [right[key] for key in left], rtol=1e-5, atol=1e-8)
    )
