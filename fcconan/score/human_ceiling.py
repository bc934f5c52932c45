"""The human ceiling: how well one annotator follows the others."""

from collections.abc import Sequence

import numpy as np

from fcconan.score.correlation_levels import evaluate
from fcconan.score.score_table import ScoreTable, parts


def human_ceilings(
    table: ScoreTable, level: str, coefficients: Sequence[str]
) -> dict[tuple[str, str], tuple[float | None, int]]:
    """Correlates each annotator with the mean of the others, and averages over annotators.

    Args:
        table: The values; without `annotators` the result is empty.
        level: One of `LEVELS`.
        coefficients: From `fcconan.score.coefficients`.

    Returns:
        By aspect and coefficient, the ceiling (None where no annotator has one) and the rows it rests on.
    """
    if table.annotators is None:
        return {}
    there = np.isfinite(table.annotators)
    total, number = np.where(there, table.annotators, 0.0).sum(axis=0), there.sum(axis=0)
    collected: dict[tuple[str, str], list[float]] = {}
    rows: dict[tuple[str, str], int] = {}
    for ratings, given in zip(table.annotators, there, strict=True):
        others = number - given
        mean = np.divide(
            total - np.where(given, ratings, 0.0), others, out=np.full(total.shape, np.nan), where=others > 0
        )
        for part in parts(table, ratings, mean, [(aspect, aspect) for aspect in range(len(table.aspects))]):
            values = evaluate(level, part, coefficients).values()
            for name in coefficients:
                for (_, aspect), value in zip(part.pairs, values[name], strict=True):
                    key = table.aspects[aspect], name
                    collected.setdefault(key, [])
                    if np.isfinite(value):
                        collected[key].append(float(value))
                        rows[key] = rows.get(key, 0) + len(part.rows)
    return {key: (float(np.mean(each)) if each else None, rows.get(key, 0)) for key, each in collected.items()}
