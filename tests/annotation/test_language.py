"""A French campaign on the demo's invented peoples, by the commands: what raters read, and what becomes of it."""

import csv
import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from fcconan import InputError, new_campaign
from fcconan.annotation import Campaign
from fcconan.data import VOTE_LABELS, content_folder
from fcconan.judging import load_task
from tests.annotation.handed_out import CN, HS
from tests.conftest import run_here

WORDS = dict(zip(VOTE_LABELS, ("inapproprié", "incertain", "approprié"), strict=True))
TEXTS = ["Message haineux", "Contre-récit"]
Sheet = list[dict[str, str]]


def annotate(verb: str, *arguments: object) -> str:
    """What a command prints."""
    done = run_here("annotate", verb, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), verb
    return done.stdout


def read(path: Path) -> Sheet:
    return list(csv.DictReader(path.read_text("utf-8-sig").splitlines(keepends=True), delimiter=";"))


def write(path: Path, rows: Sheet) -> None:
    """Writes a sheet as a French spreadsheet program does."""
    with path.open("w", newline="", encoding="cp1252") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)


def tables(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))["tables"]
    return found


@pytest.fixture
def french(tmp_path: Path, demo: Path) -> Path:
    """A campaign of 2 x 3 pairs, all of which two raters judge."""
    folder = tmp_path / "campagne"
    how = ("--task", "appropriateness", "--corpus", demo, "--language", "fr", "--encoder", "tfidf")
    annotate("new", folder, *how, "--hs", 2, "--cns", 3)
    raters = ("ombrey-1,annotator,active", "tessok-2,annotator,active", "velmari-3,validator,active")
    (folder / "raters.csv").write_text("\n".join(["rater,role,state", *raters, ""]))
    annotate("assign", folder, "--overlap.2", 1)
    return folder


def test_a_french_campaign_from_new_to_release(french: Path, tmp_path: Path) -> None:
    annotate("export", french, "--out", tmp_path / "out")
    guide = (tmp_path / "out" / "guidelines.md").read_text("utf-8")
    assert guide.startswith("# Consignes")
    assert "  - `Étiquette`: `inapproprié`, `incertain`, `approprié`\n" in guide
    assert '<html lang="fr">' in (tmp_path / "out" / "guidelines.html").read_text("utf-8")
    ids = ["campaign", "round", "rater", "unit_id", "text_sha", "Séance"]
    sheets = {rater: tmp_path / "out" / f"main-{rater}.csv" for rater in ("ombrey-1", "tessok-2")}
    units = list(Campaign(french).units())
    # By unit: both agree, one is not sure, they contradict each other, one skips, both are not sure, English labels.
    said = {
        "ombrey-1": ["approprié", "Inapproprié", "approprié", "inapproprié", "incertain", "appropriate"],
        "tessok-2": ["APPROPRIÉ", "incertain", "inapproprié", "", "incertain", "appropriate"],
    }
    for rater, path in sheets.items():
        rows = read(path)
        assert list(rows[0]) == [*ids, *TEXTS, "Étiquette", "Commentaire", "Passer"]
        for row in rows:
            row["Étiquette"] = said[rater][units.index(row["unit_id"])]
            row["Passer"] = "" if row["Étiquette"] else "x"
        rows[0]["Commentaire"] = "Très juste."
        write(path, rows)
    annotate("import", french, *sheets.values())
    no, sure, yes = VOTE_LABELS
    answers = Campaign(french).answers().values()
    values = {rater: {each.unit_id: each.value for each in answers if each.rater == rater} for rater in sheets}
    assert [values["ombrey-1"][unit] for unit in units] == [yes, no, yes, no, sure, yes]
    assert [values["tessok-2"][unit] for unit in units] == [yes, sure, no, None, sure, yes]
    assert {each.comment for each in answers} == {None, "Très juste."}

    done = run_here("agree", french, "--resamples", 0, "--json", tmp_path / "agree.json")
    assert (done.returncode, done.stderr) == (0, "")
    # Of five pairs with two labels, three are equal; 9/25 by chance.
    found = {row["coefficient"]: row["value"] for row in tables(tmp_path / "agree.json")["agreement"]}
    assert (found["raw"], found["cohen"]) == (pytest.approx(3 / 5), pytest.approx((3 / 5 - 9 / 25) / (16 / 25)))
    annotate("adjudicate", french)
    labels = {unit: each.label for unit, each in Campaign(french).decisions().items()}
    assert [labels[unit] for unit in units] == [yes, no, None, no, None, yes]

    annotate("validate", french)
    annotate("export", french, "--round", "validation", "--out", tmp_path / "check")
    assert (tmp_path / "check" / "guidelines.md").read_text("utf-8").count("«\u00a0Pour information\u00a0»") == 1
    path = tmp_path / "check" / "validation-velmari-3.csv"
    rows = read(path)
    assert {row["unit_id"]: row["Pour information"] for row in rows} == {
        unit: f"Étiquette: {WORDS[label]}" for unit, label in labels.items() if label is not None
    }
    for row in rows:
        row["Accord ou désaccord"] = "désaccord" if row["unit_id"] == units[1] else "Accord"
    write(path, rows)
    annotate("import", french, path)
    annotate("status", french, "--json", tmp_path / "status.json")
    states = {row["state"]: row["units"] for row in tables(tmp_path / "status.json")["units"]}
    assert [states[name] for name in ("answered", "labelled", "discarded", "confirmed")] == [6, 4, 2, 3]

    annotate("release", french, "--out", tmp_path / "data", "--synthetic")
    done = run_here("build", tmp_path / "data" / "recipe.yaml", "--out", tmp_path / "release")
    assert (done.returncode, done.stderr) == (0, "")
    from datasets import load_dataset

    rows = load_dataset(str(tmp_path / "release"), "bronze", split="test").to_list()
    assert {row["pair_id"]: (row["label"], row["valid"]) for row in rows} == {
        units[0]: (yes, True),
        units[1]: (no, False),
        units[3]: (no, True),
        units[5]: (yes, True),
    }
    card = (tmp_path / "release" / "README.md").read_text("utf-8")
    assert "\nlanguage:\n- fr\n" in card
    assert load_task(french / "task.yaml").question in card


