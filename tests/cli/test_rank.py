"""`fcconan rank`: figures worked out by hand, and everything that it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.judging import fcconan
from tests.cli.scored import verdicts, write_rows

# A beats B twice and C once; B and C tie.
WON = [("i1", "A", "B", "a"), ("i2", "B", "A", "b"), ("i1", "A", "C", "a"), ("i1", "B", "C", "tie")]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _file(rows: list[dict[str, Any]], name: str = "verdicts.csv") -> Path:
    return write_rows(Path(name), rows)


def _result(*options: object, file: str = "verdicts.csv") -> Any:
    done = fcconan("rank", file, "--json", "result.json", "--resamples", 50, *options)
    assert (done.status, done.stderr) == (0, ""), done
    return json.loads(Path("result.json").read_text(encoding="utf-8"))


def test_points_shares_and_wins() -> None:
    _file(verdicts("anna", WON))
    result = _result("--report", "page.html")
    found = [(row["name"], row["points"], row["wins"], row["losses"], row["ties"]) for row in result["systems"]]
    assert found == [("A", 3.0, 3, 0, 0), ("C", 0.5, 0, 1, 1), ("B", 0.5, 0, 2, 1)]
    assert result["systems"][0]["share"] == pytest.approx(75.0, abs=1e-12)
    assert (result["invalid"], result["missing_pairs"], result["disagreement"]["n"]) == (0, [], 0)
    page = Path("page.html").read_text(encoding="utf-8")
    assert "3 systems, 4 verdicts on 2 items." in page
    assert result["signature"] in page.replace("&#43;", "+")


def test_raters_majority_and_their_tables() -> None:
    rows = [*verdicts("anna", WON), *verdicts("ben", WON), *verdicts("clara", [(*one[:3], "tie") for one in WON])]
    _file(rows)
    assert _result("--rater", "clara")["systems"][0]["points"] == 1.5
    majority = _result("--majority")
    assert (majority["raters"], majority["n_verdicts"], majority["systems"][0]["points"]) == (["majority"], 4, 3.0)
    assert majority["disagreement"] == {"n": 4, "unanimous": 1, "majority": 3, "unresolved": 0, "three_way": 0}
    assert ";majority" in majority["signature"]
    between = _result("--between-raters", "share")["between_raters"]
    assert [(row["a"], row["b"], row["coefficient"]) for row in between][:2] == [
        ("anna", "ben", "spearman"),
        ("anna", "ben", "kendall"),
    ]
    assert between[0]["value"] == pytest.approx(1.0, abs=1e-12)
    # Shares of A, B and C: 75, 12.5 and 12.5 by anna; 37.5, 37.5 and 25 by clara, who tied everything.
    assert between[3]["value"] == pytest.approx(0.5, abs=1e-12)


def _by(kind: str, rater: str, given: list[tuple[str, str, str, str]], corpus: str = "north") -> list[dict[str, Any]]:
    return [{**row, "rater_kind": kind, "corpus": corpus} for row in verdicts(rater, given)]


def test_people_and_models_and_corpora_that_are_pooled_are_named() -> None:
    _file(
        [
            *_by("human", "anna", WON),
            *_by("human", "ben", WON),
            *_by("model", "judge", WON),
            *_by("model", "judge", [("j1", "A", "B", "a")], "south"),
        ]
    )
    result = _result()
    assert result["rater_kinds"] == {"anna": "human", "ben": "human", "judge": "model"}
    assert result["corpora"] == {"north": 2, "south": 1}
    corpora = "2 corpora count together (north: 2 items, south: 1 item): choose one, as in --filter corpus=north."
    who = "3 raters (people: 2; models: judge)"
    assert result["notes"][-4:-2] == [
        f"The verdicts of {who} count together: choose with --rater or --filter rater_kind=human, or take --majority.",
        corpora,
    ]
    majority = _result("--majority")
    assert majority["notes"][-4:-2] == [
        f"The majority is that of {who}: choose with --rater or --filter rater_kind=human.",
        corpora,
    ]
    chosen = _result("--filter", "rater_kind=human", "--filter", "corpus=north")
    assert not any("corpora" in note for note in chosen["notes"])
    assert (
        "The verdicts of 2 raters (people: 2) count together: choose with --rater, or take --majority."
        in (chosen["notes"])
    )


def test_pairs_without_a_majority_are_unresolved_and_not_invalid() -> None:
    _file([*verdicts("anna", [*WON, ("i3", "A", "C", "invalid")]), *verdicts("ben", [("i1", "A", "B", "b")])])
    result = _result("--majority")
    assert (result["unresolved"], result["invalid"], result["n_verdicts"]) == (1, 1, 5)
    assert {row["name"]: (row["unresolved"], row["invalid"]) for row in result["systems"]} == {
        "A": (1, 1),
        "B": (1, 0),
        "C": (0, 1),
    }
    assert result["notes"][:2] == [
        "1 of 5 verdicts is invalid and counts for no system.",
        "1 of 5 verdicts is unresolved (no majority) and counts for no system.",
    ]
    assert "|verdicts:3-of-5|" in result["signature"]
    assert _result()["unresolved"] == 0


def test_a_column_for_each_rater() -> None:
    rows = [
        {"item_id": item, "system_a": a, "system_b": b, "x": verdict, "y": "" if item == "i2" else "tie"}
        for item, a, b, verdict in WON
    ]
    _file(rows)
    result = _result("--wide-column", "anna=x", "--wide-column", "ben=y")
    assert (result["raters"], result["n_verdicts"]) == (["anna", "ben"], 7)
    assert result["rater_kinds"] == {"anna": None, "ben": None}  # a verdict in a column of its own may be anybody's
    assert "(anna:score=x,ben:score=y)" in result["signature"]


def test_columns_by_other_names() -> None:
    rows = [{"hs": i, "left": a, "right": b, "by": "anna", "best": v} for i, a, b, v in WON]
    _file(rows)
    mapped = [
        f"--rename={name}={own}"
        for name, own in zip(("item_id", "system_a", "system_b", "rater", "verdict"), rows[0], strict=True)
    ]
    assert [row["points"] for row in _result(*mapped)["systems"]] == [3.0, 0.5, 0.5]


def test_all_ties_make_equal_strengths() -> None:
    _file(verdicts("anna", [(f"i{n}", "A", "B", "tie") for n in (1, 2)]))
    result = _result()
    assert [(row["share"], row["bradley_terry"]) for row in result["systems"]] == [(50.0, 0.0), (50.0, 0.0)]


def test_a_system_that_never_loses_has_a_finite_strength_and_a_note() -> None:
    _file(verdicts("anna", WON))
    done = fcconan("rank", "verdicts.csv", "--resamples", 0)
    assert "Distances between their strengths depend on the regularisation alone." in done.stdout
    assert 0 < _result()["systems"][0]["bradley_terry"] < 20


def test_disconnected_comparisons_have_shares_and_no_strengths() -> None:
    _file(verdicts("anna", [("i1", "A", "B", "a"), ("i1", "C", "D", "b")]))
    result = _result()
    assert {(row["bradley_terry"], row["reason"]) for row in result["systems"]} == {(None, "disconnected")}
    assert (result["groups"], len(result["missing_pairs"])) == ([["A", "B"], ["C", "D"]], 4)


def test_an_invalid_verdict_counts_for_nobody() -> None:
    _file(verdicts("anna", [*WON, ("i3", "A", "B", "invalid")]))
    result = _result()
    assert (result["invalid"], result["n_verdicts"], result["systems"][0]["points"]) == (1, 5, 3.0)


def test_a_repeated_verdict_counts_once() -> None:
    _file(verdicts("anna", [*WON, WON[0]]))
    result = _result()
    assert (result["n_repeated"], result["systems"][0]["points"]) == (1, 3.0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{**verdicts("anna", WON)[0], "verdict": "A"}],
            "verdicts.csv, row 1: the verdict is 'A', expected one of a, b, tie, inv",
        ),
        ([{**verdicts("anna", WON)[0], "verdict": ""}], "verdicts.csv, row 1: the verdict is None, expected one of"),
        (
            [{**verdicts("anna", WON)[0], "system_b": "A"}],
            "verdicts.csv, row 1: A is compared with itself, expected two systems",
        ),
        (
            [{**verdicts("anna", WON)[0], "item_id": ""}],
            "verdicts.csv, row 1: item_id is None, expected a name or an id; correct",
        ),
        (
            [{"x": 1}],
            "verdicts.csv has no columns 'item_id', 'system_a', 'system_b', 'verdict', but x: name the column",
        ),
        (
            verdicts("anna", [WON[0], ("i1", "A", "B", "b")]),
            "verdicts.csv, row 2: the verdict of anna on A and B, item i1, is 'b', but 'a' in an earlier row; remove",
        ),
        (verdicts("anna", [("i1", "A", "B", "invalid")]), "no verdict is readable (1 invalid, 0 unresolved), expected"),
        (
            [
                {**row, "reply_a": "r1", "reply_b": f"q{at}"}
                for at, row in enumerate(verdicts("anna", [WON[0], ("i2", "A", "B", "a")]))
            ],
            "verdicts.csv, row 2: the reply r1 is one of A to i2, but before it was one of A to i1; give",
        ),
    ],
)
def test_bad_rows_are_refused(rows: list[dict[str, Any]], message: str) -> None:
    _file(rows)
    assert fcconan("rank", "verdicts.csv", "--json", "result.json", "--report", "x.html").complaint.startswith(message)
    assert [path.name for path in Path().iterdir()] == ["verdicts.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rater", "dora"], "found no row with the rater dora: choose among anna"),
        (["--filter", "rater=dora"], "found no row with the rater dora: choose among anna"),
        (["--rename", "verdict=winner"], "verdicts.csv has no column 'winner', but item_id, system_a, system_b, rater"),
        (["--split", "test"], "verdicts.csv is a file and has no splits: leave --split out"),
        (["--confidence", "95"], "Invalid value for '--confidence': Input should be less than 1 (found 95.0)."),
        (
            ["--regularisation", "0"],
            "Invalid value for '--regularisation': Input should be greater than 0 (found 0.0).",
        ),
        (["--regularisation", "nan"], "Invalid value for '--regularisation': Input should be"),
        (
            ["--between-raters", "points"],
            "Invalid value for '--between-raters': 'points' is not one of 'share', 'bradley",
        ),
        (["--between-raters", "share"], "there is one rater, anna: leave --between-raters out"),
        (["--between-raters", "share", "--majority"], "--between-raters: it compares raters, and --majority makes"),
        (["--json", "verdicts.csv"], "verdicts.csv is read, and --json would destroy it: choose another --json"),
        (
            ["--json", "none/x.json"],
            "none/x.json cannot be written: choose another --json file, in a folder that is there",
        ),
        (["--report", "page.txt"], "page.txt is not a page: give a file that ends in .html"),
        (["--resamples", "-1"], "Invalid value for '--resamples'"),
        (["--seed", "x"], "Invalid value for '--seed'"),
    ],
)
def test_bad_options_are_refused(options: list[str], message: str) -> None:
    _file(verdicts("anna", WON))
    assert fcconan("rank", "verdicts.csv", *options).complaint.startswith(message)
    assert [path.name for path in Path().iterdir()] == ["verdicts.csv"]


def test_sources_without_comparisons_are_refused() -> None:
    Path("empty.csv").touch()
    Path("header.csv").write_text("item_id,system_a,system_b,verdict\n", encoding="utf-8")
    Path("broken.parquet").write_bytes(b"PAR1")
    for name in ("empty.csv", "header.csv"):
        assert fcconan("rank", name).complaint == f"{name} has no rows: check the file"
    assert fcconan("rank", "broken.parquet").complaint.startswith("broken.parquet cannot be read (")
    assert fcconan("rank", "nowhere").complaint.startswith("nowhere is neither a dataset folder nor a file of rows")


def test_names_that_look_like_markup_are_names() -> None:
    _file(verdicts("judge[/b]", [(item, f"{a}[red]", f"{b}[/i]<b>", verdict) for item, a, b, verdict in WON]))
    done = fcconan("rank", "verdicts.csv", "--resamples", 10, "--report", "page.html")
    assert done.status == 0, done
    assert all(name in done.stdout for name in ("A[red]", "B[/i]<b>", "raters:judge[/b]"))
    assert "B[/i]&lt;b&gt;" in Path("page.html").read_text(encoding="utf-8")


def test_a_file_whose_name_is_not_unicode() -> None:
    name = "verdicts\udcff.csv"
    _file(verdicts("anna", WON), name)
    done = fcconan("rank", name, "--resamples", 10, "--json", "x.json", "--report", "page.html")
    assert done.status == 0, done
    assert "verdicts\\udcff.csv@" in Path("page.html").read_text(encoding="utf-8")
