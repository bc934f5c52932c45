import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import fcconan
from fcconan.errors import InputError
from fcconan.scoring.correlation.ndcg import PAPER, SOUND, ndcg, ndcg_by_chance, ranking_scores, ranking_signature
from fcconan.scoring.intervals import bootstrap_means

nan = math.nan


@pytest.mark.parametrize("size", [2, 5, 9])
def test_ndcg_equals_scikit_learn_with_ties(size: int) -> None:
    generator = np.random.default_rng(size)
    gains, scores = (
        generator.integers(1, 6, size=(30, size)).astype(np.float64),
        generator.integers(4, size=(30, size)).astype(np.float64),
    )
    expected = [ndcg_score(own[None], score[None]) for own, score in zip(gains, scores, strict=True)]
    assert ndcg(gains, scores) == pytest.approx(expected, abs=1e-12)


def test_chance_is_the_mean_over_all_orders() -> None:
    gains = np.array([[5.0, 4.0, 3.0, 2.0, 1.0], [2.0, 2.0, 0.0, 1.0, 7.0], [0.0] * 5])
    found = ndcg_by_chance(gains)
    for own, value in zip(gains[:2], found[:2], strict=True):
        orders = np.array(list(itertools.permutations(range(5)))).astype(np.float64)
        assert value == pytest.approx(ndcg(np.tile(own, (120, 1)), orders).mean(), abs=1e-12)
    assert found[0] == pytest.approx(0.861, abs=0.0005)
    assert np.isnan(found[2])
    assert np.isnan(ndcg(gains[2:], gains[:1])[0])
    assert ndcg(gains[:1], np.zeros((1, 5)))[0] == pytest.approx(found[0])  # a constant scorer is at chance


def test_a_metric_that_orders_everything_wrongly_is_perfect_by_the_published_gain() -> None:
    ranks = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    scores = np.stack([-ranks, ranks])
    group = [0, 0, 0, 1, 1, 1]
    # 3 + 2/log2(3) + 1/2 against 1 + 2/log2(3) + 3/2.
    worst = (2.5 + 2 / math.log2(3)) / (3.5 + 2 / math.log2(3))
    chance = 2 * (1 + 1 / math.log2(3) + 0.5) / (3.5 + 2 / math.log2(3))
    for protocol, values in ((SOUND, (1.0, worst)), (PAPER, (worst, 1.0))):
        rows = ranking_scores(["right", "wrong"], scores, ranks, group, protocol=protocol, resamples=50)
        assert [row.value for row in rows] == pytest.approx(values, abs=1e-12)
        assert [row.chance for row in rows] == pytest.approx([chance, chance], abs=1e-12)
        assert [(row.n, row.n_groups, row.protocol) for row in rows] == [(6, 2, protocol)] * 2


def test_groups_with_a_missing_score_are_counted_and_left_out() -> None:
    ranks = np.array([1.0, 2.0, 1.0, 2.0, 2.0, 1.0, nan])
    scores = np.array([[0.9, 0.1, 0.2, nan, 0.4, 0.3, 0.5], [nan] * 7])
    some, none = ranking_scores(["m", "empty"], scores, ranks, ["a", "a", "b", "b", "c", "c", "c"], resamples=200)
    wrong = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert some.value == pytest.approx((1 + wrong) / 2)
    assert some.low == pytest.approx(wrong)
    assert some.high == pytest.approx(1.0)
    assert (some.n, some.n_groups, some.n_incomplete, some.n_missing, some.reason) == (4, 2, 1, 1, None)
    assert (none.value, none.chance, none.low, none.reason, none.n_incomplete) == (None, None, None, "incomplete", 3)
    # Who scored no item at all takes none away from the others.
    assert (some.value_common, some.chance_common, some.n_groups_common) == (some.value, some.chance, 2)
    assert (none.value_common, none.chance_common, none.n_groups_common) == (None, None, 0)


