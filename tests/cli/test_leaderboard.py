"""`fcconan leaderboard`."""

import json
from pathlib import Path
from typing import Any

import pytest

from fcconan.building.builds import build
from tests.cli.judging import fcconan
from tests.cli.scored import ratings, write_rows

ROWS = [
    *ratings("anna", [1, 2, 3, 4, 5, 3]),
    *ratings("ben", [3, 2, "", 4, 5, 3]),
    *({**row, "low": "", "high": ""} for row in ratings("bleu[/b]", [0.5] * 6, "metric", "score")),
]


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded demo, of 24 items and 4 systems."""
    return build("demo", tmp_path_factory.mktemp("built") / "demo", progress=False).folder


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


def test_one_command_answers_whether_a_system_is_better_than_the_others(demo_folder: Path) -> None:
    options = ["--primary-aspect", "suitableness", "--baseline", "simulated-generic", "--resamples", 2000]
    done = fcconan("leaderboard", demo_folder, *options, "--json", "result.json", "--report", "page.html")
    assert (done.status, done.stderr) == (0, ""), done
    result = json.loads(Path("result.json").read_text(encoding="utf-8"))
    tests = [row for row in result["comparisons"] if row["family"] == "people, primary"]
    assert [(row["a"], row["b"], row["aspect"]) for row in tests] == [
        (f"simulated-{other}", "simulated-generic", "suitableness") for other in ("hostile", "matched", "offtopic")
    ]
    means = {
        row["system"]: row["value"]
        for row in result["rows"]
        if (row["rater"], row["aspect"]) == ("people", "suitableness")
    }
    for row in tests:  # people rated every reply, so that the mean difference is that of the means
        assert row["difference"] == pytest.approx(means[row["a"]] - means[row["b"]], abs=1e-12)
        assert row["low"] < row["difference"] < row["high"]
        assert row["p"] <= row["p_corrected"] <= 0.001
        assert row["n"] == 24
    names = [(family["name"], family["n_tests"], family["floor"]) for family in result["families"]]
    floor = pytest.approx(1 / 2001)
    assert names[:2] == [("people, primary", 3, floor), ("people, exploratory", 9, floor)]
    for part in ("pairs:against-simulated-generic", "family:primary-suitableness-and-exploratory-by-rater"):
        assert f"|{part}|" in result["tests_signature"]
    assert "|tests:2x3+2x9|floor:0.0005|" in result["tests_signature"]
    lines = done.stdout.splitlines()
    titles = [line for line in lines if line.startswith(("Mean ratings", "Differences"))]
    how = "suitableness (primary; p corrected by max-t for 3 tests, smallest possible 0.0005)"
    assert titles == ["Mean ratings by people", f"Differences between systems by people: {how}"]
    assert "Further raters: simulated-judge; --verbose shows their ratings." in lines
    assert lines[-2:] == [result["signature"], result["tests_signature"]]
    page = Path("page.html").read_text(encoding="utf-8")
    assert "(exploratory; p corrected by max-t for 9 tests" in page
    assert result["tests_signature"] in page.replace("&#43;", "+")


def test_a_column_for_each_rater() -> None:
    rows = [{"reply_id": f"r{at}", "system": "AB"[at % 2], "h": at, "m": 1} for at in range(4)]
    write_rows(Path("x.csv"), rows)
    result = _result("--wide-column", "people=h", "--wide-column", "bleu=m", "--human", "people")
    assert {row["reason"] for row in result["comparisons"]} == {"no_common_items"}
    assert result["notes"] == [
        "Some rows have no item, and systems are compared by item: give the items with --replies."
    ]
    found = [(row["rater"], row["rater_kind"], row["system"], row["value"]) for row in result["rows"]]
    assert found == [
        ("people", "human", "B", 2.0),
        ("people", "human", "A", 1.0),
        ("bleu", "metric", "A", 1.0),
        ("bleu", "metric", "B", 1.0),
    ]
    assert "|people:people|raters:all|" in result["signature"]
    columns = ("--wide-column", "people=h", "--wide-column", "bleu=m")
    assert "|people:none|raters:all|" in _result(*columns)["signature"]
    assert "|people:none|raters:bleu|" in _result(*columns, "--rater", "bleu")["signature"]


def few(families: int) -> str:
    """The note about tests of three items, of which 2 of 8 vectors of signs give the observed difference."""
    return (
        "No test of the people, primary family can be significant: its smallest corrected p is 0.25 with 3 paired "
        "units; 6 units or more are needed, more --resamples do not help; the same holds for "
        f"{families - 1} more of {families} families."
    )


def test_what_is_left_out_is_said() -> None:
    judged = [*ratings("judge", [1] * 6, "model"), *ratings("judge", [2] * 6, "model", "tone")]
    write_rows(Path("x.csv"), ROWS)
    assert _result()["notes"] == [few(2)]
    write_rows(Path("x.csv"), [*ROWS, *judged])
    result = _result("--report", "page.html")
    assert {row["aspect"] for row in result["rows"] if row["rater"] == "judge"} == {"relevance"}
    left_out = "judge also rated tone, which people did not rate on a scale: --aspect shows it."
    assert result["notes"] == [left_out, few(3)]
    assert left_out in Path("page.html").read_text(encoding="utf-8")
    assert left_out in fcconan("leaderboard", "x.csv", "--resamples", 0).stdout
    chosen = _result("--aspect", "tone")
    assert {row["aspect"] for row in chosen["rows"]} == {"tone"}
    assert [note.partition(":")[0] for note in chosen["notes"]] == [
        "No test of the judge, primary family can be significant"
    ]
    unknown = [{**row, "system": "unknown" if row["reply_id"] == "r3B" else row["system"]} for row in ROWS]
    write_rows(Path("x.csv"), unknown)
    assert _result()["notes"][0] == "Replies of no known system: 1 of 6, left out."


def _shared(**given: tuple[str, str]) -> list[str]:
    """Returns the notes on systems that have these items and raters, each of two replies."""
    rows = [
        {
            "reply_id": f"{system}-{item}",
            "item_id": item,
            "system": system,
            "rater": rater,
            "aspect": "tone",
            "value": 3,
        }
        for system, (items, raters) in given.items()
        for item in items
        for rater in raters.split("+")
    ]
    write_rows(Path("x.csv"), [{**row, "low": 1, "high": 5} for row in rows])
    return [note for note in _result()["notes"] if "share" in note]


def test_systems_without_common_items_or_raters_are_noted() -> None:
    assert _shared(lantern=("ab", "anna"), quarc=("bc", "anna")) == []
    assert _shared(lantern=("ab", "anna"), quarc=("cd", "anna"), moss=("ce", "anna")) == [
        "lantern shares no item with moss, quarc: their means do not compare."
    ]
    assert _shared(lantern=("ab", "anna"), reed=("ab", "anna"), quarc=("cd", "ben"), moss=("ce", "anna+ben")) == [
        "lantern, reed share no item and no rater with quarc: their means do not compare.",
        "lantern, reed share no item with moss: their means do not compare.",
    ]
    assert _shared(lantern=("ab", "anna"), quarc=("ab", "ben")) == [
        "lantern shares no rater with quarc: their means also differ by their raters."
    ]


def test_systems_without_common_items_are_noted_with_the_raters_where_others_rated_common_ones() -> None:
    judged = ratings("judge", [1] * 6, "model")
    only = [row for row in ratings("anna", [1] * 6) if row["reply_id"] in ("r1A", "r2B")]
    write_rows(Path("x.csv"), [*only, *judged])
    assert _result()["notes"][0] == "Ratings by people: A shares no item with B: their means do not compare."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rater", "dora"], "unknown rater 'dora': known are people, anna, ben, bleu[/b]"),
        (["--aspect", "tone"], "unknown aspect 'tone': known are relevance, score"),
        (
            ["--primary-aspect", "relevanse"],
            "unknown primary aspect 'relevanse': did you mean 'relevance'? ",
        ),
        (["--baseline", "mine"], "unknown baseline system 'mine': known are A, B"),
        (["--rename", "system=writer"], "x.csv has no column 'writer', but reply_id, item_id"),
        (
            ["--filter", "rater=anna", "--filter", "aspect=score"],
            "no row has rater anna and aspect score together: use fewer filters",
        ),
        (["--confidence", "0"], "Invalid value for '--confidence': Input should be greater than 0 (found 0.0)."),
        (["--json", "/dev/null"], "/dev/null cannot be written: choose another --json file"),
        (["--report", "page"], "page is not a page: give a file that ends in .html"),
    ],
)
def test_bad_options_are_refused(options: list[str], message: str) -> None:
    write_rows(Path("x.csv"), ROWS)
    assert fcconan("leaderboard", "x.csv", *options).complaint.startswith(message)
    assert [path.name for path in Path().iterdir()] == ["x.csv"]


def test_bad_rows_are_refused() -> None:
    write_rows(Path("x.csv"), [{key: row[key] for key in row if key != "system"} for row in ROWS])
    assert fcconan("leaderboard", "x.csv").complaint == (
        "the systems of the replies are unknown: give the replies, or a column `system`"
    )
    write_rows(Path("x.csv"), [{**ROWS[0], "value": 9}])
    assert fcconan("leaderboard", "x.csv").complaint.startswith("x.csv, row 1: anna rated relevance 9, expected 1 to 5")
