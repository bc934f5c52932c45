import numpy as np
from hypothesis import given, strategies as st
from scipy.stats import rankdata  # type: ignore[import-untyped, unused-ignore]

from fcconan.scoring.correlation.coefficients import middle_ranks


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    # 1 is the first; both 2 have the ranks 2 and 3; the three 5 have 4, 5 and 6.
    assert middle_ranks(np.array([5.0, 2.0, 1.0, 5.0, 2.0, 5.0])).tolist() == [5.0, 2.5, 1.0, 5.0, 2.5, 5.0]
    assert middle_ranks(np.zeros(0)).tolist() == []


@given(st.lists(st.integers(-3, 3), max_size=30))
def test_ranks_are_those_of_scipy(values: list[int]) -> None:
    assert middle_ranks(np.array(values, dtype=np.float64)).tolist() == rankdata(values).tolist()
