"""Differences between two metrics after their values were swapped at random, many swaps at once.

Sums over swapped rows are products of a matrix. Pearson follows from such sums. So does the *difference* between the
numerators of two rank coefficients: what depends on pairs of swaps is the same for both metrics and cancels. Where no
two values of the metrics are equal, the denominators stay as they are. With ties they change, and the numerator of one
metric is counted anew (`swapped_ranks`). Within an item, all ways to swap are listed.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fcconan.scoring.correlation.coefficients import (
    KENDALL_B,
    PEARSON,
    SPEARMAN,
    group_coefficients,
    groups_by_size,
    middle_ranks,
    rounded,
    scale_of,
)
from fcconan.scoring.correlation.levels import PER_ITEM, POOLED, SYSTEM_MEANS
from fcconan.scoring.correlation.permuted_ranks import SwappedRanks
from fcconan.scoring.correlation.weighted import LOST, WeightedCoefficients, weighted_pearson
from fcconan.scoring.significance.intervals import divided, means

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.int8]

LARGEST_LISTED = 8  # rows of an item, all of whose 2^n ways to swap are listed
FEW_LEVELS = 32  # people's values that are gone through one by one
DIGITS = 12  # equal standardised values of two metrics may differ in their last digit


class Comparison(Protocol):
    """Two metrics against some aspects, on the rows that all of them have.

    Attributes:
        columns: What to sum over the swapped rows, shape (rows, columns).
    """

    columns: Floats

    def differences(self, sums: Floats, swapped: Flags) -> dict[str, Floats]:
        """Computes first minus second metric after swaps.

        Args:
            sums: Sums of the columns over swapped rows, shape (columns, swaps).
            swapped: 1 where a row is swapped, else 0; shape (rows, swaps).

        Returns:
            By coefficient, shape (aspects, swaps); nan where one is undefined.
        """
        ...


def standardised(values: Floats) -> Floats:
    """Values with mean 0 and standard deviation 1, whatever their unit; a constant becomes 0."""
    if len(values) == 0 or np.ptp(values) == 0:
        return np.zeros_like(values)
    scaled = values / scale_of(values)  # the squares of tiny numbers are 0
    return np.round((scaled - scaled.mean()) / scaled.std(), DIGITS) + 0.0


def comparison(
    level: str, metrics: tuple[Floats, Floats], people: Floats, item: Ints, system: Ints, names: Sequence[str]
) -> Comparison:
    """Prepares two metrics for swaps.

    Args:
        level: One of `LEVELS`.
        metrics: Their values, shape (rows,) each; complete.
        people: Shape (aspects, rows); complete.
        item: Position of each row's item.
        system: Position of each row's system.
        names: The coefficients.
    """
    first, second = (standardised(values) for values in metrics)
    if level == PER_ITEM:
        return _WithinItems(first, second, people, item, names)
    if level == SYSTEM_MEANS:
        return _SystemMeans(first, second, people, system, names)
    group = np.zeros(len(item), dtype=np.int64) if level == POOLED else system
    return _WithinGroups(first, second, people, group, names)


class _WithinGroups:
    def __init__(self, first: Floats, second: Floats, people: Floats, group: Ints, names: Sequence[str]) -> None:
        self.names, self.n_aspects = names, len(people)
        rows = [np.flatnonzero(group == position) for position in np.unique(group)]
        self.groups = [each for each in rows if len(each) > 1]
        few_levels = all(len(np.unique(own)) <= FEW_LEVELS for each in self.groups for own in people[:, each])
        untied = all(
            len(np.unique(np.concatenate([first[each], second[each]]))) == 2 * len(each) for each in self.groups
        )
        self.linear = [name for name in names if name in (SPEARMAN, KENDALL_B)] if few_levels else []
        self.counted = [name for name in names if name != PEARSON and name not in self.linear]
        columns: list[Floats] = []
        if PEARSON in names:
            self.moments = [_SwappedPearson(first[each], second[each], people[:, each]) for each in self.groups]
            for each, moments in zip(self.groups, self.moments, strict=True):
                spread = np.zeros((len(group), moments.columns.shape[1]))
                spread[each] = moments.columns
                columns.append(spread)
        self.norms = {
            name: [np.array([[_norm(own, name)] for own in people[:, each]]) for each in self.groups]
            for name in self.linear
        }
        for name in self.linear:
            for each in self.groups:
                spread = np.zeros((len(group), self.n_aspects))
                for aspect, own in enumerate(people[:, each]):
                    spread[each, aspect] = linear_scores(first[each], second[each], own, name)
                columns.append(spread)
        self.columns = np.concatenate(columns, axis=1) if columns else np.zeros((len(group), 0))
        self.totals = self.columns.sum(axis=0)[:, None]
        self.tied = [
            SwappedRanks(first[each], second[each], people[:, each])
            for each in self.groups
            if self.linear and not untied
        ]
        # In the order of the metrics' values, in which the passes over the rows go.
        self.orders = [
            np.argsort(np.concatenate([first[each], second[each]]), kind="stable")
            for each in self.groups
            if self.counted
        ]
        self.kernels = [
            WeightedCoefficients(
                np.concatenate([first[each], second[each]])[None, order],
                np.concatenate([people[:, each]] * 2, axis=1)[:, order],
                np.arange(2 * len(each)),
                2 * len(each),
                [(0, aspect) for aspect in range(self.n_aspects)],
                self.counted,
            )
            for each, order in zip(self.groups, self.orders, strict=bool(self.counted))
        ]

    def differences(self, sums: Floats, swapped: Flags) -> dict[str, Floats]:
        found: dict[str, Floats] = {}
        n_swaps, start = swapped.shape[1], 0
        if not self.groups:
            return {name: np.full((self.n_aspects, n_swaps), np.nan) for name in self.names}
        if PEARSON in self.names:
            own = []
            for moments, rows in zip(self.moments, self.groups, strict=True):
                end = start + moments.columns.shape[1]
                own.append(moments.coefficients(sums[start:end], swapped[rows]))
                start = end
            first, second = (means(np.stack([each[side] for each in own], axis=1), axis=1) for side in (0, 1))
            found[PEARSON] = first - second
        changes: dict[str, list[Floats]] = {name: [] for name in self.linear}
        for own_changes in changes.values():
            for _ in self.groups:
                end = start + self.n_aspects
                own_changes.append(self.totals[start:end] - 2 * sums[start:end])
                start = end
        sides: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in self.names if name != PEARSON}
        for position, each in enumerate(self.groups):
            for name, pair in self._ranked(position, swapped[each], changes).items():
                sides[name].append(pair)
        for name, pairs in sides.items():
            first, second = (means(np.stack([pair[side] for pair in pairs], axis=1), axis=1) for side in (0, 1))
            found[name] = first - second
        return found

    def _ranked(
        self, position: int, taken: Flags, changes: dict[str, list[Floats]]
    ) -> dict[str, tuple[Floats, Floats]]:
        """Computes the rank coefficients of both metrics in one group; shape (aspects, swaps).

        Without ties only their difference is known: one gets all of it.
        """
        found: dict[str, tuple[Floats, Floats]] = {}
        size = len(taken)
        if self.counted:
            kernel, order = self.kernels[position], self.orders[position]
            weights = np.concatenate([1 - taken, taken])[order]
            own, other = kernel(weights), kernel(1 - weights)
            found = {name: (own[name], other[name]) for name in self.counted}
        for name in self.linear:
            norm, change = self.norms[name][position], changes[name][position]
            if self.tied:
                above, norms = self.tied[position].numerators(taken, name), self.tied[position].norms(taken, name)
                found[name] = divided(above, norms[0] * norm), divided(above - change, norms[1] * norm)
            else:
                alone = np.sqrt((size**3 - size) / 12) if name == SPEARMAN else np.sqrt(size * (size - 1) / 2)
                difference = divided(change, alone * norm)
                found[name] = difference, np.where(np.isnan(difference), np.nan, 0.0)
        return found


class _SwappedPearson:
    """Pearson's coefficients of two swapped metrics in one group, from sums over the swapped rows."""

    def __init__(self, first: Floats, second: Floats, people: Floats) -> None:
        self.metrics = first, second
        people = people - people.mean(axis=1, keepdims=True)
        self.centred = people
        self.size, self.people = len(first), np.where(np.ptp(people, axis=1) > 0, (people**2).sum(axis=1), np.nan)
        change = second - first
        self.columns = np.stack([change, second**2 - first**2, *(change * own for own in people)], axis=1)
        self.start = [(each.sum(), (each**2).sum(), people @ each) for each in (first, second)]

    def coefficients(self, sums: Floats, swapped: Flags) -> tuple[Floats, Floats]:
        found = []
        for side, sign, (total, squares, products) in zip((0, 1), (1, -1), self.start, strict=True):
            value, square = total + sign * sums[0], squares + sign * sums[1]
            spread = square - value**2 / self.size
            # The sums go over all rows of both metrics: an outlier that a swap took away leaves its rounding behind.
            lost = spread <= LOST * self.size
            norm = np.sqrt(np.where(lost, np.nan, spread)) * np.sqrt(self.people)[:, None]
            own = (products[:, None] + sign * sums[2:]) / norm
            if lost.any():
                taken = swapped[:, lost] == side
                values = np.where(taken, self.metrics[0][:, None], self.metrics[1][:, None])
                own[:, lost] = [weighted_pearson(values, each, np.ones(values.shape)) for each in self.centred]
            found.append(own)
        return found[0], found[1]


