"""Folds for cross-validation: disjoint in HS and CNs, of about equal size, and reproducible."""

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.retrieval.systems import TrainingPair
from fcconan.retrieval.training_data import group_pairs, grouped_folds


def pair(hs: object, cn: object) -> TrainingPair:
    return TrainingPair(f"hate speech {hs}", f"counter-narrative {cn}")


def random_pairs(seed: int) -> list[TrainingPair]:
    """Returns 120 pairs of 80 HS and 90 CNs, some of them twice: a graph of many small groups."""
    generator = np.random.default_rng(seed)
    return [pair(int(generator.integers(80)), int(generator.integers(90))) for _ in range(120)]


def test_groups_are_what_hangs_together() -> None:
    pairs = [pair(1, 1), pair(2, 2), pair(1, 3), pair(4, 3), pair(2, 2), pair(5, 5)]
    group = group_pairs(pairs).tolist()
    # 1-1, 1-3 and 4-3 hang together over HS 1 and CN 3.
    assert group[0] == group[2] == group[3]
    assert group[1] == group[4]
    assert len({group[0], group[1], group[5]}) == 3


def test_an_hs_and_a_cn_of_the_same_words_are_not_the_same_text() -> None:
    group = group_pairs([TrainingPair("Ombrey", "Tessok"), TrainingPair("Tessok", "Ombrey")])
    assert group[0] != group[1]


@pytest.mark.parametrize("seed", range(8))
def test_no_hs_and_no_cn_is_in_two_folds(seed: int) -> None:
    pairs = random_pairs(seed)
    n_folds = 2 + seed % 4
    fold = grouped_folds(pairs, n_folds, seed=seed)
    assert fold.shape == (120,)
    assert set(fold.tolist()) == set(range(n_folds))
    for side in (0, 1):
        homes: dict[str, set[int]] = {}
        for texts, number in zip(pairs, fold.tolist(), strict=True):
            homes.setdefault(texts[side], set()).add(number)
        assert {len(numbers) for numbers in homes.values()} == {1}


@pytest.mark.parametrize("n_folds", [2, 3, 4])
def test_groups_of_one_pair_are_shared_out_evenly(n_folds: int) -> None:
    fold = grouped_folds([pair(index, index) for index in range(13)], n_folds, seed=0)
    sizes = np.bincount(fold, minlength=n_folds)
    assert sizes.sum() == 13
    assert sizes.max() - sizes.min() <= 1


def test_large_groups_come_first_and_go_where_there_is_room() -> None:
    # Groups of 5, 4, 3, 3 and 3 pairs: 5 | 4, then 3 to the second, 3 to the first, 3 to the second.
    sizes = [3, 5, 3, 4, 3]
    pairs = [pair(group, f"{group}-{index}") for group, size in enumerate(sizes) for index in range(size)]
    for seed in range(5):
        fold = grouped_folds(pairs, 2, seed=seed)
        assert np.bincount(fold).tolist() == [8, 10]
        by_group = {group: fold[sum(sizes[:group])] for group in range(5)}
        assert (by_group[1], by_group[3]) == (0, 1)


def test_folds_depend_on_the_seed_alone() -> None:
    pairs = random_pairs(3)
    first = grouped_folds(pairs, 5, seed=1)
    assert grouped_folds(pairs, 5, seed=1).tolist() == first.tolist()
    others = [grouped_folds(pairs, 5, seed=seed).tolist() for seed in range(2, 7)]
    assert any(other != first.tolist() for other in others)
    assert grouped_folds([pair(1, 1), pair(2, 2), pair(1, 3)], 2, seed=9).tolist() == [0, 1, 0]


def test_a_pair_that_stands_twice_is_in_one_fold() -> None:
    fold = grouped_folds([pair(1, 1), pair(2, 2), pair(3, 3), pair(2, 2), pair(1, 1)], 3, seed=0)
    assert fold[0] == fold[4]
    assert fold[1] == fold[3]
    assert set(fold.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("n_folds", [1, 0, -2])
def test_one_fold_is_no_cross_validation(n_folds: int) -> None:
    with pytest.raises(InputError) as caught:
        grouped_folds(random_pairs(0), n_folds, seed=0)
    assert str(caught.value) == f"the number of folds is {n_folds}: cross-validation needs 2 or more"


@pytest.mark.parametrize(
    ("pairs", "groups"),
    [([], 0), ([pair(1, 1)], 1), ([pair(1, 1), pair(1, 2), pair(3, 2)], 1), ([pair(1, 1), pair(2, 2)], 2)],
)
def test_too_few_groups_are_bad_input(pairs: list[TrainingPair], groups: int) -> None:
    with pytest.raises(InputError) as caught:
        grouped_folds(pairs, 3, seed=0)
    assert str(caught.value) == (
        f"the training pairs form {groups} groups that share no HS and no CN, fewer than the 3 folds: "
        "give more pairs, or fewer folds"
    )
