import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fcconan.annotation.assignment.rounds import (
    RoundPlan,
    assigned_elsewhere,
    completed_assignments,
    find_outliers,
    make_round,
    review_cases,
    units_by_rater,
)

from fcconan.annotation import reassign
from fcconan.annotation.campaigns import Answer, Assignment, Campaign, Rater, Settings, Unit, create
from fcconan.errors import InputError
from fcconan.judging import load_task
from tests.conftest import RunCli

REPLIES = [Unit(f"reply-{number}", hs_id=f"hs-{number % 4}", reply_a=f"reply-{number}") for number in range(40)]
COMPARISONS = [Unit(f"a-{item}:b-{item}", reply_a=f"a-{item}", reply_b=f"b-{item}") for item in range(20)]
ANCHORS = [Unit(f"known-{each}", "anchor", reply_a=f"known-{each}", known={"relevance": 5}) for each in range(6)]
ASPECTS = ["relevance", "coherence", "aggressiveness", "suitableness"]
NAMES = ["rater-1", "rater-2", "rater-3"]


def started(folder: Path, *, task: str = "cseval", units: list[Unit] = REPLIES, n_raters: int = 3) -> Campaign:
    campaign = create(folder / "tessok", Settings(name="tessok"), load_task(task), units, {})
    campaign.write("raters.csv", [Rater(f"rater-{number}") for number in range(1, n_raters + 1)])
    return campaign


def graded(round_name: str, rater: str, unit: str, *grades: float | None) -> list[Answer]:
    return [Answer(round_name, rater, unit, aspect, grade) for aspect, grade in zip(ASPECTS, grades, strict=False)]


def say(campaign: Campaign, answers: list[Answer]) -> None:
    campaign.write("answers.jsonl", [*campaign.history(), *answers])


def state(campaign: Campaign, **states: Any) -> None:
    raters = campaign.raters()
    for name, new in states.items():
        raters[name.replace("_", "-")] = Rater(name.replace("_", "-"), state=new)
    campaign.write("raters.csv", raters.values())


def of(assignments: list[Assignment], rater: str) -> list[str]:
    return [each.unit_id for each in assignments if each.rater == rater and not each.withdrawn]


