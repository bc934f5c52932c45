"""Cross-validation of systems that learn from labels.

HS are split by leakage group: HS with the same meaning, in the same or other words, are in one group. The HS of a fold
are ranked by a system that was fitted on labels of the other folds.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from fcconan.data import show_traceback
from fcconan.errors import InputError
from fcconan.retrieval.systems import Rankings, Retriever, format_error, rank_all
from fcconan.scoring import Floats, Ints

FOLDS = 100  # most folds of rankings: with fewer leakage groups, each is a fold of its own
AUC_FOLDS = 5  # folds of the message AUC, which compares HS within a fold
Qrels = Mapping[str, Mapping[str, int]]


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
    """A system that learns from labels; it needs no base class."""

    def fit(self, labels: Sequence[LabelledPair]) -> None:
        """Fits the system on labels of other HS, and discards all earlier labels.

        Args:
            labels: All judged pairs outside the leakage groups that are ranked next.
        """
        ...


def learns_from_labels(system: Retriever) -> bool:
    """Returns whether a system learns from labels."""
    return callable(getattr(system, "fit", None))


def rank_partitions(
    system: LearningRetriever,
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
    qrels: Mapping[str, Qrels],
    groups: Sequence[int],
    k: int,
    most_folds: int = FOLDS,
) -> Iterator[tuple[str, Rankings, Ints]]:
    """Yields the cross-validated rankings of a system by partition; each is fitted on labels of its partition.

    Args:
        system: The system.
        queries: Query id -> text.
        corpus: Corpus id -> text.
        qrels: Partition -> query id -> corpus id -> relevance.
        groups: Leakage group of each query, in their order.
        k: Number of corpus ids for each query.
        most_folds: Largest number of folds.

    Yields:
        Partition, its rankings, and the fold of each HS, of shape (HS,).

    Raises:
        InputError: All HS are in one leakage group, or a run is invalid.
    """
    folds = _folds(system, groups, most_folds)
    for name, judged in qrels.items():
        yield name, _rank_held_out(system, queries, corpus, judged, groups, folds, k), folds


def score_matrix(run: Rankings, queries: Mapping[str, str], corpus: Mapping[str, str]) -> Floats:
    """Returns the scores of a run as a matrix.

    Args:
        run: The run.
        queries: Query id -> text.
        corpus: Corpus id -> text.

    Returns:
        Scores of shape (HS, CNs): minus infinity for an unranked CN, nan for an HS on which the system failed.
    """
    columns = {key: column for column, key in enumerate(corpus)}
    found = np.full((len(queries), len(columns)), -np.inf)
    for row, query in enumerate(queries):
        if query in run.failures:
            found[row] = np.nan
        for key, score in run.get(query, ()):
            found[row, columns[key]] = score
    return found


def _folds(system: Retriever, groups: Sequence[int], most: int) -> Ints:
    from sklearn.model_selection import GroupKFold

    n_groups = len({*groups})
    if n_groups < 2:
        raise InputError(
            f"{system.name} learns from labels of other HS, but all {len(groups)} HS are in one leakage group: give a "
            "dataset with more HS"
        )
    found = np.zeros(len(groups), dtype=np.int64)
    for fold, (_, held_out) in enumerate(GroupKFold(min(most, n_groups)).split(found, groups=groups)):
        found[held_out] = fold
    return found


def _rank_held_out(
    system: LearningRetriever,
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
    judged: Qrels,
    groups: Sequence[int],
    folds: Ints,
    k: int,
) -> Rankings:
    """Ranks the HS of each fold with the system fitted on the labels of the other folds."""
    labels = [
        (fold, LabelledPair(query, key, text, corpus[key], value, int(group)))
        for (query, text), group, fold in zip(queries.items(), groups, folds, strict=True)
        for key, value in judged.get(query, {}).items()
    ]
    fold_of = dict(zip(queries, folds.tolist(), strict=True))
    found, failures = dict[str, list[tuple[str, float]]](), dict[str, str]()
    for fold in dict.fromkeys(fold_of.values()):
        held_out = {query: text for query, text in queries.items() if fold_of[query] == fold}
        try:
            system.fit([label for own, label in labels if own != fold])
        except InputError:
            raise
        except Exception as error:  # of a user's code
            show_traceback(error)
            failures |= dict.fromkeys(held_out, f"fit: {format_error(error)}")
            continue
        part = rank_all(system, held_out, corpus, k)
        found |= part
        failures |= part.failures
    return Rankings({query: found[query] for query in queries if query in found}, failures)
