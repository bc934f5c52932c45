"""The message-specific score against scikit-learn and loops over pairs."""

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fcconan.errors import InputError
from fcconan.scoring import Floats, Ints, message_auc, message_auc_difference
from fcconan.scoring.retrieval.two_way import two_way_draws

NAN = math.nan


def _case(n_hs: int = 9, n_cns: int = 6, repeats: int = 1) -> tuple[Floats, Floats]:
    """Scores with ties, missing and left-out ones; labels with gaps, and a CN with one kind of label only."""
    generator = np.random.default_rng(11)
    scores = generator.integers(0, 6, size=(repeats, n_hs, n_cns)) / 5
    scores[generator.random(scores.shape) < 0.1] = NAN
    scores[generator.random(scores.shape) < 0.1] = -math.inf
    labels = generator.integers(0, 2, size=(n_hs, n_cns)).astype(np.float64)
    labels[generator.random(labels.shape) < 0.2] = NAN
    labels[:, 2] = np.where(np.isnan(labels[:, 2]), NAN, 1)
    return scores, labels


def _loop(
    scores: Floats, labels: Floats, folds: Ints, of_hs: Floats, of_cns: Floats
) -> tuple[float, float, list[float]]:
    """Returns weighted wins and pairs, and the share within each CN, by loops."""
    wins, pairs, by_cn = 0.0, 0.0, []
    for cn in range(labels.shape[1]):
        own = []
        for p, n in itertools.product(range(len(labels)), repeat=2):
            if not (labels[p, cn] == 1 and labels[n, cn] == 0):
                continue
            outcomes = []
            for repeat in range(len(scores)):
                a, b = scores[repeat, p, cn], scores[repeat, n, cn]
                if folds[repeat, p] == folds[repeat, n] and not (math.isnan(a) or math.isnan(b)):
                    outcomes.append(1.0 if a > b else 0.5 if a == b else 0.0)
            if outcomes:
                weight = of_cns[cn] * of_hs[p] * of_hs[n]
                own.append(sum(outcomes) / len(outcomes))
                wins += weight * own[-1]
                pairs += weight
        by_cn += [sum(own) / len(own)] if own else []
    return wins, pairs, by_cn


@pytest.mark.parametrize("with_folds", [False, True])
@pytest.mark.parametrize(("n_hs", "repeats"), [(9, 1), (14, 4)])
def test_value_and_every_resample_are_those_of_loops_over_pairs(n_hs: int, repeats: int, with_folds: bool) -> None:
    scores, labels = _case(n_hs, repeats=repeats)
    drawn = np.random.default_rng(0).integers(0, 3, size=(repeats, n_hs))
    folds = drawn if with_folds else np.zeros_like(drawn)
    found = message_auc(scores, labels, folds=drawn if with_folds else None, resamples=40, confidence=0.9, seed=4)
    wins, pairs, by_cn = _loop(scores, labels, folds, np.ones(n_hs), np.ones(6))
    assert found.value == pytest.approx(wins / pairs, abs=1e-12)
    assert found.by_cn == pytest.approx(sum(by_cn) / len(by_cn), abs=1e-12)
    assert (found.n_pairs, found.n_cns) == (pairs, len(by_cn))
    assert found.n_cns <= 5  # the third CN has positives only
    ((of_hs, of_cns),) = two_way_draws(n_hs, 6, 40, 4)
    expected = []
    for draw in range(40):
        wins, pairs, _ = _loop(scores, labels, folds, of_hs[draw], of_cns[draw])
        expected.append(wins / pairs if pairs else NAN)
    np.testing.assert_allclose(found.resampled, expected, rtol=0, atol=1e-12)
    kept = [value for value in expected if not math.isnan(value)]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(kept, [0.05, 0.95])), abs=1e-12)


def test_within_a_cn_it_is_the_area_under_the_roc_curve() -> None:
    generator = np.random.default_rng(2)
    labels = generator.integers(0, 2, size=(30, 5)).astype(np.float64)
    scores = generator.integers(0, 8, size=(30, 5)).astype(np.float64) + labels
    found = message_auc(scores, labels, resamples=1, confidence=0.95, seed=0)
    areas = [roc_auc_score(labels[:, cn], scores[:, cn]) for cn in range(5)]
    sizes = [labels[:, cn].sum() * (1 - labels[:, cn]).sum() for cn in range(5)]
    assert found.by_cn == pytest.approx(np.mean(areas), abs=1e-12)
    assert found.value == pytest.approx(np.average(areas, weights=sizes), abs=1e-12)


