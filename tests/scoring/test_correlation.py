import math
import re
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from fcconan.errors import InputError
from fcconan.scoring.correlation.analysis import (
    Ceiling,
    Correlation,
    correlate,
    correlation_signature,
    weighted_ceiling,
)
from fcconan.scoring.correlation.coefficients import (
    ACCURACY,
    CALIBRATED,
    KENDALL_B,
    PEARSON,
    SPEARMAN,
    calibrated_threshold,
)
from fcconan.scoring.correlation.levels import (
    LEVELS,
    PER_ITEM,
    PER_SYSTEM,
    POOLED,
    SYSTEM_MEANS,
    UNKNOWN,
    at_level,
    group_of,
)
from fcconan.scoring.correlation.stability import stability
from fcconan.scoring.intervals import draws, percentile_interval
from fcconan.scoring.score_table import ScoreTable

Floats = npt.NDArray[np.float64]
nan = math.nan

SCIPY: dict[str, Callable[[Floats, Floats], float]] = {
    PEARSON: lambda x, y: stats.pearsonr(x, y)[0],
    SPEARMAN: lambda x, y: stats.spearmanr(x, y)[0],
    KENDALL_B: lambda x, y: stats.kendalltau(x, y)[0],
}


def _table(seed: int = 0, *, missing: float = 0.15, items: int = 9) -> ScoreTable:
    generator = np.random.default_rng(seed)
    rows = items * 4
    people = generator.integers(1, 5, size=(2, rows)).astype(np.float64)
    metrics = np.stack([generator.random(rows) + people[0] / 4, generator.integers(3, size=rows).astype(np.float64)])
    for values in (people, metrics):
        values[generator.random(values.shape) < missing] = nan
    return ScoreTable(
        ("Ombrey score", "Tessok judge"),
        ("relevance", "coherence"),
        metrics,
        people,
        [f"item {row // 4}" for row in range(rows)],
        [f"system {row % 4}" for row in range(rows)],
    )


def _brute(level: str, name: str, x: Floats, y: Floats, item: npt.NDArray[Any], system: npt.NDArray[Any]) -> float:
    """The level's value by scipy; resampled items are different groups."""
    if level == POOLED:
        groups = [np.arange(len(x))]
    elif level == SYSTEM_MEANS:
        digits = 15 if name == PEARSON else 12  # equal means may differ in their last digit, which ranks would see
        means = [[values[system == each].mean().round(digits) for each in np.unique(system)] for values in (x, y)]
        x, y = (np.array(each) for each in means)
        groups = [np.arange(len(x))]
    else:
        group = item if level == PER_ITEM else system
        groups = [np.flatnonzero(group == each) for each in np.unique(group)]
    found = [
        SCIPY[name](x[rows], y[rows])
        for rows in groups
        if len(rows) > 1 and np.ptp(x[rows]) > 0 and np.ptp(y[rows]) > 0
    ]
    return float(np.mean(found)) if found else nan


def _by_key(rows: list[Correlation]) -> dict[tuple[str, str, str, str], Correlation]:
    return {(row.level, row.coefficient, row.metric, row.aspect): row for row in rows}


@pytest.mark.parametrize("level", LEVELS)
def test_values_and_intervals_equal_scipy_on_resampled_rows(level: str) -> None:
    table, resamples = _table(), 25
    weights = np.concatenate(list(draws(9, resamples, 4))).astype(np.int64)
    rows = correlate(table, levels=[level], resamples=resamples, seed=4)
    assert len(rows) == 3 * 2 * 2
    for row in rows:
        x = table.metric_values[table.metrics.index(row.metric)]
        y = table.human_values[table.aspects.index(row.aspect)]
        there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        expected = _brute(level, row.coefficient, x[there], y[there], table.item[there], table.system[there])
        assert row.value == pytest.approx(expected, abs=1e-12)
        sizes = np.bincount(table.item[there] if level == PER_ITEM else table.system[there])
        alone = int((sizes == 1).sum()) if level in (PER_ITEM, PER_SYSTEM) else 0
        assert (row.n, row.n_rows_too_few, row.n_missing) == (len(there) - alone, alone, 36 - len(there))
        assert row.n_missing_metric == int((np.isnan(x) & np.isfinite(y)).sum()) > 0
        resampled = []
        for counts in weights:
            # A resampled item is a group of its own each time it is drawn.
            copies = [(place, copy) for place in there for copy in range(counts[table.item[place]])]
            drawn = np.array([place for place, _ in copies], dtype=np.int64)
            item = np.array([table.item[place] * 100 + copy for place, copy in copies])
            resampled.append(_brute(level, row.coefficient, x[drawn], y[drawn], item, table.system[drawn]))
        low, high = percentile_interval(np.array(resampled)[:, None])
        assert row.low == pytest.approx(low[0], abs=1e-12)
        assert row.high == pytest.approx(high[0], abs=1e-12)
        assert row.n_undefined_resamples == int(np.isnan(resampled).sum())


