"""`annotate export`: sheets, Label Studio's projects, and guidelines."""

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from fcconan import InputError, export_sheets, import_answers
from fcconan.annotation import VALIDATION, Assignment, Campaign
from tests.annotation.handed_out import CN, HS, RATERS, REPLIES, campaign_of, withdraw
from tests.conftest import RunCli

Row = dict[str, Any]
ROOT = Path(__file__).parents[2]
TASKS = ("appropriateness", "multi-aspect", "cseval", "features", "pairwise", "grounded")


@pytest.fixture
def pairs(tmp_path: Path) -> Campaign:
    return campaign_of("appropriateness", tmp_path / "campaign")


def exported(campaign: Campaign, **options: Any) -> dict[str, str]:
    """The files of an export by name."""
    out = campaign.folder.with_name(f"{campaign.folder.name}-out")
    export_sheets(campaign.folder, out=out, **options)
    return {path.name: path.read_bytes().decode() for path in out.iterdir()}


def sheet(campaign: Campaign, rater: str = RATERS[0], *, round: str = "main", **options: Any) -> list[Row]:
    text = exported(campaign, round=round, **options)[f"{round}-{rater}.csv"]
    return list(csv.DictReader(text.removeprefix("\ufeff").splitlines(keepends=True)))


def studio(campaign: Campaign, tag: str) -> list[dict[str, str]]:
    config = exported(campaign, tool="label-studio")["config.xml"]
    return [each.attrib for each in ET.fromstring(config).iter(tag)]


def write_lines(campaign: Campaign, name: str, *rows: Row) -> None:
    (campaign.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_sheet_of_pairs(pairs: Campaign) -> None:
    first = sheet(pairs)
    assert list(first[0]) == (
        "campaign round rater unit_id text_sha session hate_speech counter_narrative label comment skip".split()
    )
    assert [row["unit_id"] for row in first] == list(pairs.units())
    assert [row["session"] for row in first] == ["1", "1", "2", "2"]
    assert [row["counter_narrative"] for row in first[:2]] == [CN["cn-1"], CN["cn-2"]]
    assert first[2]["hate_speech"] == HS["hs-2"]
    assert {(row["label"], row["comment"], row["skip"]) for row in first} == {("", "", "")}
    # Of sha256sum, for "hate_speech=The Ombrey never ...", a line feed, "counter_narrative=The library's list ...".
    assert first[0]["text_sha"] == "2ff9935cd320"
    assert [row["unit_id"] for row in sheet(pairs, RATERS[1])] == list(pairs.units())[::-1]


def test_a_sheet_of_replies_has_a_column_for_every_aspect_and_the_context(tmp_path: Path) -> None:
    graded = campaign_of("cseval", tmp_path / "one")
    assert list(sheet(graded)[0])[6:] == (
        "hate_speech reply relevance coherence aggressiveness suitableness comment skip".split()
    )
    grounded = campaign_of("grounded", tmp_path / "two", context=["references", "background", "hate_speech"])
    row = sheet(grounded)[0]
    assert list(row)[6:10] == ["hate_speech", "references", "background", "reply"]
    assert (row["references"], row["background"]) == (
        "A reference.\n\nAnother one.",
        "Velmari glass is blown in Tarn.",
    )
    write_lines(grounded, "replies.jsonl", *(row | {"background": None} for row in grounded.texts().values()))
    with pytest.raises(InputError, match="the reply re-1 has no background, which the task shows: add that column"):
        exported(grounded)


def test_a_comparison_is_shown_in_the_order_of_its_assignment(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    straight, turned = sheet(campaign)[0], sheet(campaign, RATERS[1])[2]
    assert straight["unit_id"] == turned["unit_id"] == "re-1:re-2"
    lamp, salt = REPLIES["re-1"][2], REPLIES["re-2"][2]
    assert (straight["reply_a"], straight["reply_b"]) == (lamp, salt)
    assert (turned["reply_a"], turned["reply_b"]) == (salt, lamp)
    assert straight["text_sha"] != turned["text_sha"]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1", "'+1"),
        ("- they read", "'- they read"),
        ("@Velmari", "'@Velmari"),
        ("\t=1", "'\t=1"),
        ("'=1", "''=1"),
        ("''@", "'''@"),
        ("'Tis so", "'Tis so"),
        ("1-1=0", "1-1=0"),
    ],
)
def test_no_text_becomes_a_formula_and_each_comes_back(pairs: Campaign, text: str, cell: str) -> None:
    write_lines(pairs, "cn.jsonl", {"cn_id": "cn-1", "text": text}, {"cn_id": "cn-2", "text": CN["cn-2"]})
    assert sheet(pairs)[0]["counter_narrative"] == cell
    path = pairs.folder.with_name("campaign-out") / "main-ombrey-1.csv"
    path.write_text(path.read_text("utf-8").replace(",,,", ",appropriate,,"), encoding="utf-8")
    assert import_answers(pairs.folder, path).to_frame()["new"].tolist() == [4]


