"""Coefficients of rows that count as often as their unit is drawn: resamples, swaps and groups in one way.

A resample of items is a whole number (weight) for every item. A swap of two metrics is a resample of the values of
both. A group is a unit alone, with weight 1. Pearson's coefficient needs only weighted sums, ranks need weighted counts
of levels, and pairs are counted in one pass over the rows in the order of the metric, for a block of weights at once.
All counts are whole numbers below 2^53, so ranks and pairs are exact.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.intervals import safe_divide

PEARSON, SPEARMAN, KENDALL_B, KENDALL_C = "pearson", "spearman", "kendall_b", "kendall_c"
ACCURACY, CALIBRATED = "pairwise_accuracy", "pairwise_accuracy_calibrated"
COEFFICIENTS = (PEARSON, SPEARMAN, KENDALL_B, KENDALL_C, ACCURACY, CALIBRATED)
CHANCE = "chance"  # of pairwise accuracy
LANES = 64  # groups at once
LOST = 1e-10  # share of the sum of squares below which a spread is a rounding error
Values = dict[str, Floats]


def _count_pairs(
    weights: Floats, unit: Ints, order: Ints, entered: Ints, level: Ints, tree: Floats, counts: Floats
) -> None:
    """Counts pairs that differ in x: concordant, discordant, and tied in y; shape (3, lanes).

    Each row is compared with the rows before it, whose weights by level of y are in a Fenwick tree. Compiled, the
    pass takes a tenth of the time of the same NumPy calls (`fcconan correlate cseval`, Kendall's tau-b).
    """
    lanes = weights.shape[1]
    total, lower, equal = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    inside = 0
    for position in range(len(order)):
        while inside < entered[position]:
            row = order[inside]
            weight = weights[unit[row]]
            total += weight
            node = level[row] + 1
            while node < len(tree):
                target = tree[node]
                for lane in range(lanes):
                    target[lane] += weight[lane]
                node += node & -node
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
            counts[0, lane] += weight[lane] * lower[lane]
            counts[1, lane] += weight[lane] * (total[lane] - equal[lane])
            counts[2, lane] += weight[lane] * (equal[lane] - lower[lane])


def _add_rank_products(
    weights: Floats, unit: Ints, order: Ints, ends: Ints, half: Floats, ranks: Floats, sums: Floats
) -> None:
    """Adds products of the middle ranks of a variable with other ranks, and with themselves.

    Compiled, the pass takes a sixth of the time of NumPy calls on whole matrices (`fcconan correlate cseval --tests`,
    Spearman), which have a value for each row and lane.

    Args:
        weights: Shape (units, lanes).
        unit: Unit of each row.
        order: Rows in the order of the variable.
        ends: End of each level in this order.
        half: Half the sum of the weights of all rows, shape (lanes,).
        ranks: Ranks of the other variables, shape (variables, rows, lanes); one lane for equal ranks in all lanes.
        sums: Sums of the products, shape (variables + 1, lanes).
    """
    lanes, others = weights.shape[1], len(ranks)
    single = ranks.shape[2] == 1
    before, own, products = np.zeros(lanes), np.zeros(lanes), np.zeros((others, lanes))
    start = 0
    for end in ends:
        own[:] = 0.0
        products[:] = 0.0
        for position in range(start, end):
            row = order[position]
            weight = weights[unit[row]]
            for lane in range(lanes):
                own[lane] += weight[lane]
            for other in range(others):
                given, product = ranks[other, row], products[other]
                if single:
                    for lane in range(lanes):
                        product[lane] += weight[lane] * given[0]
                else:
                    for lane in range(lanes):
                        product[lane] += weight[lane] * given[lane]
        for lane in range(lanes):
            rank = before[lane] + own[lane] / 2 - half[lane]
            for other in range(others):
                sums[other, lane] += rank * products[other, lane]
            sums[others, lane] += own[lane] * rank * rank
            before[lane] += own[lane]
        start = end


@functools.cache
def compiled(function: Callable[..., None]) -> Any:
    """Compiles a function on its first call, so that importing this package imports no numba."""
    from numba import njit

    return njit(cache=True, nogil=True)(function)


def standardised(values: Floats, group: Ints) -> Floats:
    """Returns values minus the median of their group, over about the largest of these differences.

    All factors are powers of two, so that a median of 0 changes no digit, and the squares of values of any magnitude
    are numbers. The mean may be far from all values but one.

    Args:
        values: Values, shape (variables, rows).
        group: Group of each row.
    """
    place = np.unique(group, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(place)
    starts = np.cumsum(sizes) - sizes
    found = np.zeros_like(values)
    for own, each in zip(found, values, strict=True) if len(place) else ():
        each = np.ldexp(each, -np.frexp(np.abs(each).max())[1])
        order = np.lexsort((each, place))
        each = each - each[order[starts + (sizes - 1) // 2]][place]
        largest = np.maximum.reduceat(np.abs(each[order]), starts)
        own[:] = np.ldexp(each, -np.frexp(largest)[1][place])
    return found


class Weighted:
    """Coefficients of pairs of variables.

    Pearson (1895), Spearman (1904, with middle ranks), Kendall's tau-b (1945) and Stuart's tau-c (1953). Pairwise
    accuracy counts a pair as right if both order it the same way or both tie it (acc_eq of Deutsch et al., 2023, "Ties
    Matter", section 6). Its value by chance is the exact mean over all permutations of the metric's values, which tie a
    pair as often as the metric does, and otherwise order it either way.

    Args:
        x: Values of the metrics, shape (metrics, rows); without nan.
        y: Values of people, shape (aspects, rows); without nan.
        unit: Unit of every row, from 0; shape (rows,).
        n_units: Number of units.
        pairs: Positions in x and y of the pairs to compute.
        names: Coefficients, from `COEFFICIENTS`.
        thresholds: Largest difference that counts as a tie, for the calibrated accuracy of every pair.
        apart: Whether every unit is a group alone.
        fixed: Whether the weights of all rows with one value of y have the same sum in all columns, as in swaps.
    """

    def __init__(
        self,
        x: Floats,
        y: Floats,
        unit: Ints,
        n_units: int,
        pairs: Sequence[tuple[int, int]],
        names: Sequence[str],
        thresholds: Sequence[float] = (),
        *,
        apart: bool = False,
        fixed: bool = False,
    ) -> None:
        from scipy.sparse import csr_array

        self.unit, self.names, self.fixed, self.n_metrics = unit, names, fixed, len(x)
        self.thresholds = thresholds or [0.0] * len(pairs)
        self.pairs = [(metric, len(x) + aspect) for metric, aspect in pairs]
        self.size = np.bincount(unit, minlength=n_units).astype(float)
        both = np.concatenate([x, y])
        if PEARSON in names:
            values = standardised(both, unit if apart else np.zeros_like(unit))
            products = (values[a] * values[b] for a, b in self.pairs)
            terms = [term for each in values for term in (each, each**2)] + [*products]
            self.sums = np.array([np.bincount(unit, weights=term, minlength=n_units) for term in terms])
        self.ranked = {*names} - {PEARSON}
        self.variables = []
        for each in both if self.ranked else ():
            order = np.argsort(each, kind="stable")
            distinct, level, counts = np.unique(each, return_inverse=True, return_counts=True)
            ends = np.cumsum(counts)
            of_level = csr_array((np.ones(len(unit)), unit[order], np.append(0, ends)), shape=(len(ends), n_units))
            self.variables.append((distinct, level.reshape(-1), order, ends, of_level))

    def __call__(self, weights: Floats) -> Values:
        """Returns the coefficients, shape (pairs, columns) each; nan where one is undefined.

        Args:
            weights: How often each unit counts, shape (units, columns).
        """
        found = {name: np.full((len(self.pairs), weights.shape[1]), np.nan) for name in self.names}
        total = self.size @ weights
        if PEARSON in found:
            sums = self.sums @ weights
            means, squares = sums[: -len(self.pairs) or None : 2], sums[1 : -len(self.pairs) or None : 2]
            spread = squares - safe_divide(means**2, total)
            norm = np.sqrt(np.where(spread > LOST * squares, spread, np.nan))
            for place, ((a, b), product) in enumerate(zip(self.pairs, sums[-len(self.pairs) :], strict=True)):
                covered = product - safe_divide(means[a] * means[b], total)
                found[PEARSON][place] = safe_divide(covered, norm[a] * norm[b])
        if not self.ranked:
            return {name: np.clip(values, -1, 1) for name, values in found.items()}
        if SPEARMAN in found:
            self._spearman(weights, total, found[SPEARMAN])
        if not self.ranked - {SPEARMAN}:
            return {name: np.clip(values, -1, 1) for name, values in found.items()}
        n_pairs = total * (total - 1) / 2
        own = [each[-1] @ weights for each in self.variables]
        tied = [(each * (each - 1)).sum(axis=0) / 2 for each in own]
        if ACCURACY in found:
            found[CHANCE] = np.full_like(found[ACCURACY], np.nan)
        for place, ((a, b), threshold) in enumerate(zip(self.pairs, self.thresholds, strict=True)):
            if self.ranked - {SPEARMAN, CALIBRATED}:
                concordant, discordant, tied_y = self._counts(weights, a, b, 0.0)
            untied = [n_pairs - tied[each] for each in (a, b)]
            if KENDALL_B in found:
                norm = np.sqrt(untied[0]) * np.sqrt(untied[1])
                found[KENDALL_B][place] = safe_divide(concordant - discordant, norm)
            if KENDALL_C in found:
                fewer = np.minimum(*((own[each] > 0).sum(axis=0) for each in (a, b)))
                found[KENDALL_C][place] = safe_divide(
                    concordant - discordant, total**2 * safe_divide(fewer - 1, 2.0 * fewer)
                )
            if ACCURACY in found:
                found[ACCURACY][place] = safe_divide(concordant + tied[b] - tied_y, n_pairs)
                shares = [safe_divide(tied[each], n_pairs) for each in (a, b)]
                found[CHANCE][place] = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1]) / 2
            if CALIBRATED in found:
                concordant, _, tied_y = self._counts(weights, a, b, threshold)
                found[CALIBRATED][place] = safe_divide(concordant + tied[b] - tied_y, n_pairs)
        return {name: np.clip(values, -1, 1) for name, values in found.items()}

    def _spearman(self, weights: Floats, total: Floats, found: Floats) -> None:
        """Writes Spearman's coefficients."""
        ranks, spread = {}, {}
        columns = slice(0, 1 if self.fixed else None)
        for variable in range(self.n_metrics, len(self.variables)):
            counts, sizes = self.variables[variable][-1] @ weights[:, columns], total[columns]
            of_levels = np.cumsum(counts, axis=0) - counts / 2 - sizes / 2
            spread[variable] = (counts * of_levels**2).sum(axis=0)
            ranks[variable] = of_levels[self.variables[variable][1]]
        for metric in range(self.n_metrics):
            places = [place for place, (a, _) in enumerate(self.pairs) if a == metric]
            others = [self.pairs[place][1] for place in places]
            _, _, order, ends, _ = self.variables[metric]
            sums = np.zeros((len(others) + 1, len(total)))
            given = np.stack([ranks[b] for b in others])
            compiled(_add_rank_products)(weights, self.unit, order, ends, total / 2, given, sums)
            found[places] = safe_divide(sums[:-1], np.sqrt(sums[-1] * [spread[b] for b in others]))

    def _counts(self, weights: Floats, a: int, b: int, threshold: float) -> Floats:
        """Returns the weights of concordant and discordant pairs, and of pairs that only people tie."""
        distinct, _, order, ends, _ = self.variables[a]
        levels, level, *_ = self.variables[b]
        lowest = np.searchsorted(distinct, distinct - threshold)
        # Differences are rounded in another way than the values that were searched.
        lowest = np.maximum(lowest - (distinct - distinct[lowest - 1] <= threshold) * (lowest > 0), 0)
        lowest += distinct - distinct[lowest] > threshold
        starts = np.append(0, ends[:-1])
        entered = np.repeat(starts[lowest], np.diff(ends, prepend=0))
        counts = np.zeros((3, weights.shape[1]))
        tree = np.zeros((len(levels) + 1, weights.shape[1]))
        compiled(_count_pairs)(weights, self.unit, order, entered, level, tree, counts)
        return counts


def within_groups(
    x: Floats,
    y: Floats,
    group: Ints,
    n_groups: int,
    pairs: Sequence[tuple[int, int]],
    names: Sequence[str],
    thresholds: Sequence[float] = (),
) -> Values:
    """Returns coefficients within groups.

    Args:
        x: As in `Weighted`, and so are `y`, `pairs`, `names` and `thresholds`.
        y: See above.
        group: Group of each row, from 0.
        n_groups: Number of groups.
        pairs: See above.
        names: See above.
        thresholds: See above.

    Returns:
        Coefficient -> shape (pairs, groups).
    """
    order = np.argsort(group, kind="stable")
    x, y, group = x[:, order], y[:, order], group[order]
    parts = []
    for start in range(0, max(n_groups, 1), LANES):
        rows = slice(*np.searchsorted(group, [start, start + LANES]))
        own = Weighted(x[:, rows], y[:, rows], group[rows] - start, LANES, pairs, names, thresholds, apart=True)
        parts.append(own(np.eye(LANES)))
    return {name: np.concatenate([part[name] for part in parts], axis=1)[:, :n_groups] for name in parts[0]}
