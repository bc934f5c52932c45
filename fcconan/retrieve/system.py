"""What a retrieval system is, what it returns, and the check that every run passes before it is scored."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fcconan.errors import InputError

Ranking = list[tuple[str, float]]


class TrainingPair(NamedTuple):
    """An HS and a CN that people wrote for it: all that a system may learn from."""

    hate_speech: str
    counter_narrative: str


class Rankings(dict[str, Ranking]):
    """What a system ranked: for every query id its corpus ids with scores, best first.

    Attributes:
        failures: Query id to the reason why there is no ranking. A failure is missing, not an empty ranking.
        diagnostics: Counts that a reader needs to trust the run, as JSON-able values.
        resolved: What the system found out or chose while it ran (such as a tuned temperature), as JSON-able values.
    """

    def __init__(
        self,
        rankings: Mapping[str, Sequence[tuple[str, float]]] | None = None,
        *,
        failures: Mapping[str, str] | None = None,
        diagnostics: Mapping[str, Any] | None = None,
        resolved: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__({key: list(value) for key, value in (rankings or {}).items()})
        self.failures = dict(failures or {})
        self.diagnostics = dict(diagnostics or {})
        self.resolved = dict(resolved or {})


@runtime_checkable
class Retriever(Protocol):
    """A retrieval system. It needs no base class.

    A system whose whole configuration is in a mapping `configuration` is ranked once and its run is kept; one without
    is ranked every time.
    """

    name: str

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Mapping[str, Ranking]:
        """Ranks the corpus for every query.

        Args:
            queries: Query id to text, in the order of the dataset.
            corpus: Corpus id to text, in the order of the dataset.
            k: How many corpus ids are asked for, for each query. Fewer may be returned.

        Returns:
            For every query id the corpus ids with their scores; higher is better.
        """
        ...


def rank_all(system: Retriever, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
    """Ranks all queries and checks the run; if the system raises, one query at a time, so that the others finish.

    Raises:
        InputError: The run is not usable; the message names the first thing that is wrong with it.
    """
    try:
        found = system.rank(queries, corpus, k)
    except InputError:
        raise
    except Exception as error:
        if len(queries) == 1:
            return Rankings(failures=dict.fromkeys(queries, _reason(error)))
        found = _one_by_one(system, queries, corpus, k)
    extras = {
        name: getattr(found, name) for name in ("failures", "diagnostics", "resolved") if isinstance(found, Rankings)
    }
    return Rankings(check_run(system.name, found, queries, corpus), **extras)


def _one_by_one(system: Retriever, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
    merged = Rankings()
    for query, text in queries.items():
        try:
            part = system.rank({query: text}, corpus, k)
        except InputError:
            raise
        except Exception as error:
            merged.failures[query] = _reason(error)
            continue
        merged.update(check_run(system.name, part, queries, corpus))
        if isinstance(part, Rankings):
            merged.failures |= part.failures
            merged.diagnostics |= part.diagnostics
            merged.resolved |= part.resolved
    return merged


def _reason(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def check_run(
    name: str,
    run: Mapping[str, Sequence[tuple[str, float]]],
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
) -> dict[str, Ranking]:
    """Checks a run against the dataset and returns it in the dataset's order of queries.

    Queries that the run leaves out stay out: scoring counts them.

    Raises:
        InputError: An id is not of the dataset, a CN occurs twice for a query, or a score is not a finite number.
    """
    if not isinstance(run, Mapping):
        raise InputError(f"system {name!r} returned {type(run).__name__}: rank() returns a dict of query id to ranking")
    unknown = [query for query in run if query not in queries]
    if unknown:
        raise InputError(
            f"the run of {name!r} ranks query {unknown[0]!r}, which the dataset does not have "
            f"({len(unknown)} such of {len(run)}): rank the queries of this dataset only"
        )
    checked = {}
    for query in queries:
        if query in run:
            checked[query] = _checked(name, query, run[query], corpus)
    return checked


def _checked(name: str, query: str, ranking: Sequence[tuple[str, float]], corpus: Mapping[str, str]) -> Ranking:
    where = f"the run of {name!r}, query {query!r}"
    seen: set[str] = set()
    result: Ranking = []
    if not isinstance(ranking, Iterable):
        raise InputError(f"{where}: the ranking is {type(ranking).__name__}, expected a list of corpus ids with scores")
    for entry in ranking:
        try:
            key, score = entry
            value = float(score)
            known = key in corpus
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{where}: {entry!r} is not a corpus id with a score") from error
        if not known:
            raise InputError(f"{where}: {key!r} is not in the catalogue: rank ids of the catalogue only")
        if key in seen:
            raise InputError(f"{where}: {key!r} is ranked twice: rank every id once")
        if not math.isfinite(value):
            raise InputError(f"{where}: the score of {key!r} is {value}: scores are finite numbers")
        seen.add(key)
        result.append((key, value))
    return result
