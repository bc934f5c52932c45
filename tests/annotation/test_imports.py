import csv
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fcconan.annotation import Imported, import_files, read_people
from fcconan.annotation.campaigns import Answer, Campaign
from fcconan.annotation.tools import csv_sheets, exchange, task_view
from fcconan.errors import InputError
from tests.annotation.handed_out import RATERS, campaign_of, withdraw
from tests.conftest import RunCli

Row = dict[str, Any]
FIRST, SECOND, THIRD, FOURTH = "hs-1:cn-1", "hs-1:cn-2", "hs-2:cn-1", "hs-2:cn-2"
IMPORT = "import_number file sha256 tool round raters n_answers n_new n_changed".split()


@pytest.fixture
def pairs(tmp_path: Path) -> Campaign:
    return campaign_of("appropriateness", tmp_path / "campaign")


def handed_back(campaign: Campaign, said: Mapping[str, Any], path: Path, rater: str = RATERS[0], **ids: str) -> Path:
    """Writes a rater's sheet, filled in by unit and column."""
    theirs = task_view.of_raters(campaign, "main")[rater]
    rows = csv_sheets.sheet(task_view.Handout(campaign, "main", task_view.text_names({rater: theirs})), theirs)
    path.write_text(csv_sheets.as_csv([row | said.get(row["unit_id"], {}) | ids for row in rows]), "utf-8", newline="")
    return path


def taken(campaign: Campaign, *paths: Path, **options: Any) -> list[Imported]:
    return import_files(campaign, [exchange.read_file(path, campaign) for path in paths], **options)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def state(campaign: Campaign) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in campaign.folder.rglob("*") if path.is_file()}


def label(name: str | None) -> Row:
    return {"skip": "x"} if name is None else {"label": name}


def test_answers_are_added_with_their_import(pairs: Campaign, tmp_path: Path) -> None:
    said = {FIRST: label("appropriate") | {"comment": " Well said. "}, THIRD: label(None)}
    one = handed_back(pairs, said, tmp_path / "one.csv")
    two = handed_back(pairs, {FOURTH: label("not_sure")}, tmp_path / "two.csv", RATERS[1])
    found = taken(pairs, one, two)
    assert found == [
        Imported(None, sha256(one), "csv", "main", ("ombrey-1",), units=2, skipped=1, answers=2, new=2, waiting=2),
        Imported(None, sha256(two), "csv", "main", ("tessok-2",), units=1, answers=1, new=1, waiting=3),
    ]
    assert pairs.history() == [
        Answer("main", "ombrey-1", FIRST, "label", "appropriate", comment="Well said.", import_number=1),
        Answer("main", "ombrey-1", THIRD, "label", None, import_number=1),
        Answer("main", "tessok-2", FOURTH, "label", "not_sure", import_number=2),
    ]
    assert pairs.imports() == [
        dict(zip(IMPORT, (1, None, sha256(one), "csv", "main", ["ombrey-1"], 2, 2, 0), strict=True)),
        dict(zip(IMPORT, (2, None, sha256(two), "csv", "main", ["tessok-2"], 1, 1, 0), strict=True)),
    ]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("main-ombrey-1.csv", True),
        ("main-ombrey-1.CSV", False),
        ("main-ombrey-1 (ada).csv", False),
        ("main-ada.csv", False),
        ("validation-ombrey-1.csv", False),
        ("Ada Ombrey <ada@example.org>.csv", False),
    ],
)
def test_the_names_of_files_are_kept_only_if_they_are_those_of_an_export(
    pairs: Campaign, tmp_path: Path, name: str, kept: bool
) -> None:
    (found,) = taken(pairs, handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / name))
    assert (found.file, pairs.imports()[0].file) == (name if kept else None,) * 2
    assert (found.raters, found.new) == (("ombrey-1",), 1)
    assert kept or not any(b"ada" in content or name.encode() in content for content in state(pairs).values())


