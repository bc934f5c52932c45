"""Intervals of the difference between two metrics' correlations with people, by a paired bootstrap over items."""

from fcconan.scoring.correlation.coefficients import SPEARMAN
from fcconan.scoring.correlation.levels import POOLED, evaluate
from fcconan.scoring.score_table import ScoreTable, complete_rows
from fcconan.scoring.significance.intervals import finite, percentile_interval


def difference_interval(
    table: ScoreTable,
    first: int,
    second: int,
    aspect: int,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[float | None, float | None]:
    """Returns the percentile interval of the first metric's pooled Spearman coefficient minus the second's.

    Items are resampled with all their rows, both metrics in the same resamples, on the rows that have both.

    Args:
        table: The values.
        first: Position of a metric.
        second: Position of another one.
        aspect: Position of the aspect.
        resamples: Number of resamples; 0 for no interval.
        seed: Seed of the resamples.
        confidence: Confidence level.

    Returns:
        Lower and upper end; None without an interval.
    """
    x, y = table.metric_values[[first, second]], table.human_values[[aspect]]
    complete = x + 0 * x[::-1]  # nan where either metric is missing
    for part in complete_rows(table, complete, y, [(0, 0), (1, 0)]):
        values = evaluate(POOLED, part, [SPEARMAN])
        if resamples == 0 or len(set(part.item.tolist())) < 2:
            break
        drawn = values.resample(resamples, seed)[SPEARMAN]
        low, high = percentile_interval((drawn[:1] - drawn[1:]).T, confidence)
        return finite(low[0]), finite(high[0])
    return None, None