def test_rounds_as_of_cseval(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    first, new = make_round(campaign, "shared-1", RoundPlan(sample=6, all_raters=True))
    assert new
    shared = set(of(first, "rater-1"))
    assert len(shared) == 6
    assert all(set(of(first, name)) == shared for name in NAMES)
    assert of(first, "rater-1") != of(first, "rater-2")  # each has an order of their own
    second, _ = make_round(campaign, "shared-2", RoundPlan(sample=10, all_raters=True))
    again = set(of(second, "rater-1"))
    assert len(again) == 10
    assert not again & shared  # nobody judges a unit twice
    main, _ = make_round(campaign, "main", RoundPlan(without=("shared-1", "shared-2")))
    rest = {unit.unit_id for unit in REPLIES} - shared - again
    assert Counter(each.unit_id for each in main) == dict.fromkeys(rest, 1)
    assert [len(of(main, name)) for name in NAMES] == [8, 8, 8]
    assert campaign.rounds() == ["main", "shared-1", "shared-2"]
    # Made again in the same way, rounds stay as they are, although the later ones are there now.
    assert make_round(campaign, "shared-1", RoundPlan(sample=6, all_raters=True)) == (first, False)
    assert assigned_elsewhere(campaign, "main") == {(each.rater, each.unit_id) for each in (*first, *second)}


def test_a_round_that_would_give_units_a_second_time_says_what_to_leave_out(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    make_round(campaign, "shared-1", RoundPlan(sample=6, all_raters=True))
    with pytest.raises(InputError, match=r"40 units need 1 of the 3 .* only 34 have.*--exclude-round"):
        make_round(campaign, "main", RoundPlan())
    with pytest.raises(InputError, match="--sample-size is 35, expected 1 to 34"):
        make_round(campaign, "shared-2", RoundPlan(sample=35, all_raters=True))
    make_round(campaign, "rest", RoundPlan(without=("shared-1",)))
    with pytest.raises(InputError, match="the round main has no units"):
        make_round(campaign, "main", RoundPlan(without=("shared-1", "rest")))


def test_anchors_of_other_rounds_do_not_come_again(tmp_path: Path) -> None:
    campaign = started(tmp_path, units=[*REPLIES, *ANCHORS])
    shared, _ = make_round(
        campaign, "shared-1", RoundPlan(sample=6, all_raters=True, session_size=5, anchors_per_session=2)
    )
    main, _ = make_round(campaign, "main", RoundPlan(without=("shared-1",), anchors_per_session=2))
    known = {anchor.unit_id for anchor in ANCHORS}
    for name in NAMES:
        met = [unit for unit in of(shared, name) + of(main, name) if unit in known]
        assert sorted(met) == sorted(known)  # two sessions and one more, with two anchors each
    with pytest.raises(InputError, match="rater-1 needs 1 gold questions, but 0 are left"):
        make_round(campaign, "more", RoundPlan(sample=3, anchors_per_session=1, without=("shared-1",), twice=1.0))


def test_names_that_the_queue_gives_are_taken(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    with pytest.raises(InputError, match="the round queue-1 is made by `fcconan annotate queue`: give another"):
        make_round(campaign, "queue-1", RoundPlan())
    assert campaign.rounds() == []
    make_round(campaign, "queue", RoundPlan())


def test_anchors_that_no_campaign_has_are_not_asked_for(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    with pytest.raises(InputError, match=r"tessok has no gold questions: leave --gold-per-session out"):
        make_round(campaign, "first", RoundPlan(anchors_per_session=2))


def test_a_round_of_another_step_is_not_made_again(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    campaign.write("rounds/queue-1.jsonl", [Assignment("rater-1", "reply-1", 1)])
    with pytest.raises(InputError, match="the round queue-1 is made by `fcconan annotate queue`"):
        make_round(campaign, "queue-1", RoundPlan())
    with pytest.raises(InputError, match="no active annotator"):
        state(campaign, rater_1="left", rater_2="left", rater_3="failed")
        make_round(campaign, "main", RoundPlan())


@pytest.mark.parametrize(
    ("grades", "off"),
    [
        ((5, 2, 2), {0}),
        ((5, 2, 1), {0}),  # 1 is off from the mean of 5 and 2, but not from 2
        ((5, 3, 1), set()),
        ((4, 2, 1), set()),  # off from the mean of the others, but from 2 by 2 only
        ((1, 5, 4), {0}),
        ((1, 5, 1, 1), {1}),
        ((5, 5, 1, 1, 1), {0, 1}),
        ((5, 5, 1, 1), set()),  # nobody stands alone
        ((1, 4), {0, 1}),  # of two, both
        ((1, 3), set()),
        ((5,), set()),
        ((1, None, 4), {0, 2}),
    ],
)
def test_far_off_is_more_than_two_from_the_median(grades: tuple[float | None, ...], off: set[int]) -> None:
    values = {f"rater-{number}": grade for number, grade in enumerate(grades) if grade is not None}
    assert find_outliers(values, 2) == [f"rater-{each}" for each in sorted(off)]
    assert find_outliers(values, 4) == []


def test_a_label_is_far_off_if_all_others_agree_on_another_one() -> None:
    said = {"one": ("a", "b", "b"), "none": ("a", "b", "tie"), "two": ("a", "a", "b", "b"), "pair": ("a", "b")}
    found = {
        unit: find_outliers({f"rater-{number}": label for number, label in enumerate(labels, start=1)}, None)
        for unit, labels in said.items()
    }
    assert found == {"one": ["rater-1"], "none": [], "two": [], "pair": []}


def test_a_review_shows_what_the_others_said_and_not_who(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = started(tmp_path)
    make_round(campaign, "shared-1", RoundPlan(sample=6, all_raters=True))
    with pytest.raises(InputError, match="the round shared-1 has no answers yet"):
        make_round(campaign, "review-1", RoundPlan(review="shared-1"))
    first, other, *_ = sorted(of(campaign.assignments("shared-1"), "rater-1"))
    say(
        campaign,
        [
            *graded("shared-1", "rater-1", first, 5, 3, 1, 2),
            *graded("shared-1", "rater-2", first, 2, 3, 1, 2),
            *graded("shared-1", "rater-3", first, 1, 3, 1, 3),
            *[answer for name in NAMES for answer in graded("shared-1", name, other, 3, 3, 3, 3)],
        ],
    )
    folder = campaign.folder
    command = ("annotate", "assign", folder, "--round", "review-1", "--review", "shared-1", "--max-distance", 2)
    done = run_cli(*command)
    assert done.returncode == 0, done.stderr
    assert "1 units, 1 judgements: 1 by 1." in done.stdout
    assert campaign.assignments("review-1") == [Assignment("rater-1", first, 1)]
    shown = (folder / "rounds" / "review-1.shown.jsonl").read_text()
    assert json.loads(shown) == {
        "rater": "rater-1",
        "unit_id": first,
        "you said": {"relevance": 5, "coherence": 3, "aggressiveness": 1, "suitableness": 2},
        "the others said": {
            "relevance": [1, 2],
            "coherence": [3, 3],
            "aggressiveness": [1, 1],
            "suitableness": [2, 3],
        },
        "far apart": ["relevance"],
    }
    assert "review-1" in campaign.rounds()
    assert "review-1.shown" not in campaign.rounds()
    assert "nothing changed" in run_cli(*command).stdout
    quiet = run_cli(*command[:4], "review-2", *command[5:7], "--max-distance", 4)
    assert "The round review-2 is empty: no rater has anything to do." in quiet.stdout
    assert campaign.assignments("review-2") == []
    with pytest.raises(InputError, match="only their raters can judge units of review-1: leave"):
        reassign(campaign, "review-1", relieve=True)
    with pytest.raises(InputError, match="is reassigned by `fcconan annotate validate --extend`"):
        reassign(campaign, "validation")


def test_where_nobody_stands_alone_all_raters_review(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = started(tmp_path)
    make_round(campaign, "shared-1", RoundPlan(sample=4, all_raters=True))
    one, none, close, mixed = sorted(of(campaign.assignments("shared-1"), "rater-1"))
    said = {one: (5, 2, 2), none: (5, 3, 1), close: (3, 2, 1), mixed: (4, 2, 1)}
    answers = []
    for unit, grades in said.items():
        for name, grade in zip(NAMES, grades, strict=True):
            answers += graded("shared-1", name, unit, grade, 3, 3, grade if unit == none else 3)
    say(campaign, answers)
    campaign.write("answers.jsonl", [*campaign.history(), *graded("shared-1", "rater-3", mixed, None, None, 5, 1)])
    cases = review_cases(campaign, RoundPlan(review="shared-1"))
    # A skipped grade is none: what is left of the last unit is 4 and 2, and 3, 3, 5 and 3, 3, 1.
    assert (cases.alone, cases.apart) == (1, 2)
    assert cases.reviewers == {("rater-1", one): ["relevance"]} | {
        (name, none): ["relevance", "suitableness"] for name in NAMES
    }
    out = tmp_path / "review.json"
    done = run_cli("annotate", "assign", campaign.folder, "--round", "review-1", "--review", "shared-1", "--json", out)
    assert done.returncode == 0, done.stderr
    assert "1 answers of one rater differ from all others: that rater reviews them. On 2 other questions" in done.stdout
    assert json.loads(out.read_text())["reviewed"] == {"alone": 1, "apart": 2}
    found = campaign.assignments("review-1")
    assert {(each.rater, each.unit_id) for each in found} == cases.reviewers.keys()
    lines = (campaign.folder / "rounds" / "review-1.shown.jsonl").read_text().splitlines()
    (mine,) = (row for row in map(json.loads, lines) if (row["rater"], row["unit_id"]) == ("rater-2", none))
    assert mine["the others said"]["relevance"] == [1, 5]
    assert mine["far apart"] == ["relevance", "suitableness"]


def test_labels_on_which_nobody_stands_alone_are_reviewed_by_all(tmp_path: Path) -> None:
    campaign = started(tmp_path, task="pairwise", units=COMPARISONS[:4])
    first, _ = make_round(campaign, "shared-1", RoundPlan(all_raters=True))
    labels = [("a", "b", "tie"), ("a", "b", "b"), ("a", None, "b"), ("tie", "tie", "tie")]
    said = dict(zip(campaign.units(), labels, strict=True))
    say(
        campaign,
        [Answer("shared-1", x.rater, x.unit_id, "label", said[x.unit_id][NAMES.index(x.rater)]) for x in first],
    )
    cases = review_cases(campaign, RoundPlan(review="shared-1"))
    one, two, three, _ = campaign.units()
    assert (cases.alone, cases.apart) == (1, 2)
    assert cases.reviewers.keys() == {
        *((name, one) for name in NAMES),
        ("rater-1", two),
        ("rater-1", three),
        ("rater-3", three),
    }
    make_round(campaign, "review-1", RoundPlan(review="shared-1"))
    # A line for each of the others, as single verdicts are turned to the order that a rater sees.
    lines = (campaign.folder / "rounds" / "review-1.shown.jsonl").read_text().splitlines()
    (row,) = (row for row in map(json.loads, lines) if (row["rater"], row["unit_id"]) == ("rater-2", one))
    assert row == {"rater": "rater-2", "unit_id": one, "you said": "b", "other 1 said": "a", "other 2 said": "tie"}


def test_a_comparison_is_reviewed_in_the_order_in_which_it_was_judged(tmp_path: Path) -> None:
    campaign = started(tmp_path, task="pairwise", units=COMPARISONS)
    first, _ = make_round(campaign, "shared-1", RoundPlan(all_raters=True))
    labels = {"rater-1": "a", "rater-2": "b", "rater-3": "b"}
    say(
        campaign,
        [Answer("shared-1", each.rater, each.unit_id, "label", labels[each.rater]) for each in first],
    )
    found, _ = make_round(campaign, "review-1", RoundPlan(review="shared-1"))
    swapped = {each.unit_id: each.swapped for each in first if each.rater == "rater-1"}
    assert {each.unit_id: each.swapped for each in found} == swapped
    assert Counter(swapped.values()) == {True: 10, False: 10}
    row = json.loads((campaign.folder / "rounds" / "review-1.shown.jsonl").read_text().splitlines()[0])
    assert (row["you said"], row["the others said"]) == ("a", "b")
    with pytest.raises(InputError, match="has labels, which have no distance: leave"):
        make_round(campaign, "review-2", RoundPlan(review="shared-1", more_than=1))
    with pytest.raises(InputError, match="--review excludes --blocks"):
        make_round(campaign, "review-2", RoundPlan(review="shared-1", twice=0.5))


def test_only_open_units_of_who_left_move_and_nobody_elses_order_changes(tmp_path: Path) -> None:
    campaign = started(tmp_path, units=[*REPLIES, *ANCHORS])
    plan = RoundPlan(twice=0.2, session_size=9, anchors_per_session=1)
    before, _ = make_round(campaign, "main", plan)
    assert [len(of(before, name)) for name in NAMES] == [18, 18, 18]  # 48 judgements, and an anchor in both sessions
    theirs = [each for each in before if each.rater == "rater-2"]
    finished = [each.unit_id for each in theirs[:5]]
    say(campaign, [answer for unit in finished for answer in graded("main", "rater-2", unit, 1, None, 3, 2)])
    say(campaign, graded("main", "rater-2", theirs[5].unit_id, 4))  # begun, and not finished
    assert completed_assignments(campaign, "main") == {("rater-2", unit): False for unit in finished}
    state(campaign, rater_2="left", rater_4="active")
    moved = reassign(campaign, "main")
    after = campaign.assignments("main")
    assert after == moved.assignments
    known = {anchor.unit_id for anchor in ANCHORS}
    open_ones = [each.unit_id for each in theirs[5:] if each.unit_id not in known]
    assert (moved.moved, moved.withdrawn, moved.waiting) == (len(open_ones), 13, [])
    assert of(after, "rater-2") == finished
    for name in ("rater-1", "rater-3"):
        assert [each for each in after if each.rater == name and each.position <= 18] == [
            each for each in before if each.rater == name
        ]
    # Who joined has nothing to do yet, and the others have 18 units each: all of it goes there, where it may.
    assert set(open_ones) == set(of(after, "rater-4")) - known
    joined = [each for each in after if each.rater == "rater-4"]
    assert [each.position for each in joined] == list(range(1, len(joined) + 1))
    sessions = Counter(each.session for each in joined)
    assert max(sessions.values()) <= 9
    assert Counter(each.session for each in joined if each.unit_id in known) == dict.fromkeys(sessions, 1)
    for unit, count in Counter(
        unit for ids in units_by_rater(before, campaign.units()).values() for unit in ids
    ).items():
        assert sum(unit in of(after, name) for name in (*NAMES, "rater-4")) == count
    content = (campaign.folder / "rounds" / "main.jsonl").read_bytes()
    nothing = reassign(campaign, "main")
    assert (nothing.moved, nothing.withdrawn) == (0, 0)
    assert (campaign.folder / "rounds" / "main.jsonl").read_bytes() == content


def test_units_go_to_whoever_has_least_to_do_and_never_to_somebody_who_had_them(tmp_path: Path) -> None:
    campaign = started(tmp_path, n_raters=4)
    campaign.write(
        "rounds/main.jsonl",
        [
            *[Assignment("rater-1", f"reply-{number}", number) for number in range(1, 8)],
            *[Assignment("rater-2", f"reply-{number}", number) for number in range(1, 4)],
            Assignment("rater-3", "reply-8", 1),
        ],
    )
    state(campaign, rater_1="left")
    moved = reassign(campaign)
    assert of(moved.assignments, "rater-1") == []
    assert sorted(len(of(moved.assignments, f"rater-{number}")) for number in range(2, 5)) == [3, 4, 4]
    assert moved.waiting == []
    for rater in ("rater-2", "rater-3", "rater-4"):
        assert len(set(of(moved.assignments, rater))) == len(of(moved.assignments, rater))
    assert len({(each.rater, each.unit_id) for each in moved.assignments}) == len(moved.assignments)


def test_what_nobody_else_may_judge_waits_for_somebody_who_joins(tmp_path: Path) -> None:
    campaign = started(tmp_path, n_raters=2)
    campaign.write("rounds/main.jsonl", [Assignment("rater-1", "reply-1", 1), Assignment("rater-2", "reply-1", 1)])
    state(campaign, rater_1="left")
    assert reassign(campaign).waiting == ["reply-1"]
    assert campaign.assignments()[0] == Assignment("rater-1", "reply-1", 1)
    state(campaign, rater_2="left")
    assert reassign(campaign).waiting == ["reply-1", "reply-1"]  # nobody is active at all
    state(campaign, rater_3="active")
    moved = reassign(campaign)
    assert (moved.moved, moved.waiting, of(moved.assignments, "rater-3")) == (1, ["reply-1"], ["reply-1"])


def test_skipped_units_go_to_others_if_asked(tmp_path: Path) -> None:
    campaign = started(tmp_path, n_raters=2)
    campaign.write("rounds/main.jsonl", [Assignment("rater-1", f"reply-{number}", number) for number in (1, 2)])
    say(campaign, graded("main", "rater-1", "reply-1", None, None, None, None))
    say(campaign, graded("main", "rater-1", "reply-2", None, 3, None, None))
    assert reassign(campaign).moved == 0
    moved = reassign(campaign, skipped=True)
    assert moved.assignments == [
        Assignment("rater-1", "reply-1", 1, withdrawn=True),
        Assignment("rater-1", "reply-2", 2),
        Assignment("rater-2", "reply-1", 1),
    ]
    assert reassign(campaign, skipped=True).moved == 0


def test_who_joins_can_relieve_the_others_of_the_end_of_their_order(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    before, _ = make_round(campaign, "main", RoundPlan(seed=1))
    say(campaign, [a for unit in of(before, "rater-1")[:5] for a in graded("main", "rater-1", unit, 1, 1, 1, 1)])
    state(campaign, rater_4="active")
    assert reassign(campaign).moved == 0
    moved = reassign(campaign, relieve=True)
    # 40 units, 5 of them done: 35 open ones for four.
    assert sorted(len(of(moved.assignments, f"rater-{number}")) - 5 * (number == 1) for number in range(1, 5)) == [
        8,
        9,
        9,
        9,
    ]
    for name in NAMES:
        theirs, now = of(before, name), of(moved.assignments, name)
        kept = [unit for unit in now if unit in theirs]
        assert now[: len(kept)] == theirs[: len(kept)]
    assert Counter(each.unit_id for each in moved.assignments if not each.withdrawn) == {
        unit.unit_id: 1 for unit in REPLIES
    }


def test_relieving_comes_to_rest_although_who_gets_units_gets_anchors_too(tmp_path: Path) -> None:
    campaign = started(tmp_path, units=[*REPLIES, *ANCHORS])
    make_round(campaign, "main", RoundPlan(session_size=5, anchors_per_session=1))
    state(campaign, rater_4="active")
    moved = reassign(campaign, relieve=True)
    assert (moved.moved, moved.withdrawn) == (10, 10)
    content = (campaign.folder / "rounds" / "main.jsonl").read_bytes()
    known = {anchor.unit_id for anchor in ANCHORS}
    for name in (*NAMES, "rater-4"):
        assert len(set(of(moved.assignments, name)) - known) == 10
    # Three sessions of ten units, and an anchor in each: these are no load that others would have to relieve.
    assert len(set(of(moved.assignments, "rater-4")) & known) == 3
    for _ in range(2):
        nothing = reassign(campaign, relieve=True)
        assert (nothing.moved, nothing.withdrawn) == (0, 0)
        assert (campaign.folder / "rounds" / "main.jsonl").read_bytes() == content


@pytest.mark.parametrize("seed", range(6))
def test_relieving_leaves_no_move_that_evens_the_loads(tmp_path: Path, seed: int) -> None:
    campaign = started(tmp_path, units=[*REPLIES, *ANCHORS], n_raters=4)
    before, _ = make_round(campaign, "main", RoundPlan(twice=0.5, session_size=9, anchors_per_session=1, seed=seed))
    known = {anchor.unit_id for anchor in ANCHORS}
    finished = [unit for unit in of(before, "rater-1") if unit not in known][: 3 + seed]
    say(campaign, [answer for unit in finished for answer in graded("main", "rater-1", unit, 1, 2, 3, 4)])
    state(campaign, rater_2="left", rater_5="active")
    moved = reassign(campaign, relieve=True, seed=seed)
    loads = {
        name: set(of(moved.assignments, name)) - known - (set(finished) if name == "rater-1" else set())
        for name in ("rater-1", "rater-3", "rater-4", "rater-5")
    }
    had = {(each.rater, each.unit_id) for each in moved.assignments}
    for theirs in loads.values():
        for taker, others in loads.items():
            assert len(theirs) - len(others) < 2 or all((taker, unit) in had for unit in theirs)
    # Whatever moved, every unit is with as many raters as before.
    there = Counter(each.unit_id for each in moved.assignments if not each.withdrawn and each.unit_id not in known)
    assert there == Counter(each.unit_id for each in before if each.unit_id not in known)
    assert len(had) == len(moved.assignments)
    again = reassign(campaign, relieve=True, seed=seed)
    assert (again.moved, again.withdrawn, again.assignments) == (0, 0, moved.assignments)


def test_who_joins_a_round_of_all_raters_judges_all_of_it(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    before, _ = make_round(campaign, "shared-1", RoundPlan(sample=6, all_raters=True))
    state(campaign, rater_1="left", rater_4="active")
    moved = reassign(campaign, "shared-1")
    assert (moved.moved, moved.withdrawn, moved.waiting) == (6, 6, [])
    assert set(of(moved.assignments, "rater-4")) == set(of(before, "rater-2"))
    assert of(moved.assignments, "rater-1") == []
    assert reassign(campaign, "shared-1").moved == 0


def test_the_command_gives_away_what_is_open(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = started(tmp_path)
    folder = campaign.folder
    run_cli("annotate", "assign", folder)
    run_cli("annotate", "raters", folder, "--leave", "rater-3", "--join", "rater-4")
    done = run_cli("annotate", "assign", folder, "--reassign", "--json", tmp_path / "again.json")
    assert done.returncode == 0, done.stderr
    assert "13 new assignments, 13 withdrawn." in done.stdout
    loads = {row["rater"]: row["units"] for row in json.loads((tmp_path / "again.json").read_text())["raters"]}
    assert loads["rater-3"] == 0
    assert loads["rater-4"] == 13
    missing = run_cli("annotate", "assign", folder, "--reassign", "--round", "shared-1")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert "has no round 'shared-1', only main" in missing.stderr
