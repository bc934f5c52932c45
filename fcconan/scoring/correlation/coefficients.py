"""Correlation coefficients of many small groups at once, their chance levels, mid-ranks and tie calibration.

All pairs of a group are compared, so the cost grows with the square of its rows; `weighted` handles large groups.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from fcconan.scoring.arrays import Flags, Floats, Ints


def middle_ranks(values: Floats) -> Floats:
    """Returns ranks from 1, the lowest value's; equal values share the mean of their ranks (Kendall, 1945).

    It takes half of the time of scipy for some hundred values, which matters in a bootstrap. For repeated rows,
    `fcconan.scoring.correlation.weighted` ranks many resamples at once in a twentieth of the time.

    Args:
        values: Values without nan; shape (rows,).

    Returns:
        The same shape.
    """
    _, level, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[level]
    return ranks


PEARSON = "pearson"
SPEARMAN = "spearman"
KENDALL_B = "kendall_b"
KENDALL_C = "kendall_c"
ACCURACY = "pairwise_accuracy"
CALIBRATED = "pairwise_accuracy_calibrated"
COEFFICIENTS = (PEARSON, SPEARMAN, KENDALL_B, KENDALL_C, ACCURACY, CALIBRATED)

DIGITS = 13  # equal means of different numbers may differ in their last digit
LARGEST = 2_000_000  # pairs of rows in memory
SMALL = 32  # rows of a group up to which listing all pairs is faster than searching


def scale_of(values: Floats) -> float:
    """Returns the power of two next to the largest absolute value, the scale of `rounded`; 1 if all values are 0."""
    largest = np.abs(values).max(initial=0.0)
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1)) if largest > 0 else 1.0


def rounded(means: Floats, scale: float) -> Floats:
    """Rounds means relative to the scale of the values, so that equal means stay equal in every unit."""
    # Division and multiplication by powers of two are exact.
    found: Floats = np.round(means / scale, DIGITS) * scale
    return found


def group_coefficients(x: Floats, y: Floats, names: Sequence[str], *, threshold: float = 0.0) -> dict[str, Floats]:
    """Computes coefficients within groups of one size.

    Pearson (1895), Spearman (1904, with middle ranks), Kendall's tau-b (1945) and Stuart's tau-c (1953); pairwise
    accuracy counts a pair as right if both order it the same way or both tie it (acc_eq of Deutsch et al., 2023, "Ties
    Matter", section 6).

    Args:
        x: Values of the metric, shape (groups, rows of a group); without nan.
        y: Values of people, the same shape.
        names: Coefficients, from `COEFFICIENTS`.
        threshold: Largest difference of the metric that the calibrated accuracy counts as a tie.

    Returns:
        Coefficient -> values, shape (groups,); nan where a group is constant in either, or has fewer than two rows.
        Accuracy is defined for constant groups.
    """
    results = {name: np.full(len(x), np.nan) for name in names}
    size = x.shape[1]
    if size < 2:
        return results
    step = max(1, LARGEST // size**2)
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        for name, values in _some_groups(x[part], y[part], names, threshold).items():
            results[name][part] = values
    return results


def _some_groups(x: Floats, y: Floats, names: Sequence[str], threshold: float) -> dict[str, Floats]:
    size = x.shape[1]
    results: dict[str, Floats] = {}
    if PEARSON in names:
        centred = [values - values.mean(axis=1, keepdims=True) for values in (x, y)]
        varied = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0)
        results[PEARSON] = _cosine(centred[0], centred[1], varied)
    if set(names) <= {PEARSON}:
        return results
    differences = x[:, :, None] - x[:, None, :]
    sign_x, sign_y = np.sign(differences), np.sign(y[:, :, None] - y[:, None, :])
    untied_x, untied_y = (np.abs(sign).sum(axis=(1, 2)) for sign in (sign_x, sign_y))
    varied = (untied_x > 0) & (untied_y > 0)
    if SPEARMAN in names:
        # The sum of a row's signs is twice the difference of its mid-rank from the mean rank.
        results[SPEARMAN] = _cosine(sign_x.sum(axis=2), sign_y.sum(axis=2), varied)
    score = np.einsum("gij,gij->g", sign_x, sign_y)
    if KENDALL_B in names:
        results[KENDALL_B] = _divide(score, np.sqrt(untied_x) * np.sqrt(untied_y), varied)
    if KENDALL_C in names:
        fewer = np.minimum(_distinct(x), _distinct(y))
        results[KENDALL_C] = _divide(score, size**2 * (fewer - 1) / fewer, varied)
    everything = np.full(len(x), True)
    for name, bar in ((ACCURACY, 0.0), (CALIBRATED, threshold)):
        if name in names:
            judged = np.where(np.abs(differences) <= bar, 0.0, sign_x)
            right = (judged == sign_y).sum(axis=(1, 2)) - size  # a row ties with itself
            results[name] = _divide(right.astype(np.float64), np.full(len(x), float(size * (size - 1))), everything)
    return results


def _cosine(x: Floats, y: Floats, varied: Flags) -> Floats:
    product = np.einsum("gi,gi->g", x, y)
    norm = np.sqrt(np.einsum("gi,gi->g", x, x)) * np.sqrt(np.einsum("gi,gi->g", y, y))
    return _divide(product, norm, varied)


def _divide(above: Floats, below: Floats, there: Flags) -> Floats:
    found = np.divide(above, below, out=np.full(len(above), np.nan), where=there & (below > 0))
    return np.clip(found, -1.0, 1.0)


def _distinct(values: Floats) -> Floats:
    return 1.0 + (np.diff(np.sort(values, axis=1), axis=1) > 0).sum(axis=1)


def accuracy_by_chance(x: Floats, y: Floats, *, threshold: float = 0.0) -> Floats:
    """Computes the expected pairwise accuracy if the metric's values are permuted at random within each group.

    It is the exact mean over all permutations: the metric ties a pair with a probability equal to the share of its tied
    pairs, and otherwise orders it in either direction with equal probability.

    Args:
        x: Values of the metric, shape (groups, rows of a group); without nan.
        y: Values of people, the same shape.
        threshold: Largest difference of the metric that counts as a tie.

    Returns:
        Shape (groups,); nan with fewer than two rows.
    """
    if x.shape[1] < 2:
        return np.full(len(x), np.nan)
    n_pairs = x.shape[1] * (x.shape[1] - 1) / 2
    shares = [_tied(values, bar) / n_pairs for values, bar in ((x, threshold), (y, 0.0))]
    return shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1]) / 2


def _tied(values: Floats, threshold: float) -> Floats:
    """Counts the pairs within each group whose difference is within the threshold; shape (groups,)."""
    size = values.shape[1]
    if size <= SMALL:
        first, second = np.triu_indices(size, k=1)
        return (np.abs(values[:, first] - values[:, second]) <= threshold).sum(axis=1).astype(np.float64)
    return np.array([(np.arange(size) - lowest_tied(row, threshold)).sum() for row in np.sort(values, axis=1)], float)


def lowest_tied(ordered: Floats, threshold: float) -> Ints:
    """Returns, for every value, the position of the first value whose difference from it is within the threshold.

    Args:
        ordered: Values in ascending order.
        threshold: Largest difference, as floating-point subtraction gives it, that counts as a tie.
    """
    # Searching for `value - threshold` would be rounded in another way than the differences themselves.
    low, high = np.zeros(len(ordered), dtype=np.int64), np.arange(len(ordered))
    while (low < high).any():
        middle = (low + high) // 2
        tied = ordered - ordered[middle] <= threshold
        high = np.where(tied, middle, high)
        low = np.where(tied, low, np.minimum(middle + 1, high))
    return low


SAMPLED_PAIRS = 200_000  # pairs from which a threshold is fitted


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

    A threshold that is fitted to the evaluated rows overestimates accuracy slightly, for all metrics.

    Args:
        x: Values of the metric, shape (rows,); without nan.
        y: Values of people.
        group: Group of each row, from 0; shape (rows,). Only pairs within a group count, and all groups count equally.
        seed: Seed of the sample of pairs if there are more than 200,000.

    Returns:
        The smallest of the best thresholds: 0, or the difference of a pair. 0 without a pair.
    """
    first, second, weight = _pairs(group, seed)
    if len(first) == 0:
        return 0.0
    difference = np.abs(x[first] - x[second])
    order = np.argsort(difference, kind="stable")
    difference = difference[order]
    concordant = np.sign(x[first] - x[second]) * np.sign(y[first] - y[second]) > 0
    gain = (weight * ((y[first] == y[second]).astype(np.float64) - concordant))[order]
    last = np.flatnonzero(np.append(np.diff(difference) > 0, True))
    gains = np.cumsum(gain)[last]
    thresholds = difference[last]
    if thresholds[0] > 0:
        thresholds, gains = np.append(0.0, thresholds), np.append(0.0, gains)
    return float(thresholds[np.argmax(gains >= gains.max() - 1e-12 * weight.sum())])


def _pairs(group: Ints, seed: int) -> tuple[Ints, Ints, Floats]:
    sizes = np.bincount(group) if len(group) else np.zeros(0, dtype=np.int64)
    if (sizes * (sizes - 1) // 2).sum() > SAMPLED_PAIRS:
        generator = np.random.default_rng(seed)
        order = np.argsort(group, kind="stable")
        large = np.flatnonzero(sizes > 1)
        drawn = large[generator.integers(len(large), size=SAMPLED_PAIRS)]
        one = generator.integers(sizes[drawn])
        other = (one + 1 + generator.integers(sizes[drawn] - 1)) % sizes[drawn]
        starts = (np.cumsum(sizes) - sizes)[drawn]
        return order[starts + one], order[starts + other], np.ones(SAMPLED_PAIRS)
    none = np.zeros(0, dtype=np.int64)
    found = [(none, none, np.zeros(0))]
    for _, rows in groups_by_size(group, len(sizes)):
        one, other = np.triu_indices(rows.shape[1], k=1)
        if len(one):
            share = np.full(len(rows) * len(one), 1 / len(one))
            found.append((rows[:, one].ravel(), rows[:, other].ravel(), share))
    first, second, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    return first, second, weight
