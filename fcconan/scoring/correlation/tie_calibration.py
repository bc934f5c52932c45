"""How close two scores of a metric are while they should count as a tie."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LARGEST = 200_000  # pairs that are looked at


def groups_by_size(group: Ints, n_groups: int) -> Iterator[tuple[Ints, Ints]]:
    """Yields the groups of each size: their positions, shape (groups,), and their rows, shape (groups, size)."""
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=n_groups)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):
        which = np.flatnonzero(sizes == size)
        yield which, order[starts[which][:, None] + np.arange(size)]


def calibrated_threshold(x: Floats, y: Floats, group: Ints, *, seed: int = 0) -> float:
    """Finds the tie threshold with the highest mean pairwise accuracy (Deutsch et al., 2023, "Ties Matter", section 7).

    A threshold fitted to the rows that it is scored on flatters the metric a little; all metrics are treated alike.

    Args:
        x: Values of the metric, shape (rows,); complete.
        y: Values of people.
        group: Only pairs within a group count, and groups count alike; shape (rows,), from 0.
        seed: Decides which pairs are looked at where there are more than 200,000.

    Returns:
        The smallest of the best thresholds: 0, or the difference of a pair. 0 without a pair.
    """
    first, second, weight = _pairs(group, seed)
    if len(first) == 0:
        return 0.0
    difference = np.abs(x[first] - x[second])
    order = np.argsort(difference, kind="stable")
    difference = difference[order]
    alike = np.sign(x[first] - x[second]) * np.sign(y[first] - y[second]) > 0
    gain = (weight * ((y[first] == y[second]).astype(np.float64) - alike))[order]
    last = np.flatnonzero(np.append(np.diff(difference) > 0, True))
    gains = np.cumsum(gain)[last]
    thresholds = difference[last]
    if thresholds[0] > 0:
        thresholds, gains = np.append(0.0, thresholds), np.append(0.0, gains)
    return float(thresholds[np.argmax(gains >= gains.max() - 1e-12 * weight.sum())])


def _pairs(group: Ints, seed: int) -> tuple[Ints, Ints, Floats]:
    sizes = np.bincount(group) if len(group) else np.zeros(0, dtype=np.int64)
    if (sizes * (sizes - 1) // 2).sum() > LARGEST:
        generator = np.random.default_rng(seed)
        order = np.argsort(group, kind="stable")
        large = np.flatnonzero(sizes > 1)
        drawn = large[generator.integers(len(large), size=LARGEST)]
        one = generator.integers(sizes[drawn])
        other = (one + 1 + generator.integers(sizes[drawn] - 1)) % sizes[drawn]
        starts = (np.cumsum(sizes) - sizes)[drawn]
        return order[starts + one], order[starts + other], np.ones(LARGEST)
    none = np.zeros(0, dtype=np.int64)
    found = [(none, none, np.zeros(0))]
    for _, rows in groups_by_size(group, len(sizes)):
        one, other = np.triu_indices(rows.shape[1], k=1)
        if len(one):
            share = np.full(len(rows) * len(one), 1 / len(one))
            found.append((rows[:, one].ravel(), rows[:, other].ravel(), share))
    first, second, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    return first, second, weight
