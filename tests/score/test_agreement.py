import random
from typing import Literal

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from fcconan.score.agreement import cohen_kappa, krippendorff_alpha

Level = Literal["nominal", "ordinal", "interval"]


def _oracle(units: list[list[float]], level: Level) -> float:
    """The GPL package wants one row a rater, with nan for what is missing."""
    width = max(len(unit) for unit in units)
    table = np.array([unit + [np.nan] * (width - len(unit)) for unit in units], dtype=float).T
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement=level))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(20))
def test_equals_the_krippendorff_package(level: Level, seed: int) -> None:
    generator = random.Random(seed)
    scale = [1.0, 2.0, 3.0, 5.0]
    units = [[generator.choice(scale) for _ in range(generator.randint(0, 4))] for _ in range(40)]
    result = krippendorff_alpha(units, level=level)
    assert result.value == pytest.approx(_oracle(units, level), abs=1e-12)
    assert result.n_units == sum(len(unit) > 1 for unit in units)


def test_hand_derived_nominal_example() -> None:
    # Values aa, ab, bb: coincidences aa 2, bb 2, ab 1, ba 1; 6 values, 3 of each kind.
    # Observed disagreement 2/6; expected 2 * 3 * 3 / (6 * 5) = 18/30; alpha = 1 - (1/3) / (3/5) = 4/9.
    assert krippendorff_alpha([[0, 0], [0, 1], [1, 1]], level="nominal").value == pytest.approx(4 / 9, abs=1e-15)


def test_undefined_is_missing_with_a_reason() -> None:
    assert krippendorff_alpha([[1], [], [2]], level="nominal").reason == "too_few_pairs"
    constant = krippendorff_alpha([[3, 3], [3, 3]], level="ordinal")
    assert (constant.value, constant.reason, constant.n_units) == (None, "no_variation", 2)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="level is 'ratio'"):
        krippendorff_alpha([[1, 2]], level="ratio")


@pytest.mark.parametrize("seed", range(40))
def test_kappa_equals_scikit_learns(seed: int) -> None:
    generator = random.Random(seed)
    first, second = (generator.choices(["a", "b", "tie"], weights=[4, 3, 1 + rater], k=30) for rater in (0, 1))
    second = [other if generator.random() < seed / 40 else label for label, other in zip(second, first, strict=True)]
    kappa = cohen_kappa(first, second)
    assert kappa == pytest.approx(float(cohen_kappa_score(first, second)), abs=1e-12)
    assert kappa == cohen_kappa(second, first)


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        # Of 4 items 3 agree; by chance 2 * 3 + 2 * 1 of 16: (3/4 - 1/2) / (1 - 1/2).
        ("aabb", "aaab", 1 / 2),
        # All agree.
        ("abc", "abc", 1),
        # None agrees; by chance 2 * 2 + 2 * 2 of 16: (0 - 1/2) / (1 - 1/2).
        ("aabb", "bbaa", -1),
        # 2 of 4; by chance 4 * 2 of 16: no better than chance.
        ("aaaa", "abab", 0),
        # No label in common, so nothing agrees by chance either.
        ("aa", "bb", 0),
        # 2 of 5; by chance 2 * 1 + 1 * 2 + 2 * 2 of 25: (2/5 - 8/25) / (1 - 8/25).
        ("aabcc", "abccb", 2 / 17),
    ],
)
def test_hand_derived_kappas(first: str, second: str, kappa: float) -> None:
    assert cohen_kappa(list(first), list(second)) == pytest.approx(kappa, abs=1e-15)


@pytest.mark.parametrize("labels", [[], ["a"], ["tie", "tie", "tie"]])
def test_kappa_without_items_or_without_variation_is_missing(labels: list[str]) -> None:
    assert cohen_kappa(labels, labels) is None


@pytest.mark.parametrize(("first", "second"), [(["a"], []), (["a", "b"], ["a", "b", "b"])])
def test_kappa_of_lists_of_different_length_is_refused(first: list[str], second: list[str]) -> None:
    with pytest.raises(ValueError, match=f"^found {len(first)} and {len(second)} labels, expected as many$"):
        cohen_kappa(first, second)
