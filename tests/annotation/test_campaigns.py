import json
import threading
from pathlib import Path

import pytest
import yaml

from fcconan.annotation.campaigns import Answer, Assignment, Campaign, Decision, Rater, Settings, Unit, create
from fcconan.errors import InputError
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
    assert sorted(path.name for path in campaign.folder.parent.iterdir()) == ["c"]  # nothing else is left


def test_the_questions_are_the_label_or_the_aspects(tmp_path: Path) -> None:
    assert made(tmp_path / "a").aspects == ["label"]
    aspects = ["relevance", "coherence", "aggressiveness", "suitableness"]
    assert made(tmp_path / "b", "cseval").aspects == aspects


def test_records_are_written_without_what_goes_without_saying(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    assert (campaign.folder / "units.jsonl").read_text(encoding="utf-8").splitlines() == [
        '{"unit_id": "h1:c1", "hs_id": "h1", "cn_id": "c1"}',
        '{"unit_id": "h1:c2", "role": "anchor", "hs_id": "h1", "cn_id": "c2", "known": {"label": "appropriate"}}',
    ]
    with campaign.changing():
        campaign.write("answers.jsonl", [Answer("main", "r1", "h1:c1", "label", None)])
        campaign.write("rounds/main.jsonl", [Assignment("r1", "h1:c1", 1)])
    lines = (campaign.folder / "answers.jsonl").read_text(encoding="utf-8")
    assert json.loads(lines) == {
        "round": "main",
        "rater": "r1",
        "unit_id": "h1:c1",
        "aspect": "label",
        "value": None,  # skipped, which has to be said
    }
    assert campaign.rounds() == ["main"]
    assert campaign.assignments() == [Assignment("r1", "h1:c1", 1, session=1, swapped=False, withdrawn=False)]


def test_a_later_answer_supersedes_and_the_history_stays(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    first = Answer("main", "r1", "h1:c1", "label", "not_sure", import_number=1)
    other = Answer("validation", "r1", "h1:c1", "label", "agree", import_number=2)
    later = Answer("main", "r1", "h1:c1", "label", "appropriate", seconds=4.5, import_number=3)
    with campaign.changing():
        campaign.write("answers.jsonl", [first, other, later])
    assert campaign.history() == [first, other, later]
    assert list(campaign.answers().values()) == [later, other]
    assert list(campaign.answers("main").values()) == [later]
    assert campaign.answers("pilot") == {}


def test_raters_and_decisions_are_found_by_their_key(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    with campaign.changing():
        campaign.write("raters.jsonl", [Rater("r2", state="left"), Rater("r1", "validator")])
        campaign.write("decisions.jsonl", [Decision("h1:c1", None, "rule", "not_sure")])
    assert campaign.raters() == {"r2": Rater("r2", "annotator", "left"), "r1": Rater("r1", "validator", "active")}
    assert list(campaign.raters()) == ["r2", "r1"]
    assert campaign.decisions() == {"h1:c1": Decision("h1:c1", None, "rule", "not_sure")}


def test_a_folder_with_something_in_it_is_refused_and_an_empty_one_taken(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    made(tmp_path / "c")
    before = (tmp_path / "c" / "campaign.yaml").read_bytes()
    with pytest.raises(InputError, match=r"exists and is not empty: choose another folder"):
        made(tmp_path / "c")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"exists and is not empty"):
        made(tmp_path / "file")
    assert (tmp_path / "c" / "campaign.yaml").read_bytes() == before


def test_a_campaign_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    broken = {"hs.jsonl": [{"hs_id": "h1", "text": "half \ud83d"}]}
    with pytest.raises(UnicodeEncodeError):
        create(tmp_path / "c", Settings(name="ombrey"), load_task("appropriateness"), UNITS, broken)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format"),
        ({"name": "Ombrey"}, "name"),
        ({"seed": -1}, "seed"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_settings_of_another_kind_are_one_line(tmp_path: Path, change: dict[str, object], message: str) -> None:
    file = made(tmp_path / "c").folder / "campaign.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | change))
    with pytest.raises(InputError, match=rf"campaign\.yaml, {message}: ") as error:
        Campaign(tmp_path / "c")
    assert "\n" not in str(error.value)


def test_what_is_no_campaign_or_no_round_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no campaign\.yaml: create a campaign with `fcconan annotate new`"):
        Campaign(tmp_path)
    campaign = made(tmp_path / "c")
    with pytest.raises(InputError, match=r"has no round 'main', only none: create it with `fcconan annotate assign`"):
        campaign.assignments()


def test_a_file_that_was_edited_wrongly_is_named_with_its_line(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    (campaign.folder / "raters.jsonl").write_text('{"rater": "r1"}\n{"rater": "r2", "mail": "x"}\n')
    with pytest.raises(InputError, match=r"raters\.jsonl, line 2 is not a valid rater \(.*mail.*\): restore it from a"):
        campaign.raters()
    (campaign.folder / "raters.jsonl").write_text('{"role": "annotator"}\n')
    with pytest.raises(InputError, match=r"raters\.jsonl, line 1 is not a valid rater \(.*rater"):
        campaign.raters()


def test_one_change_waits_for_another(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    order = []
    begun = threading.Event()

    def second() -> None:
        begun.set()
        with Campaign(campaign.folder).changing():
            order.append("second")

    with campaign.changing():
        thread = threading.Thread(target=second)
        thread.start()
        begun.wait()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_pattern_stands_for_the_rounds_it_matches_the_tenth_after_the_second(tmp_path: Path) -> None:
    campaign = made(tmp_path / "c")
    for name in ("queue-10", "queue-2", "main", "queue-1", "queue-2.shown"):
        campaign.write(f"rounds/{name}.jsonl", [])
    assert campaign.rounds() == ["main", "queue-1", "queue-10", "queue-2"]
    assert campaign.rounds_like(["queue-*"]) == ["queue-1", "queue-2", "queue-10"]
    assert campaign.rounds_like(["other", "main", "queue-1*"]) == ["other", "main", "queue-1", "queue-10"]
    assert campaign.rounds_like(None) == ["main"]
    with pytest.raises(InputError, match=r"no round 'x\*', only main, queue-1"):
        campaign.assignments(*campaign.rounds_like(["x*"]))
