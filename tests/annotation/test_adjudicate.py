"""Final labels from votes, by rule and by persons."""

import csv
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fcconan import InputError, adjudicate
from fcconan.annotation import Assignment, Campaign, Decision, Unit, resolve
from tests.annotation.answered import NO, SHORT, SURE, YES, campaign_of, comparison_units, labelled, reply_units, say

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
FIRST, SECOND = "hs-1:cn-1", "hs-2:cn-2"


@pytest.mark.parametrize("votes", RULE)
def test_rule(votes: str) -> None:
    given = [str(SHORT[vote]) for vote in votes]
    assert resolve(given) == resolve(given[::-1]) == RULE[votes]


def test_verdicts_are_decided_as_labels_are() -> None:
    for votes in product("ab", repeat=2):
        assert resolve(votes)[0] == (votes[0] if votes[0] == votes[1] else None)
    assert resolve(["a", "b", "tie"]) == resolve(["a", "tie"]) == (None, "no_majority")
    assert resolve(["tie", "tie", "a"]) == ("tie", "majority")


def counts(campaign: Campaign, **options: Any) -> dict[tuple[str, str], int]:
    """The numbers above 0 that `adjudicate` returns."""
    table = adjudicate(campaign.folder, **options).to_frame()
    return {(kind, name): number for kind, name, number in table.values.tolist() if number}


def decided(campaign: Campaign) -> dict[str, tuple[str | None, str, str]]:
    """The final labels in the folder."""
    return {unit: (each.label, each.by, each.reason) for unit, each in campaign.decisions().items()}


