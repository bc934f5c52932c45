import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from fcconan.services import AssignOptions, SheetOptions

from fcconan.annotation import import_files
from fcconan.annotation.assignment.assignments import Blocks
from fcconan.annotation.campaigns import VALIDATION, Assignment, Campaign, Unit
from fcconan.annotation.tools import csv_sheets, exchange, guidelines, task_view
from fcconan.annotation.tools.files import GivenFile
from fcconan.annotation.tools.task_view import Question, text_sha
from fcconan.errors import InputError
from fcconan.judging import Aspect
from tests.annotation.handed_out import CN, HS, RATERS, REPLIES, campaign_of, withdraw

Row = dict[str, Any]
TASKS = ("appropriateness", "multi-aspect", "cseval", "features", "pairwise", "grounded")


@pytest.fixture
def pairs(tmp_path: Path) -> Campaign:
    return campaign_of("appropriateness", tmp_path / "campaign")


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """The same for tests that only read it."""
    return campaign_of("appropriateness", tmp_path_factory.mktemp("unchanged") / "campaign")


def rows_of(campaign: Campaign, rater: str = RATERS[0], tool: str = "csv", **options: Any) -> list[Row]:
    export = exchange.export(campaign, tool, **options)
    text = export.files[export.handed[rater][0]]
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def read(campaign: Campaign, path: Path, content: str | bytes) -> GivenFile:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return exchange.read_file(path, campaign)


def filled(campaign: Campaign, *, separator: str = ",", end: str = "\n") -> str:
    rows = rows_of(campaign)
    rows[0]["label"], rows[1]["skip"], rows[2] = (
        "appropriate",
        "x",
        rows[2] | {"label": "Not_Sure", "comment": "Hm; so, so"},
    )
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(rows[0]), delimiter=separator, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def test_a_sheet_of_pairs(unchanged: Campaign) -> None:
    first = rows_of(unchanged)
    assert list(first[0]) == (
        "campaign round rater unit_id text_sha session hate_speech counter_narrative label comment skip".split()
    )
    assert [row["unit_id"] for row in first] == list(unchanged.units())
    assert [row["session"] for row in first] == ["1", "1", "2", "2"]
    assert first[0]["counter_narrative"] == CN["cn-1"]
    assert first[2]["hate_speech"] == HS["hs-2"]
    assert {(row["label"], row["comment"], row["skip"]) for row in first} == {("", "", "")}
    # Of sha256sum, for "hate_speech=The Ombrey never ...", a line feed, "counter_narrative=The library's list ...".
    assert first[0]["text_sha"] == "2ff9935cd320"
    assert [row["unit_id"] for row in rows_of(unchanged, RATERS[1])] == list(unchanged.units())[::-1]


def test_a_sheet_of_replies_has_a_column_for_every_aspect_and_the_context(tmp_path: Path) -> None:
    campaign = campaign_of("cseval", tmp_path / "one")
    assert list(rows_of(campaign)[0])[6:] == (
        "hate_speech reply relevance coherence aggressiveness suitableness comment skip".split()
    )
    campaign = campaign_of("grounded", tmp_path / "two", context=["references", "background", "hate_speech"])
    row = rows_of(campaign)[0]
    assert list(row)[6:10] == ["hate_speech", "references", "background", "reply"]
    assert (row["references"], row["background"]) == (
        "A reference.\n\nAnother one.",
        "Velmari glass is blown in Tarn.",
    )


def test_a_comparison_is_shown_in_the_order_of_its_assignment(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    straight, turned = rows_of(campaign)[0], rows_of(campaign, RATERS[1])[2]
    assert straight["unit_id"] == turned["unit_id"] == "re-1:re-2"
    lamp, salt = REPLIES["re-1"][2], REPLIES["re-2"][2]
    assert (straight["reply_a"], straight["reply_b"]) == (lamp, salt)
    assert (turned["reply_a"], turned["reply_b"]) == (salt, lamp)
    assert straight["text_sha"] != turned["text_sha"]


def test_a_text_that_the_task_shows_and_a_reply_lacks_is_an_error(tmp_path: Path) -> None:
    campaign = campaign_of("grounded", tmp_path / "campaign")
    replies = [row | {"background": None} for row in campaign.texts().values()]
    (tmp_path / "campaign" / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in replies))
    with pytest.raises(InputError, match="the reply re-1 has no background, which the task shows: add that column"):
        exchange.export(campaign, "csv")


