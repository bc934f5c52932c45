"""Differences between the coefficients of two metrics after random swaps of their values, many swaps at once.

Pearson's coefficient follows from sums over the swapped rows, which are matrix products. Ranks of both metrics are
computed again after every swap (`permuted_ranks`). Other coefficients are weighted ones, with weights of 1 and 0.
Within an item, all different swaps are listed.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fcconan.scoring.arrays import Floats, Ints, Swaps
from fcconan.scoring.correlation.coefficients import (
    KENDALL_B,
    PEARSON,
    SPEARMAN,
    group_coefficients,
    groups_by_size,
    rounded,
    scale_of,
)
from fcconan.scoring.correlation.levels import PER_ITEM, SYSTEM_MEANS, group_of
from fcconan.scoring.correlation.permuted_ranks import SwappedRanks
from fcconan.scoring.correlation.weighted import LOST, WeightedCoefficients, weighted_pearson
from fcconan.scoring.intervals import means, safe_divide

LARGEST_LISTED = 8  # rows of an item up to which all 2^n swaps are listed
FEW_LEVELS = 32  # different values by people up to which a loop over them is fast
DIGITS = 12  # digits of standardised values; equal values of two metrics may differ by rounding errors


class Comparison(Protocol):
    """Two metrics and some aspects, on the rows that have values of all of them."""

    def differences(self, swapped: Swaps) -> dict[str, Floats]:
        """Computes the coefficient of the first metric minus that of the second after swaps.

        Args:
            swapped: 1 where a row is swapped, else 0; shape (rows, swaps).

        Returns:
            Coefficient -> differences, shape (aspects, swaps); nan where one of the two is undefined.
        """
        ...


def standardised(values: Floats) -> Floats:
    """Returns values with mean 0 and standard deviation 1; a constant becomes 0."""
    if len(values) == 0 or np.ptp(values) == 0:
        return np.zeros_like(values)
    scaled = values / scale_of(values)  # the squares of tiny numbers would be 0
    return np.round((scaled - scaled.mean()) / scaled.std(), DIGITS) + 0.0


def prepare_comparison(
    level: str, metrics: tuple[Floats, Floats], people: Floats, item: Ints, system: Ints, names: Sequence[str]
) -> Comparison:
    """Prepares two metrics for swaps.

    Args:
        level: One of `LEVELS`.
        metrics: Values of the two metrics, shape (rows,) each; without nan.
        people: Values of people, shape (aspects, rows); without nan.
        item: Position of each row's item.
        system: Position of each row's system.
        names: Coefficients.
    """
    first, second = (standardised(values) for values in metrics)
    if level == PER_ITEM:
        return _WithinItems(first, second, people, item, names)
    if level == SYSTEM_MEANS:
        return _SystemMeans(first, second, people, system, names)
    return _WithinGroups(first, second, people, group_of(level, item, system), names)


class _WithinGroups:
    def __init__(self, first: Floats, second: Floats, people: Floats, group: Ints, names: Sequence[str]) -> None:
        self.names, self.n_aspects = names, len(people)
        rows = [np.flatnonzero(group == position) for position in np.unique(group)]
        self.groups = [(own, _Group(first[own], second[own], people[:, own], names)) for own in rows if len(own) > 1]

    def differences(self, swapped: Swaps) -> dict[str, Floats]:
        if not self.groups:
            return {name: np.full((self.n_aspects, swapped.shape[1]), np.nan) for name in self.names}
        found = [group.coefficients(swapped[rows]) for rows, group in self.groups]
        means_of = {name: means(np.stack([each[name] for each in found], axis=2), axis=2) for name in self.names}
        return {name: first - second for name, (first, second) in means_of.items()}


class _Group:
    """Two metrics and people in one group of rows."""

    def __init__(self, first: Floats, second: Floats, people: Floats, names: Sequence[str]) -> None:
        few_levels = all(len(np.unique(own)) <= FEW_LEVELS for own in people)
        self.pearson = _SwappedPearson(first, second, people) if PEARSON in names else None
        self.ranked = [name for name in names if name in (SPEARMAN, KENDALL_B) and few_levels]
        self.ranks = SwappedRanks(first, second, people) if self.ranked else None
        self.norms = {name: np.array([[_norm(own, name)] for own in people]) for name in self.ranked}
        self.counted = [name for name in names if name != PEARSON and name not in self.ranked]
        if self.counted:
            values = np.concatenate([first, second])
            self.order = np.argsort(values, kind="stable")  # order in which the kernels read the rows
            own, both = np.arange(len(values)), np.tile(people, 2)[:, self.order]
            pairs = [(0, aspect) for aspect in range(len(people))]
            self.kernel = WeightedCoefficients(values[None, self.order], both, own, len(own), pairs, self.counted)

    def coefficients(self, swapped: Swaps) -> dict[str, Floats]:
        """Computes the coefficients of both metrics; coefficient -> shape (2, aspects, swaps)."""
        found: dict[str, Floats] = {}
        if self.pearson is not None:
            found[PEARSON] = self.pearson.coefficients(swapped)
        if self.ranks is not None:
            for name in self.ranked:
                norms = self.ranks.norms(swapped, name)
                above = [self.ranks.numerators(taken, name) for taken in (swapped, 1 - swapped)]
                found[name] = safe_divide(np.stack(above), norms[:, None] * self.norms[name])
        if self.counted:
            weights = np.concatenate([1 - swapped, swapped])[self.order]
            both = [self.kernel(each) for each in (weights, 1 - weights)]
            found |= {name: np.stack([each[name] for each in both]) for name in self.counted}
        return found


class _SwappedPearson:
    """Pearson's coefficients of two metrics in one group after swaps, from sums over the swapped rows."""

    def __init__(self, first: Floats, second: Floats, people: Floats) -> None:
        self.metrics, self.size = (first, second), len(first)
        self.centred = people - people.mean(axis=1, keepdims=True)
        spread = (self.centred**2).sum(axis=1)
        self.norm = np.sqrt(np.where(np.ptp(people, axis=1) > 0, spread, np.nan))[:, None]
        change = second - first
        self.change = np.stack([change, second**2 - first**2, *(change * own for own in self.centred)])

    def coefficients(self, swapped: Swaps) -> Floats:
        sums = self.change @ swapped
        found = []
        for side, sign, metric in zip((0, 1), (1, -1), self.metrics, strict=True):
            value, square = metric.sum() + sign * sums[0], (metric**2).sum() + sign * sums[1]
            spread = square - value**2 / self.size
            # The sums include all rows of both metrics: an outlier that a swap removes leaves its rounding error.
            lost = spread <= LOST * self.size
            above = (self.centred @ metric)[:, None] + sign * sums[2:]
            own = above / (np.sqrt(np.where(lost, np.nan, spread)) * self.norm)
            if lost.any():
                taken = swapped[:, lost] == side
                values = np.where(taken, self.metrics[0][:, None], self.metrics[1][:, None])
                own[:, lost] = [weighted_pearson(values, each, np.ones(values.shape)) for each in self.centred]
            found.append(own)
        return np.stack(found)


