import math
import tracemalloc

import evalica
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fcconan.scoring.arrays import Floats
from fcconan.scoring.significance.intervals import bootstrap_means, percentile_interval
from fcconan.scoring.tournament.bradley_terry import (
    components,
    connected,
    score_tournament,
    separated,
    strengths,
)


def _random_wins(seed: int, systems: int = 6) -> Floats:
    generator = np.random.default_rng(seed)
    wins = generator.integers(0, 9, size=(systems, systems)) + generator.integers(0, 2, size=(systems, systems)) / 2
    np.fill_diagonal(wins, 0.0)
    wins[0, 1] = wins[1, 0] = 0.0  # a pair that never met
    return wins


def _logistic_regression(design: Floats, outcome: Floats, weights: Floats, regularisation: float) -> Floats:
    """The same model from scikit-learn: its penalty is 1 / (2 C) times the sum of squares."""
    model = LogisticRegression(
        C=1 / regularisation, fit_intercept=False, solver="newton-cholesky", tol=1e-13, max_iter=500
    )
    model.fit(design, outcome, sample_weight=weights)
    return np.asarray(model.coef_[0])


def _design(wins: Floats) -> tuple[Floats, Floats, Floats]:
    rows, columns = np.nonzero(wins)
    design = np.zeros((2 * len(rows), len(wins)))
    design[np.arange(len(rows)), rows], design[np.arange(len(rows)), columns] = 1.0, -1.0
    design[len(rows) :] = -design[: len(rows)]  # both orders, so that both outcomes occur
    weights = np.tile(wins[rows, columns] / 2, 2)
    return design, np.repeat([1.0, 0.0], len(rows)), weights


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("regularisation", [0.01, 1.0])
def test_equals_scikit_learns_penalised_logistic_regression(seed: int, regularisation: float) -> None:
    wins = _random_wins(seed)
    expected = _logistic_regression(*_design(wins), regularisation)
    assert strengths(wins, regularisation=regularisation) == pytest.approx(expected - expected.mean(), abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_with_next_to_no_regularisation_equals_evalica(seed: int) -> None:
    wins = _random_wins(seed)
    rows, columns = np.nonzero(wins)
    result = evalica.bradley_terry(
        rows.tolist(),
        columns.tolist(),
        [evalica.Winner.X] * len(rows),
        weights=wins[rows, columns].tolist(),
        tolerance=1e-13,
        limit=100_000,
        solver="naive",
    )
    expected = np.log(result.scores.sort_index().to_numpy())
    assert strengths(wins, regularisation=1e-10) == pytest.approx(expected - expected.mean(), abs=1e-7)


def test_two_systems_by_hand() -> None:
    # 3 of 4 points: without the prior the log odds are log 3. With it, s and -s solve 3 - 4 / (1 + exp(-2 s)) = 0.01 s.
    strength = strengths(np.array([[0.0, 3.0], [1.0, 0.0]]))
    assert strength[0] == -strength[1]
    assert 3 - 4 / (1 + math.exp(-2 * strength[0])) == pytest.approx(0.01 * strength[0], abs=1e-12)
    assert 2 * strength[0] == pytest.approx(math.log(3), abs=0.02)


def test_a_system_that_never_loses_stays_finite_and_the_gradient_is_zero() -> None:
    wins = np.array([[0.0, 40.0, 40.0], [0.0, 0.0, 25.0], [0.0, 15.0, 0.0]])
    found = strengths(wins)
    probability = 1 / (1 + np.exp(found[None, :] - found[:, None]))
    gradient = wins.sum(axis=1) - ((wins + wins.T) * probability).sum(axis=1) - 0.01 * found
    assert np.abs(gradient).max() < 1e-10
    assert found[0] > found[1] > found[2]
    assert np.isfinite(found).all()
    assert separated(wins) == [[0], [1, 2]]


def test_extreme_counts_converge() -> None:
    wins = np.array([[0.0, 1e6, 0.0], [0.0, 0.0, 1e6], [0.5, 0.0, 0.0]])
    found = strengths(wins, regularisation=1e-4)
    assert found[0] > found[1] > found[2]
    assert found.sum() == pytest.approx(0.0, abs=1e-12)


def test_many_fits_at_once_equal_single_ones_from_any_start() -> None:
    many = np.stack([_random_wins(seed) for seed in range(30)]).reshape(5, 6, 6, 6)
    together = strengths(many, start=np.array([3.0, -2.0, 0.0, 5.0, 1.0, -9.0]))
    assert together.shape == (5, 6, 6)
    for row in range(5):
        for column in range(6):
            assert together[row, column] == pytest.approx(strengths(many[row, column]), abs=1e-9)


def test_all_ties_are_equal_strengths() -> None:
    assert strengths(np.full((4, 4), 0.5)).tolist() == [0.0] * 4


def test_a_regularisation_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError, match="the regularisation is 0, expected a number above 0"):
        strengths(np.zeros((2, 2)), regularisation=0)


