import json
from pathlib import Path

import pytest
from fcconan.annotation.qualification import assign_qualification, join, leave, marked, qualify

from fcconan.annotation.campaigns import Answer, Campaign, Rater, Settings, Unit, create
from fcconan.errors import InputError
from fcconan.judging import load_task
from tests.conftest import RunCli

ITEM = Unit("hs-1:cn-1", hs_id="hs-1", cn_id="cn-1")
QUIZ = [
    Unit(f"hs-q:cn-{number}", "quiz", hs_id="hs-q", cn_id=f"cn-{number}", known={"label": label})
    for number, label in enumerate(["appropriate", "not_appropriate"] * 5)
]


def started(folder: Path, *invited: str, units: list[Unit] | None = None, task: str = "appropriateness") -> Campaign:
    campaign = create(
        folder / "velmari", Settings(name="velmari"), load_task(task), [ITEM, *(QUIZ if units is None else units)], {}
    )
    campaign.write("raters.csv", [Rater(name, state="invited") for name in invited])
    return campaign


def answered(campaign: Campaign, rater: str, right: int, wrong: int = 0, skipped: int = 0) -> None:
    labels = ["appropriate", "not_appropriate"]
    answers: list[Answer] = []
    for unit in QUIZ[: right + wrong + skipped]:
        assert unit.known is not None
        true = unit.known["label"]
        value = (
            true if len(answers) < right else labels[1 - labels.index(true)] if len(answers) < right + wrong else None
        )
        answers.append(Answer("qualification", rater, unit.unit_id, "label", value))
    campaign.write("answers.jsonl", [*campaign.history(), *answers])


def test_the_quiz_goes_to_who_is_invited_and_to_who_is_invited_later(tmp_path: Path) -> None:
    campaign = started(tmp_path, "rater-1", "rater-2")
    campaign.write("raters.csv", [*campaign.raters().values(), Rater("rater-3")])
    first = assign_qualification(campaign, session_size=4)
    assert {each.rater for each in first} == {"rater-1", "rater-2"}
    theirs = [each for each in first if each.rater == "rater-1"]
    assert {each.unit_id for each in theirs} == {unit.unit_id for unit in QUIZ}
    assert [each.session for each in theirs] == [1] * 4 + [2] * 3 + [3] * 3
    assert [each.unit_id for each in theirs] != [each.unit_id for each in first if each.rater == "rater-2"]
    campaign.write("raters.csv", [*campaign.raters().values(), Rater("rater-4", state="invited")])
    later = assign_qualification(campaign)
    assert later[:20] == first
    assert {each.rater for each in later[20:]} == {"rater-4"}
    assert assign_qualification(campaign) == later == campaign.assignments("qualification")


def test_without_a_quiz_or_anybody_invited_there_is_nothing_to_assign(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no qualification test: give one to"):
        assign_qualification(started(tmp_path, "rater-1", units=[]))
    with pytest.raises(InputError, match="has no invited rater"):
        assign_qualification(started(tmp_path / "other"))


def test_the_pass_mark_decides_when_everything_is_answered(tmp_path: Path) -> None:
    campaign = started(tmp_path, "rater-1", "rater-2", "rater-3", "rater-4")
    assign_qualification(campaign)
    answered(campaign, "rater-1", 8, wrong=2)
    answered(campaign, "rater-2", 7, wrong=3)
    answered(campaign, "rater-3", 7, skipped=3)
    answered(campaign, "rater-4", 9)
    results = qualify(campaign, pass_mark=0.8)
    assert [(each.rater, each.right, each.known, each.open, each.state) for each in results] == [
        ("rater-1", 8, 10, 0, "active"),
        ("rater-2", 7, 10, 0, "failed"),
        ("rater-3", 7, 10, 0, "failed"),  # what was skipped is not right
        ("rater-4", 9, 10, 1, "invited"),
    ]
    assert [each.share for each in results] == [0.8, 0.7, 0.7, 0.9]
    assert [each.state for each in campaign.raters().values()] == ["active", "failed", "failed", "invited"]
    # What was decided stays decided.
    assert [each.state for each in qualify(campaign, pass_mark=0.1)] == ["active", "failed", "failed", "invited"]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.6, 0.7, 0.9, 1.0])
def test_exactly_the_pass_mark_passes(tmp_path: Path, share: float) -> None:
    campaign = started(tmp_path, "rater-1")
    assign_qualification(campaign)
    answered(campaign, "rater-1", round(10 * share), wrong=10 - round(10 * share))
    assert qualify(campaign, pass_mark=share)[0].state == "active"