def test_partial_exports_are_merged(pairs: Campaign, tmp_path: Path) -> None:
    taken(pairs, handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv"))
    said = {FIRST: label("appropriate"), SECOND: label("not_sure"), THIRD: label(None)}
    found = taken(pairs, handed_back(pairs, said, tmp_path / "two.csv"))
    assert [(each.new, each.changed, each.same, each.skipped) for each in found] == [(2, 0, 1, 1)]
    # An empty cell takes nothing back.
    taken(pairs, handed_back(pairs, {FOURTH: label("appropriate")}, tmp_path / "three.csv"))
    values = {question[2]: answer.value for question, answer in pairs.answers().items()}
    assert values == {FIRST: "appropriate", SECOND: "not_sure", THIRD: None, FOURTH: "appropriate"}


def test_the_same_file_twice_changes_nothing(pairs: Campaign, tmp_path: Path) -> None:
    path = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv")
    first, again = taken(pairs, path, path)
    assert (first.new, again.new, again.earlier) == (1, 0, 1)
    before = state(pairs)
    (again,) = taken(pairs, path)
    assert (again.earlier, again.answers, state(pairs)) == (1, 0, before)
    copy = tmp_path / "renamed.csv"
    copy.write_bytes(path.read_bytes() + b"\r\n")  # known answers in a file that is not
    (known,) = taken(pairs, copy)
    assert (known.earlier, known.same, state(pairs)) == (None, 1, before)


def test_files_given_again_do_nothing_though_one_changes_what_another_said(pairs: Campaign, tmp_path: Path) -> None:
    one = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv")
    two = handed_back(pairs, {FIRST: label("not_sure")}, tmp_path / "two.csv")
    taken(pairs, one, two, changes=True)
    before = state(pairs)
    for changes in (False, True):
        found = taken(pairs, one, two, changes=changes)
        assert [(each.earlier, each.changed, each.same) for each in found] == [(1, 0, 0), (2, 0, 0)]
        assert state(pairs) == before
    three = handed_back(pairs, {FIRST: label(None)}, tmp_path / "three.csv")
    taken(pairs, one, three, two, changes=True)
    assert [answer.value for answer in pairs.history()] == ["appropriate", "not_sure", None]
    assert [each.import_number for each in pairs.imports()] == [1, 2, 3]


def test_a_file_whose_answers_were_lost_brings_them_again(pairs: Campaign, tmp_path: Path) -> None:
    path = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv")
    taken(pairs, path)
    (pairs.folder / "answers.jsonl").unlink()
    assert taken(pairs, path)[0].new == 1
    assert [answer.value for answer in pairs.history()] == ["appropriate"]


def test_a_comment_without_an_answer_is_counted(pairs: Campaign, tmp_path: Path) -> None:
    said = {FIRST: {"comment": "Later."}, SECOND: label("not_sure") | {"comment": "So."}, THIRD: {"skip": "x"}}
    (found,) = taken(pairs, handed_back(pairs, said, tmp_path / "one.csv"))
    assert (found.remarks, found.units, found.waiting) == (1, 2, 2)
    assert [answer.comment for answer in pairs.history()] == ["So.", None]


@pytest.mark.parametrize("written", ["1.23457E+11", "1,23457E+11", "123456789012", "1.23E+11"])
def test_a_sha_that_a_spreadsheet_took_for_a_number_is_known(
    pairs: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setattr(task_view.Item, "text_sha", "123456789012")
    path = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "s.csv")
    assert taken(pairs, edited(path, lambda rows: rows[0].update(text_sha=written)))[0].new == 1


@pytest.mark.parametrize("written", ["1.3E+11", "1.23457E+12", "0", "nan", "inf"])
def test_another_number_is_no_sha(
    pairs: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setattr(task_view.Item, "text_sha", "123456789012")
    path = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "s.csv")
    with pytest.raises(InputError, match=f"text_sha is '{re.escape(written)}', expected 123456789012"):
        taken(pairs, edited(path, lambda rows: rows[0].update(text_sha=written)))


def test_an_untouched_sheet_adds_nothing(pairs: Campaign, tmp_path: Path) -> None:
    before = state(pairs)
    path = handed_back(pairs, {}, tmp_path / "one.csv")
    assert taken(pairs, path) == [Imported(None, sha256(path), "csv", "main")]
    assert state(pairs) == before


def test_a_changed_answer_is_refused_unless_it_is_allowed_and_its_history_is_kept(
    pairs: Campaign, tmp_path: Path
) -> None:
    taken(pairs, handed_back(pairs, {FIRST: label("appropriate"), SECOND: label(None)}, tmp_path / "one.csv"))
    said = {FIRST: label("not_sure"), SECOND: label("appropriate"), THIRD: label("appropriate")}
    later = handed_back(pairs, said, tmp_path / "two.csv")
    before = state(pairs)
    with pytest.raises(InputError) as refused:
        taken(pairs, later)
    assert str(refused.value) == (
        f"{later}: 2 answers differ from earlier ones: ombrey-1 on {FIRST}: label was appropriate (import 1), now "
        f"not_sure; ombrey-1 on {SECOND}: label was skipped (import 1), now appropriate; nothing was imported: accept "
        "them with --allow-changes, which stores both"
    )
    assert state(pairs) == before
    (found,) = taken(pairs, later, changes=True)
    assert (found.new, found.changed, found.same) == (1, 2, 0)
    assert [answer.value for answer in pairs.history()] == [
        "appropriate",
        None,
        "not_sure",
        "appropriate",
        "appropriate",
    ]
    values = [answer.value for answer in pairs.answers().values()]
    assert values == ["not_sure", "appropriate", "appropriate"]
    assert (pairs.imports()[1].n_changed, pairs.imports()[1].n_new) == (2, 1)


def test_two_files_of_one_command_that_disagree(pairs: Campaign, tmp_path: Path) -> None:
    one = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv")
    two = handed_back(pairs, {FIRST: label("not_sure")}, tmp_path / "two.csv")
    before = state(pairs)
    with pytest.raises(InputError, match=r"two\.csv: 1 answers differ from earlier ones"):
        taken(pairs, one, two)
    assert state(pairs) == before
    taken(pairs, one, two, changes=True)
    assert [answer.value for answer in pairs.answers().values()] == ["not_sure"]


def test_a_new_comment_on_a_known_answer_is_kept(pairs: Campaign, tmp_path: Path) -> None:
    taken(pairs, handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv"))
    said = {FIRST: label("appropriate") | {"comment": "After all."}}
    (found,) = taken(pairs, handed_back(pairs, said, tmp_path / "two.csv"))
    assert (found.new, found.changed, found.same) == (0, 1, 0)
    assert [answer.comment for answer in pairs.answers().values()] == ["After all."]
    said = {FIRST: label("appropriate"), SECOND: label("not_sure")}
    (found,) = taken(pairs, handed_back(pairs, said, tmp_path / "three.csv"))
    assert (found.new, found.changed, found.same) == (1, 0, 1)


def test_a_dry_run_checks_and_writes_nothing(pairs: Campaign, tmp_path: Path) -> None:
    path = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv")
    before = state(pairs)
    (found,) = taken(pairs, path, dry_run=True)
    assert (found.new, state(pairs)) == (1, before)
    (found,) = taken(pairs, path)
    assert (found.new, found.earlier) == (1, None)


def test_grades_of_every_aspect_and_half_filled_rows(tmp_path: Path) -> None:
    campaign = campaign_of("cseval", tmp_path / "campaign")
    said = {
        "re-1": {"relevance": 5, "coherence": "4,0", "aggressiveness": 1, "suitableness": 3},
        "re-2": {"relevance": 2},
        "re-3": {"skip": "yes", "comment": "Nothing there."},
    }
    (found,) = taken(campaign, handed_back(campaign, said, tmp_path / "one.csv"))
    assert (found.units, found.answers, found.skipped) == (3, 9, 1)
    assert [answer.value for answer in campaign.history()] == [5, 4, 1, 3, 2, None, None, None, None]
    assert {answer.comment for answer in campaign.history() if answer.unit_id == "re-3"} == {"Nothing there."}


def test_verdicts_are_kept_about_the_units_own_order(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    said = {"re-1:re-2": {"label": "a"}, "re-2:re-3": {"label": "B"}, "re-1:re-3": {"label": "tie"}}
    for rater in RATERS:
        taken(campaign, handed_back(campaign, said, tmp_path / f"{rater}.csv", rater))
    values = {(question[1], question[2]): answer.value for question, answer in campaign.answers().items()}
    assert values == {
        ("ombrey-1", "re-1:re-2"): "a",
        ("ombrey-1", "re-2:re-3"): "b",
        ("ombrey-1", "re-1:re-3"): "tie",
        ("tessok-2", "re-1:re-2"): "b",
        ("tessok-2", "re-2:re-3"): "a",
        ("tessok-2", "re-1:re-3"): "tie",
    }


def edited(path: Path, change: Callable[[list[Row]], object]) -> Path:
    text = path.read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    change(rows)
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(file.getvalue().encode())
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[1].update(unit_id="hs-9:cn-9"), "row 3: 'hs-9:cn-9' was not assigned to 'ombrey-1';"),
        (lambda rows: rows[1].update(rater="velmari-3"), "row 3: 'hs-1:cn-2' was not assigned to 'velmari-3';"),
        (lambda rows: rows[1].update(rater="dravene-4"), "row 3: 'hs-1:cn-2' was not assigned to 'dravene-4';"),
        (
            lambda rows: rows[0].update(label="fine"),
            'row 2: label is "fine", expected one of not_appropriate, not_sure, ',
        ),
        (lambda rows: rows[2].update(hate_speech="x"), "row 4: hate_speech differs from the exported text;"),
        (
            lambda rows: [(row.pop("hate_speech"), row.pop("counter_narrative")) for row in rows],
            "row 2: hate_speech differs from the exported text;",
        ),
        (lambda rows: rows[2].update(text_sha="0" * 12), "row 4: text_sha is '000000000000', expected "),
        (lambda rows: rows.append(dict(rows[0])), "row 6: hs-1:cn-1 is in the file already, in row 2;"),
        (lambda rows: rows[0].update(skip="x"), r"row 2: it was skipped and answered \(label\);"),
        (lambda rows: rows[0].update(campaign="other"), "row 2: campaign is 'other', expected 'tarn-pairs'"),
        (
            lambda rows: [row.update(round="second") for row in rows],
            "belongs to the round 'second', expected main: import",
        ),
        (lambda rows: rows[0].update(round="second"), "mixes the rounds second, main: import one file per round"),
        (
            lambda rows: rows[0].update(round="a\nb" + "c" * 90),
            "mixes the rounds a bc{37}, main: import one file per round",
        ),
        (lambda rows: rows[0].update(text_sha="x" * 900), "row 2: text_sha is 'x{270,290}; correct"),
        (lambda rows: [row.update(round="../units") for row in rows], "belongs to the round '../units', expected main"),
        (lambda rows: rows[0].update(seconds="soon"), "row 2: seconds is 'soon', expected a number;"),
    ],
)
def test_what_is_wrong_is_refused(
    pairs: Campaign, tmp_path: Path, change: Callable[[list[Row]], object], message: str
) -> None:
    said = {FIRST: label("appropriate"), SECOND: label("appropriate") | {"seconds": "3"}}
    path = edited(
        handed_back(pairs, {unit: {"seconds": "", **said.get(unit, {})} for unit in pairs.units()}, tmp_path / "s.csv"),
        change,
    )
    before = state(pairs)
    with pytest.raises(InputError, match=message) as refused:
        taken(pairs, path)
    assert "\n" not in str(refused.value)
    assert state(pairs) == before


