from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcconan.build.tiers import TIER_RULES, agreement, tier
from fcconan.rows import TIERS, VOTE_LABELS

NO, UNSURE, YES = VOTE_LABELS


@pytest.mark.parametrize(
    ("votes", "label", "expected"),
    [
        ([YES], YES, "single"),
        ([NO, NO], NO, "unanimous"),
        ([NO, NO, NO], NO, "unanimous"),
        ([NO, NO, YES], NO, "majority"),
        ([NO, UNSURE, NO], NO, "majority"),
        ([NO, UNSURE], NO, "adjudicated"),  # one of two is no majority
        ([UNSURE, UNSURE, YES], YES, "adjudicated"),
        ([NO, NO, YES], YES, "adjudicated"),
    ],
)
def test_agreement(votes: list[str], label: str, expected: str) -> None:
    assert agreement(votes, label) == expected


@pytest.mark.parametrize(
    ("votes", "valid", "released", "strict"),
    [
        ([YES], True, "silver", "silver"),
        ([YES], False, "bronze", "bronze"),
        ([YES, YES], True, "diamond", "diamond"),
        ([YES, YES], False, "bronze", "bronze"),
        ([YES, UNSURE], True, "gold", "gold"),
        ([YES, YES, NO], True, "diamond", "gold"),
    ],
)
def test_tier(votes: list[str], valid: bool, released: str, strict: str) -> None:
    assert tier(votes, YES, valid, "released") == released
    assert tier(votes, YES, valid, "strict") == strict


@given(st.lists(st.sampled_from(VOTE_LABELS), min_size=1, max_size=5), st.sampled_from([NO, YES]), st.booleans())
def test_strict_is_never_better_than_released(votes: Sequence[str], label: str, valid: bool) -> None:
    ranks = {rule: TIERS.index(tier(votes, label, valid, rule)) for rule in TIER_RULES}
    assert ranks["strict"] >= ranks["released"]
    assert (ranks["released"] == TIERS.index("bronze")) == (not valid)
