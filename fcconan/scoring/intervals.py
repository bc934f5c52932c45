"""Bootstrap intervals; `paired_tests` has tests.

The unit is the query (the HS message) with all its systems. Resampled means are products of a matrix of weights with a
matrix of values per query, so ten thousand resamples cost as much as a few metrics. nan is a missing value, which
means leave out.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.data import count_noun
from fcconan.groups import Bootstrap
from fcconan.scoring.arrays import Floats

FEW_ITEMS = 6  # two of 2^n sign vectors reach every statistic, so that p is at least 2^(1 - n)
CHUNK = 4_000_000  # weights in memory at once: 32 MB


def bootstrap_means(values: Floats, *, resamples: int = 10_000, seed: int = 0) -> Floats:
    """Computes means over resampled queries, with the same draws for every series.

    Args:
        values: Values, shape (series, queries); nan is missing.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.

    Returns:
        The means, shape (resamples, series); nan if all drawn values are missing.
    """
    if values.shape[1] == 0:
        return np.full((resamples, len(values)), np.nan)
    there = np.isfinite(values)
    sides = np.where(there, values, 0.0).T, there.astype(np.float64).T
    parts = [safe_divide(*(weights @ each for each in sides)) for weights in draws(values.shape[1], resamples, seed)]
    return np.concatenate(parts) if parts else np.zeros((0, len(values)))


def draws(n_queries: int, resamples: int, seed: int | np.random.Generator) -> Iterator[Floats]:
    """Draws resamples of queries with replacement, in blocks of bounded size.

    All functions with the same seed and number of queries share these draws.

    Args:
        n_queries: Number of queries (or other units), and of draws per resample.
        resamples: Number of resamples.
        seed: Seed of the bootstrap, or a generator in its current state.

    Yields:
        Number of times that each query is drawn; shape (block of resamples, queries).
    """
    generator = np.random.default_rng(seed)
    for size in chunks(n_queries, resamples):
        drawn = generator.integers(n_queries, size=(size, n_queries))
        drawn += n_queries * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n_queries).reshape(size, n_queries).astype(np.float64)


def chunks(n_queries: int, resamples: int) -> Iterator[int]:
    """Yields sizes of blocks that fit into memory and add up to the resamples."""
    largest = max(1, CHUNK // max(1, n_queries))
    for start in range(0, resamples, largest):
        yield min(largest, resamples - start)


def percentile_interval(draws: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Computes percentile intervals (Efron and Tibshirani, 1993, chapter 13).

    Args:
        draws: Resampled values, shape (resamples, ...); nan is left out.
        confidence: Confidence level.

    Returns:
        Lower and upper ends, shape (...) each; nan without a value.
    """
    tail = (1 - confidence) / 2
    quantile: Any = np.nanquantile if np.isnan(draws).any() else np.quantile
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of a series without a value
        low, high = quantile(draws, [tail, 1 - tail], axis=0)
    return low, high


def safe_divide(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> Floats:
    """Divides; nan for a denominator that is nan, 0 or negative."""
    shape = np.broadcast_shapes(np.shape(above), np.shape(below))
    return np.divide(above, below, out=np.full(shape, np.nan), where=np.asarray(below) > 0)


def means(values: Floats, *, axis: int = -1) -> Floats:
    """Returns means over an axis, by default the last; nan is left out, and is the result without a value."""
    there = np.isfinite(values)
    return safe_divide(np.where(there, values, 0.0).sum(axis=axis), there.sum(axis=axis))


def summary(scores: Floats) -> dict[str, Floats]:
    """Summarises scores over partitions, averaged over metrics (FC-CONAN, Table 4).

    Args:
        scores: Scores, shape (..., partitions, metrics).

    Returns:
        `avg`, `min`, `max` and `cv` (coefficient of variation in percent, with the population standard deviation),
        shape (...) each. A metric that is 0 in all partitions is left out of `cv`.
    """
    average = scores.mean(axis=-2)
    return {
        "avg": average.mean(axis=-1),
        "min": scores.min(axis=-2).mean(axis=-1),
        "max": scores.max(axis=-2).mean(axis=-1),
        "cv": means(safe_divide(100 * scores.std(axis=-2), average)),
    }


def few_items(items: int, bootstrap: Bootstrap) -> list[str]:
    """Returns a note on tests and intervals of few items."""
    if items >= FEW_ITEMS or not bootstrap.resamples:
        return []
    found = f"Only {count_noun(items, 'item')}: with fewer than {FEW_ITEMS}"
    return [f"{found} no p can be below .05, and intervals are unreliable."]
