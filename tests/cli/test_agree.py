"""`fcconan agree`: figures that other packages give, and everything that it refuses."""

import json
import re
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from tests.cli.judging import fcconan
from tests.cli.scored import ratings, verdicts, write_rows

ANNA, BEN = [1, 2, 3, 4, 5, 1], [2, 2, 3, 5, 5, 1]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _result(*options: object, file: str = "x.csv") -> Any:
    done = fcconan("agree", file, "--json", "result.json", "--resamples", 50, *options)
    assert (done.status, done.stderr) == (0, ""), done
    return json.loads(Path("result.json").read_text(encoding="utf-8"))


def _values(result: Any, level: str = "overall") -> dict[str, float | None]:
    return {row["coefficient"]: row["value"] for row in result["rows"] if row["level"] == level}


def test_ratings_have_every_coefficient() -> None:
    write_rows(Path("x.csv"), [*ratings("anna", ANNA), *ratings("ben", BEN), *ratings("judge", ANNA, "model")])
    result = _result()
    found = _values(result)
    assert found["raw"] == pytest.approx(4 / 6, abs=1e-12)
    for name, weights in (("cohen", None), ("cohen_linear", "linear"), ("cohen_quadratic", "quadratic")):
        expected = cohen_kappa_score(ANNA, BEN, weights=weights, labels=[1, 2, 3, 4, 5])
        assert found[name] == pytest.approx(expected, abs=1e-12)
    for level in ("nominal", "ordinal", "interval"):
        expected = krippendorff.alpha(np.array([ANNA, BEN], float), level_of_measurement=level)
        assert found[f"krippendorff_{level}"] == pytest.approx(expected, abs=1e-12)
    assert result["rows"][0]["raters"] == ["anna", "ben"]  # people, and no judge
    assert "|domain:1,2,3,4,5|" in result["signature"]["relevance"]
    chosen = _result("--rater", "anna", "--rater", "judge", "--coefficient", "raw")
    assert _values(chosen) == {"raw": 1.0}
    assert "raters=anna,judge" in chosen["signature"]["relevance"]


def test_verdicts_and_labels_are_recognised() -> None:
    write_rows(
        Path("x.csv"),
        [
            *verdicts("anna", [("i1", "A", "B", "a"), ("i2", "A", "B", "tie")]),
            *verdicts("ben", [("i1", "B", "A", "b"), ("i2", "A", "B", "b")]),
        ],
    )
    found = _result()
    assert _values(found)["raw"] == 0.5  # on i1 both prefer A
    assert list(found["signature"]) == ["comparisons"]
    rows = [
        {"pair_id": f"p{at}", "rater": rater, "label": label}
        for rater, labels in (("anna", ["appropriate", "not_sure", "appropriate"]), ("ben", ["appropriate"] * 3))
        for at, label in enumerate(labels)
    ]
    write_rows(Path("x.csv"), rows)
    assert _values(_result())["raw"] == pytest.approx(2 / 3, abs=1e-12)
    # Labels have an order: from not_sure to appropriate is one step of two.
    weighted = cohen_kappa_score([2, 1, 2], [2, 2, 2], weights="linear", labels=[0, 1, 2])
    assert _values(_result("--coefficient", "cohen_linear")) == {"cohen_linear": pytest.approx(weighted, abs=1e-12)}


def test_a_column_for_each_rater() -> None:
    rows = [{"text": f"t{at}", "x": x, "y": y, "z": ""} for at, (x, y) in enumerate(zip(ANNA, BEN, strict=True))]
    write_rows(Path("x.csv"), rows)
    result = _result("--wide-column", "anna=x", "--wide-column", "ben=y", "--scale", "1,5", "--coefficient", "cohen")
    assert _values(result)["cohen"] == pytest.approx(cohen_kappa_score(ANNA, BEN), abs=1e-12)
    wide = [
        {"item_id": f"i{at}", "system_a": "A", "system_b": "B", "x": v, "y": w}
        for at, (v, w) in enumerate([("a", "a"), ("b", ""), ("tie", "b")])
    ]
    write_rows(Path("x.csv"), wide)
    result = _result("--wide-column", "anna=x", "--wide-column", "ben=y", "--coefficient", "raw")
    assert (_values(result), result["rows"][0]["n"], result["rows"][0]["n_missing"]) == ({"raw": 0.5}, 2, 1)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (ratings("anna", ANNA), "one_rater"),
        ([*ratings("anna", [1, 1, 1, "", "", ""]), *ratings("ben", ["", "", "", 1, 1, 1])], "too_few_pairs"),
        ([*ratings("anna", [3] * 6), *ratings("ben", [3] * 6)], "no_variation"),
        ([*ratings("anna", ["nan"] * 6), *ratings("ben", [3] * 6)], "too_few_pairs"),
    ],
)
def test_what_has_no_value_has_a_reason(rows: list[dict[str, Any]], reason: str) -> None:
    write_rows(Path("x.csv"), rows)
    result = _result("--coefficient", "krippendorff_ordinal")
    assert [(row["value"], row["reason"]) for row in result["rows"] if row["level"] == "overall"] == [(None, reason)]
    shown = "agreement needs two raters" if reason == "one_rater" else f"– ({reason})"
    assert shown in fcconan("agree", "x.csv", "--coefficient", "krippendorff_ordinal").stdout


