"""Prediction-powered estimates: ppi-python, values worked out by hand, a jackknife, and simulated worlds."""

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from fcconan.scoring.prediction_powered import (
    PartlyRated,
    PoweredEstimate,
    estimate_lambda,
    powered_estimate,
    summarise_ratings,
)

Floats = npt.NDArray[np.float64]
nan = math.nan


@pytest.fixture(scope="module")
def ppi() -> Any:
    """The functions of ppi-python, whose statsmodels warns as it is imported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ppi_py import ppi

        return ppi


def _sample(people: Floats, judged: Floats, items: Any = None, **more: Any) -> PartlyRated:
    numbers = np.arange(len(people)) if items is None else np.asarray(items)
    found = summarise_ratings(people, judged, numbers, int(numbers.max()) + 1, **more)
    assert found is not None
    return found


def _world(seed: int, n: int, n_all: int, *, noise: float = 0.7) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    truth = generator.normal(3, 1, n_all)
    judged = 0.5 + 0.8 * truth + noise * generator.normal(size=n_all)
    people = np.where(np.arange(n_all) < n, truth, nan)
    return people, judged


def _matched(judged: Floats, n: int) -> Floats:
    """Shifts and stretches the judge's values of unrated replies: then ppi-python's lambda and ours are one.

    It divides by the variance of all values (n - 1 below) around their mean, we by that of the rated (n below).
    """
    rated, rest = judged[:n], judged[n:]
    n_all, m = len(judged), len(rest)
    wanted = rated.var() * ((n_all - 1) - n) / m  # (n var + m wanted) / (n_all - 1) = var
    return np.concatenate([rated, (rest - rest.mean()) * np.sqrt(wanted / rest.var()) + rated.mean()])


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0])
def test_estimates_with_a_fixed_lambda_are_those_of_ppi_python(ppi: Any, power: float) -> None:
    n, n_all = 40, 250
    people, judged = _world(1, n, n_all)
    own = powered_estimate(_sample(people, judged), power=power)
    # Its lambda is of the mean over unrated replies.
    theirs = ppi.ppi_mean_pointestimate(people[:n], judged[:n], judged[n:], lam=power * (1 - n / n_all))
    assert own.value == pytest.approx(float(np.squeeze(theirs)), abs=1e-12)
    assert (own.n, own.n_all, own.n_items, own.power) == (n, n_all, n, power)


def test_lambda_and_intervals_are_those_of_ppi_python(ppi: Any) -> None:
    n, n_all = 60, 400
    people, judged = _world(2, n, n_all)
    judged = _matched(judged, n)
    own = estimate_lambda(_sample(people, judged))
    found = powered_estimate(_sample(people, judged), power=own)
    low, high = ppi.ppi_mean_ci(people[:n], judged[:n], judged[n:], alpha=0.05)  # it chooses lambda
    value = float(np.squeeze(ppi.ppi_mean_pointestimate(people[:n], judged[:n], judged[n:])))
    assert 0 < own < 1 and found.value == pytest.approx(value, abs=1e-9)
    assert found.low is not None and found.high is not None
    # It takes normal quantiles, and the variance of the rated replies has no degree of freedom for the mean.
    ours = (found.high - found.low) / 2 / stats.t.ppf(0.975, n - 1)
    theirs = float(np.squeeze(high) - np.squeeze(low)) / 2 / stats.norm.ppf(0.975)
    rectified = people[:n] - own * (1 - n / n_all) * judged[:n]
    assert ours**2 == pytest.approx(theirs**2 + rectified.var() / n / (n - 1), rel=1e-9)


def test_lambda_is_near_that_of_ppi_python_where_variances_differ(ppi: Any) -> None:
    n, n_all = 4_000, 40_000
    people, judged = _world(3, n, n_all)
    theirs = ppi._calc_lam_glm(people[:n], judged[:n], judged[n:], np.eye(1), clip=True)
    assert estimate_lambda(_sample(people, judged)) * (1 - n / n_all) == pytest.approx(theirs, rel=0.03)


def test_weighted_estimates_are_those_of_ppi_python(ppi: Any) -> None:
    """It takes the judge's mean over a sample of its own: here all replies."""
    n = 50
    people, judged = _world(4, n, 300)
    chances = np.random.default_rng(0).uniform(0.1, 0.9, 300)
    found = powered_estimate(_sample(people, judged, probabilities=chances), power=0.6)
    theirs = ppi.ppi_mean_pointestimate(people[:n], judged[:n], judged, lam=0.6, w=1 / chances[:n])
    assert found.value == pytest.approx(float(np.squeeze(theirs)), abs=1e-12)
    again = powered_estimate(_sample(people, judged, probabilities=chances / 7), power=0.6)
    assert again == found or again.value == pytest.approx(found.value, abs=1e-12)