def linear_scores(first: Floats, second: Floats, people: Floats, name: str) -> Floats:
    """What every row adds to the difference of the numerators of two metrics' rank coefficients.

    A row adds its score when it is not swapped and takes it away when it is.

    Args:
        first: Shape (rows,).
        second: Shape (rows,).
        people: Shape (rows,).
        name: `spearman` (products of ranks) or `kendall_b` (concordant minus discordant pairs).
    """
    size = len(first)
    values = np.concatenate([first, second])
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    lower, upto = (np.searchsorted(ordered, ordered, side=side) for side in ("left", "right"))
    against = np.zeros(2 * size)  # of each value: whether it is ordered like people order it, against all others
    if name == SPEARMAN:
        own = np.tile(middle_ranks(people) - (size + 1) / 2, 2)[order]
        sums = np.concatenate([[0.0], np.cumsum(own)])
        against = (own * (lower + upto - 2 * size) - (sums[lower] + sums[upto] - sums[-1])) / 2
    else:
        distinct, level = np.unique(people, return_inverse=True)
        level = np.tile(level, 2)[order]
        for position in range(len(distinct)):
            sums = np.concatenate([[0.0], np.cumsum(level == position)])
            against += np.sign(level - position) * (sums[lower] + sums[upto] - sums[-1])
    in_place = np.empty(2 * size)
    in_place[order] = against
    return (in_place[:size] - in_place[size:]) / 2