def test_problems_are_counted_in_one_line(pairs: Campaign, tmp_path: Path) -> None:
    path = handed_back(pairs, dict.fromkeys(pairs.units(), label("fine")), tmp_path / "s.csv")
    expected = 'label is "fine", expected one of not_appropriate, not_sure, appropriate'
    with pytest.raises(InputError) as refused:
        taken(pairs, path)
    assert str(refused.value) == (
        f"{path}: nothing was imported: row 2: {expected}; row 3: {expected}; row 4: {expected}; and 1 more; "
        "correct this file: a new export has no answers"
    )


@pytest.mark.parametrize("value", ["0", "6", "2.5", "good"])
def test_grades_out_of_scale_are_refused(tmp_path: Path, value: str) -> None:
    campaign = campaign_of("cseval", tmp_path / "campaign")
    path = handed_back(campaign, {"re-2": {"coherence": value}}, tmp_path / "s.csv")
    with pytest.raises(InputError, match=f'row 3: coherence is "{value}", expected 1 to 5 without decimals'):
        taken(campaign, path)


def test_seconds_are_kept(pairs: Campaign, tmp_path: Path) -> None:
    said = {unit: {"seconds": "7,5" if unit == FIRST else ""} for unit in pairs.units()}
    said[FIRST] |= label("appropriate")
    taken(pairs, handed_back(pairs, said, tmp_path / "s.csv"))
    assert [answer.seconds for answer in pairs.history()] == [7.5]


