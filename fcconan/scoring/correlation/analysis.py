"""Correlations of metrics with people: coefficients with intervals, chance levels and the human ceiling."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.scoring.correlation.coefficients import (
    ACCURACY,
    CALIBRATED,
    COEFFICIENTS,
    KENDALL_B,
    PEARSON,
    SPEARMAN,
)
from fcconan.scoring.correlation.levels import (
    LEVELS,
    PER_ITEM,
    SYSTEM_MEANS,
    LevelValues,
    accuracy_chance,
    at_level,
    evaluate,
)
from fcconan.scoring.intervals import finite, percentile_interval, safe_divide
from fcconan.scoring.names import bootstrap_parts, check_names, join_parts
from fcconan.scoring.score_table import CompleteRows, ScoreTable, complete_rows

FEWEST = 3  # rows that an annotator needs to count: the correlation of two rows is always 1 or -1


@dataclass(frozen=True)
class Ceiling:
    """A human ceiling with its numbers of rows and annotators.

    Attributes:
        value: Mean over annotators, each weighted by the rows shared with others; None where no annotator counts.
        n: Number of these rows, summed over the annotators that count.
        n_annotators: Number of annotators that count.
    """

    value: float | None
    n: int
    n_annotators: int


NONE = Ceiling(None, 0, 0)


def weighted_ceiling(values: Sequence[float], rows: Sequence[int]) -> Ceiling:
    """Averages annotators' values, weighted by their numbers of rows; nan and fewer than 3 rows do not count."""
    valid = [(value, n) for value, n in zip(values, rows, strict=True) if n >= FEWEST and np.isfinite(value)]
    if not valid:
        return NONE
    counted, weights = zip(*valid, strict=True)
    return Ceiling(float(np.average(counted, weights=weights)), sum(weights), len(valid))


def human_ceilings(table: ScoreTable, level: str, coefficients: Sequence[str]) -> dict[tuple[str, str], Ceiling]:
    """Correlates each annotator with the mean of the others, and averages over annotators by their rows.

    Args:
        table: The values; without `annotators` the result is empty.
        level: One of `LEVELS`.
        coefficients: Coefficients, from `fcconan.scoring.correlation.coefficients`.

    Returns:
        The ceiling by aspect and coefficient.
    """
    if table.annotators is None:
        return {}
    there = np.isfinite(table.annotators)
    total, number = np.where(there, table.annotators, 0.0).sum(axis=0), there.sum(axis=0)
    collected: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for ratings, given in zip(table.annotators, there, strict=True):
        mean = safe_divide(total - np.where(given, ratings, 0.0), number - given)
        for part in complete_rows(table, ratings, mean, [(aspect, aspect) for aspect in range(len(table.aspects))]):
            values = evaluate(level, part, coefficients).values()
            for name in coefficients:
                for (_, aspect), value in zip(part.pairs, values[name], strict=True):
                    collected.setdefault((table.aspects[aspect], name), []).append((float(value), len(part.rows)))
    return {key: weighted_ceiling(*zip(*each, strict=True)) for key, each in collected.items()}


DEFAULT_COEFFICIENTS = (PEARSON, SPEARMAN, KENDALL_B)


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """A coefficient of a metric with people.

    Attributes:
        metric: The metric.
        aspect: Aspect that people rated.
        level: One of `LEVELS`.
        coefficient: Name of the coefficient.
        value: The coefficient, or the mean over groups; None where it is undefined.
        low: Lower end of the interval. None without a value, with rows of fewer than two items (for `per_item`: fewer
            than two items with a value), and if no resample has a value.
        high: Upper end of the interval.
        n: Number of rows with both values in large enough groups. `n`, `n_rows_too_few` and `n_missing` add up to the
            number of all rows.
        n_groups: Number of groups in the mean; for `system_means`, the number of systems; 1 for `pooled`.
        n_constant: Number of groups of two rows or more without a coefficient, because the metric or people are
            constant in them.
        n_too_few: Number of groups with fewer than two rows; for `system_means`, 1 if there are
            that few systems.
        n_rows_too_few: Number of rows with both values in such groups.
        n_missing: Number of rows that lack the metric's value or people's.
        n_missing_metric: Number of these rows that people rated.
        n_undefined_resamples: Number of resamples without a value, which the interval leaves out.
        chance: Expected value for randomly permuted values: 0, or the pairwise accuracy within the groups. None for the
            calibrated accuracy: its threshold would be fitted to every permutation, which has no closed form, and the
            accuracy by chance under the fixed threshold is too low.
        ceiling: Mean over annotators of the coefficient of one annotator with the mean of the others, weighted by the
            rows of each; None without two annotators who share 3 rows.
        n_ceiling: Number of rows behind the ceiling, summed over annotators.
        n_annotators: Number of annotators behind the ceiling.
        threshold: Tie threshold of the calibrated accuracy.
        reason: Reason of a missing value: `no_rows`, `too_few` or `constant`.
    """

    metric: str
    aspect: str
    level: str
    coefficient: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_groups: int
    n_constant: int
    n_too_few: int
    n_rows_too_few: int
    n_missing: int
    n_missing_metric: int
    n_undefined_resamples: int
    chance: float | None = None
    ceiling: float | None = None
    n_ceiling: int = 0
    n_annotators: int = 0
    threshold: float | None
    reason: str | None


