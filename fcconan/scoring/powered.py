"""Prediction-powered inference: means from few ratings by people and a judge's ratings of all replies.

With y the ratings by people, f those by a judge and w the inverse probabilities of selection, the estimate of a mean is

    lambda * mean of f over all replies + weighted mean of (y - lambda f) over the rated replies.

Its expected value is people's mean for every judge and every fixed lambda (Angelopoulos, Bates, Fannjiang, Jordan and
Zrnic, "Prediction-powered inference", Science 2023). Lambda is chosen for the smallest variance (Angelopoulos, Duchi
and Zrnic, "PPI++", 2023). Errors are summed over the replies to an item before they are squared, so that replies to one
item may depend on each other in any way, and a difference of two systems is paired by items.
"""

from typing import Any, NamedTuple

import numpy as np

from fcconan.scoring.arrays import Floats, Ints

ROUNDING = 1e-9


class Sample(NamedTuple):
    """Sufficient statistics of the ratings of one system, or of the difference of two.

    Attributes:
        people: Weighted mean of the ratings by people.
        shift: Mean of the judge over all replies minus its weighted mean over the rated replies.
        influence: Contribution of each item to the error of `people`, shape (items,).
        shift_influence: Contribution of each item to the error of `shift`, shape (items,).
        judge_influence: Contribution of each item to the error of the judge's mean over rated replies, shape (items,).
        leverage: Share of each item in the weights of the rated replies, shape (items,).
        items: Effective number of rated items, 1 / sum of squared shares (Kish, 1965); of a difference the smaller one.
        n: Number of replies that people rated.
        n_all: Number of all replies.
    """

    people: float
    shift: float
    influence: Floats
    shift_influence: Floats
    judge_influence: Floats
    leverage: Floats
    items: float
    n: int
    n_all: int

    def minus(self, other: "Sample") -> "Sample":
        """Returns the difference of two systems; degrees of freedom are those of the one with fewer rated items."""
        return Sample(
            self.people - other.people,
            self.shift - other.shift,
            self.influence - other.influence,
            self.shift_influence - other.shift_influence,
            self.judge_influence - other.judge_influence,
            np.maximum(self.leverage, other.leverage),
            min(self.items, other.items),
            self.n + other.n,
            self.n_all + other.n_all,
        )


def summarise(people: Floats, judged: Floats, items: Ints, n_items: int, chances: Floats) -> Sample | None:
    """Computes the statistics of a system. Missing ratings by the judge are replaced by its mean.

    Args:
        people: Ratings by people, shape (replies,); nan for replies that people did not rate.
        judged: Ratings by the judge, shape (replies,); nan is missing.
        items: Positions of the replies' items, shape (replies,).
        n_items: Number of items of all systems.
        chances: Probability with which each reply was selected for people, or any multiple of it, shape (replies,).

    Returns:
        The statistics; None where people rated no reply, or the judge none.
    """
    rated, there = np.isfinite(people), np.isfinite(judged)
    if not rated.any() or not there.any():
        return None
    share = np.where(rated, 1 / chances, 0.0)
    share /= share.sum()
    grades, values = np.where(rated, people, 0.0), np.where(there, judged, judged[there].mean())

    def by_item(errors: Floats) -> Floats:
        return np.bincount(items, errors, n_items).astype(float)

    def influence(ratings: Floats) -> Floats:
        # The errors of equal ratings are 0, so that no slope is fitted to rounding errors.
        varies = np.ptp(ratings[rated]) > 0
        return by_item(share * (ratings - share @ ratings) * varies)

    of_judge, leverage = influence(values), by_item(share)
    return Sample(
        people=float(share @ grades),
        shift=float(values.mean() - share @ values),
        influence=influence(grades),
        shift_influence=by_item((values - values.mean()) / len(values)) - of_judge,
        judge_influence=of_judge,
        leverage=leverage,
        items=1 / float(leverage @ leverage),
        n=int(rated.sum()),
        n_all=len(judged),
    )


def estimate(sample: Sample, confidence: float) -> dict[str, Any]:
    """Estimates a mean, or a difference of two systems, with intervals from Student's t over rated items.

    The variance is the sum of squared errors of the items, each divided by 1 - leverage (HC2), with G - 1 degrees of
    freedom for G rated items. An estimated lambda costs one more degree of freedom, and shift^2 times the variance of
    lambda is added. Lambda is 0 if the interval would not be shorter than that from people alone.

    Returns:
        `value`, `low`, `high`; `people`, `people_low`, `people_high` (from people alone); `weight` (lambda); `shift`
        (difference between the judge's means of rated and of all replies in standard errors, nan if it is 0 by
        construction); `n`; `n_all`; and `reason` of a missing interval: `too_few_items`, or `constant` if people gave
        only one grade.
    """
    from scipy.stats import t

    scale = np.divide(1.0, 1 - sample.leverage, out=np.ones_like(sample.leverage), where=sample.leverage < 1)

    def half_width(influence: Floats, parameters: int, further: float = 0.0) -> float:
        freedom = sample.items - parameters
        if freedom < ROUNDING:
            return np.inf
        variance = (sample.items - 1) / freedom * float(influence**2 @ scale) + further
        return float(t.ppf((1 + confidence) / 2, freedom) * np.sqrt(variance))

    alone, weight, width = half_width(sample.influence, 1), 0.0, np.inf
    slope = sample.judge_influence
    if (spread := float(slope @ slope)) > 0 and (weight := max(0.0, float(sample.influence @ slope) / spread)):
        uncertainty = float((((sample.influence - weight * slope) * slope) ** 2).sum()) / spread**2
        width = half_width(sample.influence + weight * sample.shift_influence, 2, sample.shift**2 * uncertainty)
    if not width < alone:
        weight, width = 0.0, alone
    reason = "too_few_items" if alone == np.inf else "constant" if alone <= 0 else None
    if reason:
        width = alone = np.nan
    value, error = (
        sample.people + weight * sample.shift,
        float(np.sqrt(sample.shift_influence @ sample.shift_influence)),
    )
    return {
        "value": value,
        "low": value - width,
        "high": value + width,
        "people": sample.people,
        "people_low": sample.people - alone,
        "people_high": sample.people + alone,
        "weight": weight,
        "shift": sample.shift / error if error > ROUNDING * np.abs(slope).max() else np.nan,
        "n": sample.n,
        "n_all": sample.n_all,
        "reason": reason,
    }
