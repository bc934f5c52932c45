"""Final labels from votes, by rule and by persons."""

import csv
import json
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from fcconan.annotation import conflict_rows, merge_decisions, read_conflicts, write_conflicts
from fcconan.annotation.adjudication import (
    DISCARDED,
    LABELLED,
    REASONS,
    adjudicate,
    count_outcomes,
    final_labels,
    resolve,
)
from fcconan.annotation.campaigns import Answer, Assignment, Decision, Unit
from fcconan.annotation.sheets import as_csv
from fcconan.data import read_rows
from fcconan.errors import InputError
from tests.annotation.answered import NO, SHORT, SURE, YES, campaign_of, comparison_units, labelled, reply_units, say
from tests.conftest import RunCli

RULE = {
    "": (None, "all_skipped"),
    "0": (NO, "single"),
    "1": (None, "not_sure"),
    "00": (NO, "unanimous"),
    "01": (NO, "other_not_sure"),
    "21": (YES, "other_not_sure"),
    "11": (None, "not_sure"),
    "02": (None, "no_majority"),
    "222": (YES, "unanimous"),
    "001": (NO, "majority"),
    "202": (YES, "majority"),
    "011": (None, "not_sure"),
    "012": (None, "no_majority"),
    "0022": (None, "no_majority"),
    "0011": (None, "no_majority"),
    "2220": (YES, "majority"),
    "1110": (None, "not_sure"),
}


@pytest.mark.parametrize("votes", RULE)
def test_rule(votes: str) -> None:
    assert resolve([str(SHORT[vote]) for vote in votes]) == RULE[votes]


def test_rule_does_not_depend_on_the_order_and_knows_all_its_reasons() -> None:
    found = set()
    for votes in product((NO, SURE, YES), repeat=3):
        assert resolve(votes) == resolve(votes[::-1]) == resolve(sorted(votes))
        found.add(resolve(votes)[1])
    assert found == {"unanimous", "majority", "not_sure", "no_majority"}
    assert {reason for _, reason in RULE.values()} | {"person", "person_discarded"} == set(REASONS)
    assert not LABELLED.keys() & DISCARDED.keys()


def test_verdicts_are_decided_as_scores_of_comparisons_decide_them() -> None:
    for votes in product("ab", repeat=2):
        assert resolve(votes)[0] == (votes[0] if votes[0] == votes[1] else None)
    assert resolve(["a", "b", "tie"]) == (None, "no_majority")
    assert resolve(["a", "tie"]) == (None, "no_majority")
    assert resolve(["tie", "tie", "a"]) == ("tie", "majority")