def test_every_unit_is_decided_discarded_or_pending(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2002-? ", "20122- ", "  2  - ")
    assert counts(campaign) == {
        ("label", YES): 3,
        ("label", NO): 1,
        ("decided", "single"): 1,
        ("decided", "unanimous"): 3,
        ("discarded", "no_majority"): 1,
        ("pending", "waiting"): 1,
        ("pending", "not_assigned"): 1,
        ("conflict", "all"): 1,
        ("conflict", "open"): 1,
    }
    assert [*decided(campaign).values()] == [
        (YES, "votes", "unanimous"),
        (NO, "votes", "unanimous"),
        (None, "rule", "no_majority"),
        (YES, "votes", "unanimous"),
        (YES, "votes", "single"),
    ]


def test_pending_units_are_decided_by_their_votes_if_asked(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2?-", "??-")
    assert counts(campaign) == {("discarded", "all_skipped"): 1, ("pending", "waiting"): 2}
    now = counts(campaign, allow_pending=True)
    assert now == {
        ("label", YES): 1,
        ("decided", "single"): 1,
        ("discarded", "all_skipped"): 1,
        ("pending", "waiting"): 1,
    }


def test_withdrawn_assignments_count_if_they_were_answered(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "20", "0?")
    rows = [
        Assignment(each.rater, each.unit_id, each.position, withdrawn=each.rater == "rater-2")
        for each in campaign.assignments()
    ]
    campaign.write("rounds/main.jsonl", rows)
    counts(campaign)
    assert [each[2] for each in decided(campaign).values()] == ["no_majority", "single"]


def test_the_last_round_counts_and_gold_questions_need_no_decision(tmp_path: Path) -> None:
    units = [
        Unit("hs-1:cn-1", "item", "hs-1", "cn-1"),
        Unit("hs-2:cn-2", "anchor", "hs-2", "cn-2", known={"label": YES}),
    ]
    campaign = campaign_of(tmp_path / "c", units, {"rater-1": [YES, NO], "rater-2": [NO, NO]})
    campaign.write("rounds/review.jsonl", [Assignment("rater-2", FIRST, 1)])
    say(campaign, "rater-2", 1, YES, round_name="review")
    assert counts(campaign, round=("main",))["discarded", "no_majority"] == 1
    counts(campaign)
    assert decided(campaign) == {FIRST: (YES, "votes", "unanimous")}
    with pytest.raises(InputError, match="no round 'reviews'"):
        counts(campaign, round=("reviews",))


def rows_of(path: Path) -> list[dict[str, str]]:
    """The list of conflicts."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, rows: list[dict[str, str]], *, separator: str = ",", encoding: str = "utf-8") -> None:
    """Writes a list as a spreadsheet program does."""
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(("separator", "encoding"), [(";", "utf-8-sig"), (",", "utf-8"), ("\t", "utf-16")])
def test_the_list_of_conflicts_goes_to_a_person_and_comes_back(tmp_path: Path, separator: str, encoding: str) -> None:
    campaign, file = labelled(tmp_path / "c", "20120", "02212"), tmp_path / "list.csv"
    cns = (campaign.folder / "cn.jsonl").read_text(encoding="utf-8")
    (campaign.folder / "cn.jsonl").write_text(cns.replace("They returned book 0;", "=Überall\\nliest man:"))
    assert f"{file}: 3 units to decide." in "".join(adjudicate(campaign.folder, export_conflicts=file).notes)
    assert file.read_bytes().startswith(b"\xef\xbb\xbf")  # without it Excel garbles accents
    rows = rows_of(file)
    assert [row["unit_id"] for row in rows] == [FIRST, SECOND, "hs-5:cn-5"]
    assert rows[0] == {
        "unit_id": FIRST,
        "hate_speech": "The Ombrey never return book 0.",
        "counter_narrative": "'=Überall\nliest man: I saw it.",  # no formula
        "votes": f"{NO} {YES}",  # in the task's order, which hides the raters
        "rule": "discard",
        "reason": "no_majority",
        "decision": "",
    }
    rows[0]["decision"], rows[1]["decision"] = YES, " discard "
    rows = [row | {"own notes": ""} for row in rows]
    fill(file, rows, separator=separator, encoding=encoding)
    for _ in range(2):
        found = counts(campaign, import_decisions=file, decided_by="chair")
        assert found["label", YES] == 3
        assert (found["decided", "person"], found["discarded", "person_discarded"]) == (1, 1)
    assert decided(campaign)[FIRST] == (YES, "chair", "person")
    assert decided(campaign)[SECOND] == (None, "chair", "person_discarded")
    assert decided(campaign)["hs-5:cn-5"] == (None, "rule", "no_majority")
    adjudicate(campaign.folder, export_conflicts=tmp_path / "all.csv", all_conflicts=True)
    assert [row["decision"] for row in rows_of(tmp_path / "all.csv")] == [YES, "discard", "", "", ""]


def test_a_decision_stays_and_is_listed_when_its_votes_change(tmp_path: Path) -> None:
    campaign, file = labelled(tmp_path / "c", "22", "00"), tmp_path / "list.csv"
    adjudicate(campaign.folder, export_conflicts=file)
    fill(file, [row | {"decision": YES} for row in rows_of(file)])
    adjudicate(campaign.folder, import_decisions=file, decided_by="chair")
    say(campaign, "rater-1", 1, NO)
    say(campaign, "rater-2", 1, YES)
    assert not any("have changed" in note for note in adjudicate(campaign.folder).notes)  # the same votes
    say(campaign, "rater-2", 1, NO)
    for number in range(2):
        found = adjudicate(campaign.folder, export_conflicts=tmp_path / f"{number}.csv")
        assert f"changed since 1 decisions of persons, the first on {FIRST}." in found.notes[0]
        assert [row["unit_id"] for row in rows_of(tmp_path / f"{number}.csv")] == [FIRST, SECOND]
    assert decided(campaign)[FIRST] == (YES, "chair", "person")
    found = adjudicate(campaign.folder, import_decisions=tmp_path / "1.csv", decided_by="other-chair")
    assert not any("have changed" in note for note in found.notes)
    assert decided(campaign)[FIRST] == (YES, "chair", "person")  # confirmed


def test_another_decision_replaces_an_earlier_one_only_if_asked(tmp_path: Path) -> None:
    campaign, file = labelled(tmp_path / "c", "2", "0"), tmp_path / "list.csv"
    adjudicate(campaign.folder, export_conflicts=file)
    (row,) = rows_of(file)
    fill(file, [row | {"decision": YES}])
    adjudicate(campaign.folder, import_decisions=file, decided_by="chair")
    fill(file, [row | {"decision": "discard"}])
    with pytest.raises(InputError, match=f"{FIRST} is discard now and was appropriate by chair: give --allow-changes"):
        adjudicate(campaign.folder, import_decisions=file, decided_by="guest")
    adjudicate(campaign.folder, import_decisions=file, decided_by="guest", allow_changes=True)
    assert decided(campaign) == {FIRST: (None, "guest", "person_discarded")}


def test_half_of_the_comparisons_in_the_list_are_swapped(tmp_path: Path) -> None:
    said = {"rater-1": ["a"] * 8, "rater-2": ["a"] * 8, "rater-3": ["b"] * 8}
    campaign = campaign_of(tmp_path / "c", comparison_units(8), said, task="pairwise")
    file = tmp_path / "list.csv"
    adjudicate(campaign.folder, export_conflicts=file, all_conflicts=True)
    rows = rows_of(file)
    assert sorted(row["unit_id"] for row in rows) == [*campaign.units()] != [row["unit_id"] for row in rows]
    assert [*map([row["shown_first"] for row in rows].count, "ab")] == [4, 4]
    for row in rows:
        side = row["shown_first"]
        assert row["reply_a"].endswith(f"{side}.")
        # Two of three said that the unit's first reply is better.
        assert (row["rule"], row["votes"]) == (side, "a a b" if side == "a" else "a b b")
    fill(file, [row | {"decision": "a"} for row in rows])
    adjudicate(campaign.folder, import_decisions=file, decided_by="chair")
    assert {unit: each[0] for unit, each in decided(campaign).items()} == {
        row["unit_id"]: row["shown_first"] for row in rows
    }
    adjudicate(campaign.folder, export_conflicts=tmp_path / "again.csv", all_conflicts=True)
    assert rows_of(tmp_path / "again.csv") == [row | {"decision": "a"} for row in rows]


@pytest.mark.parametrize(
    ("edit", "by", "said"),
    [
        (lambda row: row | {"decision": "fine"}, "chair", "row 2: the decision on hs-1:cn-1 is 'fine', expected"),
        (lambda row: row | {"decision": SURE}, "chair", "is 'not_sure'"),
        (lambda row: row | {"unit_id": "hs-9:cn-9"}, "chair", "has the unit hs-9:cn-9, which the campaign lacks"),
        (lambda row: row | {"votes": YES}, "chair", "the votes on hs-1:cn-1 have changed since"),
        (lambda row: {name: row[name] for name in row if name != "decision"}, "chair", "lacks the column decision"),
        (lambda row: row, "Ada Ombrey", "found --decided-by 'Ada Ombrey', expected a pseudonym"),
        (lambda row: row, "rule", "found --decided-by 'rule', expected a pseudonym"),
        (lambda row: row, None, "found one of --import-decisions and --decided-by"),
    ],
)
def test_wrong_lists_are_refused(
    tmp_path: Path, edit: Callable[[dict[str, str]], dict[str, str]], by: str | None, said: str
) -> None:
    campaign, file = labelled(tmp_path / "c", "2", "0"), tmp_path / "list.csv"
    adjudicate(campaign.folder, export_conflicts=file)
    fill(file, [edit(row | {"decision": YES}) for row in rows_of(file)])
    before = (campaign.folder / "decisions.jsonl").read_bytes()
    with pytest.raises(InputError, match=said):
        adjudicate(campaign.folder, import_decisions=file, decided_by=by)
    assert (campaign.folder / "decisions.jsonl").read_bytes() == before


def test_a_list_is_not_written_over_and_grades_are_not_adjudicated(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "22", "22")
    adjudicate(campaign.folder, export_conflicts=tmp_path / "list.csv")
    assert rows_of(tmp_path / "list.csv") == []
    assert counts(campaign, import_decisions=tmp_path / "list.csv", decided_by="chair")["label", YES] == 2
    with pytest.raises(InputError, match=r"list\.csv exists, perhaps with decisions"):
        adjudicate(campaign.folder, export_conflicts=tmp_path / "list.csv")
    grades = campaign_of(tmp_path / "g", reply_units(1), {"rater-1": [3.0], "rater-2": [5.0]}, task="cseval")
    with pytest.raises(InputError, match="cseval has grades, which are published as they are"):
        adjudicate(grades.folder)


def test_a_decision_keeps_the_votes_that_it_was_made_on(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "222", "002")
    votes = f"{YES} {NO}"
    persons = [
        Decision(FIRST, YES, "chair", "person", votes),
        Decision(SECOND, None, "chair", "person_discarded", votes),
    ]
    campaign.write("decisions.jsonl", persons)
    counts(campaign)
    lines = (campaign.folder / "decisions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("votes") for line in lines] == [votes, votes, None]