def test_groups_are_counted() -> None:
    # Items: 0 has a value, 1 is constant in people, 2 in the metric, 3 has one row left, 4 none.
    people = np.array([[1, 2, 3, 3, 1, 2, 4, 5, 1, 2]], dtype=np.float64)
    metric = np.array([[0.1, 0.3, 0.5, 0.7, 0.9, 0.9, 0.2, nan, nan, nan]])
    table = ScoreTable(("m",), ("a",), metric, people, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 1] * 5)
    (row,) = correlate(table, levels=[PER_ITEM], coefficients=[SPEARMAN], resamples=0)
    assert row.value == pytest.approx(1.0)
    assert (row.low, row.high, row.reason) == (None, None, None)
    assert (row.n, row.n_groups, row.n_constant, row.n_too_few, row.n_missing) == (6, 1, 2, 2, 3)
    assert row.n + row.n_rows_too_few + row.n_missing == 10
    (row,) = correlate(table, levels=[PER_ITEM], coefficients=[ACCURACY], resamples=0)
    # 1 for the first item; the constant ones tie a pair that the other does not: 0.
    assert row.value == pytest.approx(1 / 3)
    assert (row.n_groups, row.n_constant) == (3, 0)
    # By chance an untied pair is ordered alike half the time, and a tied one never meets another tied one.
    assert row.chance == pytest.approx((0.5 + 0 + 0) / 3)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "metric, people, reason",
    [
        ([nan, nan, nan, nan], [1, 2, 3, 4], "no_rows"),
        ([0.5, 0.5, 0.5, 0.5], [1, 2, 3, 4], "constant"),
        ([0.1, 0.2, 0.3, 0.4], [3, 3, 3, 3], "constant"),
        ([0.1, nan, nan, nan], [1, 2, 3, 4], "too_few"),
    ],
)
def test_undefined_values_are_missing_with_a_reason(
    level: str, metric: list[float], people: list[float], reason: str
) -> None:
    table = ScoreTable(("m",), ("a",), np.array([metric]), np.array([people], float), [0, 0, 1, 1], [0, 1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = correlate(table, levels=[level], resamples=50)
    assert [row.coefficient for row in rows] == [PEARSON, SPEARMAN, KENDALL_B]
    for row in rows:
        assert (row.value, row.low, row.high, row.reason, row.n_groups) == (None, None, None, reason, 0)


def test_no_rows_at_all() -> None:
    table = ScoreTable(("m",), ("a",), np.zeros((1, 0)), np.zeros((1, 0)), [], [])
    rows = correlate(table, coefficients=[PEARSON, CALIBRATED], resamples=10)
    assert {(row.value, row.reason, row.n) for row in rows} == {(None, "no_rows", 0)}


def test_one_item_has_no_interval_and_one_system_no_system_means() -> None:
    values = np.array([[1.0, 2.0, 4.0, 3.0]])
    table = ScoreTable(("m",), ("a",), values, np.array([[1.0, 2.0, 3.0, 4.0]]), ["i"] * 4, ["Ostrun"] * 4)
    rows = _by_key(correlate(table, coefficients=[SPEARMAN], resamples=100))
    for level in (POOLED, PER_ITEM, PER_SYSTEM):
        row = rows[level, SPEARMAN, "m", "a"]
        assert row.value == pytest.approx(0.8)
        assert (row.low, row.high, row.n_groups) == (None, None, 1)
    row = rows[SYSTEM_MEANS, SPEARMAN, "m", "a"]
    assert (row.value, row.reason, row.n_groups, row.n_too_few) == (None, "too_few", 0, 1)
    assert (row.n, row.n_rows_too_few, row.n_missing) == (0, 4, 0)


def test_replies_of_no_known_system_are_missing_at_the_levels_of_systems() -> None:
    whole = _table(2, items=12)
    table = replace(
        whole,
        systems=[UNKNOWN if each == "system 3" else each for each in whole.systems],
        annotators=np.stack([whole.human_values, whole.human_values[::-1]]),
    )
    assert at_level(table, POOLED) is at_level(table, PER_ITEM) is table
    assert at_level(whole, PER_SYSTEM) is whole
    known = np.array([each != UNKNOWN for each in table.systems])
    for level in (PER_SYSTEM, SYSTEM_MEANS):
        own = at_level(table, level)
        np.testing.assert_array_equal(own.human_values, np.where(known, table.human_values, nan))
        assert own.annotators is not None and table.annotators is not None
        np.testing.assert_array_equal(own.annotators, np.where(known, table.annotators, nan))
        np.testing.assert_array_equal(own.metric_values, table.metric_values)
        # The same figures as without these rows.
        less = ScoreTable(
            table.metrics,
            table.aspects,
            table.metric_values[:, known],
            table.human_values[:, known],
            [item for item, there in zip(table.items, known, strict=True) if there],
            [system for system in table.systems if system != UNKNOWN],
        )
        found, expected = (correlate(each, levels=[level], resamples=0) for each in (table, less))
        assert [row.value for row in found] == pytest.approx([row.value for row in expected], abs=1e-12)
        assert [row.n_missing - 12 for row in found] == [row.n_missing for row in expected]


def test_a_judge_is_compared_with_the_aspect_it_speaks_of() -> None:
    values = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]])
    people = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    table = ScoreTable(
        ("judge", "judge", "metric"), ("r", "c"), values, people, [0, 1, 2], [0, 0, 0], about=("r", "c", None)
    )
    rows = correlate(table, levels=[POOLED], coefficients=[SPEARMAN], resamples=0)
    assert [(row.metric, row.aspect) for row in rows] == [
        ("judge", "r"),
        ("metric", "r"),
        ("judge", "c"),
        ("metric", "c"),
    ]
    assert [row.value for row in rows] == pytest.approx([1.0, 0.5, -1.0, 0.5])