def test_metrics_that_lack_different_groups_are_compared_on_those_that_all_have() -> None:
    # Two replies to each of three items; the ranks of the last tie, so that its chance is 1.
    ranks = np.array([1.0, 2.0, 1.0, 2.0, 1.5, 1.5])
    right, wrong = 1.0, (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    scores = np.array([[2, 1, 1, 2, 1, 2], [1, 2, nan, 1, 2, 1], [2, 1, 2, 1, nan, nan]], dtype=np.float64)
    first, second, third = ranking_scores(["all", "1 and 3", "1 and 2"], scores, ranks, [0, 0, 1, 1, 2, 2], resamples=0)
    assert [row.value for row in (first, second, third)] == pytest.approx([(2 + wrong) / 3, (1 + wrong) / 2, right])
    # The first item only is common to all.
    assert [row.value_common for row in (first, second, third)] == pytest.approx([right, wrong, right])
    assert [row.chance_common for row in (first, second, third)] == pytest.approx([(right + wrong) / 2] * 3)
    assert [row.chance for row in (first, second, third)] == pytest.approx(
        [(1 + right + wrong) / 3, (1 + (right + wrong) / 2) / 2, (right + wrong) / 2]
    )
    assert [row.n_groups_common for row in (first, second, third)] == [1, 1, 1]
    (row,) = ranking_scores(["m"], np.zeros((1, 0)), np.zeros(0), [])
    assert (row.value, row.reason) == (None, "no_rows")


def test_the_ceiling_is_one_annotator_against_the_others() -> None:
    annotators = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0]])
    # To the first and the third the others say 1, 2.5, 2.5, and the tied share their gains; to the second, 1, 2, 3.
    d = [1.0, 1 / math.log2(3), 0.5]
    ideal = 3 * d[0] + 2 * d[1] + d[2]
    expected = [(3 + 1.5 * (d[1] + d[2])) / ideal, (3 + d[1] + 2 * d[2]) / ideal, (3 + 1.5 * (d[1] + d[2])) / ideal]
    ranks = annotators.mean(axis=0)
    (row,) = ranking_scores(["m"], -ranks[None], ranks, [0, 0, 0], annotators=annotators)
    assert row.ceiling == pytest.approx(np.mean(expected), abs=1e-12)
    assert (row.low, row.n_groups) == (None, 1)


