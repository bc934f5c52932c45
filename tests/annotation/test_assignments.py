import json
import math
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from fcconan.annotation.assignment.assignments import (
    assign_units,
    block_names,
    derived_seed,
    distribute,
    measure_balance,
    numbers,
)
from fcconan.annotation.assignment.sequence import Sessions, in_order, sides

from fcconan.annotation.campaigns import Assignment, Campaign, Rater, Settings, Unit, create
from fcconan.errors import InputError
from fcconan.judging import load_task
from tests.conftest import RunCli

NINE = [f"annotator-{number}" for number in range(1, 10)]
PAIRS = [Unit(f"hs-{hs}:cn-{cn}", hs_id=f"hs-{hs}", cn_id=f"cn-{cn}") for hs in range(10) for cn in range(40)]
COMPARISONS = [Unit(f"a-{item}:b-{item}", reply_a=f"a-{item}", reply_b=f"b-{item}") for item in range(41)]
ANCHORS = [
    Unit(f"hs-9:cn-known-{number}", "anchor", hs_id="hs-9", cn_id=f"cn-known-{number}", known={"label": "appropriate"})
    for number in range(12)
]


def judged_by(found: list[Assignment]) -> dict[str, list[str]]:
    judged: dict[str, list[str]] = {}
    for each in found:
        judged.setdefault(each.rater, []).append(each.unit_id)
    return judged


@pytest.mark.parametrize(
    ("n", "overlap", "expected"),
    [
        (5805, {2: 0.2, 3: 0.05}, {1: 4354, 2: 1161, 3: 290}),  # 4353.75, 1161, 290.25
        (129, {2: 0.2, 3: 0.05}, {1: 97, 2: 26, 3: 6}),  # 96.75, 25.8, 6.45
        (10, {2: 0.25, 3: 0.25}, {1: 5, 2: 2, 3: 3}),  # of equal remainders the larger overlap's
        (3, {2: 1.0}, {1: 0, 2: 3}),
        (7, {}, {1: 7}),
    ],
)
def test_numbers_are_exact_by_the_largest_remainder(
    n: int, overlap: dict[int, float], expected: dict[int, int]
) -> None:
    assert numbers(n, overlap) == expected


def test_shares_above_one_are_refused() -> None:
    with pytest.raises(InputError, match=r"are 0.8 by 2 and 0.3 by 3: give shares with a sum of at most 1"):
        numbers(10, {2: 0.8, 3: 0.3})


def test_single_units_are_spread_to_the_unit_and_over_all_pairs_of_raters() -> None:
    found = assign_units(PAIRS, NINE, overlap={2: 0.2, 3: 0.05}, seed=1)
    spread = measure_balance(judged_by(found))
    assert spread.by_raters == {1: 300, 2: 80, 3: 20}
    assert spread.judgements == 520
    assert (spread.least, spread.most) == (57, 58)  # 520 = 9 * 57 + 7
    # 80 + 3 * 20 shared units over 36 pairs are 3.9 each.
    assert (spread.sharing, spread.pairs, spread.fewest_shared, spread.most_shared) == (36, 36, 3, 4)
    assert spread.connected
    assert len({(each.rater, each.unit_id) for each in found}) == len(found)
    assert found == assign_units(PAIRS, NINE, overlap={2: 0.2, 3: 0.05}, seed=1)
    assert found != assign_units(PAIRS, NINE, overlap={2: 0.2, 3: 0.05}, seed=2)


@pytest.mark.parametrize("n_raters", [2, 3, 5, 8])
def test_as_many_shared_units_as_pairs_of_raters_reach_every_pair(n_raters: int) -> None:
    pairs = n_raters * (n_raters - 1) // 2
    who = distribute(PAIRS[:pairs], NINE[:n_raters], overlap={2: 1.0}, seed=3)
    assert sorted(tuple(raters) for raters in who.values()) == list(combinations(NINE[:n_raters], 2))


@pytest.mark.parametrize("n_raters", [3, 5, 9])
def test_shared_units_are_spread_over_pairs_and_raters(n_raters: int) -> None:
    raters = NINE[:n_raters]
    for n_shared in range(1, 2 * n_raters):
        who = distribute(PAIRS, raters, overlap={2: n_shared / 400}, seed=n_shared)
        together = Counter(tuple(sorted(each)) for each in who.values() if len(each) == 2)
        of_each = Counter(rater for pair in together.elements() for rater in pair)
        assert together.total() == n_shared
        pairs = math.comb(n_raters, 2)
        # No two share a second unit before every two share one.
        assert len(together) == min(n_shared, pairs) and max(together.values()) <= math.ceil(n_shared / pairs) + 1
        assert max(of_each[rater] for rater in raters) - min(of_each[rater] for rater in raters) <= 2
        loads = Counter(rater for each in who.values() for rater in each)
        assert max(loads.values()) - min(loads.values()) <= 1


