"""The state of a campaign: returned and open units, and the next command, from an empty campaign to its release."""

import json
from pathlib import Path

import pytest
from fcconan.services import StatusOptions, campaign_status

from fcconan.annotation import Campaign, campaign_progress
from fcconan.annotation.campaigns import LABEL, VALIDATION, Answer, Assignment, Decision, Rater, Unit, create
from fcconan.annotation.tools.task_view import VERDICT
from fcconan.errors import InputError
from tests.annotation.answered import add_answers, campaign_of, labelled, reply_units, say
from tests.annotation.handed_out import campaign_of as handed_out
from tests.conftest import RunCli


def _next(campaign: Campaign) -> str:
    """The next command without the program and the folder."""
    command = campaign_progress(campaign).next.command
    assert f" {campaign.folder}" in command
    return command.removeprefix("fcconan annotate ").replace(f" {campaign.folder}", "")


def test_returned_and_open_units_are_counted_by_round_and_rater(tmp_path: Path, run_cli: RunCli) -> None:
    """Of three pairs the first rater labelled one, skipped one and has one to do; the second has labelled both."""
    labelled(tmp_path / "c", "2-?", "20 ")
    found = campaign_status(tmp_path / "c")
    columns = ["round", "rater", "state", "assigned", "returned", "skipped", "open", "imports"]
    assert found.to_frame()[columns].values.tolist() == [
        ["main", "rater-1", "active", 3, 2, 1, 1, 0],
        ["main", "rater-2", "active", 2, 2, 0, 0, 0],
    ]
    assert found.rounds() == [{"round": "main", "raters": 2, "assigned": 5, "returned": 4, "skipped": 1, "open": 1}]
    units = {"all": 3, "assigned": 3, "answered": 2, "labelled": 0, "discarded": 0, "confirmed": 0}
    assert found.data["units"] == units
    done = run_cli("annotate", "status", tmp_path / "c", "--json", tmp_path / "s.json")
    assert done.stdout.splitlines()[-2:] == [
        f"Next: fcconan annotate import {tmp_path / 'c'} FILES (1 unit of the round main is open: rater-1 (1))",
        f"Or continue without open units: fcconan annotate adjudicate {tmp_path / 'c'}",
    ]
    assert ("rater-1" in done.stdout, "rater-2" in done.stdout) == (True, False)
    assert "rater-2" in run_cli("annotate", "status", tmp_path / "c", "--verbose").stdout
    assert json.loads((tmp_path / "s.json").read_text()) == found.to_dict()
    with pytest.raises(InputError, match="no round 'second'"):
        campaign_status(tmp_path / "c", StatusOptions(round=("second",)))