def test_people_alone_have_the_interval_of_student() -> None:
    people, judged = np.array([1.0, 2, 4, 5, nan, nan]), np.array([3.0, 1, 2, 3, 1, 2])
    found = powered_estimate(_sample(people, judged), confidence=0.9)
    low, high = stats.t.interval(0.9, 3, 3.0, stats.sem([1, 2, 4, 5]))
    assert (found.people, found.people_low, found.people_high) == pytest.approx((3.0, low, high), abs=1e-12)


def test_an_estimate_by_hand() -> None:
    """Rated: people 1, 3, 2, 6, judge 1, 2, 3, 4; all six: judge 1, 2, 3, 4, 5, 6.

    The slope is (1.5*2 + .5*0 - .5*1 + 1.5*3) / 5 = 1.4, the judge's mean 3.5 of all and 2.5 of the rated: 3 + 1.4.
    """
    people, judged = np.array([1.0, 3, 2, 6, nan, nan]), np.arange(1.0, 7)
    sample = _sample(people, judged)
    assert estimate_lambda(sample) == pytest.approx(1.4, abs=1e-12)
    assert powered_estimate(sample, power=1.4).value == pytest.approx(4.4, abs=1e-12)
    # Of 14 squared deviations of people, 1.4 * 7 = 9.8 are explained; adjusted: 1 - (1 - .7) * 3 / 2.
    assert powered_estimate(sample).explained == pytest.approx(0.55, abs=1e-12)
    # The judge's mean of the rated replies is 1 below that of all; its errors are (f - 3.5) / 6, less (f - 2.5) / 4.
    terms = [-2.5 / 6 + 1.5 / 4, -1.5 / 6 + 0.5 / 4, -0.5 / 6 - 0.5 / 4, 0.5 / 6 - 1.5 / 4, 1.5 / 6, 2.5 / 6]
    assert powered_estimate(sample).shift == pytest.approx(1 / math.sqrt(sum(term**2 for term in terms)), abs=1e-12)


def test_the_interval_counts_the_uncertainty_of_lambda() -> None:
    n, n_all = 30, 120
    people, judged = _world(5, n, n_all)
    found = powered_estimate(_sample(people, judged))
    y, f = people[:n], judged[:n]
    slope = float(np.cov(y, f, ddof=0)[0, 1] / f.var())
    assert found.power == pytest.approx(slope, abs=1e-12)
    gap = judged.mean() - f.mean()
    rest = (y - y.mean()) - slope * (f - f.mean())
    errors = slope * (judged - judged.mean()) / n_all
    errors[:n] += rest / n
    sandwich = float(((rest * (f - f.mean())) ** 2).sum()) / float(((f - f.mean()) ** 2).sum()) ** 2
    errors[:n] *= math.sqrt(n / (n - 1))
    variance = (n - 1) / (n - 2) * float((errors**2).sum()) + gap**2 * sandwich
    assert found.high is not None
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, n - 2) * math.sqrt(variance), rel=1e-9)
    assert found.people_high is not None and found.n_effective is not None and found.width_ratio is not None
    ratio = (found.high - found.value) / (found.people_high - found.people)
    assert (found.width_ratio, found.n_effective) == pytest.approx((ratio, n / ratio**2))
    assert ratio < 0.95


