from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from fcconan.building.tiers import TIER_RULES, JudgedPair, Tier, TierRule, agreement, load_tier_rule, tier
from fcconan.data.schemas import AGREEMENTS, TIERS, VOTE_LABELS
from fcconan.errors import InputError

Row = dict[str, Any]
NO, UNSURE, YES = VOTE_LABELS
NESTED = """\
meaning: A test.
tiers:
  - name: diamond
    min_backing: 0.66
  - name: silver
    min_votes: 2
    roles: [annotator]
  - name: bronze
"""


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


@given(st.lists(st.sampled_from(VOTE_LABELS), min_size=1, max_size=5), st.sampled_from([NO, YES]), st.booleans())
def test_the_rules_of_the_catalogue_say_what_the_first_version_computed(
    votes: Sequence[str], label: str, valid: bool
) -> None:
    backing = votes.count(label)
    for rule, is_diamond in (("released", 2 * backing > len(votes)), ("strict", backing == len(votes))):
        several = "diamond" if is_diamond else "gold"
        expected = "bronze" if not valid else "silver" if len(votes) < 2 else several
        assert tier(votes, label, valid, rule) == expected


def test_the_catalogue_holds_these_rules() -> None:
    assert list(TIER_RULES) == ["released", "strict"]
    assert len(TIER_RULES) == 2
    assert "loose" not in TIER_RULES
    for rule in TIER_RULES.values():
        assert rule.names == list(TIERS)
        assert rule.complete[-1] == Tier(name="bronze")
    assert TIER_RULES["released"] is TIER_RULES["released"]
    with pytest.raises(KeyError, match="loose"):
        TIER_RULES["loose"]


def test_types_of_a_rule_are_those_of_the_rows() -> None:
    everything = Tier(name="bronze", agreement=list(AGREEMENTS))
    assert everything.agreement == list(AGREEMENTS)
    assert [TierRule(meaning="x", tiers=[Tier(name=name)]).names for name in TIERS] == [[name] for name in TIERS]


def _file(folder: Path, content: str) -> str:
    path = folder / "mine.yaml"
    path.write_text(content, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("votes", "roles", "expected"),
    [
        ([YES], "a", "bronze"),
        ([YES, YES], "a", "diamond"),
        ([YES, YES, NO], "a", "diamond"),  # two thirds
        ([YES, YES, UNSURE, NO], "a", "silver"),  # a half
        ([YES, YES], "v", "bronze"),
        ([YES, YES], "av", "bronze"),  # a vote by anybody else keeps a pair out
    ],
)
def test_a_rule_of_ones_own(tmp_path: Path, votes: list[str], roles: str, expected: str) -> None:
    rule = load_tier_rule(_file(tmp_path, NESTED))
    named = frozenset({"a": "annotator", "v": "validator"}[letter] for letter in roles)
    assert rule.best(JudgedPair(votes, YES, False, named)) == expected


def test_a_condition_that_is_not_given_is_that_of_the_next_broader_tier(tmp_path: Path) -> None:
    rule = load_tier_rule(_file(tmp_path, NESTED))
    assert [tier.in_words() for tier in rule.complete] == [
        "2 or more votes, votes by annotator only, 66% or more of the votes for the label",
        "2 or more votes, votes by annotator only",
        "every labelled pair",
    ]


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ({}, "every labelled pair"),
        ({"min_votes": 1}, "1 or more vote"),
        ({"min_votes": 2, "agreement": ["unanimous", "majority"]}, "2 or more votes, agreement unanimous or majority"),
        (
            {"valid": True, "min_backing": 0.665},
            "label confirmed by a validator, 66.5% or more of the votes for the label",
        ),
        ({"valid": "any", "roles": ["annotator", "validator"]}, "votes by annotator or validator only"),
    ],
)
def test_conditions_in_words(conditions: Row, words: str) -> None:
    assert Tier(name="gold", **conditions).in_words() == words


