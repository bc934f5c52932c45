import itertools
import math
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from fcconan.scoring.intervals import (
    bootstrap_means,
    kendall_tau,
    kendall_tau_interval,
    means,
    percentile_interval,
    summary,
)
from fcconan.scoring.significance import intervals
from fcconan.scoring.significance.families import sign_flip_tests

Floats = npt.NDArray[np.float64]
nan = math.nan


def _table(rows: list[list[float]]) -> Floats:
    return np.array(rows, dtype=np.float64)


# Bootstrap


def test_bootstrap_means_have_the_exact_distribution_of_a_small_case() -> None:
    # Three queries with values 0, 0, 3: the mean is how often the third is drawn, which is binomial(3, 1/3):
    # 8/27, 12/27, 6/27 and 1/27 for 0, 1, 2 and 3.
    resamples = 27_000
    draws = bootstrap_means(_table([[0, 0, 3]]), resamples=resamples, seed=1)
    assert draws.shape == (resamples, 1)
    counts = Counter(draws[:, 0].round(12).tolist())
    assert set(counts) == {0.0, 1.0, 2.0, 3.0}
    for value, ways in zip((0.0, 1.0, 2.0, 3.0), (8, 12, 6, 1), strict=True):
        share = ways / 27
        assert abs(counts[value] / resamples - share) < 4 * math.sqrt(share * (1 - share) / resamples)


def test_means_of_no_queries_are_missing() -> None:
    means_of_none = bootstrap_means(np.zeros((2, 0)), resamples=3)
    assert means_of_none.shape == (3, 2)
    assert np.isnan(means_of_none).all()


def test_all_series_share_their_draws() -> None:
    generator = np.random.default_rng(0)
    values = generator.random((1, 12))
    draws = bootstrap_means(np.concatenate([values, values, 1 - values]), resamples=500, seed=3)
    np.testing.assert_array_equal(draws[:, 0], draws[:, 1])
    np.testing.assert_allclose(draws[:, 0] + draws[:, 2], 1, atol=1e-12)


def test_missing_values_are_left_out_of_each_resampled_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    # The second series has no value for the first query. With the weights (2, 1, 0), (3, 0, 0) and (0, 1, 2):
    # series 1: (2*1 + 1*2)/3, 3*1/3, (1*2 + 2*6)/3; series 2: 4/1, nothing drawn, (4 + 2*7)/3.
    weights = _table([[2, 1, 0], [3, 0, 0], [0, 1, 2]])
    monkeypatch.setattr(intervals, "draws", lambda *_: iter([weights]))
    draws = bootstrap_means(_table([[1, 2, 6], [nan, 4, 7]]), resamples=3, seed=0)
    np.testing.assert_allclose(draws, [[4 / 3, 4], [1, nan], [14 / 3, 6]], atol=1e-15)


@pytest.mark.parametrize("resamples", [1, 100_000, 100_000 * 2 + 17])
def test_every_resample_draws_as_many_queries_as_there_are(monkeypatch: pytest.MonkeyPatch, resamples: int) -> None:
    monkeypatch.setattr(intervals, "CHUNK", 100_000)
    weights = np.concatenate(list(intervals.draws(7, resamples, seed=5)))
    assert weights.shape == (resamples, 7)
    assert set(weights.sum(axis=1)) == {7.0}
    # Every query is drawn once on average; the standard error of the mean of a column is sqrt(6/7/resamples).
    assert np.abs(weights.mean(axis=0) - 1).max() < 4.5 * math.sqrt(6 / 7 / resamples)


def test_interval_agrees_with_scipy() -> None:
    values = np.random.default_rng(11).random(45) ** 2
    oracle = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2), vectorized=True
    ).confidence_interval
    low, high = percentile_interval(bootstrap_means(values[None], resamples=20_000, seed=2))
    # The ends of both are quantiles of 20 000 draws: their standard error is sqrt(p (1 - p) / B) / density, which is
    # .03 standard errors of the mean or less; 5 of them, for two simulations.
    allowed = 5 * math.sqrt(2) * math.sqrt(0.025 * 0.975 / 20_000) / 0.0584 * values.std() / math.sqrt(45)
    assert abs(low[0] - oracle.low) < allowed
    assert abs(high[0] - oracle.high) < allowed
    assert low[0] < values.mean() < high[0]


