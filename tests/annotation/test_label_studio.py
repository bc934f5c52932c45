import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcconan.annotation import Campaign, Imported, import_files
from fcconan.annotation.tools import exchange
from fcconan.annotation.tools.task_view import Question
from fcconan.errors import InputError
from tests.annotation.handed_out import RATERS, REPLIES, as_result, campaign_of

Row = dict[str, Any]
FIRST, SECOND, THIRD, FOURTH = "hs-1:cn-1", "hs-1:cn-2", "hs-2:cn-1", "hs-2:cn-2"


@pytest.fixture
def pairs(tmp_path: Path) -> Campaign:
    return campaign_of("appropriateness", tmp_path / "campaign")


def tasks_of(campaign: Campaign, rater: str = RATERS[0], **options: Any) -> list[Row]:
    export = exchange.export(campaign, "label-studio", **options)
    tasks: list[Row] = json.loads(export.files[export.handed[rater][0]])
    return tasks


def returned(campaign: Campaign, path: Path, said: dict[str, list[Row]], rater: str = RATERS[0]) -> Path:
    """Writes what the tool exports: the tasks with ids and annotations."""
    tasks = [
        {"id": number, **task, "annotations": said.get(task["data"]["unit_id"], []), "predictions": []}
        for number, task in enumerate(tasks_of(campaign, rater), start=41)
    ]
    path.write_text(json.dumps(tasks), "utf-8")
    return path


def annotation(*result: Row, user: Any = 1, cancelled: bool = False, **more: Any) -> Row:
    return {
        "id": 7,
        "completed_by": user,
        "result": list(result),
        "was_cancelled": cancelled,
        "lead_time": 3.25,
        **more,
    }


def chosen(name: str, about: str = "counter_narrative") -> Row:
    return {"from_name": "label", "to_name": about, "type": "choices", "value": {"choices": [name]}, "id": "x"}


def taken(campaign: Campaign, path: Path, **options: Any) -> Imported:
    return import_files(campaign, [exchange.read_file(path, campaign)], **options)[0]


def elements(campaign: Campaign, tag: str) -> list[dict[str, str]]:
    config = exchange.export(campaign, "label-studio").files["config.xml"]
    return [each.attrib for each in ET.fromstring(config).iter(tag)]


def test_labels_are_choices(pairs: Campaign) -> None:
    assert elements(pairs, "Text") == [
        {"name": "hate_speech", "value": "$hate_speech"},
        {"name": "counter_narrative", "value": "$counter_narrative"},
    ]
    (choices,) = elements(pairs, "Choices")
    assert (choices["name"], choices["toName"], choices["required"]) == ("label", "counter_narrative", "true")
    assert [each["value"] for each in elements(pairs, "Choice")] == ["not_appropriate", "not_sure", "appropriate"]
    assert elements(pairs, "Choice")[1]["hint"] == pairs.task.labels[1].meaning
    assert [each["name"] for each in elements(pairs, "TextArea")] == ["comment"]


