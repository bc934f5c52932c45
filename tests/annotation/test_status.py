"""`annotate status`: returned and open units, and the next command, from an empty campaign to its release."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fcconan import InputError, assign, campaign_status
from fcconan.annotation import Answer, Assignment, Campaign, Decision, Rater, Unit, create, next_step
from tests.annotation.answered import add_answers, campaign_of, labelled, pair_units, reply_units, say
from tests.annotation.handed_out import campaign_of as handed_out
from tests.conftest import RunCli

VERDICT = "agree_or_disagree"


def following(campaign: Campaign) -> str:
    """The next command without the program and the folder, and its alternative."""
    command, _, other = next_step(campaign).removeprefix("Next: ").partition(" Or continue without open units: ")
    folder = f" {campaign.folder}"
    assert folder in command
    steps = [command.partition(" (")[0], *[other] * bool(other)]
    return " | ".join(step.removeprefix("fcconan annotate ").replace(folder, "") for step in steps)


def reason(campaign: Campaign) -> str:
    return next_step(campaign).partition(" (")[2].partition(").")[0]


def units(campaign: Campaign) -> dict[str, int]:
    return dict(campaign_status(campaign.folder).to_frame("units").itertuples(index=False))


def test_returned_and_open_units_are_counted_by_round_and_rater(tmp_path: Path, run_cli: RunCli) -> None:
    """Of three pairs the first rater labelled one, skipped one and has one to do; the second has labelled both."""
    campaign = labelled(tmp_path / "c", "2-?", "20 ")
    columns = ["round", "rater", "state", "assigned", "returned", "skipped", "open"]
    rows = campaign_status(campaign.folder).to_frame()
    assert (list(rows), rows.values.tolist()) == (
        columns,
        [["main", "rater-1", "active", 3, 2, 1, 1], ["main", "rater-2", "active", 2, 2, 0, 0]],
    )
    assert units(campaign) == {"all": 3, "assigned": 3, "answered": 2, "labelled": 0, "discarded": 0, "confirmed": 0}
    done = run_cli("annotate", "status", campaign.folder)
    assert (
        f"Next: fcconan annotate import {campaign.folder} FILES (1 unit of the round main is open: rater-1 (1)). "
        f"Or continue without open units: fcconan annotate adjudicate {campaign.folder}\n"
    ) in done.stdout
    campaign.write("rounds/second.jsonl", [Assignment("rater-1", "hs-1:cn-1", 1)])
    pattern: Any = "sec*"
    assert campaign_status(campaign.folder, round=pattern).to_frame()["round"].tolist() == ["second"]
    with pytest.raises(InputError, match="no round 'third', expected one of main, second"):
        campaign_status(campaign.folder, round=("third",))


def test_gold_accuracy_and_median_seconds_of_raters(tmp_path: Path) -> None:
    pairs = [*pair_units(3), Unit("hs-4:cn-4", "anchor", hs_id="hs-4", cn_id="cn-4", known={"label": "appropriate"})]
    said = {"rater-1": ["appropriate"] * 4, "rater-2": ["not_appropriate"] * 4}
    assert "answers" not in campaign_status(labelled(tmp_path / "plain", "2").folder).tables
    seconds = {"rater-1": [1.0, 2.0, 9.0, 4.0], "rater-2": [5.0, 5.0, 5.0, 5.0]}
    campaign = campaign_of(tmp_path / "c", pairs, said, seconds=seconds)
    found = campaign_status(campaign.folder).to_frame("answers")
    columns = ["rater", "n", "n_gold", "gold_accuracy", "median_seconds"]
    assert found[columns].values.tolist() == [["rater-1", 4, 1, 1.0, 3.0], ["rater-2", 4, 1, 0.0, 5.0]]


def test_the_next_command_leads_from_an_empty_campaign_to_its_release(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = handed_out("appropriateness", tmp_path / "c")
    (campaign.folder / "rounds" / "main.jsonl").unlink()
    raters = [*campaign.raters().values()]
    campaign.write("raters.csv", [])
    assert (following(campaign), reason(campaign)) == ("assign", "after adding annotators to its raters.csv")
    campaign.write("raters.csv", raters)
    assert (following(campaign), reason(campaign)) == ("assign", "nothing is assigned")
    assign(campaign.folder)
    assert following(campaign) == "export --out FOLDER"
    of = {each.unit_id: each.rater for each in campaign.assignments()}
    first, *others = of
    add_answers(campaign, Answer("main", of[first], first, "label", "appropriate"))
    assert following(campaign) == "import FILES | adjudicate"
    people = [replace(each, state="left") if each.rater == "velmari-3" else each for each in raters]
    campaign.write("raters.csv", people)
    assert (following(campaign), reason(campaign)) == ("assign", "velmari-3 left open units in the round main")
    assign(campaign.folder)
    of = {each.unit_id: each.rater for each in campaign.assignments() if not each.withdrawn}
    add_answers(campaign, *(Answer("main", of[each], each, "label", "not_appropriate") for each in others))
    assert following(campaign) == "adjudicate"
    run_cli("annotate", "adjudicate", campaign.folder)
    assert following(campaign) == "release --out FOLDER"  # there is no validator
    assert reason(campaign) == "all answers are in, and nothing is validated"
    campaign.write("raters.csv", [*people, Rater("ostrun-1", "validator")])
    assert following(campaign) == "validate"
    run_cli("annotate", "validate", campaign.folder)
    assert following(campaign) == "export --round validation --out FOLDER"
    add_answers(campaign, *(Answer("validation", "ostrun-1", each, VERDICT, "agree") for each in of))
    assert following(campaign) == "release --out FOLDER"
    assert units(campaign)["confirmed"] == 4
    changed = campaign.decisions() | {first: Decision(first, "not_appropriate", "chair", "person")}
    campaign.write("decisions.jsonl", changed.values())
    assert following(campaign) == "validate --extend"
    add_answers(campaign, Answer("main", of[others[0]], others[0], "label", "appropriate"))
    assert (following(campaign), reason(campaign)) == ("adjudicate", "the votes on 1 label have changed")


def test_open_units_have_an_alternative_where_the_campaign_can_continue(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = labelled(tmp_path / "c", "2-?", "20 ", validators=["v1"])
    run_cli("annotate", "adjudicate", campaign.folder)
    assert following(campaign) == "import FILES | validate"
    run_cli("annotate", "validate", campaign.folder)
    say(campaign, "rater-1", 3, None)
    run_cli("annotate", "adjudicate", campaign.folder)
    assert following(campaign) == "export --round validation --out FOLDER"
    assert reason(campaign) == "2 units of the round validation need answers"
    add_answers(campaign, Answer("validation", "v1", "hs-1:cn-1", VERDICT, "agree"))
    assert following(campaign) == "import FILES | release --out FOLDER"


def test_the_qualification_test_and_skipped_rounds_have_no_alternative(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "-?")
    assert following(campaign) == "import FILES"
    (campaign.folder / "rounds" / "main.jsonl").rename(campaign.folder / "rounds" / "qualification.jsonl")
    campaign.write("answers.jsonl", [])
    say(campaign, "rater-1", 1, "appropriate", round_name="qualification")
    assert following(campaign) == "import FILES"


def test_invited_raters_take_the_qualification_test_first(tmp_path: Path) -> None:
    made = handed_out("appropriateness", tmp_path / "handed-out")
    pair = next(iter(made.units().values()))
    quiz = Unit("quiz-1", "quiz", hs_id=pair.hs_id, cn_id=pair.cn_id, known={"label": "appropriate"})
    texts = {"hs.jsonl": [{"hs_id": "hs-1", "text": "x"}], "cn.jsonl": [{"cn_id": "cn-1", "text": "y"}]}
    campaign = create(tmp_path / "c", made.settings, made.task, [quiz, pair], texts)
    campaign.write("raters.csv", [Rater("quillish-1", state="invited")])
    assert following(campaign) == "assign --round qualification"
    assign(campaign.folder, round="qualification")
    assert following(campaign) == "export --round qualification --out FOLDER"
    add_answers(campaign, Answer("qualification", "quillish-1", "quiz-1", "label", "appropriate"))
    assert following(campaign) == "assign --qualify"
    assign(campaign.folder, qualify=True)
    assert following(campaign) == "assign"


def test_grades_need_no_adjudication(tmp_path: Path) -> None:
    campaign = campaign_of(tmp_path / "c", reply_units(2), {"rater-1": [3.0, 4.0]}, task="cseval", validators=["v1"])
    assert (units(campaign)["labelled"], following(campaign)) == (2, "validate")
    campaign.write("rounds/shared.jsonl", [Assignment("rater-1", "re-1", 1)])
    assert following(campaign) == "export --round shared --out FOLDER"
    add_answers(campaign, *(Answer("shared", "rater-1", "re-1", aspect, 5.0) for aspect in campaign.aspects))
    campaign.write("raters.csv", [Rater("rater-1")])
    assert following(campaign) == "release --out FOLDER"


def test_a_queue_goes_on_until_every_unit_is_chosen(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2 ")
    (campaign.folder / "rounds" / "main.jsonl").rename(campaign.folder / "rounds" / "queue-1.jsonl")
    campaign.write("answers.jsonl", [])
    say(campaign, "rater-1", 1, "appropriate", round_name="queue-1")
    assert following(campaign) == "queue"