def test_whole_blocks_overlap_and_follow_each_other() -> None:
    found = assign_units(PAIRS, NINE[:4], overlap={2: 0.15}, seed=4, blocks="cn")
    who: dict[str, set[tuple[str, ...]]] = {}
    by_unit: dict[str, list[str]] = {}
    for each in found:
        by_unit.setdefault(each.unit_id, []).append(each.rater)
    for unit in PAIRS:
        who.setdefault(str(unit.cn_id), set()).add(tuple(sorted(by_unit[unit.unit_id])))
    assert all(len(sets) == 1 for sets in who.values())
    assert Counter(len(next(iter(sets))) for sets in who.values()) == {1: 34, 2: 6}
    # Six blocks of two raters are one for each of the six pairs.
    assert sorted(raters for [raters] in who.values() if len(raters) == 2) == list(combinations(NINE[:4], 2))
    for unit_ids in judged_by(found).values():
        order = [unit_id.split(":")[1] for unit_id in unit_ids]
        changes = 1 + sum(first != second for first, second in pairwise(order))
        assert changes == len(set(order))
    assert sorted(map(len, judged_by(found).values())) == [110, 110, 120, 120]  # 46 blocks of ten


def test_scattered_overlap_is_exact_and_evens_the_loads_of_blocks_out() -> None:
    who = distribute(PAIRS, NINE, overlap={2: 0.2, 3: 0.05}, seed=5, blocks="cn", scatter=True)
    judged = {rater: [unit for unit, raters in who.items() if rater in raters] for rater in NINE}
    spread = measure_balance(judged)
    assert spread.by_raters == {1: 300, 2: 80, 3: 20}
    assert (spread.least, spread.most, spread.sharing) == (57, 58, 36)
    # One rater has every whole block, and every block has as many units that others judge, too.
    blocks: dict[str, list[list[str]]] = {}
    for unit in PAIRS:
        blocks.setdefault(str(unit.cn_id), []).append(who[unit.unit_id])
    assert all(set.intersection(*map(set, raters)) for raters in blocks.values())
    assert {sum(len(raters) > 1 for raters in each) for each in blocks.values()} == {2, 3}  # 100 units in 40 blocks


def test_blocks_of_an_hs_without_overlap_are_shared_out_evenly() -> None:
    found = assign_units(PAIRS, NINE[:5], seed=6, blocks="hs")
    spread = measure_balance(judged_by(found))
    assert (spread.least, spread.most, spread.sharing, spread.connected) == (80, 80, 0, False)


@pytest.mark.parametrize("seed", range(25))
def test_forbidden_units_stay_away_and_loads_are_even_where_there_is_room(seed: int) -> None:
    generator = np.random.default_rng(seed)
    raters = ["a", "b", "c", "d"]
    units = PAIRS[:60]
    # Every rater may judge two of three units or more: enough for loads that differ by one.
    forbidden = {
        (rater, unit.unit_id) for unit in units for rater in raters if generator.random() < 0.3 and rater != "a"
    }
    who = distribute(units, raters, overlap={2: 0.1}, forbidden=forbidden, seed=seed)
    assert not {(rater, unit) for unit, chosen in who.items() for rater in chosen} & forbidden
    assert Counter(map(len, who.values())) == {1: 54, 2: 6}
    assert all(len(set(chosen)) == len(chosen) for chosen in who.values())
    loads = Counter(rater for chosen in who.values() for rater in chosen)
    assert max(loads.values()) - min(loads.values()) <= 1  # 66 = 4 * 16 + 2


