"""Correlation at four levels, which are different quantities.

- `pooled`: one coefficient of all rows.
- `per_item`: the mean of the coefficients within items.
- `per_system`: the mean of the coefficients within systems.
- `system_means`: the coefficient of the systems' mean values.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fcconan.groups import Bootstrap
from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.correlation.weighted import CALIBRATED, Values, Weighted, standardised, within_groups
from fcconan.scoring.intervals import draws, means, safe_divide

POOLED, PER_ITEM, PER_SYSTEM, SYSTEM_MEANS = LEVELS = ("pooled", "per_item", "per_system", "system_means")
DIGITS = 13  # of means: equal means of different numbers may differ in their last digits
TOLERANCE = 1e-12
SAMPLED_PAIRS = 200_000  # pairs from which a threshold is fitted
BLOCK = 500_000  # rows times columns of weights at once
Pairs = Sequence[tuple[int, int]]


class Evaluated(NamedTuple):
    """Coefficients at a level.

    Attributes:
        groups: Coefficient -> values within the groups of two rows or more, shape (pairs, groups).
        weighted: Function from weights of the units, shape (units, columns), to means over the groups that have a
            value; coefficient -> shape (pairs, columns).
        n: Number of rows in these groups.
        thresholds: Largest difference of the metric that counts as a tie, for the calibrated accuracy of each pair.
    """

    groups: Values
    weighted: Callable[[Floats], Values]
    n: int
    thresholds: list[float]


def evaluate(
    level: str,
    x: Floats,
    y: Floats,
    unit: Ints,
    n_units: int,
    system: Ints,
    pairs: Pairs,
    names: Sequence[str],
    *,
    fixed: bool = False,
) -> Evaluated:
    """Computes coefficients at a level, and prepares them for weights of units (items).

    Args:
        level: One of `LEVELS`.
        x: Values of the metrics, shape (metrics, rows); without nan for those of `pairs`.
        y: Values of people, shape (aspects, rows); likewise.
        unit: Unit of each row, from 0.
        n_units: Number of units.
        system: System of each row, from 0.
        pairs: Positions in x and y of the pairs to compute.
        names: Coefficients.
        fixed: See `Weighted`.
    """
    every = np.ones((n_units, 1))
    (used_x, first), (used_y, second) = (np.unique(side, return_inverse=True) for side in np.transpose(pairs))
    x, y, pairs = x[used_x], y[used_y], [*zip(first.tolist(), second.tolist(), strict=True)]
    if level == SYSTEM_MEANS:
        return _system_means(x, y, unit, n_units, system, pairs, names)
    group = {POOLED: np.zeros_like(unit), PER_ITEM: unit, PER_SYSTEM: system}[level]
    thresholds = [calibrated_threshold(x[a], y[b], group) if CALIBRATED in names else 0.0 for a, b in pairs]
    sizes = np.bincount(group, minlength=n_units)
    n = int(sizes[sizes > 1].sum())
    if level == PER_ITEM:
        groups = within_groups(x, y, unit, n_units, pairs, names, thresholds)

        def mean_of_items(weights: Floats) -> Values:
            return {
                name: safe_divide(np.nan_to_num(values) @ weights, np.isfinite(values) @ weights)
                for name, values in groups.items()
            }

        return Evaluated({name: each[:, sizes > 1] for name, each in groups.items()}, mean_of_items, n, thresholds)
    kernels = [
        Weighted(x[:, rows], y[:, rows], unit[rows], n_units, pairs, names, thresholds, fixed=fixed)
        for rows in (group == each for each in np.flatnonzero(sizes > 1))
    ]

    def within(weights: Floats) -> Values:
        found = [kernel(weights) for kernel in kernels]
        if not found:
            return dict.fromkeys(names, np.zeros((len(pairs), 0, weights.shape[1])))
        return {name: np.stack([each[name] for each in found], axis=1) for name in found[0]}

    def mean_of_groups(weights: Floats) -> Values:
        return {name: means(values, axis=1) for name, values in within(weights).items()}

    return Evaluated({name: each[:, :, 0] for name, each in within(every).items()}, mean_of_groups, n, thresholds)


def _system_means(
    x: Floats, y: Floats, unit: Ints, n_units: int, system: Ints, pairs: Pairs, names: Sequence[str]
) -> Evaluated:
    used, place = np.unique(system, return_inverse=True)
    cell, shape = place.reshape(-1) * n_units + unit, (len(used), n_units)
    counts = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    values = standardised(np.concatenate([x, y]), np.zeros_like(unit))
    sums = [np.bincount(cell, weights=own, minlength=shape[0] * shape[1]).reshape(shape) for own in values]

    def of_systems(weights: Floats, thresholds: Sequence[float] = ()) -> Values:
        number = (counts @ weights).T
        there = number.ravel() > 0  # a resample may lack a system
        column = np.repeat(np.arange(len(number)), len(used))[there]
        drawn = np.array([np.round(safe_divide((own @ weights).T, number), DIGITS).ravel()[there] for own in sums])
        return within_groups(drawn[: len(x)], drawn[len(x) :], column, len(number), pairs, names, thresholds)

    every = np.ones((n_units, 1))
    thresholds = [0.0] * len(pairs)
    if CALIBRATED in names:
        of_all = np.array([np.round((own @ every)[:, 0] / counts.sum(axis=1), DIGITS) for own in sums])
        group = np.zeros(len(used), dtype=np.int64)
        thresholds = [calibrated_threshold(of_all[a], of_all[len(x) + b], group) for a, b in pairs]
    observed = of_systems(every, thresholds)
    enough = len(used) > 1
    raw = [each and each * np.ptp(x[a]) / np.ptp(values[a]) for each, (a, _) in zip(thresholds, pairs, strict=True)]
    return Evaluated(
        observed if enough else {name: values[:, :0] for name, values in observed.items()},
        lambda weights: of_systems(weights, thresholds),
        len(unit) if enough else 0,
        raw,
    )


def resampled(evaluated: Evaluated, n_units: int, n_rows: int, bootstrap: Bootstrap) -> Values:
    """Returns the values in resamples of the units.

    Args:
        evaluated: The level.
        n_units: Number of units.
        n_rows: Number of rows.
        bootstrap: Resamples.

    Returns:
        Coefficient -> shape (pairs, resamples).
    """
    step = max(16, min(BLOCK // max(1, n_rows), 256))
    parts = [
        evaluated.weighted(np.ascontiguousarray(drawn[start : start + step].T))
        for drawn in draws(n_units, bootstrap.resamples, bootstrap.seed)
        for start in range(0, len(drawn), step)
    ]
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}


def calibrated_threshold(x: Floats, y: Floats, group: Ints) -> float:
    """Finds the tie threshold with the highest mean pairwise accuracy (Deutsch et al., 2023, "Ties Matter", section 7).

    A threshold that is fitted to the evaluated rows overestimates accuracy slightly, for all metrics. Of more than
    200,000 pairs, it is fitted to a sample.

    Args:
        x: Values of the metric, shape (rows,); without nan.
        y: Values of people.
        group: Group of each row, from 0; shape (rows,). Only pairs within a group count, and all groups count equally.

    Returns:
        The smallest of the best thresholds: 0, or the difference of a pair. 0 without a pair.
    """
    sizes = np.bincount(group)
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(sizes) - sizes
    large = np.flatnonzero(sizes > 1)
    if not len(large):
        return 0.0
    if (sizes * (sizes - 1) // 2).sum() > SAMPLED_PAIRS:
        generator = np.random.default_rng(0)
        drawn = large[generator.integers(len(large), size=SAMPLED_PAIRS)]
        one = generator.integers(sizes[drawn])
        other = (one + 1 + generator.integers(sizes[drawn] - 1)) % sizes[drawn]
        first, second, weight = order[starts[drawn] + one], order[starts[drawn] + other], np.ones(SAMPLED_PAIRS)
    else:
        places = [np.triu_indices(size, k=1) for size in sizes[large]]
        first, second = (
            np.concatenate([order[start + each[side]] for start, each in zip(starts[large], places, strict=True)])
            for side in (0, 1)
        )
        weight = np.concatenate([np.full(len(each[0]), 1 / len(each[0])) for each in places])
    difference = np.abs(x[first] - x[second])
    concordant = np.sign(x[first] - x[second]) * np.sign(y[first] - y[second]) > 0
    gain = weight * ((y[first] == y[second]).astype(float) - concordant)
    thresholds, place = np.unique(np.append(0.0, difference), return_inverse=True)
    gains = np.cumsum(np.bincount(place[1:], weights=gain, minlength=len(thresholds)))
    return float(thresholds[np.argmax(gains >= gains.max() - TOLERANCE * weight.sum())])