def test_a_comparison_asks_for_a_b_or_tie(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    assert [each["value"] for each in elements(campaign, "Choice")] == ["a", "b", "tie"]
    assert [each["name"] for each in elements(campaign, "Text")] == ["hate_speech", "reply_a", "reply_b"]


def test_grades_are_stars_from_one_and_numbers_otherwise(tmp_path: Path) -> None:
    cseval = campaign_of("cseval", tmp_path / "cseval")
    assert [(each["name"], each["maxRating"]) for each in elements(cseval, "Rating")] == [
        ("relevance", "5"),
        ("coherence", "5"),
        ("aggressiveness", "5"),
        ("suitableness", "3"),
    ]
    assert not elements(cseval, "Number")
    features = campaign_of("features", tmp_path / "features")
    number = elements(features, "Number")[0]
    assert (number["name"], number["min"], number["max"], number["step"]) == ("relatedness", "0", "5", "1")
    assert [each["name"] for each in elements(features, "Rating")] == ["overall"]
    grounded = campaign_of("grounded", tmp_path / "grounded")
    assert {(each["min"], each["max"], each["step"]) for each in elements(grounded, "Number")} == {("1", "5", "0.01")}
    meanings = [each["value"] for each in elements(cseval, "Header")]
    assert sum(value.startswith("1: ") for value in meanings) == 4


def test_no_text_of_the_configuration_is_read_as_a_variable(tmp_path: Path) -> None:
    campaign = campaign_of("appropriateness", tmp_path / "campaign")
    campaign.task = campaign.task.model_copy(update={"question": 'Worth $5 & more, "truly" <so>?'})
    values = [each["value"] for each in elements(campaign, "Header")]
    assert 'Worth \uff045 & more, "truly" <so>?' in values
    assert not any("$" in value for value in values)


def test_the_project_carries_configuration_and_guidelines(pairs: Campaign) -> None:
    files = exchange.export(pairs, "label-studio").files
    assert sorted(files) == [
        "config.xml",
        "guidelines.html",
        "guidelines.md",
        "main-ombrey-1.json",
        "main-tessok-2.json",
        "project.json",
    ]
    project = json.loads(files["project.json"])
    assert project["label_config"] == files["config.xml"]
    assert project["title"] == "tarn-pairs main"
    assert project["expert_instruction"].startswith("<h1>Guidelines: is this reply appropriate for this message?</h1>")
    assert (project["show_skip_button"], project["maximum_annotations"]) == (True, 1)


def test_tasks_are_in_the_raters_order(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    turned = tasks_of(campaign, RATERS[1])
    assert [task["data"]["unit_id"] for task in turned] == ["re-1:re-3", "re-2:re-3", "re-1:re-2"]
    assert set(turned[2]["data"]) == {
        *("campaign", "round", "rater", "unit_id", "text_sha", "session", "hate_speech", "reply_a", "reply_b")
    }
    assert turned[2]["data"]["reply_a"] == REPLIES["re-2"][2]


def test_an_export_is_read(pairs: Campaign, tmp_path: Path) -> None:
    remark = {
        "from_name": "comment",
        "to_name": "counter_narrative",
        "type": "textarea",
        "value": {"text": ["So", "so."]},
    }
    said = {
        FIRST: [annotation(chosen("appropriate"), remark, remark | {"value": {"text": "So!"}})],
        SECOND: [annotation(cancelled=True)],
        THIRD: [annotation(chosen("not_sure"), cancelled=True), annotation(chosen("not_appropriate"))],
    }
    found = taken(pairs, returned(pairs, tmp_path / "export.json", said))
    assert (found.tool, found.units, found.skipped, found.new) == ("label-studio", 3, 1, 3)
    assert [(each.unit_id, each.value, each.seconds, each.comment) for each in pairs.history()] == [
        (FIRST, "appropriate", 3.25, "So\nso.\nSo!"),
        (SECOND, None, 3.25, None),
        (THIRD, "not_appropriate", 3.25, None),
    ]


def test_grades_of_an_export_are_read(tmp_path: Path) -> None:
    campaign = campaign_of("grounded", tmp_path / "campaign")
    questions = [Question(name, "", "", low=1, high=5, decimals=2) for name in campaign.aspects]
    result = [as_result(question, 2.25, "reply") for question in questions]
    taken(campaign, returned(campaign, tmp_path / "e.json", {"re-1": [annotation(*result)]}))
    assert [(each.aspect, each.value) for each in campaign.history()] == [(name, 2.25) for name in campaign.aspects]
    stars = campaign_of("cseval", tmp_path / "stars")
    result = [
        {"from_name": name, "to_name": "reply", "type": "rating", "value": {"rating": 3}} for name in stars.aspects
    ]
    taken(stars, returned(stars, tmp_path / "e.json", {"re-1": [annotation(*result)]}))
    assert [each.value for each in stars.history()] == [3, 3, 3, 3]


def test_a_verdict_on_replies_in_the_other_order_is_turned(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    said = {"re-1:re-2": [annotation(chosen("a", "reply_b"))]}
    taken(campaign, returned(campaign, tmp_path / "e.json", said, RATERS[1]))
    assert [each.value for each in campaign.history()] == ["b"]


@pytest.mark.parametrize("user", [5, {"id": 5, "email": "ada@example.org"}, {"id": 6, "email": "tarn@example.org"}])
def test_users_are_named_by_id_or_address(pairs: Campaign, tmp_path: Path, user: Any) -> None:
    path = returned(pairs, tmp_path / "e.json", {FIRST: [annotation(chosen("appropriate"), user=user)]})
    people = {"5": "ombrey-1", "tarn@example.org": "ombrey-1", "8": "tessok-2"}
    assert taken(pairs, path, people=people).raters == ("ombrey-1",)


def test_answers_by_somebody_else_are_refused(pairs: Campaign, tmp_path: Path) -> None:
    said = {FIRST: [annotation(chosen("appropriate"), user=5)], SECOND: [annotation(chosen("appropriate"), user=8)]}
    path = returned(pairs, tmp_path / "e.json", said)
    with pytest.raises(InputError, match="users and raters do not match one to one: give --user-map FILE"):
        taken(pairs, path)
    with pytest.raises(InputError, match="task 42, annotation 7: it is assigned to ombrey-1, but tessok-2 answered it"):
        taken(pairs, path, people={"5": "ombrey-1", "8": "tessok-2"})
    with pytest.raises(InputError, match="task 42, annotation 7: the user who answered it is not in --user-map"):
        taken(pairs, path, people={"5": "ombrey-1"})


def test_one_user_is_not_two_raters(pairs: Campaign, tmp_path: Path) -> None:
    both = []
    for rater in RATERS:
        said = {FIRST: [annotation(chosen("appropriate"), user=5)]}
        both += json.loads(returned(pairs, tmp_path / "e.json", said, rater).read_text())
    (tmp_path / "both.json").write_text(json.dumps(both))
    with pytest.raises(InputError, match="users and raters do not match one to one"):
        taken(pairs, tmp_path / "both.json")


def test_two_answers_of_one_user_to_a_task_are_refused(pairs: Campaign, tmp_path: Path) -> None:
    said = {FIRST: [annotation(chosen("appropriate")), annotation(chosen("not_sure"), id=8)]}
    path = returned(pairs, tmp_path / "e.json", said)
    with pytest.raises(
        InputError, match="task 41, annotation 8: hs-1:cn-1 is in the file already, in task 41, annotation 7"
    ):
        taken(pairs, path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda tasks: tasks[0].pop("annotations"),
            r"task 41: no `data` or `annotations`: export the project as JSON \(",
        ),
        (lambda tasks: tasks[0]["annotations"].append(None), "task 41: no `data` or `annotations`"),
        (
            lambda tasks: tasks[0]["annotations"][0]["result"].append(chosen("not_sure")),
            "task 41, annotation 7: its result cannot be read .*two answers to label",
        ),
        (
            lambda tasks: tasks[0]["annotations"][0]["result"].extend(
                chosen("not_sure") | {"from_name": name} for name in ("tone", None)
            ),
            "task 41, annotation 7: unknown question 'None'",
        ),
        (lambda tasks: tasks[0]["data"].pop("rater"), "task 41: no rater in its data: import files"),
        (
            lambda tasks: tasks[1]["data"].update(hate_speech="x"),
            "task 42: hate_speech differs from the exported text",
        ),
        (lambda tasks: tasks[1]["data"].update(unit_id="x"), "task 42: 'x' was not assigned to"),
        (
            lambda tasks: tasks[0]["annotations"][0]["result"][0].pop("value"),
            "task 41, annotation 7: its result cannot be",
        ),
        (
            lambda tasks: tasks[0]["annotations"][0]["result"][0]["value"]["choices"].append("not_sure"),
            r'task 41, annotation 7: label is \["appropriate", "not_sure"\], expected one of',
        ),
        (
            lambda tasks: tasks[0]["annotations"][0]["result"][0].update(from_name="tone"),
            "task 41, annotation 7: unknown question 'tone'",
        ),
    ],
)
def test_what_is_wrong_is_refused(
    pairs: Campaign, tmp_path: Path, change: Callable[[list[Row]], object], message: str
) -> None:
    path = returned(pairs, tmp_path / "e.json", {FIRST: [annotation(chosen("appropriate"))]})
    tasks = json.loads(path.read_text())
    change(tasks)
    path.write_text(json.dumps(tasks))
    with pytest.raises(InputError, match=message):
        taken(pairs, path)
    assert not pairs.history()


def test_a_half_written_export_is_refused(pairs: Campaign, tmp_path: Path) -> None:
    path = returned(pairs, tmp_path / "e.json", {FIRST: [annotation(chosen("appropriate"))]})
    path.write_text(path.read_text()[:-40])
    with pytest.raises(
        InputError, match=r"e\.json: not JSON .* the file was cut off or edited by hand; export it from the tool"
    ):
        taken(pairs, path)
