"""How well a judge's ratings follow people's: one correlation over all rows, and its bootstrap interval over items."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from fcconan.scoring import middle_ranks, percentile_interval

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Metric = Literal["spearman", "kendall", "pearson", "mean_of_spearman_and_kendall"]
Undefined = Literal["too_few", "constant_human", "constant_predictions"]

DIGITS = 10
_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Score:
    """A correlation with people's ratings.

    Attributes:
        value: The coefficient over all rows with a prediction (pooled level); None where it is undefined.
        reason: Why it is undefined.
        n: Rows in it.
        n_missing: Rows of which the prediction failed.
        low: Lower end of the interval; None where there is none.
        high: Its upper end.
        n_undefined: Resamples without a coefficient; the interval is over the others.
        worst: The coefficient if every missing prediction were as far from what people said as the scale allows; None
            where nothing is missing, or the scale is unknown.
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
    def least(self) -> float | None:
        """What is certain: the worst case, or the coefficient where nothing is missing."""
        return self.value if self.worst is None else self.worst


@dataclass(frozen=True)
class Scoring:
    """How predictions are scored.

    Attributes:
        metric: Which coefficient.
        substitute: What a missing prediction counts as; None leaves its row out.
        scale: Lowest and highest grade; None where they are unknown, and there is no worst case.
    """

    metric: Metric
    substitute: float | None = None
    scale: tuple[float, float] | None = None

    def filled(self, predictions: Sequence[float | None]) -> Floats:
        """Returns the predictions, nan where one is left out."""
        gap = np.nan if self.substitute is None else self.substitute
        return np.array([gap if value is None else value for value in predictions], dtype=np.float64)

    def worst(self, predicted: Floats, human: Floats) -> float | None:
        """Returns the coefficient with the worst grades where predictions are missing; None where none is.

        The worst grade is the lowest one for what people rated above their median, and the highest one for the rest.
        """
        missing = np.isnan(predicted)
        if self.scale is None or not missing.any():
            return None
        ends = np.where(human > np.median(human), *self.scale)
        return correlation(self.metric, np.where(missing, ends, predicted), human)[0]


@dataclass(frozen=True)
class Bootstrap:
    """A percentile bootstrap whose unit is the item with all its rows.

    Attributes:
        items: The item of every row.
        resamples: How many resamples.
        seed: Decides the draws.
        confidence: Of the interval.
    """

    items: tuple[str, ...]
    resamples: int
    seed: int
    confidence: float = 0.95


def correlation(metric: Metric, predicted: Floats, human: Floats) -> tuple[float | None, Undefined | None]:
    """Correlates two series; Spearman's rho averages tied ranks, and Kendall's tau is tau-b.

    Args:
        metric: Which coefficient.
        predicted: Shape (rows,), without missing values.
        human: Shape (rows,).

    Returns:
        The coefficient, or None with the reason.
    """
    if len(human) < 2:
        return None, "too_few"
    if np.ptp(human) <= _TOLERANCE:
        return None, "constant_human"
    if np.ptp(predicted) <= _TOLERANCE:
        return None, "constant_predictions"
    return _coefficient(metric, predicted, human), None


def score(
    scoring: Scoring, predictions: Sequence[float | None], human: Sequence[float], bootstrap: Bootstrap | None = None
) -> Score:
    """Scores predictions.

    Args:
        scoring: Which coefficient, and what becomes of missing predictions.
        predictions: One for every row; None is missing.
        human: One for every row.
        bootstrap: How the interval is made; None makes none.
    """
    predicted, people = scoring.filled(predictions), np.asarray(human, dtype=np.float64)

    def on(rows: Rows) -> tuple[float | None, Undefined | None]:
        kept = rows[~np.isnan(predicted[rows])]
        return correlation(scoring.metric, predicted[kept], people[kept])

    n_missing = sum(each is None for each in predictions)
    found = _scored(on, int((~np.isnan(predicted)).sum()), n_missing, len(people), bootstrap)
    return found if found.value is None else replace(found, worst=_rounded(scoring.worst(predicted, people)))


def difference(
    scoring: Scoring,
    first: Sequence[float | None],
    second: Sequence[float | None],
    human: Sequence[float],
    bootstrap: Bootstrap | None = None,
) -> Score:
    """Scores the first predictions less the second, on the rows that have both and on the same resamples.

    Args:
        scoring: Which coefficient, and what becomes of missing predictions.
        first: One for every row; None is missing.
        second: One for every row; None is missing.
        human: One for every row.
        bootstrap: How the interval is made; None makes none.
    """
    a, b, people = scoring.filled(first), scoring.filled(second), np.asarray(human, dtype=np.float64)
    there = ~np.isnan(a + b)

    def on(rows: Rows) -> tuple[float | None, Undefined | None]:
        kept = rows[there[rows]]
        value_a, reason_a = correlation(scoring.metric, a[kept], people[kept])
        value_b, reason_b = correlation(scoring.metric, b[kept], people[kept])
        return (None, reason_a or reason_b) if value_a is None or value_b is None else (value_a - value_b, None)

    n_missing = sum(one is None or other is None for one, other in zip(first, second, strict=True))
    return _scored(on, int(there.sum()), n_missing, len(people), bootstrap)


def _coefficient(metric: Metric, x: Floats, y: Floats) -> float:
    if metric == "mean_of_spearman_and_kendall":
        return (_coefficient("spearman", x, y) + _coefficient("kendall", x, y)) / 2
    if metric == "kendall":
        from scipy.stats import kendalltau

        return float(kendalltau(x, y).statistic)
    if metric == "spearman":
        x, y = middle_ranks(x), middle_ranks(y)
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def _scored(
    on: Callable[[Rows], tuple[float | None, Undefined | None]],
    n: int,
    n_missing: int,
    n_rows: int,
    bootstrap: Bootstrap | None,
) -> Score:
    value, reason = on(np.arange(n_rows))
    plain = Score(_rounded(value), reason, n, n_missing)
    if bootstrap is None:
        return plain
    found = [on(rows)[0] for rows in _resampled(bootstrap)]
    defined = np.array([each for each in found if each is not None], dtype=np.float64)
    if value is None or not len(defined):
        return replace(plain, n_undefined=len(found) - len(defined))
    low, high = percentile_interval(defined[:, None], bootstrap.confidence)
    ends = _rounded(float(low[0])), _rounded(float(high[0]))
    return replace(plain, low=ends[0], high=ends[1], n_undefined=len(found) - len(defined))


def _resampled(bootstrap: Bootstrap) -> Iterator[Rows]:
    """Yields the rows of as many items as there are, drawn with replacement."""
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(bootstrap.items):
        rows.setdefault(item, []).append(row)
    groups = [np.array(each, dtype=np.intp) for each in rows.values()]
    generator = np.random.default_rng(bootstrap.seed)
    for _ in range(bootstrap.resamples):
        yield np.concatenate([groups[draw] for draw in generator.integers(len(groups), size=len(groups))])


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
