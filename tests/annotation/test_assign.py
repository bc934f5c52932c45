"""`annotate assign`: loads, overlaps, sessions, rounds, reviews, raters who leave, and the qualification test."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan import InputError, assign
from fcconan.annotation import (
    Answer,
    Assignment,
    Campaign,
    Rater,
    Settings,
    Unit,
    create,
    deal,
    find_outliers,
    in_order,
    sides,
)
from fcconan.judging import load_task
from tests.conftest import RunCli

ASPECTS = ["relevance", "coherence", "aggressiveness", "suitableness"]
NAMES = ["rater-1", "rater-2", "rater-3"]
REPLIES = [Unit(f"reply-{number}", hs_id=f"hs-{number % 4}", reply_a=f"reply-{number}") for number in range(40)]
COMPARISONS = [Unit(f"a-{item}:b-{item}", reply_a=f"a-{item}", reply_b=f"b-{item}") for item in range(20)]
GOLD = [Unit(f"known-{each}", "anchor", reply_a=f"known-{each}", known={"relevance": 5}) for each in range(6)]
KNOWN = {unit.unit_id for unit in GOLD}
QUIZ = [
    Unit(f"quiz-{at}", "quiz", reply_a=f"quiz-{at}", known={"relevance": at % 5 + 1, "coherence": 2}) for at in range(5)
]


def started(folder: Path, *, task: str = "cseval", units: list[Unit] = REPLIES, n_raters: int = 3) -> Campaign:
    campaign = create(folder / "tessok", Settings(name="tessok"), load_task(task), units, {})
    campaign.write("raters.csv", [Rater(f"rater-{number}") for number in range(1, n_raters + 1)])
    return campaign


def graded(round_name: str, rater: str, unit: str, *grades: float | None) -> list[Answer]:
    return [Answer(round_name, rater, unit, aspect, grade) for aspect, grade in zip(ASPECTS, grades, strict=False)]


def say(campaign: Campaign, answers: list[Answer]) -> None:
    campaign.write("answers.jsonl", [*campaign.history(), *answers])


def state(campaign: Campaign, **states: str) -> None:
    changed = {name.replace("_", "-"): Rater(name.replace("_", "-"), state=new) for name, new in states.items()}
    campaign.write("raters.csv", (campaign.raters() | changed).values())


def of(campaign: Campaign, rater: str, round_name: str = "main") -> list[str]:
    there = [each for each in campaign.assignments(round_name) if each.rater == rater and not each.withdrawn]
    return [each.unit_id for each in sorted(there, key=lambda each: each.position)]


def connected(dealt: Iterable[Sequence[str]]) -> bool:
    """Whether shared units connect all raters."""
    of: dict[str, frozenset[str]] = {}
    for raters in dealt:
        joined = frozenset(raters).union(*(of.get(rater, ()) for rater in raters))
        of |= dict.fromkeys(joined, joined)
    return len({*of.values()}) == 1


# Loads and overlaps


@pytest.mark.parametrize(("n_raters", "numbers"), [(3, {1: 30, 2: 8, 3: 2}), (9, {1: 30, 2: 8, 3: 2})])
def test_overlaps_are_exact_loads_are_equal_and_all_raters_are_connected(
    tmp_path: Path, n_raters: int, numbers: dict[int, int]
) -> None:
    campaign = started(tmp_path, n_raters=n_raters)
    found = assign(campaign.folder, overlap={"2": 0.2, "3": 0.05})
    assert dict(found.to_frame("overlap").itertuples(index=False)) == numbers
    loads = found.to_frame()["units"]
    assert (len(loads), loads.sum()) == (n_raters, 52)
    assert loads.max() - loads.min() <= 1
    raters: dict[str, list[str]] = {}
    for each in campaign.assignments():
        raters.setdefault(each.unit_id, []).append(each.rater)
    assert all(len({*each}) == len(each) for each in raters.values())
    assert connected(raters.values())


def test_the_seed_decides_and_the_order_of_a_rater_does_not_depend_on_others(tmp_path: Path) -> None:
    one, same, other = (started(tmp_path / name) for name in "abc")
    for campaign, seed in ((one, 1), (same, 1), (other, 2)):
        assign(campaign.folder, overlap={"2": 0.2}, seed=seed)
    assert one.assignments() == same.assignments() != other.assignments()
    ids = [unit.unit_id for unit in REPLIES[:20]]
    alone = in_order({"a": ids}, seed=9)["a"]
    assert in_order({"b": ids[:3], "a": ids[::-1]}, seed=9)["a"] == alone
    assert [each.unit_id for each in alone] != ids != [each.unit_id for each in in_order({"b": ids}, seed=9)["b"]]


@pytest.mark.parametrize("n_raters", range(2, 10))
def test_one_shared_unit_less_than_raters_connects_them(n_raters: int) -> None:
    raters = [f"r{number}" for number in range(n_raters)]
    wanted = {f"u{number}": 2 for number in range(n_raters - 1)}
    dealt = deal(wanted, dict.fromkeys(wanted, raters), np.random.default_rng(n_raters))
    assert connected(dealt.values())
    loads = Counter(rater for each in dealt.values() for rater in each)
    assert max(loads.values()) - min(loads[rater] for rater in raters) <= 1


@pytest.mark.parametrize("seed", range(25))
def test_with_exclusions_loads_stay_equal_and_raters_connected(seed: int) -> None:
    generator = np.random.default_rng(seed)
    wanted = {f"u{number}": 2 if number < 6 else 1 for number in range(60)}
    # Each rater may judge two of three units or more: enough for equal loads.
    permitted = {unit: ["a", *(each for each in "bcd" if generator.random() > 0.3)] for unit in wanted}
    permitted |= {unit: [*"abcd"] for unit, number in wanted.items() if len(permitted[unit]) < number}
    dealt = deal(wanted, permitted, np.random.default_rng(seed))
    assert all({*dealt[unit]} <= {*permitted[unit]} and len({*dealt[unit]}) == wanted[unit] for unit in wanted)
    loads = Counter(rater for each in dealt.values() for rater in each)
    assert max(loads.values()) - min(loads.values()) <= 1  # 66 = 4 * 16 + 2
    assert connected(dealt.values())


@pytest.mark.parametrize("seed", range(20))
def test_sides_are_halved_for_each_rater_and_each_unit(seed: int) -> None:
    generator = np.random.default_rng(seed)
    judgements = [(f"r{rater}", f"u{unit}") for rater in range(5) for unit in range(9) if generator.random() < 0.4]
    swapped = sides(judgements, seed)
    assert swapped <= {*judgements}
    for place in (0, 1):
        for node, degree in Counter(each[place] for each in judgements).items():
            assert abs(2 * sum(each[place] == node for each in swapped) - degree) <= 1


# Sessions and rounds


def test_sessions_have_equal_lengths_and_their_gold_questions(tmp_path: Path) -> None:
    campaign = started(tmp_path, units=[*REPLIES, *GOLD], n_raters=2)
    found = assign(campaign.folder, session_size=9, gold_per_session=2)
    assert found.to_frame().values.tolist() == [["rater-1", 20, 6, 3, 26], ["rater-2", 20, 6, 3, 26]]
    for rater in NAMES[:2]:
        theirs = [each for each in campaign.assignments() if each.rater == rater]
        assert [each.position for each in theirs] == list(range(1, 27))
        assert Counter(each.session for each in theirs) == {1: 9, 2: 9, 3: 8}
        assert Counter(each.session for each in theirs if each.unit_id in KNOWN) == {1: 2, 2: 2, 3: 2}
        assert len({each.unit_id for each in theirs}) == 26
    with pytest.raises(InputError, match="rater-1 needs 1 gold questions, but 0 are left"):
        assign(campaign.folder, round="more", gold_per_session=1, sample_size=2)


def test_rounds_of_cseval(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    assign(campaign.folder, round="shared-1", sample_size=6, all_raters=True)
    shared = {*of(campaign, "rater-1", "shared-1")}
    assert len(shared) == 6
    assert all({*of(campaign, name, "shared-1")} == shared for name in NAMES)
    assert of(campaign, "rater-1", "shared-1") != of(campaign, "rater-2", "shared-1")  # each has an order of their own
    with pytest.raises(InputError, match=r"40 units need 1 active raters .* only 34 have.*--exclude-round"):
        assign(campaign.folder)
    with pytest.raises(InputError, match="--sample-size is 35, expected 1 to 34"):
        assign(campaign.folder, round="shared-2", sample_size=35, all_raters=True)
    assign(campaign.folder, round="shared-2", sample_size=10, all_raters=True)
    again = {*of(campaign, "rater-1", "shared-2")}
    assert (len(again), again & shared) == (10, set())
    found = assign(campaign.folder, round="shared-3", all_raters=True, seed=1)
    assert found.notes[0] == "16 units are left out, as a rater had them in another round."
    for suffix in ("jsonl", "json"):
        (campaign.folder / "rounds" / f"shared-3.{suffix}").unlink()
    assign(campaign.folder, exclude_round=("shared-1", "shared-2"))
    rest = {unit.unit_id for unit in REPLIES} - shared - again
    assert Counter(each.unit_id for each in campaign.assignments()) == dict.fromkeys(rest, 1)
    assert [len(of(campaign, name)) for name in NAMES] == [8, 8, 8]
    with pytest.raises(InputError, match="the round more has no units"):
        assign(campaign.folder, round="more", exclude_round=("shared-1", "shared-2", "main"))


def test_a_second_call_changes_nothing_and_refuses_other_options(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = started(tmp_path)
    command = ("annotate", "assign", campaign.folder, "--overlap.2", 0.2, "--session-size", 10)
    done = run_cli(*command, "--json", tmp_path / "assigned.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Next: fcconan annotate export {campaign.folder} --out FOLDER" in done.stdout
    assert json.loads((tmp_path / "assigned.json").read_text())["tables"]["overlap"] == [
        {"raters": 1, "units": 32},
        {"raters": 2, "units": 8},
    ]
    before = (campaign.folder / "rounds" / "main.jsonl").read_bytes()
    for again in (command, command[:3]):
        assert run_cli(*again).returncode == 0
    for options, different in (
        (("--overlap.2", 0.3), "overlap {'2': 0.2} (now {'2': 0.3})"),
        (("--seed", 0, "--max-distance", 0), "max_distance None (now 0.0), seed None (now 0)"),
    ):
        other = run_cli(*command[:3], *options)
        assert (other.returncode, other.stderr.count("\n")) == (2, 1)
        assert f"has a round main, made with {different}: leave these options out" in other.stderr
    assert (campaign.folder / "rounds" / "main.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"overlap": {"3": 0.5}}, "20 units need 3 active raters who have not had them, but only 0 have so many"),
        ({"overlap": {"2": 0.6, "3": 0.5}}, "the overlap 0.6 by 2, 0.5 by 3, expected shares with a sum of at most 1"),
        ({"overlap": {"2": 0.2}, "all_raters": True}, "found --overlap and --all-raters, expected one of them"),
        ({"review": "main", "all_raters": True}, "found --all-raters and --review"),
        ({"round": "Main"}, "the round 'Main', expected small letters"),
        ({"round": "validation"}, "none that `annotate validate`"),
        ({"round": "queue-1"}, "the round 'queue-1', expected"),
        ({"exclude_round": "shared-1"}, "has no round 'shared-1', expected one of none"),
        ({"review": "shared-1"}, "has no round 'shared-1'"),
        ({"sample_size": 41}, "--sample-size is 41, expected 1 to 40"),
        ({"session_size": 3, "gold_per_session": 3}, "found sessions of 3 units for 3 gold questions: use longer ones"),
        ({"gold_per_session": 1}, "rater-1 needs 1 gold questions, but 0 are left"),
        ({"round": "qualification", "overlap": {2: 0.5}}, "found --overlap for the qualification test, which has"),
        ({"round": "qualification"}, "found 0 questions of a qualification test and 0 invited raters"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, options: Any, message: str) -> None:
    campaign = started(tmp_path, n_raters=2)
    with pytest.raises(InputError, match=message) as error:
        assign(campaign.folder, **options)
    assert ("\n" not in str(error.value), campaign.rounds()) == (True, [])
    campaign.write("rounds/validation.jsonl", [])
    with pytest.raises(InputError, match="none that `annotate validate`"):
        assign(campaign.folder, round="validation")
    state(campaign, rater_1="left", rater_2="failed")
    with pytest.raises(InputError, match=r"raters\.csv has no active annotator: add a row"):
        assign(campaign.folder)


# Reviews


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
        ((5, 5, 1, 1), set()),  # without a single outlier
        ((1, 4), {0, 1}),  # of two, both
        ((1, 3), set()),
        ((5,), set()),
    ],
)
def test_an_outlier_is_more_than_two_from_the_median(grades: tuple[float, ...], off: set[int]) -> None:
    values = {f"rater-{number}": grade for number, grade in enumerate(grades)}
    assert find_outliers(values, 2) == [f"rater-{each}" for each in sorted(off)]
    assert find_outliers(values, 4) == []


def test_a_label_is_an_outlier_if_all_others_agree_on_another_one() -> None:
    said = {"one": ("a", "b", "b"), "none": ("a", "b", "tie"), "two": ("a", "a", "b", "b"), "pair": ("a", "b")}
    found = {
        unit: find_outliers({f"rater-{number}": label for number, label in enumerate(labels, start=1)}, None)
        for unit, labels in said.items()
    }
    assert found == {"one": ["rater-1"], "none": [], "two": [], "pair": []}


def test_a_review_shows_other_answers_without_their_raters(tmp_path: Path) -> None:
    campaign = started(tmp_path)
    assign(campaign.folder, round="shared-1", sample_size=4, all_raters=True)
    with pytest.raises(InputError, match="the round shared-1 has no answers yet"):
        assign(campaign.folder, round="review-1", review="shared-1")
    one, none, close, mixed = sorted(of(campaign, "rater-1", "shared-1"))
    for unit, grades in {one: (5, 2, 1), none: (5, 3, 1), close: (3, 2, 1), mixed: (4, 2, None)}.items():
        for name, grade in zip(NAMES, grades, strict=True):
            say(campaign, graded("shared-1", name, unit, grade, 3, 3, grade if unit == none else 3))
    found = assign(campaign.folder, round="review-1", review="shared-1")
    # One rater differs from both others on the first unit; on the second, all do.
    reviewed = {(each.rater, each.unit_id) for each in campaign.assignments("review-1")}
    assert reviewed == {("rater-1", one), *((name, none) for name in NAMES)}
    assert found.to_frame()["units"].tolist() == [2, 1, 1]
    shown = campaign.shown("review-1") or {}
    assert shown["rater-1", one] == {
        "you said": {"relevance": 5, "coherence": 3, "aggressiveness": 3, "suitableness": 3},
        "the others said": {
            "relevance": [1, 2],
            "coherence": [3, 3],
            "aggressiveness": [3, 3],
            "suitableness": [3, 3],
        },
        "far apart": ["relevance"],
    }
    assert shown["rater-2", none]["the others said"]["relevance"] == [1, 5]
    assert shown["rater-2", none]["far apart"] == ["relevance", "suitableness"]
    assert assign(campaign.folder, round="review-2", review="shared-1", max_distance=4).to_frame().empty
    state(campaign, rater_1="left")
    assign(campaign.folder, round="review-1")  # another rater cannot take it over
    assert {(each.rater, each.unit_id) for each in campaign.assignments("review-1") if not each.withdrawn} == {
        ("rater-2", none),
        ("rater-3", none),
    }


def test_comparisons_are_reviewed_in_the_order_in_which_they_were_judged(tmp_path: Path) -> None:
    campaign = started(tmp_path, task="pairwise", units=COMPARISONS)
    assign(campaign.folder, round="shared-1", all_raters=True)
    first = campaign.assignments("shared-1")
    odd, *others = [unit.unit_id for unit in COMPARISONS]
    labels = {"rater-1": "a", "rater-2": "b", "rater-3": "b"}
    said = [Answer("shared-1", each.rater, each.unit_id, "label", labels[each.rater]) for each in first]
    say(campaign, [*said, Answer("shared-1", "rater-3", odd, "label", "tie")])
    assign(campaign.folder, round="review-1", review="shared-1")
    swapped = {each.unit_id: each.swapped for each in first if each.rater == "rater-1"}
    assert Counter(swapped.values()) == {True: 10, False: 10}
    theirs = {each.unit_id: each.swapped for each in campaign.assignments("review-1") if each.rater == "rater-1"}
    assert theirs == swapped
    assert of(campaign, "rater-2", "review-1") == [odd]  # three verdicts: without a single outlier, all review
    shown = campaign.shown("review-1") or {}
    assert shown["rater-1", others[0]] == {"you said": "a", "the others said": "b"}
    # One line for each of the others, as single verdicts are turned to the order that a rater sees.
    assert shown["rater-2", odd] == {"you said": "b", "other 1 said": "a", "other 2 said": "tie"}


# Raters who leave


def test_open_units_of_a_rater_who_left_go_to_others_and_nothing_else_changes(tmp_path: Path) -> None:
    campaign = started(tmp_path, units=[*REPLIES, *GOLD])
    assign(campaign.folder, overlap={"2": 0.2}, session_size=9, gold_per_session=1)
    before = campaign.assignments()
    theirs = of(campaign, "rater-2")
    finished = theirs[:5]
    say(campaign, [answer for unit in finished for answer in graded("main", "rater-2", unit, 1, None, 3, 2)])
    say(campaign, graded("main", "rater-2", theirs[5], 4))  # begun, and not finished
    state(campaign, rater_2="left", rater_4="active")
    found = assign(campaign.folder)
    assert of(campaign, "rater-2") == finished
    for name in ("rater-1", "rater-3"):
        assert [each for each in before if each.rater == name] == [
            each for each in campaign.assignments() if each.rater == name
        ]
    moved = of(campaign, "rater-4")  # the only one without open units, so all go there
    assert {*moved} == {*theirs[5:]} - KNOWN
    assert found.to_frame().set_index("rater").loc["rater-4"].tolist() == [len(moved), 0, 2, len(moved)]
    content = (campaign.folder / "rounds" / "main.jsonl").read_bytes()
    assign(campaign.folder)
    assert (campaign.folder / "rounds" / "main.jsonl").read_bytes() == content


def test_units_go_to_the_raters_with_the_fewest_who_have_not_had_them(tmp_path: Path) -> None:
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
    assign(campaign.folder)
    assert of(campaign, "rater-1") == []
    assert sorted(len(of(campaign, f"rater-{number}")) for number in range(2, 5)) == [3, 4, 4]
    keys = [(each.rater, each.unit_id) for each in campaign.assignments()]
    assert len({*keys}) == len(keys)


def test_units_that_every_active_rater_had_wait_for_another(tmp_path: Path) -> None:
    campaign = started(tmp_path, n_raters=2)
    assign(campaign.folder, sample_size=6, all_raters=True)
    state(campaign, rater_1="left")
    note = assign(campaign.folder).notes[0]
    assert note == "6 units of raters who left stay with them: every active annotator has had these units."
    assert len(of(campaign, "rater-1")) == 6
    state(campaign, rater_3="active")
    assert len(assign(campaign.folder).notes) == 1
    assert (of(campaign, "rater-1"), {*of(campaign, "rater-3")}) == ([], {*of(campaign, "rater-2")})


# The qualification test


def test_invited_raters_take_the_test_and_the_pass_mark_decides(tmp_path: Path) -> None:
    campaign = started(tmp_path, units=[REPLIES[0], *QUIZ], n_raters=1)
    (campaign.folder / "raters.csv").write_text(
        "rater;state;comment\nana;active;\nben;invited;by post\ncleo;invited;\ndan;invited;\n", encoding="utf-8"
    )
    found = assign(campaign.folder, round="qualification", session_size=2)
    assert found.to_frame().values.tolist() == [[name, 5, 0, 3, 5] for name in ("ben", "cleo", "dan")]
    first = campaign.assignments("qualification")
    with (campaign.folder / "raters.csv").open("a") as file:
        file.write("eve;invited;\n")
    assign(campaign.folder, round="qualification")
    assert campaign.assignments("qualification")[:15] == first
    assert {*of(campaign, "eve", "qualification")} == {unit.unit_id for unit in QUIZ}
    right = {unit.unit_id: unit.known or {} for unit in QUIZ}
    for rater, wrong in (("ben", 3), ("cleo", 4), ("dan", 0)):
        for at, (unit, known) in enumerate(right.items()):
            grade = known["relevance"] + 1 if at < wrong else known["relevance"]
            answers = graded("qualification", rater, unit, grade, 2 if at or rater != "cleo" else None)
            say(campaign, answers[: 1 if rater == "dan" and at == 0 else 2])
    strict = assign(campaign.folder, qualify=True, pass_mark=0.7).to_frame()
    assert strict.drop(columns="share").values.tolist() == [
        ["ben", 10, 7, 0, "active"],  # exactly the pass mark
        ["cleo", 10, 5, 0, "failed"],  # a skipped question is wrong
        ["dan", 10, 9, 1, "invited"],
        ["eve", 10, 0, 10, "invited"],
    ]
    assert strict["share"].tolist() == [0.7, 0.5, 0.9, 0.0]
    assert (campaign.folder / "raters.csv").read_text("utf-8").splitlines()[:2] == [
        "rater,state,comment",
        "ana,active,",
    ]
    assert campaign.active("annotator") == ["ana", "ben"]
    near = assign(campaign.folder, qualify=True, tolerance=1).to_frame()
    assert near[["right", "state"]].values.tolist() == [[10, "active"], [9, "failed"], [9, "invited"], [0, "invited"]]
