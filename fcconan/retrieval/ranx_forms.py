"""Conversion of runs and judgements from and to ranx, which is imported only for output."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.retrieval.collections import Qrels


def to_qrels(given: Any) -> "Qrels":
    """Converts `ranx.Qrels`, or a mapping of the same form, to query id -> corpus id -> relevance.

    Raises:
        InputError: The object has another type or form.
    """
    rows = given.to_dict() if hasattr(given, "to_dict") else given
    try:
        return {str(query): {str(key): int(value) for key, value in row.items()} for query, row in rows.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"found judgements of type {type(given).__name__}; expected ranx.Qrels, or query id -> corpus id -> a "
            "whole number"
        ) from error


def to_ranx(
    labels: Mapping[str, Mapping[str, Mapping[str, int]]],
    runs: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    every_query: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Converts judgements and runs to `ranx.Qrels` and `ranx.Run`.

    Args:
        labels: Partition -> query id -> corpus id -> relevance.
        runs: System -> query id -> corpus ids, best first.
        every_query: Whether queries without a positive are included.

    Returns:
        Partition -> `ranx.Qrels`, and system -> `ranx.Run` with scores that decrease by 1 from rank to rank.
    """
    from ranx import Qrels, Run

    qrels = {
        name: Qrels({query: dict(row) for query, row in judged.items() if every_query or any(row.values())}, name=name)
        for name, judged in labels.items()
    }
    scored = {
        name: Run(
            {query: {key: float(len(keys) - rank) for rank, key in enumerate(keys)} for query, keys in run.items()},
            name=name,
        )
        for name, run in runs.items()
    }
    return qrels, scored
