"""Family-wise error and power of the tests of `bench` in simulated worlds."""

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "family_wise_error.py"))


def test_a_few_worlds() -> None:
    # 60 worlds: more than 8 errors have a probability of .004 at an error rate of .05.
    rates: Any = SCRIPT["simulate"](60, 199, 0, seed=1)
    assert rates["adjusted"][0] <= 8 / 60 < rates["unadjusted"][0]


@pytest.mark.long
def test_family_wise_error_is_that_of_the_level_and_differences_are_found() -> None:
    low, high = SCRIPT["limits"](1_000)
    assert (low, high) == (0.037, 0.064)
    error, _ = SCRIPT["simulate"](1_000, 999, 0)["adjusted"]
    assert low <= error <= high
    error, power = SCRIPT["simulate"](1_000, 999, 4)["adjusted"]
    assert error <= high and power > 0.2
