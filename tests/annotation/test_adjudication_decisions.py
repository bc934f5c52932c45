"""What persons decided, and the votes that they decided on."""

import json
from dataclasses import replace
from pathlib import Path

from fcconan.annotation import Decision, adjudicate, count_outcomes
from tests.annotation.answered import NO, SURE, YES, labelled, say

FIRST, SECOND = "hs-1:cn-1", "hs-2:cn-2"
PERSONS = [Decision(FIRST, YES, "chair", "person"), Decision(SECOND, None, "chair", "person_discarded")]


def test_a_decision_keeps_the_votes_that_it_was_made_on(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "222", "002")
    outcome = adjudicate(campaign, persons=PERSONS)
    assert [each.votes for each in outcome.decisions] == [f"{YES} {NO}", f"{YES} {NO}", None]
    campaign.write("decisions.jsonl", outcome.decisions)
    lines = (campaign.folder / "decisions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line).get("votes") for line in lines] == [f"{YES} {NO}", f"{YES} {NO}", None]
    assert outcome.other_votes == adjudicate(campaign).other_votes == []


def test_votes_that_changed_since_a_person_decided_are_counted(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "222", "002")
    campaign.write("decisions.jsonl", adjudicate(campaign, persons=PERSONS).decisions)
    say(campaign, "rater-2", 1, SURE)
    for _ in range(2):  # also when it is adjudicated again and again
        later = adjudicate(campaign)
        campaign.write("decisions.jsonl", later.decisions)
        assert later.decisions[:2] == PERSONS
        assert later.other_votes == [FIRST]
        assert count_outcomes(later)["other_votes"] == 1
    assert later.needless == []
    # Who decides anew decides on the votes as they are.
    anew = adjudicate(campaign, persons=[Decision(FIRST, NO, "chair", "person"), later.decisions[1]])
    assert (anew.decisions[0].votes, anew.other_votes) == (f"{YES} {SURE}", [])
    assert count_outcomes(None)["other_votes"] == 0


def test_votes_that_two_raters_exchange_are_the_same_votes(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "22", "00")
    campaign.write("decisions.jsonl", adjudicate(campaign, persons=PERSONS).decisions)
    say(campaign, "rater-1", 1, NO)
    say(campaign, "rater-2", 1, YES)
    assert adjudicate(campaign).other_votes == []


def test_votes_on_what_had_none_are_other_votes(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "-2", "-0")
    campaign.write("decisions.jsonl", adjudicate(campaign, persons=PERSONS).decisions)
    assert campaign.decisions()[FIRST].votes == ""
    say(campaign, "rater-1", 1, NO)
    assert adjudicate(campaign).other_votes == [FIRST]
    assert replace(PERSONS[0], votes=NO) == PERSONS[0]
