"""Interface of retrieval systems, their rankings, and the check of runs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from fcconan.data import one_line, show_traceback
from fcconan.errors import InputError

Ranking = list[tuple[str, float]]
BLOCK = 64  # scores in a block


class TrainingPair(NamedTuple):
    """An HS and a human-written CN that answers it."""

    hate_speech: str
    counter_narrative: str


class Rankings(dict[str, Ranking]):
    """Rankings of a system: query id -> corpus ids with scores, best first.

    Attributes:
        failures: Query id -> reason for a missing ranking. A failed query has no entry, not an empty ranking.
    """

    def __init__(
        self,
        rankings: Mapping[str, Iterable[tuple[str, float]]] | None = None,
        failures: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__({key: [*value] for key, value in (rankings or {}).items()})
        self.failures = {**(failures or {})}


@runtime_checkable
class Retriever(Protocol):
    """A retrieval system; it needs no base class.

    A system with the attribute `ignores_message = True` ranks the CNs identically for all HS: it is a reference. A
    system with a method `fit(labels)` learns from labels of other HS; see `fcconan.retrieval.LearningRetriever`.
    """

    name: str

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Mapping[str, Ranking]:
        """Ranks the corpus for each query.

        Args:
            queries: Query id -> text, in the order of the dataset.
            corpus: Corpus id -> text, in the order of the dataset.
            k: Number of corpus ids for each query; fewer may be returned.

        Returns:
            Query id -> corpus ids with scores; higher is better.
        """
        ...


class FinishedRun:
    """A finished run, as a system.

    Args:
        name: Name of the system.
        run: Query id -> corpus ids with scores.
    """

    def __init__(self, name: str, run: Mapping[str, Sequence[tuple[str, float]]]) -> None:
        self.name, self.run = name, run

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Returns the whole run; `rank_all` rejects unknown ids."""
        return Rankings(self.run)


def rank_all(system: Retriever, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
    """Ranks all queries and checks the run.

    If the system raises an exception, queries are ranked one at a time, so that the others succeed.

    Args:
        system: The system.
        queries: Query id -> text.
        corpus: Corpus id -> text.
        k: Number of corpus ids for each query.

    Returns:
        The rankings in the order of the queries. A failed query has a reason in `failures`; a query that the system
        left out has neither.

    Raises:
        InputError: The system raised it, or the run has unknown ids, a corpus id twice, or a score that is not finite.
    """
    try:
        found = system.rank(queries, corpus, k)
    except InputError:
        raise
    except Exception as error:  # of a user's code
        if len(queries) == 1:
            return Rankings(failures=dict.fromkeys(queries, format_error(error)))
        show_traceback(error)
        parts = [rank_all(system, {key: text}, corpus, k) for key, text in queries.items()]
        return Rankings(
            {key: ranking for part in parts for key, ranking in part.items()},
            {key: reason for part in parts for key, reason in part.failures.items()},
        )
    return Rankings(check_run(system.name, found, queries, corpus), getattr(found, "failures", None))


def check_run(
    name: str, run: Mapping[str, Iterable[tuple[str, float]]], queries: Mapping[str, str], corpus: Mapping[str, str]
) -> dict[str, Ranking]:
    """Returns a run in the order of the queries, with scores as floats.

    Args:
        name: Name of the system, for messages.
        run: Query id -> corpus ids with scores.
        queries: Query id -> text.
        corpus: Corpus id -> text.

    Raises:
        InputError: The run has another form, unknown ids, a corpus id twice, or a score that is not finite.
    """
    form = "expected query id -> corpus ids with finite scores, each id once and from this dataset: correct it"
    if not isinstance(run, Mapping):
        raise InputError(f"system {name!r} returned {type(run).__name__}, {form}")
    if unknown := [query for query in run if query not in queries]:
        raise InputError(f"the run of {name!r} has {len(unknown)} unknown queries such as {unknown[0]!r}, {form}")
    found: dict[str, Ranking] = {}
    for query in (query for query in queries if query in run):
        try:
            found[query] = [(key, float(score)) for key, score in run[query]]
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"the run of {name!r}, query {query!r}: {error}; {form}") from error
        seen: set[str] = set()
        for key, score in found[query]:
            if key not in corpus or key in seen or not math.isfinite(score):
                what = "twice" if key in seen else f"with score {score}" if key in corpus else "not in the catalogue"
                raise InputError(f"the run of {name!r}, query {query!r}: found {key!r} {what}, {form}")
            seen.add(key)
    return found


def format_error(error: BaseException) -> str:
    """Returns type and message of an exception on one line, without secrets."""
    return one_line(f"{type(error).__name__}: {error}", 300)


def top_k(scores: npt.NDArray[np.floating], ids: Sequence[str], k: int) -> Ranking:
    """Returns the k best ids with their scores; ties are in the order of the ids.

    Args:
        scores: Score of each id; shape (ids,).
        ids: The ids.
        k: Number of ids; below 1 for none.
    """
    if k < 1:
        return []
    if k < len(ids):
        # The k-th largest block maximum is a lower bound of the k-th best score, and is found in one pass.
        blocks = len(ids) // BLOCK
        pool = scores[: blocks * BLOCK].reshape(BLOCK, blocks).max(axis=0) if blocks >= k else scores
        cut = np.partition(pool, len(pool) - k)[len(pool) - k]
        chosen = np.flatnonzero(scores >= cut)
        chosen = chosen[np.argsort(-scores[chosen], kind="stable")][:k]
    else:
        chosen = np.argsort(-scores, kind="stable")
    return [(ids[index], float(scores[index])) for index in chosen.tolist()]
