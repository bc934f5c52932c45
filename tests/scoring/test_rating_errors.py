import math

import numpy as np
import pytest

from fcconan.scoring.correlation.rating_errors import rating_errors
from fcconan.scoring.score_table import ScoreTable

nan = math.nan


def test_errors_by_system_by_hand() -> None:
    judge, people = np.array([[5.0, 4.0, 3.0, nan, 1.0]]), np.array([[4.0, 4.0, 5.0, 3.0, 1.0]])
    annotators = np.array([[[4.0, 5.0, 5.0, 3.0, nan]], [[2.0, 3.0, 5.0, nan, 1.0]]])
    table = ScoreTable(
        ("judge",), ("r",), judge, people, [0, 1, 0, 1, 2], ["Velmari", "Velmari", "Quillish", "Quillish", "Quillish"],
        annotators=annotators,
    )  # fmt: skip
    everything, quillish, velmari = rating_errors(table, resamples=300)
    assert [row.system for row in (everything, quillish, velmari)] == [None, "Quillish", "Velmari"]
    assert (everything.mean_absolute_error, everything.bias, everything.n, everything.n_missing) == (0.75, -0.25, 4, 1)
    assert (velmari.mean_absolute_error, velmari.bias, velmari.n, velmari.n_missing) == (0.5, 0.5, 2, 0)
    assert (quillish.mean_absolute_error, quillish.bias, quillish.n, quillish.n_missing) == (1.0, -1.0, 2, 1)
    # Values 5 and 4 against 4 and 4; 3 and 1 against 5 and 1.
    assert velmari.chance == 0.5
    assert quillish.chance == pytest.approx((2 + 2 + 4 + 0) / 4)
    # Two annotators of three replies are 2, 2 and 0 apart; of one system they share two replies or one: too few.
    assert everything.ceiling == pytest.approx(4 / 3, abs=1e-15)
    assert everything.n_annotators == 2
    assert (velmari.ceiling, quillish.ceiling, velmari.n_annotators) == (None, None, 0)
    assert velmari.bias_low == 0.0 and velmari.bias_high == 1.0


def test_the_ceiling_weighs_annotators_by_their_rows() -> None:
    # Apart from the mean of the others: the first 1, 1, 1, 4; the second the same; the third, of two rows, does not
    # count, and is one of the others in the first two rows, where the others' means become 2 and 2, then 3 and 3.
    annotators = np.array([[[1.0, 1, 1, 1]], [[2.0, 2, 2, 5]], [[3.0, 5, nan, nan]]])
    table = ScoreTable(
        ("judge",), ("r",), np.ones((1, 4)), np.ones((1, 4)), list(range(4)), ["Ostrun"] * 4, annotators=annotators
    )
    row = rating_errors(table, resamples=0)[0]
    first, second = (1.5 + 2.5 + 1 + 4) / 4, (0 + 1 + 1 + 4) / 4
    assert row.ceiling == pytest.approx((first + second) / 2, abs=1e-15)
    assert row.n_annotators == 2
    annotators[1, 0, 3] = nan
    row = rating_errors(table, resamples=0)[0]
    # Three rows each: 1.5, 2.5 and 1 apart; 0, 1 and 1.
    assert row.ceiling == pytest.approx(7 / 6, abs=1e-15)
    table.annotators[2, 0, 2:] = [4.0, 6.0]  # type: ignore[index]
    row = rating_errors(table, resamples=0)[0]
    # All four rows of the first, three of the second, all four of the third; the last row has 1 and 6.
    errors = [1.5 + 2.5 + 2 + 5, 0 + 1 + 0.5, 1.5 + 3.5 + 2.5 + 5]
    assert row.ceiling == pytest.approx(sum(errors) / 11, abs=1e-15)
    assert row.n_annotators == 3


def test_chance_is_the_mean_over_all_pairs_and_intervals_resample_items() -> None:
    generator = np.random.default_rng(0)
    judge, people = generator.random((1, 40)), generator.random((1, 40))
    item = np.repeat(np.arange(10), 4)
    table = ScoreTable(("judge",), ("r",), judge, people, item.tolist(), [0] * 40)
    row = rating_errors(table, resamples=4000, seed=1)[0]
    assert row.chance == pytest.approx(np.abs(np.subtract.outer(judge[0], people[0])).mean(), abs=1e-12)
    errors = np.abs(judge - people)[0].reshape(10, 4).mean(axis=1)
    drawn = np.random.default_rng(9).choice(errors, size=(20_000, 10)).mean(axis=1)
    assert row.mean_absolute_error_low == pytest.approx(np.quantile(drawn, 0.025), abs=0.006)
    assert row.mean_absolute_error_high == pytest.approx(np.quantile(drawn, 0.975), abs=0.006)


def test_no_rows_and_one_item() -> None:
    table = ScoreTable(("judge",), ("r",), np.array([[nan, 2.0]]), np.array([[1.0, 3.0]]), [0, 1], ["a", "b"])
    everything, a, b = rating_errors(table)
    assert (a.mean_absolute_error, a.bias, a.chance, a.n, a.n_missing) == (None, None, None, 0, 1)
    assert (b.mean_absolute_error, b.bias, b.bias_low, b.n) == (1.0, -1.0, None, 1)
    assert (everything.n, everything.mean_absolute_error_high) == (1, None)


def test_the_intervals_of_error_and_bias_are_those_of_their_own_draws() -> None:
    people = np.array([[3.0, 2.0, 4.0, 3.0]])
    table = ScoreTable(("judge",), ("tone",), people - 1, people, ["i1", "i2", "i3", "i3"], ["A", "B", "A", "B"])
    (row, *_) = rating_errors(table, resamples=20)
    assert (row.mean_absolute_error_low, row.mean_absolute_error_high) == (1.0, 1.0)
    assert (row.bias_low, row.bias_high) == (-1.0, -1.0)
