import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats  # type: ignore[import-untyped, unused-ignore]

from fcconan.errors import InputError
from fcconan.scoring.correlation.coefficients import (
    ACCURACY,
    CALIBRATED,
    COEFFICIENTS,
    KENDALL_B,
    KENDALL_C,
    PEARSON,
    SPEARMAN,
    accuracy_by_chance,
    group_coefficients,
    lowest_tied,
    rounded,
    scale_of,
)
from fcconan.scoring.correlation.weighted import WeightedCoefficients, resampled
from fcconan.scoring.names import check_names

Floats = npt.NDArray[np.float64]


def _accuracy(x: Floats, y: Floats, threshold: float) -> float:
    """Goes through all pairs one by one."""
    right = pairs = 0
    for i in range(len(x)):
        for j in range(i):
            difference = x[i] - x[j]
            judged = 0.0 if abs(difference) <= threshold else np.sign(difference)
            right += judged == np.sign(y[i] - y[j])
            pairs += 1
    return right / pairs


def _oracle(x: Floats, y: Floats, threshold: float) -> dict[str, float]:
    if len(x) < 2:
        return dict.fromkeys(COEFFICIENTS, math.nan)
    accuracies = {ACCURACY: _accuracy(x, y, 0.0), CALIBRATED: _accuracy(x, y, threshold)}
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return {**dict.fromkeys(COEFFICIENTS, math.nan), **accuracies}
    return {
        PEARSON: stats.pearsonr(x, y)[0],
        SPEARMAN: stats.spearmanr(x, y)[0],
        KENDALL_B: stats.kendalltau(x, y)[0],
        KENDALL_C: stats.kendalltau(x, y, variant="c")[0],
        **accuracies,
    }


@pytest.mark.parametrize("size", [2, 3, 5, 12])
@pytest.mark.parametrize("levels", [2, 4, 1000])
def test_groups_equal_scipy(size: int, levels: int) -> None:
    generator = np.random.default_rng(size * levels)
    x, y = generator.integers(levels, size=(40, size)) / 3, generator.integers(4, size=(40, size)).astype(np.float64)
    found = group_coefficients(x, y, COEFFICIENTS, threshold=0.34)
    expected = [_oracle(a, b, 0.34) for a, b in zip(x, y, strict=True)]
    for name in COEFFICIENTS:
        np.testing.assert_allclose(found[name], [each[name] for each in expected], rtol=0, atol=1e-12)


def test_a_small_group_by_hand() -> None:
    # Pairs (x differs, y differs): 1-2 up and tied, 1-3 and 2-3 both up: two concordant, one tied in y only.
    # tau-b = 2 / sqrt(3 * 2); tau-c = 2 * 2 / (9 * (2 - 1) / 2); ranks 1 2 3 and 1.5 1.5 3: 1.5 / sqrt(2 * 1.5).
    x, y = np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 1.0, 2.0]])
    found = group_coefficients(x, y, COEFFICIENTS, threshold=1.0)
    assert found[KENDALL_B][0] == pytest.approx(2 / math.sqrt(6), abs=1e-15)
    assert found[KENDALL_C][0] == pytest.approx(8 / 9, abs=1e-15)
    assert found[SPEARMAN][0] == pytest.approx(1.5 / math.sqrt(3), abs=1e-15)
    assert found[ACCURACY][0] == pytest.approx(2 / 3, abs=1e-15)
    # With differences up to 1 as ties, 1-2 is a tie as people say, 2-3 is a wrong tie and 1-3 is right.
    assert found[CALIBRATED][0] == pytest.approx(2 / 3, abs=1e-15)


def test_correlations_are_no_more_than_one_and_none_of_a_constant() -> None:
    x = np.array([[2.0, 2.0, 1.0]])
    assert group_coefficients(x, 3 * x, [PEARSON])[PEARSON].tolist() == [1.0]
    assert group_coefficients(x, -3 * x, [PEARSON])[PEARSON].tolist() == [-1.0]
    one, both = np.array([[0.1, 0.1, 0.1], [2.0, 2.0, 1.0]]), np.concatenate([x, x])  # 3 * 0.1 / 3 is not 0.1
    for found in (group_coefficients(one, both, [PEARSON]), group_coefficients(both, one, [PEARSON])):
        np.testing.assert_array_equal(found[PEARSON], [math.nan, 1.0])


