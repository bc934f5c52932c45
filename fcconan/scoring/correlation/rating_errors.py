"""Errors of a judge's ratings against people's, by system."""

from dataclasses import dataclass

import numpy as np

from fcconan.scoring.arrays import Flags, Floats
from fcconan.scoring.correlation.analysis import NONE, Ceiling, weighted_ceiling
from fcconan.scoring.correlation.levels import UNKNOWN
from fcconan.scoring.score_table import ScoreTable
from fcconan.scoring.significance.intervals import bootstrap_means, finite, percentile_interval, safe_divide


@dataclass(frozen=True)
class RatingError:
    """Errors of one judge for one system.

    Attributes:
        metric: The judge.
        aspect: Aspect that people rated.
        system: The system whose replies are rated; None for all of them.
        mean_absolute_error: Mean absolute difference between judge and people; None without a row.
        mean_absolute_error_low: Lower end of the interval over items; None with fewer than two.
        mean_absolute_error_high: Upper end of the interval.
        chance: Expected mean absolute error if the judge's ratings are permuted at random over these replies.
        ceiling: Mean absolute error of one annotator against the mean of the others, over all rows of the annotators
            who share 3 with others; None without two of them.
        n_annotators: Number of annotators behind the ceiling.
        bias: Mean of the judge's rating minus people's; above 0 if the judge gives higher values.
        bias_low: Lower end of the interval.
        bias_high: Upper end of the interval.
        n: Number of rows with both values.
        n_missing: Number of rows that lack a value.
    """

    metric: str
    aspect: str
    system: str | None
    mean_absolute_error: float | None
    mean_absolute_error_low: float | None
    mean_absolute_error_high: float | None
    chance: float | None
    ceiling: float | None
    n_annotators: int
    bias: float | None
    bias_low: float | None
    bias_high: float | None
    n: int
    n_missing: int


def rating_errors(
    table: ScoreTable, *, resamples: int = 10_000, seed: int = 0, confidence: float = 0.95
) -> list[RatingError]:
    """Computes mean absolute error and bias of every metric, for every system and for all systems together.

    Args:
        table: The values, of metrics on people's scale only.
        resamples: Number of resamples of the items; 0 for no intervals.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.
    """
    selections: list[tuple[str | None, Flags]] = [(None, np.ones(len(table.items), dtype=np.bool_))]
    selections += [
        (name, table.system == position) for position, name in enumerate(table.system_names) if name != UNKNOWN
    ]
    found = []
    for metric, aspect in table.pairs:
        difference = table.metric_values[metric] - table.human_values[aspect]
        for system, selected in selections:
            rows = np.flatnonzero(selected & np.isfinite(difference))
            own = difference[rows]
            item = table.item[rows]
            terms = (np.abs(own), own, np.ones(len(own)))
            sums = np.array([np.bincount(item, term, len(table.item_names)) for term in terms], dtype=np.float64)
            ends = np.full((2, 2), np.nan)
            if resamples and len(np.unique(item)) > 1:
                absolute, signed, number = bootstrap_means(sums, resamples=resamples, seed=seed).T
                ends = np.stack(percentile_interval(safe_divide(np.stack([absolute, signed]), number).T, confidence))
            low, high = ([finite(end) for end in each] for each in ends)
            ceiling = _ceiling(table, aspect, selected)
            found.append(
                RatingError(
                    metric=table.metrics[metric],
                    aspect=table.aspects[aspect],
                    system=system,
                    mean_absolute_error=float(np.abs(own).mean()) if len(rows) else None,
                    mean_absolute_error_low=low[0],
                    mean_absolute_error_high=high[0],
                    chance=_by_chance(table.metric_values[metric, rows], table.human_values[aspect, rows]),
                    ceiling=ceiling.value,
                    n_annotators=ceiling.n_annotators,
                    bias=float(own.mean()) if len(rows) else None,
                    bias_low=low[1],
                    bias_high=high[1],
                    n=len(rows),
                    n_missing=int(selected.sum()) - len(rows),
                )
            )
    return found


def _by_chance(x: Floats, y: Floats) -> float | None:
    """Computes the mean absolute difference over all pairs of a value of x and a value of y."""
    if len(x) == 0:
        return None
    (x, of_x), (y, of_y) = (np.unique(each, return_counts=True) for each in (x, y))
    # By cumulative sums, because all pairs may not fit into memory.
    below, total = np.concatenate([[0], np.cumsum(of_y)]), np.concatenate([[0.0], np.cumsum(y * of_y)])
    place = np.searchsorted(y, x)
    under = x * below[place] - total[place]
    over = total[-1] - total[place] - x * (below[-1] - below[place])
    return float((of_x * (under + over)).sum() / (of_x.sum() * of_y.sum()))


def _ceiling(table: ScoreTable, aspect: int, selected: Flags) -> Ceiling:
    if table.annotators is None:
        return NONE
    ratings = table.annotators[:, aspect, selected]
    there = np.isfinite(ratings)
    filled = np.where(there, ratings, 0.0)
    others = there.sum(axis=0) - there
    usable = there & (others > 0)
    mean = np.divide(filled.sum(axis=0) - filled, others, out=np.zeros(ratings.shape), where=usable)
    rows = usable.sum(axis=1)
    total = np.where(usable, np.abs(filled - mean), 0.0).sum(axis=1)
    return weighted_ceiling((total / np.maximum(rows, 1)).tolist(), rows.tolist())
