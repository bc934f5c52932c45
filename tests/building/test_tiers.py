from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from fcconan.building.tiers import TIER_RULES, Judged, Tier, TierRule, agreement, load_tier_rule, tier
from fcconan.data.schemas import AGREEMENTS, TIERS, VOTE_LABELS
from fcconan.errors import InputError

Row = dict[str, Any]
NO, UNSURE, YES = VOTE_LABELS
# `tiers:` stands on line 2 of what `_file` writes, the first tier on line 3.
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
    assert rule.best(Judged(votes, YES, False, named)) == expected


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


def test_a_pair_in_words() -> None:
    roles = frozenset({"validator", "annotator"})
    assert str(Judged([NO, YES, NO], YES, False, roles)) == (
        "votes 2 x not_appropriate, 1 x appropriate by annotator and validator, label appropriate, not valid"
    )
    assert str(Judged([NO], NO, True)) == "votes 1 x not_appropriate, label not_appropriate, valid"


def test_a_pair_may_be_in_no_tier() -> None:
    rule = TierRule(meaning="x", tiers=[Tier(name="gold", min_votes=2)])
    assert rule.best(Judged([YES], YES, True)) is None
    assert rule.best(Judged([YES, NO], YES, True)) == "gold"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "min_backing: 0.66",
            "min_votes: 1",
            "not nested: votes 1 x appropriate, label appropriate, valid is diamond (1 ",
        ),
        (
            "min_backing: 0.66",
            "roles: [validator]",
            "not nested: votes 2 x appropriate by validator, label appropriate",
        ),
        (
            "min_backing: 0.66",
            "agreement: [single]",
            "no pair can be diamond, which asks for 2 or more votes, agreement",
        ),
        ("name: silver", "name: diamond", "the tiers are diamond, diamond, bronze: name each once and the best first"),
        ("name: diamond", "name: bronze", "the tiers are bronze, silver, bronze: name each once and the best first"),
    ],
)
def test_a_rule_that_is_not_nested_is_refused_with_an_example(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = _file(tmp_path, NESTED.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_tier_rule(path)
    assert str(caught.value).startswith(f"{path}, line 2: tiers: {message}")
    assert "\n" not in str(caught.value)


def test_a_better_tier_may_not_do_without_confirmation() -> None:
    with pytest.raises(ValidationError, match="votes 1 x appropriate, label appropriate, not valid is gold"):
        TierRule(meaning="x", tiers=[Tier(name="gold", valid="any"), Tier(name="silver", valid=True)])


def test_agreements_that_only_overlap_are_not_nested() -> None:
    tiers = [
        Tier(name="gold", agreement=["unanimous", "majority"]),
        Tier(name="silver", agreement=["unanimous", "adjudicated"]),
    ]
    with pytest.raises(ValidationError, match="not nested: votes 2 x appropriate, 1 x not_sure, label appropriate"):
        TierRule(meaning="x", tiers=tiers)


@pytest.mark.parametrize(
    ("gold", "silver", "message"),
    [
        # More than half of fewer than 51 votes are never less than 51 %: 26 of 51 are.
        (
            {"agreement": ["unanimous", "majority"], "min_backing": 0.1},
            {"min_backing": 0.51},
            "not nested: votes 30 x appropriate, 29 x not_sure, label appropriate, valid is gold",
        ),
        ({"min_backing": 0.663}, {"min_backing": 0.665}, "votes 663 x appropriate, 337 x not_sure, .*66.3% .*66.5%"),
        # A majority of 99 % takes 100 votes.
        (
            {"agreement": ["unanimous", "majority"], "min_backing": 0.99},
            {"agreement": ["unanimous"]},
            "votes 99 x appropriate, 1 x not_sure, label",
        ),
        ({"min_votes": 99}, {"min_votes": 100}, "not nested: votes 99 x appropriate, label"),
        ({"agreement": ["majority"], "min_backing": 1.0}, {}, "no pair can be gold"),
        ({"agreement": ["unanimous", "majority"], "min_backing": 0.1}, {"min_backing": 0.5}, None),
        ({"agreement": ["majority"], "min_backing": 0.999}, {"min_votes": 2}, None),  # 999 of 1000 are such a pair
    ],
)
def test_rules_are_checked_for_every_number_of_votes(gold: Row, silver: Row, message: str | None) -> None:
    def rule() -> TierRule:
        return TierRule(meaning="x", tiers=[Tier(name="gold", **gold), Tier(name="silver", **silver)])

    if message is None:
        assert rule().names == ["gold", "silver"]
    else:
        with pytest.raises(ValidationError, match=message):
            rule()


COUNTS = [Judged([YES] * backing + [NO] * (n - backing), YES, True) for n in range(1, 46) for backing in range(n + 1)]
CONDITIONS: list[Row] = [
    {"min_votes": least, "agreement": kinds, "min_backing": share}
    for least, kinds in ((2, ["single", "unanimous"]), (1, ["unanimous", "majority"]), (3, ["majority", "adjudicated"]))
    for share in (0.34, 0.56, 0.95)
]


def test_rules_are_accepted_if_all_pairs_are_nested_and_every_tier_has_one() -> None:
    # Shares and numbers such that 45 votes show every difference, whatever the broader tier asks.
    met = [[Tier(name="gold", **each).meets(pair) for pair in COUNTS] for each in CONDITIONS]
    refused = 0
    for one, gold in zip(CONDITIONS, met, strict=True):
        for other, silver in zip(CONDITIONS, met, strict=True):
            tiers = [Tier(name="gold", **one), Tier(name="silver", **other)]
            nested = not any(a and not b for a, b in zip(gold, silver, strict=True))
            if nested and any(gold) and any(silver):
                TierRule(meaning="x", tiers=tiers)
            else:
                refused += 1
                with pytest.raises(ValidationError, match="no pair can be" if nested else "not nested"):
                    TierRule(meaning="x", tiers=tiers)
    assert 0 < refused < len(CONDITIONS) ** 2


def test_what_the_other_conditions_imply_is_nested() -> None:
    tiers = [Tier(name="gold", agreement=["unanimous"], min_votes=1), Tier(name="silver", min_votes=2)]
    rule = TierRule(meaning="x", tiers=tiers)
    assert rule.best(Judged([YES, YES], YES, False)) == "gold"


def test_a_pair_that_shows_that_a_rule_is_not_nested_is_named() -> None:
    # The rule was not checked: 2 of 3 are .667, but 199 of 300 are .663.
    broad = Tier(name="silver", min_backing=0.665)
    rule = TierRule.model_construct(meaning="x", tiers=[Tier(name="gold", min_backing=0.663), broad])
    with pytest.raises(InputError, match="pair-1: not nested: votes 199 x appropriate, 101 x not_appropriate"):
        rule.best(Judged([YES] * 199 + [NO] * 101, YES, True), "pair-1")
    with pytest.raises(InputError, match=r"^a pair: not nested"):
        rule.best(Judged([YES] * 199 + [NO] * 101, YES, True))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("min_votes", "min_vote", ", line 6: unknown key 'tiers.1.min_vote'; did you mean 'min_votes'?"),
        ("meaning:", "menaing:", ", line 1: unknown key 'menaing'; did you mean 'meaning'? (and 1 more)"),
        ("min_votes: 2", "min_votes: yes", ", line 6: tiers.1.min_votes: Input should be a valid integer (found True)"),
        ("min_votes: 2", "min_votes: 0", ", line 6: tiers.1.min_votes: Input should be greater than or equal to 1"),
        ("0.66", "66", ", line 4: tiers.0.min_backing: Input should be less than or equal to 1 (found 66)"),
        ("[annotator]", "[]", ", line 7: tiers.1.roles: List should have at least 1 item"),
        ("[annotator]", "[judge]", ", line 7: tiers.1.roles.0: Input should be 'annotator' or 'validator'"),
        ("name: diamond", "name: platinum", ", line 3: tiers.0.name: Input should be 'diamond', 'gold', 'silver' or"),
        ("min_votes: 2", "valid: false", ", line 6: tiers.1.valid: Input should be True or 'any' (found False)"),
    ],
)
def test_bad_rule_files_are_named_with_their_line(tmp_path: Path, old: str, new: str, message: str) -> None:
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