def correlate(
    table: ScoreTable,
    *,
    levels: Sequence[str] = LEVELS,
    coefficients: Sequence[str] = DEFAULT_COEFFICIENTS,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Correlation]:
    """Correlates every metric with every aspect.

    Intervals are percentile intervals over resampled items, each with all its systems; all pairs share the resamples.
    The threshold of the calibrated accuracy is fitted once, to the data, and is the same in all resamples.

    Args:
        table: The values.
        levels: Levels, from `LEVELS`.
        coefficients: Coefficients, from `fcconan.scoring.correlation.coefficients.COEFFICIENTS`.
        resamples: Number of resamples; 0 for no intervals.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.

    Returns:
        Rows by level, coefficient, aspect and metric.

    Raises:
        InputError: A level or a coefficient is unknown.
    """
    names, found = check_names("coefficient", coefficients, COEFFICIENTS), []
    for level in check_names("level", levels, LEVELS):
        own = at_level(table, level)
        ceilings = human_ceilings(own, level, names)
        for part in complete_rows(own, own.metric_values, own.human_values, own.pairs):
            values = evaluate(level, part, names)
            for position, row in _level_rows(own, level, part, values, resamples, seed, confidence):
                ceiling = ceilings.get((row.aspect, row.coefficient), NONE)
                row = replace(row, ceiling=ceiling.value, n_ceiling=ceiling.n, n_annotators=ceiling.n_annotators)
                found.append(replace(row, chance=_chance(level, part, position, row.coefficient)))
    return _in_order(found, table, names)


def correlation_signature(
    table: ScoreTable, *, population: str = "", resamples: int = 10_000, seed: int = 0, confidence: float = 0.95
) -> str:
    """Returns the signature of `correlate`, which names everything that changes its values.

    Args:
        table: The values; the signature has a hash of them.
        population: Source of the rows, as the signature names it.
        resamples: See `correlate`.
        seed: See `correlate`.
        confidence: See `correlate`.
    """
    return join_parts(data_parts(table, population) | bootstrap_parts(resamples, seed, confidence))


def data_parts(table: ScoreTable, population: str) -> dict[str, object]:
    """Returns the parts of a signature that name the version and the values."""
    import fcconan

    digest = hashlib.sha256(json.dumps([table.metrics, table.aspects, table.about]).encode())
    for values in (table.metric_values, table.human_values, table.annotators):
        digest.update(b"none" if values is None else np.ascontiguousarray(values, dtype="<f8").tobytes())
    digest.update(json.dumps([table.item.tolist(), table.system.tolist()]).encode())
    return {
        "fcconan": fcconan.__version__,
        "data": f"{population + '-' if population else ''}{digest.hexdigest()[:12]}",
        "rows": len(table.items),
        "items": len(table.item_names),
        "systems": len(table.system_names),
        "missing": "left-out",
    }


def _level_rows(
    table: ScoreTable,
    level: str,
    part: CompleteRows,
    values: LevelValues,
    resamples: int,
    seed: int,
    confidence: float,
) -> Iterator[tuple[int, Correlation]]:
    """Yields positions and rows of a level, without chance and ceiling.

    Args:
        table: The whole table.
        level: One of `LEVELS`.
        part: Rows behind the values.
        values: Values of the level on these rows.
        resamples: Number of resamples; 0 for no intervals.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.
    """
    n_items = len(np.unique(part.item))
    draws = values.resample(resamples, seed) if resamples and n_items > 1 else {}
    observed = values.values()
    n_there = len(part.rows)
    for name, groups in values.groups.items():
        ends = percentile_interval(draws[name].T, confidence) if name in draws else None
        for position, (metric, aspect) in enumerate(part.pairs):
            value = finite(observed[name][position])
            defined = int(np.isfinite(groups[position]).sum())
            constant = groups.shape[1] - defined
            rated = int(np.isfinite(table.human_values[aspect]).sum())
            reason = None
            if value is None:
                reason = "no_rows" if n_there == 0 else "constant" if constant else "too_few"
            # All resamples of a single item are equal: the interval would have no width.
            resampled = ends is not None and value is not None and (defined if level == PER_ITEM else n_items) > 1
            low, high = (finite(end[position]) for end in ends) if ends and resampled else (None, None)
            yield (
                position,
                Correlation(
                    metric=table.metrics[metric],
                    aspect=table.aspects[aspect],
                    level=level,
                    coefficient=name,
                    value=value,
                    low=low,
                    high=high,
                    n=len(part.rows) - values.n_rows_too_few,
                    n_groups=len(np.unique(part.system)) if level == SYSTEM_MEANS and defined else defined,
                    n_constant=constant,
                    n_too_few=values.n_too_few,
                    n_rows_too_few=values.n_rows_too_few,
                    n_missing=len(table.items) - n_there,
                    n_missing_metric=rated - n_there,
                    n_undefined_resamples=int(np.isnan(draws[name][position]).sum()) if resampled else 0,
                    threshold=values.thresholds[position] if name == CALIBRATED and value is not None else None,
                    reason=reason,
                ),
            )


def _chance(level: str, part: CompleteRows, position: int, coefficient: str) -> float | None:
    if coefficient == CALIBRATED:
        return None
    return finite(accuracy_chance(level, part, part.pairs[position])) if coefficient == ACCURACY else 0.0


def _in_order(rows: list[Correlation], table: ScoreTable, coefficients: Sequence[str]) -> list[Correlation]:
    """Sorts rows by level, coefficient, aspect and metric, each in the order of the arguments."""
    return sorted(
        rows,
        key=lambda row: (
            LEVELS.index(row.level),
            coefficients.index(row.coefficient),
            table.aspects.index(row.aspect),
            table.metrics.index(row.metric),
        ),
    )
