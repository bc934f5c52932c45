"""The folder of a campaign: what is written is read back, and what people edit in it."""

import json
from pathlib import Path

import pytest

from fcconan import InputError
from fcconan.annotation import Answer, Assignment, Campaign, Decision, Rater, Settings, Unit, create
from fcconan.judging import load_task

UNITS = [Unit("h1:c1", hs_id="h1", cn_id="c1"), Unit("h1:c2", "anchor", "h1", "c2", known={"label": "appropriate"})]
TEXTS = {
    "hs.jsonl": [{"hs_id": "h1", "text": "The Ombrey never return a book."}],
    "cn.jsonl": [{"cn_id": "c1", "text": "They do: “early”."}, {"cn_id": "c2", "text": "Ask the library."}],
}


def made(folder: Path, task: str = "appropriateness") -> Campaign:
    return create(folder, Settings(name="ombrey", made_from={"n": 2}), load_task(task), UNITS, TEXTS)


def test_what_is_made_is_read_back(tmp_path: Path) -> None:
    made(tmp_path / "in" / "c")
    campaign = Campaign(tmp_path / "in" / "c")
    assert campaign.settings == Settings(name="ombrey", language="en", seed=0, made_from={"n": 2})
    assert campaign.task == load_task("appropriateness")
    assert list(campaign.units().values()) == UNITS
    assert campaign.texts() == {"h1": TEXTS["hs.jsonl"][0], "c1": TEXTS["cn.jsonl"][0], "c2": TEXTS["cn.jsonl"][1]}
    assert (campaign.raters(), campaign.rounds(), campaign.history()) == ({}, [], [])
    assert (campaign.imports(), campaign.decisions()) == ([], {})
    assert (campaign.folder / "raters.csv").read_text() == "rater,role,state\n"
    assert sorted(path.name for path in campaign.folder.parent.iterdir()) == ["c"]  # nothing else is left
    with pytest.raises(InputError, match="exists: choose another folder for the new campaign"):
        made(campaign.folder)


def test_the_questions_are_the_label_or_the_aspects(tmp_path: Path) -> None:
    assert made(tmp_path / "a").aspects == ["label"]
    aspects = ["relevance", "coherence", "aggressiveness", "suitableness"]
    assert made(tmp_path / "b", "cseval").aspects == aspects


def test_records_are_written_without_defaults(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    assert (campaign.folder / "units.jsonl").read_text(encoding="utf-8").splitlines() == [
        '{"unit_id": "h1:c1", "hs_id": "h1", "cn_id": "c1"}',
        '{"unit_id": "h1:c2", "role": "anchor", "hs_id": "h1", "cn_id": "c2", "known": {"label": "appropriate"}}',
    ]
    campaign.write("answers.jsonl", [Answer("main", "r1", "h1:c1", "label", None)])
    campaign.write("rounds/main.jsonl", [Assignment("r1", "h1:c1", 1)])
    campaign.write("decisions.jsonl", [Decision("h1:c1", None, "rule", "not_sure")])
    skipped = {"round": "main", "rater": "r1", "unit_id": "h1:c1", "aspect": "label", "value": None}
    assert json.loads((campaign.folder / "answers.jsonl").read_text(encoding="utf-8")) == skipped
    assert campaign.assignments() == [Assignment("r1", "h1:c1", 1, session=1, swapped=False, withdrawn=False)]
    assert campaign.decisions() == {"h1:c1": Decision("h1:c1", None, "rule", "not_sure")}


def test_a_later_answer_supersedes_and_the_history_stays(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    first = Answer("main", "r1", "h1:c1", "label", "not_sure", import_number=1)
    other = Answer("validation", "r1", "h1:c1", "label", "agree", import_number=2)
    later = Answer("main", "r1", "h1:c1", "label", "appropriate", seconds=4.5, import_number=3)
    campaign.write("answers.jsonl", [first, other, later])
    assert campaign.history() == [first, other, later]
    assert list(campaign.answers().values()) == [later, other]
    assert list(campaign.answers("main").values()) == [later]
    assert campaign.answers("pilot") == {}
    Campaign(campaign.folder).write("answers.jsonl", [first])  # as another process does
    assert campaign.history() == [first]


@pytest.mark.parametrize(
    "content",
    [
        b"rater,role,state\nana,,\nben,validator,left\n",
        "\ufeffrater;state;role;phone\r\nana; active ;annotator;1\r\nben;left;validator;2\r\n".encode(),
        "rater\tstate\trole\nana\t\t\nben\tleft\tvalidator\n".encode("utf-16"),
        b"rater;role;state\rana;;\r;;\rben;validator;left\r;;\r",  # empty rows, and the ends of lines of old Macs
    ],
)
def test_raters_are_read_as_spreadsheets_write_them(tmp_path: Path, content: bytes) -> None:
    campaign = made(tmp_path / "c")
    (campaign.folder / "raters.csv").write_bytes(content)
    assert campaign.raters() == {"ana": Rater("ana"), "ben": Rater("ben", "validator", "left")}
    assert (campaign.active("annotator"), campaign.active("validator")) == (["ana"], [])
    campaign.write("rounds/validation.jsonl", [Assignment("cleo", "h1:c1", 1)])  # the row was deleted
    assert [*campaign.raters().values()][2:] == [Rater("cleo", "validator", "left")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("ana@example.org,,", r"raters\.csv has the rater 'ana@example\.org', expected pseudonyms"),
        ("../ana,,", "has the rater '../ana'"),
        (",annotator,", "has the rater ''"),
        ("ana,,\nAna,,", "has the rater 'Ana', expected pseudonyms .* each once"),
        ("ana,judge,", r"unknown role in .*raters\.csv 'judge': .*annotator, validator"),
        ("ana,,gone", r"unknown state in .*raters\.csv 'gone': .*active, invited, failed, left"),
    ],
)
def test_mistakes_in_the_raters_are_one_line(tmp_path: Path, rows: str, message: str) -> None:
    campaign = made(tmp_path / "c")
    (campaign.folder / "raters.csv").write_text(f"rater,role,state\n{rows}\n")
    with pytest.raises(InputError, match=message) as error:
        campaign.raters()
    assert "\n" not in str(error.value)


def test_a_pattern_stands_for_rounds_in_the_order_of_the_steps(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    for name in ("queue-10", "queue-2", "main", "queue-1", "further", "last", "validation", "qualification"):
        campaign.write(f"rounds/{name}.jsonl", [])
    for name, review in (("main", None), ("further", "main"), ("last", "further")):
        (campaign.folder / "rounds" / f"{name}.json").write_text(json.dumps({"review": review}))
    ordered = ["main", "queue-1", "queue-2", "queue-10", "further", "last"]  # reviews of reviews follow reviews
    assert campaign.rounds() == ["qualification", *ordered, "validation"]
    assert campaign.rounds_like(["queue-*"]) == ["queue-1", "queue-2", "queue-10"]
    assert campaign.rounds_like(["other", "main", "queue-1*"]) == ["other", "main", "queue-1", "queue-10"]
    assert campaign.rounds_like() == ["main"]
    campaign.write("answers.jsonl", [Answer(name, "r1", "h1:c1", "label", None) for name in campaign.rounds()])
    assert campaign.rounds_like() == ordered
    with pytest.raises(InputError, match=r"no round 'x\*', expected one of qualification, main, queue-1"):
        campaign.assignments("x*")


def test_a_folder_that_is_not_a_campaign_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no campaign\.yaml: create a campaign with `fcconan annotate new`"):
        Campaign(tmp_path)