def test_without_a_threshold_only_equal_values_are_ties() -> None:
    x, y = np.array([[1.0, 1.5, 3.0]]), np.array([[2.0, 1.0, 3.0]])
    assert group_coefficients(x, y, [CALIBRATED])[CALIBRATED].tolist() == [2 / 3]


@pytest.mark.parametrize("size", [0, 1])
def test_too_small_groups_have_no_value(size: int) -> None:
    found = group_coefficients(np.zeros((2, size)), np.zeros((2, size)), COEFFICIENTS)
    assert all(np.isnan(values).all() and len(values) == 2 for values in found.values())


def test_large_groups_are_compared_in_several_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    x, y = generator.random((7, 4)), generator.integers(3, size=(7, 4)).astype(np.float64)
    whole = group_coefficients(x, y, COEFFICIENTS)
    monkeypatch.setattr("fcconan.scoring.correlation.coefficients.LARGEST", 32)
    for name, values in group_coefficients(x, y, COEFFICIENTS).items():
        np.testing.assert_array_equal(values, whole[name])


def test_coefficients_of_resampled_rows_equal_scipy() -> None:
    """Metrics: continuous, a scale, mostly ties at 0. People: a scale, and means with many values."""
    generator = np.random.default_rng(3)
    rows, units = 60, 12
    unit = generator.integers(units, size=rows)
    zeros = np.where(generator.random(rows) < 0.5, 0.0, generator.random(rows))
    x = np.stack([generator.random(rows), generator.integers(5, size=rows).astype(np.float64), zeros])
    y = np.stack([generator.integers(1, 6, size=rows).astype(np.float64), generator.random(rows)])
    pairs = [(metric, aspect) for metric in range(3) for aspect in range(2)]
    evaluate = WeightedCoefficients(x, y, unit, units, pairs, COEFFICIENTS, [0.1] * 6)
    weights = generator.multinomial(units, [1 / units] * units, size=70).T.astype(np.float64)
    found = evaluate(weights)
    for column in range(0, 70, 3):
        drawn = np.repeat(np.arange(rows), weights[unit, column].astype(np.int64))
        for position, (metric, aspect) in enumerate(pairs):
            for name, expected in _oracle(x[metric, drawn], y[aspect, drawn], 0.1).items():
                assert found[name][position, column] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_a_resample_that_is_constant_has_no_value() -> None:
    # Two units with one row each, and a third whose rows are alike: only draws with two different values count.
    x, y = np.array([[0.1, 0.7, 0.3, 0.3]]), np.array([[1.0, 2.0, 3.0, 3.0]])
    evaluate = WeightedCoefficients(x, y, np.array([0, 1, 2, 2]), 3, [(0, 0)], COEFFICIENTS)
    found = evaluate(np.array([[3.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 2.0], [0.0, 3.0, 0.0, 0.0]]))
    for name in (PEARSON, SPEARMAN, KENDALL_B, KENDALL_C):
        assert np.isnan(found[name][0, :3]).all()
        assert found[name][0, 3] == pytest.approx(8 / 9 if name == KENDALL_C else 1.0, abs=1e-12)
    np.testing.assert_array_equal(found[ACCURACY][0, :2], [1.0, 1.0])  # all pairs are tied by both
    assert np.isnan(found[ACCURACY][0, 2])  # nothing is drawn


def test_values_far_from_zero_keep_their_digits() -> None:
    generator = np.random.default_rng(1)
    x, y = generator.random((1, 50)) + 1e6, generator.random((1, 50)) - 1e6
    found = WeightedCoefficients(x, y, np.arange(50), 50, [(0, 0)], [PEARSON])(np.ones((50, 1)))
    assert found[PEARSON][0, 0] == pytest.approx(np.corrcoef(x[0] - 1e6, y[0] + 1e6)[0, 1], abs=1e-12)