def test_the_ceiling_counts_every_group_alike_and_annotators_of_three_replies() -> None:
    nobody = [nan] * 3
    annotators = np.array(
        [
            [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0],
            [1.0, 2.0, 3.0, *nobody, nan, nan],
            [*nobody, 3.0, 2.0, 1.0, 2.0, 1.0],
        ]
    )
    few = np.array([[*nobody, *nobody, 1.0, 2.0]])
    group, ranks = [0, 0, 0, 1, 1, 1, 2, 2], np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0])
    opposite = (2.5 + 2 / math.log2(3)) / (3.5 + 2 / math.log2(3))
    of_two = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    (row,) = ranking_scores(["m"], -ranks[None], ranks, group, annotators=annotators)
    # The first agrees in the first group and is opposed in two; the second agrees; the third is opposed twice.
    assert row.ceiling == pytest.approx((1 + opposite + of_two + 1 + opposite + of_two) / 6, abs=1e-12)
    assert row.n_annotators == 3
    # A fourth with two replies is among the others and no annotator of their own: their tie is halfway.
    (row,) = ranking_scores(["m"], -ranks[None], ranks, group, annotators=np.concatenate([annotators, few]))
    tied = 1.5 * (1 + 1 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert row.ceiling == pytest.approx((1 + opposite + tied + 1 + opposite + of_two) / 6, abs=1e-12)
    assert row.n_annotators == 3
    (row,) = ranking_scores(["m"], -ranks[None, 6:], ranks[6:], group[6:], annotators=annotators[:, 6:])
    assert (row.ceiling, row.n_annotators, row.value) == (None, 0, 1.0)


def test_the_ceiling_has_the_gain_of_the_protocol_and_needs_others_in_a_group() -> None:
    # One says 1, 2, 3 where the other says 1, 3, 2; the second group is the first annotator's alone.
    annotators = np.array([[1.0, 2.0, 3.0, 1.0, 2.0], [1.0, 3.0, 2.0, nan, nan]])
    ranks = np.array([1.0, 2.0, 3.0, 1.0, 2.0])
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    for protocol, gained in ((SOUND, 3 + 1 / math.log2(3) + 2 / 2), (PAPER, 2 + 3 / math.log2(3) + 1 / 2)):
        (row,) = ranking_scores(
            ["m"], -ranks[None], ranks, [0, 0, 0, 1, 1], annotators=annotators, protocol=protocol, resamples=0
        )
        assert row.ceiling == pytest.approx(gained / ideal, abs=1e-12)
        assert row.n_annotators == 2


def test_intervals_are_percentiles_over_resampled_groups() -> None:
    ranks, scores = np.tile([1.0, 2.0], 3), np.array([[2.0, 1.0, 1.0, 2.0, 2.0, 1.0]])
    wrong = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    (row,) = ranking_scores(["Ombrey score"], scores, ranks, [0, 0, 1, 1, 2, 2], resamples=4, seed=5, confidence=0.5)
    drawn = bootstrap_means(np.array([[1.0, wrong, 1.0]]), resamples=4, seed=5)
    assert (row.low, row.high) == pytest.approx([np.quantile(drawn, share) for share in (0.25, 0.75)], abs=1e-12)
    assert row.value == pytest.approx((2 + wrong) / 3)
    assert row.metric == "Ombrey score"


def test_the_signature_names_what_changes_the_figures() -> None:
    found = ranking_signature(
        population="demo-1.0.0", raters=["Ada", "Bo"], aspect="rank", resamples=50, seed=3, confidence=0.9
    )
    assert found == (
        f"fcconan:{fcconan.__version__}|metric:ndcg|data:demo-1.0.0|ranks:rank-by-Ada,Bo|scores:unified|ties:expected|"
        "incomplete:left-out|bootstrap:50-by-item|confidence:0.9|seed:3"
    )


@pytest.mark.parametrize("protocol", [SOUND, PAPER])
def test_annotators_are_ranked_anew_among_the_replies_that_count(protocol: str) -> None:
    annotators, ranks = np.array([[1.0, 2, 3, 4, 5], [5.0, 4, 3, 2, 1]]), np.array([1.0, 2.0, 3.0, nan, nan])
    (row,) = ranking_scores(
        ["m"], -np.arange(5.0)[None], ranks, [0] * 5, annotators=annotators, protocol=protocol, resamples=0
    )
    # Of the first three replies one says 1, 2, 3 and the other 3, 2, 1.
    opposite = (2.5 + 2 / math.log2(3)) / (3.5 + 2 / math.log2(3))
    assert row.ceiling == pytest.approx(opposite, abs=1e-12)
    for wrong in (annotators + 1, np.where(annotators == 5, 7.0, annotators)):
        with pytest.raises(InputError, match="in a group of 5 replies"):
            ranking_scores(["m"], -np.arange(5.0)[None], ranks, [0] * 5, annotators=wrong, protocol=protocol)
    alone = np.array([[1.0, 2, 4, nan, nan], [1.0, 2, 3, nan, nan]])
    with pytest.raises(InputError, match="a rank is 4 in a group of 3 replies"):
        ranking_scores(["m"], -np.arange(5.0)[None], ranks, [0] * 5, annotators=alone, protocol=protocol)


@pytest.mark.parametrize(
    "ranks, protocol, message",
    [
        ([0.0, 1.0], SOUND, "a rank is 0 in a group of 2 replies, expected 1"),
        ([1.0, 3.0], SOUND, "a rank is 3 in a group of 2"),
        ([1.0, 2.0], "papers", "unknown protocol .papers."),
        ([1.0], SOUND, "expected one per reply"),
    ],
)
def test_bad_ranks_are_refused(ranks: list[float], protocol: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ranking_scores(["m"], np.zeros((1, 2)), np.array(ranks), [0, 0], protocol=protocol)