def test_every_unit_is_decided_discarded_or_waiting(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2002-? ", "20122- ", "  2  - ")
    outcome = adjudicate(campaign)
    assert [(each.label, each.by, each.reason) for each in outcome.decisions] == [
        (YES, "votes", "unanimous"),
        (NO, "votes", "unanimous"),
        (None, "rule", "no_majority"),
        (YES, "votes", "unanimous"),
        (YES, "votes", "single"),
    ]
    assert outcome.waiting == ["hs-6:cn-6"]
    assert outcome.not_assigned == ["hs-7:cn-7"]
    assert outcome.conflicts == outcome.open_conflicts == ["hs-3:cn-3"]
    counts = count_outcomes(outcome)
    assert counts["labels"] == {YES: 3, NO: 1}
    assert {reason: n for reason, n in counts["decided"].items() if n} == {"single": 1, "unanimous": 3}
    assert {reason: n for reason, n in counts["discarded"].items() if n} == {"no_majority": 1}


def test_now_decides_what_has_a_vote(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2?-", "??-")
    assert [each.reason for each in adjudicate(campaign).decisions] == ["all_skipped"]
    now = adjudicate(campaign, now=True)
    assert [(each.unit_id, each.reason) for each in now.decisions] == [
        ("hs-1:cn-1", "single"),
        ("hs-3:cn-3", "all_skipped"),
    ]
    assert now.waiting == ["hs-2:cn-2"]


def test_withdrawn_assignments_count_if_they_were_answered(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "20", "0?")
    rows = [
        Assignment(each.rater, each.unit_id, each.position, withdrawn=each.rater == "rater-2")
        for each in campaign.assignments()
    ]
    campaign.write("rounds/main.jsonl", rows)
    assert [each.reason for each in adjudicate(campaign).decisions] == ["no_majority", "single"]
    campaign.write("rounds/main.jsonl", [each for each in rows if each.withdrawn])
    now = adjudicate(campaign)
    assert ([each.unit_id for each in now.decisions], now.not_assigned) == (["hs-1:cn-1"], ["hs-2:cn-2"])


def test_a_later_round_supersedes_the_earlier_answer_of_the_same_rater(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2", "0")
    campaign.write("rounds/review.jsonl", [Assignment("rater-2", "hs-1:cn-1", 1)])
    say(campaign, "rater-2", 1, YES, round_name="review")
    assert adjudicate(campaign).decisions[0].reason == "no_majority"
    assert adjudicate(campaign, rounds=["main", "review"]).decisions[0].reason == "unanimous"
    with pytest.raises(InputError, match="no round 'reviews', only main, review"):
        adjudicate(campaign, rounds=["reviews"])


def test_anchors_need_no_decision(tmp_path: Path) -> None:
    units = [
        Unit("hs-1:cn-1", "anchor", "hs-1", "cn-1", known={"label": YES}),
        Unit("hs-2:cn-2", "item", "hs-2", "cn-2"),
    ]
    campaign = campaign_of(tmp_path / "c", units, {"rater-1": [YES, NO]})
    assert [each.unit_id for each in adjudicate(campaign).decisions] == ["hs-2:cn-2"]


def test_a_persons_decision_stays_whatever_the_votes_become(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "22", "0?")
    persons = [
        Decision("hs-1:cn-1", YES, "rater-1", "person"),
        Decision("hs-2:cn-2", None, "chair", "person_discarded"),
    ]
    outcome = adjudicate(campaign, persons=persons)
    assert outcome.decisions == persons
    assert (outcome.waiting, outcome.own_raters, outcome.needless) == ([], ["hs-1:cn-1"], [])
    campaign.write("decisions.jsonl", outcome.decisions)
    say(campaign, "rater-2", 1, YES)
    later = adjudicate(campaign)
    assert later.decisions == persons
    assert (later.conflicts, later.needless) == ([], ["hs-1:cn-1"])


def test_grades_are_not_adjudicated(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = campaign_of(tmp_path / "c", reply_units(1), {"rater-1": [3.0], "rater-2": [5.0]}, task="cseval")
    with pytest.raises(InputError, match="has grades, which are not adjudicated"):
        final_labels(campaign)
    done = run_cli("annotate", "adjudicate", tmp_path / "c", "--json", tmp_path / "n.json")
    said, following = done.stdout.splitlines()
    assert (done.returncode, said) == (
        0,
        "The task has grades, which are not adjudicated: the grades of each rater are published.",
    )
    assert following.startswith(f"Next: fcconan annotate tier {tmp_path / 'c'} --out FOLDER (")
    assert json.loads((tmp_path / "n.json").read_text())["labels"] == {}
    assert run_cli("annotate", "adjudicate", tmp_path / "c", "--export-conflicts", tmp_path / "x.csv").returncode == 2


def test_the_conflict_list_goes_to_a_person_and_comes_back(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = labelled(tmp_path / "c", "20120", "02212")
    file, out = tmp_path / "conflicts.csv", tmp_path / "counts.json"
    done = run_cli("annotate", "adjudicate", tmp_path / "c", "--export-conflicts", file)
    assert done.returncode == 0
    said = done.stdout.partition("conflicts.csv: ")[2].split("\n")
    assert said[0].startswith(
        f"3 units to decide. Write one of {NO}, {YES}, discard into the column `decision`, or leave it emp"
    )
    assert file.read_bytes().startswith(b"\xef\xbb\xbf")  # without it Excel garbles accents
    rows = list(csv.DictReader(file.read_text(encoding="utf-8-sig").splitlines()))
    assert [row["unit_id"] for row in rows] == ["hs-1:cn-1", "hs-2:cn-2", "hs-5:cn-5"]
    assert rows[0] == {
        "campaign": "books",
        "unit_id": "hs-1:cn-1",
        "hate_speech": "The Ombrey never return book 0.",
        "counter_narrative": "They returned book 0; I saw it.",
        "votes": "not_appropriate appropriate",  # in the task's order: who said what is not told
        "rule": "discard",
        "reason": "no_majority",
        "decision": "",
    }
    before = (tmp_path / "c" / "decisions.jsonl").read_bytes()
    # As a spreadsheet saves it: a byte order mark, semicolons, other line ends.
    rows[0]["decision"], rows[1]["decision"] = YES, " discard "
    lines = [";".join(rows[0]), *(";".join(f'"{cell}"' for cell in row.values()) for row in rows)]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    for _ in range(2):
        done = run_cli(
            "annotate", "adjudicate", tmp_path / "c", "--import-decisions", file, "--decided-by", "chair", "--json", out
        )
        assert done.returncode == 0, done.stderr
        assert "2 decisions of chair." in done.stdout
    assert "2 decisions of chair." in done.stdout
    assert "decisions.jsonl is the same as before." in done.stdout
    decisions = campaign.decisions()
    assert decisions["hs-1:cn-1"] == Decision("hs-1:cn-1", YES, "chair", "person")
    assert decisions["hs-2:cn-2"] == Decision("hs-2:cn-2", None, "chair", "person_discarded")
    assert decisions["hs-5:cn-5"].reason == "no_majority"
    counts = json.loads(out.read_text())
    assert counts["labels"] == {YES: 3}
    assert {reason: n for reason, n in counts["discarded"].items() if n} == {"no_majority": 1, "person_discarded": 1}
    assert (tmp_path / "c" / "decisions.jsonl").read_bytes() != before
    # What a person filled in is not written over; a new list shows what was decided, and a plain run keeps it.
    refused = run_cli("annotate", "adjudicate", tmp_path / "c", "--export-conflicts", file, "--all-conflicts")
    assert (refused.returncode, "perhaps with answers" in refused.stderr) == (2, True)
    anew = tmp_path / "anew.csv"
    done = run_cli("annotate", "adjudicate", tmp_path / "c", "--export-conflicts", anew, "--all-conflicts")
    assert done.returncode == 0
    assert "anew.csv: 5 units to decide. Write" in done.stdout
    assert [row["decision"] for row in csv.DictReader(anew.read_text(encoding="utf-8-sig").splitlines())] == [
        YES,
        "discard",
        "",
        "",
        "",
    ]


def problem(tmp_path: Path, edit: dict[int, dict[str, str]], *, by: str = "chair") -> str:
    """What is said of a conflict list of which rows were edited."""
    campaign = labelled(tmp_path / "c", "2002", "0222")
    outcome = adjudicate(campaign)
    rows = conflict_rows(campaign, outcome, outcome.open_conflicts)
    for at, cells in edit.items():
        rows[at] |= cells
    write_conflicts(tmp_path / "list.csv", rows)
    with pytest.raises(InputError) as error:
        read_conflicts(tmp_path / "list.csv", campaign, outcome, by)
    return str(error.value)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({1: {"decision": "fine"}}, f"row 3: the decision is 'fine', expected one of {NO}, {YES}, discard or nothing"),
        ({0: {"decision": SURE}}, "row 2: the decision is 'not_sure'"),
        ({0: {"campaign": "cards"}}, "row 2: campaign of hs-1:cn-1 is 'cards', expected 'books'"),
        ({0: {"unit_id": "hs-9:cn-9"}}, "row 2: 'hs-9:cn-9' is not a completely answered unit of the campaign"),
        ({1: {"unit_id": "hs-1:cn-1"}}, "row 2: hs-1:cn-1 occurs more than once; row 3"),
        (
            {0: {"votes": YES}},
            "row 2: votes of hs-1:cn-1 is 'appropriate', expected 'not_appropriate appropriate'",
        ),
        (
            {2: {"counter_narrative": "They ate it."}},
            "row 4: counter_narrative of hs-3:cn-3 is 'They ate it.'",
        ),
        ({at: {"decision": "x"} for at in range(3)}, "; row 4: the decision is 'x'"),
    ],
)
def test_a_wrong_list_is_refused(tmp_path: Path, edit: dict[int, dict[str, str]], said: str) -> None:
    message = problem(tmp_path, edit)
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize("by", ["votes", "rule", "Ada Ombrey", "ada@example.org", ""])
def test_names_are_no_pseudonyms(tmp_path: Path, by: str) -> None:
    assert problem(tmp_path, {}, by=by).startswith(f"--decided-by is {by!r}: give letters")


def test_more_than_three_problems_are_counted(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "00000", "22222")
    outcome = adjudicate(campaign)
    rows = [row | {"decision": "?"} for row in conflict_rows(campaign, outcome, outcome.conflicts)]
    write_conflicts(tmp_path / "list.csv", rows)
    with pytest.raises(InputError, match=r"row 4: .*; and 2 more: correct this file"):
        read_conflicts(tmp_path / "list.csv", campaign, outcome, "chair")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the header is missing"),
        (b"campaign,unit_id,votes\nbooks,x,y\n", "lacks the column decision: import the list"),
        (
            b'campaign,unit_id,votes,decision\nbooks,"hs-1',
            r"row 2: not CSV .*: the file was cut off",
        ),
        (b"campaign,unit_id,votes,decision\nbooks,hs-1\n", "row 2: found 2 cells, expected 4"),
        (b"\xff\xfa", "byte 0 is not utf-8: save the file as UTF-8"),
        (None, r"cannot be read \(No such file or directory\)"),
    ],
)
def test_no_list_at_all(tmp_path: Path, content: bytes | None, said: str) -> None:
    campaign = labelled(tmp_path / "c", "0", "2")
    if content is not None:
        (tmp_path / "list.csv").write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_conflicts(tmp_path / "list.csv", campaign, adjudicate(campaign), "chair")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_list_with_accents_and_formulas_comes_back(tmp_path: Path, encoding: str) -> None:
    campaign = labelled(tmp_path / "c", "20", "02")
    cns = [row | {"text": "'=Überall\nliest man"} for row in read_rows(campaign.folder / "cn.jsonl")]
    (campaign.folder / "cn.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cns), encoding="utf-8")
    outcome = adjudicate(campaign)
    path = tmp_path / "list.csv"
    write_conflicts(path, [row | {"decision": YES} for row in conflict_rows(campaign, outcome, outcome.conflicts)])
    text = path.read_text(encoding="utf-8-sig")
    assert text.count("\"''=Überall\nliest man\"") == 2
    path.write_bytes(text.encode(encoding))
    found = read_conflicts(path, campaign, outcome, "chair")
    assert [(each.unit_id, each.label) for each in found] == [("hs-1:cn-1", YES), ("hs-2:cn-2", YES)]


def test_without_conflicts_the_list_is_a_header(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2", "2")
    path = tmp_path / "list.csv"
    write_conflicts(path, [])
    assert path.read_bytes() == b"\xef\xbb\xbfcampaign,unit_id,votes,rule,reason,decision\r\n"
    assert read_conflicts(path, campaign, adjudicate(campaign), "chair") == []


def test_another_persons_decision_is_replaced_only_if_asked() -> None:
    old = [Decision("u-1", YES, "chair", "person"), Decision("u-2", NO, "chair", "person")]
    new = [Decision("u-1", YES, "guest", "person"), Decision("u-2", None, "guest", "person_discarded")]
    with pytest.raises(
        InputError, match=r"1 units have other decisions already, the first is u-2 \(not_appropriate by ch"
    ):
        merge_decisions(old, new)
    assert merge_decisions(old, new, changes=True) == new
    assert merge_decisions(old, new[:1]) == old
    assert merge_decisions([], new) == new


def test_whose_decisions_are_can_be_corrected(tmp_path: Path, run_cli: RunCli) -> None:
    campaign, file = labelled(tmp_path / "c", "2200", "0022", "    "), tmp_path / "list.csv"
    command = ("annotate", "adjudicate", tmp_path / "c")

    def imported(by: str, decisions: str, *options: str) -> str:
        outcome = adjudicate(campaign)
        rows = conflict_rows(campaign, outcome, outcome.conflicts)
        given = [row | {"decision": SHORT.get(each) or ""} for row, each in zip(rows, decisions, strict=True)]
        file.write_text(as_csv(given), encoding="utf-8")
        done = run_cli(*command, "--import-decisions", file, "--decided-by", by, *options)
        assert (done.returncode, done.stderr) == (0, "")
        return str(done.stdout.partition("list.csv: ")[2])

    assert imported("typo", "22- ").startswith("2 decisions of typo.\n")
    assert imported("typo", "2 0 ", "--allow-changes").startswith("2 decisions of typo.\n")
    kept = imported("chair", "2   ")
    assert kept.startswith("1 decisions of chair.\nEarlier decisions of typo are unchanged: --allow-changes ")
    mended = imported("chair", "2 2 ", "--allow-changes")
    assert mended.startswith("2 decisions of chair.\n") and "typo" not in mended
    assert [(each.label, each.by) for each in campaign.decisions().values()] == [
        (YES, "chair"),
        (YES, "typo"),
        (YES, "chair"),
        (None, "rule"),
    ]
    campaign.write("rounds/main.jsonl", [*campaign.assignments(), Assignment("rater-3", "hs-1:cn-1", 1)])
    say(campaign, "rater-3", 1, YES)
    assert imported("chair", "22  ").startswith("2 decisions of chair.\n")


def test_without_answers_there_is_one_line_and_no_list(tmp_path: Path, run_cli: RunCli) -> None:
    labelled(tmp_path / "c", "??")
    done = run_cli("annotate", "adjudicate", tmp_path / "c", "--export-conflicts", tmp_path / "list.csv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "c has no answers in main: import some with `fcconan annotate import`, or name other rou" in done.stderr
    assert not (tmp_path / "list.csv").exists() and not (tmp_path / "c" / "decisions.jsonl").exists()


def test_comparisons_are_decided_and_shown_with_both_replies(tmp_path: Path) -> None:
    said = {"rater-1": ["a", "a", "tie"], "rater-2": ["a", "b", "tie"]}
    campaign = campaign_of(tmp_path / "c", comparison_units(3), said, task="pairwise")
    outcome = adjudicate(campaign)
    assert Counter((each.label, each.reason) for each in outcome.decisions) == {
        ("a", "unanimous"): 1,
        ("tie", "unanimous"): 1,
        (None, "no_majority"): 1,
    }
    (row,) = conflict_rows(campaign, outcome, outcome.open_conflicts)
    sides = {row["reply_a"], row["reply_b"]}
    assert (sides, row["votes"]) == ({f"Book 1 is on its shelf, says re-2{side}." for side in "ab"}, "a b")


def test_the_list_shows_half_of_the_comparisons_swapped_and_is_read_accordingly(tmp_path: Path) -> None:
    said = {"rater-1": ["a"] * 8, "rater-2": ["a"] * 8, "rater-3": ["b"] * 8}
    campaign = campaign_of(tmp_path / "c", comparison_units(8), said, task="pairwise")
    outcome = adjudicate(campaign)
    rows = conflict_rows(campaign, outcome, outcome.conflicts)
    assert rows == conflict_rows(campaign, outcome, outcome.conflicts)
    assert sorted(row["unit_id"] for row in rows) == list(campaign.units())
    assert [row["unit_id"] for row in rows] != list(campaign.units())
    assert Counter(row["shown_first"] for row in rows) == {"a": 4, "b": 4}
    for row in rows:
        side = row["shown_first"]
        assert row["reply_a"].endswith(f"{side}.")
        # Two of three said that the unit's first reply is better.
        assert (row["rule"], row["votes"]) == (side, "a a b" if side == "a" else "a b b")
    path = tmp_path / "list.csv"
    write_conflicts(path, [row | {"decision": "a"} for row in rows])
    found = read_conflicts(path, campaign, outcome, "chair")
    assert [(each.unit_id, each.label) for each in found] == [(row["unit_id"], row["shown_first"]) for row in rows]
    # What was decided stands there as it was written.
    again = conflict_rows(campaign, adjudicate(campaign, persons=found), outcome.conflicts)
    assert {row["decision"] for row in again} == {"a"}
    write_conflicts(tmp_path / "capitals.csv", [row | {"shown_first": row["shown_first"].upper()} for row in again])
    assert read_conflicts(tmp_path / "capitals.csv", campaign, outcome, "chair") == found
    assert conflict_rows(campaign, outcome, []) == []
    other = {"a": "b", "b": "a"}
    turned = [row | {"decision": "tie", "shown_first": other[row["shown_first"]]} for row in rows]
    write_conflicts(tmp_path / "turned.csv", turned)
    with pytest.raises(InputError, match="row 2: reply_a of"):
        read_conflicts(tmp_path / "turned.csv", campaign, outcome, "chair")


@pytest.mark.parametrize(
    ("name", "cell", "message"),
    [
        ("shown_first", None, r"list\.csv lacks the column shown_first: import the list"),
        ("shown_first", "", r"row 2: shown_first of re-2a:re-2b is '', expected 'a';"),
        (
            "reply_a",
            None,
            r"list\.csv lacks the column reply_a: import the list with all its columns",
        ),
    ],
)
def test_what_was_deleted_from_a_list_is_named(tmp_path: Path, name: str, cell: str | None, message: str) -> None:
    said = {"rater-1": ["a"] * 2, "rater-2": ["a"] * 2, "rater-3": ["b"] * 2}
    campaign = campaign_of(tmp_path / "c", comparison_units(2), said, task="pairwise")
    outcome = adjudicate(campaign)
    rows = [row | {"decision": "a"} for row in conflict_rows(campaign, outcome, outcome.conflicts)]
    given = [{key: cell if key == name else value for key, value in row.items()} for row in rows]
    columns = [key for key in rows[0] if key != name or cell is not None]
    (tmp_path / "list.csv").write_text(as_csv(given, columns), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_conflicts(tmp_path / "list.csv", campaign, outcome, "chair")


def test_options_that_go_together(tmp_path: Path, run_cli: RunCli) -> None:
    labelled(tmp_path / "c", "0")
    done = run_cli("annotate", "adjudicate", tmp_path / "c", "--decided-by", "chair")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--import-decisions needs --decided-by" in done.stderr


def test_an_answer_of_somebody_unknown_is_no_vote(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "0")
    campaign.write("answers.jsonl", [*campaign.history(), Answer("main", "stranger", "hs-1:cn-1", "label", YES)])
    with pytest.raises(InputError, match="has no rater stranger: restore its files from a backup"):
        adjudicate(campaign)
