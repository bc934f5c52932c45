"""Correlation at four levels, which are different quantities.

- `pooled`: one coefficient of all rows.
- `per_item`: the mean of the coefficients within HS instances.
- `per_system`: the mean of the coefficients within systems.
- `system_means`: the coefficient of the systems' mean values.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.correlation.coefficients import (
    CALIBRATED,
    accuracy_by_chance,
    calibrated_threshold,
    group_coefficients,
    groups_by_size,
    rounded,
    scale_of,
)
from fcconan.scoring.correlation.weighted import WeightedCoefficients, resampled
from fcconan.scoring.intervals import bootstrap_means, means, safe_divide
from fcconan.scoring.score_table import CompleteRows, ScoreTable

POOLED, PER_ITEM, PER_SYSTEM, SYSTEM_MEANS = "pooled", "per_item", "per_system", "system_means"
LEVELS = (POOLED, PER_ITEM, PER_SYSTEM, SYSTEM_MEANS)
UNKNOWN = "unknown"  # the system of a reply without one


def at_level(table: ScoreTable, level: str) -> ScoreTable:
    """Returns the table for a level: at the levels of systems, replies of unknown systems are missing."""
    known = np.asarray(table.systems, dtype=str) != UNKNOWN
    if level not in (PER_SYSTEM, SYSTEM_MEANS) or known.all():
        return table
    annotators = None if table.annotators is None else np.where(known, table.annotators, np.nan)
    return replace(table, human_values=np.where(known, table.human_values, np.nan), annotators=annotators)


@dataclass(frozen=True)
class LevelValues:
    """Coefficients of pairs of variables at a level.

    Attributes:
        groups: Coefficient -> values within the groups that have two rows or more; shape (pairs, groups).
        thresholds: Tie threshold of each pair.
        n_too_few: Number of groups of the whole table that have fewer than two of the rows.
        n_rows_too_few: Number of rows in these groups.
        resample: Function from a number of resamples and a seed to the resampled means over the groups; coefficient ->
            shape (pairs, resamples).
    """

    groups: Mapping[str, Floats]
    thresholds: list[float]
    n_too_few: int
    n_rows_too_few: int
    resample: Callable[[int, int], Mapping[str, Floats]]

    def values(self) -> dict[str, Floats]:
        """Returns the means over the groups that have a value; coefficient -> shape (pairs,)."""
        return {name: means(values, axis=1) for name, values in self.groups.items()}


def group_of(level: str, item: Ints, system: Ints) -> Ints:
    """Returns the group of each row at a level that divides the rows into groups; shape (rows,)."""
    return {POOLED: np.zeros_like(item), PER_ITEM: item, PER_SYSTEM: system}[level]


def evaluate(level: str, part: CompleteRows, coefficients: Sequence[str]) -> LevelValues:
    """Computes coefficients at a level, and prepares their bootstrap over HS instances.

    Args:
        level: One of `LEVELS`.
        part: The rows.
        coefficients: Coefficients, from `fcconan.scoring.correlation.coefficients`.
    """
    if level == PER_ITEM:
        return _per_item(part, coefficients)
    if level == SYSTEM_MEANS:
        return _system_means(part, coefficients)
    n_groups = {POOLED: 1, PER_SYSTEM: part.n_systems}[level]
    group = group_of(level, part.item, part.system)
    thresholds = _thresholds(part, group, coefficients)
    sizes = np.bincount(group, minlength=n_groups)
    kernels = []
    for position in np.flatnonzero(sizes > 1):
        rows = group == position
        kernels.append(
            WeightedCoefficients(
                part.x[:, rows], part.y[:, rows], part.item[rows], part.n_items, part.pairs, coefficients, thresholds
            )
        )

    def within(weights: Floats) -> dict[str, Floats]:
        found = [kernel(weights) for kernel in kernels]
        empty = np.zeros((len(part.pairs), 0, weights.shape[1]))
        return {name: np.stack([each[name] for each in found], axis=1) if found else empty for name in coefficients}

    def of_all(weights: Floats) -> dict[str, Floats]:
        return {name: means(values, axis=1) for name, values in within(weights).items()}

    observed = {name: values[:, :, 0] for name, values in within(np.ones((part.n_items, 1))).items()}
    return LevelValues(
        observed,
        thresholds,
        int((sizes < 2).sum()),
        int((sizes == 1).sum()),
        lambda resamples, seed: resampled(of_all, part.n_items, resamples=resamples, seed=seed),
    )


def _thresholds(part: CompleteRows, group: Ints, coefficients: Sequence[str]) -> list[float]:
    if CALIBRATED not in coefficients:
        return [0.0] * len(part.pairs)
    return [calibrated_threshold(part.x[metric], part.y[aspect], group) for metric, aspect in part.pairs]


def _per_item(part: CompleteRows, coefficients: Sequence[str]) -> LevelValues:
    thresholds = _thresholds(part, part.item, coefficients)
    found = {name: np.full((len(part.pairs), part.n_items), np.nan) for name in coefficients}
    sizes = np.bincount(part.item, minlength=part.n_items)
    for items, rows in groups_by_size(part.item, part.n_items):
        for position, ((metric, aspect), threshold) in enumerate(zip(part.pairs, thresholds, strict=True)):
            own = group_coefficients(part.x[metric][rows], part.y[aspect][rows], coefficients, threshold=threshold)
            for name, values in own.items():
                found[name][position, items] = values

    def resample(resamples: int, seed: int) -> dict[str, Floats]:
        return {name: bootstrap_means(values, resamples=resamples, seed=seed).T for name, values in found.items()}

    large = {name: values[:, sizes > 1] for name, values in found.items()}
    return LevelValues(large, thresholds, int((sizes < 2).sum()), int((sizes == 1).sum()), resample)


def _system_means(part: CompleteRows, coefficients: Sequence[str]) -> LevelValues:
    used = np.unique(part.system)
    shape = (len(used), part.n_items)
    cell = np.searchsorted(used, part.system) * part.n_items + part.item

    def sums_of(values: Floats | None) -> Floats:
        return np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)

    counts = sums_of(None)
    sums_x, sums_y = (np.array([sums_of(own) for own in values]) for values in (part.x, part.y))
    scales = [[scale_of(own) for own in values] for values in (part.x, part.y)]

    def of_systems(weights: Floats) -> tuple[Floats, Floats]:
        number = counts @ weights
        x, y = (safe_divide(sums @ weights, number) for sums in (sums_x, sums_y))
        for values, own_scales in zip((x, y), scales, strict=True):
            for own, scale in zip(values, own_scales, strict=True):
                own[:] = rounded(own, scale)
        return x, y

    x, y = (values[:, :, 0] for values in of_systems(np.ones((part.n_items, 1))))
    one_group = np.zeros(len(used), dtype=np.int64)
    thresholds = [0.0] * len(part.pairs)
    if CALIBRATED in coefficients:
        thresholds = [calibrated_threshold(x[metric], y[aspect], one_group) for metric, aspect in part.pairs]

    def across(weights: Floats) -> dict[str, Floats]:
        drawn_x, drawn_y = of_systems(weights)
        found = {name: np.full((len(part.pairs), weights.shape[1]), np.nan) for name in coefficients}
        there = (counts @ weights > 0).T  # a resample may lack a system
        for pattern in np.unique(there, axis=0):
            columns = np.flatnonzero((there == pattern).all(axis=1))
            for position, ((metric, aspect), threshold) in enumerate(zip(part.pairs, thresholds, strict=True)):
                own_x, own_y = (values[np.ix_(pattern, columns)].T for values in (drawn_x[metric], drawn_y[aspect]))
                for name, values in group_coefficients(own_x, own_y, coefficients, threshold=threshold).items():
                    found[name][position, columns] = values
        return found

    observed = across(np.ones((part.n_items, 1)))
    return LevelValues(
        observed if len(used) > 1 else {name: values[:, :0] for name, values in observed.items()},
        thresholds,
        int(len(used) < 2),
        len(part.rows) if len(used) < 2 else 0,
        lambda resamples, seed: resampled(across, part.n_items, resamples=resamples, seed=seed),
    )


def accuracy_chance(level: str, part: CompleteRows, pair: tuple[int, int]) -> float:
    """Returns the mean over groups of the pairwise accuracy by chance; nan if no group has two rows."""
    x, y = part.x[pair[0]], part.y[pair[1]]
    if level == SYSTEM_MEANS:
        count = np.bincount(part.system)
        x, y = (
            rounded(np.bincount(part.system, weights=values)[count > 0] / count[count > 0], scale_of(values))
            for values in (x, y)
        )
        group = np.zeros(len(x), dtype=np.int64)
    else:
        group = group_of(level, part.item, part.system)
    if len(group) == 0:
        return float("nan")
    found = [accuracy_by_chance(x[rows], y[rows]) for _, rows in groups_by_size(group, int(group.max()) + 1)]
    return float(means(np.concatenate(found)))