def test_which_raters_and_units_are_exported(pairs: Campaign, tmp_path: Path) -> None:
    found = export_sheets(pairs.folder, out=tmp_path / "one", rater=("tessok-2",)).to_frame()
    assert found.to_dict("records") == [
        {"rater": "tessok-2", "units": 4, "sessions": 1, "file": str(tmp_path / "one" / "main-tessok-2.csv")}
    ]
    assert {path.name for path in (tmp_path / "one").iterdir()} == {
        *("guidelines.html", "guidelines.md", "main-tessok-2.csv")
    }
    withdraw(pairs, "tessok-2", "hs-1:cn-1")
    assert export_sheets(pairs.folder, out=tmp_path / "two").to_frame()["units"].tolist() == [4, 3]
    for options, message in (
        ({"rater": ("velmari-3",)}, "unknown rater of the round main 'velmari-3': known are ombrey-1, tessok-2"),
        ({"round": "second"}, "no round 'second', expected one of main: choose another"),
    ):
        with pytest.raises(InputError, match=message):
            export_sheets(pairs.folder, out=tmp_path / "three", **options)


def test_unanswered_units_are_exported_again(pairs: Campaign, tmp_path: Path) -> None:
    path = Path(export_sheets(pairs.folder, out=tmp_path / "all").to_frame()["file"][0])
    done = path.read_text("utf-8").replace(",,,", ",appropriate,,", 1).replace(",,,", ",,,x", 1)
    path.write_text(done, encoding="utf-8")
    import_answers(pairs.folder, path)
    rest = export_sheets(pairs.folder, out=tmp_path / "rest", unanswered=True).to_frame()
    assert rest[["rater", "units"]].values.tolist() == [["ombrey-1", 2], ["tessok-2", 4]]
    for file in rest["file"]:
        text = Path(file).read_text("utf-8").replace(",,,", ",not_sure,,")
        Path(file).write_text(text, encoding="utf-8")
    import_answers(pairs.folder, *rest["file"])
    with pytest.raises(InputError, match="the round main has no open units: there is nothing to export"):
        export_sheets(pairs.folder, out=tmp_path / "none", unanswered=True)


