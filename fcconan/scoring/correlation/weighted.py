"""Coefficients of repeated rows, with ties: exact values of many resamples or swaps at once.

A resample of HS instances is a whole number (weight) for every instance. Pearson's coefficient needs only weighted
sums, which are one matrix product. Ranks and concordant pairs are counted in every resample, in one pass over the rows.
The pass follows the order of the metric, which resampling does not change, and handles a block of resamples at once.
All counts are whole numbers below 2^53, so ranks and pairs are exact.

Numba compiles the passes: NumPy has no running sum over rows that is fast for a block of resamples, and one NumPy call
per row would cost more than the sums. The compiled code is cached on disk; the first call takes a few seconds.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.correlation.coefficients import (
    ACCURACY,
    CALIBRATED,
    KENDALL_B,
    KENDALL_C,
    PEARSON,
    SPEARMAN,
    lowest_tied,
)
from fcconan.scoring.intervals import draws, safe_divide

Pairs = Sequence[tuple[int, int]]

BLOCK = 64  # resamples of a block
FEW_LEVELS = 12
LOST = 1e-6  # share of the sum of squares below which a sum of squared deviations is imprecise
AT_ONCE = 2_000_000  # weights of rows in memory when imprecise sums are computed again


# Numba unrolls the loops over lanes (the resamples of a block) if the rows are looked up before them.


def _rank_levels(
    weights: Floats, unit: Ints, order: Ints, ends: Ints, total: Floats, ranks: Floats, sums: Floats
) -> None:
    """Writes the mid-rank minus the mean rank of every level (run of equal values), and sums over the levels.

    `sums` receives the sum of squared ranks, the tied pairs, and the number of levels present; shape (3, lanes).
    """
    lanes = weights.shape[1]
    before, here = np.zeros(lanes), np.zeros(lanes)
    squares, tied, there = sums[0], sums[1], sums[2]
    start = 0
    for level in range(len(ends)):
        here[:] = 0.0
        for position in range(start, ends[level]):
            weight = weights[unit[order[position]]]
            for lane in range(lanes):
                here[lane] += weight[lane]
        target = ranks[level]
        for lane in range(lanes):
            own = here[lane]
            rank = before[lane] + (own - total[lane]) / 2
            target[lane] = rank
            before[lane] += own
            squares[lane] += own * rank * rank
            tied[lane] += own * (own - 1) / 2
            there[lane] += 1.0 if own > 0 else 0.0
        start = ends[level]


def _sum_ranks(weights: Floats, unit: Ints, level: Ints, ranks: Floats, levels: Ints, sums: Floats) -> None:
    """Sums the ranks of one variable over the levels of others; shapes (levels, lanes), (rows, others)."""
    lanes = weights.shape[1]
    weighted = np.zeros(lanes)
    for row in range(len(unit)):
        weight, rank = weights[unit[row]], ranks[level[row]]
        for lane in range(lanes):
            weighted[lane] = weight[lane] * rank[lane]
        for other in range(levels.shape[1]):
            target = sums[levels[row, other]]
            for lane in range(lanes):
                target[lane] += weighted[lane]


def _count_pairs(
    weights: Floats, unit: Ints, order: Ints, entered: Ints, level: Ints, n_levels: int, counts: Floats
) -> None:
    """Counts pairs that differ in x: concordant, discordant, and tied in y; shape (3, lanes).

    Each row is compared with the rows before it; `upto` has their weights by level of y, cumulatively.
    """
    lanes = weights.shape[1]
    upto = np.zeros((n_levels + 1, lanes))
    total, concordant, discordant, tied = upto[n_levels], counts[0], counts[1], counts[2]
    inside = 0
    for position in range(len(order)):
        while inside < entered[position]:
            row = order[inside]
            weight = weights[unit[row]]
            for higher in range(level[row] + 1, n_levels + 1):
                target = upto[higher]
                for lane in range(lanes):
                    target[lane] += weight[lane]
            inside += 1
        row = order[position]
        weight, lower, equal = weights[unit[row]], upto[level[row]], upto[level[row] + 1]
        for lane in range(lanes):
            concordant[lane] += weight[lane] * lower[lane]
            discordant[lane] += weight[lane] * (total[lane] - equal[lane])
            tied[lane] += weight[lane] * (equal[lane] - lower[lane])


def _count_pairs_of_many_levels(
    weights: Floats, unit: Ints, order: Ints, entered: Ints, level: Ints, n_levels: int, counts: Floats
) -> None:
    """Counts the same pairs for variables with many levels, with the weights of the levels in a Fenwick tree."""
    lanes = weights.shape[1]
    tree = np.zeros((n_levels + 1, lanes))
    total, lower, equal = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    concordant, discordant, tied = counts[0], counts[1], counts[2]
    inside = 0
    for position in range(len(order)):
        while inside < entered[position]:
            row = order[inside]
            weight = weights[unit[row]]
            node = level[row] + 1
            while node <= n_levels:
                target = tree[node]
                for lane in range(lanes):
                    target[lane] += weight[lane]
                node += node & -node
            for lane in range(lanes):
                total[lane] += weight[lane]
            inside += 1
        row = order[position]
        weight = weights[unit[row]]
        for upto, last in ((lower, level[row]), (equal, level[row] + 1)):
            upto[:] = 0.0
            node = last
            while node > 0:
                source = tree[node]
                for lane in range(lanes):
                    upto[lane] += source[lane]
                node -= node & -node
        for lane in range(lanes):
            concordant[lane] += weight[lane] * lower[lane]
            discordant[lane] += weight[lane] * (total[lane] - equal[lane])
            tied[lane] += weight[lane] * (equal[lane] - lower[lane])


@functools.cache
def compiled(function: Callable[..., None]) -> Any:
    """Compiles a function on its first call, so that importing this package imports no numba."""
    from numba import njit

    return njit(cache=True, nogil=True)(function)


class _Ordered:
    """A variable's order: `order` sorts the rows, `ends` ends each run of equal values, `level` numbers the runs."""

    def __init__(self, values: Floats) -> None:
        self.order = np.argsort(values, kind="stable")
        self.distinct, level, counts = np.unique(values, return_inverse=True, return_counts=True)
        self.level = level.reshape(-1).astype(np.int64)
        self.ends = np.cumsum(counts)

    def entered(self, threshold: float) -> Ints:
        """Counts the rows that are more than the threshold below each row; shape (rows,), in sorted order."""
        starts = self.ends - np.diff(self.ends, prepend=0)
        return starts[lowest_tied(self.distinct, threshold)][self.level[self.order]]