def test_components_and_connection() -> None:
    wins = np.zeros((5, 5))
    wins[0, 3] = wins[3, 4] = wins[1, 2] = 1.0
    assert components(wins) == [[0, 3, 4], [1, 2]]
    assert connected(np.stack([wins, wins + np.eye(5, k=1)])).tolist() == [False, True]


def test_groups_that_win_everything_come_first() -> None:
    # 2 and 3 share points, both beat 1; 1 beats 0 and 4, which never met.
    wins = np.zeros((5, 5))
    wins[2, 3] = wins[3, 2] = wins[2, 1] = wins[3, 1] = wins[1, 0] = wins[1, 4] = 1.0
    assert separated(wins) == [[2, 3], [1], [0], [4]]
    wins[0, 2] = wins[4, 2] = 0.5
    assert separated(wins) == [[0, 1, 2, 3, 4]]


def test_a_long_chain_is_connected() -> None:
    chain = np.eye(33, k=1)
    assert connected(chain).all()
    assert len(separated(chain)) == 33


def _simulated(generator: np.random.Generator, truth: Floats, items: int) -> Floats:
    """Every pair of systems once on every item."""
    per_item = np.zeros((items, len(truth), len(truth)))
    for a in range(len(truth)):
        for b in range(a):
            won = generator.random(items) < 1 / (1 + math.exp(truth[b] - truth[a]))
            per_item[:, a, b], per_item[:, b, a] = won, ~won
    return per_item


def test_intervals_hold_the_truth_in_19_of_20_simulations() -> None:
    truth = np.array([0.8, 0.3, -0.2, -0.9])
    generator = np.random.default_rng(5)
    simulations, hits = 250, 0
    for simulation in range(simulations):
        found = score_tournament(_simulated(generator, truth, 200), 0.01, 300, simulation)
        low, high = percentile_interval(found.drawn_strengths)
        hits += int(((low <= truth) & (truth <= high)).sum())
    assert hits / (simulations * len(truth)) == pytest.approx(0.95, abs=0.015)


def test_resampled_counts_are_the_means_of_bootstrap_means_bit_by_bit_and_copied_once() -> None:
    per_item = np.random.default_rng(0).integers(0, 3, size=(2000, 12, 12)) / 2
    tracemalloc.start()
    try:
        found = score_tournament(per_item, 0.01, 30, 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < per_item.nbytes  # a copy of the counts, or of their transpose, would be as large
    sums = (bootstrap_means(per_item.reshape(2000, -1).T, resamples=30, seed=1) * 2000).reshape(30, 12, 12)
    points = sums.sum(axis=2)
    assert (found.drawn_shares == 100 * points / points.sum(axis=1, keepdims=True)).all()


def test_resamples_that_connect_nothing_have_no_strengths() -> None:
    # Systems 0 and 1 met on the first item only, 1 and 2 on the second only.
    per_item = np.zeros((2, 3, 3))
    per_item[0, 0, 1] = per_item[1, 1, 2] = 1.0
    found = score_tournament(per_item, 0.01, 200, 0)
    undefined = np.isnan(found.drawn_strengths)
    assert (undefined.all(axis=1) == undefined.any(axis=1)).all()
    assert 60 < undefined.all(axis=1).sum() < 140  # half of the resamples draw one item twice
    assert not np.isnan(found.drawn_shares).any()
