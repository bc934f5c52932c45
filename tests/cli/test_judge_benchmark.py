"""`fcconan judge benchmark`: the shape of its result, its report, and what it refuses."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from fcconan.reporting.html_tables import View
from fcconan.reporting.judge_benchmark import judge_page, judge_tables
from tests.browsing import accessibility_problems, launched, needs_chromium, visit
from tests.cli.judging import fcconan
from tests.judging.simulated_judgements import simulated

SUITE = """
name: invented
folds: 4
train_released: [good]
raters:
  surface: {kind: learned, parts: [surface]}
  with gpt-9: {kind: learned, parts: [surface], ratings: [gpt-9]}
  length only: {kind: control, parts: [length]}
compare: [surface, good, "good, trained", nobody]
curve: {raters: [surface], labels: [20], seeds: 2}
transfer: [surface]
"""
NAMES = {"good", "blind", "half", "length", "rude", "surface", "length only", "good, trained"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judges")
    replies, ratings = simulated(messages=24, replies=4)
    for name, rows in (("replies", replies), ("ratings", ratings)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(SUITE)
    return folder


def run(folder: Path, *options: object) -> Any:
    given = [folder / "ratings.jsonl", "--replies", folder / "replies.jsonl", "--suite", folder / "suite.yaml"]
    return fcconan("judge", "benchmark", *given, "--resamples", 30, *options)


@pytest.fixture(scope="module")
def result(folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fcconan.oldcli.progress.PAUSE", 0.05)
        done = run(folder, "--json", folder / "judges.json", "--report-folder", folder / "report")
    assert done.status == 0, done
    parts = "raters|subsets of the label curve|held-out systems and rounds"
    said = rf"Reading ratings|\d+ of \d+ ({parts})|Correlations of 8 raters with people"
    lines = done.stderr.splitlines()
    assert lines and all(re.fullmatch(said, line) for line in lines), lines
    data = json.loads((folder / "judges.json").read_text(encoding="utf-8"))
    return data | {"printed": done.stdout}


def test_the_shape_of_the_result(result: Any) -> None:
    assert set(result) == {
        "signature", "banner", "notes", "dataset", "suite", "counts", "rows", "people", "tests", "families", "curve",
        "transfer", "printed",
    }  # fmt: skip
    assert result["banner"] == "Trained on these raters; no evidence for other raters, systems or topics."
    assert {row["rater"] for row in result["rows"]} == NAMES
    assert {row["level"] for row in result["rows"]} == {"pooled", "per_item", "per_system", "system_means"}
    assert {row["coefficient"] for row in result["rows"]} == {"spearman", "pearson", "kendall_b"}
    assert {row["part"] for row in result["rows"]} == {
        "all", "round round1", "round round2", "system system-0", "system system-1", "system system-2",
    }  # fmt: skip
    assert {row["kind"] for row in result["rows"]} == {"model", "metric", "learned", "trained", "control"}
    assert {row["evaluated"] for row in result["rows"]} == {"clean"}
    ends = [row for row in result["rows"] if row["low"] is not None]
    assert {(row["part"], row["coefficient"]) for row in ends} == {("all", "spearman")}
    assert len(result["tests"]) == 6 and {row["test"] for row in result["tests"]} == {"perm_input"}
    assert {row["held_out"] for row in result["transfer"]} == {"system", "round"}
    assert [row["labels"] for row in result["curve"]] == [20, 20, 72, 72]
    assert result["counts"]["clean"] == result["counts"]["rows"] == 96 and result["counts"]["messages"] == 24
    assert "with gpt-9 is left out: the dataset has no ratings by gpt-9." in result["notes"]
    assert "|judges:invented-" in result["signature"] and "|folds:4-by-leakage-group|" in result["signature"]


def test_people_are_compared_with_the_same_people(result: Any) -> None:
    rows = {(row["rater"], row["aspect"]): row for row in result["people"]}
    assert {row["one_person"] for (_, aspect), row in rows.items() if aspect == "relevance"} == {
        rows["surface", "relevance"]["one_person"], rows["half", "relevance"]["one_person"],
    }  # fmt: skip
    row = next(
        row
        for row in result["rows"]
        if (row["rater"], row["aspect"], row["level"], row["part"], row["coefficient"])
        == ("surface", "relevance", "pooled", "all", "spearman")
    )
    assert rows["surface", "relevance"]["one_person"] == pytest.approx(row["ceiling"])


def test_the_terminal_has_the_leaderboard_controls_and_tests(result: Any) -> None:
    printed = result["printed"]
    for title in ("Raters by their mean Spearman", "Controls (clean rows, pooled)", "Differences of pooled Spearman"):
        assert title in printed
    assert result["banner"] in printed and "Report: " in printed and result["signature"] in printed
    assert "Within the replies to an HS" not in printed


def test_the_report_has_the_same_values_in_all_its_forms(folder: Path, result: Any) -> None:
    report = folder / "report"
    assert {path.name for path in report.iterdir()} == {
        "report.html", "report.md", "results.csv", "results.json", "label-curve.svg",
    }  # fmt: skip
    page, markdown = (report.joinpath(name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
    for name in NAMES:
        assert name in page and name in markdown
    for title in ("Leaderboard", "Label curve", "Controls", "By level, round and system", "never saw"):
        assert title in page
    assert page.index("Leaderboard</h2>") < page.index("Label curve</h2>") < page.index("Controls</h2>")
    assert "Doubtful rows</h2>" not in page and result["banner"] in page and result["signature"] in page
    with (report / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(result["rows"])
    assert [row["value"] for row in rows] == [
        "" if row["value"] is None else str(row["value"]) for row in result["rows"]
    ]
    same = json.loads((report / "results.json").read_text(encoding="utf-8"))
    assert same == {key: value for key, value in result.items() if key != "printed"}


@pytest.mark.long
@needs_chromium
def test_the_page_is_accessible_and_fits_a_telephone(folder: Path, result: Any) -> None:
    with launched() as browser:
        for theme in ("light", "dark"):
            with visit(browser, folder / "report" / "report.html", theme=theme) as page:
                assert accessibility_problems(page) == [], theme
                page.set_viewport_size({"width": 390, "height": 800})
                assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_raters_of_few_rows_are_set_apart(result: Any) -> None:
    """With 96 rows a rater needs 92 of them (95 %): surface has a few less, good far less, and the best values."""
    numbers = {"good": 40, "surface": 92, "half": 91}
    data = {key: value for key, value in result.items() if key != "printed"}
    data["rows"] = [
        {**row, "n": numbers.get(row["rater"], 96), "value": 0.99 if row["rater"] == "good" else row["value"]}
        for row in data["rows"]
    ]
    board = judge_tables(data, details=False)[0]
    assert board.title.endswith("(clean rows, pooled); raters of few of the rows last")
    before = [row[0] for row in judge_tables(result, details=False)[0].rows]
    assert before[-1] == "half"  # which rated half of the rows
    apart = {row[0]: row[-1] for row in board.rows if " of " in row[-1]}
    assert apart == {"good": "40 of 96", "half": "91 of 96"}
    assert [row[0] for row in board.rows][-2:] == ["good", "half"] and board.rows[-2][2] == "0.990"
    assert [row[0] for row in board.rows[:-2]] == [name for name in before if name not in apart]
    page = judge_page(data)
    view = page.sections[0].tables[0]
    assert isinstance(view, View) and view.grey == [len(board.rows) - 2, len(board.rows) - 1]
    assert "good (40 of 96 rows)" in str(page.plot) and "surface (" not in str(page.plot)
    same = {**data, "rows": [{**row, "n": 40} for row in data["rows"]]}
    board = judge_tables(same, details=False)[0]
    assert board.title.endswith("(clean rows, pooled)") and {row[-1] for row in board.rows} == {"40"}


def test_the_same_input_gives_the_same_bytes(folder: Path, result: Any) -> None:
    done = run(folder, "--json", folder / "again.json")
    assert done.status == 0
    assert (folder / "again.json").read_bytes() == (folder / "judges.json").read_bytes()


def test_what_cannot_be_used_is_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = run(folder, "--report-folder", tmp_path)
    assert done.status == 2 and "holds files but no report.html" in done.complaint
    (tmp_path / "suite.yaml").write_text("name: x\nraters: {a: {kind: learned}}\n")
    done = fcconan("judge", "benchmark", "demo", "--suite", tmp_path / "suite.yaml")
    assert done.status == 2 and "give parts, ratings, or both" in done.complaint
