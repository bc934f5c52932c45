"""The step-down max-T adjustment, against loops over all sign vectors."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from fcconan.scoring.significance import intervals
from fcconan.scoring.significance.families import Family, all_sign_vectors, p_floor, sign_flip_tests, step_down

Floats = npt.NDArray[np.float64]
nan = math.nan


def _all_signs(n_units: int) -> list[tuple[int, ...]]:
    return list(itertools.product((1, -1), repeat=n_units))


def _statistic(signs: Sequence[int], differences: Sequence[float]) -> float:
    """|sum of s d| / sqrt(sum of d^2), in a loop; nan is left out."""
    kept = [(sign, value) for sign, value in zip(signs, differences, strict=True) if not math.isnan(value)]
    square = math.fsum(value * value for _, value in kept)
    return abs(math.fsum(sign * value for sign, value in kept)) / math.sqrt(square) if square else 0.0


def _naive(differences: list[list[float]]) -> list[float]:
    """Adjusted p over all sign vectors, as in box 4 of Ge, Dudoit and Speed (2003), with (c + 1) / (n + 1)."""
    observed = [_statistic([1] * len(row), row) for row in differences]
    order = sorted(range(len(differences)), key=lambda test: -observed[test])
    vectors = _all_signs(len(differences[0]))
    adjusted = [0.0] * len(differences)
    previous = 0.0
    for place, test in enumerate(order):
        at_least = 0
        for signs in vectors:
            successors = max(_statistic(signs, differences[other]) for other in order[place:])
            at_least += successors >= observed[test] - 1e-9
        previous = max(previous, (at_least + 1) / (len(vectors) + 1))
        adjusted[test] = previous
    return adjusted


def _null(differences: Floats) -> list[Floats]:
    vectors = np.array(_all_signs(differences.shape[1]), dtype=np.float64)
    filled = np.nan_to_num(differences)
    norm = np.sqrt((filled**2).sum(axis=1))
    statistics = np.abs(vectors @ filled.T) / np.where(norm == 0, 1, norm)
    return [statistics[:3], statistics[3:4], statistics[4:]]


def _observed(differences: Floats) -> Floats:
    return np.array([_statistic([1] * differences.shape[1], row) for row in differences.tolist()])


CASES = {
    "one large, one small": [[0.5, 0.4, 0.6, 0.5, 0.3, 0.7], [0.1, -0.1, 0.2, 0.1, -0.3, 0.2]],
    "scales differ": [[50, 40, 60, 50, 30, 70], [0.01, 0.012, 0.02, 0.01, -0.003, 0.02]],
    "ties and zeros": [[1, 1, 0, 0, 1, 1], [1, 0, 0, -1, 0, 1], [0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]],
    "missing units": [[1, 0.5, nan, nan, 0.2, 0.9], [0.3, 0.1, 0.2, 0.5, 0.4, 0.6], [nan, nan, nan, nan, nan, 2]],
}


@pytest.mark.parametrize("rows", CASES.values(), ids=CASES.keys())
def test_adjusted_p_values_are_those_of_a_loop_over_all_signs(rows: list[list[float]]) -> None:
    differences = np.array(rows, dtype=np.float64)
    np.testing.assert_allclose(step_down(_observed(differences), _null(differences)), _naive(rows), atol=1e-15)


def test_adjusted_p_values_by_hand() -> None:
    # Statistics 3, 2 and 1; of four draws, the largest of all three reaches 3 once; of the last two, 2 twice (.5, 1.9,
    # 2, 2.5); the last reaches 1 in two. (1 + 1) / 5, (2 + 1) / 5 and, made monotone, (2 + 1) / 5.
    null = np.array([[0.2, 0.5, 0.5], [3.5, 1.9, 0.1], [0, 2, 1], [0, 2.5, 1]], dtype=np.float64)
    np.testing.assert_allclose(step_down(np.array([3.0, 2.0, 1.0]), [null]), [0.4, 0.6, 0.6], atol=1e-15)
    # With families of their own: 1, 2 and 2 draws.
    apart = step_down(np.array([3.0, 2.0, 1.0]), [null], families=np.array([7, -1, 2]))
    np.testing.assert_allclose(apart, [0.4, 0.6, 0.6], atol=1e-15)
    # The third test first within its family: the second and third of one, in which the first has no part.
    together = step_down(np.array([1.0, 2.0, 3.0]), [null[:, ::-1]], families=np.array([1, 1, 0]))
    np.testing.assert_allclose(together, [0.6, 0.6, 0.4], atol=1e-15)


def test_a_test_that_cannot_be_made_changes_nothing() -> None:
    null = np.array([[0.2, nan, 0.5], [3.5, nan, 0.1]], dtype=np.float64)
    adjusted = step_down(np.array([1.0, nan, 0.3]), [null])
    np.testing.assert_array_equal(adjusted, [2 / 3, nan, 2 / 3])
    assert np.isnan(step_down(np.array([nan]), [np.full((5, 1), nan)])).all()
    assert step_down(np.zeros(0), [np.zeros((3, 0))]).shape == (0,)


def test_an_undefined_statistic_of_a_draw_hides_no_other() -> None:
    # The first draw lacks the smaller test; the larger of its other statistics still counts.
    null = np.array([[5.0, nan], [0.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(step_down(np.array([4.0, 1.0]), [null]), [0.5, 0.5])


SAMPLES = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(0.3, 1, (5, 12)).round(1)  # rounded: ties occur
)


@given(differences=SAMPLES, seed=st.integers(0, 99))
def test_properties_of_adjusted_p_values(differences: Floats, seed: int) -> None:
    found = sign_flip_tests(differences, resamples=199, seed=seed)
    assert (found.p_corrected >= found.p).all()
    statistics = np.abs(differences.sum(axis=1)) / np.sqrt((differences**2).sum(axis=1))
    assert (np.diff(found.p_corrected[np.argsort(-statistics, kind="stable")]) >= 0).all()
    assert found.p_corrected.min() >= 1 / 200
    assert found.p_corrected.max() <= 1
    # The bound of Bonferroni.
    order = np.argsort(-statistics, kind="stable")
    assert found.p_corrected[order[0]] * 200 - 1 <= (found.p * 200 - 1).sum() + 1e-9


@given(differences=SAMPLES, seed=st.integers(0, 99))
def test_order_sign_scale_and_duplicates_do_not_matter(differences: Floats, seed: int) -> None:
    found = sign_flip_tests(differences, resamples=99, seed=seed)
    order = np.random.default_rng(seed).permutation(len(differences))
    permuted = sign_flip_tests(differences[order], resamples=99, seed=seed)
    np.testing.assert_array_equal(permuted.p_corrected, found.p_corrected[order])
    rescaled = sign_flip_tests(differences * np.array([[-1], [1000], [2], [1], [7]]), resamples=99, seed=seed)
    np.testing.assert_array_equal(rescaled.p_corrected, found.p_corrected)
    twice = sign_flip_tests(np.concatenate([differences, differences]), resamples=99, seed=seed)
    np.testing.assert_array_equal(twice.p_corrected, np.tile(found.p_corrected, 2))


def test_a_family_of_one_is_not_corrected_and_a_duplicate_costs_nothing() -> None:
    differences = np.random.default_rng(1).normal(0.5, 1, (1, 20))
    alone = sign_flip_tests(differences, resamples=999, seed=3)
    np.testing.assert_array_equal(alone.p_corrected, alone.p)
    twice = sign_flip_tests(np.tile(differences, (2, 1)), resamples=999, seed=3)
    np.testing.assert_array_equal(twice.p_corrected, alone.p.repeat(2))


def test_families_are_adjusted_apart() -> None:
    differences = np.random.default_rng(2).normal(0.2, 1, (6, 15))
    families = np.array([1, 0, 1, 0, 0, 1])
    found = sign_flip_tests(differences, families=families, resamples=499, seed=8).p_corrected
    for label in (0, 1):
        own = sign_flip_tests(differences[families == label], resamples=499, seed=8).p_corrected
        np.testing.assert_array_equal(found[families == label], own)


@pytest.mark.parametrize("chunk", [40, 100, 4_000_000])
def test_unadjusted_p_values_are_those_of_tests_of_one_pair_at_a_time(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intervals, "CHUNK", chunk)
    values = np.random.default_rng(4).integers(0, 4, (4, 20)) / 3.0  # discrete: many sums are equal
    values[1, :5] = nan
    values[2] = values[0]
    pairs = list(itertools.combinations(range(4), 2))
    differences = np.array([values[a] - values[b] for a, b in pairs])
    found = sign_flip_tests(differences, resamples=500, seed=6)
    for row, difference, p_value in zip(differences, found.difference, found.p, strict=True):
        # The signs of `bench` have always been drawn like this; all pairs share them.
        generator = np.random.default_rng(6)
        sizes = [max(1, chunk // 20)] * (500 // max(1, chunk // 20)) + [500 % max(1, chunk // 20)]
        signs = np.concatenate([generator.integers(2, size=(size, 20)) for size in sizes]) * 2 - 1
        sums = np.abs(np.nansum(signs * row, axis=1))
        assert p_value == ((sums >= abs(np.nansum(row)) - 1e-9).sum() + 1) / 501
        assert difference == pytest.approx(np.nanmean(row), abs=1e-15)
    assert found.p[pairs.index((0, 2))] == found.p_corrected[pairs.index((0, 2))] == 1


def test_chunks_do_not_change_adjusted_p_values(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(5).normal(0.2, 1, (7, 16))
    whole = sign_flip_tests(differences, resamples=300, seed=1)
    monkeypatch.setattr(intervals, "CHUNK", 50)  # 3 draws at a time; products in chunks of 7 draws
    np.testing.assert_array_equal(sign_flip_tests(differences, resamples=300, seed=1).p_corrected, whole.p_corrected)


def test_tests_without_units_and_without_differences() -> None:
    found = sign_flip_tests(np.array([[nan, nan], [0, 0], [1, nan]], dtype=np.float64), resamples=50)
    np.testing.assert_array_equal(found.p, [nan, 1, 1])
    np.testing.assert_array_equal(found.p_corrected, [nan, 1, 1])
    np.testing.assert_array_equal(found.difference, [nan, 0, 1])
    assert sign_flip_tests(np.zeros((0, 5))).p_corrected.shape == (0,)
    assert np.isnan(sign_flip_tests(np.zeros((2, 0)), resamples=9).p).all()


def test_many_tests_have_the_floor_of_one() -> None:
    differences = np.random.default_rng(0).normal(0, 0.1, (896, 45))
    differences[17] = 1.0
    assert sign_flip_tests(differences, resamples=999).p_corrected[17] == 1 / 1000


@pytest.mark.parametrize(
    ("draws", "units", "floor"),
    [(9_999, None, 1e-4), (9_999, 45, 1e-4), (99, 5, 1 / 16), (9_999, 1, 1), (9_999, 0, 1)],
)
def test_floor(draws: int, units: int | None, floor: float) -> None:
    assert p_floor(draws, units) == pytest.approx(floor, abs=1e-15)


def test_the_floor_of_few_units_is_that_of_all_sign_vectors() -> None:
    # All 2^4 sign vectors of equal differences: two of them reach the sum.
    reached = sum(abs(sum(signs)) == 4 for signs in _all_signs(4)) / 16
    assert p_floor(10**9, 4) == reached


@pytest.mark.parametrize(("units", "draws", "n_ways"), [(0, 9, 0), (1, 9, 0), (4, 7, 7), (4, 6, None), (60, 99, None)])
def test_all_ways_to_flip_units_come_once_and_without_mirror_images(units: int, draws: int, n_ways: int | None) -> None:
    found = all_sign_vectors(units, draws)
    if found is None:
        assert n_ways is None
        return
    ways = {tuple(row) for row in found.tolist()}
    mirrored = {tuple(1 - flip for flip in way) for way in ways}
    assert (len(found), found.shape[1], len(ways | mirrored)) == (n_ways, units, 2 * (n_ways or 0))
    assert not ways & {(0,) * units, (1,) * units}


def test_p_of_few_units_is_exact() -> None:
    """The shares of all 2^6 sign vectors in which the statistic, or the largest of its successors, is reached."""
    differences = np.random.default_rng(3).integers(-3, 6, (4, 6)).astype(np.float64)
    scale = np.sqrt((differences**2).sum(axis=1))
    observed = np.abs(differences.sum(axis=1)) / scale
    drawn = [np.abs(differences @ np.array(signs)) / scale for signs in _all_signs(6)]
    order = np.argsort(-observed, kind="stable")
    adjusted, before = np.zeros(4), 0.0
    for place, test in enumerate(order):
        reached = np.mean([max(one[order[place:]]) >= observed[test] - 1e-9 for one in drawn])
        adjusted[test] = before = max(before, float(reached))
    for seed in (0, 1):
        found = sign_flip_tests(differences, resamples=31, seed=seed)
        np.testing.assert_allclose(found.p, np.mean([one >= observed - 1e-9 for one in drawn], axis=0), atol=1e-15)
        np.testing.assert_allclose(found.p_corrected, adjusted, atol=1e-15)


def test_no_p_is_below_the_floor() -> None:
    """Equal differences reach the floor; random signs alone would give some seeds a smaller p."""
    sparse = np.full((2, 40), nan)
    sparse[0, :4], sparse[1, 30:35] = 1.0, 2.0
    for seed in range(40):
        for draws in (6, 30, 200):
            for differences in (np.ones((1, 4)), np.ones((1, 5)), sparse):
                found = sign_flip_tests(differences, resamples=draws, seed=seed)
                floors = [p_floor(draws, units) for units in np.isfinite(differences).sum(axis=1).tolist()]
                assert (found.p >= floors).all()
                assert (found.p_corrected >= found.p).all()


def test_a_family_says_whether_anything_can_be_significant() -> None:
    family = Family("primary", "all pairs", 3, 0.25)
    assert family.to_json() == {
        "name": "primary",
        "tests": "all pairs",
        "n_tests": 3,
        "floor": 0.25,
        "correction": "max-t",
    }
    assert family.note("--resamples") == (
        "no test of the primary family can be significant: its smallest corrected p is 0.25; raise --resamples to 20 "
        "or more"
    )
    assert Family("primary", "all pairs", 3, 0.05).note("--resamples") is None
    assert Family("primary", "all pairs", 0, None, "holm").note("--resamples") is None
    few = Family("primary", "all pairs", 3, p_floor(10_000, 4), units=4)
    assert few.to_json()["units"] == 4
    assert few.note("--resamples") == (
        "no test of the primary family can be significant: its smallest corrected p is 0.125 with 4 paired units; 6 "
        "units or more are needed, more --resamples do not help"
    )