def test_the_ceiling_is_each_annotator_against_the_mean_of_the_others() -> None:
    generator = np.random.default_rng(2)
    ratings = generator.integers(1, 6, size=(3, 1, 20)).astype(np.float64)
    ratings[2, 0, 15:] = nan
    expected, used = [], 0
    for person in range(3):
        others = np.delete(ratings[:, 0], person, axis=0)
        there = np.isfinite(ratings[person, 0])
        mean = np.array([np.mean(column[np.isfinite(column)]) for column in others.T])
        expected.append(stats.kendalltau(ratings[person, 0, there], mean[there])[0])
        used += there.sum()
    table = ScoreTable(
        ("m",), ("a",), generator.random((1, 20)), generator.random((1, 20)), list(range(20)), [0] * 20,
        annotators=ratings,
    )  # fmt: skip
    (row,) = correlate(table, levels=[POOLED], coefficients=[KENDALL_B], resamples=0)
    assert row.ceiling == pytest.approx(np.average(expected, weights=[20, 20, 15]), abs=1e-12)
    assert (row.n_ceiling, row.n_annotators, row.chance) == (used, 3, 0.0)


def test_annotators_of_two_rows_are_no_ceiling() -> None:
    generator = np.random.default_rng(0)
    truth = generator.standard_normal(200)
    ratings = np.full((12, 1, 200), nan)
    ratings[:2, 0] = truth + generator.standard_normal((2, 200)) / 2
    for person in range(2, 12):
        ratings[person, 0, generator.choice(200, 2, replace=False)] = generator.standard_normal(2)
    table = ScoreTable(
        ("m",), ("a",), truth[None], truth[None], list(range(200)), ["Dravene"] * 200, annotators=ratings
    )
    expected = []
    for person in (0, 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nobody else rated some rows
            others = np.nanmean(np.delete(ratings[:, 0], person, axis=0), axis=0)
        expected.append(np.corrcoef(ratings[person, 0], others)[0, 1])
    (row,) = correlate(table, levels=[POOLED], coefficients=[PEARSON], resamples=0)
    assert row.ceiling == pytest.approx(np.mean(expected), abs=1e-12)
    assert row.ceiling is not None and row.ceiling > 0.7
    assert (row.n_ceiling, row.n_annotators) == (400, 2)
    only = replace(table, annotators=ratings[2:4])
    (row,) = correlate(only, levels=[POOLED], coefficients=[PEARSON], resamples=0)
    assert (row.ceiling, row.n_ceiling, row.n_annotators) == (None, 0, 0)


@pytest.mark.parametrize("scale", [2.0**-80, 1e-20, 1e-12, 1e8])
def test_system_means_do_not_depend_on_the_unit_of_the_numbers(scale: float) -> None:
    table = _table(missing=0.0)
    names = [PEARSON, SPEARMAN, KENDALL_B, ACCURACY, CALIBRATED]
    scaled = replace(table, metric_values=table.metric_values * scale)
    rows, others = (
        correlate(each, levels=[SYSTEM_MEANS], coefficients=names, resamples=40) for each in (table, scaled)
    )
    for row, other in zip(rows, others, strict=True):
        for name in ("value", "low", "high", "chance"):
            assert getattr(other, name) == pytest.approx(getattr(row, name), abs=1e-9)
        assert (row.reason, row.value is None) == (other.reason, False)


@pytest.mark.parametrize("scale", [2.0**-60, 1.0, 2.0**40])
def test_means_of_the_same_numbers_are_equal_in_whatever_order(scale: float) -> None:
    # Each of four systems has the five values in another order: the sums differ in their last digit.
    values = np.array([0.1, 0.2, 0.3, 0.7, 1.1]) * scale
    people = np.array([[values[(system + item) % 5] for item in range(5) for system in range(4)]])
    means = {float(people[0, system::4].sum() / 5) for system in range(4)}
    assert len(means) > 1
    metric = np.random.default_rng(0).random((1, 20))
    items, systems = np.repeat(np.arange(5), 4).tolist(), list(range(4)) * 5
    table = ScoreTable(("m",), ("a",), metric, people, items, systems)
    rows = correlate(table, levels=[SYSTEM_MEANS], coefficients=[PEARSON, SPEARMAN, KENDALL_B], resamples=0)
    assert [(row.value, row.reason) for row in rows] == [(None, "constant")] * 3
    # People tie every pair and the metric none: no pair is right, now and by chance.
    (row,) = correlate(table, levels=[SYSTEM_MEANS], coefficients=[ACCURACY], resamples=0)
    assert (row.value, row.chance) == (0.0, 0.0)


def test_resamples_without_an_extreme_outlier_have_a_value() -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal(200)
    y = x + generator.standard_normal(200)
    x[0], y[0] = 1e9, 1.0
    table = ScoreTable(("m",), ("a",), x[None], y[None], [f"{item:03}" for item in range(200)], [0] * 200)
    (row,) = correlate(table, levels=[POOLED], coefficients=[PEARSON], resamples=500, seed=3)
    resampled = []
    for counts in np.concatenate(list(draws(200, 500, 3))).astype(np.int64):
        drawn = np.repeat(np.arange(200), counts)
        resampled.append(np.corrcoef(x[drawn], y[drawn])[0, 1])
    low, high = percentile_interval(np.array(resampled)[:, None])
    assert row.n_undefined_resamples == 0
    assert row.low == pytest.approx(low[0], abs=1e-9)
    assert row.high == pytest.approx(high[0], abs=1e-9)
    assert high[0] > 0.6  # of those without the outlier, which are more than a third


@pytest.mark.parametrize("level", LEVELS)
def test_one_item_with_values_has_no_interval(level: str) -> None:
    generator = np.random.default_rng(0)
    people = generator.random((1, 24))
    table = ScoreTable(
        ("m",), ("a",), generator.random((1, 24)), people, np.repeat(np.arange(6), 4).tolist(), [0, 0, 1, 1] * 6
    )
    table.metric_values[0, 4:] = nan
    (row,) = correlate(table, levels=[level], coefficients=[SPEARMAN], resamples=100)
    assert row.value is not None
    assert (row.low, row.high, row.n_undefined_resamples) == (None, None, 0)
    # A second item whose values are constant has no value within the item, but counts at the other levels.
    table.metric_values[0, 4:8] = 0.5
    (row,) = correlate(table, levels=[level], coefficients=[SPEARMAN], resamples=100)
    assert (row.low is None) == (row.high is None) == (level == PER_ITEM)


def test_the_calibrated_accuracy_has_no_chance() -> None:
    rows = _by_key(correlate(_table(), levels=LEVELS, coefficients=[ACCURACY, CALIBRATED], resamples=0))
    for (_, coefficient, _, _), row in rows.items():
        assert row.value is not None
        assert (row.chance is None) == (coefficient == CALIBRATED)


def test_the_threshold_is_the_best_of_all() -> None:
    generator = np.random.default_rng(5)
    x, y = generator.random(24).round(2), generator.integers(3, size=24).astype(np.float64)
    group = np.arange(24) % 5

    def accuracy(threshold: float) -> float:
        found = []
        for each in range(5):
            own_x, own_y = x[group == each], y[group == each]
            first, second = np.triu_indices(len(own_x), k=1)
            difference = own_x[first] - own_x[second]
            judged = np.where(np.abs(difference) <= threshold, 0.0, np.sign(difference))
            found.append((judged == np.sign(own_y[first] - own_y[second])).mean())
        return float(np.mean(found))

    candidates = sorted({0.0, *np.abs(np.subtract.outer(x, x)).ravel()})
    best = max(accuracy(each) for each in candidates)
    found = calibrated_threshold(x, y, group)
    assert found == next(each for each in candidates if accuracy(each) > best - 1e-12) > 0
    table = ScoreTable(("m",), ("a",), x[None], y[None], group.tolist(), [0] * 24)
    (row,) = correlate(table, levels=[PER_ITEM], coefficients=[CALIBRATED], resamples=0)
    assert row.value == pytest.approx(best, abs=1e-12)
    assert row.threshold == found


def test_a_sample_of_the_pairs_finds_a_threshold_that_is_almost_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    y = generator.integers(3, size=400).astype(np.float64)
    x, group = y + generator.random(400), np.arange(400) % 3
    whole = calibrated_threshold(x, y, group)
    monkeypatch.setattr("fcconan.scoring.correlation.coefficients.LARGEST", 5_000)
    assert calibrated_threshold(x, y, group, seed=1) == pytest.approx(whole, abs=0.1)
    assert calibrated_threshold(x, y, group, seed=1) == calibrated_threshold(x, y, group, seed=1)


@pytest.mark.long
def test_intervals_cover_in_95_of_100_worlds() -> None:
    """2000 worlds of 150 items with 4 replies: normal values, of which the items share a part.

    Pearson's pooled value is 0.5. Kendall's within items is 2 / pi asin r with r = 0.4 / 0.8, without any bias.
    """
    generator = np.random.default_rng(8)
    worlds, items, size = 2000, 150, 4
    shared = generator.standard_normal((2, worlds, items, 1))
    own = generator.standard_normal((2, worlds, items, size))
    mixed = np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)]])
    parts = np.einsum("ab,bwij->awij", mixed, math.sqrt(0.2) * shared + math.sqrt(0.8) * own)
    x, y = parts.reshape(2, worlds, items * size)
    names = tuple(f"world {world}" for world in range(worlds))
    table = ScoreTable(
        names, names, x, y, np.repeat(np.arange(items), size).tolist(), list(range(size)) * items, about=names
    )
    for level, name, truth in ((POOLED, PEARSON, 0.5), (PER_ITEM, KENDALL_B, 2 / math.pi * math.asin(0.5))):
        rows = correlate(table, levels=[level], coefficients=[name], resamples=800, seed=1)
        inside = [row.low <= truth <= row.high for row in rows if row.low is not None and row.high is not None]
        assert len(inside) == worlds
        assert abs(np.mean(inside) - 0.95) < 0.015