def test_a_validation_shows_the_label_and_asks_for_agreement(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    with campaign.changing():
        campaign.write(
            "rounds/validation.jsonl",
            [Assignment("velmari-3", "re-1:re-2", 1, swapped=True), Assignment("velmari-3", "re-2:re-3", 2)],
        )
    labels = {"re-1:re-2": "a", "re-2:re-3": "tie"}
    shown = [{"rater": "velmari-3", "unit_id": unit_id, "label": label} for unit_id, label in labels.items()]
    write_lines(campaign, "rounds/validation.shown.jsonl", *shown)
    rows = sheet(campaign, "velmari-3", round=VALIDATION)
    # The first one is shown the other way round, so what was decided for A is shown as being for B.
    assert [row["shown"] for row in rows] == ["label: b", "label: tie"]
    assert [rows[0]["agree_or_disagree"], rows[0].get("label")] == ["", None]
    guide = exported(campaign, round=VALIDATION)["guidelines.md"]
    assert guide.startswith("# Guidelines: do you agree?")
    assert "# Guidelines: which of two replies" in guide
    assert "- `agree_or_disagree`: `agree`, `disagree`\n" in guide


def test_a_review_shows_the_grades_of_the_others(tmp_path: Path) -> None:
    campaign = campaign_of("cseval", tmp_path / "campaign")
    with campaign.changing():
        campaign.write("rounds/review.jsonl", [Assignment("ombrey-1", "re-1", 1)])
    said = {"you said": {"relevance": 5}, "the others said": {"relevance": [1, 2]}}
    write_lines(campaign, "rounds/review.shown.jsonl", {"rater": "ombrey-1", "unit_id": "re-1"} | said)
    (given,) = sheet(campaign, round="review")
    assert given["shown"] == "you said: relevance: 5\nthe others said: relevance: 1, 2"
    told = " ".join(exported(campaign, round="review")["guidelines.md"].split())
    assert told.startswith("# Guidelines: a second look")
    assert 'What you and they said is shown under "shown". Answer once more' in told
    in_studio = exported(campaign, round="review", tool="label-studio")["guidelines.md"]
    assert 'said is shown under "For your information". Answer' in in_studio


@pytest.mark.parametrize("task", TASKS)
def test_guidelines_are_those_of_the_catalogue_while_the_task_is(task: str, tmp_path: Path) -> None:
    campaign = campaign_of(task, tmp_path / "campaign")
    found = exported(campaign, tool="label-studio")
    catalogue = (ROOT / "annotations" / task / "guidelines.md").read_text("utf-8")
    assert found["guidelines.md"] == catalogue
    assert found["guidelines.html"].count("<table>") == catalogue.count("\n|---") >= 1
    path = campaign.folder / "task.yaml"
    path.write_text(path.read_text("utf-8").replace("\nquestion: ", "\nquestion: Is <b>it</b> so? ", 1), "utf-8")
    own = exported(campaign, tool="label-studio")
    assert own["guidelines.md"].startswith(f"# {campaign.task.title}\n\n> Is <b>it</b> so? ")
    assert "&lt;b&gt;" in own["guidelines.html"]
    meanings = {label.name: label.meaning for label in campaign.task.labels}
    meanings |= {str(grade): text for aspect in campaign.task.aspects for grade, text in aspect.grades.items()}
    for name in meanings:
        assert f"| `{name}` | " in own["guidelines.md"]
    assert "You may skip any item" in own["guidelines.md"]


def test_guidelines_of_sheets_explain_the_columns(tmp_path: Path) -> None:
    """Guidelines for other tools have no section on columns."""
    campaign = campaign_of("multi-aspect", tmp_path / "grades")
    (campaign.folder / "guidelines.md").write_text("# Ours\n")
    assert exported(campaign, tool="label-studio")["guidelines.md"] == "# Ours\n"
    assert exported(campaign)["guidelines.md"] == (
        "# Ours\n\n## How to fill in the sheet\n\n"
        "Open your `.csv` file in a spreadsheet program. Each row is one item.\n\n"
        "- Write an answer in each of these columns:\n"
        "  - `specificity`: 1 to 5\n"
        "  - `opposition`: 1 to 5\n"
        "  - `relatedness`: 1 to 5\n"
        "  - `toxicity`: 1 to 5\n"
        "  - `fluency`: 1 to 5\n"
        "  - `overall`: 1 to 5\n"
        "- To skip a row, write `x` under `skip` and no answer.\n"
        "- A row without answers and without `x` counts as still to do. You can return the file and complete the row "
        "later.\n"
        "- `comment` is optional. A comment is stored only with an answer or with `x` under `skip`.\n"
        "- Do not change the other columns. Save the file as CSV.\n"
    )
    pairs = campaign_of("appropriateness", tmp_path / "pairs")
    assert "- `label`: `not_appropriate`, `not_sure`, `appropriate`\n" in exported(pairs)["guidelines.md"]
    grounded = campaign_of("grounded", tmp_path / "grounded")
    assert "- `fluency`: 1 to 5, with up to 2 decimals\n" in exported(grounded)["guidelines.md"]


def test_label_studio_asks_for_labels_by_choices(pairs: Campaign, tmp_path: Path) -> None:
    assert studio(pairs, "Text") == [
        {"name": "hate_speech", "value": "$hate_speech"},
        {"name": "counter_narrative", "value": "$counter_narrative"},
    ]
    (choices,) = studio(pairs, "Choices")
    assert (choices["name"], choices["toName"], choices["required"]) == ("label", "counter_narrative", "true")
    assert [each["value"] for each in studio(pairs, "Choice")] == ["not_appropriate", "not_sure", "appropriate"]
    assert studio(pairs, "Choice")[1]["hint"] == pairs.task.labels[1].meaning
    assert [each["name"] for each in studio(pairs, "TextArea")] == ["comment"]
    duels = campaign_of("pairwise", tmp_path / "duels")
    assert [each["value"] for each in studio(duels, "Choice")] == ["a", "b", "tie"]
    assert [each["name"] for each in studio(duels, "Text")] == ["hate_speech", "reply_a", "reply_b"]


def test_label_studio_asks_for_grades_by_stars_from_one_and_numbers_otherwise(tmp_path: Path) -> None:
    cseval = campaign_of("cseval", tmp_path / "cseval")
    assert [(each["name"], each["maxRating"]) for each in studio(cseval, "Rating")] == [
        ("relevance", "5"),
        ("coherence", "5"),
        ("aggressiveness", "5"),
        ("suitableness", "3"),
    ]
    assert not studio(cseval, "Number")
    features = campaign_of("features", tmp_path / "features")
    number = studio(features, "Number")[0]
    assert (number["name"], number["min"], number["max"], number["step"]) == ("relatedness", "0", "5", "1")
    assert [each["name"] for each in studio(features, "Rating")] == ["overall"]
    grounded = campaign_of("grounded", tmp_path / "grounded")
    assert {(each["min"], each["max"], each["step"]) for each in studio(grounded, "Number")} == {("1", "5", "0.01")}
    assert sum(each["value"].startswith("1: ") for each in studio(cseval, "Header")) == 4


def test_no_text_of_the_configuration_is_read_as_a_variable(pairs: Campaign) -> None:
    path = pairs.folder / "task.yaml"
    path.write_text(path.read_text("utf-8").replace("\nquestion: ", "\nquestion: Worth $5 & more <so>? ", 1), "utf-8")
    values = [each["value"] for each in studio(pairs, "Header")]
    assert any(value.startswith("Worth \uff045 & more <so>?") for value in values)
    assert not any("$" in value for value in values)


def test_a_project_has_configuration_guidelines_and_tasks_in_the_raters_order(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    files = exported(campaign, tool="label-studio")
    assert sorted(files) == (
        "config.xml guidelines.html guidelines.md main-ombrey-1.json main-tessok-2.json project.json".split()
    )
    project = json.loads(files["project.json"])
    assert (project["label_config"], project["title"]) == (files["config.xml"], "tarn-duels main")
    assert project["expert_instruction"].startswith("<h1>Guidelines: which of two replies")
    assert (project["show_skip_button"], project["maximum_annotations"]) == (True, 1)
    turned = [task["data"] for task in json.loads(files["main-tessok-2.json"])]
    assert [task["unit_id"] for task in turned] == ["re-1:re-3", "re-2:re-3", "re-1:re-2"]
    assert set(turned[2]) == {
        *("campaign", "round", "rater", "unit_id", "text_sha", "session", "hate_speech", "reply_a", "reply_b")
    }
    assert (turned[2]["session"], turned[2]["reply_a"]) == (1, REPLIES["re-2"][2])


def test_the_command_replaces_a_folder_only_if_forced(pairs: Campaign, tmp_path: Path, run_cli: RunCli) -> None:
    command = ("annotate", "export", pairs.folder, "--out", tmp_path / "out", "--rater", "ombrey-1")
    done = run_cli(*command)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Next: fcconan annotate import {pairs.folder} FILES (after raters have filled in" in done.stdout
    assert run_cli(*command).stderr.startswith(f"fcconan: {tmp_path / 'out'} exists: ")
    assert run_cli(*command, "--force").returncode == 0
