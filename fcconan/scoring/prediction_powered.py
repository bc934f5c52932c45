"""Prediction-powered inference: means from few ratings by people and a judge's ratings of all replies.

With y the ratings by people, f those by a judge and w the inverse probabilities of selection, the estimate of a mean is

    lambda * mean of f over all replies + weighted mean of (y - lambda f) over the rated replies.

Its expected value is that of people's mean for every judge and every fixed lambda >= 0 (Angelopoulos, Bates, Fannjiang,
Jordan and Zrnic, "Prediction-powered inference", Science 2023). Lambda is chosen for the smallest variance
(Angelopoulos, Duchi and Zrnic, "PPI++", 2023); 0 gives people's ratings alone. PPI++ writes the same estimate with the
mean over unrated replies: with n of N replies rated and equal weights, its lambda is this one times (1 - n / N).

Errors are summed over the replies to an item before they are squared, so the variance is cluster-robust: replies to one
item may depend on each other in any way. Errors of a difference are subtracted item by item, so it is paired where two
systems answer the same items. For w, multiples of the inverse probabilities suffice (a Hajek mean). Zrnic and Candes,
"Active statistical inference", 2024, choose replies with such probabilities.
"""

import math
from dataclasses import dataclass

import numpy as np

from fcconan.scoring.arrays import Floats, Ints

FEWEST_ITEMS = 2  # smallest number of rated items with an interval
ROUNDING = 1e-9


@dataclass(frozen=True)
class PartlyRated:
    """Sufficient statistics of the ratings of one system, or of the difference of two.

    Attributes:
        people: Weighted mean of the ratings by people.
        shift: Mean of the judge over all replies minus its weighted mean over the rated replies.
        influence: Contribution of each item to the error of `people`; shape (items,).
        shift_influence: Contribution of each item to the error of `shift`; shape (items,).
        judge_influence: Contribution of each item to the error of the judge's mean over rated replies; shape (items,).
        leverage: Share of each item in the weights of the rated replies; shape (items,).
        effective_items: Effective number of rated items, 1 / sum of squared shares (Kish, 1965).
        n_items: Number of items of the rated replies; of a difference, that of the system with fewer.
        n: Number of replies that people rated.
        n_all: Number of all replies.
        n_unjudged: Number of replies without a rating by the judge.
    """

    people: float
    shift: float
    influence: Floats
    shift_influence: Floats
    judge_influence: Floats
    leverage: Floats
    effective_items: float
    n_items: int
    n: int
    n_all: int
    n_unjudged: int

    def __sub__(self, other: "PartlyRated") -> "PartlyRated":
        """Returns the difference of two systems, whose items are numbered in the same way.

        Degrees of freedom are those of the system with fewer rated items, the conservative choice for different items.
        """
        return PartlyRated(
            self.people - other.people,
            self.shift - other.shift,
            self.influence - other.influence,
            self.shift_influence - other.shift_influence,
            self.judge_influence - other.judge_influence,
            np.maximum(self.leverage, other.leverage),
            min(self.effective_items, other.effective_items),
            min(self.n_items, other.n_items),
            self.n + other.n,
            self.n_all + other.n_all,
            self.n_unjudged + other.n_unjudged,
        )


def summarise_ratings(
    people: Floats,
    judged: Floats,
    items: Ints,
    n_items: int,
    *,
    probabilities: Floats | None = None,
) -> PartlyRated | None:
    """Computes the statistics that estimates need. Missing ratings by the judge are replaced by its mean.

    Args:
        people: Ratings by people, shape (replies,); nan for replies that people did not rate.
        judged: Ratings by the judge, shape (replies,); nan is missing.
        items: Item of each reply, from 0; shape (replies,).
        n_items: Number of items.
        probabilities: Selection probability of each reply, or any multiple of it, shape (replies,); None if all are
            equal.

    Returns:
        The statistics; None without a reply that people rated.
    """
    there, rated = np.isfinite(judged), np.isfinite(people)
    if not rated.any():
        return None
    part = np.where(rated, 1.0 if probabilities is None else 1 / probabilities, 0.0)
    part /= part.sum()
    grades, values = np.where(rated, people, 0.0), np.where(there, judged, judged[there].mean() if there.any() else 0)
    mean, mean_of_all, mean_of_rated = float(part @ grades), float(values.mean()), float(part @ values)

    def by_item(terms: Floats) -> Floats:
        return np.bincount(items, terms, n_items).astype(np.float64)

    def of_rated(ratings: Floats, mean: float) -> Floats:
        # The errors of equal ratings are set to 0, so that no slope is fitted to rounding errors.
        return by_item(part * (ratings - mean) if np.ptp(ratings[rated]) > 0 else np.zeros(len(part)))

    judge_influence, leverage = of_rated(values, mean_of_rated), by_item(part)
    return PartlyRated(
        people=mean,
        shift=mean_of_all - mean_of_rated,
        influence=of_rated(grades, mean),
        shift_influence=by_item((values - mean_of_all) / len(values)) - judge_influence,
        judge_influence=judge_influence,
        leverage=leverage,
        effective_items=1 / float(leverage @ leverage),
        n_items=len(np.unique(items[rated])),
        n=int(rated.sum()),
        n_all=len(judged),
        n_unjudged=int((~there).sum()),
    )


