"""Tier rules, by their values for a pair."""

from pathlib import Path

import pytest

from fcconan.building import TIER_RULES, load_tier_rule
from fcconan.errors import InputError

NO, UNSURE, YES = "not_appropriate", "not_sure", "appropriate"
NESTED = """\
meaning: A test.
tiers:
  - {name: diamond, min_backing: 0.66}
  - {name: silver, min_votes: 2, roles: [annotator]}
  - {name: bronze}
"""


@pytest.mark.parametrize(
    ("votes", "valid", "released", "strict"),
    [
        ([YES], True, "silver", "silver"),
        ([YES], False, "bronze", "bronze"),
        ([YES], None, "bronze", "bronze"),  # no validator saw the pair
        ([YES, YES], True, "diamond", "diamond"),
        ([YES, YES], None, "bronze", "bronze"),
        ([YES, UNSURE], True, "gold", "gold"),
        ([YES, YES, NO], True, "diamond", "gold"),
        ([NO, NO, YES], True, "gold", "gold"),  # the label has no majority
    ],
)
def test_rules_of_the_catalogue(votes: list[str], valid: bool | None, released: str, strict: str) -> None:
    assert [*TIER_RULES] == ["released", "strict"]
    assert TIER_RULES["released"].best(votes, YES, valid) == released
    assert TIER_RULES["strict"].best(votes, YES, valid) == strict


def _rule(folder: Path, text: str) -> str:
    path = folder / "rule.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("votes", "roles", "expected"),
    [
        ([YES], ["annotator"], "bronze"),
        ([YES, YES, NO], ["annotator"], "diamond"),  # two thirds
        ([YES, YES, UNSURE, NO], ["annotator"], "silver"),  # a half
        ([YES, YES], ["annotator", "validator"], "bronze"),  # a vote of another role
    ],
)
def test_a_rule_of_ones_own(tmp_path: Path, votes: list[str], roles: list[str], expected: str) -> None:
    rule = load_tier_rule(_rule(tmp_path, NESTED))
    assert rule.best(votes, YES, None, roles) == expected
    assert [tier.in_words() for tier in rule.complete] == [
        "2 or more votes, votes by annotator only, 66% or more of the votes for the label",
        "2 or more votes, votes by annotator only",
        "every labelled pair",
    ]


def test_a_rule_says_how_pairs_that_no_validator_saw_count(tmp_path: Path) -> None:
    text = "meaning: A test.\ntiers: [{name: silver, valid: true}, {name: bronze}]\n"
    assert load_tier_rule(_rule(tmp_path, text)).best([YES], YES, None) == "bronze"
    lenient = load_tier_rule(_rule(tmp_path, f"unseen_is_valid: true\n{text}"))
    assert [lenient.best([YES], YES, valid) for valid in (True, None, False)] == ["silver", "silver", "bronze"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: silver", "name: diamond", "name each once and the best first"),
        ("min_backing: 0.66", "roles: [validator]", "its agreement or roles share no value with a broader tier"),
        ("min_votes", "min_vote", "min_vote"),
        ("0.66", "66", "min_backing"),
    ],
)
def test_mistakes_in_a_rule(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_tier_rule(_rule(tmp_path, NESTED.replace(old, new)))


def test_an_unknown_rule() -> None:
    with pytest.raises(InputError, match="unknown tier rule 'strickt': did you mean 'strict'"):
        load_tier_rule("strickt")