def test_stability_samples_rows_of_thirteen_sizes() -> None:
    generator = np.random.default_rng(0)
    people = generator.integers(1, 6, size=(1, 6200)).astype(np.float64)
    metric = people + generator.standard_normal((1, 6200))
    table = ScoreTable(("m",), ("a",), metric, people, list(range(6200)), [0] * 6200)
    (row,) = stability(table)
    assert row.sizes == tuple(range(100, 6101, 500)) and len(row.sizes) == 13
    assert (row.n_trials, row.n_undefined) == (39, 0)
    values = []
    for size in row.sizes:
        for seed in (1, 2, 3):
            drawn = np.random.default_rng(seed).choice(6200, size, replace=False)
            values.append(stats.spearmanr(metric[0, drawn], people[0, drawn])[0])
    assert row.mean == pytest.approx(np.mean(values), abs=1e-12)
    assert row.standard_deviation == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert row.lowest == pytest.approx(min(values))
    assert row.highest == pytest.approx(max(values))


def test_a_sample_larger_than_the_rows_is_left_out() -> None:
    table = ScoreTable(("m",), ("a",), np.ones((1, 5)), np.arange(5.0)[None], list(range(5)), [0] * 5)
    (row,) = stability(table, sizes=[3, 9], seeds=[1])
    assert (row.mean, row.n_trials, row.n_undefined, row.sizes) == (None, 0, 1, (3,))