@pytest.mark.parametrize("judge", ["contradicts", "constant", "missing", "noise"])
def test_a_judge_that_does_not_help_leaves_people_alone(judge: str) -> None:
    people, judged = _world(6, 20, 100)
    noise = np.random.default_rng(11).normal(size=100)
    judged = {"contradicts": -judged, "constant": judged * 0 + 2, "missing": judged * nan, "noise": noise}[judge]
    found = powered_estimate(_sample(people, judged))
    assert judge == "noise" or estimate_lambda(_sample(people, judged)) == 0.0
    assert (found.power, found.value, found.n_effective) == (0.0, found.people, 20)
    assert (found.low, found.high) == (found.people_low, found.people_high)
    assert found.n_unjudged == (100 if judge == "missing" else 0)


def test_a_missing_value_of_the_judge_counts_as_its_mean() -> None:
    people, judged = _world(7, 20, 60)
    judged[[3, 30]] = nan
    filled = np.where(np.isfinite(judged), judged, np.nanmean(judged))
    found, expected = powered_estimate(_sample(people, judged)), powered_estimate(_sample(people, filled))
    assert found.n_unjudged == 2
    assert (found.value, found.low, found.high) == pytest.approx((expected.value, expected.low, expected.high))


def test_unequal_weights_have_fewer_degrees_of_freedom() -> None:
    """Weights 1/2, 1/4 and 1/4 count as 1 / (1/4 + 1/16 + 1/16) = 8/3 items; grades 1, 2, 4 have the mean 2."""
    people, judged = np.array([1.0, 2, 4, nan]), np.array([1.0, 1, 1, 1])
    found = powered_estimate(_sample(people, judged, probabilities=np.array([0.25, 0.5, 0.5, 1.0])))
    variance = (1 / 2) ** 2 / (1 / 2) + 0 + (2 / 4) ** 2 / (3 / 4)
    assert found.people == pytest.approx(2.0) and found.people_high is not None
    assert found.people_high - 2 == pytest.approx(stats.t.ppf(0.975, 5 / 3) * math.sqrt(variance), rel=1e-9)


def test_equal_ratings_are_equal_however_sums_are_rounded() -> None:
    for seed in range(30):
        people, judged = _world(seed, 7, 30)
        chances = np.random.default_rng(seed).uniform(0.1, 0.9, 30)
        equal = powered_estimate(_sample(np.where(np.isfinite(people), 3.7, nan), judged, probabilities=chances))
        assert (equal.reason, equal.low) == ("constant", None)
        assert equal.people == pytest.approx(3.7)
        constant = powered_estimate(_sample(people, np.full(30, 3.7), probabilities=chances))
        assert (constant.power, constant.value, constant.explained) == (0.0, constant.people, 0.0)


def test_items_are_clusters() -> None:
    """Every reply twice under one item is no further information; under items of their own it seems to be."""
    people, judged = _world(8, 15, 60)
    once = powered_estimate(_sample(people, judged))
    twice = np.repeat(people, 2), np.repeat(judged, 2)
    same = powered_estimate(_sample(*twice, np.repeat(np.arange(60), 2)))
    assert (same.value, same.low, same.high) == pytest.approx((once.value, once.low, once.high), abs=1e-12)
    assert (same.n, same.n_items, same.n_all) == (30, 15, 120)
    naive = powered_estimate(_sample(*twice))
    assert naive.high is not None and once.high is not None and naive.high - naive.value < once.high - once.value


def test_a_paired_difference_is_the_mean_of_differences() -> None:
    first, second = _world(9, 25, 80), _world(10, 25, 80)
    shared = np.random.default_rng(3).normal(size=80)
    a, b = (tuple(values + shared for values in each) for each in (first, second))
    found = powered_estimate(_sample(*a) - _sample(*b))
    expected = powered_estimate(_sample(a[0] - b[0], a[1] - b[1]))
    assert (found.value, found.low, found.high, found.power) == pytest.approx(
        (expected.value, expected.low, expected.high, expected.power), abs=1e-9
    )
    assert (found.n, found.n_items, found.n_all) == (50, 25, 160)


