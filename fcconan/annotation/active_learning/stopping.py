"""Estimation of the number of unseen positives, and the rule for stopping a search.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
AGAINST_MORE = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
AGAINST_FEWER = np.array([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
EVEN = 0.5
State = Literal["go_on", "probably_reached", "reached", "all_judged"]


@dataclass(frozen=True)
class Draw:
    """A unit that was drawn at random.

    Attributes:
        positive: Whether its label is positive.
        probability: Probability of the draw.
        smallest: Lower bound of the probabilities of all remaining units.
        found: Number of positives found before.
    """

    positive: bool
    probability: float
    smallest: float
    found: int


@dataclass(frozen=True)
class Estimate:
    """The estimated number of positives.

    Attributes:
        found: Number of positives found.
        left: Number of units without a label.
        n_draws: Number of units drawn at random and judged.
        unseen: Estimated number of positives among the remaining units; None without a draw.
        low: Lower end of its interval.
        high: Upper end of its interval.
        recall: Estimated recall; None without a draw, or if no positive is estimated.
        recall_low: Lower end of its interval; None if there may be no positive.
        recall_high: Upper end of its interval.
        recall_likely: Lower end of the 50 % interval.
    """

    found: int
    left: int
    n_draws: int
    unseen: float | None
    low: int
    high: int
    recall: float | None
    recall_low: float | None
    recall_high: float | None
    recall_likely: float | None


def estimate(draws: Sequence[Draw], *, found: int, left: int, confidence: float = 0.95) -> Estimate:
    """Estimates the number of unseen positives.

    Args:
        draws: All draws, in their order.
        found: Number of positives found.
        left: Number of units without a label.
        confidence: Confidence level of the interval, simultaneously at all times; between 0 and 1.
    """
    if not draws or not left:
        return _as_shares(found, left, len(draws), None if left else 0.0, 0, left, left)
    values = np.array([draw.positive / draw.probability for draw in draws])
    smallest = np.array([draw.smallest for draw in draws])
    before = np.array([draw.found for draw in draws], dtype=np.float64)
    limit, even = math.log(2 / (1 - confidence)), math.log(2 / (1 - EVEN))

    def against_more(total: int) -> float:
        gains: Floats = (total - before - values) * smallest
        return _wealth(AGAINST_MORE, gains)

    def too_few(total: int) -> bool:
        unseen = total - before  # at least 0, as totals below `found` are not tested
        won = np.divide(values, unseen, out=np.ones_like(values), where=unseen > 0) - 1
        return _wealth(AGAINST_FEWER, won) >= limit

    # Both kinds of wealth are monotonic in K, so the ends are found by bisection.
    low, high = found, found + left
    most = _last(lambda total: against_more(total) < limit, low, high)
    likely = _last(lambda total: against_more(total) < even, low, high)
    least = high - _last(lambda step: not too_few(high - step), 0, high - low)
    least, most = min(least, most), max(least, most)
    centre = _centre(values, smallest, before, low, high)
    return _as_shares(found, left, len(draws), centre - found, least - found, most - found, likely - found)


def decide(known: Estimate, target: float) -> State:
    """Decides whether enough positives were found.

    Args:
        known: Result of `estimate`.
        target: Target recall, above 0.

    Returns:
        `reached` if the whole interval of the recall is at or above the target, `probably_reached` if the 50 % interval
        is, `all_judged` if no unit remains, else `go_on`.
    """
    if not known.left:
        return "all_judged"
    if known.recall_low is not None and known.recall_low >= target:
        return "reached"
    return "probably_reached" if known.recall_likely is not None and known.recall_likely >= target else "go_on"


def _wealth(stakes: Floats, gains: Floats) -> float:
    """Returns the logarithm of the gamblers' mean wealth at its maximum over time."""
    logs = np.log1p(np.outer(stakes, gains)).cumsum(axis=1)
    return float(np.logaddexp.reduce(logs, axis=0).max() - np.log(len(stakes)))


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Returns the largest integer in a range for which a condition holds; the smallest of the range if it never
    holds.
    """
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _centre(values: Floats, smallest: Floats, before: Floats, low: int, high: int) -> float:
    """Returns the total for which the draws have neither too many nor too few positives; later draws have more
    weight.
    """
    least, most = float(low), float(high)
    for _ in range(60):
        total = (least + most) / 2
        unseen = np.maximum(total - before, 0.5)
        if ((values - unseen) * smallest / unseen).sum() > 0:
            least = total
        else:
            most = total
    return least


def _as_shares(found: int, left: int, n_draws: int, unseen: float | None, low: int, high: int, likely: int) -> Estimate:
    def share(missed: float | None) -> float | None:
        return None if missed is None or not found + missed else found / (found + missed)

    shares = share(unseen), share(high), share(low), share(likely)
    return Estimate(found, left, n_draws, unseen, low, high, *shares)