def test_only_the_round_that_is_expected(pairs: Campaign, tmp_path: Path) -> None:
    path = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "s.csv")
    with pytest.raises(
        InputError, match="belongs to the round 'main', expected validation: import a file of that round"
    ):
        taken(pairs, path, round_name="validation")
    assert taken(pairs, path, round_name="main")[0].new == 1


def test_units_that_were_withdrawn_take_known_answers_and_late_ones_if_allowed(pairs: Campaign, tmp_path: Path) -> None:
    one = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv")
    two = handed_back(pairs, {FIRST: label("appropriate"), SECOND: label("not_sure")}, tmp_path / "two.csv")
    taken(pairs, one)
    withdraw(pairs, "ombrey-1", FIRST)
    withdraw(pairs, "ombrey-1", SECOND)
    with pytest.raises(
        InputError, match=f"row 3: {SECOND} was withdrawn from ombrey-1; accept the answer with --allow-withdrawn;"
    ):
        taken(pairs, two)
    (found,) = taken(pairs, two, late=True)
    assert (found.new, found.same) == (1, 1)


def test_people_are_named_by_pseudonyms_only(pairs: Campaign, tmp_path: Path) -> None:
    path = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "s.csv", rater=RATERS[0])
    path.write_bytes(path.read_bytes().replace(b"ombrey-1", b"ada@example.org"))
    with pytest.raises(InputError, match=r"row 2: .* was not assigned to 'ada@example\.org'"):
        taken(pairs, path)
    who = tmp_path / "who.csv"
    who.write_text("\ufeffuser;rater\r\nada@example.org;ombrey-1\r\n7;tessok-2\r\n")
    assert taken(pairs, path, people=read_people(who))[0].raters == ("ombrey-1",)
    assert not any(b"ada" in content for content in state(pairs).values())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user,rater\nada,\n", "row 2: expected a name under `user` and a pseudonym under `rater`"),
        ("name,rater\nada,ombrey-1\n", "row 2: expected a name under `user`"),
        (
            "user,rater\nada,ombrey-1\nada,tessok-2\n",
            "row 3: the same user is ombrey-1 and tessok-2: remove one of them",
        ),
    ],
)
def test_a_bad_file_of_raters(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "who.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_people(tmp_path / "who.csv")


def test_unanswered_units_are_handed_out_again(pairs: Campaign, tmp_path: Path) -> None:
    taken(pairs, handed_back(pairs, {FIRST: label("appropriate"), SECOND: label(None)}, tmp_path / "one.csv"))
    left = exchange.export(pairs, "csv", unanswered=True).handed
    assert {rater: [item.unit.unit_id for item in items] for rater, (_, items) in left.items()} == {
        "ombrey-1": [THIRD, FOURTH],
        "tessok-2": [FOURTH, THIRD, SECOND, FIRST],
    }
    rest = dict.fromkeys(pairs.units(), label("appropriate"))
    taken(pairs, handed_back(pairs, {THIRD: rest[THIRD], FOURTH: rest[FOURTH]}, tmp_path / "two.csv"))
    taken(pairs, handed_back(pairs, rest, tmp_path / "three.csv", RATERS[1]))
    with pytest.raises(InputError, match="the round main has no open units: there is nothing to export"):
        exchange.export(pairs, "csv", unanswered=True)


def test_answers_without_a_record_of_their_import_do_not_lend_their_number(pairs: Campaign, tmp_path: Path) -> None:
    with pairs.changing():
        pairs.write("answers.jsonl", [Answer("main", "tessok-2", FIRST, "label", "appropriate", import_number=4)])
    taken(pairs, handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv"))
    assert [each.import_number for each in pairs.imports()] == [5]


def test_the_command_line(pairs: Campaign, tmp_path: Path, run_cli: RunCli) -> None:
    out, result = tmp_path / "out", tmp_path / "result.json"
    command = ("annotate", "export", pairs.folder, "--out", out, "--rater", "ombrey-1", "--json", result)
    ran = run_cli(*command)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[0] == "Round main for csv"
    assert ran.stdout.splitlines()[-1] == (
        f"Next: fcconan annotate import {pairs.folder} FILES (after raters have filled in and returned the sheets)"
    )
    assert json.loads(result.read_text())["raters"] == [
        {"rater": "ombrey-1", "units": 4, "sessions": 2, "file": str(out / "main-ombrey-1.csv")}
    ]
    assert run_cli(*command).stdout.splitlines()[0] == "Round main for csv: everything was there already"
    sheet = edited(out / "main-ombrey-1.csv", lambda rows: rows[0].update(label="appropriate"))
    refused = run_cli(*command)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "exists with other content" in refused.stderr
    assert run_cli("annotate", "export", pairs.folder, "--out", pairs.folder / "out").returncode == 2

    assert run_cli("annotate", "import", pairs.folder, sheet, "--dry-run").stdout.startswith(
        "Checked; nothing was changed"
    )
    ran = run_cli("annotate", "import", pairs.folder, sheet, "--json", result)
    assert (ran.returncode, ran.stderr, ran.stdout.splitlines()[0]) == (0, "", "Imported")
    assert json.loads(result.read_text()) == {
        "dry_run": False,
        "files": [
            asdict(Imported(sheet.name, sha256(sheet), "csv", "main", ("ombrey-1",), 1, 0, 1, 1, 0, 0, waiting=3))
            | {"raters": ["ombrey-1"]}
        ],
    }
    renamed = sheet.rename(tmp_path / "ada.csv")
    ran = run_cli("annotate", "import", pairs.folder, renamed, "--json", result)
    assert "ada.csv" in ran.stdout
    assert "ada" not in result.read_text()
    sheet = renamed.rename(sheet)
    assert "imported before, by import 1" in run_cli("annotate", "import", pairs.folder, sheet).stdout
    before = sheet.read_bytes()
    edited(sheet, lambda rows: (rows[0].update(label="not_sure"), rows[1].update(comment="Hm.")))
    refused = run_cli("annotate", "import", pairs.folder, sheet)
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    ran = run_cli("annotate", "import", pairs.folder, sheet, "--allow-changes")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "1 comments without an answer were not stored; 3 units" in ran.stdout
    sheet.write_bytes(before)
    ran = run_cli("annotate", "import", pairs.folder, sheet)
    assert "imported before, by import 1" in ran.stdout
    assert [answer.value for answer in pairs.history()] == ["appropriate", "not_sure"]


class Killed(BaseException):
    """Ends an import, as a signal would."""


def killed_at(point: int, monkeypatch: pytest.MonkeyPatch, do: Callable[[], object]) -> bool:
    """Does something until right before (0, 2, ...) or after (1, 3, ...) a file takes its place, if one does."""
    real, passed = os.replace, count()

    def replaced(*args: Any) -> None:
        for half in range(2):
            if next(passed) == point:
                raise Killed
            if not half:
                real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replaced)
        try:
            do()
        except Killed:
            return True
    return False


@pytest.mark.parametrize(
    ("before", "given"),
    [("", "A"), ("", "AB"), ("", "FG"), ("F", "G"), ("FBG", "FAG"), ("FG", "AGF")],
    ids=["one", "two", "two that differ", "changes", "nothing new but one", "several"],
)
def test_an_import_that_is_killed_anywhere_and_given_again_is_as_if_it_had_not_been(
    pairs: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, given: str
) -> None:
    said = {
        "A": (RATERS[1], {FIRST: label("not_sure"), SECOND: label("appropriate")}),
        "B": (RATERS[0], {FOURTH: label("appropriate")}),
        "F": (RATERS[0], {FIRST: label("appropriate"), SECOND: label(None)}),
        "G": (RATERS[0], {FIRST: label("not_sure"), SECOND: label("appropriate"), THIRD: label("appropriate")}),
    }
    files = {name: handed_back(pairs, what, tmp_path / f"{name}.csv", rater) for name, (rater, what) in said.items()}
    for name in before:
        taken(pairs, files[name], changes=True)

    def do() -> object:
        return taken(pairs, *(files[name] for name in given), changes=True)

    shutil.copytree(pairs.folder, tmp_path / "before")
    do()
    expected, records = state(pairs), pairs.imports()
    assert {each.sha256 for each in records} == {sha256(files[name]) for name in before + given}
    point = 0
    while True:
        shutil.rmtree(pairs.folder)
        shutil.copytree(tmp_path / "before", pairs.folder)
        if not killed_at(point, monkeypatch, do):
            break
        do()
        assert (point, state(pairs)) == (point, expected)
        do()
        assert (point, state(pairs)) == (point, expected)
        point += 1
    assert point == 4  # two files


def test_a_record_without_answers_is_of_no_import(pairs: Campaign, tmp_path: Path) -> None:
    one = handed_back(pairs, {FIRST: label("appropriate")}, tmp_path / "one.csv")
    two = handed_back(pairs, {FIRST: label("appropriate"), SECOND: label(None)}, tmp_path / "two.csv")
    taken(pairs, one)
    answers = (pairs.folder / "answers.jsonl").read_bytes()
    taken(pairs, two)
    # As it is when the second import is killed before its answers are written, and another file comes then.
    (pairs.folder / "answers.jsonl").write_bytes(answers)
    assert [record.sha256 for record in pairs.imports()] == [sha256(one)]
    other = handed_back(pairs, {FOURTH: label(None)}, tmp_path / "other.csv")
    taken(pairs, other)
    assert [(record.import_number, record.sha256) for record in pairs.imports()] == [
        (1, sha256(one)),
        (2, sha256(other)),
    ]