def test_pairs_are_shown_when_asked_for() -> None:
    write_rows(Path("x.csv"), [*ratings("anna", ANNA), *ratings("ben", BEN), *ratings("clara", BEN)])
    assert "anna and clara" in fcconan("agree", "x.csv", "--resamples", 0, "--verbose").stdout
    done = fcconan("agree", "x.csv", "--resamples", 0)
    assert ("3 raters" in done.stdout, "anna and clara" in done.stdout) == (True, False)


def test_items_are_resampled_with_all_their_replies() -> None:
    rows = [*ratings("anna", ANNA), *ratings("ben", BEN)]
    write_rows(Path("x.csv"), rows)
    known = _result()
    assert "|bootstrap:50-by-item|" in known["signature"]["relevance"]
    assert (known["rows"][0]["n"], known["rows"][0]["n_items"], known["notes"]) == (6, 3, [])
    write_rows(Path("x.csv"), [{key: row[key] for key in row if key != "item_id"} for row in rows])
    alone = _result()
    assert "|bootstrap:50-by-reply|" in alone["signature"]["relevance"]
    assert (alone["rows"][0]["n"], alone["rows"][0]["n_items"], len(alone["notes"])) == (6, None, 1)
    assert alone["notes"][0].startswith(
        "The items of the replies are not known, so the bootstrap resamples single replies"
    )
    assert alone["notes"][0].endswith("Give --replies, or a column item_id.")
    shown = fcconan("agree", "x.csv").stdout
    assert alone["notes"][0] in shown
    assert re.findall(r"\bitems\b.*\n.*\n.* 6 │     – │", shown), shown
    assert _result("--resamples", 0)["notes"] == []
    write_rows(Path("replies.csv"), rows[:6])
    told = _result("--replies", "replies.csv")
    assert told["rows"] == known["rows"]
    assert "|data:replies:replies.csv@" in told["signature"]["relevance"]


def test_replies_with_messages_have_items_and_others_are_named() -> None:
    rows = [{key: row[key] for key in row if key != "item_id"} for row in [*ratings("a", ANNA), *ratings("b", BEN)]]
    write_rows(Path("x.csv"), rows)
    replies = [{"reply_id": row["reply_id"], "text": "Ask a librarian."} for row in rows[:6]]
    write_rows(Path("mine.csv"), replies)
    unknown = _result("--replies", "mine.csv")
    assert unknown["rows"][0]["n_items"] is None
    assert unknown["notes"][0].endswith(
        ": intervals are too narrow if items have several replies. mine.csv has no column item_id and no column "
        "hate_speech: add one of them."
    )
    # Two replies to each message.
    messages = [{**row, "hate_speech": f"The Ombrey never return book {at // 2}."} for at, row in enumerate(replies)]
    write_rows(Path("mine.csv"), messages)
    known = _result("--replies", "mine.csv")
    assert (known["rows"][0]["n_items"], known["notes"]) == (3, [])
    assert "|bootstrap:50-by-item|" in known["signature"]["relevance"]


def test_items_of_messages_do_not_contradict_items_of_the_ratings() -> None:
    rows = [*ratings("anna", ANNA), *ratings("ben", BEN)]
    write_rows(Path("x.csv"), rows)
    known = _result()["rows"]
    messages = [{"reply_id": row["reply_id"], "text": "No.", "hate_speech": "The Ombrey cheat."} for row in rows[:6]]
    write_rows(Path("mine.csv"), messages)
    assert _result("--replies", "mine.csv")["rows"] == known


