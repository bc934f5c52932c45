import itertools
import math
import os
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from fcconan.errors import InputError
from fcconan.scoring.correlation.analysis import correlation_signature
from fcconan.scoring.correlation.coefficients import (
    ACCURACY,
    CALIBRATED,
    KENDALL_B,
    KENDALL_C,
    PEARSON,
    SPEARMAN,
)
from fcconan.scoring.correlation.levels import LEVELS, PER_ITEM, PER_SYSTEM, POOLED, SYSTEM_MEANS
from fcconan.scoring.correlation.metric_tests import permutation_families, permutation_signature, permutation_tests
from fcconan.scoring.correlation.permutation_kernels import Comparison, prepare_comparison, standardised
from fcconan.scoring.correlation.permuted_ranks import SwappedRanks
from fcconan.scoring.score_table import ScoreTable
from fcconan.scoring.significance.families import floor_notes
from tests.scoring.test_correlation import SCIPY, _brute

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.int8]
nan = math.nan

ITEM, SYSTEM = np.repeat(np.arange(7), 5), np.tile(np.arange(5), 7)


def _metrics(kind: str) -> tuple[Floats, Floats, Floats]:
    generator = np.random.default_rng(1)
    people = generator.integers(1, 6, size=(2, 35)).astype(np.float64)
    continuous = generator.random((2, 35)) + people / 5
    scale = generator.integers(1, 6, size=(2, 35)).astype(np.float64)
    first, second = {
        "continuous": (continuous[0], continuous[1]),
        "scale": (scale[0], scale[1]),
        "mixed": (continuous[0], scale[1]),
    }[kind]
    return first, second, people


@pytest.mark.parametrize("kind", ["continuous", "scale", "mixed"])
@pytest.mark.parametrize("level", LEVELS)
def test_differences_after_swaps_equal_scipy(kind: str, level: str) -> None:
    first, second, people = _metrics(kind)
    swapped = np.random.default_rng(0).integers(2, size=(35, 6), dtype=np.int8)
    made = prepare_comparison(level, (first, second), people, ITEM, SYSTEM, [*SCIPY])
    found = made.differences(swapped)
    one, other = standardised(first), standardised(second)
    for column, own in enumerate(swapped.T):
        pair = np.where(own == 1, other, one), np.where(own == 1, one, other)
        for name in SCIPY:
            for aspect in range(2):
                values = [_brute(level, name, each, people[aspect], ITEM, SYSTEM) for each in pair]
                assert found[name][aspect, column] == pytest.approx(values[0] - values[1], abs=1e-11)


def test_a_system_of_two_replies_counts_and_one_of_a_single_reply_does_not() -> None:
    people, system = np.array([[1.0, 2, 1, 2, 3, 1]]), np.array([0, 0, 1, 1, 1, 2])
    first, second = np.array([1.0, 2, 1, 3, 2, 0]), np.array([2.0, 1, 1, 2, 3, 5])
    made = prepare_comparison(PER_SYSTEM, (first, second), people, system, system, [KENDALL_B])
    found = made.differences(np.array([[0, 1]] * 6, dtype=np.int8))[KENDALL_B]
    # Systems of two and three replies: 1 and 1/3 for the first metric, -1 and 1 for the second.
    np.testing.assert_allclose(found, [[2 / 3, -2 / 3]], atol=1e-15)


def _accuracy(x: Floats, y: Floats) -> float:
    """The share of pairs that both order alike or both tie, pair by pair."""
    pairs = list(itertools.combinations(range(len(x)), 2))
    return sum(bool(np.sign(x[i] - x[j]) == np.sign(y[i] - y[j])) for i, j in pairs) / len(pairs)


@pytest.mark.parametrize("kind", ["continuous", "scale", "mixed"])
def test_tau_c_and_accuracy_after_swaps_equal_scipy_and_a_count_of_pairs(kind: str) -> None:
    first, second, people = _metrics(kind)
    swapped = np.random.default_rng(3).integers(2, size=(35, 5), dtype=np.int8)
    made = prepare_comparison(POOLED, (first, second), people, ITEM, SYSTEM, [KENDALL_C, ACCURACY])
    found = made.differences(swapped)
    one, other = standardised(first), standardised(second)
    for column, own in enumerate(swapped.T):
        pair = np.where(own == 1, other, one), np.where(own == 1, one, other)
        for aspect, grades in enumerate(people):
            tau = [stats.kendalltau(each, grades, variant="c")[0] for each in pair]
            right = [_accuracy(each, grades) for each in pair]
            assert found[KENDALL_C][aspect, column] == pytest.approx(tau[0] - tau[1], abs=1e-12)
            assert found[ACCURACY][aspect, column] == pytest.approx(right[0] - right[1], abs=1e-12)


