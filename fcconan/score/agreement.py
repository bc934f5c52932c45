"""Agreement between raters.

Krippendorff's alpha is computed here, because the well-known package is under the GPL; a test compares the two.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVELS = ("nominal", "ordinal", "interval")


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha.

    Attributes:
        value: Alpha, at most 1; None where it is undefined.
        reason: Why it is undefined: `too_few_pairs` or `no_variation`.
        n_units: The units with two or more values.
    """

    value: float | None
    reason: str | None
    n_units: int


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Computes Cohen's kappa of two raters, unweighted (Cohen 1960).

    Args:
        first: The labels that the first rater gave, item by item.
        second: The labels that the second rater gave to the same items.

    Returns:
        Kappa, or None where it is undefined: no items, or both raters constant and equal.

    Raises:
        ValueError: The lists differ in length.
    """
    items = len(first)
    if items != len(second):
        raise ValueError(f"found {items} and {len(second)} labels, expected as many")
    observed = sum(a == b for a, b in zip(first, second, strict=True))
    by_chance = sum(first.count(label) * second.count(label) for label in set(first))
    if by_chance == items * items:
        return None
    return (observed * items - by_chance) / (items * items - by_chance)


def krippendorff_alpha(units: Sequence[Sequence[float]], *, level: str) -> Alpha:
    """Computes Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    Args:
        units: The values that each unit received, from any raters; units with fewer than two values do not count.
        level: `nominal`, `ordinal` or `interval`.

    Raises:
        ValueError: The level is unknown.
    """
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}, expected one of {', '.join(LEVELS)}")
    paired = [unit for unit in units if len(unit) > 1]
    if not paired:
        return Alpha(None, "too_few_pairs", 0)
    domain = np.unique(np.concatenate([np.asarray(unit, dtype=float) for unit in paired]))
    if len(domain) == 1:
        return Alpha(None, "no_variation", len(paired))
    coincidence = np.zeros((len(domain), len(domain)))
    for unit in paired:
        counts = np.bincount(np.searchsorted(domain, unit), minlength=len(domain)).astype(float)
        coincidence += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidence.sum(axis=1)
    difference = _squared_difference(domain, totals, level)
    expected = (np.outer(totals, totals) - np.diag(totals)) / (totals.sum() - 1)
    return Alpha(float(1 - (coincidence * difference).sum() / (expected * difference).sum()), None, len(paired))


def _squared_difference(domain: NDArray[np.float64], totals: NDArray[np.float64], level: str) -> NDArray[np.float64]:
    if level == "nominal":
        return 1.0 - np.eye(len(domain))
    if level == "interval":
        return np.subtract.outer(domain, domain) ** 2
    # Ordinal: the values ranked between two values, the two themselves by half.
    middle = np.cumsum(totals) - totals / 2
    return np.subtract.outer(middle, middle) ** 2
