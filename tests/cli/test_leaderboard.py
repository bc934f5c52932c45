"""`fcconan leaderboard`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.judging import fcconan
from tests.cli.scored import ratings, write_rows

ROWS = [
    *ratings("anna", [1, 2, 3, 4, 5, 3]),
    *ratings("ben", [3, 2, "", 4, 5, 3]),
    *({**row, "low": "", "high": ""} for row in ratings("bleu[/b]", [0.5] * 6, "metric", "score")),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _result(*options: object) -> Any:
    done = fcconan("leaderboard", "x.csv", "--json", "result.json", "--resamples", 40, *options)
    assert (done.status, done.stderr) == (0, ""), done
    return json.loads(Path("result.json").read_text(encoding="utf-8"))


def test_systems_by_people_and_metrics() -> None:
    write_rows(Path("x.csv"), ROWS)
    result = _result("--report", "page.html")
    assert [(row["rater"], row["system"], row["value"], row["n"]) for row in result["rows"]] == [
        ("people", "A", pytest.approx((2 + 3 + 5) / 3, abs=1e-12), 3),
        ("people", "B", pytest.approx((2 + 4 + 3) / 3, abs=1e-12), 3),
        ("bleu[/b]", "A", 0.5, 3),
        ("bleu[/b]", "B", 0.5, 3),
    ]
    assert "Mean ratings by people" in Path("page.html").read_text(encoding="utf-8")
    assert "bleu[/b]" in fcconan("leaderboard", "x.csv", "--resamples", 0).stdout


def test_a_column_for_each_rater() -> None:
    rows = [{"reply_id": f"r{at}", "system": "AB"[at % 2], "h": at, "m": 1} for at in range(4)]
    write_rows(Path("x.csv"), rows)
    result = _result("--value", "people=h", "--value", "bleu=m", "--human", "people")
    found = [(row["rater"], row["rater_kind"], row["system"], row["value"]) for row in result["rows"]]
    assert found == [
        ("people", "human", "B", 2.0),
        ("people", "human", "A", 1.0),
        ("bleu", "metric", "A", 1.0),
        ("bleu", "metric", "B", 1.0),
    ]
    assert "|people:people|raters:all|" in result["signature"]
    columns = ("--value", "people=h", "--value", "bleu=m")
    assert "|people:none|raters:all|" in _result(*columns)["signature"]
    assert "|people:none|raters:bleu|" in _result(*columns, "--rater", "bleu")["signature"]


def test_what_is_left_out_is_said() -> None:
    judged = [*ratings("judge", [1] * 6, "model"), *ratings("judge", [2] * 6, "model", "tone")]
    write_rows(Path("x.csv"), ROWS)
    assert _result()["notes"] == []
    write_rows(Path("x.csv"), [*ROWS, *judged])
    result = _result("--report", "page.html")
    assert {row["aspect"] for row in result["rows"] if row["rater"] == "judge"} == {"relevance"}
    assert result["notes"] == ["judge also rated tone, which people did not rate on a scale: --aspect shows it."]
    assert result["notes"][0] in Path("page.html").read_text(encoding="utf-8")
    assert result["notes"][0] in fcconan("leaderboard", "x.csv", "--resamples", 0).stdout
    chosen = _result("--aspect", "tone")
    assert ({row["aspect"] for row in chosen["rows"]}, chosen["notes"]) == ({"tone"}, [])
    unknown = [{**row, "system": "unknown" if row["reply_id"] == "r3B" else row["system"]} for row in ROWS]
    write_rows(Path("x.csv"), unknown)
    assert _result()["notes"] == ["Replies of no known system: 1 of 6, left out."]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rater", "dora"], "there is no rater 'dora': known are people, anna, ben, bleu[/b]"),
        (["--aspect", "tone"], "there is no aspect 'tone': known are relevance, score"),
        (["--column", "system=writer"], "x.csv has no column 'writer', but reply_id, item_id"),
        (
            ["--where", "rater=anna", "--where", "aspect=score"],
            "no row has rater anna and aspect score together: ask for less",
        ),
        (["--confidence", "0"], "--confidence is 0: give a number between 0 and 1, such as 0.95"),
        (["--json", "/dev/null"], "/dev/null is no file: choose another file for the result"),
        (["--report", "page"], "page is no page: give a file that ends in .html"),
    ],
)
def test_bad_options_are_refused(options: list[str], message: str) -> None:
    write_rows(Path("x.csv"), ROWS)
    assert fcconan("leaderboard", "x.csv", *options).complaint.startswith(message)
    assert [path.name for path in Path().iterdir()] == ["x.csv"]


def test_bad_rows_are_refused() -> None:
    write_rows(Path("x.csv"), [{key: row[key] for key in row if key != "system"} for row in ROWS])
    assert fcconan("leaderboard", "x.csv").complaint == (
        "the rows do not say which system wrote each reply: give the replies, or a column `system`"
    )
    write_rows(Path("x.csv"), [{**ROWS[0], "value": 9}])
    assert fcconan("leaderboard", "x.csv").complaint.startswith("x.csv, row 1: anna rated relevance 9, expected 1 to 5")
