"""`annotate import`: answers of returned sheets and of Label Studio's exports."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcconan import InputError, export_sheets, import_answers
from fcconan.annotation import Campaign
from tests.annotation.handed_out import RATERS, campaign_of, withdraw
from tests.conftest import RunCli

Row = dict[str, Any]
FIRST, SECOND, THIRD, FOURTH = "hs-1:cn-1", "hs-1:cn-2", "hs-2:cn-1", "hs-2:cn-2"
YES, SURE, SKIPPED = {"label": "appropriate"}, {"label": "not_sure"}, {"skip": "x"}
COUNTS = ["units", "skipped", "answers", "new", "changed", "same", "waiting"]


@pytest.fixture
def pairs(tmp_path: Path) -> Campaign:
    return campaign_of("appropriateness", tmp_path / "campaign")


def sheet(campaign: Campaign, said: Mapping[str, Row], rater: str = RATERS[0]) -> pd.DataFrame:
    """A rater's sheet, filled in by unit and column."""
    files = export_sheets(campaign.folder, out=campaign.folder.with_name("out")).to_frame().set_index("rater")["file"]
    found = pd.read_csv(files[rater], dtype=str, keep_default_na=False)
    for unit, cells in said.items():
        for column, cell in cells.items():
            found.loc[found["unit_id"] == unit, column] = str(cell)
    return found


def returned(campaign: Campaign, said: Mapping[str, Row], name: str = "one", rater: str = RATERS[0]) -> Path:
    path = campaign.folder.with_name(f"{name}.csv")
    sheet(campaign, said, rater).to_csv(path, index=False)
    return path


def taken(campaign: Campaign, *paths: Path, **options: Any) -> list[list[int]]:
    found = import_answers(campaign.folder, *paths, **options).to_frame()
    return [[int(each) for each in row] for row in found[COUNTS].to_numpy()]


def values(campaign: Campaign) -> dict[str, Any]:
    return {answer.unit_id: answer.value for answer in campaign.answers().values()}


def state(campaign: Campaign) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in campaign.folder.rglob("*") if path.is_file()}


def test_answers_are_added_with_their_import(pairs: Campaign) -> None:
    one = returned(pairs, {FIRST: YES | {"comment": " Well said. "}, THIRD: SKIPPED, SECOND: {"comment": "Later."}})
    two = returned(pairs, {FOURTH: SURE}, "two", RATERS[1])
    found = import_answers(pairs.folder, one, two)
    assert found.to_frame()[["file", "round", "raters"]].values.tolist() == [
        ["one.csv", "main", "ombrey-1"],
        ["two.csv", "main", "tessok-2"],
    ]
    assert found.to_frame()[COUNTS].values.tolist() == [[2, 1, 2, 2, 0, 0, 2], [1, 0, 1, 1, 0, 0, 3]]
    assert [
        (each.round, each.rater, each.unit_id, each.aspect, each.value, each.comment, each.import_number)
        for each in pairs.history()
    ] == [
        ("main", "ombrey-1", FIRST, "label", "appropriate", "Well said.", 1),
        ("main", "ombrey-1", THIRD, "label", None, None, 1),
        ("main", "tessok-2", FOURTH, "label", "not_sure", None, 2),
    ]
    assert found.notes[0] == "one.csv: 1 comment without an answer left out."
    assert found.notes[-1].startswith(f"Next: fcconan annotate import {pairs.folder} FILES (5 units of the round main")


@pytest.mark.parametrize(("sep", "encoding"), [(";", "cp1252"), ("\t", "utf-16"), (";", "utf-8-sig"), (",", "utf-8")])
def test_sheets_come_back_as_spreadsheets_save_them(pairs: Campaign, sep: str, encoding: str) -> None:
    """With spaces around names and answers, capitals, and empty rows."""
    said: dict[str, Row] = {FIRST: {"label": " Appropriate ", "comment": "“So”; so,\nand so"}, SECOND: {"skip": "X"}}
    text = sheet(pairs, said).rename(columns="{} ".format).to_csv(sep=sep, index=False)
    path = pairs.folder.with_name("one.csv")
    path.write_bytes((text + sep * text.partition("\n")[0].count(sep) + "\n\n").encode(encoding))
    assert taken(pairs, path) == [[2, 1, 2, 2, 0, 0, 2]]
    assert [(each.value, each.comment) for each in pairs.history()] == [
        ("appropriate", "“So”; so,\nand so"),
        (None, None),
    ]
    path.write_bytes(text.replace("Appropriate", "n/a").encode(encoding))
    with pytest.raises(InputError, match=f"nothing was imported: row 2, {FIRST}: label is 'n/a', expected not_approp"):
        import_answers(pairs.folder, path)


