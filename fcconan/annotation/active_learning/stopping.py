"""How many positives are still unseen, from units that were drawn by chance.

A draw takes one of the units that are left, each with a known probability that may depend on everything seen before.
With y the drawn unit's label (1 for positive), q its probability, and F the positives found before, y / q has the mean
K - F, whatever the labels are and however the other units of a batch were chosen; K is the number of all positives.
For every K, the wealth of a gambler who stakes a fixed share t of it on every draw against K,

    product over draws of 1 + t (K - F - y / q) q_min        against K being as large
    product over draws of 1 + t (y / (q (K - F)) - 1)        against K being as small

has the mean 1 if K is right, and ever passes 2 / alpha with a probability of alpha / 2 at most (Ville's inequality).
The interval holds all K that no gambler has refuted, so it may be looked at after every batch, and work may stop
whenever it pleases. Gamblers with many shares t play, and their mean wealth counts. After Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting" (2024), and Shekhar, Xu, Lipton, Liang and Ramdas,
"Risk-limiting financial audits via weighted sampling without replacement" (2023).
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
    """One unit that was drawn by chance.

    Attributes:
        positive: Whether it proved positive.
        probability: With which it was drawn.
        smallest: A lower bound of the probabilities of all units that were left.
        found: Positives found before it.
    """

    positive: bool
    probability: float
    smallest: float
    found: int


@dataclass(frozen=True)
class Estimate:
    """What is known of the positives.

    Attributes:
        found: Positives found.
        left: Units not yet judged.
        n_draws: Units that were drawn by chance and judged.
        unseen: Estimate of the positives among those that are left; None without a draw.
        low: Lower end of its interval.
        high: Upper end.
        recall: Estimate of the share found; None if there seems to be no positive at all, or without a draw.
        recall_low: It is at least this, with the confidence of the interval; None if there may be no positive at all.
        recall_high: And at most this.
        recall_likely: The lower end of the interval of 50 %.
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
    """Estimates the positives that are still unseen.

    Args:
        draws: All draws, the first one first.
        found: Positives found by now.
        left: Units not judged by now.
        confidence: Of the interval, at all times together; between 0 and 1.
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
        unseen = total - before  # none below 0: totals below what was found are not asked about
        won = np.divide(values, unseen, out=np.ones_like(values), where=unseen > 0) - 1
        return _wealth(AGAINST_FEWER, won) >= limit

    # Both kinds of wealth only grow as K moves away: the ends are found by halving.
    low, high = found, found + left
    most = _last(lambda total: against_more(total) < limit, low, high)
    likely = _last(lambda total: against_more(total) < even, low, high)
    least = high - _last(lambda step: not too_few(high - step), 0, high - low)
    least, most = min(least, most), max(least, most)
    centre = _centre(values, smallest, before, low, high)
    return _as_shares(found, left, len(draws), centre - found, least - found, most - found, likely - found)


def decide(known: Estimate, target: float) -> State:
    """Says whether enough positives were found.

    Args:
        known: The estimate.
        target: The share of positives that is wanted; above 0.

    Returns:
        `reached` if the whole interval of the recall says so, `probably_reached` if that of 50 % does, `all_judged` if
        nothing is left, else `go_on`.
    """
    if not known.left:
        return "all_judged"
    if known.recall_low is not None and known.recall_low >= target:
        return "reached"
    return "probably_reached" if known.recall_likely is not None and known.recall_likely >= target else "go_on"


def _wealth(stakes: Floats, gains: Floats) -> float:
    """The logarithm of the gamblers' mean wealth, at the time at which it was highest."""
    logs = np.log1p(np.outer(stakes, gains)).cumsum(axis=1)
    return float(np.logaddexp.reduce(logs, axis=0).max() - np.log(len(stakes)))


def _last(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The largest whole number in a range for which something holds; the smallest of the range if it never does."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _centre(values: Floats, smallest: Floats, before: Floats, low: int, high: int) -> float:
    """The total for which the draws show neither too many nor too few positives, late draws counting more."""
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