def test_the_hate_speech_of_a_reply_may_stand_in_the_list_of_hs(tmp_path: Path) -> None:
    campaign = campaign_of("cseval", tmp_path / "campaign")
    replies = [row | {"hate_speech": None} for row in campaign.texts().values()]
    (tmp_path / "campaign" / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in replies))
    (tmp_path / "campaign" / "hs.jsonl").write_text('{"hs_id": "hs-1", "text": "Ostrun snails are slow."}\n')
    assert {row["hate_speech"] for row in rows_of(campaign)} == {"Ostrun snails are slow."}


def test_white_space_does_not_change_the_sha_of_texts_but_words_and_order_do() -> None:
    sha = text_sha({"reply_a": "One  two\n", "reply_b": "three"})
    assert sha == text_sha({"reply_a": "One two", "reply_b": " three"})
    assert sha != text_sha({"reply_a": "three", "reply_b": "One two"})
    assert sha != text_sha({"reply_a": "One", "reply_b": "two three"})


FORMULAS = {
    "=HYPERLINK(1)": "'=HYPERLINK(1)",
    "+1": "'+1",
    "- they read": "'- they read",
    "@Velmari": "'@Velmari",
    "\t=1": "'\t=1",
    "\r=1": "'\r=1",
    "'=1": "''=1",
    "''@": "'''@",
    "'Tis so": "'Tis so",
    "1-1=0": "1-1=0",
    "'": "'",
}