def test_partial_sheets_are_merged_and_an_empty_cell_takes_nothing_back(pairs: Campaign) -> None:
    assert taken(pairs, returned(pairs, {FIRST: YES})) == [[1, 0, 1, 1, 0, 0, 3]]
    assert taken(pairs, returned(pairs, {FIRST: YES, SECOND: SURE, THIRD: SKIPPED})) == [[3, 1, 3, 2, 0, 1, 1]]
    assert taken(pairs, returned(pairs, {FOURTH: YES})) == [[1, 0, 1, 1, 0, 0, 0]]
    assert values(pairs) == {FIRST: "appropriate", SECOND: "not_sure", THIRD: None, FOURTH: "appropriate"}


def test_files_given_again_change_nothing_though_one_changes_the_answers_of_another(pairs: Campaign) -> None:
    one, two = returned(pairs, {FIRST: YES}), returned(pairs, {FIRST: SURE}, "two")
    with pytest.raises(InputError, match=r"two\.csv: 1 answers differ from earlier ones"):
        import_answers(pairs.folder, one, two)
    assert not pairs.history()
    taken(pairs, one, two, allow_changes=True)
    before = state(pairs)
    for allow_changes in (False, True):
        found = import_answers(pairs.folder, one, two, allow_changes=allow_changes)
        assert found.to_frame()[COUNTS].to_numpy().sum() == 0
        assert found.notes[:2] == ["one.csv was imported before.", "two.csv was imported before."]
        assert state(pairs) == before
    three = returned(pairs, {FIRST: SKIPPED}, "three")
    taken(pairs, one, three, two, allow_changes=True)
    assert [answer.value for answer in pairs.history()] == ["appropriate", "not_sure", None]


def test_a_changed_answer_is_refused_unless_it_is_allowed_and_its_history_is_kept(pairs: Campaign) -> None:
    taken(pairs, returned(pairs, {FIRST: YES, SECOND: SKIPPED}))
    later = returned(pairs, {FIRST: SURE, SECOND: YES, THIRD: YES}, "two")
    before = state(pairs)
    with pytest.raises(InputError) as refused:
        import_answers(pairs.folder, later)
    assert str(refused.value) == (
        f"{later}: 2 answers differ from earlier ones, such as ombrey-1 on {FIRST}: label was appropriate, now "
        "not_sure; nothing was imported: accept them with --allow-changes, which stores both"
    )
    assert state(pairs) == before
    assert taken(pairs, later, allow_changes=True) == [[3, 0, 3, 1, 2, 0, 1]]
    said = ["appropriate", None, "not_sure", "appropriate", "appropriate"]
    assert [answer.value for answer in pairs.history()] == said
    assert values(pairs) == {FIRST: "not_sure", SECOND: "appropriate", THIRD: "appropriate"}
    # A new comment on a known answer is no change of the answer.
    assert taken(pairs, returned(pairs, {THIRD: YES | {"comment": "After all."}}, "three")) == [[1, 0, 1, 0, 1, 0, 1]]
    assert [*pairs.answers().values()][-1].comment == "After all."


def test_all_files_are_imported_or_none_and_a_dry_run_imports_none(pairs: Campaign) -> None:
    one, two = returned(pairs, {FIRST: YES}), returned(pairs, {FIRST: {"label": "fine"}}, "two")
    before = state(pairs)
    with pytest.raises(InputError, match=r"two\.csv: nothing was imported"):
        import_answers(pairs.folder, one, two)
    found = import_answers(pairs.folder, one, dry_run=True)
    assert (found.to_frame()["new"].tolist(), found.notes[0]) == ([1], "The files were checked; nothing was changed.")
    assert state(pairs) == before


def test_grades_of_every_aspect_and_half_filled_rows(tmp_path: Path) -> None:
    campaign = campaign_of("cseval", tmp_path / "campaign")
    said: dict[str, Row] = {
        "re-1": {"relevance": 5, "coherence": "4,0", "aggressiveness": "1.0", "suitableness": 3},
        "re-2": {"relevance": 2},
        "re-3": {"skip": "yes", "comment": "Nothing there."},
    }
    assert taken(campaign, returned(campaign, said)) == [[3, 1, 9, 9, 0, 0, 0]]
    assert [answer.value for answer in campaign.history()] == [5, 4, 1, 3, 2, None, None, None, None]
    assert {answer.comment for answer in campaign.history() if answer.unit_id == "re-3"} == {"Nothing there."}