def test_an_unpaired_difference_adds_variances() -> None:
    """People rated other items of each system; degrees of freedom follow the smaller one."""
    people, judged = _world(12, 80, 80)
    a = _sample(people[:30], judged[:30], np.arange(30))
    b = _sample(people[30:], judged[30:], np.arange(30, 80))
    padded = summarise_ratings(people[:30], judged[:30], np.arange(30), 80)
    assert padded is not None
    found = powered_estimate(padded - b)
    variance = people[:30].var() / 29 + people[30:].var() / 49
    assert found.people_high is not None
    assert found.people_high - found.people == pytest.approx(stats.t.ppf(0.975, 29) * math.sqrt(variance), rel=1e-9)
    assert (found.n_items, a.n_items) == (30, 30)


def test_too_few_or_equal_ratings_have_no_interval() -> None:
    judged = np.arange(6.0)
    assert summarise_ratings(np.full(6, nan), judged, np.arange(6), 6) is None
    one = powered_estimate(_sample(np.array([3.0, 3, nan, nan, nan, nan]), judged, [0, 0, 1, 2, 3, 4]))
    assert (one.reason, one.low, one.n_effective, one.value) == ("too_few_items", None, None, 3.0)
    equal = powered_estimate(_sample(np.array([3.0, 3, 3, nan, nan, nan]), judged))
    assert (equal.reason, equal.high, equal.value) == ("constant", None, 3.0)
    two = powered_estimate(_sample(np.array([3.0, 4, nan, nan, nan, nan]), judged))
    assert (two.reason, two.power) == (None, 0.0)  # no degree of freedom is left for lambda


def _coverage(worlds: int, n: int, slope: float, noise: float, seed: int) -> tuple[float, float]:
    """Coverage of the true mean, and the largest relative width; grades from 1 to 5, two replies to an item."""
    generator = np.random.default_rng(seed)
    n_items, hits, widest = 2 * n, 0, 0.0
    items = np.repeat(np.arange(n_items), 2)
    # Symmetric around 3, so that the true mean is 3.
    for _ in range(worlds):
        latent = np.repeat(generator.normal(size=n_items), 2) * 0.6 + generator.normal(size=2 * n_items) * 0.8
        grades = np.clip(np.round(3 + latent), 1, 5)
        judged = slope * latent + noise * generator.normal(size=2 * n_items)
        people = np.where(generator.permutation(2 * n_items) < n, grades, nan)
        found = powered_estimate(_sample(people, judged, items))
        hits += _within(found, 3.0)
        widest = max(widest, found.width_ratio or 0.0)
    return hits / worlds, widest


def _within(found: PoweredEstimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low <= truth <= found.high


JUDGES = {"good": (1.0, 0.4), "useless": (0.0, 1.0), "adversarial": (-1.0, 0.3)}


@pytest.mark.parametrize("judge", JUDGES)
def test_simulated_worlds_are_covered(judge: str) -> None:
    covered, widest = _coverage(300, 50, *JUDGES[judge], seed=1)
    low, high = stats.binom.interval(0.99, 300, 0.95)
    assert low / 300 <= covered <= high / 300
    assert widest <= 1.0 + 1e-12


@pytest.mark.long
@pytest.mark.parametrize("n", [50, 100, 200])
@pytest.mark.parametrize("judge", JUDGES)
def test_many_simulated_worlds_are_covered(judge: str, n: int) -> None:
    covered, widest = _coverage(4_000, n, *JUDGES[judge], seed=n)
    low, high = stats.binom.interval(0.999, 4_000, 0.95)
    assert low / 4_000 <= covered <= high / 4_000
    assert widest <= 1.0 + 1e-12