@dataclass(frozen=True)
class PoweredEstimate:
    """A mean, or a difference of two means, from people and a judge, and from people alone.

    Attributes:
        value: Estimate from people and the judge.
        low: Lower end of its interval; None with a reason.
        high: Upper end of its interval; None with a reason.
        power: Lambda, the weight of the judge.
        people: Estimate from people alone.
        people_low: Lower end of the interval of `people`; None with a reason.
        people_high: Upper end of the interval of `people`; None with a reason.
        n: Number of replies that people rated.
        n_items: Number of their items; of a difference, that of the system with fewer.
        n_all: Number of all replies.
        n_unjudged: Number of replies without a rating by the judge.
        explained: Share of the variance of people's ratings that the judge explains, adjusted for lambda; at least 0.
        shift: Difference between the judge's means of rated and of all replies, in standard errors; None if it is 0 by
            construction. Large values indicate that the rated replies are not a random selection.
        n_effective: Number of ratings by people that would give an equally short interval without the judge.
        reason: Reason of a missing interval: `too_few_items`, or `constant` if people gave only one grade.
    """

    value: float
    low: float | None
    high: float | None
    power: float
    people: float
    people_low: float | None
    people_high: float | None
    n: int
    n_items: int
    n_all: int
    n_unjudged: int
    explained: float
    shift: float | None
    n_effective: float | None
    reason: str | None = None

    @property
    def width_ratio(self) -> float | None:
        """Width of the interval relative to that from people alone; None without an interval."""
        return None if self.n_effective is None else math.sqrt(self.n / self.n_effective)


def estimate_lambda(ratings: PartlyRated) -> float:
    """Estimates the best lambda: the slope of people's ratings on the judge's, over the items of rated replies.

    It is 0 for a judge that correlates negatively with people. It has no upper limit, because a judge may have another
    scale. PPI++ divides by the judge's variance over all replies, which is less precise if judge and people agree
    closely.
    """
    spread = float(ratings.judge_influence @ ratings.judge_influence)
    return max(0.0, float(ratings.influence @ ratings.judge_influence) / spread) if spread > 0 else 0.0


def powered_estimate(ratings: PartlyRated, *, confidence: float = 0.95, power: float | None = None) -> PoweredEstimate:
    """Estimates a mean, or a difference of two systems, with intervals from Student's t over rated items.

    The variance is the sum of squared errors of the items, each divided by 1 - leverage (HC2; with equal weights the
    usual G / (G - 1) for G rated items), with G - 1 degrees of freedom. An estimated lambda costs one more degree of
    freedom: the variance is multiplied by (G - 1) / (G - 2), and shift^2 times the variance of lambda is added. With
    unequal weights G is the effective number of items. Lambda is 0 if the interval would not be shorter than that from
    people alone.

    Args:
        ratings: The ratings.
        confidence: Confidence of the intervals.
        power: Fixed lambda; None to estimate it.
    """
    from scipy.stats import t

    n_items = ratings.effective_items
    scale = np.divide(1.0, 1 - ratings.leverage, out=np.ones_like(ratings.leverage), where=ratings.leverage < 1)

    def half_width(influence: Floats, n_parameters: int, further: float = 0.0) -> float:
        freedom = n_items - n_parameters
        if freedom < ROUNDING or ratings.n_items < FEWEST_ITEMS:
            return math.inf
        variance = (n_items - 1) / freedom * float(influence**2 @ scale) + further
        return float(t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(variance)

    alone = half_width(ratings.influence, 1)
    own, width = (estimate_lambda(ratings), math.inf) if power is None else (power, 0.0)
    residual = ratings.influence + own * ratings.shift_influence
    if power is not None:
        width = half_width(residual, 1)
    elif own > 0:
        rest, slope = ratings.influence - own * ratings.judge_influence, ratings.judge_influence
        uncertainty = float(((rest * slope) ** 2).sum()) / float(slope @ slope) ** 2
        width = half_width(residual, 2, ratings.shift**2 * uncertainty)
    if power is None and not width < alone:
        own, width = 0.0, alone
    value = ratings.people + own * ratings.shift
    error = math.sqrt(float(ratings.shift_influence @ ratings.shift_influence))
    reason = None if ratings.n_items >= FEWEST_ITEMS else "too_few_items"
    if reason is None and alone <= 0:
        reason = "constant"
    ends = [value - width, value + width, ratings.people - alone, ratings.people + alone]
    low, high, people_low, people_high = ends if reason is None else [None] * 4
    return PoweredEstimate(
        value=value,
        low=low,
        high=high,
        power=own,
        people=ratings.people,
        people_low=people_low,
        people_high=people_high,
        n=ratings.n,
        n_items=ratings.n_items,
        n_all=ratings.n_all,
        n_unjudged=ratings.n_unjudged,
        explained=_explained(ratings),
        shift=ratings.shift / error if error > ROUNDING * abs(ratings.judge_influence).max() else None,
        n_effective=None if reason is not None or width <= 0 else ratings.n * (alone / width) ** 2,
        reason=reason,
    )


def _explained(ratings: PartlyRated) -> float:
    """Returns the adjusted squared correlation of people and judge over rated items; 0 for a negative correlation."""
    people, judge = ratings.influence, ratings.judge_influence
    spread = float(people @ people) * float(judge @ judge)
    product = float(people @ judge)
    if ratings.n_items <= FEWEST_ITEMS or spread <= 0 or product <= 0:
        return 0.0
    rest = (1 - product**2 / spread) * (ratings.n_items - 1) / (ratings.n_items - 2)
    return min(1.0, max(0.0, 1 - rest))