def _norm(values: Floats, name: str) -> float:
    """What a variable contributes to the denominator of a rank coefficient."""
    size, counts = len(values), np.unique(values, return_counts=True)[1].astype(np.float64)
    if name == SPEARMAN:
        return float(np.sqrt((size**3 - size - (counts**3 - counts).sum()) / 12))
    return float(np.sqrt(size * (size - 1) / 2 - (counts * (counts - 1) / 2).sum()))


class _SystemMeans:
    def __init__(self, first: Floats, second: Floats, people: Floats, system: Ints, names: Sequence[str]) -> None:
        self.names = names
        share = (system[:, None] == np.unique(system)).astype(np.float64)
        count = share.sum(axis=0)
        self.people = np.stack([rounded(own @ share / count, scale_of(own)) for own in people])
        share /= count
        self.columns = share * (second - first)[:, None]
        self.start = (first @ share, second @ share)

    def differences(self, sums: Floats, swapped: Flags) -> dict[str, Floats]:
        # Rounded, because systems whose means are equal must stay tied.
        values = [np.round(self.start[0] + sums.T, DIGITS), np.round(self.start[1] - sums.T, DIGITS)]
        found: dict[str, list[Floats]] = {name: [] for name in self.names}
        for people in self.people:
            own = [group_coefficients(each, np.broadcast_to(people, each.shape), self.names) for each in values]
            for name in self.names:
                found[name].append(own[0][name] - own[1][name])
        return {name: np.stack(each) for name, each in found.items()}


class _WithinItems:
    def __init__(self, first: Floats, second: Floats, people: Floats, item: Ints, names: Sequence[str]) -> None:
        self.names, self.n_aspects, self.columns = names, len(people), np.zeros((len(item), 0))
        self.first, self.second, self.people = first, second, people
        sizes = groups_by_size(item, int(item.max()) + 1 if len(item) else 0)
        self.rows = [rows for _, rows in sizes if rows.shape[1] > 1]
        self.listed = [self._list(rows) if rows.shape[1] <= LARGEST_LISTED else None for rows in self.rows]

    def _list(self, rows: Ints) -> dict[str, Floats]:
        """Coefficients of the first metric after every way to swap; shape (aspects, items, ways)."""
        size = rows.shape[1]
        ways = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
        return self._after(rows, ways[None].astype(np.int8))

    def _after(self, rows: Ints, swapped: Flags) -> dict[str, Floats]:
        """Coefficients after swaps of shape (items or 1, ways, rows of an item)."""
        values = np.where(swapped == 1, self.second[rows][:, None], self.first[rows][:, None])
        flat = values.reshape(-1, rows.shape[1])
        found: dict[str, list[Floats]] = {name: [] for name in self.names}
        for people in self.people:
            own = np.repeat(people[rows], values.shape[1], axis=0)
            for name, each in group_coefficients(flat, own, self.names).items():
                found[name].append(each.reshape(values.shape[:2]))
        return {name: np.stack(each) for name, each in found.items()}

    def differences(self, sums: Floats, swapped: Flags) -> dict[str, Floats]:
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
            mean = divided(totals[name], counts[name])
            found[name] = mean[0] - mean[1]
        return found