def test_no_text_becomes_a_formula_and_each_comes_back(pairs: Campaign, tmp_path: Path) -> None:
    for text, cell in FORMULAS.items():
        cns = [{"cn_id": "cn-1", "text": text}, {"cn_id": "cn-2", "text": CN["cn-2"]}]
        (pairs.folder / "cn.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cns))
        rows = rows_of(pairs)
        assert (rows[0]["counter_narrative"], rows[1]["counter_narrative"]) == (cell, CN["cn-2"])
        file = read(pairs, tmp_path / "s.csv", filled(pairs, end="\r\n"))
        assert file.units[0].texts["counter_narrative"] == text.strip()
        # text_sha and the text itself are those that were given out.
        (found,) = import_files(pairs, [file], dry_run=True)
        assert (found.new, found.units) == (3, 3)


def test_a_remark_is_kept_as_it_was_made(unchanged: Campaign, tmp_path: Path) -> None:
    text = filled(unchanged)
    assert text.count("Hm; so, so") == 1
    assert read(unchanged, tmp_path / "s.csv", text.replace("Hm; so, so", "'- so")).units[2].comment == "'- so"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_whatever_a_spreadsheet_makes_of_a_sheet_is_read(
    unchanged: Campaign, tmp_path: Path, separator: str, end: str, encoding: str
) -> None:
    name = "sheet.tsv" if separator == "\t" else "sheet.csv"
    found = read(unchanged, tmp_path / name, filled(unchanged, separator=separator, end=end).encode(encoding))
    assert [(one.where, one.values, one.skipped, one.comment) for one in found.units] == [
        ("row 2", {"label": "appropriate"}, False, None),
        ("row 3", {}, True, None),
        ("row 4", {"label": "Not_Sure"}, False, "Hm; so, so"),
        ("row 5", {}, False, None),
    ]
    assert [one.texts["counter_narrative"].split() for one in found.units[:2]] == [
        CN["cn-1"].split(),
        CN["cn-2"].split(),
    ]
    assert found.units[0].ids == {
        "campaign": "tarn-pairs",
        "round": "main",
        "rater": "ombrey-1",
        "unit_id": "hs-1:cn-1",
        "text_sha": rows_of(unchanged)[0]["text_sha"],
    }


def test_empty_rows_and_emptied_columns_are_passed_over(unchanged: Campaign, tmp_path: Path) -> None:
    head, _, rest = filled(unchanged, separator=";").partition("\n")
    found = read(unchanged, tmp_path / "s.csv", f"{head};;\n\n;;\n{rest}")
    assert [one.where for one in found.units] == ["row 4", "row 5", "row 6", "row 7"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            lambda text: text[: len(text) - 30],
            r"row \d: (found \d+ cells, expected 11|not CSV .*): the file was cut off",
        ),
        (lambda text: text.replace("label", "Label", 1), "row 2: missing column label: import the sheet"),
        (lambda text: text.replace("comment", "note", 1), "row 2: unknown column note: remove or rename it"),
        (lambda text: text.replace("skip", "comment", 1), "two columns have the same name"),
        (lambda text: "", "is empty"),
        (lambda text: text.replace("hs-1:cn-2,", "hs-1:cn-2", 1), "row 3: found 10 cells, expected 11"),
    ],
)
def test_a_broken_sheet_is_refused(
    unchanged: Campaign, tmp_path: Path, broken: Callable[[str], str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(unchanged, tmp_path / "s.csv", broken(filled(unchanged)))


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_no_cut_off_sheet_is_taken_for_a_whole_row(unchanged: Campaign, tmp_path: Path, cut: int) -> None:
    text = filled(unchanged).rstrip("\n").rstrip(",")  # the last row ends in three empty cells
    with pytest.raises(InputError, match="the file was cut off or edited by hand"):
        read(unchanged, tmp_path / "s.csv", text[:-cut])


def test_other_broken_files_are_refused(unchanged: Campaign, tmp_path: Path) -> None:
    rows = json.dumps(rows_of(unchanged))
    for name, content, message in (
        ("a.json", rows[:-20], "not JSON"),
        ("a.csv", "Ünit\n".encode("latin-1"), "byte 0 is not utf-8: save the file as UTF-8"),
        ("a.xlsx", "x", r"ends in .xlsx, expected .csv, .tsv or .json"),
        ("a.json", '[{"data": ', "not JSON"),
        ("a.json", rows.replace('"comment": ""', r'"comment": "\ud83d"', 1), "not JSON .*surrogates not allowed"),
        ("a.json", rows.replace('"label"', '"label": "appropriate", "label"', 1), "not JSON .*a key twice"),
        ("a.json", rows, r"task 1: no `data` or `annotations`: export the project as JSON \(not JSON-MIN\)"),
        ("a.json", '{"data": 1}', "expected a JSON list of tasks"),
    ):
        with pytest.raises(InputError, match=message):
            read(unchanged, tmp_path / name, content)
    with pytest.raises(InputError, match="does not exist"):
        exchange.read_file(tmp_path / "none.csv", unchanged)


def test_what_is_written_is_there_afterwards_and_nothing_is_overwritten(pairs: Campaign, tmp_path: Path) -> None:
    files = exchange.export(pairs, "csv").files
    assert sorted(files) == ["guidelines.html", "guidelines.md", "main-ombrey-1.csv", "main-tessok-2.csv"]
    out = tmp_path / "out"
    assert exchange.write(out, files)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        name: text.encode() for name, text in files.items()
    }
    assert not exchange.write(out, files)
    (out / "main-ombrey-1.csv").write_text(filled(pairs))
    (out / "guidelines.md").unlink()
    with pytest.raises(InputError, match=r"main-ombrey-1\.csv exists with other content, perhaps with answers"):
        exchange.write(out, files)
    assert not (out / "guidelines.md").exists()


def test_whose_and_what_is_handed_out(pairs: Campaign) -> None:
    assert list(exchange.export(pairs, "csv", raters=["tessok-2"]).handed) == ["tessok-2"]
    withdraw(pairs, "tessok-2", "hs-1:cn-1")
    assert [len(items) for _, items in exchange.export(pairs, "csv").handed.values()] == [4, 3]
    for name, options, message in (
        (
            "a rater without units",
            {"raters": ["velmari-3"]},
            "no units of 'velmari-3', expected one of ombrey-1, tessok-2",
        ),
        ("another round", {"round_name": "second"}, "no round 'second', only main"),
    ):
        with pytest.raises(InputError, match=message):
            exchange.export(pairs, "csv", **options)
        assert name


def test_every_tool_of_the_options_has_files_and_a_kind_of_file() -> None:
    assert set(get_args(SheetOptions.model_fields["tool"].annotation)) == set(exchange.TOOLS) == set(task_view.ENDS)


def test_options_name_the_blocks() -> None:
    assert get_args(AssignOptions.model_fields["blocks"].annotation) == get_args(Blocks)


LABEL = Question("label", "", "", (("a", ""), ("tie", "")))
GRADE = Question("depth", "", "", low=1, high=5)
FINE = Question("depth", "", "", low=0, high=5, decimals=2)


@pytest.mark.parametrize(
    ("question", "given", "value"),
    [
        (LABEL, " Tie", "tie"),
        (LABEL, "A", "a"),
        (GRADE, "4", 4),
        (GRADE, "4.0", 4),
        (GRADE, 5.0, 5),
        (FINE, "2,25", 2.25),
        (FINE, 0, 0.0),
    ],
)
def test_answers_are_read(question: Question, given: Any, value: Any) -> None:
    assert question.value(given) == value
    assert type(question.value(given)) is type(value)


@pytest.mark.parametrize(
    ("question", "given"),
    [
        (LABEL, "b"),
        (LABEL, ["a", "tie"]),
        (LABEL, 1),
        (GRADE, "0"),
        (GRADE, "6"),
        (GRADE, "3.5"),
        (GRADE, True),
        (GRADE, "nan"),
        (GRADE, "five"),
        (FINE, "2.255"),
        (FINE, "inf"),
        (FINE, None),
        (FINE, 10**400),
    ],
)
def test_what_is_no_answer_is_refused(question: Question, given: Any) -> None:
    with pytest.raises(ValueError, match=f"^{question.name} is .*, expected "):
        question.value(given)


def test_an_aspect_cannot_have_the_name_of_a_column(tmp_path: Path) -> None:
    campaign = campaign_of("cseval", tmp_path / "campaign")
    aspect = campaign.task.aspects[0]
    renamed: Aspect = aspect.model_copy(update={"name": "comment"})
    campaign.task = campaign.task.model_copy(update={"aspects": [renamed]})
    with pytest.raises(InputError, match="an aspect has the name of a column, comment: rename it"):
        exchange.export(campaign, "csv")


def test_a_validation_shows_the_label_and_asks_for_agreement(tmp_path: Path) -> None:
    campaign = campaign_of("pairwise", tmp_path / "campaign")
    with campaign.changing():
        campaign.write(
            "rounds/validation.jsonl",
            [Assignment("velmari-3", "re-1:re-2", 1, swapped=True), Assignment("velmari-3", "re-2:re-3", 2)],
        )
    (campaign.folder / "rounds" / "validation.shown.jsonl").write_text(
        '{"rater": "velmari-3", "unit_id": "re-1:re-2", "label": "a"}\n'
        '{"rater": "velmari-3", "unit_id": "re-2:re-3", "label": "tie"}\n'
    )
    export = exchange.export(campaign, "csv", round_name=VALIDATION)
    rows = list(
        csv.DictReader(io.StringIO(export.files["validation-velmari-3.csv"].removeprefix("\ufeff"), newline=""))
    )
    # The first one is shown the other way round, so what was decided for A is shown as being for B.
    assert [row["shown"] for row in rows] == ["label: b", "label: tie"]
    assert [name for name, _ in task_view.questions(campaign, VALIDATION)[0].options] == ["agree", "disagree"]
    assert export.files["guidelines.md"].startswith("# Guidelines: do you agree?")
    assert "# Guidelines: which of two replies" in export.files["guidelines.md"]
    # The column says what is wanted.
    assert [rows[0]["agree_or_disagree"], rows[0].get("label")] == ["", None]
    sheet = csv_sheets.as_csv([row | {"agree_or_disagree": "Agree"} for row in rows])
    read = csv_sheets.read(tmp_path / "sheet.csv", sheet.removeprefix("\ufeff"), campaign)
    assert [given.values for given in read] == [{"agree_or_disagree": "Agree"}] * 2


def test_a_review_shows_the_grades_of_the_others(tmp_path: Path) -> None:
    campaign = campaign_of("cseval", tmp_path / "campaign")
    with campaign.changing():
        campaign.write("rounds/review.jsonl", [Assignment("ombrey-1", "re-1", 1)])
    row = {
        "rater": "ombrey-1",
        "unit_id": "re-1",
        "you said": {"relevance": 5},
        "the others said": {"relevance": [1, 2]},
    }
    (campaign.folder / "rounds" / "review.shown.jsonl").write_text(json.dumps(row) + "\n")
    export = exchange.export(campaign, "csv", round_name="review")
    (given,) = rows_of(campaign, round_name="review")
    assert given["shown"] == "you said: relevance: 5\nthe others said: relevance: 1, 2"
    told = " ".join(export.files["guidelines.md"].split())
    assert told.startswith("# Guidelines: a second look")
    assert "What you and they said is shown in the column `shown`. Answer once more" in told
    studio = exchange.export(campaign, "label-studio", round_name="review").files["guidelines.md"]
    assert 'said is shown under "For your information". Answer' in studio


@pytest.mark.parametrize("task", TASKS)
def test_guidelines_are_those_of_the_catalogue_while_the_task_is(task: str, tmp_path: Path) -> None:
    campaign = campaign_of(task, tmp_path / "campaign")
    catalogue = guidelines.guidelines(campaign, "main")
    assert catalogue == (Path(__file__).parents[2] / "annotations" / task / "guidelines.md").read_text("utf-8")
    page = guidelines.as_page(catalogue, campaign)
    assert page.count("<table>") == catalogue.count("\n|---") >= 1
    campaign.task = campaign.task.model_copy(update={"question": "Is <b>it</b> so?"})
    own = guidelines.guidelines(campaign, "main")
    assert own.startswith(f"# {campaign.task.title}\n\n> Is <b>it</b> so?\n")
    assert "&lt;b&gt;" in guidelines.as_html(own)
    for question in task_view.questions(campaign, "main"):
        for name, meaning in guidelines.meanings(question):
            assert f"| `{name}` | {' '.join(meaning.split())} |" in own
    assert "You may skip any item" in own
    for guide in (catalogue, own):
        assert "left blank" not in guide
    (campaign.folder / "guidelines.md").write_text("# Ours\n")
    assert guidelines.guidelines(campaign, "main") == "# Ours\n"


def test_guidelines_of_sheets_explain_the_columns(tmp_path: Path) -> None:
    """Guidelines for other tools have no section on columns."""
    campaign = campaign_of("multi-aspect", tmp_path / "grades")
    (campaign.folder / "guidelines.md").write_text("# Ours\n")
    assert exchange.export(campaign, "label-studio").files["guidelines.md"] == "# Ours\n"
    assert exchange.export(campaign, "csv").files["guidelines.md"] == (
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
    sheet = guidelines.guidelines(pairs, "main", "csv")
    assert "- `label`: `not_appropriate`, `not_sure`, `appropriate`\n" in sheet
    assert "- `agree_or_disagree`: `agree`, `disagree`\n" in guidelines.guidelines(pairs, VALIDATION, "csv")


def test_a_unit_or_text_that_is_missing_is_named(pairs: Campaign) -> None:
    units = [replace(unit, cn_id="cn-9") if unit.unit_id == "hs-1:cn-1" else unit for unit in pairs.units().values()]
    with pairs.changing():
        pairs.write("units.jsonl", units)
    with pytest.raises(InputError, match="has no text cn-9: restore its files from a backup"):
        exchange.export(pairs, "csv")
    with pairs.changing():
        pairs.write("units.jsonl", [Unit("hs-1:cn-2", hs_id="hs-1", cn_id="cn-2")])
    with pytest.raises(InputError, match="has no unit hs-1:cn-1: restore its files from a backup"):
        exchange.export(pairs, "csv")


def test_a_rater_who_is_unknown_is_refused(pairs: Campaign) -> None:
    assignments = [replace(each, rater="../ombrey") for each in pairs.assignments() if each.rater == RATERS[0]]
    with pairs.changing():
        pairs.write("rounds/main.jsonl", assignments)
    with pytest.raises(InputError, match=r"has no rater \.\./ombrey: restore"):
        exchange.export(pairs, "csv")
