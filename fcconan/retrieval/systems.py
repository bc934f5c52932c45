"""What a retrieval system is, what it returns, and the check that every run passes before it is scored."""

import math
import signal
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fcconan.data import environment_secrets, show_traceback, without_secrets
from fcconan.errors import InputError

Ranking = list[tuple[str, float]]

EXTRAS = ("failures", "explained", "diagnostics", "resolved")
NOT_IN_CATALOGUE = "is not in the catalogue: rank ids of the catalogue only"


class TrainingPair(NamedTuple):
    """An HS and a CN that people wrote for it: all that a system may learn from."""

    hate_speech: str
    counter_narrative: str


class Rankings(dict[str, Ranking]):
    """What a system ranked: for every query id its corpus ids with scores, best first.

    Attributes:
        failures: Query id to the reason why there is no ranking. A failure is missing, not an empty ranking.
        explained: Query id to what is to be said of its failure to people, and what they may do, where a system knows.
        diagnostics: Counts that a reader needs to trust the run, as JSON-able values.
        resolved: What the system found out or chose while it ran (such as a tuned temperature), as JSON-able values.
    """

    def __init__(
        self,
        rankings: Mapping[str, Sequence[tuple[str, float]]] | None = None,
        *,
        failures: Mapping[str, str] | None = None,
        explained: Mapping[str, str] | None = None,
        diagnostics: Mapping[str, Any] | None = None,
        resolved: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__({key: list(value) for key, value in (rankings or {}).items()})
        self.failures = dict(failures or {})
        self.explained = dict(explained or {})
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


def rank_all(
    system: Retriever,
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
    k: int,
    *,
    not_in_catalogue: str = NOT_IN_CATALOGUE,
) -> Rankings:
    """Ranks all queries and checks the run; if the system raises, one query at a time, so that the others finish.

    Args:
        system: The system.
        queries: Query id to text.
        corpus: Corpus id to text.
        k: How many corpus ids are asked for.
        not_in_catalogue: What to say of an id that the corpus does not have.

    Raises:
        InputError: The run is not usable; the message names the first thing that is wrong with it.
    """
    try:
        found = system.rank(queries, corpus, k)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        pass_on_signal(error)
        show_traceback(error)
        if len(queries) == 1:
            return Rankings(failures=dict.fromkeys(queries, reason_of(error)))
        found = _one_by_one(system, queries, corpus, k, not_in_catalogue)
    extras = {name: getattr(found, name) for name in EXTRAS if isinstance(found, Rankings)}
    return Rankings(check_run(system.name, found, queries, corpus, not_in_catalogue=not_in_catalogue), **extras)


def _one_by_one(
    system: Retriever, queries: Mapping[str, str], corpus: Mapping[str, str], k: int, not_in_catalogue: str
) -> Rankings:
    merged = Rankings()
    for query, text in queries.items():
        try:
            part = system.rank({query: text}, corpus, k)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            pass_on_signal(error)
            merged.failures[query] = reason_of(error)
            continue
        merged.update(check_run(system.name, part, queries, corpus, not_in_catalogue=not_in_catalogue))
        if isinstance(part, Rankings):
            for name in EXTRAS:
                getattr(merged, name).update(getattr(part, name))
    return merged


def pass_on_signal(error: BaseException) -> None:
    """Raises what a request to end this process became, which is no failure of a system.

    Raises:
        SystemExit: It is the error itself.
    """
    if isinstance(error, SystemExit) and error.code == 128 + signal.SIGTERM:
        raise error


def reason_of(error: BaseException) -> str:
    """Returns type and message of an error of a user's own code on one line, without secrets."""
    said = without_secrets(f"{type(error).__name__}: {error}", environment_secrets())
    return " ".join(said.split())[:300]


def check_run(
    name: str,
    run: Mapping[str, Sequence[tuple[str, float]]],
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
    *,
    not_in_catalogue: str = NOT_IN_CATALOGUE,
) -> dict[str, Ranking]:
    """Checks a run against the dataset and returns it in the dataset's order of queries.

    Queries that the run leaves out stay out: scoring counts them.

    Args:
        name: Of the system, for complaints.
        run: Query id to corpus ids with scores.
        queries: Query id to text.
        corpus: Corpus id to text.
        not_in_catalogue: What to say of an id that the catalogue does not have.

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
            checked[query] = _checked(name, query, run[query], corpus, not_in_catalogue)
    return checked


def _checked(
    name: str, query: str, ranking: Sequence[tuple[str, float]], corpus: Mapping[str, str], not_in_catalogue: str
) -> Ranking:
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
            raise InputError(f"{where}: {key!r} {not_in_catalogue}")
        if isinstance(score, str | bytes):  # float() would read a number out of it
            raise InputError(f"{where}: the score of {key!r} is the text {score!r}: scores are numbers")
        if key in seen:
            raise InputError(f"{where}: {key!r} is ranked twice: rank every id once")
        if not math.isfinite(value):
            raise InputError(f"{where}: the score of {key!r} is {value}: scores are finite numbers")
        seen.add(key)
        result.append((key, value))
    return result
