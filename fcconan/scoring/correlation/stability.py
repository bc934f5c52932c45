"""Variation of correlations over random samples of the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fcconan.scoring.arrays import Floats
from fcconan.scoring.correlation.coefficients import COEFFICIENTS, SPEARMAN
from fcconan.scoring.correlation.levels import POOLED, evaluate
from fcconan.scoring.names import check_names
from fcconan.scoring.score_table import ScoreTable, complete_rows


@dataclass(frozen=True)
class Stability:
    """Variation of a pooled coefficient over random samples of the rows.

    Attributes:
        metric: The metric.
        aspect: Aspect that people rated.
        coefficient: Name of the coefficient.
        mean: Mean over the trials that have a value; None without one.
        standard_deviation: Standard deviation over these trials, with n - 1; None below two.
        lowest: Smallest value.
        highest: Largest value.
        n_trials: Number of trials with a value.
        n_undefined: Number of trials without a value.
        sizes: Sizes of the samples.
    """

    metric: str
    aspect: str
    coefficient: str
    mean: float | None
    standard_deviation: float | None
    lowest: float | None
    highest: float | None
    n_trials: int
    n_undefined: int
    sizes: tuple[int, ...]


def stability(
    table: ScoreTable,
    *,
    coefficients: Sequence[str] = (SPEARMAN,),
    sizes: Sequence[int] | None = None,
    seeds: Sequence[int] = (1, 2, 3),
) -> list[Stability]:
    """Averages pooled coefficients over random samples (CSEval, Appendix D: 13 sizes with 3 seeds).

    Args:
        table: The values; each metric is sampled from the rows that both it and people rated.
        coefficients: Coefficients, from `fcconan.scoring.correlation.coefficients.COEFFICIENTS`.
        sizes: Sizes of the samples; by default 100, 600, 1100, ... up to the number of rows, as in the paper. A pair
            with fewer rows has fewer sizes, which its result lists.
        seeds: Seeds of the samples; each gives one sample of each size.

    Raises:
        InputError: A coefficient is unknown.
    """
    names, found = check_names("coefficient", coefficients, COEFFICIENTS), []
    wanted = range(100, len(table.items) + 1, 500) if sizes is None else sizes
    for part in complete_rows(table, table.metric_values, table.human_values, table.pairs):
        used = tuple(size for size in wanted if 1 < size <= len(part.rows))
        trials: dict[str, list[Floats]] = {name: [] for name in names}
        for size in used:
            for seed in seeds:
                drawn = np.random.default_rng(seed).choice(len(part.rows), size, replace=False)
                for name, values in evaluate(POOLED, part.select(drawn), names).values().items():
                    trials[name].append(values)
        for name in names:
            table_of_trials = np.array(trials[name]).reshape(-1, len(part.pairs))
            for (metric, aspect), column in zip(part.pairs, table_of_trials.T, strict=True):
                there = column[np.isfinite(column)]
                found.append(
                    Stability(
                        table.metrics[metric],
                        table.aspects[aspect],
                        name,
                        float(there.mean()) if len(there) else None,
                        float(there.std(ddof=1)) if len(there) > 1 else None,
                        float(there.min()) if len(there) else None,
                        float(there.max()) if len(there) else None,
                        len(there),
                        len(column) - len(there),
                        used,
                    )
                )
    return found
