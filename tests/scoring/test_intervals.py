import math
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from fcconan.scoring import (
    bootstrap_means,
    intervals,
    means,
    percentile_interval,
    summary,
)

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
