"""How many judged pairs an interval of a wanted width needs."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.retrieval.benchmark_settings import Settings
    from fcconan.retrieval.collections import Collection

LARGEST = 10_000_000


@dataclass(frozen=True)
class Plan:
    """What an interval needs.

    Attributes:
        deviation: Standard deviation of the metric over HS.
        n_now: HS that the figure stands on now.
        half_width_now: Half width of its interval now.
        n_queries: HS needed.
        n_pairs: Judged pairs needed.
    """

    deviation: float
    n_now: int
    half_width_now: float
    n_queries: int
    n_pairs: int


def plan(
    values: npt.NDArray[np.float64], half_width: float, *, confidence: float = 0.95, judged_per_query: float
) -> Plan:
    """Says how many HS, and how many judged pairs, an interval of plus or minus `half_width` needs.

    The interval of a mean over n HS is plus or minus t(n - 1) s / sqrt(n), with s the standard deviation over HS that
    was seen and t the quantile of Student's distribution; n is the smallest number for which it is at most
    `half_width`.

    Args:
        values: Per-HS values of a metric; nan is left out. Shape (queries,).
        half_width: The wanted half width, above 0.
        confidence: Of the interval.
        judged_per_query: CNs judged for every HS.

    Raises:
        InputError: There are fewer than two HS, or more than `LARGEST` are needed.
    """
    from scipy.stats import t

    kept = values[np.isfinite(values)]
    if len(kept) < 2:
        raise InputError(f"{len(kept)} HS have a value: planning needs the spread over 2 or more")
    deviation = float(kept.std(ddof=1))

    def width(n: int) -> float:
        return float(t.ppf((1 + confidence) / 2, n - 1)) * deviation / math.sqrt(n)

    needed = 2 + bisect_left(range(2, LARGEST + 1), True, key=lambda n: width(n) <= half_width)
    if needed > LARGEST:
        raise InputError(f"an interval of plus or minus {half_width} needs more than {LARGEST} HS: ask for a wider one")
    return Plan(deviation, len(kept), width(len(kept)), needed, math.ceil(needed * judged_per_query))


def plan_judgements(
    collection: "Collection", details: Mapping[str, Any], settings: "Settings", *, half_width: float
) -> dict[str, Any]:
    """Plans for every metric, in the broadest partition, on the system whose figure varies most over HS.

    Args:
        collection: The dataset.
        details: What `fcconan.retrieval.benchmark.bench` returned beside its result.
        settings: Of the benchmark.
        half_width: What is wanted.

    Returns:
        JSON-able: how many CNs are judged for an HS if the whole catalogue is, and if the union of the systems' first
        k is; and a row for every metric.
    """
    part = list(collection.partitions)[-1]
    pooled = pool_size(details["runs"], list(collection.queries), settings.k)
    rows = []
    for metric in settings.metrics:
        plans = {}
        for name, parts in details["per_query"].items():
            values = np.array([*parts[part][metric].values()], dtype=np.float64)  # None becomes nan
            if np.isfinite(values).sum() >= 2:
                plans[name] = plan(
                    values, half_width, confidence=settings.confidence, judged_per_query=len(collection.corpus)
                )
        if not plans:
            continue
        widest = max(plans, key=lambda name: (plans[name].deviation, name))
        found = plans[widest]
        rows.append(
            {
                "metric": metric,
                "system": widest,
                "deviation": round(found.deviation, 10),
                "n_now": found.n_now,
                "half_width_now": round(found.half_width_now, 10),
                "n_queries": found.n_queries,
                "pairs_exhaustive": found.n_pairs,
                "pairs_pooled": math.ceil(found.n_queries * pooled),
            }
        )
    return {
        "half_width": half_width,
        "confidence": settings.confidence,
        "partition": part,
        "judged_per_query": {"exhaustive": len(collection.corpus), "pooled": round(pooled, 4)},
        "rows": rows,
    }


def pool_size(runs: Mapping[str, Mapping[str, Sequence[str]]], query_ids: Sequence[str], k: int) -> float:
    """Mean number of different CNs among the first k of all systems."""
    sizes = [len({key for run in runs.values() for key in run.get(query, ())[:k]}) for query in query_ids]
    return float(np.mean(sizes)) if sizes else 0.0