def test_the_next_command_leads_from_an_empty_campaign_to_its_release(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = handed_out("appropriateness", tmp_path / "c")
    (campaign.folder / "rounds" / "main.jsonl").unlink()
    raters = campaign.raters()
    campaign.write("raters.jsonl", [])
    assert _next(campaign) == "raters --add-annotators N"
    campaign.write("raters.jsonl", raters.values())
    assert _next(campaign) == "assign"
    run_cli("annotate", "assign", campaign.folder)
    assert _next(campaign) == "export --round main --out FOLDER"
    units = {each.unit_id: each.rater for each in campaign.assignments()}
    first, *others = units
    add_answers(campaign, Answer("main", units[first], first, LABEL, "appropriate"))
    assert _next(campaign) == "import FILES"
    people = [Rater(name, state="left" if name == "velmari-3" else "active") for name in raters]
    campaign.write("raters.jsonl", people)
    assert _next(campaign) == "assign --reassign --round main"
    run_cli("annotate", "assign", campaign.folder, "--reassign")
    units = {each.unit_id: each.rater for each in campaign.assignments() if not each.withdrawn}
    add_answers(campaign, *(Answer("main", units[each], each, LABEL, "not_appropriate") for each in others))
    assert _next(campaign) == "adjudicate"
    run_cli("annotate", "adjudicate", campaign.folder)
    assert _next(campaign) == "tier --out FOLDER"  # there is no validator
    assert campaign_progress(campaign).next.reason == "all answers are in, and nothing is validated"
    campaign.write("raters.jsonl", [*people, Rater("ostrun-1", "validator")])
    assert _next(campaign) == "validate"
    run_cli("annotate", "validate", campaign.folder)
    assert _next(campaign) == "export --round validation --out FOLDER"
    add_answers(campaign, *(Answer(VALIDATION, "ostrun-1", each, VERDICT, "agree") for each in units))
    assert _next(campaign) == "tier --out FOLDER"
    assert campaign_progress(campaign).units["confirmed"] == 4
    changed = campaign.decisions() | {first: Decision(first, "not_appropriate", "chair", "person")}
    campaign.write("decisions.jsonl", changed.values())
    assert _next(campaign) == "validate --extend"


def test_open_units_have_an_alternative_where_the_campaign_can_continue(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = labelled(tmp_path / "c", "2-?", "20 ", validators=["v1"])
    folder = campaign.folder
    done = run_cli("annotate", "adjudicate", folder)
    assert done.stdout.splitlines()[-2:] == [
        f"Next: fcconan annotate import {folder} FILES (1 unit of the round main is open: rater-1 (1))",
        f"Or continue without open units: fcconan annotate validate {folder}",
    ]
    run_cli("annotate", "validate", folder)
    say(campaign, "rater-1", 3, None)
    run_cli("annotate", "adjudicate", folder)
    found = campaign_progress(campaign)
    assert (found.next.reason, found.next.alternative) == ("2 units of the round validation need answers", None)
    add_answers(campaign, Answer(VALIDATION, "v1", "hs-1:cn-1", VERDICT, "agree"))
    found = campaign_progress(campaign)
    assert found.next.reason == "1 unit of the round validation is open: v1 (1)"
    assert found.next.alternative == f"fcconan annotate tier {folder} --out FOLDER"


def test_the_qualification_test_and_skipped_rounds_have_no_alternative(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "-?")
    found = campaign_progress(campaign)
    assert (found.next.reason, found.next.alternative) == ("1 unit of the round main is open: rater-1 (1)", None)
    (campaign.folder / "rounds" / "main.jsonl").rename(campaign.folder / "rounds" / "qualification.jsonl")
    campaign.write("answers.jsonl", [])
    say(campaign, "rater-1", 1, "appropriate", round_name="qualification")
    found = campaign_progress(campaign)
    assert found.next.reason == "1 unit of the round qualification is open: rater-1 (1)"
    assert found.next.alternative is None


def test_invited_raters_take_the_qualification_test_first(tmp_path: Path, run_cli: RunCli) -> None:
    made = handed_out("appropriateness", tmp_path / "handed-out")
    pair = next(iter(made.units().values()))
    quiz = Unit("quiz-1", "quiz", hs_id=pair.hs_id, cn_id=pair.cn_id, known={LABEL: "appropriate"})
    texts = {"hs.jsonl": [{"hs_id": "hs-1", "text": "x"}], "cn.jsonl": [{"cn_id": "cn-1", "text": "y"}]}
    campaign = create(tmp_path / "c", made.settings, made.task, [quiz, pair], texts)
    campaign.write("raters.jsonl", [Rater("quillish-1", state="invited")])
    assert _next(campaign) == "assign --round qualification"
    run_cli("annotate", "assign", campaign.folder, "--round", "qualification")
    assert _next(campaign) == "export --round qualification --out FOLDER"
    add_answers(campaign, Answer("qualification", "quillish-1", "quiz-1", LABEL, "appropriate"))
    assert _next(campaign) == "assign --qualify"
    run_cli("annotate", "assign", campaign.folder, "--qualify")
    assert _next(campaign) == "assign"


def test_grades_need_no_adjudication_and_rounds_are_named(tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path / "c", reply_units(2), {"rater-1": [3.0, 4.0]}, task="cseval", validators=["v1"])
    assert (campaign_progress(campaign).units["labelled"], _next(campaign)) == (2, "validate")
    campaign.write("rounds/shared.jsonl", [Assignment("rater-1", "re-1", 1)])
    add_answers(campaign, *(Answer("shared", "rater-1", "re-1", aspect, 5.0) for aspect in campaign.aspects))
    assert _next(campaign) == "validate --round main --round shared"
    campaign.write("raters.jsonl", [Rater("rater-1")])
    assert _next(campaign) == "tier --round main --round shared --out FOLDER"


def test_a_queue_goes_on_until_every_unit_is_chosen(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2 ")
    (campaign.folder / "rounds" / "main.jsonl").rename(campaign.folder / "rounds" / "queue-1.jsonl")
    campaign.write("answers.jsonl", [])
    say(campaign, "rater-1", 1, "appropriate", round_name="queue-1")
    assert _next(campaign) == "queue"