def test_a_row_by_hand() -> None:
    # Distances from the means -1.5, -.5, .5, 1.5 and -1.5, .5, -.5, 1.5: 4 of 5. Two replies have one value only.
    people, metric = np.array([[1.0, 3.0, 2.0, 4.0, 5.0, nan]]), np.array([[1.0, 2.0, 3.0, 4.0, nan, 6.0]])
    table = ScoreTable(("m",), ("a",), metric, people, [0, 0, 1, 1, 2, 2], ["Ostrun"] * 6)
    (row,) = correlate(table, levels=[POOLED], coefficients=[PEARSON], resamples=0)
    assert asdict(row) == {
        "metric": "m",
        "aspect": "a",
        "level": "pooled",
        "coefficient": "pearson",
        "value": pytest.approx(0.8, abs=1e-12),
        "low": None,
        "high": None,
        "n": 4,
        "n_groups": 1,
        "n_constant": 0,
        "n_too_few": 0,
        "n_rows_too_few": 0,
        "n_missing": 2,
        "n_missing_metric": 1,
        "n_undefined_resamples": 0,
        "chance": 0.0,
        "ceiling": None,
        "n_ceiling": 0,
        "n_annotators": 0,
        "threshold": None,
        "reason": None,
    }


@pytest.mark.parametrize(
    "change, message",
    [
        ({"metric_values": np.zeros((1, 3))}, r"metric_values has the shape \(1, 3\), expected \(1, 2\)"),
        ({"human_values": np.array([[1.0, np.inf]])}, "human_values has an infinite value"),
        ({"systems": ["s"]}, "found 1 systems for 2 rows"),
        ({"about": ("b",)}, "`about` has 'b', expected an aspect"),
        ({"about": (None, None)}, "2 entries for 1 metrics"),
        ({"aspects": ("a", "a"), "human_values": np.zeros((2, 2))}, "the aspect 'a' occurs twice"),
        ({"metrics": ("m", "m"), "metric_values": np.zeros((2, 2))}, "the metric 'm' occurs twice"),
        ({"annotators": np.zeros((3, 2, 2))}, "annotators has the shape"),
    ],
)
def test_tables_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {
        "metrics": ("m",), "aspects": ("a",), "metric_values": np.zeros((1, 2)), "human_values": np.zeros((1, 2)),
        "items": [0, 1], "systems": [0, 0],
    }  # fmt: skip
    with pytest.raises(InputError, match=message) as raised:
        ScoreTable(**{**good, **change})  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_rows_are_grouped_by_level() -> None:
    item, system = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 1])
    assert group_of(POOLED, item, system).tolist() == [0, 0, 0, 0]
    assert group_of(PER_ITEM, item, system).tolist() == [0, 0, 1, 2]
    assert group_of(PER_SYSTEM, item, system).tolist() == [0, 1, 0, 1]
    with pytest.raises(KeyError):
        group_of("per_annotator", item, system)


