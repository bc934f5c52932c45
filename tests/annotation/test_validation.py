"""Who validates what, and what validators say."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcconan.annotation import adjudicate
from fcconan.annotation.assignment.validators import Options, plan_validation, validation_options, write_plan
from fcconan.annotation.campaigns import LABEL, VALIDATION, Answer, Assignment, Campaign, Decision, Rater
from fcconan.annotation.validation import Verdict, shown_assignments, validation_summary, validation_targets, verdicts
from fcconan.data import read_rows
from fcconan.errors import InputError
from tests.annotation.answered import NO, YES, add_answers, campaign_of, comparison_units, labelled, reply_units
from tests.conftest import RunCli

FOUR = [f"validator-{number}" for number in range(1, 5)]
SHOWN = f"rounds/{VALIDATION}.shown.jsonl"


def decided(folder: Path, *votes: str, validators: Sequence[str] = FOUR, **options: Any) -> Campaign:
    """A campaign on pairs with final labels."""
    campaign = labelled(folder, *votes, validators=validators, **options)
    campaign.write("decisions.jsonl", adjudicate(campaign).decisions)
    return campaign


def answer(campaign: Campaign, rater: str, at: int, value: str | None) -> None:
    """Lets a validator answer."""
    add_answers(campaign, Answer(VALIDATION, rater, f"hs-{at}:cn-{at}", LABEL, value))


def write(campaign: Campaign, *rows: tuple[str, int, str]) -> None:
    """Writes a round of (validator, pair, shown label)."""
    campaign.write(
        f"rounds/{VALIDATION}.jsonl",
        [Assignment(rater, f"hs-{at}:cn-{at}", place) for place, (rater, at, _) in enumerate(rows, start=1)],
    )
    lines = [{"rater": rater, "unit_id": f"hs-{at}:cn-{at}", LABEL: label} for rater, at, label in rows]
    (campaign.folder / SHOWN).write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_every_labelled_unit_gets_one_validator_and_loads_are_equal(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2" * 10 + "12", "0" + "2" * 9 + "10")
    plan = plan_validation(campaign, seed=3)
    # The first and the last two are discarded: contradiction, not sure, contradiction.
    assert sorted(each.unit_id for each in plan.assignments) == sorted(f"hs-{at}:cn-{at}" for at in range(2, 11))
    assert sorted(Counter(each.rater for each in plan.assignments).values()) == [2, 2, 2, 3]
    assert [each.position for each in plan.assignments if each.rater == "validator-1"] in ([1, 2], [1, 2, 3])
    assert (plan.n_new, plan.n_withdrawn, plan.short) == (9, 0, [])
    assert {(row["rater"], row["unit_id"]) for row in plan.shown} == {(x.rater, x.unit_id) for x in plan.assignments}
    assert {row[LABEL] for row in plan.shown} == {YES}
    assert plan == plan_validation(campaign, seed=3)
    assert plan != plan_validation(campaign, seed=4)


def test_nobody_validates_what_they_had_a_part_in(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2222", "2?  ", validators=[])
    decisions = [campaign.decisions()["hs-1:cn-1"], Decision("hs-3:cn-3", NO, "chair", "person")]
    campaign.write("decisions.jsonl", decisions)
    campaign.write("raters.csv", [Rater(name, "validator") for name in ("rater-2", "chair")])
    # rater-2 answered the first pair, and the chair decided the third.
    plan = plan_validation(campaign, seed=0)
    assert {(each.unit_id, each.rater) for each in plan.assignments} == {
        ("hs-1:cn-1", "chair"),
        ("hs-3:cn-3", "rater-2"),
    }


def test_nobody_validates_what_they_decided_or_answered_without_being_assigned(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "22", validators=["chair", "guest"])
    # No round names either of them: the guest answered, and took it back later, and the chair decided.
    add_answers(campaign, Answer("main", "guest", "hs-1:cn-1", LABEL, NO))
    add_answers(campaign, Answer("main", "guest", "hs-1:cn-1", LABEL, None))
    rows = [campaign.decisions()["hs-1:cn-1"], Decision("hs-2:cn-2", YES, "chair", "person")]
    campaign.write("decisions.jsonl", rows)
    for seed in range(5):
        plan = plan_validation(campaign, seed=seed)
        assert {each.unit_id: each.rater for each in plan.assignments} == {"hs-1:cn-1": "chair", "hs-2:cn-2": "guest"}
    for alone, lacking in (("chair", "hs-2:cn-2"), ("guest", "hs-1:cn-1")):
        campaign.write("raters.csv", [Rater("rater-1"), Rater(alone, "validator")])
        assert plan_validation(campaign).short == [lacking]


def test_units_that_all_validators_had_a_part_in_are_short(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "22", validators=[])
    campaign.write("raters.csv", [Rater("rater-1", "validator")])
    plan = plan_validation(campaign)
    assert (plan.assignments, plan.short) == ([], ["hs-1:cn-1", "hs-2:cn-2"])


def test_sample_and_share_for_two(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2" * 40)
    plan = plan_validation(campaign, sample=20, twice=0.25, session_size=3, seed=1)
    times = Counter(each.unit_id for each in plan.assignments)
    assert Counter(times.values()) == {1: 15, 2: 5}
    assert len({(each.rater, each.unit_id) for each in plan.assignments}) == 25
    assert max(Counter((each.rater, each.session) for each in plan.assignments).values()) == 3
    fewer = plan_validation(campaign, sample=10, seed=1)
    assert {each.unit_id for each in fewer.assignments} < times.keys()  # the same draw, cut earlier


def test_again_keeps_what_holds_and_adds_the_rest(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "222222??")
    write_plan(campaign, plan_validation(campaign, seed=5))
    first = campaign.assignments(VALIDATION)
    assert plan_validation(campaign, seed=5).assignments == first
    answer(campaign, first[0].rater, int(first[0].unit_id[3]), "agree")
    add_answers(campaign, *(Answer("main", "rater-1", f"hs-{at}:cn-{at}", LABEL, NO) for at in (7, 8)))
    # One label turns into another one after it was shown; another unit is discarded.
    labels = {each.unit_id: each for each in adjudicate(campaign).decisions}
    turned, dropped = first[0].unit_id, first[1].unit_id
    labels[turned] = Decision(turned, NO, "chair", "person")
    labels[dropped] = Decision(dropped, None, "chair", "person_discarded")
    campaign.write("decisions.jsonl", labels.values())
    plan = plan_validation(campaign, seed=5)
    before, after = {(x.rater, x.unit_id): x for x in first}, {(x.rater, x.unit_id): x for x in plan.assignments}
    assert {key for key, each in after.items() if each.withdrawn} == {
        (first[0].rater, turned),
        (first[1].rater, dropped),
    }
    assert all(replace(after[key], withdrawn=False) == each for key, each in before.items())
    assert {unit for key in after.keys() - before.keys() for unit in key[1:]} == {turned, "hs-7:cn-7", "hs-8:cn-8"}
    assert (plan.n_new, plan.n_withdrawn) == (3, 2)
    (renewed,) = (rater for rater, unit in after.keys() - before.keys() if unit == turned)
    assert renewed != first[0].rater
    write_plan(campaign, plan)
    found = verdicts(campaign)
    assert (found[turned].state, dropped in found) == ("missing", False)


def test_what_validators_who_left_did_not_answer_goes_to_others(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2222", validators=FOUR[:2])
    write_plan(campaign, plan_validation(campaign))
    mine = [each for each in campaign.assignments(VALIDATION) if each.rater == "validator-1"]
    assert len(mine) == 2
    answer(campaign, "validator-1", int(mine[0].unit_id[3]), "disagree")
    leave(campaign, "validator-1")
    plan = plan_validation(campaign)
    assert [each.withdrawn for each in plan.assignments if each.rater == "validator-1"] == [False, True]
    assert [each.unit_id for each in plan.assignments if each.rater == "validator-2"][2:] == [mine[1].unit_id]
    write_plan(campaign, plan)
    states = {unit: each.state for unit, each in verdicts(campaign).items()}
    assert (states[mine[0].unit_id], states[mine[1].unit_id]) == ("disagreed", "missing")


def test_without_a_note_of_labels_a_unit_without_a_label_is_outdated(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "20", "00", validators=FOUR[:1])  # the first unit is discarded
    write(campaign, ("validator-1", 1, YES), ("validator-1", 2, NO))
    (campaign.folder / SHOWN).unlink()
    shown = shown_assignments(campaign, validation_targets(campaign))
    assert [(each.shown, each.is_current) for each in shown] == [({}, False), ({LABEL: NO}, True)]


def times_of(assignments: Sequence[Assignment]) -> Counter[int]:
    """How many units have how many validators, those who left and were relieved not counted."""
    return Counter(Counter(each.unit_id for each in assignments if not each.withdrawn).values())


def twice_judged(assignments: Sequence[Assignment]) -> set[str]:
    """The units that two validators have."""
    return {unit for unit, n in Counter(each.unit_id for each in assignments if not each.withdrawn).items() if n == 2}


def leave(campaign: Campaign, *names: str) -> None:
    """Lets validators leave."""
    raters = [replace(each, state="left" if each.rater in names else each.state) for each in campaign.raters().values()]
    campaign.write("raters.csv", raters)


def test_units_that_two_were_to_judge_have_two_again_when_one_leaves(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2" * 40, validators=FOUR[:3])
    write_plan(campaign, plan_validation(campaign, twice=0.5, seed=1))
    first = campaign.assignments(VALIDATION)
    assert times_of(first) == {1: 20, 2: 20}
    theirs = [each for each in first if each.rater == FOUR[0]]
    answer(campaign, FOUR[0], int(theirs[0].unit_id.split("-")[-1]), "agree")
    leave(campaign, FOUR[0])
    plan = plan_validation(campaign, seed=1)
    assert times_of(plan.assignments) == {1: 20, 2: 20}
    assert (plan.n_new, plan.n_withdrawn, plan.short) == (len(theirs) - 1, len(theirs) - 1, [])
    loads = Counter(each.rater for each in plan.assignments if not each.withdrawn)
    assert (loads[FOUR[0]], loads[FOUR[1]] + loads[FOUR[2]]) == (1, 59)
    assert abs(loads[FOUR[1]] - loads[FOUR[2]]) <= 1
    assert twice_judged(plan.assignments) == twice_judged(first)
    write_plan(campaign, plan)
    assert plan_validation(campaign, seed=1).assignments == plan.assignments


def test_what_nobody_can_take_over_waits_for_somebody_who_can(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2" * 4, validators=FOUR[:2])
    write_plan(campaign, plan_validation(campaign, twice=1.0))
    leave(campaign, FOUR[0])
    plan = plan_validation(campaign)
    assert (plan.n_new, plan.n_withdrawn) == (0, 0)
    assert plan.short == [f"hs-{at}:cn-{at}" for at in range(1, 5)]
    campaign.write("raters.csv", [*campaign.raters().values(), Rater(FOUR[2], "validator")])
    plan = plan_validation(campaign)
    assert (plan.n_new, plan.n_withdrawn, plan.short) == (4, 4, [])
    assert times_of(plan.assignments) == {2: 4}


def turn(campaign: Campaign, label: str) -> None:
    """Gives the only pair another final label."""
    campaign.write("decisions.jsonl", [Decision("hs-1:cn-1", label, "chair", "person")])


def again(campaign: Campaign) -> tuple[int, list[str], Counter[int]]:
    """Makes the round again as it was made: how much is new, what lacks a validator, how many validators units have."""
    plan = plan_validation(campaign, seed=1)
    write_plan(campaign, plan)
    return plan.n_new, plan.short, times_of(plan.assignments)


@pytest.mark.parametrize("spare", [0, 1])
def test_what_units_lost_and_nobody_could_replace_is_not_forgotten(tmp_path: Path, spare: int) -> None:
    campaign = decided(tmp_path / "c", "2", validators=FOUR[: 2 + spare])
    write_plan(campaign, plan_validation(campaign, twice=1.0, seed=1))
    turn(campaign, NO)
    # Both have seen another label; only those who have not can judge the one that holds.
    for new in (spare, 0, 0):
        assert again(campaign) == (new, ["hs-1:cn-1"], Counter({spare: 1} if spare else {}))
    joined = [Rater(name, "validator") for name in ("guest-1", "guest-2")[spare:]]
    campaign.write("raters.csv", [*campaign.raters().values(), *joined])
    assert again(campaign) == (2 - spare, [], Counter({2: 1}))
    assert again(campaign) == (0, [], Counter({2: 1}))


def test_who_replaces_somebody_is_no_second_validator(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2")
    assert again(campaign) == (1, [], Counter({1: 1}))
    leave(campaign, campaign.assignments(VALIDATION)[0].rater)
    assert again(campaign) == (1, [], Counter({1: 1}))
    turn(campaign, NO)
    assert again(campaign) == (1, [], Counter({1: 1}))


def test_an_answer_to_a_label_that_holds_again_counts(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2", validators=FOUR[:2])
    again(campaign)
    (first,) = campaign.assignments(VALIDATION)
    answer(campaign, first.rater, 1, "agree")
    turn(campaign, NO)
    assert again(campaign) == (1, [], Counter({1: 1}))
    turn(campaign, YES)
    assert again(campaign) == (0, [], Counter())
    assert verdicts(campaign)["hs-1:cn-1"].answers == {first.rater: "agree"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"sample": 30, "x": 1}', "has no valid options"),
        ('{"rounds": 3}', "has no valid options"),
        ('{"twice": "much"}', "has no valid options"),
        ('{"sample": -4}', "has no valid options"),
        ("[1, 2]", "cannot be read"),
        ("{", "cannot be read"),
    ],
)
def test_a_damaged_note_of_how_the_round_was_made(tmp_path: Path, content: str, said: str) -> None:
    campaign = decided(tmp_path / "c", "2")
    write_plan(campaign, plan_validation(campaign))
    (campaign.folder / "rounds" / f"{VALIDATION}.json").write_text(content)
    for extended in (False, True):
        with pytest.raises(InputError, match=r"validation\.json .*" + said + r".*: restore the file from a backup"):
            validation_options(campaign, {"sample": 1}, again=extended)


def test_a_note_without_its_round_says_nothing(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2")
    (campaign.folder / "rounds").mkdir(exist_ok=True)
    (campaign.folder / "rounds" / f"{VALIDATION}.json").write_text('{"sample": 30}')  # killed before the round came
    assert validation_options(campaign, {"twice": 0.5}) == Options(twice=0.5)


def test_a_label_that_changed_is_judged_by_as_many_as_before(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2")
    write_plan(campaign, plan_validation(campaign, twice=1.0))
    campaign.write("decisions.jsonl", [Decision("hs-1:cn-1", NO, "chair", "person")])
    plan = plan_validation(campaign)
    assert (plan.n_new, plan.n_withdrawn) == (2, 2)
    assert {each.rater for each in plan.assignments} == set(FOUR)


def test_states(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "222222222")
    one, two = FOUR[:2]
    rows = [(one, at, YES) for at in range(1, 8)] + [(two, at, YES) for at in (1, 3, 4, 6)]
    write(campaign, *rows, (one, 8, NO))
    for at, value in ((1, "agree"), (2, "disagree"), (3, "agree"), (4, None), (5, None), (8, "agree")):
        answer(campaign, one, at, value)
    answer(campaign, two, 3, "disagree")
    answer(campaign, two, 1, "disagree")
    answer(campaign, two, 1, "agree")  # changed their mind
    found = verdicts(campaign)
    assert [each.state for each in found.values()] == [
        "agreed",
        "disagreed",
        "split",
        "missing",  # one skipped it, the other has not answered
        "skipped",
        "missing",
        "missing",
        "outdated",
        "not_assigned",
    ]
    assert found["hs-3:cn-3"] == Verdict("hs-3:cn-3", "split", {one: "agree", two: "disagree"})
    result = validation_summary(campaign, resamples=0)
    assert result["units"] == {
        "agreed": 1,
        "disagreed": 1,
        "split": 1,
        "skipped": 1,
        "missing": 3,
        "outdated": 1,
        "not_assigned": 1,
    }
    assert result["labels"] == {YES: result["units"]}
    assert result["validators"] == [
        {"rater": one, "agreed": 2, "disagreed": 1, "skipped": 2, "missing": 2, "outdated": 1},
        {"rater": two, "agreed": 1, "disagreed": 1, "skipped": 0, "missing": 2, "outdated": 0},
    ]
    raw, kappa, alpha = (row for row in result["agreement"] if row["a"] is None)
    # Two units with two answers: agree and agree, agree and disagree.
    assert (raw["value"], raw["n"], kappa["value"]) == (0.5, 2, 0.0)
    assert alpha["value"] == 0.0  # 1 - (4 - 1) * 2 / (2 * 1 * 3): two coincidences seen, six of twelve expected


def test_validators_who_are_constant_have_a_reason(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "22")
    write(campaign, *((rater, at, YES) for rater in FOUR[:2] for at in (1, 2)))
    for rater in FOUR[:2]:
        for at in (1, 2):
            answer(campaign, rater, at, "agree")
    rows = validation_summary(campaign, resamples=0)["agreement"]
    assert {(row["coefficient"], row["value"], row["reason"]) for row in rows} == {
        ("raw", 1.0, None),
        ("cohen", None, "no_variation"),
        ("krippendorff_nominal", None, "no_variation"),
    }


def test_grades_are_shown_as_medians(tmp_path: Path) -> None:
    low = {"relevance": 1.0, "coherence": 2.0, "aggressiveness": 3.0, "suitableness": 1.0}
    high = {"relevance": 2.0, "coherence": 2.0, "aggressiveness": 5.0, "suitableness": 3.0}
    said: dict[str, list[Any]] = {"rater-1": [low, low], "rater-2": [high, None], "rater-3": [high, {"relevance": 2.0}]}
    campaign = campaign_of(tmp_path / "c", reply_units(2), said, task="cseval", validators=FOUR)
    assert validation_targets(campaign) == {"re-1": {"grades": high}, "re-2": {"grades": low | {"relevance": 1.5}}}
    plan = plan_validation(campaign)
    assert len(plan.assignments) == 2
    assert plan.shown[0].keys() == {"rater", "unit_id", "grades"}


def test_comparisons_are_shown_swapped_to_half(tmp_path: Path) -> None:
    campaign = campaign_of(
        tmp_path / "c", comparison_units(20), {"rater-1": ["a"] * 20}, task="pairwise", validators=FOUR[:2]
    )
    campaign.write("decisions.jsonl", adjudicate(campaign).decisions)
    plan = plan_validation(campaign)
    assert Counter(each.rater for each in plan.assignments if each.swapped) == {"validator-1": 5, "validator-2": 5}
    assert {row[LABEL] for row in plan.shown} == {"a"}


def test_a_round_without_a_note_of_what_it_showed_showed_the_labels(tmp_path: Path) -> None:
    campaign = decided(tmp_path / "c", "2")
    campaign.write(f"rounds/{VALIDATION}.jsonl", [Assignment(FOUR[0], "hs-1:cn-1", 1)])
    answer(campaign, FOUR[0], 1, "agree")
    assert verdicts(campaign)["hs-1:cn-1"].state == "agreed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sample": 3}, "--sample-size is 3, expected 1 to 2"),
        ({"twice": 1.5}, "the shares of --overlap are 1.5 by 2"),
    ],
)
def test_numbers_that_cannot_be(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan_validation(decided(tmp_path / "c", "22"), **options)


def test_nothing_and_nobody(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to validate: none of 0 decisions is a label; run `fcconan ann"):
        plan_validation(labelled(tmp_path / "a", "2", validators=FOUR))
    discarded = decided(tmp_path / "d", "20", "02", validators=FOUR)
    with pytest.raises(InputError, match="nothing to validate: none of 2 decisions is a label"):
        plan_validation(discarded)
    grades: dict[str, Any] = {"rater-1": [{"relevance": 2.0}]}
    with pytest.raises(
        InputError, match=r"has nothing to validate: import grades in all of relevance, .*, or choose other rounds"
    ):
        plan_validation(campaign_of(tmp_path / "e", reply_units(1), grades, task="cseval", validators=FOUR))
    with pytest.raises(InputError, match="no active validator: add one"):
        plan_validation(decided(tmp_path / "b", "2", validators=[]))
    with pytest.raises(InputError, match="1 units need 2 of the 1 active raters"):
        plan_validation(decided(tmp_path / "c", "2", validators=FOUR[:1]), twice=0.5)


def test_the_command_makes_the_round_once_and_sums_it_up(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = decided(tmp_path / "c", "2222??")
    done = run_cli("annotate", "validate", tmp_path / "c", "--overlap", "2=0.5", "--json", tmp_path / "v.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "v.json").read_text())["units"]["missing"] == 4
    assert "6 new assignments, 0 withdrawn." in done.stdout
    files = [tmp_path / "c" / "rounds" / f"{VALIDATION}.jsonl", tmp_path / "c" / SHOWN]
    before = [file.read_bytes() for file in files]
    done = run_cli("annotate", "validate", tmp_path / "c", "--overlap", "2=0.5")
    assert "The round validation exists: --extend adds units to it." in done.stdout
    done = run_cli("annotate", "validate", tmp_path / "c", "--extend")
    assert "0 new assignments" in done.stdout
    assert [file.read_bytes() for file in files] == before
    for each in campaign.assignments(VALIDATION):
        answer(campaign, each.rater, int(each.unit_id[3]), "agree" if each.position == 1 else None)
    add_answers(campaign, *(Answer("main", "rater-1", f"hs-{at}:cn-{at}", LABEL, YES) for at in (5, 6)))
    campaign.write("decisions.jsonl", adjudicate(campaign).decisions)
    done = run_cli("annotate", "validate", tmp_path / "c", "--extend", "--json", tmp_path / "v.json")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "v.json").read_text())
    assert result["units"]["missing"] == 2
    assert sum(row["agreed"] for row in result["validators"]) == len(
        {x.rater for x in campaign.assignments(VALIDATION)}
    )
    # Of the two new units one gets two validators, as the share that the round was made with says.
    assert len(list(read_rows(files[1]))) == 9


def test_again_keeps_to_how_the_round_was_made(tmp_path: Path, run_cli: RunCli) -> None:
    campaign, command = decided(tmp_path / "c", "2" * 8), ("annotate", "validate", tmp_path / "c", "--resamples", 0)
    made = tmp_path / "c" / "rounds" / f"{VALIDATION}.json"
    assert run_cli(*command, "--sample-size", 4, "--session-size", 2, "--seed", 7).returncode == 0
    how = {"sample": 4, "twice": 0.0, "session_size": 2, "rounds": ["main"], "seed": 7, "two": [], "algorithm": 2}
    assert json.loads(made.read_text()) == how
    first = campaign.assignments(VALIDATION)
    assert len(first) == 4
    for options in ((), ("--extend",), ("--sample-size", 4, "--seed", 7)):
        done = run_cli(*command, *options)
        assert (done.returncode, done.stderr) == (0, "")
        assert campaign.assignments(VALIDATION) == first
    refused = run_cli(*command, "--sample-size", 6, "--session-size", 2, "--overlap", "2=0.5")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert (
        "has a round validation, made with sample 4 (now 6), twice 0.0 (now 0.5): leave these options out"
        in refused.stderr
    )
    assert "2 new assignments" in run_cli(*command, "--extend", "--sample-size", 6).stdout
    assert json.loads(made.read_text()) == how | {"sample": 6}
    # Fewer units than were drawn have a label now: this is no new wish.
    campaign.write("decisions.jsonl", list(campaign.decisions().values())[:5])
    done = run_cli(*command, "--extend")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(made.read_text()) == how | {"sample": 6}
    assert {each.unit_id for each in campaign.assignments(VALIDATION) if not each.withdrawn} == set(
        campaign.decisions()
    )
