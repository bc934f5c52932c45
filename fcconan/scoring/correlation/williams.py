"""Williams' test of the difference between two correlations with the same variable."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fcconan.scoring.arrays import Floats
from fcconan.scoring.correlation.analysis import data_parts
from fcconan.scoring.correlation.coefficients import PEARSON, SPEARMAN
from fcconan.scoring.correlation.levels import POOLED, SYSTEM_MEANS, at_level, evaluate
from fcconan.scoring.correlation.metric_tests import (
    BY,
    MetricTest,
    compared_pairs,
    members_of_families,
    metric_families,
)
from fcconan.scoring.names import check_names, join_parts
from fcconan.scoring.score_table import ScoreTable, complete_rows
from fcconan.scoring.significance.families import family_parts
from fcconan.scoring.significance.intervals import holm

WILLIAMS = "williams"
HOLM = "holm"
WILLIAMS_LEVELS = (POOLED, SYSTEM_MEANS)
WILLIAMS_COEFFICIENTS = (PEARSON, SPEARMAN)
ROUNDING = 1e-12  # tolerance for a correlation of 1 and a denominator of 0


def williams_test(r_a: Floats, r_b: Floats, r_ab: Floats, n: int) -> tuple[Floats, Floats]:
    """Tests the difference of two correlations that share a variable (Williams, 1959; Steiger, 1980, equation 7).

    Args:
        r_a: Correlation of the first metric with people.
        r_b: Correlation of the second metric with people.
        r_ab: Correlation of the two metrics.
        n: Number of independent observations.

    Returns:
        t with n - 3 degrees of freedom, and the two-sided p. They are 0 and 1 if the metrics correlate by 1; nan with n
        below 4 or where the three correlations are otherwise degenerate.
    """
    from scipy.stats import t as student

    r_a, r_b, r_ab = (np.asarray(each, dtype=np.float64) for each in (r_a, r_b, r_ab))
    if n < 4:
        return np.full(r_a.shape, np.nan), np.full(r_a.shape, np.nan)
    determinant = 1 - r_a**2 - r_b**2 - r_ab**2 + 2 * r_a * r_b * r_ab
    below = 2 * determinant * (n - 1) / (n - 3) + (r_a + r_b) ** 2 / 4 * (1 - r_ab) ** 3
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (r_a - r_b) * np.sqrt((n - 1) * (1 + r_ab) / np.where(below > ROUNDING, below, np.nan))
    found = np.where((r_ab >= 1 - ROUNDING) & (np.abs(r_a - r_b) <= ROUNDING), 0.0, found)
    return found, 2 * student.sf(np.abs(found), n - 3)


def williams_tests(
    table: ScoreTable,
    *,
    levels: Sequence[str] = (POOLED,),
    coefficients: Sequence[str] = WILLIAMS_COEFFICIENTS,
) -> list[MetricTest]:
    """Compares all pairs of metrics for every aspect by Williams' test.

    The test assumes independent observations. Replies to one HS are dependent; PERM-INPUT takes this into account.

    Args:
        table: The values.
        levels: Levels: `pooled` (observations are rows) or `system_means` (observations are systems).
        coefficients: `pearson`, for which the test was derived, or `spearman`, for which it is an approximation.

    Raises:
        InputError: A level or a coefficient is unknown.
    """
    check_names("level", levels, WILLIAMS_LEVELS)
    check_names("coefficient", coefficients, WILLIAMS_COEFFICIENTS)
    rows = []
    whole = table
    for level in levels:
        table = at_level(whole, level)
        for (first, second), aspects in compared_pairs(table).items():
            for aspect in aspects:
                three = np.stack([*table.metric_values[[first, second]], table.human_values[aspect]])
                three[:, ~np.isfinite(three).all(axis=0)] = np.nan
                (part,) = complete_rows(table, three[:2], three[[2, 1]], [(0, 0), (1, 0), (0, 1)])
                n = len(part.rows) if level == POOLED else len(np.unique(part.system))
                for name, values in evaluate(level, part, coefficients).values().items():
                    p = float(williams_test(values[0], values[1], values[2], n)[1])
                    defined = bool(np.isfinite(values[:2]).all())
                    rows.append(
                        MetricTest(
                            a=table.metrics[first],
                            b=table.metrics[second],
                            aspect=table.aspects[aspect],
                            level=level,
                            coefficient=name,
                            test=WILLIAMS,
                            difference=float(values[0] - values[1]) if defined else None,
                            p=p if np.isfinite(p) else None,
                            n=len(part.rows),
                            reason=None if np.isfinite(p) else _williams_reason(len(part.rows), n, defined),
                        )
                    )
    return _holm_corrected(rows)


def _holm_corrected(rows: list[MetricTest]) -> list[MetricTest]:
    """Corrects p values within families by Holm's method: analytic tests have no resamples for max-T."""
    corrected = list(rows)
    for members in members_of_families(rows).values():
        p_values = np.array([np.nan if rows[each].p is None else rows[each].p for each in members], dtype=np.float64)
        for each, value in zip(members, holm(p_values), strict=True):
            corrected[each] = replace(rows[each], p_corrected=float(value) if np.isfinite(value) else None)
    return corrected


def williams_signature(table: ScoreTable, tests: Sequence[MetricTest], *, population: str = "") -> str:
    """Returns the signature of `williams_tests`, which names everything that changes its values.

    Args:
        table: The values; the signature has a hash of them.
        tests: Result of `williams_tests`.
        population: Source of the rows, as the signature names it.
    """
    parts = {**data_parts(table, population), "test": WILLIAMS, "sides": 2}
    return join_parts(parts | family_parts(metric_families(tests, HOLM), BY))


def _williams_reason(n_rows: int, n_observations: int, defined: bool) -> str:
    if n_rows == 0 or n_observations < 4:
        return "no_rows" if n_rows == 0 else "too_few"
    return "degenerate" if defined else "constant"