def _norm(values: Floats, name: str) -> float:
    """Returns the factor of a variable in the denominator of a rank coefficient."""
    size, counts = len(values), np.unique(values, return_counts=True)[1].astype(np.float64)
    squares = {
        SPEARMAN: (size**3 - size - (counts**3 - counts).sum()) / 12,
        KENDALL_B: size * (size - 1) / 2 - (counts * (counts - 1) / 2).sum(),
    }
    return float(np.sqrt(squares[name]))


class _SystemMeans:
    def __init__(self, first: Floats, second: Floats, people: Floats, system: Ints, names: Sequence[str]) -> None:
        self.names = names
        share = (system[:, None] == np.unique(system)).astype(np.float64)
        count = share.sum(axis=0)
        self.people = np.stack([rounded(own @ share / count, scale_of(own)) for own in people])
        share /= count
        self.change = (share * (second - first)[:, None]).T
        self.start = (first @ share, second @ share)

    def differences(self, swapped: Swaps) -> dict[str, Floats]:
        change = (self.change @ swapped).T
        # Rounded, because systems with equal means must remain tied.
        values = [np.round(self.start[0] + change, DIGITS), np.round(self.start[1] - change, DIGITS)]
        found: dict[str, list[Floats]] = {name: [] for name in self.names}
        for people in self.people:
            own = [group_coefficients(each, np.broadcast_to(people, each.shape), self.names) for each in values]
            for name in self.names:
                found[name].append(own[0][name] - own[1][name])
        return {name: np.stack(each) for name, each in found.items()}


class _WithinItems:
    def __init__(self, first: Floats, second: Floats, people: Floats, item: Ints, names: Sequence[str]) -> None:
        self.names, self.n_aspects = names, len(people)
        self.first, self.second, self.people = first, second, people
        sizes = groups_by_size(item, int(item.max()) + 1 if len(item) else 0)
        self.rows = [rows for _, rows in sizes if rows.shape[1] > 1]
        self.listed = [self._list(rows) if rows.shape[1] <= LARGEST_LISTED else None for rows in self.rows]

    def _list(self, rows: Ints) -> dict[str, Floats]:
        """Computes the coefficients of the first metric after every different swap; shape (aspects, items, swaps)."""
        size = rows.shape[1]
        ways = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
        return self._after(rows, ways[None].astype(np.int8))

    def _after(self, rows: Ints, swapped: Swaps) -> dict[str, Floats]:
        """Computes the coefficients after swaps of shape (items or 1, swaps, rows of an item)."""
        values = np.where(swapped == 1, self.second[rows][:, None], self.first[rows][:, None])
        flat = values.reshape(-1, rows.shape[1])
        found: dict[str, list[Floats]] = {name: [] for name in self.names}
        for people in self.people:
            own = np.repeat(people[rows], values.shape[1], axis=0)
            for name, each in group_coefficients(flat, own, self.names).items():
                found[name].append(each.reshape(values.shape[:2]))
        return {name: np.stack(each) for name, each in found.items()}

    def differences(self, swapped: Swaps) -> dict[str, Floats]:
        shape = (2, self.n_aspects, swapped.shape[1])
        totals, counts = ({name: np.zeros(shape) for name in self.names} for _ in range(2))
        for rows, listed in zip(self.rows, self.listed, strict=True):
            size = rows.shape[1]
            if listed is None:
                taken = np.moveaxis(swapped[rows], 2, 1)
                after = [self._after(rows, each) for each in (taken, 1 - taken)]
            else:
                way = np.einsum("irs,r->is", swapped[rows], 2.0 ** np.arange(size)).astype(np.int64)
                which = np.arange(len(rows))[:, None]
                after = [
                    {name: values[:, which, each] for name, values in listed.items()}
                    for each in (way, 2**size - 1 - way)
                ]
            for name in self.names:
                for side, own in enumerate(after):
                    there = np.isfinite(own[name])
                    totals[name][side] += np.where(there, own[name], 0.0).sum(axis=1)
                    counts[name][side] += there.sum(axis=1)
        found = {}
        for name in self.names:
            mean = safe_divide(totals[name], counts[name])
            found[name] = mean[0] - mean[1]
        return found