class WeightedCoefficients:
    """Coefficients of pairs of variables whose rows have the weights of their units.

    Args:
        x: Values of the metrics, shape (metrics, rows); without nan.
        y: Values of people, shape (aspects, rows); without nan.
        unit: Unit (HS instance) of every row, from 0; shape (rows,).
        n_units: Number of units, including units without a row.
        pairs: Positions in x and y of the pairs to compute.
        coefficients: Coefficients, from `fcconan.scoring.correlation.coefficients`.
        thresholds: Tie threshold of every pair, for the calibrated accuracy.
    """

    def __init__(
        self,
        x: Floats,
        y: Floats,
        unit: Ints,
        n_units: int,
        pairs: Pairs,
        coefficients: Sequence[str],
        thresholds: Sequence[float] | None = None,
    ) -> None:
        self.unit, self.pairs, self.coefficients = np.ascontiguousarray(unit, dtype=np.int64), list(pairs), coefficients
        self.thresholds = [0.0] * len(pairs) if thresholds is None else list(thresholds)
        self.size = np.bincount(unit, minlength=n_units).astype(np.float64)
        if PEARSON in coefficients:
            self._moments = _Moments(x, y, unit, n_units, self.pairs)
        if set(coefficients) - {PEARSON}:
            used_x, used_y = ({pair[side] for pair in pairs} for side in (0, 1))
            self._x = {position: _Ordered(x[position]) for position in sorted(used_x)}
            self._y = {position: _Ordered(y[position]) for position in sorted(used_y)}
            self._entered = {
                (position, threshold): self._x[position].entered(threshold)
                for (position, _), own in zip(self.pairs, self.thresholds, strict=True)
                for threshold in {0.0, own}
            }

    def __call__(self, weights: Floats) -> dict[str, Floats]:
        """Computes the coefficients under whole-number weights.

        Args:
            weights: Number of times that each unit occurs, shape (units, resamples).

        Returns:
            By coefficient, shape (pairs, resamples); nan where it is undefined.
        """
        results = {name: np.full((len(self.pairs), weights.shape[1]), np.nan) for name in self.coefficients}
        if PEARSON in results:
            results[PEARSON] = self._moments(weights)
        if set(self.coefficients) - {PEARSON}:
            for start in range(0, weights.shape[1], BLOCK):
                block = np.ascontiguousarray(weights[:, start : start + BLOCK], dtype=np.float64)
                for (name, position), values in self._ranked(block).items():
                    results[name][position, start : start + BLOCK] = values
        return results

    def _ranked(self, weights: Floats) -> dict[tuple[str, int], Floats]:
        total = self.size @ weights
        n_pairs = total * (total - 1) / 2
        on_y = {position: self._ranks(variable, weights, total) for position, variable in self._y.items()}
        results: dict[tuple[str, int], Floats] = {}
        for metric, variable in self._x.items():
            ranks_x, sums_x = self._ranks(variable, weights, total)
            mine = [(position, pair[1]) for position, pair in enumerate(self.pairs) if pair[0] == metric]
            if SPEARMAN in self.coefficients:
                products = self._rank_products(
                    variable, weights, ranks_x, [on_y[aspect][0] for _, aspect in mine], mine
                )
                for (position, aspect), product in zip(mine, products, strict=True):
                    norm = np.sqrt(sums_x[0]) * np.sqrt(on_y[aspect][1][0])
                    results[SPEARMAN, position] = np.clip(safe_divide(product, norm), -1.0, 1.0)
            for position, aspect in mine:
                tied_y = on_y[aspect][1][1]
                kendall = {KENDALL_B, KENDALL_C} & set(self.coefficients)
                if kendall or ACCURACY in self.coefficients:
                    concordant, discordant, tied_y_only = self._counts(weights, metric, aspect, 0.0)
                    for name in kendall:
                        score = concordant - discordant
                        results[name, position] = _kendall(name, score, total, n_pairs, sums_x, on_y[aspect][1])
                    if ACCURACY in self.coefficients:
                        results[ACCURACY, position] = safe_divide(concordant + tied_y - tied_y_only, n_pairs)
                if CALIBRATED in self.coefficients:
                    concordant, _, tied_y_only = self._counts(weights, metric, aspect, self.thresholds[position])
                    results[CALIBRATED, position] = safe_divide(concordant + tied_y - tied_y_only, n_pairs)
        return results

    def _ranks(self, variable: _Ordered, weights: Floats, total: Floats) -> tuple[Floats, Floats]:
        ranks = np.empty((len(variable.ends), weights.shape[1]))
        sums = np.zeros((3, weights.shape[1]))
        compiled(_rank_levels)(weights, self.unit, variable.order, variable.ends, total, ranks, sums)
        return ranks, sums

    def _rank_products(
        self, variable: _Ordered, weights: Floats, ranks: Floats, ranks_y: Sequence[Floats], mine: Pairs
    ) -> list[Floats]:
        """Sums the products of the ranks of a metric with those of people."""
        bounds = np.cumsum([0, *map(len, ranks_y)])
        levels = np.stack(
            [self._y[aspect].level + bound for (_, aspect), bound in zip(mine, bounds[:-1], strict=True)], axis=1
        )
        sums = np.zeros((bounds[-1], weights.shape[1]))
        compiled(_sum_ranks)(weights, self.unit, variable.level, ranks, np.ascontiguousarray(levels), sums)
        return [
            np.einsum("lb,lb->b", sums[start:end], own)
            for start, end, own in zip(bounds[:-1], bounds[1:], ranks_y, strict=True)
        ]

    def _counts(self, weights: Floats, metric: int, aspect: int, threshold: float) -> Floats:
        x, y = self._x[metric], self._y[aspect]
        counts = np.zeros((3, weights.shape[1]))
        entered = self._entered[metric, threshold]
        count = _count_pairs if len(y.distinct) <= FEW_LEVELS else _count_pairs_of_many_levels
        compiled(count)(weights, self.unit, x.order, entered, y.level, len(y.distinct), counts)
        return counts


