"""Agreement of raters with people by level, round and system, on clean and doubtful rows, with tests of differences.

The item of the level `per_item` is the HS. Other levels are resampled by leakage group of HS. Pearson and Kendall, and
values by round or system, have no intervals.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from fcconan.data import UNKNOWN
from fcconan.judging.benchmark.predictions import CurvePoint, HeldOut, RaterValues
from fcconan.judging.benchmark.rated_rows import BenchmarkRows
from fcconan.judging.learned.rated_texts import Floats
from fcconan.judging.learned.regression import Flags
from fcconan.scoring import (
    DEFAULT_COEFFICIENTS,
    LEVELS,
    PER_ITEM,
    POOLED,
    SPEARMAN,
    ScoreTable,
    correlate,
    difference_interval,
    permutation_families,
    permutation_tests,
)

Row = dict[str, Any]
FURTHER = tuple(name for name in DEFAULT_COEFFICIENTS if name != SPEARMAN)
CLEAN, DOUBTFUL = "clean", "doubtful"
ALL = "all"


def score_table(
    rows: BenchmarkRows, judged: Sequence[RaterValues], chosen: Flags, *, by_item: bool = False
) -> ScoreTable:
    """Returns the ratings of raters and people for some rows.

    Args:
        rows: Rows of the benchmark.
        judged: Ratings of the raters.
        chosen: Whether each row is included, shape (n,).
        by_item: Whether items are HS; otherwise they are leakage groups of HS.
    """
    table = rows.table.take(chosen)
    places = np.flatnonzero(chosen).tolist()
    names = tuple(aspect.name for aspect in table.aspects)
    return ScoreTable(
        metrics=tuple(each.name for each in judged for _ in names),
        aspects=names,
        metric_values=np.concatenate([each.values[places].T for each in judged]),
        human_values=table.ratings.T,
        items=[rows.messages[place] for place in places] if by_item else table.groups.tolist(),
        systems=table.systems,
        annotators=None if rows.annotators is None else rows.annotators[..., places],
        about=tuple(name for _ in judged for name in names),
    )


def correlation_rows(
    rows: BenchmarkRows, judged: Sequence[RaterValues], *, resamples: int, seed: int, confidence: float
) -> list[Row]:
    """Returns a row for each rater, aspect, level, coefficient and part of the rows.

    Args:
        rows: Rows of the benchmark.
        judged: Ratings of the raters.
        resamples: Number of resamples of intervals; 0 for none.
        seed: Seed of the resamples.
        confidence: Confidence level of the intervals.
    """
    kinds = {each.name: each.kind for each in judged}
    found: list[Row] = []

    def add(
        evaluated: str, part: str, chosen: Flags, levels: Sequence[str], coefficients: Sequence[str], n: int
    ) -> None:
        for by_item in sorted({level == PER_ITEM for level in levels}):
            own = [level for level in levels if (level == PER_ITEM) is by_item]
            table = score_table(rows, judged, chosen, by_item=by_item)
            for row in correlate(
                table, levels=own, coefficients=coefficients, resamples=n, seed=seed, confidence=confidence
            ):
                name = {"rater": row.metric, "kind": kinds[row.metric], "evaluated": evaluated, "part": part}
                kept = "aspect level coefficient value low high n n_groups n_missing ceiling n_ceiling reason".split()
                values = asdict(row)
                found.append(name | {key: values[key] for key in kept})

    for evaluated, chosen in ((CLEAN, rows.clean), (DOUBTFUL, ~rows.clean)):
        if chosen.sum() < 2:
            continue
        add(evaluated, ALL, chosen, LEVELS, (SPEARMAN,), resamples)
        add(evaluated, ALL, chosen, LEVELS, FURTHER, 0)
        for by, keys in (("round", rows.table.rounds), ("system", rows.table.systems)):
            named = np.array(keys)
            known = [key for key in dict.fromkeys(named[chosen].tolist()) if key != UNKNOWN or by == "system"]
            for key in known if len(set(named[chosen].tolist())) > 1 else ():
                if (own := chosen & (named == key)).sum() > 1:
                    add(evaluated, f"{by} {key}", own, (POOLED,), (SPEARMAN,), 0)
    return found


def difference_rows(
    rows: BenchmarkRows, judged: Sequence[RaterValues], *, resamples: int, swaps: int, seed: int, confidence: float
) -> tuple[list[Row], list[Row]]:
    """Tests all pairs of raters on the clean rows by random swaps of leakage groups; pooled Spearman.

    Args:
        rows: Rows of the benchmark.
        judged: Ratings of the raters to compare.
        resamples: Number of resamples of the intervals of differences; 0 for none.
        swaps: Number of random swaps of the tests.
        seed: Seed of resamples and swaps.
        confidence: Confidence level of the intervals.

    Returns:
        The tests, and their families: all pairs of raters for an aspect.
    """
    if len(judged) < 2 or not swaps:
        return [], []
    table = score_table(rows, judged, rows.clean)
    tests = permutation_tests(table, levels=(POOLED,), coefficients=(SPEARMAN,), swaps=swaps, seed=seed, unit="item")
    place = {pair: at for at, pair in enumerate(zip(table.metrics, table.aspect_of, strict=True))}
    found = []
    for test in tests:
        low, high = difference_interval(
            table,
            place[test.a, test.aspect],
            place[test.b, test.aspect],
            table.aspects.index(test.aspect),
            resamples=resamples,
            seed=seed,
            confidence=confidence,
        )
        found.append(asdict(test) | {"low": low, "high": high, "family": test.family})
    return found, [family.to_json() for family in permutation_families(tests, swaps=swaps)]


def people_rows(rows: BenchmarkRows, judged: Sequence[RaterValues]) -> list[Row]:
    """Compares each rater, and each person in turn, with the mean of the other people.

    The pooled Spearman on the clean rows is averaged over people, weighted by their number of rows with other ratings.

    Returns:
        A row for each rater and aspect; none if only the mean of people is known.
    """
    if rows.annotators is None:
        return []
    names = [aspect.name for aspect in rows.table.aspects]
    collected: dict[tuple[str, str], list[tuple[float, float, int]]] = {}
    for person, own in enumerate(rows.annotators):
        others = np.delete(rows.annotators, person, axis=0)
        number = np.isfinite(others).sum(axis=0)
        mean = np.where(number > 0, np.nansum(others, axis=0) / np.maximum(number, 1), np.nan)
        mean[~np.isfinite(own)] = np.nan
        apart = replace(rows, table=replace(rows.table, ratings=mean.T), annotators=None)
        table = score_table(apart, [*judged, RaterValues("", "people", own.T)], rows.clean)
        found = correlate(table, levels=(POOLED,), coefficients=(SPEARMAN,), resamples=0)
        person_values = {row.aspect: row.value for row in found if not row.metric}
        for row in found:
            one = person_values[row.aspect]
            if row.metric and row.value is not None and one is not None:
                collected.setdefault((row.metric, row.aspect), []).append((row.value, one, row.n))
    found_rows = []
    for each in judged:
        for name in names:
            values, ones, counts = zip(*collected.get((each.name, name), [(np.nan, np.nan, 1)]), strict=True)
            value, one_person = (np.average(own, weights=counts) for own in (values, ones))
            if np.isfinite(value):
                found_rows.append(
                    {"rater": each.name, "kind": each.kind, "aspect": name, "value": float(value)}
                    | {"one_person": float(one_person), "n": int(sum(counts))}
                )
    return found_rows


def curve_rows(rows: BenchmarkRows, points: Iterable[CurvePoint]) -> list[Row]:
    """Returns the mean over seeds of the pooled Spearman on the clean rows, by rater, number of labels and aspect."""
    collected: dict[tuple[str, int, str], list[float | None]] = {}
    for point in points:
        for aspect, value, _ in _pooled(rows, point.values, rows.clean):
            collected.setdefault((point.rater, point.labels, aspect), []).append(value)
    found = []
    for (rater, labels, aspect), values in collected.items():
        there = [value for value in values if value is not None]
        found.append(
            {
                "rater": rater,
                "labels": labels,
                "aspect": aspect,
                "mean": float(np.mean(there)) if there else None,
                "lowest": min(there, default=None),
                "highest": max(there, default=None),
                "n_trials": len(there),
            }
        )
    return found


def held_out_rows(rows: BenchmarkRows, judged: Sequence[RaterValues], held_out: Iterable[HeldOut]) -> list[Row]:
    """Returns the pooled Spearman on held-out systems and rounds, and that of the usual folds on the same rows.

    Args:
        rows: Rows of the benchmark.
        judged: Ratings of the raters with the usual folds.
        held_out: Predictions of models that did not learn from the system or round.
    """
    usual = {each.name: each.values for each in judged}
    found = []
    for each in held_out:
        own = np.asarray(np.isfinite(each.values).any(axis=1))
        usual_folds = _pooled(rows, usual[each.rater], own)
        for (aspect, value, n), (_, in_folds, _) in zip(_pooled(rows, each.values, own), usual_folds, strict=True):
            found.append(
                {"rater": each.rater, "held_out": each.by, "name": each.name, "aspect": aspect}
                | {"value": value, "value_in_folds": in_folds, "n": n}
            )
    return found


def _pooled(rows: BenchmarkRows, values: Floats, chosen: Flags) -> list[tuple[str, float | None, int]]:
    """Returns name, pooled Spearman and number of rows of each aspect."""
    table = score_table(rows, [RaterValues("rater", "learned", values)], chosen)
    found = correlate(table, levels=(POOLED,), coefficients=(SPEARMAN,), resamples=0)
    return [(row.aspect, row.value, row.n) for row in found]