def test_interval_by_hand() -> None:
    # 0, 1, ..., 100: the 2.5 % quantile is 2.5, the 97.5 % one 97.5; at 80 % they are 10 and 90.
    draws = np.arange(101.0)[::-1, None]
    low, high = percentile_interval(draws)
    assert (low[0], high[0]) == (pytest.approx(2.5, abs=1e-12), pytest.approx(97.5, abs=1e-12))
    low, high = percentile_interval(draws, 0.8)
    assert (low[0], high[0]) == (pytest.approx(10, abs=1e-12), pytest.approx(90, abs=1e-12))


def test_interval_leaves_out_missing_draws_and_is_missing_without_any() -> None:
    draws = np.full((6, 2, 2), nan)
    draws[:, 0, 0] = [0, 1, 2, 3, 4, 5]
    draws[:, 1, 1] = [nan, 0, 10, nan, 20, nan]
    low, high = percentile_interval(draws, 0.5)
    np.testing.assert_allclose(low, [[1.25, nan], [nan, 5]])
    np.testing.assert_allclose(high, [[3.75, nan], [nan, 15]])


def test_interval_covers_the_mean_at_about_its_confidence() -> None:
    # 400 samples of 60 uniform values, each one series. The coverage of a percentile interval with n = 60 is a little
    # below nominal; 4 standard errors of a share of 400 are .044.
    generator = np.random.default_rng(8)
    low, high = percentile_interval(bootstrap_means(generator.random((400, 60)), resamples=2_000, seed=0))
    coverage = float(((low <= 0.5) & (high >= 0.5)).mean())
    assert abs(coverage - 0.945) < 0.044


# Randomisation tests (test_max_t has their adjustment)


def randomisation_tests(
    values: Floats, pairs: list[tuple[int, int]], *, resamples: int, seed: int
) -> tuple[Floats, Floats]:
    """Mean differences and unadjusted p of pairs of systems; values has the shape (systems, queries)."""
    differences = np.array([values[a] - values[b] for a, b in pairs]).reshape(len(pairs), values.shape[1])
    found = sign_flip_tests(differences, resamples=resamples, seed=seed)
    return found.difference, found.p


def _exact_p(differences: list[float]) -> float:
    total = abs(math.fsum(differences))
    flips = itertools.product((1, -1), repeat=len(differences))
    sums = [abs(math.fsum(sign * value for sign, value in zip(signs, differences, strict=True))) for signs in flips]
    return sum(value >= total - 1e-9 for value in sums) / len(sums)


@pytest.mark.parametrize(
    ("differences", "exact"),
    [
        ([1, 1, 1, 1, 1], 2 / 32),  # only all plus and all minus are as extreme
        ([0.1, 0.2, 0.3], 2 / 8),  # .1 + .2 + .3 is not .6 in floating point, whatever the order
        ([0.1, 0.2, -0.3], 1.0),  # a difference of 0: everything is as extreme
        ([0.3, 0.3, 0.3, -0.1], 4 / 16),  # |.8| is reached with .3 .3 .3 and either sign of .1, or their opposites
        ([0, 0, 0], 1.0),
    ],
)
def test_p_of_small_cases(differences: list[float], exact: float) -> None:
    resamples = 20_000
    assert _exact_p(differences) == exact
    difference, p = randomisation_tests(
        _table([differences, [0.0] * len(differences)]), [(0, 1)], resamples=resamples, seed=0
    )
    assert difference[0] == pytest.approx(sum(differences) / len(differences), abs=1e-15)
    assert abs(p[0] - exact) <= 4 * math.sqrt(exact * (1 - exact) / resamples) + 1 / resamples
    if exact == 1:
        assert p[0] == 1.0


