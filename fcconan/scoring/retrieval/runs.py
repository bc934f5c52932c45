"""Runs of retrieval systems, and the check that every run passes before it is scored."""

import math
from collections.abc import Iterable, Mapping, Sequence

from fcconan.errors import InputError

Ranking = list[tuple[str, float]]

NOT_IN_CATALOGUE = "is not in the catalogue: rank ids of the catalogue only"


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
