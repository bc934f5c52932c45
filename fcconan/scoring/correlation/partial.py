"""Correlation of metrics with people given the length of the reply."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats
from fcconan.scoring.correlation.analysis import DEFAULT_COEFFICIENTS, Correlation, in_order, level_rows
from fcconan.scoring.correlation.levels import (
    LEVELS,
    PER_ITEM,
    PER_SYSTEM,
    SYSTEM_MEANS,
    at_level,
    evaluate,
)
from fcconan.scoring.names import check_names
from fcconan.scoring.score_table import ScoreTable, complete_rows

ROUNDING = 1e-10  # tolerance for a coefficient of 1
FEWEST = 4  # rows, or systems, that a partial correlation needs


def partial_correlations(
    table: ScoreTable,
    *,
    levels: Sequence[str] = LEVELS,
    coefficients: Sequence[str] = DEFAULT_COEFFICIENTS,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Correlation]:
    """Correlates metrics with people given the length of the reply, from the three coefficients within each group.

    The formula (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2)) is the same for Pearson, Spearman and Kendall
    (1942). If the length determines the metric or people, the group counts as constant.

    Args:
        table: The values; without `lengths` there are no rows.
        levels: Levels, from `LEVELS`.
        coefficients: `pearson`, `spearman`, `kendall_b`.
        resamples: Number of resamples; 0 for no intervals.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.

    Returns:
        Rows like those of `correlate`; the coefficient's name ends with `_given_length`.

    Raises:
        InputError: A level is unknown, or none of the coefficients is one of these.
    """
    names = [name for name in dict.fromkeys(coefficients) if name in DEFAULT_COEFFICIENTS]
    if not names:
        raise InputError(f"partial correlations need one of {', '.join(DEFAULT_COEFFICIENTS)}: add one of them")
    if table.lengths is None:
        return []
    found = []
    last_x, last_y = len(table.metrics), len(table.aspects)
    for level in check_names("level", levels, LEVELS):
        known = at_level(table, level)
        x, y = (np.concatenate([each, table.lengths[None]]) for each in (known.metric_values, known.human_values))
        for metric, aspect in table.pairs:
            complete = np.isfinite(x[metric]) & np.isfinite(y[aspect]) & np.isfinite(table.lengths)
            there = _in_large_groups(table, level, complete)
            left_out = int((complete & ~there).sum())
            own_x, own_y = (np.where(there, each, np.nan) for each in (x, y))
            triple = [(metric, aspect), (metric, last_y), (last_x, aspect)]
            for part in complete_rows(table, own_x, own_y, triple):
                values = evaluate(level, part, names, _partial_coefficient)
                pair = [(metric, aspect)]
                rows = level_rows(table, level, part, values, pair, resamples, seed, confidence, left_out)
                found += [replace(row, coefficient=f"{row.coefficient}_given_length", chance=0.0) for _, row in rows]
    return in_order(found, table, [f"{name}_given_length" for name in names])


def _in_large_groups(table: ScoreTable, level: str, there: Flags) -> Flags:
    """Leaves out groups of fewer than `FEWEST` rows: the partial correlation of three points is always 1 or -1."""
    if level in (PER_ITEM, PER_SYSTEM):
        group = table.item if level == PER_ITEM else table.system
        return there & (np.bincount(group[there], minlength=int(group.max()) + 1)[group] >= FEWEST)
    number = len(np.unique(table.system[there])) if level == SYSTEM_MEANS else int(there.sum())
    return there & (number >= FEWEST)


def _partial_coefficient(values: Floats) -> Floats:
    """Computes the partial correlation from three coefficients; shape (3, ...) to (1, ...)."""
    both, metric, people = values
    left_x, left_y = 1 - metric**2, 1 - people**2
    there = (left_x > ROUNDING) & (left_y > ROUNDING)
    norm = np.sqrt(np.where(there, left_x, 1.0)) * np.sqrt(np.where(there, left_y, 1.0))
    return np.clip(np.where(there, (both - metric * people) / norm, np.nan), -1.0, 1.0)[None]
