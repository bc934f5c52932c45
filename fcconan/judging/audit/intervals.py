"""Intervals for the audit: Wilson's for shares, and resamples of messages and texts where both recur.

A bootstrap of a share that is 0 or 1 gives an interval of no width, and of one near them an interval that is too
short: ten comparisons without a flip do not show that there are none. Wilson's interval does not have this fault; how
much less is known because ratings of one HS are alike is taken from the data.

Where a dataset crosses messages and texts, so that all messages have the same replies, a resample of messages holds the
same texts as ever, and hides that other texts might have given another result. Messages and texts are resampled
independently of each other there.
"""

from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from fcconan.scoring import CHUNK, Floats

Codes = npt.NDArray[np.intp]


def codes_of(names: Sequence[str]) -> Codes:
    """Returns the position of every name among the different names; shape (rows,)."""
    return np.unique(np.array(names, dtype=str), return_inverse=True)[1].astype(np.intp)


def crossed(units: Codes, texts: Codes) -> bool:
    """Whether units and texts make a grid: of several texts and units, half of all combinations or more are there."""
    if not len(texts) or not texts.max() or not units.max():
        return False
    combinations = len(set(zip(units.tolist(), texts.tolist(), strict=True)))
    # Texts that hardly recur make a grid with few units, and are no other unit than these.
    n_units, n_texts = int(units.max()) + 1, int(texts.max()) + 1
    return combinations >= max(n_units * n_texts / 2, 2 * n_texts)


def share_interval(values: Floats, groupings: Sequence[Codes], confidence: float) -> tuple[float, float]:
    """Wilson's interval of a mean of values from 0 to 1, with the effective number of rows (Korn and Graubard, 1998).

    The design effect is the variance of the mean between groups over that of independent rows; groups are the units, or
    units and texts (Cameron, Gelbach and Miller, 2011). Few groups count less, by the quotient of the quantiles of
    Student's t for rows and for groups. Where all values are the same, every group counts once.

    Args:
        values: Shape (rows,).
        groupings: For each grouping the group of every row, each of shape (rows,); each with two groups or more.
        confidence: Of the interval.

    Returns:
        Its lower and upper end.
    """
    from scipy.stats import t

    share, rows = float(values.mean()), len(values)
    groups = min(int(codes.max()) + 1 for codes in groupings)
    variance = sum(_between(values - share, codes) for codes in groupings)
    if len(groupings) > 1:
        variance -= _between(values - share, np.arange(rows))
    effective = float(groups)
    if np.ptp(values) > 1e-12:
        design_effect = max(variance * (rows - 1) / (share * (1 - share)), 0.0)
        tail = 0.5 + confidence / 2
        fewer = (t.ppf(tail, rows - 1) / t.ppf(tail, groups - 1)) ** 2
        effective = rows / max(design_effect, 1.0) * fewer
    return wilson(share, effective, confidence)


def wilson(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Returns the ends of Wilson's score interval (Wilson, 1927) of a share of `n`, which need not be whole."""
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    middle, half = share + z**2 / (2 * n), z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    ends = ((middle + side * half) / (1 + z**2 / n) for side in (-1, 1))
    low, high = ends
    return (0.0 if share == 0 else float(max(low, 0.0))), (1.0 if share == 1 else float(min(high, 1.0)))


def weights(groupings: Sequence[Codes], resamples: int, seed: int) -> Iterator[Floats]:
    """Yields how often every row is in a resample of each grouping, a bounded number of resamples at a time.

    With several groupings, a row's weight is the product of how often its groups were drawn (Owen, 2007).

    Args:
        groupings: For each grouping the group of every row; shape (rows,).
        resamples: How many resamples.
        seed: Decides the draws.

    Yields:
        Shape (some resamples, rows).
    """
    generator = np.random.default_rng(seed)
    size = max(1, CHUNK // len(groupings[0]))
    for start in range(0, resamples, size):
        product = np.ones((min(size, resamples - start), len(groupings[0])))
        for codes in groupings:
            groups = int(codes.max()) + 1
            drawn = generator.integers(groups, size=(len(product), groups))
            counts = np.stack([np.bincount(each, minlength=groups) for each in drawn])
            product *= counts[:, codes]
        yield product


def _between(deviations: Floats, codes: Codes) -> float:
    """The variance of a mean from the sums of deviations of every group."""
    sums = np.bincount(codes, weights=deviations)
    return float((sums**2).sum() / len(deviations) ** 2 * len(sums) / (len(sums) - 1))