class _Moments:
    """Sums by unit from which Pearson's coefficient follows under any weights."""

    def __init__(self, x: Floats, y: Floats, unit: Ints, n_units: int, pairs: Pairs) -> None:
        # Centred first, because sums of squares of values far from 0 lose precision; at the median, because an
        # outlier may move the mean far from all other values.
        x, y = (_from_median(values) for values in (x, y))
        self.x, self.y, self.unit = x, y, unit
        self.metric, self.aspect = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
        terms = [np.ones((1, len(unit))), x, y, x**2, y**2, x[self.metric] * y[self.aspect]]
        self.sections = np.cumsum([len(each) for each in terms])[:-1]
        self.sums = np.zeros((sum(map(len, terms)), n_units))
        for own, term in zip(self.sums, np.concatenate(terms), strict=True):
            own[:] = np.bincount(unit, weights=term, minlength=n_units)

    def __call__(self, weights: Floats) -> Floats:
        total, x, y, xx, yy, xy = np.split(self.sums @ weights, self.sections)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread_x, spread_y = (square - value**2 / total for square, value in ((xx, x), (yy, y)))
            covered = xy - x[self.metric] * y[self.aspect] / total
            norm = np.sqrt(np.maximum(spread_x, 0))[self.metric] * np.sqrt(np.maximum(spread_y, 0))[self.aspect]
        constant = (xx[self.metric] == 0) | (yy[self.aspect] == 0)
        kept = (spread_x > LOST * xx)[self.metric] & (spread_y > LOST * yy)[self.aspect]
        found = np.divide(covered, norm, out=np.full(covered.shape, np.nan), where=kept & ~constant)
        for position, metric, aspect in zip(range(len(found)), self.metric, self.aspect, strict=True):
            lost = np.flatnonzero(~kept[position] & ~constant[position])
            step = max(1, AT_ONCE // max(1, len(self.unit)))
            for columns in (lost[start : start + step] for start in range(0, len(lost), step)):
                found[position, columns] = weighted_pearson(
                    self.x[metric], self.y[aspect], weights[np.ix_(self.unit, columns)]
                )
        return np.clip(found, -1.0, 1.0)


def _from_median(values: Floats) -> Floats:
    """Subtracts a median value of every row, so that values equal to it become exactly 0."""
    if values.shape[1] == 0:
        return values
    middle = (values.shape[1] - 1) // 2
    return values - np.partition(values, middle, axis=1)[:, [middle]]


def weighted_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Computes Pearson's coefficient from deviations, which are more precise than sums of squares.

    Args:
        x: Values, shape (rows,) or (rows, resamples).
        y: Values of the other variable, shape (rows,) or (rows, resamples).
        weights: Number of times that each row occurs, shape (rows, resamples).

    Returns:
        Shape (resamples,); nan where a variable is constant over the rows with a weight above 0.
    """
    there, total = weights > 0, weights.sum(axis=0)
    varied = np.ones(weights.shape[1], dtype=np.bool_)
    deviations = []
    for values in (x, y):
        values = np.broadcast_to(values if values.ndim == 2 else values[:, None], weights.shape)
        varied &= np.where(there, values, -np.inf).max(axis=0) > np.where(there, values, np.inf).min(axis=0)
        mean = (weights * values).sum(axis=0) / np.where(total > 0, total, 1.0)
        deviations.append(values - mean)
    one, other = deviations
    norm = np.sqrt((weights * one**2).sum(axis=0)) * np.sqrt((weights * other**2).sum(axis=0))
    return np.clip(safe_divide((weights * one * other).sum(axis=0), np.where(varied, norm, 0.0)), -1.0, 1.0)


def _kendall(name: str, score: Floats, total: Floats, n_pairs: Floats, x: Floats, y: Floats) -> Floats:
    untied_x, untied_y = n_pairs - x[1], n_pairs - y[1]
    there = (untied_x > 0) & (untied_y > 0)
    if name == KENDALL_B:
        norm = np.sqrt(np.maximum(untied_x, 0)) * np.sqrt(np.maximum(untied_y, 0))
    else:
        assert name == KENDALL_C
        fewer = np.maximum(np.minimum(x[2], y[2]), 1)
        norm = total**2 * (fewer - 1) / (2 * fewer)
    return np.clip(safe_divide(score, np.where(there, norm, 0.0)), -1.0, 1.0)


def resampled(
    evaluate: Callable[[Floats], Mapping[str, Floats]], n_units: int, *, resamples: int, seed: int
) -> dict[str, Floats]:
    """Evaluates a function of the weights of a bootstrap; resamples are those of `bootstrap_means` with the same seed.

    Args:
        evaluate: Function from weights, shape (units, block of resamples), to arrays of shape (..., block of
            resamples).
        n_units: Number of units to resample.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.

    Returns:
        Name -> values, shape (..., resamples).
    """
    parts: list[Mapping[str, Floats]] = []
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for weights in draws(n_units, resamples, seed):
            blocks = [weights[start : start + 4 * BLOCK].T for start in range(0, len(weights), 4 * BLOCK)]
            parts += threads.map(evaluate, blocks)
    return {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
