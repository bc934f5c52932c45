"""Numerators and ties of rank coefficients after values of one metric are swapped for those of another.

The values of both metrics are sorted once. After a swap each value is present or absent, so one pass over the sorted
values ranks one metric, or counts its pairs, for a block of swaps at once. The ranks of people do not change. All
counts are whole numbers, so they are exact.
"""

import numpy as np
import numpy.typing as npt

from fcconan.scoring.arrays import Floats, Swaps
from fcconan.scoring.correlation.coefficients import KENDALL_B, SPEARMAN
from fcconan.scoring.correlation.weighted import compiled

Positions = npt.NDArray[np.int32]  # half the memory of 64 bits; every pair of metrics has its own array
Counts = npt.NDArray[np.signedinteger]

LARGEST_SMALL = 46_000  # rows up to which counts of pairs, and products of rows and ranks, are below 2^31


# Numba unrolls the loops over lanes (the swaps of a block) if the rows are looked up before them.


def _count_ties(swapped: Swaps, row: Positions, kept: Swaps, ends: Positions, ties: Floats) -> None:
    """Sums c^3 - c and c^2 - c over values that occur c times, for both metrics; shape (4, lanes)."""
    lanes = swapped.shape[1]
    count = np.zeros(lanes, dtype=np.int64)
    start = 0
    for end in ends:
        if end - start > 1:
            count[:] = 0
            for position in range(start, end):
                flags, flip = swapped[row[position]], kept[position]
                for lane in range(lanes):
                    count[lane] += flags[lane] ^ flip
            for lane in range(lanes):
                here = float(count[lane])
                other = end - start - here
                ties[0, lane] += here * (here * here - 1)
                ties[1, lane] += other * (other * other - 1)
                ties[2, lane] += here * (here - 1)
                ties[3, lane] += other * (other - 1)
        start = end


def _sum_ranks(swapped: Swaps, row: Positions, kept: Swaps, ends: Positions, level: Positions, sums: Counts) -> None:
    """Sums twice the metric's ranks minus their mean over the levels of people; shape (levels, lanes)."""
    lanes = swapped.shape[1]
    weight, rank = np.zeros(lanes, dtype=sums.dtype), np.zeros(lanes, dtype=sums.dtype)
    before = np.full(lanes, -swapped.shape[0], dtype=sums.dtype)
    start = 0
    for end in ends:
        for lane in range(lanes):
            rank[lane] = before[lane]
        for position in range(start, end):
            flags, flip = swapped[row[position]], kept[position]
            for lane in range(lanes):
                rank[lane] += flags[lane] ^ flip
        for position in range(start, end):
            flags, flip = swapped[row[position]], kept[position]
            for lane in range(lanes):
                weight[lane] = rank[lane] * (flags[lane] ^ flip)
            for aspect in range(level.shape[1]):
                target = sums[level[row[position], aspect]]
                for lane in range(lanes):
                    target[lane] += weight[lane]
        for lane in range(lanes):
            before[lane] += 2 * (rank[lane] - before[lane])
        start = end


def _score_pairs(
    swapped: Swaps, row: Positions, kept: Swaps, ends: Positions, level: Positions, bounds: Positions, scores: Counts
) -> None:
    """Counts concordant minus discordant pairs; shape (aspects, lanes).

    Each value is compared with all lower ones; `upto` counts these by level of people, cumulatively.
    """
    lanes = swapped.shape[1]
    n_aspects = level.shape[1]
    upto = np.zeros((bounds[n_aspects] + n_aspects, lanes), dtype=scores.dtype)
    weight = np.zeros(lanes, dtype=scores.dtype)
    start = 0
    for end in ends:
        for position in range(start, end):
            flags, flip = swapped[row[position]], kept[position]
            for lane in range(lanes):
                weight[lane] = flags[lane] ^ flip
            for aspect in range(n_aspects):
                own = level[row[position], aspect] + aspect
                lower, equal, total = upto[own], upto[own + 1], upto[bounds[aspect + 1] + aspect]
                target = scores[aspect]
                for lane in range(lanes):
                    target[lane] += weight[lane] * (lower[lane] + equal[lane] - total[lane])
        for position in range(start, end):
            flags, flip = swapped[row[position]], kept[position]
            for lane in range(lanes):
                weight[lane] = flags[lane] ^ flip
            for aspect in range(n_aspects):
                for higher in range(level[row[position], aspect] + aspect + 1, bounds[aspect + 1] + aspect + 1):
                    source = upto[higher]
                    for lane in range(lanes):
                        source[lane] += weight[lane]
        start = end


class SwappedRanks:
    """Rank statistics of two metrics with people after swaps of the metrics' values.

    Args:
        first: Values of the first metric, shape (rows,).
        second: Values of the second metric, shape (rows,).
        people: Values of people, shape (aspects, rows).
    """

    def __init__(self, first: Floats, second: Floats, people: Floats) -> None:
        self.size = len(first)
        values = np.concatenate([first, second])
        order = np.argsort(values, kind="stable")
        self.row = (order % max(1, self.size)).astype(np.int32)
        self.kept = (order < self.size).astype(np.int8)  # a value of the first metric is present unless it is swapped
        self.ends = np.cumsum(np.unique(values, return_counts=True)[1]).astype(np.int32)
        levels, ranks, bounds = [], [], [0]
        for own in people:
            _, level, counts = np.unique(own, return_inverse=True, return_counts=True)
            levels.append(level.reshape(-1) + bounds[-1])
            ranks.append(2.0 * np.cumsum(counts) - counts - self.size)  # twice the mid-ranks minus their mean
            bounds.append(bounds[-1] + len(counts))
        self.level, self.bounds = np.stack(levels, axis=1).astype(np.int32), np.array(bounds, dtype=np.int32)
        self.ranks = ranks
        self.dtype = np.int32 if self.size <= LARGEST_SMALL else np.int64

    def numerators(self, swapped: Swaps, name: str) -> Floats:
        """Computes the numerators of the first metric after swaps.

        Args:
            swapped: 1 where a row is swapped, else 0; shape (rows, swaps).
            name: `spearman` (products of ranks) or `kendall_b` (concordant minus discordant pairs).

        Returns:
            Shape (aspects, swaps).
        """
        passed = (swapped, self.row, self.kept, self.ends, self.level)
        if name == KENDALL_B:
            scores = np.zeros((len(self.ranks), swapped.shape[1]), dtype=self.dtype)
            compiled(_score_pairs)(*passed, self.bounds, scores)
            return scores.astype(np.float64)
        assert name == SPEARMAN
        sums = np.zeros((self.bounds[-1], swapped.shape[1]), dtype=self.dtype)
        compiled(_sum_ranks)(*passed, sums)
        parts = np.split(sums.astype(np.float64), self.bounds[1:-1])
        return np.stack([own @ part for own, part in zip(self.ranks, parts, strict=True)]) / 4

    def norms(self, swapped: Swaps, name: str) -> Floats:
        """Computes the factors of both metrics in the denominators after swaps; shape (metrics, swaps)."""
        ties = np.zeros((4, swapped.shape[1]))
        compiled(_count_ties)(swapped, self.row, self.kept, self.ends, ties)
        squares = {
            SPEARMAN: (float(self.size) ** 3 - self.size - ties[:2]) / 12,
            KENDALL_B: (float(self.size) * (self.size - 1) - ties[2:]) / 2,
        }
        return np.sqrt(squares[name])