def test_a_pair_may_be_in_no_tier() -> None:
    rule = TierRule(meaning="x", tiers=[Tier(name="gold", min_votes=2)])
    assert rule.best(JudgedPair([YES], YES, True)) is None
    assert rule.best(JudgedPair([YES, NO], YES, True)) == "gold"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: silver", "name: diamond", "the tiers are diamond, diamond, bronze: name each once and the best first"),
        ("name: diamond", "name: bronze", "the tiers are bronze, silver, bronze: name each once and the best first"),
        ("min_backing: 0.66", "roles: [validator]", "no pair can be diamond: its agreement or roles share no value"),
    ],
)
def test_an_unusable_rule_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = _file(tmp_path, NESTED.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_tier_rule(path)
    assert str(caught.value).startswith(f"{path}, tiers: {message}")
    assert "\n" not in str(caught.value)


def test_agreements_without_a_common_value_are_refused() -> None:
    tiers = [Tier(name="gold", agreement=["majority"]), Tier(name="silver", agreement=["unanimous"])]
    with pytest.raises(ValidationError, match="no pair can be gold"):
        TierRule(meaning="x", tiers=tiers)


@pytest.mark.parametrize(
    ("gold", "silver", "words"),
    [
        ({"min_votes": 1}, {"min_votes": 2}, "2 or more votes"),
        ({"min_votes": 3}, {"min_votes": 2}, "3 or more votes"),
        ({"min_backing": 0.5}, {"min_backing": 0.75}, "75% or more of the votes for the label"),
        ({"min_backing": 0.75}, {"min_backing": 0.5}, "75% or more of the votes for the label"),
        ({"valid": "any"}, {"valid": True}, "label confirmed by a validator"),
        ({"valid": True}, {"valid": "any"}, "label confirmed by a validator"),
        (
            {"agreement": ["unanimous", "majority"]},
            {"agreement": ["adjudicated", "unanimous"]},
            "agreement unanimous",
        ),
        ({"roles": ["annotator"]}, {"roles": ["validator", "annotator"]}, "votes by annotator only"),
    ],
)
def test_a_condition_never_loosens_that_of_a_broader_tier(gold: Row, silver: Row, words: str) -> None:
    rule = TierRule(meaning="x", tiers=[Tier(name="gold", **gold), Tier(name="silver", **silver), Tier(name="bronze")])
    assert rule.complete[0].in_words() == words
    assert [tier.name for tier in rule.complete] == ["gold", "silver", "bronze"]


CONDITIONS: list[Row] = [
    {"min_votes": least, "agreement": kinds, "min_backing": share}
    for least, kinds in ((2, ["single", "unanimous"]), (1, ["unanimous", "majority"]), (3, ["majority", "unanimous"]))
    for share in (0.34, 0.56, 0.95)
] + [{"valid": True}, {"valid": "any"}, {"roles": ["annotator"]}, {"roles": ["annotator", "validator"]}]


@given(
    st.lists(st.sampled_from(CONDITIONS), min_size=4, max_size=4),
    st.lists(st.sampled_from(VOTE_LABELS), min_size=1, max_size=9),
    st.booleans(),
    st.sampled_from([frozenset({"annotator"}), frozenset({"annotator", "validator"})]),
)
def test_the_best_tier_is_the_first_whose_conditions_and_broader_ones_hold(
    conditions: list[Row], votes: list[str], valid: bool, roles: frozenset[str]
) -> None:
    tiers = [Tier(name=name, **each) for name, each in zip(TIERS, conditions, strict=True)]
    rule, pair = TierRule(meaning="x", tiers=tiers), JudgedPair(votes, YES, valid, roles)
    inside = [tier.name for at, tier in enumerate(tiers) if all(each.meets(pair) for each in tiers[at:])]
    assert rule.best(pair) == (inside[0] if inside else None)
    assert [tier.name for tier in rule.complete if tier.meets(pair)] == inside


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("min_votes", "min_vote", ", tiers.1.min_vote: unknown key (found 2)"),
        ("meaning:", "menaing:", ", menaing: unknown key (found 'A test.'), and 1 more"),
        ("min_votes: 2", "min_votes: yes", ", tiers.1.min_votes: Input should be a valid integer (found True)"),
        ("min_votes: 2", "min_votes: 0", ", tiers.1.min_votes: Input should be greater than or equal to 1"),
        ("0.66", "66", ", tiers.0.min_backing: Input should be less than or equal to 1 (found 66)"),
        ("[annotator]", "[]", ", tiers.1.roles: List should have at least 1 item"),
        ("[annotator]", "[judge]", ", tiers.1.roles.0: Input should be 'annotator' or 'validator'"),
        ("name: diamond", "name: platinum", ", tiers.0.name: Input should be 'diamond', 'gold', 'silver' or"),
        ("min_votes: 2", "valid: false", ", tiers.1.valid: Input should be True or 'any' (found False)"),
    ],
)
def test_bad_rule_files_are_named_with_their_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = _file(tmp_path, NESTED.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_tier_rule(path)
    assert str(caught.value).removeprefix(path).startswith(message)


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(InputError, match=r"unknown tier rule 'strickt': did you mean 'strict'\? known are released, s"):
        load_tier_rule("strickt")
    with pytest.raises(
        InputError, match=r"no tier rule file at none\.yaml: give a \.yaml file, or one of released, st"
    ):
        load_tier_rule("none.yaml")


def test_a_rule_that_leaves_pairs_out_serves_campaigns_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = TierRule(meaning="x", tiers=[Tier(name="gold", min_votes=2)])
    monkeypatch.setattr("fcconan.building.tiers.TIER_RULES", {"mine": rule})
    with pytest.raises(InputError, match="tier rule 'mine' leaves pairs out"):
        tier([YES], YES, True, "mine")
