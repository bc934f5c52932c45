"""Sample size: number of judged pairs for an interval of a given width."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.retrieval.benchmark_settings import BenchmarkSettings
    from fcconan.retrieval.collections import Collection

LARGEST = 10_000_000


@dataclass(frozen=True)
class SampleSize:
    """Sample size for an interval of a given half-width.

    Attributes:
        deviation: Standard deviation of the metric over HS.
        n_now: Current number of HS with a score.
        half_width_now: Current half-width of the interval.
        n_queries: Required number of HS.
        n_pairs: Required number of judged pairs.
    """

    deviation: float
    n_now: int
    half_width_now: float
    n_queries: int
    n_pairs: int


def compute_sample_size(
    values: npt.NDArray[np.float64], half_width: float, *, confidence: float = 0.95, judged_per_query: float
) -> SampleSize:
    """Computes the number of HS and of judged pairs for an interval of plus or minus `half_width`.

    The half-width of the interval of a mean over n HS is t(n - 1) s / sqrt(n). Here, s is the standard deviation over
    the present HS and t the quantile of Student's distribution. The result is the smallest n with at most `half_width`.

    Args:
        values: Scores of each HS, of shape (queries,); nan is ignored.
        half_width: Half-width of the interval, above 0.
        confidence: Confidence level of the interval.
        judged_per_query: Number of judged CNs for each HS.

    Raises:
        InputError: Fewer than two HS have a score, or more than `LARGEST` HS are required.
    """
    from scipy.stats import t

    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        raise InputError(f"{len(finite)} HS have a score: a sample size needs scores of 2 or more HS")
    deviation = float(finite.std(ddof=1))

    def width(n: int) -> float:
        return float(t.ppf((1 + confidence) / 2, n - 1)) * deviation / math.sqrt(n)

    needed = 2 + bisect_left(range(2, LARGEST + 1), True, key=lambda n: width(n) <= half_width)
    if needed > LARGEST:
        raise InputError(f"an interval of plus or minus {half_width} needs more than {LARGEST} HS: give a wider one")
    return SampleSize(deviation, len(finite), width(len(finite)), needed, math.ceil(needed * judged_per_query))


def plan_judgements(
    collection: "Collection", details: Mapping[str, Any], settings: "BenchmarkSettings", *, half_width: float
) -> dict[str, Any]:
    """Computes the sample size for each metric in the broadest partition, for the system with the largest deviation.

    Args:
        collection: The dataset.
        details: Second return value of `fcconan.retrieval.benchmark.bench`.
        settings: Settings of the benchmark.
        half_width: Half-width of the intervals.

    Returns:
        A JSON-able dict. `judged_per_query` has the number of judged CNs for each HS: `exhaustive` for the whole
        catalogue, `pooled_size` for the union of the systems' first k. `rows` has one row for each metric.
    """
    part = list(collection.partitions)[-1]
    pooled_size = mean_pool_size(details["runs"], list(collection.queries), settings.k)
    rows = []
    for metric in settings.metrics:
        sizes = {}
        for name, parts in details["per_query"].items():
            values = np.array([*parts[part][metric].values()], dtype=np.float64)  # None becomes nan
            if np.isfinite(values).sum() >= 2:
                sizes[name] = compute_sample_size(
                    values, half_width, confidence=settings.confidence, judged_per_query=len(collection.corpus)
                )
        if not sizes:
            continue
        widest = max(sizes, key=lambda name: (sizes[name].deviation, name))
        size = sizes[widest]
        rows.append(
            {
                "metric": metric,
                "system": widest,
                "deviation": round(size.deviation, 10),
                "n_now": size.n_now,
                "half_width_now": round(size.half_width_now, 10),
                "n_queries": size.n_queries,
                "pairs_exhaustive": size.n_pairs,
                "pairs_pooled": math.ceil(size.n_queries * pooled_size),
            }
        )
    return {
        "half_width": half_width,
        "confidence": settings.confidence,
        "partition": part,
        "judged_per_query": {"exhaustive": len(collection.corpus), "pooled": round(pooled_size, 4)},
        "rows": rows,
    }


def mean_pool_size(runs: Mapping[str, Mapping[str, Sequence[str]]], query_ids: Sequence[str], k: int) -> float:
    """Returns the mean number of distinct CNs among the first k of all systems."""
    sizes = [len({key for run in runs.values() for key in run.get(query, ())[:k]}) for query in query_ids]
    return float(np.mean(sizes)) if sizes else 0.0