def test_decisions_are_read_in_french(french: Path, tmp_path: Path) -> None:
    annotate("simulate", french, "--out", tmp_path / "out", "--accuracy", 0.3)
    annotate("import", french, *(tmp_path / "out").glob("*.csv"))
    annotate("adjudicate", french, "--export-conflicts", tmp_path / "list.csv")
    rows = read(tmp_path / "list.csv")
    for row in rows:
        row["decision"] = "Inapproprié"
    write(tmp_path / "list.csv", rows)
    annotate("adjudicate", french, "--import-decisions", tmp_path / "list.csv", "--decided-by", "chair")
    decided = {unit: each.label for unit, each in Campaign(french).decisions().items() if each.by == "chair"}
    assert rows and decided == {row["unit_id"]: VOTE_LABELS[0] for row in rows}


def test_label_studio_shows_french_and_its_answers_are_read(french: Path, tmp_path: Path) -> None:
    annotate("export", french, "--tool", "label-studio", "--out", tmp_path / "out")
    config = ET.fromstring((tmp_path / "out" / "config.xml").read_text("utf-8"))
    assert [(each.get("value"), each.get("alias")) for each in config.iter("Choice")] == [
        (word, label) for label, word in WORDS.items()
    ]
    headings = [each.get("value") for each in config.iter("Header")]
    task = load_task(content_folder() / "annotations" / "appropriateness" / "task.fr.yaml")
    question = task.question.replace("\u00a0", " ")
    assert headings == [*TEXTS, task.title, question, "Commentaire (facultatif)"]
    path = tmp_path / "out" / "main-ombrey-1.json"
    tasks = json.loads(path.read_text("utf-8"))
    # The alias is what Label Studio exports; an older export, or a tool that ignores it, has the word.
    for number, (each, said) in enumerate(zip(tasks, ["appropriate", "approprié", "incertain"], strict=False)):
        chosen = {"from_name": "label", "to_name": "counter_narrative", "type": "choices", "value": {"choices": [said]}}
        each |= {"annotations": [{"id": number, "completed_by": 1, "was_cancelled": False, "result": [chosen]}]}
    tasks[3:] = [each | {"annotations": []} for each in tasks[3:]]
    path.write_text(json.dumps(tasks), encoding="utf-8")
    annotate("import", french, path)
    assert [each.value for each in Campaign(french).history()] == ["appropriate", "appropriate", "not_sure"]


