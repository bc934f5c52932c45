"""Interface of retrieval systems, their rankings, and the validation of runs."""

import signal
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fcconan.data import one_line, show_traceback
from fcconan.errors import InputError
from fcconan.scoring import Ranking, check_run

EXTRAS = ("failures", "explained", "diagnostics", "resolved")


class TrainingPair(NamedTuple):
    """An HS and a human-written CN that answers it."""

    hate_speech: str
    counter_narrative: str


class Rankings(dict[str, Ranking]):
    """Rankings of a system: query id -> corpus ids with scores, best first.

    Attributes:
        failures: Query id -> reason for a missing ranking. A failed query has no entry, not an empty ranking.
        explained: Query id -> explanation of the failure with a possible remedy, if the system knows one.
        diagnostics: Counts for quality checks, such as failed calls, as JSON-able values.
        resolved: Settings that the system determined at run time, such as a tuned temperature, as JSON-able values.
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
    """A retrieval system; it needs no base class.

    Runs are cached for systems with a JSON-able dict `configuration` that has all settings.
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
        resolved: The source of the run, as JSON-able values.
    """

    def __init__(self, name: str, run: Mapping[str, Sequence[tuple[str, float]]], **resolved: Any) -> None:
        self.name = name
        self._run, self._resolved = run, resolved

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Returns the whole run; `rank_all` rejects unknown ids."""
        return Rankings(self._run, resolved=self._resolved)


def rank_all(system: Retriever, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
    """Ranks all queries and validates the run.

    If the system raises an exception, queries are ranked one at a time, so that the others succeed.

    Args:
        system: The system.
        queries: Query id -> text.
        corpus: Corpus id -> text.
        k: Number of corpus ids for each query.

    Raises:
        InputError: The run is invalid; the message describes the first error.
    """
    try:
        found = system.rank(queries, corpus, k)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        reraise_sigterm(error)
        show_traceback(error)
        if len(queries) == 1:
            return Rankings(failures=dict.fromkeys(queries, format_error(error)))
        found = _rank_one_by_one(system, queries, corpus, k)
    extras = {name: getattr(found, name) for name in EXTRAS if isinstance(found, Rankings)}
    return Rankings(check_run(system.name, found, queries, corpus), **extras)


def _rank_one_by_one(system: Retriever, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
    merged = Rankings()
    for query, text in queries.items():
        try:
            part = system.rank({query: text}, corpus, k)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            reraise_sigterm(error)
            merged.failures[query] = format_error(error)
            continue
        merged.update(check_run(system.name, part, queries, corpus))
        if isinstance(part, Rankings):
            for name in EXTRAS:
                getattr(merged, name).update(getattr(part, name))
    return merged


def reraise_sigterm(error: BaseException) -> None:
    """Raises an exception again if it is the result of SIGTERM, which is not a failure of a system.

    Raises:
        SystemExit: The process received SIGTERM.
    """
    if isinstance(error, SystemExit) and error.code == 128 + signal.SIGTERM:
        raise error


def format_error(error: BaseException) -> str:
    """Returns type and message of an exception on one line, without secrets."""
    return one_line(f"{type(error).__name__}: {error}", 300)
