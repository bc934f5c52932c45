"""Correlation of a judge's ratings with people's over all rows, with a bootstrap interval over items."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from fcconan.scoring import percentile_interval

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Metric = Literal["spearman", "kendall", "pearson"]
Undefined = Literal["too_few", "constant_human", "constant_predictions"]

DIGITS = 10
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class CorrelationScore:
    """Correlation with people's ratings.

    Attributes:
        value: Coefficient over all rows with a prediction (pooled level); None if undefined.
        reason: Reason of an undefined coefficient.
        n: Number of rows with a prediction.
        n_missing: Number of rows without a prediction.
        low: Lower end of the interval; None without an interval.
        high: Upper end of the interval.
        n_undefined: Number of resamples with an undefined coefficient, which the interval leaves out.
        worst: Coefficient if each missing prediction were the end of the scale farthest from people's rating; None
            without missing predictions, or if the scale is unknown.
    """

    value: float | None
    reason: Undefined | None
    n: int
    n_missing: int
    low: float | None = None
    high: float | None = None
    n_undefined: int = 0
    worst: float | None = None

    @property
    def worst_case(self) -> float | None:
        """Coefficient in the worst case of the missing predictions."""
        return self.value if self.worst is None else self.worst


@dataclass(frozen=True)
class ItemBootstrap:
    """Percentile bootstrap over items with all their rows.

    Attributes:
        items: Item of each row.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the interval.
    """

    items: tuple[str, ...]
    resamples: int
    seed: int
    confidence: float = 0.95


def correlate_values(metric: Metric, predicted: Floats, human: Floats) -> tuple[float | None, Undefined | None]:
    """Correlates predictions with people's ratings. Spearman's rho averages tied ranks, Kendall's tau is tau-b.

    Args:
        metric: Coefficient.
        predicted: Predictions, shape (rows,), without missing values.
        human: Ratings by people, shape (rows,).

    Returns:
        The coefficient and None, or None and the reason.
    """
    if len(human) < 2:
        return None, "too_few"
    if np.ptp(human) <= _TOLERANCE:
        return None, "constant_human"
    if np.ptp(predicted) <= _TOLERANCE:
        return None, "constant_predictions"
    return _COEFFICIENTS[metric](predicted, human), None


def score_predictions(
    metric: Metric,
    predictions: Sequence[float | None],
    human: Sequence[float],
    *,
    scale: tuple[float, float] | None = None,
    bootstrap: ItemBootstrap | None = None,
) -> CorrelationScore:
    """Returns the correlation of predictions with people's ratings.

    Args:
        metric: Coefficient.
        predictions: Prediction of each row; rows with None are left out.
        human: Rating by people of each row.
        scale: Lowest and highest grade, for the worst case; None if unknown.
        bootstrap: Settings of the interval; None for no interval.
    """
    predicted, people = _floats(predictions), _floats(human)
    found = _scored(
        lambda rows: correlate_values(metric, predicted[rows], people[rows]), ~np.isnan(predicted), bootstrap
    )
    if found.value is None or found.n_missing == 0 or scale is None:
        return found
    # The worst grade is the lowest one for rows that people rated above their median, otherwise the highest one.
    ends = np.where(people > np.median(people), *scale)
    worst, _ = correlate_values(metric, np.where(np.isnan(predicted), ends, predicted), people)
    return replace(found, worst=_rounded(worst))


def score_difference(
    metric: Metric,
    first: Sequence[float | None],
    second: Sequence[float | None],
    human: Sequence[float],
    bootstrap: ItemBootstrap | None = None,
) -> CorrelationScore:
    """Returns the difference of two correlations, over the rows with both predictions and the same resamples.

    Args:
        metric: Coefficient.
        first: First prediction of each row; None is missing.
        second: Second prediction of each row; None is missing.
        human: Rating by people of each row.
        bootstrap: Settings of the interval; None for no interval.
    """
    a, b, people = _floats(first), _floats(second), _floats(human)

    def gain(rows: Rows) -> tuple[float | None, Undefined | None]:
        value_a, reason_a = correlate_values(metric, a[rows], people[rows])
        value_b, reason_b = correlate_values(metric, b[rows], people[rows])
        return (None, reason_a or reason_b) if value_a is None or value_b is None else (value_a - value_b, None)

    return _scored(gain, ~np.isnan(a + b), bootstrap)


def _floats(values: Sequence[float | None]) -> Floats:
    """Returns values as an array, with nan for None."""
    return np.array(values, dtype=np.float64)


def _kendall(x: Floats, y: Floats) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(x, y).statistic)


def _pearson(x: Floats, y: Floats) -> float:
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


_COEFFICIENTS: dict[Metric, Callable[[Floats, Floats], float]] = {
    "kendall": _kendall,
    "spearman": lambda x, y: _pearson(rankdata(x), rankdata(y)),
    "pearson": _pearson,
}


def _scored(
    statistic: Callable[[Rows], tuple[float | None, Undefined | None]],
    complete: npt.NDArray[np.bool_],
    bootstrap: ItemBootstrap | None,
) -> CorrelationScore:
    """Computes a statistic of the complete rows, and of the complete rows of each resample."""
    value, reason = statistic(np.flatnonzero(complete))
    n = int(complete.sum())
    found = CorrelationScore(_rounded(value), reason, n, len(complete) - n)
    if bootstrap is None:
        return found
    draws = [statistic(rows[complete[rows]])[0] for rows in _resampled(bootstrap)]
    defined = np.array([each for each in draws if each is not None], dtype=np.float64)
    found = replace(found, n_undefined=len(draws) - len(defined))
    if value is None or not len(defined):
        return found
    low, high = percentile_interval(defined[:, None], bootstrap.confidence)
    return replace(found, low=_rounded(float(low[0])), high=_rounded(float(high[0])))


def _resampled(bootstrap: ItemBootstrap) -> Iterator[Rows]:
    """Yields the rows of each resample of items."""
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(bootstrap.items):
        rows.setdefault(item, []).append(row)
    groups = [np.array(each, dtype=np.intp) for each in rows.values()]
    generator = np.random.default_rng(bootstrap.seed)
    for _ in range(bootstrap.resamples):
        yield np.concatenate([groups[draw] for draw in generator.integers(len(groups), size=len(groups))])


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