def test_labels_of_pairs_are_resampled_by_hs_message() -> None:
    def found(pairs: list[str]) -> Any:
        labels = {"anna": "yyn", "ben": "yny"}
        write_rows(
            Path("x.csv"),
            [
                {"pair_id": pair, "rater": rater, "label": label}
                for rater, given in labels.items()
                for pair, label in zip(pairs, given, strict=True)
            ],
        )
        return _result()

    result = found(["hs-1:cn-1", "hs-1:cn-2", "hs-2:cn-1"])
    assert (result["rows"][0]["n_items"], result["notes"]) == (2, [])
    assert "|bootstrap:50-by-item|" in result["signature"]["votes"]
    result = found(["p1", "p2", "p3"])
    assert result["rows"][0]["n_items"] is None
    assert result["notes"][0].startswith(
        "The ids of the pairs do not have the form HS:CN, so the bootstrap resamples single pa"
    )
    assert "|bootstrap:50-by-pair|" in result["signature"]["votes"]


def test_pairs_of_many_raters_have_intervals_on_request() -> None:
    write_rows(Path("x.csv"), [row for rater in range(11) for row in ratings(f"rater-{rater}", ANNA[::-1])])
    result = _result("--coefficient", "raw")
    assert [row["level"] for row in result["rows"] if row["low"] is not None] == ["overall"]
    assert "|bootstrap:50-by-item-overall-only|" in result["signature"]["relevance"]
    assert result["notes"] == ["11 raters: pairs have no intervals; --pair-intervals computes them."]
    result = _result("--coefficient", "raw", "--pair-intervals")
    assert (len([row for row in result["rows"] if row["low"] is not None]), result["notes"]) == (56, [])
    assert "|bootstrap:50-by-item|" in result["signature"]["relevance"]


BOTH = [*ratings("anna", ANNA), *ratings("ben", BEN)]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (BOTH, ["--scale", "1"], "--scale is '1': give LOW,HIGH in whole grades, such as 1,5"),
        (BOTH, ["--scale", "5,1"], "--scale is '5,1': give LOW,HIGH"),
        (BOTH, ["--scale", "1,inf"], "--scale is '1,inf': give LOW,HIGH"),
        (
            BOTH,
            ["--scale", "1,4"],
            "relevance was rated 5, expected 1 to 4: give its own --scale, or correct the ratings",
        ),
        (BOTH, ["--scale", "0,900"], "the domain is [0.0, 1.0"),
        (BOTH, ["--coefficient", "kappa"], "Invalid value for '--coefficient': 'kappa' is not one of 'raw', 'cohen'"),
        (BOTH, ["--aspect", "tone"], "unknown aspect of anna, ben 'tone': known are relevance"),
        (BOTH, ["--rater", "dora"], "unknown rater 'dora': known are anna, ben"),
        (
            BOTH,
            ["--kind", "grades"],
            "Invalid value for '--kind': 'grades' is not one of 'ratings', 'comparisons', 'votes'.",
        ),
        (BOTH, ["--kind", "votes"], "x.csv has no columns 'pair_id', 'label', but reply_id, item_id"),
        (
            BOTH,
            ["--confidence", "nan"],
            "Invalid value for '--confidence': Input should be a finite number (found nan).",
        ),
        (BOTH, ["--json", "x.csv"], "x.csv is read, and --json would destroy it: choose another --json"),
        (
            [{"reply": 1, "score": 2}],
            [],
            "found reply, score, expected `value` (ratings), `verdict` (comparisons) or `label` (votes): name it with",
        ),
        ([*BOTH, BOTH[0]], [], "x.csv, row 13: anna has rated relevance of the reply r1A before, expected one rating"),
        (
            [*BOTH[:6], *ratings("ben", [1, "x", 3, 4, 5, 1])],
            [],
            "x.csv, row 8: value is 'x', expected a number, or no",
        ),
        ([*BOTH[:6], *ratings("ben", [1, 9, 3, 4, 5, 1])], [], "x.csv, row 8: ben rated relevance 9, expected 1 to 5"),
        (
            [*BOTH[:6], *({**row, "high": 7} for row in BOTH[6:])],
            [],
            "relevance was rated on different scales, 1 to 5 and 1 to 7: bring the ratings to one scale, or choose",
        ),
        (
            verdicts("anna", [("i1", "A", "B", "a")]),
            ["--coefficient", "cohen_linear"],
            "cohen_linear needs ordered values, and these values have no order: choose from raw, cohen, fleiss",
        ),
        (
            verdicts("anna", [("i1", "A", "B", "a")]),
            ["--replies", "x.csv"],
            "comparisons have items of their own: leave --replies out",
        ),
        (
            verdicts("anna", [("i1", "A", "B", "a")]),
            ["--aspect", "x"],
            "comparisons have no aspects: leave --aspect out",
        ),
    ],
)
def test_bad_input_is_refused(rows: list[dict[str, Any]], options: list[str], message: str) -> None:
    write_rows(Path("x.csv"), rows)
    assert fcconan("agree", "x.csv", *options).complaint.startswith(message)
    assert [path.name for path in Path().iterdir()] == ["x.csv"]