def test_items_too_large_to_list_all_swaps_equal_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcconan.scoring.correlation.permutation_kernels.LARGEST_LISTED", 2)
    first, second, people = _metrics("mixed")
    swapped = np.random.default_rng(0).integers(2, size=(35, 6), dtype=np.int8)
    made = prepare_comparison(PER_ITEM, (first, second), people, ITEM, SYSTEM, [*SCIPY])
    found = made.differences(swapped)
    one, other = standardised(first), standardised(second)
    for column, own in enumerate(swapped.T):
        pair = np.where(own == 1, other, one), np.where(own == 1, one, other)
        for name, aspect in itertools.product(SCIPY, range(2)):
            values = [_brute(PER_ITEM, name, each, people[aspect], ITEM, SYSTEM) for each in pair]
            assert found[name][aspect, column] == pytest.approx(values[0] - values[1], abs=1e-12)


@pytest.mark.parametrize("largest_small", [46_000, 10])
def test_ranks_and_pairs_after_swaps_are_exact(monkeypatch: pytest.MonkeyPatch, largest_small: int) -> None:
    from scipy.stats import rankdata

    monkeypatch.setattr("fcconan.scoring.correlation.permuted_ranks.LARGEST_SMALL", largest_small)
    generator = np.random.default_rng(5)
    people = np.stack([generator.integers(1, 6, 90), generator.integers(3, 16, 90) / 3])
    first, second = np.maximum(generator.standard_normal(90), 0), generator.integers(0, 5, 90) / 4
    swapped = generator.integers(2, size=(90, 7), dtype=np.int8)
    swapped[:, 0], swapped[:, 1] = 0, 1
    made = SwappedRanks(first, second, people)
    for column, own in enumerate(swapped.T):
        metrics = np.where(own == 1, second, first), np.where(own == 1, first, second)
        ranks = [rankdata(each) - 45.5 for each in metrics]
        signs = [np.sign(each[:, None] - each) for each in metrics]
        spearman, kendall = [made.numerators(swapped, name)[:, column] for name in (SPEARMAN, KENDALL_B)]
        for aspect, grades in enumerate(people):
            assert spearman[aspect] == ranks[0] @ (rankdata(grades) - 45.5)
            assert kendall[aspect] == (signs[0] * np.sign(grades[:, None] - grades)).sum() / 2
        norms = [made.norms(swapped, name)[:, column] ** 2 for name in (SPEARMAN, KENDALL_B)]
        assert norms[0] == pytest.approx([each @ each for each in ranks], rel=1e-14)
        assert norms[1] == pytest.approx([np.abs(each).sum() / 2 for each in signs], rel=1e-14)