def test_resamples_keep_their_digits_without_the_outliers_of_the_whole() -> None:
    # Far values on two sides, so that no centre is near all others; the last draw has constant values only.
    x = np.array([[1e12, 1e12 + 1, 1e12 + 3, 0.1, 0.2, 0.5, -1e12, -1e12]])
    y = np.array([[1.0, 3.0, 2.0, 5.0, 1.0, 2.0, 4.0, 4.0]])
    weights = np.array([[1, 1, 2, 0, 0, 0, 0, 0], [0, 0, 0, 1, 3, 2, 0, 0], [1] * 8, [0] * 6 + [2, 1]], float).T
    found = WeightedCoefficients(x, y, np.arange(8), 8, [(0, 0)], [PEARSON])(weights)[PEARSON][0]
    for column in range(3):
        drawn = np.repeat(np.arange(8), weights[:, column].astype(np.int64))
        expected = stats.pearsonr(x[0, drawn] - x[0, drawn[0]], y[0, drawn])[0]
        assert found[column] == pytest.approx(expected, abs=1e-9)
    assert np.isnan(found[3])


@pytest.mark.parametrize(
    "values, scale", [([], 1.0), ([0.0, 0.0], 1.0), ([3.0, -5.0], 4.0), ([0.25], 0.25), ([1e308], 2.0**1023)]
)
def test_the_scale_is_the_power_of_two_at_or_below_the_largest(values: list[float], scale: float) -> None:
    assert scale_of(np.array(values)) == scale
    np.testing.assert_allclose(rounded(np.array(values), scale), values, rtol=1e-12)


def test_draws_do_not_depend_on_the_size_of_the_blocks() -> None:
    generator = np.random.default_rng(0)
    evaluate = WeightedCoefficients(
        generator.random((1, 30)), generator.random((1, 30)), np.arange(30) % 10, 10, [(0, 0)], (SPEARMAN, KENDALL_B)
    )
    draws = resampled(evaluate, 10, resamples=300, seed=5)
    again = resampled(evaluate, 10, resamples=300, seed=5)
    assert draws[SPEARMAN].shape == (1, 300)
    for name, values in draws.items():
        np.testing.assert_array_equal(values, again[name])


def test_accuracy_by_chance_is_the_mean_over_all_permutations() -> None:
    from itertools import permutations

    x, y = np.array([0.0, 0.05, 0.3, 0.9, 0.9]), np.array([1.0, 2.0, 2.0, 3.0, 5.0])
    for threshold in (0.0, 0.1):
        values = [_accuracy(np.array(order), y, threshold) for order in permutations(x)]
        found = accuracy_by_chance(x[None], y[None], threshold=threshold)
        assert found[0] == pytest.approx(np.mean(values), abs=1e-12)
    large = np.tile(x, 10)
    tied = (3 * 45 + 190) / (50 * 49 / 2)
    counts = (45 + 190 + 45 + 45) / (50 * 49 / 2)
    found = accuracy_by_chance(large[None], np.tile(y, 10)[None])
    assert found[0] == pytest.approx(tied * counts + (1 - tied) * (1 - counts) / 2, abs=1e-12)
    assert np.isnan(accuracy_by_chance(np.zeros((1, 1)), np.zeros((1, 1)))[0])


def test_thresholds_follow_the_differences_and_not_their_rounding() -> None:
    values = np.sort(np.random.default_rng(0).random(60).round(2))
    for threshold in (0.0, 0.1, 0.29, 0.3):
        lowest = lowest_tied(values, threshold)
        for position, low in enumerate(lowest):
            assert np.flatnonzero(values[position] - values <= threshold)[0] == low


def test_unknown_coefficients_are_refused() -> None:
    with pytest.raises(InputError, match=r"^unknown coefficient 'spearmans': did you mean 'spearman'\?"):
        check_names("coefficient", ["pearson", "spearmans"], COEFFICIENTS)