def test_p_agrees_with_exact_test_of_scipy() -> None:
    generator = np.random.default_rng(4)
    values = generator.random((4, 10))
    values[1:] += _table([[0.05], [0.2], [0.45]])
    pairs = list(itertools.combinations(range(4), 2))
    differences, p = randomisation_tests(values, pairs, resamples=20_000, seed=1)
    for (a, b), difference, value in zip(pairs, differences, p, strict=True):
        oracle = stats.permutation_test(
            (values[a] - values[b],), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert difference == pytest.approx(oracle.statistic, abs=1e-12)
        exact = float(oracle.pvalue)
        assert abs(value - exact) < 4 * math.sqrt(exact * (1 - exact) / 20_000) + 1 / 20_000


def test_p_is_never_zero() -> None:
    # 60 queries, all better: one flip in 2^59 is as extreme, so no resample reaches it and p is 1/(n + 1).
    _, p = randomisation_tests(_table([[1.0] * 60, [0.0] * 60]), [(0, 1)], resamples=999, seed=0)
    assert p[0] == 1 / 1000


def test_p_counts_with_one_added() -> None:
    # One query: |d| is always reached, whatever its sign; (n + 1) / (n + 1) is 1.
    _, p = randomisation_tests(_table([[0.7], [0.2]]), [(0, 1)], resamples=100, seed=0)
    assert p[0] == 1.0


def test_swapping_a_pair_swaps_the_sign_only() -> None:
    values = np.random.default_rng(5).random((2, 30))
    differences, p = randomisation_tests(values, [(0, 1), (1, 0)], resamples=3_000, seed=9)
    assert differences[0] == -differences[1]
    assert p[0] == p[1]


def test_queries_that_one_system_misses_are_left_out_of_its_pairs() -> None:
    # Systems 0 and 1 share queries 1 and 3, with differences 1 and 1 (exact p 1/2); 0 and 2 share none.
    values = _table([[2, 3, nan, 4], [1, nan, 8, 3], [nan, nan, 5, nan]])
    differences, p = randomisation_tests(values, [(0, 1), (0, 2), (1, 2)], resamples=20_000, seed=0)
    np.testing.assert_allclose(differences, [1, nan, 3])
    assert abs(p[0] - 0.5) < 4 * 0.5 / math.sqrt(20_000)
    assert math.isnan(p[1])
    assert p[2] == 1.0


def test_flips_of_all_parts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "CHUNK", 10)
    _, p = randomisation_tests(np.ones((2, 3)), [(0, 1)], resamples=100, seed=0)
    assert p[0] == 1.0  # without a difference every flip reaches it


def test_no_pairs_give_no_tests() -> None:
    differences, p = randomisation_tests(_table([[1, 2]]), [], resamples=100, seed=0)
    assert (differences.shape, p.shape) == ((0,), (0,))


def test_p_is_uniform_under_the_null_hypothesis() -> None:
    # 400 pairs of independent systems of one distribution: p is uniform, up to the steps of 1/2000.
    values = np.random.default_rng(2024).random((800, 30))
    pairs = [(2 * i, 2 * i + 1) for i in range(400)]
    _, p = randomisation_tests(values, pairs, resamples=1_999, seed=7)
    assert stats.kstest(p, "uniform").pvalue > 0.01
    for level in (0.05, 0.2, 0.5):
        assert abs(float((p <= level).mean()) - level) < 4 * math.sqrt(level * (1 - level) / 400)


def test_a_real_difference_is_found() -> None:
    # The difference is .1 with a standard error of about sqrt(2/12/100) = .041 before and .1/.0029 after pairing.
    generator = np.random.default_rng(3)
    base = generator.random(100)
    values = np.stack([base + 0.1 + 0.03 * generator.standard_normal(100), base])
    _, p = randomisation_tests(values, [(0, 1)], resamples=999, seed=0)
    assert p[0] == 0.001


# The same seed, the same bytes


def _everything(seed: int) -> list[Floats]:
    values = np.random.default_rng(0).random((5, 20))
    return [
        bootstrap_means(values, resamples=2_500, seed=seed),
        randomisation_tests(values, [(0, 1), (1, 2)], resamples=2_500, seed=seed)[1],
        np.array(kendall_tau_interval(values, 1 - values[::-1] ** 2, resamples=500, seed=seed)),
    ]


def test_same_seed_same_bytes() -> None:
    assert [figures.tobytes() for figures in _everything(1)] == [figures.tobytes() for figures in _everything(1)]


def test_another_seed_is_another_simulation() -> None:
    one, other = _everything(1), _everything(2)
    assert not np.array_equal(one[0], other[0])
    assert not np.array_equal(one[1], other[1])


# Holm's correction


# Agreement of orders


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_kendall_tau_equals_scipy(values: list[tuple[int, int]]) -> None:
    x, y = (np.array(side, dtype=np.float64) / 4 for side in zip(*values, strict=True))
    if len(set(x.tolist())) == 1 or len(set(y.tolist())) == 1:
        assert math.isnan(float(kendall_tau(x, y)))
    else:
        assert float(kendall_tau(x, y)) == pytest.approx(float(stats.kendalltau(x, y).statistic), abs=1e-12)