def test_verdicts_are_kept_about_the_units_own_order(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    said = {"re-1:re-2": {"label": "a"}, "re-2:re-3": {"label": "B"}, "re-1:re-3": {"label": "tie"}}
    for rater in RATERS:
        taken(campaign, returned(campaign, said, rater, rater))
    found = {(question[1], question[2]): answer.value for question, answer in campaign.answers().items()}
    assert found == {
        ("ombrey-1", "re-1:re-2"): "a",
        ("ombrey-1", "re-2:re-3"): "b",
        ("ombrey-1", "re-1:re-3"): "tie",
        ("tessok-2", "re-1:re-2"): "b",
        ("tessok-2", "re-2:re-3"): "a",
        ("tessok-2", "re-1:re-3"): "tie",
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize(("separator", "end"), [(",", "\n"), (";", "\r\n"), ("\t", "\r\n")])
def test_sheets_of_spreadsheet_programs_are_read(pairs: Campaign, separator: str, end: str, encoding: str) -> None:
    said = {FIRST: {"label": " Appropriate "}, SECOND: {"skip": "X", "seconds": "7,5"}, THIRD: {"comment": "é; so"}}
    said[FOURTH] = {"label": "NOT_SURE", "comment": "é; so, so", "skip": "FALSE"}
    rows = sheet(pairs, said)
    rows = pd.concat([rows[:2], pd.DataFrame([dict.fromkeys(rows, "")]), rows[2:]])
    path = pairs.folder.with_name("sheet.tsv" if separator == "\t" else "sheet.csv")
    path.write_text(rows.to_csv(index=False, sep=separator, lineterminator=end), encoding=encoding, newline="")
    assert taken(pairs, path) == [[3, 1, 3, 3, 0, 0, 1]]
    assert values(pairs) == {FIRST: "appropriate", SECOND: None, FOURTH: "not_sure"}
    assert [(each.comment, each.seconds) for each in pairs.history()] == [
        (None, None),
        (None, 7.5),
        ("é; so, so", None),
    ]


@pytest.mark.parametrize(
    ("row", "column", "cell", "message"),
    [
        (1, "unit_id", "hs-9:cn-9", "hs-9:cn-9: it was not assigned to 'ombrey-1': correct this file"),
        (1, "rater", "velmari-3", "hs-1:cn-2: it was not assigned to 'velmari-3'"),
        (0, "label", "fine", "hs-1:cn-1: label is 'fine', expected not_appropriate or not_sure or appropriate"),
        (2, "hate_speech", "x", "hs-2:cn-1: hate_speech differs from the exported text"),
        (1, "unit_id", FIRST, "hs-1:cn-1: it is in the file twice"),
        (0, "skip", "x", r"hs-1:cn-1: it was skipped and answered \(label\)"),
        (0, "seconds", "soon", "hs-1:cn-1: seconds is 'soon', expected a number"),
        (0, "campaign", "other", "has the rounds main other, main tarn-pairs, expected one of main of tarn-pairs"),
        (0, "round", "second", "has the rounds second tarn-pairs, main tarn-pairs, expected one of main of tarn-pairs"),
        ("all", "round", "../units", r"has the rounds \.\./units tarn-pairs, expected one of main of tarn-pairs"),
    ],
)
def test_mistakes_in_a_sheet_are_named(pairs: Campaign, row: int | str, column: str, cell: str, message: str) -> None:
    rows = sheet(pairs, {FIRST: YES, SECOND: YES}).assign(seconds="")
    rows.loc[[*rows.index] if row == "all" else row, column] = cell
    path = pairs.folder.with_name("one.csv")
    rows.to_csv(path, index=False)
    before = state(pairs)
    with pytest.raises(InputError, match=message):
        import_answers(pairs.folder, path)
    assert state(pairs) == before


def test_a_sheet_needs_its_columns_and_the_first_problems_are_listed(pairs: Campaign) -> None:
    path = returned(pairs, {unit: {"label": "fine"} for unit in pairs.units()})
    problem = "label is 'fine', expected not_appropriate or not_sure or appropriate"
    with pytest.raises(InputError) as refused:
        import_answers(pairs.folder, path)
    assert str(refused.value) == (
        f"{path}: nothing was imported: row 2, {FIRST}: {problem}; row 3, {SECOND}: {problem}; row 4, {THIRD}: "
        f"{problem}; and 1 more: correct this file; a new export has no answers"
    )
    sheet(pairs, {}).rename(columns={"label": "Labels"}).drop(columns="skip").to_csv(path, index=False)
    with pytest.raises(InputError, match=r"one\.csv has no column skip, label: import the sheet with all its columns"):
        import_answers(pairs.folder, path)
    with pytest.raises(InputError, match="has the rounds main tarn-pairs, expected one of validation of tarn-pairs"):
        import_answers(pairs.folder, path, round="validation")


@pytest.mark.parametrize("value", ["0", "6", "2.5", "good", "nan"])
def test_grades_out_of_scale_are_refused(tmp_path: Path, value: str) -> None:
    campaign = campaign_of("cseval", tmp_path / "campaign")
    with pytest.raises(InputError, match=f"re-2: coherence is '{value}', expected 1 to 5: correct"):
        import_answers(campaign.folder, returned(campaign, {"re-2": {"coherence": value}}))


def test_withdrawn_units_take_known_answers_and_late_ones_if_allowed(pairs: Campaign) -> None:
    taken(pairs, returned(pairs, {FIRST: YES}))
    two = returned(pairs, {FIRST: YES, SECOND: SURE}, "two")
    withdraw(pairs, "ombrey-1", FIRST)
    withdraw(pairs, "ombrey-1", SECOND)
    with pytest.raises(InputError, match=f"{SECOND}: it was withdrawn from this rater; accept .* --allow-withdrawn"):
        import_answers(pairs.folder, two)
    assert taken(pairs, two, allow_withdrawn=True) == [[2, 0, 2, 1, 0, 1, 2]]


def test_a_user_map_gives_pseudonyms_which_alone_are_stored(pairs: Campaign, tmp_path: Path) -> None:
    path = returned(pairs, {FIRST: YES})
    path.write_text(path.read_text("utf-8").replace("ombrey-1", "ada@example.org"), encoding="utf-8")
    with pytest.raises(InputError, match=r"it was not assigned to 'ada@example\.org'"):
        import_answers(pairs.folder, path)
    who = tmp_path / "who.csv"
    who.write_text("\ufeffuser;rater\r\nada@example.org;ombrey-1\r\n7;tessok-2\r\n", encoding="utf-8")
    assert import_answers(pairs.folder, path, user_map=who).to_frame()["raters"].tolist() == ["ombrey-1"]
    assert not any(b"ada" in content for content in state(pairs).values())
    who.write_text("name,rater\nada,ombrey-1\n")
    with pytest.raises(InputError, match=r"who\.csv has the columns name, rater, expected user and rater"):
        import_answers(pairs.folder, path, user_map=who)


# Label Studio.


def project(campaign: Campaign, said: Mapping[str, list[Row]], rater: str = RATERS[0], name: str = "e.json") -> Path:
    """Writes what the tool exports: the tasks with ids and annotations."""
    out = campaign.folder.with_name("out")
    files = export_sheets(campaign.folder, out=out, tool="label-studio").to_frame().set_index("rater")["file"]
    tasks = [
        {"id": number, **task, "annotations": said.get(task["data"]["unit_id"], []), "predictions": []}
        for number, task in enumerate(json.loads(Path(files[rater]).read_text("utf-8")), start=41)
    ]
    path = campaign.folder.with_name(name)
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


def annotation(*result: Row, user: Any = 1, cancelled: bool = False) -> Row:
    return {"completed_by": user, "result": [*result], "was_cancelled": cancelled, "lead_time": 3.25}


def chosen(value: Any, kind: str = "choices", name: str = "label", about: str = "counter_narrative") -> Row:
    held = {"textarea": "text"}.get(kind, kind)
    return {"from_name": name, "to_name": about, "type": kind, "value": {held: value}, "id": "x"}


def test_an_export_of_label_studio_is_read(pairs: Campaign) -> None:
    said = {
        FIRST: [annotation(chosen(["appropriate"]), chosen(["So", "so."], "textarea", "comment"))],
        SECOND: [annotation(cancelled=True)],
        THIRD: [annotation(chosen(["not_sure"]), cancelled=True), annotation(chosen(["not_appropriate"]))],
    }
    assert taken(pairs, project(pairs, said)) == [[3, 1, 3, 3, 0, 0, 1]]
    assert [(each.unit_id, each.value, each.seconds, each.comment) for each in pairs.history()] == [
        (FIRST, "appropriate", 3.25, "So\nso."),
        (SECOND, None, 3.25, None),
        (THIRD, "not_appropriate", 3.25, None),
    ]


def test_grades_and_turned_verdicts_of_label_studio(tmp_path: Path) -> None:
    grounded = campaign_of("grounded", tmp_path / "numbers")
    result = [chosen(2.25, "number", name, "reply") for name in grounded.aspects]
    taken(grounded, project(grounded, {"re-1": [annotation(*result)]}))
    assert [(each.aspect, each.value) for each in grounded.history()] == [(name, 2.25) for name in grounded.aspects]
    stars = campaign_of("cseval", tmp_path / "stars")
    result = [chosen(3, "rating", name, "reply") for name in stars.aspects]
    taken(stars, project(stars, {"re-1": [annotation(*result)], "re-2": [annotation(*result[:1])]}))
    assert [each.value for each in stars.history()] == [3, 3, 3, 3, 3]
    features = campaign_of("features", tmp_path / "features")
    taken(features, project(features, {"re-1": [annotation(chosen(0, "number", "relatedness", "reply"))]}))
    assert [each.value for each in features.history()] == [0]
    duels = campaign_of("pairwise", tmp_path / "duels")
    taken(duels, project(duels, {"re-1:re-2": [annotation(chosen(["a"]))]}, RATERS[1]))
    assert [each.value for each in duels.history()] == ["b"]


@pytest.mark.parametrize("user", [5, {"id": 5, "email": "ada@example.org"}, {"id": 6, "email": "tarn@example.org"}])
def test_users_are_named_by_id_or_address(pairs: Campaign, tmp_path: Path, user: Any) -> None:
    who = tmp_path / "who.csv"
    who.write_text("user,rater\n5,ombrey-1\ntarn@example.org,ombrey-1\n8,tessok-2\n")
    path = project(pairs, {FIRST: [annotation(chosen(["appropriate"]), user=user)]})
    assert import_answers(pairs.folder, path, user_map=who).to_frame()["raters"].tolist() == ["ombrey-1"]


def test_answers_by_somebody_else_are_refused(pairs: Campaign, tmp_path: Path) -> None:
    said = {unit: [annotation(chosen(["appropriate"]), user=user)] for unit, user in ((FIRST, 5), (SECOND, 8))}
    path, who = project(pairs, said), tmp_path / "who.csv"
    with pytest.raises(InputError, match="users and raters do not match one to one: give --user-map FILE"):
        import_answers(pairs.folder, path)
    for lines, message in (
        ("5,ombrey-1\n8,tessok-2\n", f"{SECOND} is assigned to ombrey-1, but tessok-2 answered it"),
        ("5,ombrey-1\n", f"{SECOND} is assigned to ombrey-1, but a user who is not in --user-map answered it"),
    ):
        who.write_text(f"user,rater\n{lines}")
        with pytest.raises(InputError, match=message):
            import_answers(pairs.folder, path, user_map=who)
    # One user is not two raters either.
    parts = [project(pairs, {FIRST: said[FIRST]}, rater, f"{rater}.json") for rater in RATERS]
    both = tmp_path / "both.json"
    both.write_text(json.dumps([task for part in parts for task in json.loads(part.read_text())]))
    with pytest.raises(InputError, match="users and raters do not match one to one"):
        import_answers(pairs.folder, both)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tasks: tasks[0].pop("annotations"), "is not Label Studio's JSON .*not as JSON-MIN"),
        (lambda tasks: tasks[0]["data"].pop("rater"), "hs-1:cn-1: it was not assigned to None"),
        (lambda tasks: tasks[1]["data"].update(hate_speech="x"), "hs-1:cn-2: hate_speech differs from the exported"),
        (lambda tasks: tasks[1]["data"].update(unit_id="x"), "x: it was not assigned to 'ombrey-1'"),
        (
            lambda tasks: tasks[0]["annotations"][0]["result"][0]["value"]["choices"].append("not_sure"),
            "hs-1:cn-1: label is 'appropriate.+not_sure', expected",
        ),
        (
            lambda tasks: tasks[0]["annotations"].append(annotation(chosen(["not_sure"]))),
            "hs-1:cn-1: it is in the file twice",
        ),
    ],
)
def test_mistakes_in_an_export_are_named(pairs: Campaign, change: Callable[[list[Row]], object], message: str) -> None:
    path = project(pairs, {FIRST: [annotation(chosen(["appropriate"]))]})
    tasks = json.loads(path.read_text())
    change(tasks)
    path.write_text(json.dumps(tasks))
    with pytest.raises(InputError, match=message):
        import_answers(pairs.folder, path)
    assert not pairs.history()


def test_the_command_line(pairs: Campaign, tmp_path: Path, run_cli: RunCli) -> None:
    one, two = returned(pairs, {FIRST: YES}), returned(pairs, {FIRST: SURE}, "two", RATERS[1])
    result = tmp_path / "result.json"
    done = run_cli("annotate", "import", pairs.folder, one, two, "--json", result)
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["new"] for row in json.loads(result.read_text())["tables"]["files"]] == [1, 1]
    done = run_cli("annotate", "import", pairs.folder, tmp_path / "none.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "none.csv" in done.stderr
