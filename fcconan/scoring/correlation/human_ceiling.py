"""The human ceiling: how well one annotator follows the others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fcconan.scoring.correlation.levels import evaluate
from fcconan.scoring.score_table import ScoreTable, parts
from fcconan.scoring.significance.intervals import divided

FEWEST = 3  # rows without which an annotator does not count: two rows correlate by 1 or -1, whatever they say


@dataclass(frozen=True)
class Ceiling:
    """A human ceiling and what it rests on.

    Attributes:
        value: Mean over annotators, each weighted by the rows shared with others; None where no annotator counts.
        n: These rows, summed over the annotators that count.
        n_annotators: Annotators that count.
    """

    value: float | None
    n: int
    n_annotators: int


NONE = Ceiling(None, 0, 0)


def weighted_ceiling(values: Sequence[float], rows: Sequence[int]) -> Ceiling:
    """Averages annotators' values, each weighted by the rows it rests on; nan and fewer than 3 rows do not count."""
    kept = [(value, n) for value, n in zip(values, rows, strict=True) if n >= FEWEST and np.isfinite(value)]
    if not kept:
        return NONE
    counted, weights = zip(*kept, strict=True)
    return Ceiling(float(np.average(counted, weights=weights)), sum(weights), len(kept))


def human_ceilings(table: ScoreTable, level: str, coefficients: Sequence[str]) -> dict[tuple[str, str], Ceiling]:
    """Correlates each annotator with the mean of the others, and averages over annotators by their rows.

    Args:
        table: The values; without `annotators` the result is empty.
        level: One of `LEVELS`.
        coefficients: From `fcconan.scoring.correlation.coefficients`.

    Returns:
        The ceiling by aspect and coefficient.
    """
    if table.annotators is None:
        return {}
    there = np.isfinite(table.annotators)
    total, number = np.where(there, table.annotators, 0.0).sum(axis=0), there.sum(axis=0)
    collected: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for ratings, given in zip(table.annotators, there, strict=True):
        mean = divided(total - np.where(given, ratings, 0.0), number - given)
        for part in parts(table, ratings, mean, [(aspect, aspect) for aspect in range(len(table.aspects))]):
            values = evaluate(level, part, coefficients).values()
            for name in coefficients:
                for (_, aspect), value in zip(part.pairs, values[name], strict=True):
                    collected.setdefault((table.aspects[aspect], name), []).append((float(value), len(part.rows)))
    return {key: weighted_ceiling(*zip(*each, strict=True)) for key, each in collected.items()}