def test_kendall_tau_by_hand() -> None:
    # x 1 2 3 4; y 1 3 2 4: one pair of six is the other way round: (5 - 1) / 6.
    # With a tie in y (1 2 2 4): five pairs agree, one is tied there: 5 / sqrt(6 * 5).
    y = _table([[1, 3, 2, 4], [4, 3, 2, 1], [1, 2, 2, 4]])
    x = np.broadcast_to(np.arange(1.0, 5.0), y.shape)
    np.testing.assert_allclose(kendall_tau(x, y), [4 / 6, -1, 5 / math.sqrt(30)], atol=1e-15)


def test_means_that_differ_by_rounding_only_are_tied() -> None:
    x = np.array([0.1 + 0.2, 0.3, 0.5])
    y = np.array([1.0, 2.0, 3.0])
    assert float(kendall_tau(x, y)) == pytest.approx(2 / math.sqrt(6), abs=1e-15)
    assert float(kendall_tau(np.array([0.3, 0.300001, 0.5]), y)) == 1.0


def test_tau_interval_equals_a_loop_over_the_same_draws() -> None:
    generator = np.random.default_rng(6)
    x = generator.random((5, 25))
    y = x + 0.5 * generator.random((5, 25))
    y[:, [2, 9]] = nan  # two queries without a positive in the other partition
    tau, low, high = kendall_tau_interval(x, y, resamples=300, seed=4, confidence=0.9)
    assert tau == pytest.approx(stats.kendalltau(x.mean(axis=1), np.nanmean(y, axis=1)).statistic, abs=1e-12)
    drawn = []
    for weights in np.concatenate(list(intervals.draws(25, 300, seed=4))):
        chosen = np.repeat(np.arange(25), weights.astype(int))
        drawn.append(stats.kendalltau(x[:, chosen].mean(axis=1), np.nanmean(y[:, chosen], axis=1)).statistic)
    np.testing.assert_allclose([low, high], np.quantile(drawn, [0.05, 0.95]), atol=1e-12)


def test_equal_partitions_agree_with_certainty() -> None:
    values = np.random.default_rng(1).random((6, 30))
    assert kendall_tau_interval(values, values, resamples=200, seed=0) == (1.0, 1.0, 1.0)


def test_tau_of_a_constant_order_is_missing() -> None:
    constant = np.ones((3, 4))
    assert all(math.isnan(value) for value in kendall_tau_interval(constant, constant, resamples=100, seed=0))


# Means and the paper's summary


def test_means_leave_out_what_is_missing() -> None:
    table = _table([[1, nan, 3], [nan, nan, nan], [0, 0, 1]])
    np.testing.assert_allclose(means(table), [2, nan, 1 / 3])
    np.testing.assert_array_equal(means(table, axis=0), [0.5, 0, 2])


def test_summary_by_hand() -> None:
    # Metric 1: .2 and .4 (mean .3, deviation .1, CV 33.33 %); metric 2: .1 and .5 (mean .3, deviation .2, CV 66.67 %).
    found = summary(_table([[0.2, 0.1], [0.4, 0.5]]))
    expected = {"avg": 0.3, "min": 0.15, "max": 0.45, "cv": 50.0}
    assert {name: float(value) for name, value in found.items()} == pytest.approx(expected, abs=1e-12)


def test_summary_of_resampled_means_is_the_summary_of_each() -> None:
    draws = np.random.default_rng(2).random((7, 4, 3))
    found = summary(draws)
    for row in range(7):
        one = summary(draws[row])
        assert {name: float(value[row]) for name, value in found.items()} == pytest.approx(
            {name: float(value) for name, value in one.items()}, abs=1e-12
        )


def test_summary_leaves_a_metric_that_is_always_zero_out_of_the_variation() -> None:
    found = summary(_table([[0.2, 0], [0.4, 0]]))
    assert float(found["cv"]) == pytest.approx(100 / 3, abs=1e-12)
    assert float(found["avg"]) == pytest.approx(0.15, abs=1e-12)
    assert math.isnan(float(summary(np.zeros((2, 2)))["cv"]))