def test_what_only_one_rater_may_judge_goes_to_that_rater() -> None:
    forbidden = {(rater, unit.unit_id) for rater in ("b", "c") for unit in PAIRS[:10]}
    who = distribute(PAIRS[:30], ["a", "b", "c"], overlap={}, forbidden=forbidden, seed=0)
    assert [who[unit.unit_id] for unit in PAIRS[:10]] == [["a"]] * 10
    assert Counter(rater for [rater] in who.values()) == {"a": 10, "b": 10, "c": 10}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"overlap": {3: 0.05}, "raters": ["a", "b"]},
            "20 units need 3 of the 2 active raters, but only 0 have so many permitted raters: add raters",
        ),
        ({"raters": []}, "400 units need 1 of the 0 active raters"),
        (
            {"overlap": {2: 1.0}, "raters": ["a", "b"], "forbidden": {("a", "hs-0:cn-0")}},
            "400 units need 2 of the 2 active raters, but only 399 have",
        ),
        (
            {"raters": ["a"], "blocks": "cn", "forbidden": {("a", "hs-0:cn-0")}},
            "40 blocks of a CN need 1",
        ),
    ],
)
def test_overlaps_that_cannot_be_had_are_refused_in_one_line(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        distribute(PAIRS, **{"overlap": {}, **arguments})  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_blocks_that_units_do_not_have_are_refused() -> None:
    with pytest.raises(InputError, match=r"a-0:b-0 has no CN of its own.*choose --blocks hs or units"):
        block_names(COMPARISONS, "cn")


def test_every_rater_and_every_unit_is_shown_both_ways_equally_often() -> None:
    found = assign_units(COMPARISONS, NINE[:5], overlap={2: 0.5, 3: 0.2}, seed=7)
    for keys in ([each.rater for each in found], [each.unit_id for each in found]):
        swapped = Counter(key for key, each in zip(keys, found, strict=True) if each.swapped)
        for key, count in Counter(keys).items():
            assert abs(2 * swapped[key] - count) <= 1
    assert not any(each.swapped for each in assign_units(COMPARISONS, NINE[:5], seed=7, swap=False))
    assert not any(each.swapped for each in assign_units(PAIRS, NINE[:5], seed=7))


@pytest.mark.parametrize("seed", range(20))
def test_sides_are_halved_in_any_graph(seed: int) -> None:
    generator = np.random.default_rng(seed)
    judgements = [(f"r{rater}", f"u{unit}") for rater in range(5) for unit in range(9) if generator.random() < 0.4]
    swapped = sides(judgements, seed)
    assert swapped <= set(judgements)
    for place in (0, 1):
        for node, degree in Counter(each[place] for each in judgements).items():
            assert abs(2 * sum(each[place] == node for each in swapped) - degree) <= 1


def test_sittings_are_of_equal_length_and_have_their_anchors() -> None:
    found = assign_units(PAIRS, NINE[:4], seed=8, anchors=ANCHORS, sessions=Sessions(30, 2))
    known = {anchor.unit_id for anchor in ANCHORS}
    seen: Counter[str] = Counter()
    for rater in NINE[:4]:
        theirs = [each for each in found if each.rater == rater]
        assert [each.position for each in theirs] == list(range(1, 109))
        sessions = [[each.unit_id for each in theirs if each.session == number] for number in range(1, 5)]
        assert list(map(len, sessions)) == [27, 27, 27, 27]  # 100 units in sessions of 28 and fewer, and 8 anchors
        assert [sum(unit in known for unit in session) for session in sessions] == [2, 2, 2, 2]
        anchors = [each.unit_id for each in theirs if each.unit_id in known]
        assert len(set(anchors)) == 8
        seen.update(anchors)
    assert set(seen.values()) <= {2, 3}  # 32 over 12
    assert seen.total() == 32


def test_anchors_that_do_not_suffice_or_leave_no_room_are_refused() -> None:
    with pytest.raises(InputError, match="annotator-1 needs 15 gold questions, but 12 are left: give fewer"):
        assign_units(PAIRS, NINE[:4], seed=8, anchors=ANCHORS, sessions=Sessions(23, 3))
    with pytest.raises(InputError, match="sessions of 3 units are too short for 3 gold questions"):
        assign_units(PAIRS, NINE[:4], seed=8, anchors=ANCHORS, sessions=Sessions(3, 3))


def test_sessions_of_a_number_of_units() -> None:
    assert Sessions(100).sizes(101) == [51, 50]
    assert Sessions(None, 2).sizes(7) == [7]
    assert Sessions(10).sizes(0) == []


def test_the_order_of_a_rater_does_not_depend_on_the_others() -> None:
    ids = [unit.unit_id for unit in PAIRS[:20]]
    alone = in_order({"a": ids}, seed=9)["a"]
    assert in_order({"b": ids[:3], "a": ids[::-1]}, seed=9)["a"] == alone
    assert [each.unit_id for each in alone] != ids
    assert [each.unit_id for each in in_order({"b": ids}, seed=9)["b"]] != [each.unit_id for each in alone]


def test_the_seed_of_a_step_follows_from_the_campaigns() -> None:
    assert derived_seed(0, "assign main", 5) == 5
    assert derived_seed(0, "assign main") == 0x82196B51
    assert derived_seed(1, "assign main") != derived_seed(0, "assign main")


def small_campaign(folder: Path, n_raters: int = 3) -> Campaign:
    units = [*PAIRS[:60], *ANCHORS[:4]]
    campaign = create(folder, Settings(name="ombrey", seed=1), load_task("appropriateness"), units, {})
    campaign.write("raters.csv", [Rater(name) for name in NINE[:n_raters]])
    return campaign


def test_the_command_assigns_once_and_says_how_evenly(tmp_path: Path, run_cli: RunCli) -> None:
    small_campaign(tmp_path / "ombrey")
    options = ("--overlap", "2=0.2", "--overlap", "3=0.05", "--session-size", 10, "--gold-per-session", 1)
    command = ("annotate", "assign", tmp_path / "ombrey", *options)
    done = run_cli(*command, "--json", tmp_path / "assigned.json")
    assert done.returncode == 0, done.stderr
    assert "60 units, 78 judgements: 45 by 1, 12 by 2, 3 by 3." in done.stdout
    assert "3 of 3 pairs of raters share units, 7 to 7 each" in done.stdout
    written = json.loads((tmp_path / "assigned.json").read_text())
    # 26 units in three sessions of up to nine, and an anchor in each.
    assert written["raters"][0] == {
        "rater": "annotator-1",
        "units": 26,
        "anchors": 3,
        "sessions": 3,
        "open": 29,
    }
    file = tmp_path / "ombrey" / "rounds" / "main.jsonl"
    before = file.read_bytes()
    again = run_cli(*command)
    assert "The round main exists with the same options: nothing changed." in again.stdout
    how = tmp_path / "ombrey" / "rounds" / "main.json"
    recorded = json.loads(how.read_text())
    assert recorded.pop("algorithm") == 2
    how.write_text(json.dumps(recorded))  # as version 1 wrote it
    assert "with the same options: nothing changed." in run_cli(*command).stdout
    other = run_cli(*command, "--blocks", "cn")
    assert other.returncode == 2
    assert "has a round main, made with blocks units (now cn): give another --round" in other.stderr
    assert file.read_bytes() == before
    small_campaign(tmp_path / "same" / "ombrey")
    run_cli("annotate", "assign", tmp_path / "same" / "ombrey", *options)
    assert (tmp_path / "same" / "ombrey" / "rounds" / "main.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--overlap", "3=0.5"), "30 units need 3 of the 2 active raters"),
        (("--blocks", "raters"), "Invalid value for '--blocks'"),
        (("--rebalance",), "--rebalance: only for --reassign; leave it out"),
        (
            ("--reassign", "--overlap", "2=.2", "--sample-size", 3),
            "--overlap, --sample-size: --reassign changes ",
        ),
        (("--reassign", "--session-size", 5), "--session-size: --reassign changes neither units nor orders"),
        (("--reassign", "--qualify"), "--qualify: --reassign changes neither units nor orders"),
        (("--all-raters", "--overlap", "2=0.2"), "--all-raters and --overlap exclude each other"),
        (("--overlap-unit", "unit"), "--overlap-unit needs blocks"),
        (("--max-distance", 2), "--max-distance needs a review"),
        (("--round", "Main"), "--round is 'Main'"),
        (("--round", "validation"), "the round validation is made by `fcconan annotate validate`"),
        (("--exclude-round", "shared-1"), "has no other round 'shared-1', expected one of none"),
        (("--overlap", "2=nan"), "Invalid value for '--overlap'"),
        (("--overlap", "2=.6", "--overlap", "3=.5"), "are 0.6 by 2 and 0.5 by 3: give shares with a sum of at most 1"),
        (("--review", "main", "--max-distance", "inf"), "Invalid value for '--max-distance'"),
        (("--sample-size", 61), "--sample-size is 61, expected 1 to 60"),
    ],
)
def test_the_command_refuses_what_cannot_be(
    tmp_path: Path, run_cli: RunCli, options: tuple[object, ...], message: str
) -> None:
    small_campaign(tmp_path / "ombrey", n_raters=2)
    done = run_cli("annotate", "assign", tmp_path / "ombrey", *options)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
    assert not list((tmp_path / "ombrey" / "rounds").glob("*.jsonl"))