def test_a_simulation_fills_in_french_sheets(french: Path, tmp_path: Path) -> None:
    annotate("simulate", french, "--out", tmp_path / "out", "--skip-rate", 0.2)
    rows = read(tmp_path / "out" / "main-ombrey-1.csv")
    assert {row["Étiquette"] for row in rows} <= {*WORDS.values(), ""}
    annotate("import", french, *(tmp_path / "out").glob("*.csv"))
    assert {each.value for each in Campaign(french).history()} <= {*VOTE_LABELS, None}


def test_a_review_shows_earlier_answers_in_french(french: Path, tmp_path: Path) -> None:
    annotate("export", french, "--out", tmp_path / "out")
    for rater, word in (("ombrey-1", "approprié"), ("tessok-2", "incertain")):
        path = tmp_path / "out" / f"main-{rater}.csv"
        write(path, [row | {"Étiquette": word} for row in read(path)])
        annotate("import", french, path)
    annotate("assign", french, "--round", "review-1", "--review", "main")
    annotate("export", french, "--round", "review-1", "--out", tmp_path / "again")
    rows = read(tmp_path / "again" / "review-1-ombrey-1.csv")
    said = "vous avez répondu: approprié\nles autres ont répondu: incertain"
    assert [row["Pour information"] for row in rows] == [said] * 6
    assert (tmp_path / "again" / "guidelines.md").read_text("utf-8").startswith("# Consignes\u00a0: un second regard")


def test_own_translations_and_english_where_there_is_none(tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(content_folder() / "annotations" / "appropriateness", own)
    text = (own / "task.fr.yaml").read_text("utf-8")
    (own / "task.de.yaml").write_text(text.replace("approprié\n", "angemessen\n"), encoding="utf-8")
    (own / "guidelines.fr.md").write_text("# Nos consignes\n", encoding="utf-8")
    for name, texts in (("hs", HS), ("cn", CN)):
        (tmp_path / f"{name}.txt").write_text("\n".join(" ".join(each.split()) for each in texts.values()))

    def made(language: str, task: object = own) -> tuple[str, str]:
        lists: Any = {"hs": tmp_path / "hs.txt", "cns": tmp_path / "cn.txt"}
        new_campaign(tmp_path / language, task=str(task), language=language, **lists)
        campaign = Campaign(tmp_path / language)
        word = campaign.task.words.get("appropriate", "appropriate")
        return word, (campaign.folder / "guidelines.md").read_text("utf-8").splitlines()[0]

    english = "# Guidelines: is this reply appropriate for this message?"
    assert made("fr") == ("approprié", "# Nos consignes")
    assert made("de") == ("angemessen", english)
    assert made("eu") == ("appropriate", english)
    (own / "task.it.yaml").write_text(text.replace("label: Étiquette", "label: Commentaire"), encoding="utf-8")
    with pytest.raises(InputError, match="two names have the same word"):
        made("it")


def test_the_french_task_and_guidelines_have_the_labels_of_the_task() -> None:
    folder = content_folder() / "annotations" / "appropriateness"
    task, french = load_task(folder / "task.yaml"), load_task(folder / "task.fr.yaml")
    assert (french.name, french.unit) == (task.name, task.unit)
    assert [each.name for each in french.labels] == [each.name for each in task.labels]
    guidelines = [(folder / f"guidelines{part}.md").read_text("utf-8") for part in ("", ".fr")]
    for label, word in WORDS.items():
        assert french.words[label] == word
        assert guidelines[0].count(f"`{label}`") == guidelines[1].count(f"`{word}`"), label
    assert guidelines[0].count("\n## ") == guidelines[1].count("\n## ")
