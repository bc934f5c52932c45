import random
from typing import Literal

import krippendorff
import numpy as np
import pytest

from fcconan.score.agreement import krippendorff_alpha

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
