"""What a retrieval system is, what it returns, and the check that every run passes before it is scored."""

import signal
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from fcconan.data import one_line, show_traceback
from fcconan.errors import InputError
from fcconan.scoring import Ranking, check_run

EXTRAS = ("failures", "explained", "diagnostics", "resolved")


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


class GivenRun:
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
        """Returns the whole run; ids that the dataset lacks are refused by the check that follows."""
        return Rankings(self._run, resolved=self._resolved)


def rank_all(system: Retriever, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
    """Ranks all queries and checks the run; if the system raises, one query at a time, so that the others finish.

    Args:
        system: The system.
        queries: Query id to text.
        corpus: Corpus id to text.
        k: How many corpus ids are asked for.

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
        found = _one_by_one(system, queries, corpus, k)
    extras = {name: getattr(found, name) for name in EXTRAS if isinstance(found, Rankings)}
    return Rankings(check_run(system.name, found, queries, corpus), **extras)


def _one_by_one(system: Retriever, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
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
        merged.update(check_run(system.name, part, queries, corpus))
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
    return one_line(f"{type(error).__name__}: {error}", 300)
