"""How a correlation varies over random samples of the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fcconan.scoring.arrays import Floats
from fcconan.scoring.correlation.coefficients import COEFFICIENTS, SPEARMAN
from fcconan.scoring.correlation.levels import POOLED, evaluate
from fcconan.scoring.names import known_names
from fcconan.scoring.score_table import ScoreTable, parts


@dataclass(frozen=True)
class Stability:
    """How a pooled coefficient varies over random samples of the rows.

    Attributes:
        metric: The metric.
        aspect: What people rated.
        coefficient: Its name.
        mean: Over the trials that have a value; None without one.
        standard_deviation: Over the same trials, with n - 1; None below two.
        lowest: The smallest.
        highest: The largest.
        n_trials: How many have a value.
        n_undefined: How many have none.
        sizes: The sample sizes.
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
        table: The values; every metric is sampled from the rows that it and people have.
        coefficients: From `fcconan.scoring.correlation.coefficients.COEFFICIENTS`.
        sizes: Rows of each sample; by default 100, 600, 1100, ... while there are so many, as in the paper. Sizes above
            the rows that a pair has are left out for it, which `sizes` of its result shows.
        seeds: Each draws one sample of each size.

    Raises:
        InputError: A coefficient is unknown.
    """
    names, found = known_names("coefficient", coefficients, COEFFICIENTS), []
    wanted = range(100, len(table.items) + 1, 500) if sizes is None else sizes
    for part in parts(table, table.metric_values, table.human_values, table.pairs):
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