def test_unknown_levels_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown level 'per item': did you mean 'per_item'\? known are pooled"):
        correlate(_table(), levels=["per item"])


def test_the_signature_names_what_changes_the_figures() -> None:
    table, other = _table(0), _table(1)
    found = correlation_signature(table, population="demo", resamples=50, seed=3)
    assert "|data:demo-" in found and found.endswith("|bootstrap:50-by-item|confidence:0.95|seed:3")
    assert "|rows:36|items:9|systems:4|" in found
    assert found == correlation_signature(_table(0), population="demo", resamples=50, seed=3)
    assert found != correlation_signature(other, population="demo", resamples=50, seed=3)
    form = r"fcconan:[^|]+\|data:[0-9a-f]{12}\|rows:36\|items:9\|systems:4\|missing:left-out"
    assert re.fullmatch(form + r"\|bootstrap:10000-by-item\|confidence:0.95\|seed:0", correlation_signature(table))
    assert correlate(table, levels=[POOLED], resamples=9) == correlate(table, levels=[POOLED], resamples=9, seed=0)


def test_the_threshold_stands_beside_the_calibrated_accuracy_only() -> None:
    # Of x the pairs differ by .1, .9 and 1; people tie the first one: with differences up to .1 as ties all are right.
    table = ScoreTable(("m",), ("r",), np.array([[0.0, 0.1, 1.0]]), np.array([[1.0, 1.0, 2.0]]), [0] * 3, [0, 1, 2])
    rows = correlate(table, levels=[POOLED], coefficients=[ACCURACY, CALIBRATED], resamples=0)
    assert [(row.coefficient, row.value, row.threshold) for row in rows] == [
        (ACCURACY, 2 / 3, None),
        (CALIBRATED, 1.0, 0.1),
    ]


