"""Estimation of the number of unseen positives.

A draw takes one of the remaining units, each with a known probability that may depend on everything seen before. Let y
be the label of the drawn unit (1 for positive), q its probability, F the positives found before, and K the number of
all positives. Then y / q has the mean K - F for all labels, independent of the choice of the other units of a batch.
For every K, consider the wealth of a gambler who bets a fixed share t of it on every draw against K:

    product over draws of 1 + t (K - F - y / q) q_min        against K being as large
    product over draws of 1 + t (y / (q (K - F)) - 1)        against K being as small

It has the mean 1 if K is correct, and exceeds 2 / alpha at any time with a probability of at most alpha / 2 (Ville's
inequality). The interval contains all K that are not rejected. It is valid after every batch, so the search may stop at
any time. The mean wealth of gamblers with several shares t is used.

Sources: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024); Shekhar, Xu, Lipton,
Liang and Ramdas, "Risk-limiting financial audits via weighted sampling without replacement" (2023).
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from fcconan.scoring import Floats

AGAINST_MORE = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
AGAINST_FEWER = np.array([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
EVEN = 0.5


def estimate(
    draws: Sequence[tuple[float, float, float, float]], *, found: int, left: int, confidence: float = 0.95
) -> dict[str, Any]:
    """Estimates the number of unseen positives and the recall.

    Args:
        draws: All draws, in their order: whether the label is positive, the probability of the draw, a lower bound of
            the probabilities of all remaining units, and the number of positives found before.
        found: Number of positives found.
        left: Number of units without a label.
        confidence: Confidence level of the interval, simultaneously at all times; between 0 and 1.

    Returns:
        `found`, `left` and `n_draws`; `unseen` positives, from `low` to `high`, None without a draw; and the `recall`,
        from `recall_low` to `recall_high`, None if there may be no positive. `recall_likely` is the lower end of its
        50 % interval.
    """
    unseen, low, high, likely = None if left else 0.0, 0, left, left
    if draws and left:
        positive, probability, smallest, before = np.array(draws, dtype=np.float64).T
        values = positive / probability
        totals = range(found, found + left + 1)

        def against_more(total: int) -> float:
            return _wealth(AGAINST_MORE, (total - before - values) * smallest)

        def against_fewer(total: int) -> float:
            unseen = total - before  # at least 0, as totals below `found` are not tested
            return _wealth(AGAINST_FEWER, np.divide(values, unseen, out=np.ones_like(values), where=unseen > 0) - 1)

        # Both kinds of wealth are monotonic in K, so the ends are found by bisection.
        limit, even = math.log(2 / (1 - confidence)), math.log(2 / (1 - EVEN))
        high = max(bisect_left(totals, limit, key=against_more) - 1, 0)
        likely = max(bisect_left(totals, even, key=against_more) - 1, 0)
        low = min(bisect_left(totals, True, key=lambda total: against_fewer(total) < limit), left)
        low, high = min(low, high), max(low, high)
        unseen = _centre(values, smallest, before, found, found + left) - found

    def share(missed: float | None) -> float | None:
        return None if missed is None or not found + missed else found / (found + missed)

    counts = {"found": found, "left": left, "n_draws": len(draws), "unseen": unseen, "low": low, "high": high}
    shares = {"recall": share(unseen), "recall_low": share(high), "recall_high": share(low)}
    return {**counts, **shares, "recall_likely": share(likely)}


def _wealth(stakes: Floats, gains: Floats) -> float:
    """Returns the logarithm of the gamblers' mean wealth at its maximum over time."""
    logs = np.log1p(np.outer(stakes, gains)).cumsum(axis=1)
    return float(np.logaddexp.reduce(logs, axis=0).max() - np.log(len(stakes)))


def _centre(values: Floats, smallest: Floats, before: Floats, low: int, high: int) -> float:
    """Returns the total for which draws have neither too many nor too few positives; later ones have more weight."""
    from scipy.optimize import brentq

    def excess(total: float) -> float:
        unseen = np.maximum(total - before, 0.5)
        return float(((values - unseen) * smallest / unseen).sum())

    if excess(low) <= 0 or excess(high) >= 0:
        return low if excess(low) <= 0 else high
    return float(brentq(excess, low, high))