@pytest.mark.long
def test_compiled_passes_do_the_same() -> None:
    """The other tests run the passes as they are written, without compiling."""
    code = """
import numpy as np
from fcconan.scoring.correlation import permuted_ranks
generator = np.random.default_rng(5)
first, second = np.maximum(generator.standard_normal(60), 0), generator.integers(0, 5, 60) / 4
made = permuted_ranks.SwappedRanks(first, second, generator.integers(1, 6, size=(2, 60)))
swapped = generator.integers(2, size=(60, 5), dtype=np.int8)
def found():
    names = ("spearman", "kendall_b")
    return [f(swapped, name).tolist() for f in (made.numerators, made.norms) for name in names]
compiled = found()
assert type(permuted_ranks.compiled(permuted_ranks._score_pairs)).__name__ == "CPUDispatcher"
permuted_ranks.compiled = lambda function: function
assert compiled == found()

from fcconan.scoring.correlation import weighted
from fcconan.scoring.correlation.coefficients import COEFFICIENTS
from fcconan.scoring.correlation.analysis import correlate
from fcconan.scoring.score_table import ScoreTable
people = np.stack([generator.integers(1, 6, 60).astype(float), generator.random(60)])
item, system = np.repeat(np.arange(12), 5), np.tile(np.arange(5), 12)
table = ScoreTable(("first", "second"), ("few", "many"), np.stack([first, second]), people, item, system)
def intervals():
    rows = correlate(table, levels=["pooled"], coefficients=[*COEFFICIENTS], resamples=4)
    return [(row.low, row.high) for row in rows]
compiled = intervals()
assert len({low for low, _ in compiled}) > len(COEFFICIENTS)
weighted.compiled = lambda function: function
assert compiled == intervals()
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_swaps_that_take_an_outlier_away_keep_their_digits() -> None:
    generator = np.random.default_rng(0)
    group = np.zeros(12, dtype=np.int64)
    first, second, people = generator.random(12), np.zeros(12), generator.random((1, 12))
    first[0], second[1] = 1e6, 1.0
    swapped = np.eye(12, 3, dtype=np.int8)
    swapped[1:, 2] = 1
    made = prepare_comparison(POOLED, (first, second), people, group, group, [PEARSON])
    found = made.differences(swapped)[PEARSON][0]
    one, other = standardised(first), standardised(second)
    for column, own in enumerate(swapped.T):
        pair = np.where(own == 1, other, one), np.where(own == 1, one, other)
        values = [SCIPY[PEARSON](each, people[0]) for each in pair]
        assert found[column] == pytest.approx(values[0] - values[1], abs=1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1e-170, 1e200])
@pytest.mark.parametrize("level", LEVELS)
def test_the_unit_of_a_metric_does_not_change_p(level: str, scale: float) -> None:
    generator = np.random.default_rng(3)
    values, people = generator.random((2, 35)), generator.random((1, 35))
    tables = [
        ScoreTable(("a", "b"), ("r",), own, people, ITEM.tolist(), SYSTEM.tolist())
        for own in (values, np.stack([values[0] * scale, values[1]]))
    ]
    rows, others = (permutation_tests(each, levels=[level], swaps=50) for each in tables)
    for row, other in zip(rows, others, strict=True):
        assert (row.p, row.reason) == (other.p, None)
        assert other.difference == pytest.approx(row.difference, abs=1e-9)


def test_small_people_values_are_not_rounded_away() -> None:
    generator = np.random.default_rng(0)
    values, people = generator.random((2, 35)), generator.random((1, 35))
    tables = [
        ScoreTable(("a", "b"), ("r",), values, each, ITEM.tolist(), SYSTEM.tolist())
        for each in (people, people * 1e-20)
    ]
    rows, others = (permutation_tests(each, levels=[SYSTEM_MEANS], swaps=50) for each in tables)
    for row, other in zip(rows, others, strict=True):
        assert row.difference is not None
        assert other.difference == pytest.approx(row.difference, abs=1e-9)
        assert other.p == row.p


@pytest.mark.parametrize("few_levels", [32, 0])  # 0: as for people's values without ties
@pytest.mark.parametrize("unit", ["reply", "item"])
def test_p_counts_the_swaps_whose_difference_by_scipy_is_as_large(
    monkeypatch: pytest.MonkeyPatch, unit: str, few_levels: int
) -> None:
    monkeypatch.setattr("fcconan.scoring.correlation.permutation_kernels.FEW_LEVELS", few_levels)
    generator = np.random.default_rng(8)
    people = generator.integers(1, 6, size=(2, 40)).astype(np.float64)
    noisy = people[0] + 2 * generator.standard_normal((3, 40))
    values = np.stack([noisy[0], np.maximum(noisy[1] - 2, 0), *np.clip(noisy[2:].round(), 1, 5)])
    values[1, :3] = nan
    item, system = np.arange(40) // 2, np.arange(40) % 2
    table = ScoreTable(("a", "b", "c"), ("r", "s"), values, people, [f"{each:02}" for each in item], system.tolist())
    names, levels = [SPEARMAN, KENDALL_B], [POOLED, PER_SYSTEM]
    rows = permutation_tests(table, levels=levels, coefficients=names, swaps=12, seed=2, unit=unit)
    drawn = np.random.default_rng(2).integers(2, size=(40 if unit == "reply" else 20, 12), dtype=np.int8)
    swapped = drawn if unit == "reply" else drawn[item]
    assert len(rows) == 3 * 2 * 2 * 2
    assert len({row.p for row in rows}) > 5
    for row in rows:
        first, second = values["abc".index(row.a)], values["abc".index(row.b)]
        there = np.isfinite(first + second)
        one, other, grades = standardised(first[there]), standardised(second[there]), people["rs".index(row.aspect)]

        rest = grades[there], item[there], system[there]
        differences = []
        for own in np.column_stack([np.zeros(there.sum()), swapped[there]]).T:  # the first swaps nothing
            pair = np.where(own == 1, other, one), np.where(own == 1, one, other)
            x, y = (_brute(row.level, row.coefficient, each, *rest) for each in pair)
            differences.append(x - y)
        larger = sum(abs(each) >= abs(differences[0]) - 1e-10 for each in differences[1:])
        assert row.difference == pytest.approx(differences[0], abs=1e-12)
        assert row.p == pytest.approx((larger + 1) / 13)
        assert (row.n, row.n_undefined) == (int(there.sum()), 0)


def test_p_is_the_share_of_all_swaps_of_a_small_case() -> None:
    people = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    first, second = np.array([0.1, 0.2, 0.35, 0.3, 0.6, 0.7]), np.array([0.5, 0.1, 0.9, 0.4, 0.3, 0.8])
    table = ScoreTable(("a", "b"), ("r",), np.stack([first, second]), people, list(range(6)), [0] * 6)
    (row,) = permutation_tests(table, coefficients=[KENDALL_B], swaps=20_000, seed=1)
    one, other = standardised(first), standardised(second)
    differences = []
    for swap in itertools.product([False, True], repeat=6):
        pair = np.where(swap, other, one), np.where(swap, one, other)
        differences.append(SCIPY[KENDALL_B](pair[0], people[0]) - SCIPY[KENDALL_B](pair[1], people[0]))
    observed = SCIPY[KENDALL_B](first, people[0]) - SCIPY[KENDALL_B](second, people[0])
    exact = np.mean(np.abs(differences) >= abs(observed) - 1e-12)
    assert row.difference == pytest.approx(observed, abs=1e-12)
    assert row.p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    assert row.test == "perm_both"


def _westfall_young(observed: list[float], drawn: list[list[float]]) -> list[float]:
    """Step-down max-T in loops (Ge, Dudoit and Speed, 2003, box 4), of differences that are divided by their spread."""
    spread = [math.sqrt(np.mean(np.square([each, *own]))) for each, own in zip(observed, drawn, strict=True)]
    statistic = [abs(each) / own for each, own in zip(observed, spread, strict=True)]
    order = sorted(range(len(observed)), key=lambda test: -statistic[test])
    found, before = [0.0] * len(observed), 0.0
    for place, test in enumerate(order):
        largest = [max(abs(drawn[k][draw]) / spread[k] for k in order[place:]) for draw in range(len(drawn[0]))]
        count = sum(each >= statistic[test] - 1e-9 for each in largest)
        found[test] = before = max(before, (count + 1) / (len(largest) + 1))
    return found


@pytest.mark.parametrize("batched", [False, True])
def test_p_is_never_zero_and_is_adjusted_over_the_pairs_of_an_aspect(
    monkeypatch: pytest.MonkeyPatch, batched: bool
) -> None:
    if batched:  # as with many metrics: some pairs and one aspect at a time
        monkeypatch.setattr("fcconan.scoring.correlation.metric_tests.ROWS", 1)
        monkeypatch.setattr("fcconan.scoring.correlation.metric_tests.DIFFERENCES", 1)
    generator = np.random.default_rng(0)
    people = generator.integers(1, 6, size=(2, 60)).astype(np.float64)
    values = np.stack([people[0] + generator.random(60) / 9, *generator.random((2, 60)), people[1]])
    table = ScoreTable(("a", "b", "c", "d"), ("r", "s"), values, people, list(range(60)), [0] * 60)
    rows = permutation_tests(table, coefficients=[PEARSON, SPEARMAN], swaps=59)
    assert len(rows) == 6 * 2 * 2
    first = next(row for row in rows if (row.a, row.b, row.aspect, row.coefficient) == ("a", "b", "r", PEARSON))
    assert (first.p, first.p_corrected) == (1 / 60, 1 / 60)  # Holm's would be 6 times as large
    swapped = np.random.default_rng(0).integers(2, size=(60, 59), dtype=np.int8)
    for (place, aspect), name in itertools.product(enumerate("rs"), (PEARSON, SPEARMAN)):
        own = [row for row in rows if (row.aspect, row.coefficient) == (aspect, name)]
        drawn = []
        for row in own:
            one, other = (standardised(values["abcd".index(metric)]) for metric in (row.a, row.b))
            sides = (
                np.where(swapped == 1, other[:, None], one[:, None]),
                np.where(swapped == 1, one[:, None], other[:, None]),
            )
            x, y = ([SCIPY[name](each, people[place]) for each in side.T] for side in sides)
            drawn.append(np.subtract(x, y).tolist())
        expected = _westfall_young([row.difference or 0.0 for row in own], drawn)
        assert [row.p_corrected for row in own] == pytest.approx(expected, abs=1e-12)
        assert all(row.p is not None and row.p_corrected is not None and row.p <= row.p_corrected for row in own)
        assert len({row.p_corrected for row in own}) > 2
    assert rows == permutation_tests(table, coefficients=[PEARSON, SPEARMAN], swaps=59)


def test_families_of_swaps_state_their_tests_and_the_smallest_p() -> None:
    generator = np.random.default_rng(0)
    values, people = generator.random((4, 30)), generator.random((1, 30))
    values[3] = 0.5  # a constant: three of six pairs have no test
    table = ScoreTable(("a", "b", "c", "d"), ("r",), values, people, np.repeat(range(5), 6).tolist(), [0] * 30)
    rows = permutation_tests(table, coefficients=[PEARSON], swaps=99, unit="item")
    (family,) = permutation_families(rows, swaps=99)
    # Five items are swapped in 2^5 ways, of which 2 give the observed difference.
    assert (family.name, family.n_tests, family.floor) == ("r, pooled, pearson", 3, 2 / 2**5)
    by_replies = permutation_tests(table, coefficients=[PEARSON], swaps=99, unit="reply")
    (by_reply,) = permutation_families(by_replies, swaps=99)
    assert by_reply.floor == 1 / 100
    assert floor_notes([by_reply], "--resamples") == []
    (note,) = floor_notes(permutation_families(by_replies, swaps=18), "--resamples")
    assert note == (
        "No test of the r, pooled, pearson family can be significant: its smallest corrected p is 0.0526; raise "
        "--resamples to 20 or more."
    )


@pytest.mark.parametrize("swaps", [1, 7, 19, 40])
def test_no_p_of_swaps_is_below_the_floor_of_its_family(swaps: int) -> None:
    """One aspect was rated on 4 of 30 replies to 2 of 15 items: its floor is its own."""
    generator = np.random.default_rng(1)
    people = np.full((2, 30), np.nan)
    people[0], people[1, :4] = np.arange(30), [1, 2, 3, 4]
    values = np.stack([people[0], generator.random(30)])
    items = np.repeat(range(15), 2).tolist()
    table = ScoreTable(("a", "b"), ("all", "few"), values, people, items, [0, 1] * 15)
    for unit, n_units in (("reply", (30, 4)), ("item", (15, 2))):
        for seed in range(10):
            rows = permutation_tests(table, coefficients=[PEARSON], swaps=swaps, seed=seed, unit=unit)
            families = permutation_families(rows, swaps=swaps)
            assert [row.n_units for row in rows] == [*n_units]
            for row, family, units in zip(rows, families, n_units, strict=True):
                assert family.floor == max(1 / (swaps + 1), 2 / 2**units)
                assert row.p is not None and row.p_corrected is not None and family.floor is not None
                assert row.p_corrected >= row.p >= family.floor


def test_p_of_few_swaps_is_exact() -> None:
    generator = np.random.default_rng(4)
    people, values = generator.random((1, 5)), generator.random((2, 5))
    table = ScoreTable(("a", "b"), ("r",), values, people, list(range(5)), [0] * 5)
    found = {permutation_tests(table, coefficients=[PEARSON], swaps=15 + seed, seed=seed)[0].p for seed in range(5)}
    first, second = ((each - each.mean()) / each.std() for each in values)

    def difference(swapped: npt.NDArray[np.bool_]) -> float:
        one, other = np.where(swapped, second, first), np.where(swapped, first, second)
        return abs(float(np.corrcoef(one, people[0])[0, 1] - np.corrcoef(other, people[0])[0, 1]))

    ways = [np.array([way >> place & 1 for place in range(5)], dtype=bool) for way in range(32)]
    reached = [difference(way) >= difference(ways[0]) - 1e-9 for way in ways]
    assert [*found] == [pytest.approx(np.mean(reached), abs=1e-12)]


def test_a_pair_with_undefined_swaps_counts_them_against_itself_alone() -> None:
    """Two judges that give one other grade each: half of all swaps leave one of them constant."""
    generator = np.random.default_rng(5)
    people = np.arange(24.0)[None]
    rare = np.ones((2, 24))
    rare[0, 20], rare[1, 3] = 2, 2
    good, bad = people[0] + generator.random(24), generator.random(24)
    table = ScoreTable(
        ("good", "bad", "j", "k"), ("r",), np.stack([good, bad, *rare]), people, list(range(24)), [0] * 24
    )
    rows = {row.a + row.b: row for row in permutation_tests(table, coefficients=[PEARSON], swaps=999, seed=2)}
    assert 400 < rows["jk"].n_undefined < 600
    assert rows["jk"].p_corrected == rows["jk"].p
    assert (rows["jk"].p or 0) > 0.4
    assert rows["goodbad"].p == 1 / 1000
    assert (rows["goodbad"].p_corrected or 1) < 0.01  # counted for all pairs, half of the draws would be above it


def test_rows_that_one_metric_lacks_are_left_out_of_its_pairs() -> None:
    generator = np.random.default_rng(0)
    values, people = generator.random((3, 30)), generator.random((1, 30))
    values[0, :4], people[0, 7] = nan, nan
    table = ScoreTable(("a", "b", "c"), ("r",), values, people, list(range(30)), [0] * 30)
    rows = permutation_tests(table, coefficients=[PEARSON], swaps=99)
    assert [(row.a, row.b, row.n) for row in rows] == [("a", "b", 25), ("a", "c", 25), ("b", "c", 29)]
    there = np.isfinite(values[0]) & np.isfinite(people[0])
    expected = np.corrcoef(values[0, there], people[0, there]) - np.corrcoef(values[1, there], people[0, there])
    assert rows[0].difference == pytest.approx(expected[0, 1], abs=1e-11)


@pytest.mark.parametrize("level", LEVELS)
def test_undefined_tests_have_a_reason(level: str) -> None:
    people = np.array([[1.0, 2.0, 3.0, 5.0]])
    for first, reason in ((np.full(4, nan), "no_rows"), (np.full(4, 0.5), "constant")):
        values = np.stack([first, np.array([0.1, 0.4, 0.2, 0.9])])
        table = ScoreTable(("a", "b"), ("r",), values, people, [0, 0, 1, 1], [0, 1, 0, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = permutation_tests(table, levels=[level], coefficients=[PEARSON, SPEARMAN], swaps=20)
        assert [(row.difference, row.p, row.p_corrected, row.reason) for row in rows] == [
            (None, None, None, reason)
        ] * 2


def _p_values(made: Comparison, swapped: Flags, name: str) -> float:
    observed = abs(made.differences(np.zeros((len(swapped), 1), dtype=np.int8))[name][0, 0])
    after = np.abs(made.differences(swapped)[name][0])
    return float(((after >= observed - 1e-12).sum() + 1) / (swapped.shape[1] + 1))


@pytest.mark.long
@pytest.mark.parametrize("name", [PEARSON, SPEARMAN])
def test_equal_metrics_differ_in_five_of_a_hundred_worlds(name: str) -> None:
    """2000 worlds in which two metrics follow people equally well: the share of p <= .05 is .05 but for chance."""
    generator = np.random.default_rng(4)
    worlds, rows, group = 2000, 40, np.zeros(40, dtype=np.int64)
    swapped = generator.integers(2, size=(rows, 199), dtype=np.int8)
    small = 0
    for _ in range(worlds):
        people = generator.integers(1, 6, size=rows).astype(np.float64)
        first, second = people + 2 * generator.standard_normal((2, rows))
        made = prepare_comparison(POOLED, (first, second), people[None], group, group, [name])
        small += _p_values(made, swapped, name) <= 0.05
    assert abs(small / worlds - 0.05) < 4 * math.sqrt(0.05 * 0.95 / worlds)


def test_swapping_items_keeps_its_level_where_the_replies_to_an_item_resemble_each_other() -> None:
    """Both metrics err by item: replies are no independent observations, and only whole items may be swapped."""
    generator = np.random.default_rng(6)
    worlds, items, size = 800, 30, 5
    item, group = np.repeat(np.arange(items), size), np.zeros(items * size, dtype=np.int64)
    by_item = generator.integers(2, size=(items, 199), dtype=np.int8)[item]
    by_reply = generator.integers(2, size=(items * size, 199), dtype=np.int8)
    small = {"item": 0, "reply": 0}
    for _ in range(worlds):
        people = generator.standard_normal(items)[item] + 0.3 * generator.standard_normal(items * size)
        first, second = people + generator.standard_normal((2, items))[:, item]
        made = prepare_comparison(POOLED, (first, second), people[None], group, group, [PEARSON])
        small["item"] += _p_values(made, by_item, PEARSON) <= 0.05
        small["reply"] += _p_values(made, by_reply, PEARSON) <= 0.05
    assert abs(small["item"] / worlds - 0.05) < 4 * math.sqrt(0.05 * 0.95 / worlds)
    assert small["reply"] / worlds > 0.2  # which is why PERM-INPUT is offered


def test_power_is_above_that_of_the_unpaired_bootstrap() -> None:
    """Two metrics that err alike, one a little more: pairing sees it, two separate bootstraps do not."""
    generator = np.random.default_rng(2)
    worlds, rows, resamples, group = 150, 60, 300, np.zeros(60, dtype=np.int64)
    swapped = generator.integers(2, size=(rows, resamples), dtype=np.int8)
    draws = [generator.multinomial(rows, [1 / rows] * rows, size=resamples).astype(np.float64) for _ in range(2)]
    ours = theirs = 0
    for _ in range(worlds):
        people = generator.standard_normal(rows)
        first = people + generator.standard_normal(rows)
        second = first + 0.7 * generator.standard_normal(rows)
        made = prepare_comparison(POOLED, (first, second), people[None], group, group, [PEARSON])
        ours += _p_values(made, swapped, PEARSON) <= 0.05
        difference = np.subtract(
            _weighted_pearson(first, people, draws[0]), _weighted_pearson(second, people, draws[1])
        )
        low, high = np.quantile(difference, [0.025, 0.975])
        theirs += not low <= 0 <= high
    assert ours > theirs + 3 * math.sqrt(worlds / 4)


def _weighted_pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    total = weights.sum(axis=1)
    mean_x, mean_y = weights @ x / total, weights @ y / total
    both = weights @ (x * y) / total - mean_x * mean_y
    found: Floats = both / np.sqrt((weights @ x**2 / total - mean_x**2) * (weights @ y**2 / total - mean_y**2))
    return found


def test_the_signature_of_tests_names_unit_swaps_seed_and_families() -> None:
    table = ScoreTable(("a", "b"), ("r",), np.eye(2, 3), np.array([[1.0, 2.0, 3.0]]), [0, 1, 2], [0] * 3)

    def signature(swaps: int, seed: int, unit: str, metric: str = "b") -> str:
        own = replace(table, metrics=("a", metric))
        tests = permutation_tests(own, swaps=swaps, seed=seed, unit=unit)
        families = permutation_families(tests, swaps=swaps)
        return permutation_signature(own, families, population="demo", swaps=swaps, seed=seed, unit=unit)

    found = signature(99, 4, "item")
    assert "|data:demo-" in found
    assert found.endswith(
        "|test:perm-input|swaps:99-by-item|sides:2|family:aspect-level-coefficient|tests:3x1|floor:0.25|"
        "correction:max-t|seed:4"
    )
    bootstrap = correlation_signature(table, population="demo", resamples=99, seed=4)
    assert found.split("|")[:6] == bootstrap.split("|")[:6]
    others = [
        signature(98, 4, "item"),
        signature(99, 5, "item"),
        signature(99, 4, "reply"),
        signature(99, 4, "item", "c"),
    ]
    assert len({found, *others}) == 5


@pytest.mark.parametrize(
    "options, message",
    [
        ({"unit": "word"}, "unknown unit 'word': known are reply, item"),
        ({"coefficients": [CALIBRATED]}, "unknown coefficient 'pairwise_accuracy_calibrated'"),
        ({"levels": ["item"]}, "unknown level 'item'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    table = ScoreTable(("a", "b"), ("r",), np.zeros((2, 3)), np.zeros((1, 3)), [0, 1, 2], [0] * 3)
    with pytest.raises(InputError, match=message):
        permutation_tests(table, **options)  # type: ignore[arg-type]