def test_annotators_count_by_their_rows_from_three_on() -> None:
    # Rows 3 and 6 with values 1 and 1/2; an undefined value and one of two rows do not count.
    assert weighted_ceiling([1.0, 0.5, nan, 0.9], [3, 6, 9, 2]) == Ceiling((3 * 1 + 6 * 0.5) / 9, 9, 2)
    assert weighted_ceiling([nan, 0.9], [9, 2]) == Ceiling(None, 0, 0)


def test_some_metrics_and_rows_of_a_table() -> None:
    table = ScoreTable(
        metrics=("a", "b"),
        aspects=("tone",),
        metric_values=np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        human_values=np.array([[7.0, 8.0, 9.0]]),
        items=["i1", "i2", "i3"],
        systems=["X", "Y", "Z"],
        annotators=np.array([[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]),
        about=(None, "tone"),
    )
    some = table.select([1], [2, 0])
    assert (some.metrics, some.about, some.items, some.systems) == (("b",), ("tone",), ["i3", "i1"], ["Z", "X"])
    assert (some.metric_values.tolist(), some.human_values.tolist()) == ([[6.0, 4.0]], [[9.0, 7.0]])
    assert some.annotators is not None
    assert some.annotators.tolist() == [[[3.0, 1.0]], [[6.0, 4.0]]]