def test_grades_may_be_near_the_right_one_if_that_is_allowed() -> None:
    unit = Unit("reply-1", "quiz", reply_a="reply-1", known={"relevance": 4, "coherence": 2})
    answers = {
        ("rater-1", "reply-1", aspect): Answer("qualification", "rater-1", "reply-1", aspect, value)
        for aspect, value in {"relevance": 5, "coherence": 2, "aggressiveness": 1}.items()
    }
    assert marked("rater-1", [unit], answers) == (1, 2, 0)
    assert marked("rater-1", [unit], answers, within=1) == (2, 2, 0)
    assert marked("rater-2", [unit], answers, within=1) == (0, 2, 2)


def test_a_tolerance_of_labels_is_refused(tmp_path: Path) -> None:
    campaign = started(tmp_path, "rater-1")
    assign_qualification(campaign)
    with pytest.raises(InputError, match="--tolerance is 1: give it for grades only"):
        qualify(campaign, within=1.0)


def test_a_quiz_without_a_right_answer_decides_nothing(tmp_path: Path) -> None:
    campaign = started(tmp_path, "rater-1", units=[Unit("hs-q:cn-1", "quiz", hs_id="hs-q", cn_id="cn-1")])
    assign_qualification(campaign)
    with pytest.raises(InputError, match=r"the qualification test of .* has no known answers"):
        qualify(campaign)


def test_raters_join_leave_and_come_back() -> None:
    raters = join({}, ["a-1", "a-2"], role="annotator")
    raters = join(raters, ["v-1"], role="validator", invited=True)
    assert list(raters.values()) == [Rater("a-1"), Rater("a-2"), Rater("v-1", "validator", "invited")]
    raters = leave(raters, ["a-1"])
    assert [each.state for each in raters.values()] == ["left", "active", "invited"]
    assert join(raters, ["a-1", "a-2"], role="annotator")["a-1"] == Rater("a-1")
    failed = {"a-1": Rater("a-1", state="failed")}
    assert leave(failed, ["a-1"]) == failed


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["somebody@example.org"], "cannot be a pseudonym"),
        (["../a"], "cannot be a pseudonym"),
        ([""], "cannot be a pseudonym"),
        (["A-1"], "A-1 and a-1 differ by capitals only"),
        (["v-1"], "v-1 is already a rater with the role validator"),
        (["a-2"], "a-2 failed the qualification test"),
    ],
)
def test_who_cannot_join(names: list[str], message: str) -> None:
    raters = {"a-1": Rater("a-1"), "a-2": Rater("a-2", state="failed"), "v-1": Rater("v-1", "validator")}
    with pytest.raises(InputError, match=message):
        join(raters, names, role="annotator")
    with pytest.raises(InputError, match="unknown rater 'b-1', expected one of a-1, a-2, v-1"):
        leave(raters, ["b-1"])


def test_the_commands_from_the_invitation_to_the_work(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = started(tmp_path)
    folder = campaign.folder
    joined = run_cli("annotate", "raters", folder, "--add-annotators", 2, "--invited", "--add-validators", 1)
    assert joined.returncode == 0, joined.stderr
    assert "3 raters of velmari, 3 changed" in joined.stdout
    assert "3 raters of velmari, 0 changed" in run_cli("annotate", "raters", folder, "--add-annotators", 2).stdout
    assert [(each.role, each.state) for each in campaign.raters().values()] == [
        ("annotator", "invited"),
        ("annotator", "invited"),
        ("validator", "active"),
    ]
    early = run_cli("annotate", "assign", folder)
    assert (early.returncode, "has no active annotator" in early.stderr) == (2, True)
    quiz = run_cli("annotate", "assign", folder, "--round", "qualification")
    assert "10 units, 20 judgements: 10 by 2." in quiz.stdout, quiz.stderr
    answered(campaign, "annotator-1", 9, wrong=1)
    answered(campaign, "annotator-2", 1, wrong=9)
    done = run_cli("annotate", "assign", folder, "--qualify", "--pass-mark", 0.8, "--json", tmp_path / "quiz.json")
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "quiz.json").read_text())
    assert [(row["rater"], row["share"], row["state"]) for row in written["raters"]] == [
        ("annotator-1", 0.9, "active"),
        ("annotator-2", 0.1, "failed"),
    ]
    assert run_cli("annotate", "assign", folder).returncode == 0
    assert [(each.rater, each.unit_id) for each in campaign.assignments()] == [("annotator-1", "hs-1:cn-1")]
