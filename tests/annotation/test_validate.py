"""Who validates which labels, and the states of the labels that follow."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fcconan import Bootstrap, InputError, Result, adjudicate, validate
from fcconan.annotation import VALIDATION, Answer, Assignment, Campaign, Decision, Rater
from tests.annotation.answered import (
    NO,
    YES,
    add_answers,
    campaign_of,
    comparison_units,
    labelled,
    reply_units,
    write_raters,
)

FOUR = [f"validator-{number}" for number in range(1, 5)]
NONE = Bootstrap(resamples=0)


def decided(folder: Path, *votes: str, validators: Sequence[str] = FOUR) -> Campaign:
    """A campaign on pairs with final labels."""
    campaign = labelled(folder, *votes, validators=validators)
    adjudicate(folder)
    return campaign


def run(campaign: Campaign, **options: Any) -> Result:
    """Validates without resamples."""
    return validate(campaign.folder, bootstrap=NONE, **options)


def open_units(campaign: Campaign) -> dict[str, list[str]]:
    """Unit -> validators, without withdrawn assignments."""
    found: dict[str, list[str]] = {}
    for each in campaign.assignments(VALIDATION):
        if not each.withdrawn:
            found.setdefault(each.unit_id, []).append(each.rater)
    return found


def times(campaign: Campaign) -> Counter[int]:
    """How many units have how many validators."""
    return Counter(map(len, open_units(campaign).values()))


def answer(campaign: Campaign, rater: str, unit: str, value: str | None) -> None:
    """Lets a validator answer."""
    add_answers(campaign, Answer(VALIDATION, rater, unit, "label", value))


def states(found: Result, label: str = "all") -> dict[str, int]:
    """The numbers of units by state, above 0."""
    rows = found.to_frame().query(f"label == '{label}' and units > 0")
    return dict(zip(rows["state"], rows["units"], strict=True))


def decide(campaign: Campaign, unit: str, label: str | None) -> None:
    """Gives a unit another final label."""
    reason = "person" if label else "person_discarded"
    new = campaign.decisions() | {unit: Decision(unit, label, "chair", reason, "")}
    campaign.write("decisions.jsonl", new.values())


def leave(campaign: Campaign, *names: str) -> None:
    """Lets validators leave."""
    raters = campaign.raters().values()
    write_raters(
        campaign, [Rater(each.rater, each.role, "left" if each.rater in names else each.state) for each in raters]
    )


def test_every_labelled_unit_gets_one_validator_and_loads_are_equal(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2" * 10 + "12", "0" + "2" * 9 + "10")
    found = run(campaign)
    assert found.notes[0] == "9 new assignments, 0 withdrawn."
    assert states(found) == {"missing": 9}
    # The first and the last two are discarded: contradiction, not sure, contradiction.
    assert sorted(open_units(campaign)) == sorted(f"hs-{at}:cn-{at}" for at in range(2, 11))
    given = campaign.assignments(VALIDATION)
    assert sorted(Counter(each.rater for each in given).values()) == [2, 2, 2, 3]
    for name in FOUR:
        positions = [each.position for each in given if each.rater == name]
        assert positions == [*range(1, len(positions) + 1)]
    assert [*(campaign.shown(VALIDATION) or {}).values()] == [{"label": YES}] * 9


def test_validators_had_no_part_in_the_label(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2222", "2   ", validators=["chair", "guest"])
    raters = campaign.raters() | {"rater-2": Rater("rater-2", "validator")}
    write_raters(campaign, raters.values())
    # rater-2 labelled the first pair, the guest answered the second, and the chair decided the third and fourth.
    add_answers(campaign, Answer("main", "guest", "hs-2:cn-2", "label", NO))
    for at in (3, 4):
        decide(campaign, f"hs-{at}:cn-{at}", NO)
    run(campaign)
    for unit, barred in zip(campaign.units(), ("rater-2", "guest", "chair", "chair"), strict=True):
        assert barred not in open_units(campaign)[unit]
    leave(campaign, "guest", "rater-2")
    note = run(campaign, extend=True).notes[0]
    assert {unit: open_units(campaign).get(unit) for unit in ("hs-3:cn-3", "hs-4:cn-4")} == dict.fromkeys(
        ("hs-3:cn-3", "hs-4:cn-4")
    )
    assert "withdrawn" in note


def test_sample_overlap_and_sessions(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2" * 40)
    run(campaign, sample_size=20, overlap={2: 0.25}, session_size=3)
    assert times(campaign) == {1: 15, 2: 5}
    given = campaign.assignments(VALIDATION)
    assert len({(each.rater, each.unit_id) for each in given}) == 25
    assert max(Counter((each.rater, each.session) for each in given).values()) == 3
    other = decided(tmp_path / "d", "2" * 40)
    run(other, sample_size=10)
    assert {*open_units(other)} < {*open_units(campaign)}  # the same draw, cut earlier


def test_extending_keeps_what_holds_and_adds_the_rest(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "222222??")
    run(campaign)
    first = campaign.assignments(VALIDATION)
    assert run(campaign, extend=True).notes[0] == "0 new assignments, 0 withdrawn."
    assert campaign.assignments(VALIDATION) == first
    turned, dropped = first[0], first[1]
    answer(campaign, turned.rater, turned.unit_id, "agree")
    add_answers(campaign, *(Answer("main", "rater-1", f"hs-{at}:cn-{at}", "label", NO) for at in (7, 8)))
    decide(campaign, turned.unit_id, NO)
    decide(campaign, dropped.unit_id, None)
    adjudicate(campaign.folder)
    assert states(run(campaign))["outdated"] == 1
    found = run(campaign, extend=True)
    assert found.notes[0] == "3 new assignments, 2 withdrawn."
    now = {each.key: each for each in campaign.assignments(VALIDATION)}
    assert {key for key, each in now.items() if each.withdrawn} == {turned.key, dropped.key}
    assert all(now[each.key].position == each.position for each in first)
    added = now.keys() - {each.key for each in first}
    assert {unit for _, unit in added} == {turned.unit_id, "hs-7:cn-7", "hs-8:cn-8"}
    assert states(found) == {"missing": 7}
    # An answer to a label that holds again counts.
    decide(campaign, turned.unit_id, YES)
    assert states(run(campaign, extend=True)) == {"agreed": 1, "missing": 6}


def test_open_units_of_validators_who_left_go_to_others(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2" * 40, validators=FOUR[:3])
    run(campaign, overlap={"2": 0.5})
    assert times(campaign) == {1: 20, 2: 20}
    before = open_units(campaign)
    theirs = [unit for unit, names in before.items() if FOUR[0] in names]
    answer(campaign, FOUR[0], theirs[0], "agree")
    leave(campaign, FOUR[0])
    found = run(campaign, extend=True)
    assert found.notes[0] == f"{len(theirs) - 1} new assignments, {len(theirs) - 1} withdrawn."
    after = open_units(campaign)
    assert {unit: len(names) for unit, names in after.items()} == {unit: len(names) for unit, names in before.items()}
    loads = Counter(name for names in after.values() for name in names)
    assert loads[FOUR[0]] == 1
    assert abs(loads[FOUR[1]] - loads[FOUR[2]]) <= 1


def test_units_wait_for_a_validator_who_can_take_them(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2222", validators=FOUR[:2])
    run(campaign, overlap={"2": 1.0})
    leave(campaign, FOUR[0])
    assert "4 units lack an independent validator" in run(campaign, extend=True).notes[1]
    write_raters(campaign, [*campaign.raters().values(), Rater(FOUR[2], "validator")])
    assert run(campaign, extend=True).notes[0] == "4 new assignments, 0 withdrawn."
    assert times(campaign) == {2: 4}


def test_a_round_has_its_options(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2" * 8)
    run(campaign, sample_size=4, session_size=2)
    first = campaign.assignments(VALIDATION)
    for options in ({}, {"extend": True}, {"sample_size": 4}):
        run(campaign, **options)
        assert campaign.assignments(VALIDATION) == first
    with pytest.raises(InputError, match="has other options: leave these out, or give --extend"):
        run(campaign, sample_size=6)
    assert run(campaign, sample_size=6, extend=True).notes[0].startswith("2 new assignments")
    assert max(each.session for each in campaign.assignments(VALIDATION)) >= 2


def test_states_and_agreement(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "222222222")
    one, two = FOUR[:2]
    units = [*campaign.units()]
    rows = [(one, at, YES) for at in range(7)] + [(two, at, YES) for at in (0, 2, 3, 5)] + [(one, 7, NO)]
    campaign.write(f"rounds/{VALIDATION}.jsonl", [Assignment(rater, units[at], at + 1) for rater, at, _ in rows])
    shown = [f'{{"rater": "{rater}", "unit_id": "{units[at]}", "label": "{label}"}}\n' for rater, at, label in rows]
    (campaign.folder / f"rounds/{VALIDATION}.shown.jsonl").write_text("".join(shown))
    for at, value in ((0, "agree"), (1, "disagree"), (2, "agree"), (3, None), (4, None), (7, "agree")):
        answer(campaign, one, units[at], value)
    for at, value in ((2, "disagree"), (0, "disagree"), (0, "agree")):  # the last answer counts
        answer(campaign, two, units[at], value)
    found = run(campaign)
    expected = {"agreed": 1, "disagreed": 1, "split": 1, "skipped": 1, "missing": 3, "outdated": 1, "not_assigned": 1}
    assert states(found) == states(found, YES) == expected
    validators = found.to_frame("validators").set_index("rater")
    assert validators.loc[one].to_dict() == {"agreed": 2, "disagreed": 1, "skipped": 2, "missing": 2, "outdated": 1}
    assert validators.loc[two].to_dict() == {"agreed": 1, "disagreed": 1, "skipped": 0, "missing": 2, "outdated": 0}
    overall = found.to_frame("agreement").query("a.isna()").set_index("coefficient")
    # Two units with two answers: agree and agree, agree and disagree.
    # Alpha: 1 - (4 - 1) * 2 / (2 * 1 * 3), two coincidences seen, six of twelve expected.
    assert overall["value"].to_dict() == {"raw": 0.5, "cohen": 0.0, "krippendorff_nominal": 0.0}
    assert overall["n"].tolist() == [2, 2, 2]


def test_medians_of_grades_are_shown(tmp_path: Path) -> None:
    high = {"relevance": 5.0, "aggressiveness": 1.0, "coherence": 4.0, "suitableness": 5.0}
    low = dict.fromkeys(high, 1.0)
    said: dict[str, list[Any]] = {"rater-1": [high, low], "rater-2": [low, None], "rater-3": [high, {"relevance": 2.0}]}
    campaign = campaign_of(tmp_path / "c", reply_units(2), said, task="cseval", validators=FOUR)
    run(campaign)
    shown = {unit: row for (_, unit), row in (campaign.shown(VALIDATION) or {}).items()}
    assert shown == {"re-1": {"grades": high}, "re-2": {"grades": low | {"relevance": 1.5}}}


def test_half_of_the_comparisons_are_swapped(tmp_path: Path) -> None:
    said = {"rater-1": ["a"] * 20}
    campaign = campaign_of(tmp_path / "c", comparison_units(20), said, task="pairwise", validators=FOUR[:2])
    adjudicate(campaign.folder)
    run(campaign)
    given = campaign.assignments(VALIDATION)
    assert Counter(each.rater for each in given if each.swapped) == dict.fromkeys(FOUR[:2], 5)


@pytest.mark.parametrize(
    ("votes", "validators", "options", "said"),
    [
        (("22",), FOUR, {"sample_size": 3}, "found a sample of 3 units, expected at most 2"),
        (("22",), FOUR, {"overlap": {"2": 1.5}}, "expected a share from 0 to 1 for 2"),
        (("22",), FOUR, {"overlap": {"3": 0.5}}, "expected a share from 0 to 1 for 2"),
        (("20", "02"), FOUR, {}, "has nothing to validate: adjudicate first"),
        (("22",), [], {}, "has no active validator: add one to raters.csv"),
        (("22",), FOUR[:1], {"overlap": {"2": 0.5}}, "need 2 active raters"),
    ],
)
def test_mistakes(
    tmp_path: Path, votes: Sequence[str], validators: Sequence[str], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        run(decided(tmp_path / "c", *votes, validators=validators), **options)
