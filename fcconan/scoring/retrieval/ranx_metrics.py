"""Metrics by ranx, called so that none of its known traps can be fallen into.
 ranx pairs queries by insertion order, sorts equal scores as it happens, raises on empty and missing queries, and
compiles for up to a minute when first called. Here both sides have the same queries in the same order, scores are made
from ranks, and a query without a ranking is given one that holds an unknown document only, so that every metric of it
is 0.
"""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError

NOTHING = "\x00nothing"
NAMES = ("bpref", "dcg", "dcg_burges", "hits", "ndcg_burges", "r-precision", "rbp")


def ranx_values(
    ordered: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
    query_ids: Sequence[str],
    metrics: Sequence[str],
) -> dict[str, npt.NDArray[np.float64]]:
    """Computes metrics by ranx, query by query.

    Args:
        ordered: Query id to corpus ids, best first, ties broken.
        qrels: Query id to corpus id to relevance.
        query_ids: The queries, in the order of the result.
        metrics: Names of ranx, such as `ndcg@10` or `bpref`.

    Returns:
        For every metric an array of shape (queries,).

    Raises:
        InputError: ranx refuses a metric.
    """
    if not query_ids:
        return {metric: np.zeros(0) for metric in metrics}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's, of casts and of caching
        from ranx import Qrels, Run, evaluate

        judged = {}
        for query in query_ids:
            positive = {key: int(value) for key, value in qrels.get(query, {}).items()}
            judged[query] = positive or {NOTHING + "-judged": 0}
        ranked = {}
        for query in query_ids:
            keys = list(ordered.get(query, ())) or [NOTHING]
            ranked[query] = {key: float(len(keys) - rank) for rank, key in enumerate(keys)}
        found: dict[str, npt.NDArray[np.float64]] = {}
        try:
            raw = evaluate(Qrels(judged), Run(ranked, name="run"), list(metrics), return_mean=False)
        except (ValueError, AssertionError, KeyError) as error:
            raise InputError(
                f"ranx cannot compute {', '.join(metrics)} ({error}): name metrics as its documentation does, such as "
                "ndcg_burges@10"
            ) from error
    values = raw if isinstance(raw, dict) else {metrics[0]: raw}
    for metric in metrics:
        found[metric] = np.asarray(values[metric], dtype=np.float64)
    return found
