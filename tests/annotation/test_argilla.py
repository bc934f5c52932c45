"""Argilla's shapes, against a schema written from its documentation and the limits that its server states."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fcconan.annotation.campaigns import Campaign
from fcconan.annotation.imports import Imported, import_files
from fcconan.annotation.tools import exchange, task_view
from fcconan.annotation.tools.exchange import Suggestions
from fcconan.errors import InputError
from tests.annotation.handed_out import RATERS, campaign_of

Row = dict[str, Any]
TASKS = ("appropriateness", "multi-aspect", "cseval", "features", "pairwise", "grounded")
FIRST, SECOND, THIRD, FOURTH = "hs-1:cn-1", "hs-1:cn-2", "hs-2:cn-1", "hs-2:cn-2"
USER, OTHER = "00000000-0000-0000-0000-000000000007", "00000000-0000-0000-0000-000000000008"


def mapping(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """The schema of an object without other keys."""
    properties = required | optional
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def text(longest: int = 10_000) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": longest}


NAME = {"type": "string", "pattern": "^(?=.*[a-z0-9])[a-z0-9_-]+$", "maxLength": 200}
OPTION = mapping({"value": text(200), "text": text(500)}, description=text(1000))
RATING = mapping({"value": {"type": "integer", "minimum": 0, "maximum": 10}})
NUMBER_OR_NULL = {"type": ["number", "null"]}
DISTRIBUTION = mapping({"strategy": {"const": "overlap"}, "min_submitted": {"type": "integer", "minimum": 1}})
TEXT_SETTINGS = mapping({"type": {"const": "text"}, "use_markdown": {"type": "boolean"}})
QUESTION_SETTINGS = {
    "oneOf": [
        mapping(
            {"type": {"const": "label_selection"}, "options": {"type": "array", "items": OPTION, "minItems": 2}},
            visible_options={"type": ["integer", "null"], "minimum": 3},
        ),
        mapping(
            {"type": {"const": "rating"}, "options": {"type": "array", "items": RATING, "minItems": 2, "maxItems": 11}}
        ),
        TEXT_SETTINGS,
    ]
}
COMMON = {"name": NAME, "title": text(500), "required": {"type": "boolean"}}
QUESTION = mapping(
    COMMON | {"settings": QUESTION_SETTINGS, "type": {"enum": ["label_selection", "rating", "text"]}},
    description={"type": ["string", "null"], "minLength": 1, "maxLength": 1000},
)
FIELD = mapping(COMMON | {"settings": TEXT_SETTINGS, "type": {"const": "text"}}, description={"type": "null"})
METADATA = mapping(
    {
        "name": NAME,
        "title": text(500),
        "visible_for_annotators": {"type": "boolean"},
        "settings": {
            "oneOf": [
                mapping({"type": {"const": "terms"}, "values": {"type": ["array", "null"]}}),
                mapping({"type": {"const": "integer"}, "min": NUMBER_OR_NULL, "max": NUMBER_OR_NULL}),
            ]
        },
    }
)
SETTINGS = mapping(
    {
        "guidelines": text(),
        "questions": {
            "type": "array",
            "items": QUESTION,
            "minItems": 1,
            "contains": {"properties": {"required": {"const": True}}},
        },
        "fields": {
            "type": "array",
            "items": FIELD,
            "minItems": 1,
            "contains": {"properties": {"required": {"const": True}}},
        },
        "vectors": {"type": "array", "maxItems": 0},
        "metadata": {"type": "array", "items": METADATA},
        "allow_extra_metadata": {"type": "boolean"},
        "distribution": DISTRIBUTION,
        "mapping": {"type": "null"},
    }
)
DATASET = mapping(
    {
        "name": text(200),
        "status": {"enum": ["draft", "ready"]},
        "guidelines": text(),
        "allow_extra_metadata": {"type": "boolean"},
        "distribution": DISTRIBUTION,
    }
)
SUGGESTION = mapping({"value": {"type": ["string", "integer"]}, "score": NUMBER_OR_NULL, "agent": text()})
RECORD = mapping(
    {
        "id": text(),
        "fields": {"type": "object", "additionalProperties": {"type": "string"}},
        "metadata": {"type": "object", "additionalProperties": {"type": ["string", "integer", "number"]}},
        "suggestions": {"type": "object", "additionalProperties": SUGGESTION},
        "responses": {"type": "object", "additionalProperties": {"type": "array"}},
        "vectors": mapping({}),
        "status": {"enum": ["pending", "completed"]},
        "_server_id": {"type": ["string", "null"]},
    }
)


@pytest.fixture
def pairs(tmp_path: Path) -> Campaign:
    return campaign_of("appropriateness", tmp_path / "campaign")


def of_rater(campaign: Campaign, file: str, rater: str = RATERS[0], **options: Any) -> Any:
    return json.loads(exchange.export(campaign, "argilla", **options).files[f"main-{rater}/{file}"])


def flat(campaign: Campaign, path: Path, said: dict[str, dict[str, list[tuple[Any, str, str]]]]) -> Path:
    """Writes what `to_list(flatten=True)` gives: value, user and status by unit and question."""
    rows = []
    for record in of_rater(campaign, "records.json"):
        row = {"id": record["id"], "status": "pending", "_server_id": "x", **record["fields"], **record["metadata"]}
        for name, responses in said.get(record["id"], {}).items():
            row[f"{name}.responses"] = [value for value, _, _ in responses]
            row[f"{name}.responses.users"] = [user for _, user, _ in responses]
            row[f"{name}.responses.status"] = [status for _, _, status in responses]
        rows.append(row)
    keys = {key for row in rows for key in row}
    path.write_text(json.dumps([dict.fromkeys(sorted(keys)) | row for row in rows]))  # all rows have all keys
    return path


def taken(campaign: Campaign, path: Path, **options: Any) -> Imported:
    return import_files(campaign, [exchange.read_file(path, campaign)], **options)[0]


@pytest.mark.parametrize("task", TASKS)
def test_what_is_exported_has_the_documented_shape(tmp_path: Path, task: str) -> None:
    campaign = campaign_of(task, tmp_path / "campaign")
    values: dict[str, str | float] = {
        question.name: question.options[0][0] if question.options else question.high
        for question in task_view.questions(campaign, "main")
    }
    suggested = Suggestions("judge", dict.fromkeys(campaign.units(), values), 0, 0)
    for rater in RATERS:
        settings = of_rater(campaign, ".argilla/settings.json", rater, suggestions=suggested)
        records = of_rater(campaign, "records.json", rater, suggestions=suggested)
        jsonschema.validate(of_rater(campaign, ".argilla/dataset.json", rater), DATASET)
        jsonschema.validate(settings, SETTINGS)
        jsonschema.validate(records, {"type": "array", "items": RECORD})
        required = {field["name"] for field in settings["fields"] if field["required"]}
        assert all(record["fields"][name] for record in records for name in required)
        for record in records:
            assert list(record["fields"]) == [field["name"] for field in settings["fields"]]
            assert list(record["metadata"]) == [each["name"] for each in settings["metadata"]]
            assert set(record["suggestions"]) == set(campaign.aspects)


def test_labels_are_label_questions_whole_grades_ratings_and_others_texts(tmp_path: Path) -> None:
    kinds = {}
    for task in TASKS:
        settings = of_rater(campaign_of(task, tmp_path / task), ".argilla/settings.json")
        kinds[task] = [question["settings"]["type"] for question in settings["questions"]]
    assert kinds["appropriateness"] == kinds["pairwise"] == ["label_selection", "text"]
    assert kinds["cseval"] == ["rating"] * 4 + ["text"]
    assert kinds["features"] == kinds["multi-aspect"] == ["rating"] * 6 + ["text"]
    assert kinds["grounded"] == ["text"] * 6
    options = of_rater(campaign_of("features", tmp_path / "again"), ".argilla/settings.json")["questions"][0][
        "settings"
    ]
    assert options["options"] == [{"value": grade} for grade in range(6)]


def test_what_is_too_long_for_the_server_is_left_to_the_page(pairs: Campaign) -> None:
    (pairs.folder / "guidelines.md").write_text("x" * 10_001)
    settings = of_rater(pairs, ".argilla/settings.json")
    assert settings["guidelines"].startswith("The guidelines are too long for this place: please read guidelines.html")
    labels = [label.model_copy(update={"meaning": "long " * 90}) for label in pairs.task.labels]
    pairs.task = pairs.task.model_copy(update={"labels": labels})
    settings = of_rater(pairs, ".argilla/settings.json")
    assert settings["questions"][0]["description"] == pairs.task.question
    jsonschema.validate(settings, SETTINGS)


def test_records_with_the_status_of_every_answer(pairs: Campaign, tmp_path: Path) -> None:
    said = {
        FIRST: {"label": [("appropriate", USER, "submitted")], "comment": [(" So. ", USER, "submitted")]},
        SECOND: {"label": [("not_sure", USER, "discarded")]},
        THIRD: {"label": [("not_sure", USER, "draft")]},
    }
    found = taken(pairs, flat(pairs, tmp_path / "records.json", said))
    assert (found.tool, found.units, found.skipped, found.new) == ("argilla", 2, 1, 2)
    assert [(each.unit_id, each.value, each.comment) for each in pairs.history()] == [
        (FIRST, "appropriate", "So."),
        (SECOND, None, None),
    ]


def test_records_with_a_status_of_their_own_are_refused(pairs: Campaign, tmp_path: Path) -> None:
    path = tmp_path / "records.json"  # as `to_disk` writes them
    path.write_text(json.dumps(of_rater(pairs, "records.json")))
    with pytest.raises(InputError, match="record 1: its answers have no status: export it wit"):
        taken(pairs, path)


def test_users_are_named(pairs: Campaign, tmp_path: Path) -> None:
    said = {FIRST: {"label": [("appropriate", USER, "submitted"), ("not_sure", OTHER, "submitted")]}}
    path = flat(pairs, tmp_path / "records.json", said)
    with pytest.raises(InputError, match="users and raters do not match one to one"):
        taken(pairs, path)
    with pytest.raises(InputError, match="record 1: it is assigned to ombrey-1, but tessok-2 answered it"):
        taken(pairs, path, people={USER: "ombrey-1", OTHER: "tessok-2"})
    with pytest.raises(InputError, match="record 1: hs-1:cn-1 is in the file already, in record 1"):
        taken(pairs, path, people={USER: "ombrey-1", OTHER: "ombrey-1"})
    path = flat(pairs, tmp_path / "records.json", {FIRST: {"label": [("appropriate", USER, "submitted")]}})
    assert taken(pairs, path, people={USER: "ombrey-1"}).raters == ("ombrey-1",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[0].pop("unit_id"), "record 1: no unit_id in its metadata: import files"),
        (
            lambda rows: rows[0].update(counter_narrative="x"),
            "record 1: counter_narrative differs from the exported text",
        ),
        (lambda rows: rows[0].update({"label.responses": ["fine"]}), 'record 1: label is "fine", expected one of'),
        (lambda rows: rows[0].update({"label.responses.users": []}), "record 1: its responses cannot be read"),
        (
            lambda rows: rows[0].update({"label.responses.status": [None]}),
            "has the status None",
        ),
        (lambda rows: rows[0].update({"label.responses.status": ["seen"]}), "label is there twice, or has the status"),
        (
            lambda rows: rows[0].update(
                {
                    f"label.responses{end}": [each] * 2
                    for end, each in (("", "not_sure"), (".users", USER), (".status", "draft"))
                }
            ),
            "label is there twice",
        ),
        (
            lambda rows: rows[0].update(label="appropriate"),
            r"record 1: label has no status: export JSON, not JSON-MIN",
        ),
        (lambda rows: rows[0].update({"tone.responses": ["x"]}), "unknown question tone"),
    ],
)
def test_what_is_wrong_is_refused(
    pairs: Campaign, tmp_path: Path, change: Callable[[list[Row]], object], message: str
) -> None:
    path = flat(pairs, tmp_path / "r.json", {FIRST: {"label": [("appropriate", USER, "submitted")]}})
    rows = json.loads(path.read_text())
    change(rows)
    path.write_text(json.dumps(rows))
    with pytest.raises(InputError, match=message):
        taken(pairs, path)
    assert not pairs.history()