def test_popularity_alone_is_at_chance_and_reading_is_not() -> None:
    labels = np.random.default_rng(1).integers(0, 2, size=(12, 7)).astype(np.float64)
    popular = np.broadcast_to(labels.mean(axis=0), labels.shape)
    found = message_auc(np.array(popular), labels, resamples=50, confidence=0.95, seed=0)
    assert (found.value, found.low, found.high, found.by_cn) == (0.5, 0.5, 0.5, 0.5)
    read = message_auc(labels, labels, resamples=50, confidence=0.95, seed=0)
    assert (read.value, read.low, read.high) == (1.0, 1.0, 1.0)


def test_leaving_out_own_labels_needs_folds() -> None:
    """Popularity over the other HS is lower for exactly the positive HS: 0, not .5, unless folds are compared."""
    labels = np.random.default_rng(5).integers(0, 2, size=(12, 7)).astype(np.float64)
    held_out = (labels.sum(axis=0) - labels) / 11
    assert message_auc(held_out, labels, resamples=1, confidence=0.95, seed=0).value == 0.0
    folds = np.repeat(np.arange(4), 3)
    of_folds = np.stack([labels[folds != fold].mean(axis=0) for fold in folds])
    found = message_auc(of_folds[None], labels, folds=folds[None], resamples=1, confidence=0.95, seed=0)
    assert found.value == 0.5
    within = [
        1
        for cn in range(7)
        for p, n in itertools.product(range(12), repeat=2)
        if folds[p] == folds[n] and labels[p, cn] == 1 and labels[n, cn] == 0
    ]
    assert found.n_pairs == len(within)


def test_by_hand() -> None:
    """CN 1: two of two pairs right; CN 2: a tie; CN 3: a left-out CN is below a ranked one, and ties with another."""
    ranked = np.array([[0.9, 0.5, -math.inf], [0.2, 0.5, 0.1], [0.1, NAN, -math.inf]])
    labels = np.array([[1.0, 1, 1], [0, 0, 0], [0, 0, 0]])
    found = message_auc(ranked, labels, resamples=1, confidence=0.95, seed=0)
    assert (found.n_pairs, found.n_cns) == (5, 3)
    assert found.value == pytest.approx((2 + 0.5 + 0.0 + 0.5) / 5)
    assert found.by_cn == pytest.approx((1 + 0.5 + 0.25) / 3)


def test_there_is_no_interval_of_one_cn_and_no_value_without_a_pair() -> None:
    one = message_auc(
        np.array([[0.9, 0.1], [0.2, 0.1]]), np.array([[1.0, 1], [0, NAN]]), resamples=9, confidence=0.95, seed=0
    )
    assert (one.value, one.n_cns, one.n_pairs) == (1.0, 1, 1)
    assert math.isnan(one.low) and math.isnan(one.high) and np.isnan(one.resampled).all()
    none = message_auc(np.ones((2, 2)), np.ones((2, 2)), resamples=9, confidence=0.95, seed=0)
    assert (none.n_cns, none.n_pairs) == (0, 0)
    assert all(math.isnan(value) for value in (none.value, none.by_cn, none.low, none.high))
    assert all(math.isnan(value) for value in message_auc_difference(one, none, confidence=0.95))


def test_differences_share_draws() -> None:
    scores, labels = _case(20)
    a = message_auc(scores, labels, resamples=300, confidence=0.9, seed=4)
    b = message_auc(scores + 0, labels, resamples=300, confidence=0.9, seed=4)
    assert message_auc_difference(a, b, confidence=0.9) == (0.0, 0.0, 0.0)
    c = message_auc(-scores[:, :, ::-1], labels, resamples=300, confidence=0.9, seed=4)
    difference, low, high = message_auc_difference(a, c, confidence=0.9)
    assert difference == a.value - c.value
    apart = [x - y for x, y in zip(a.resampled, c.resampled, strict=True) if not math.isnan(x - y)]
    assert (low, high) == pytest.approx(tuple(np.quantile(apart, [0.05, 0.95])))


def test_what_does_not_fit_is_refused() -> None:
    labels = np.array([[1.0, 0], [0, NAN]])
    with pytest.raises(InputError, match=r"scores have the shape \(1, 3, 2\), labels \(2, 2\) and folds \(1, 3\)"):
        message_auc(np.ones((3, 2)), labels, resamples=1, confidence=0.95, seed=0)
    with pytest.raises(InputError, match=r"folds \(2,\): give"):
        message_auc(np.ones((2, 2)), labels, folds=np.zeros(2, dtype=np.int64), resamples=1, confidence=0.95, seed=0)
    with pytest.raises(InputError, match="values other than 0 and 1"):
        message_auc(np.ones((2, 2)), labels * 2, resamples=1, confidence=0.95, seed=0)