def test_an_empty_file_is_refused() -> None:
    Path("x.csv").touch()
    assert fcconan("agree", "x.csv").complaint == "x.csv has no rows: check the file"
    Path("x.csv").write_text("reply_id,rater,aspect,value\n", encoding="utf-8")
    assert fcconan("agree", "x.csv").complaint == "x.csv has no rows: check the file"
    assert fcconan("agree", "x.csv", "--kind", "ratings").complaint == "x.csv has no rows: check the file"


def test_a_page_has_tables_notes_and_signatures() -> None:
    rows = [*ratings("anna", ANNA), *ratings("ben", BEN), *ratings("clara[/b]", BEN)]
    write_rows(Path("x.csv"), [{key: row[key] for key in row if key != "item_id"} for row in rows])
    result = _result("--report", "page.html")
    page = Path("page.html").read_text(encoding="utf-8").replace("&#43;", "+")
    assert ("3 raters" in page, "anna and clara[/b]" in page) == (True, True)
    assert (result["notes"][0] in page, result["signature"]["relevance"] in page) == (True, True)
    assert fcconan("agree", "x.csv", "--report", "page").complaint == (
        "page is not a page: give a file that ends in .html"
    )


def test_one_rater_and_two_are_named() -> None:
    write_rows(Path("x.csv"), ratings("anna", ANNA))
    shown = fcconan("agree", "x.csv", "--resamples", 0, "--coefficient", "raw").stdout
    assert "relevance: only anna rated, and agreement needs two raters.\n" in shown and "│" not in shown
    write_rows(Path("x.csv"), BOTH)
    shown = fcconan("agree", "x.csv", "--resamples", 0, "--coefficient", "raw").stdout
    assert (shown.count("anna and ben"), "2 raters" in shown) == (1, False)


def test_a_scale_that_the_rows_do_not_say_is_noted() -> None:
    write_rows(Path("x.csv"), [{**row, "low": "", "high": ""} for row in BOTH if row["value"] != 4])
    result = _result("--coefficient", "raw")
    note = "relevance: the rows have no scale of whole grades, so the grades that occur (1, 2, 3, 5) are used as "
    assert result["notes"] == [note + "the scale; --scale sets one."]
    assert "|domain:1,2,3,5-as-given|" in result["signature"]["relevance"]
    result = _result("--coefficient", "raw", "--scale", "1,5")
    assert (result["notes"], "|domain:1,2,3,4,5|" in result["signature"]["relevance"]) == ([], True)


def test_judges_are_left_out_of_verdicts_where_people_gave_some() -> None:
    given = [("i1", "A", "B", "a"), ("i2", "A", "B", "tie")]
    rows = [{**row, "rater_kind": "human"} for name in ("anna", "ben") for row in verdicts(name, given)]
    judged = [{**row, "rater_kind": "model"} for row in verdicts("judge", [(*each[:3], "b") for each in given])]
    write_rows(Path("x.csv"), [*rows, *judged])
    result = _result("--coefficient", "raw")
    assert [(row["raters"], row["value"]) for row in result["rows"]] == [(["anna", "ben"], 1.0)] * 2
    assert result["notes"] == ["Only people are compared, not judge: --rater selects raters."]
    assert _result("--coefficient", "raw", "--rater", "anna", "--rater", "judge")["notes"] == []
    # One person alone agrees with nobody.
    write_rows(Path("x.csv"), [*rows[:2], *judged])
    result = _result("--coefficient", "raw")
    assert (result["rows"][0]["raters"], result["rows"][0]["value"], result["notes"]) == (["anna", "judge"], 0.0, [])


def test_a_split_without_ratings_asks_for_the_rows_that_it_has(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    for config, split, rows in (
        ("ratings", "features", BOTH),
        ("comparisons", "human", verdicts("anna", [("i1", "A", "B", "a")])),
    ):
        (tmp_path / "data" / config).mkdir(parents=True)
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "data" / config / f"{split}-00000-of-00001.parquet")
    assert fcconan("agree", "data", "--split", "human").complaint == (
        "the split human has comparisons, no ratings: add --kind comparisons"
    )
    assert fcconan("agree", "data", "--split", "features", "--resamples", 0).status == 0
    assert fcconan("agree", "data", "--split", "human", "--kind", "comparisons", "--resamples", 0).status == 0
