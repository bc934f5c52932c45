"""`fcconan correlate`: figures that scipy gives, missing values counted, and everything that it refuses."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fcconan.building.builds import build
from tests.cli.judging import fcconan
from tests.cli.scored import REPLIES, ratings, write_rows

ANNA, BEN, JUDGE = [1, 2, 3, 4, 5, 1], [3, 2, 3, 4, 4, 2], [2, 1, 3, 5, 4, 1]
PEOPLE = [*ratings("anna", ANNA), *ratings("ben", BEN)]
MEANS = [2, 2, 3, 4, 4.5, 1.5]
TWO_REPLIES = "per_item compares 2 replies of each item: every coefficient of an item is 1, -1 or undefined."
TWO_SYSTEMS = "system_means compares 2 systems: every coefficient is 1, -1 or undefined."
ROWS = [*PEOPLE, *ratings("judge", JUDGE, "model")]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def labels_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("demo", tmp_path_factory.mktemp("labels") / "demo", labels_only=True).folder


def _result(*options: object, source: object = "x.csv") -> Any:
    done = fcconan("correlate", source, "--json", "result.json", "--resamples", 40, *options)
    assert (done.status, done.stderr) == (0, ""), done
    return json.loads(Path("result.json").read_text(encoding="utf-8"))


def _row(result: Any, **wanted: str) -> Any:
    (row,) = [row for row in result["rows"] if all(row[key] == value for key, value in wanted.items())]
    return row


def test_every_level_and_coefficient() -> None:
    write_rows(Path("x.csv"), ROWS)
    result = _result("--report", "page.html")
    assert len(result["rows"]) == 4 * 3
    for name, function in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall_b", stats.kendalltau)):
        pooled = _row(result, level="pooled", coefficient=name)
        assert pooled["value"] == pytest.approx(function(MEANS, JUDGE)[0], abs=1e-12)
        assert (pooled["n"], pooled["n_missing"], pooled["chance"]) == (6, 0, 0.0)
        # One annotator against the other, both ways alike.
        assert pooled["ceiling"] == pytest.approx(function(ANNA, BEN)[0], abs=1e-12)
        systems = [function(MEANS[at::2], JUDGE[at::2])[0] for at in (0, 1)]
        assert _row(result, level="per_system", coefficient=name)["value"] == pytest.approx(np.mean(systems), abs=1e-12)
    # People tie the replies to i1; the judge follows them on i2 and i3.
    item = _row(result, level="per_item", coefficient="spearman")
    assert (item["value"], item["n_groups"], item["n_constant"]) == (pytest.approx(1.0, abs=1e-12), 2, 1)
    assert _row(result, level="system_means", coefficient="spearman")["value"] == pytest.approx(1.0, abs=1e-12)
    assert (result["notes"], result["missing"]) == ([TWO_REPLIES, TWO_SYSTEMS], [])
    assert result["signature"] in Path("page.html").read_text(encoding="utf-8").replace("&#43;", "+")


def test_what_is_missing_is_counted_by_reason_and_left_out() -> None:
    judged = [
        {**row, "value": value, "reason": reason}
        for row, value, reason in zip(
            ratings("judge", JUDGE, "model"), [2, "", "nan", 5, 4, 1], ["", "no_field", "", "", "", ""], strict=True
        )
    ]
    write_rows(Path("x.csv"), [*({**row, "reason": ""} for row in PEOPLE), *judged])
    result = _result("--level", "pooled", "--coefficient", "pearson")
    kept = [0, 3, 4, 5]
    row = _row(result, level="pooled")
    assert row["value"] == pytest.approx(stats.pearsonr(np.take(MEANS, kept), np.take(JUDGE, kept))[0], abs=1e-12)
    assert (row["n"], row["n_missing"], row["n_missing_metric"]) == (4, 2, 2)
    assert result["missing"] == [
        {"rater": "judge", "aspect": "relevance", "reason": "no_field", "n": 1},
        {"rater": "judge", "aspect": "relevance", "reason": "no_value", "n": 1},
    ]


def test_a_metric_that_is_always_missing_or_constant_has_a_reason() -> None:
    write_rows(
        Path("x.csv"), [*PEOPLE, *ratings("nan", ["NaN"] * 6, "metric", "score"), *ratings("three", [3] * 6, "model")]
    )
    found = {row["metric"]: row for row in _result("--level", "pooled", "--coefficient", "spearman")["rows"]}
    assert [(found[name]["value"], found[name]["reason"], found[name]["n"]) for name in ("nan", "three")] == [
        (None, "no_rows", 0),
        (None, "constant", 6),
    ]
    assert "– (no_rows)" in fcconan("correlate", "x.csv", "--resamples", 0).stdout


def test_one_person_has_no_ceiling_and_one_system_no_correlation_of_means() -> None:
    one = [row for row in [*ratings("anna", ANNA), *ratings("judge", JUDGE, "model")] if row["system"] == "A"]
    write_rows(Path("x.csv"), one)
    result = _result("--coefficient", "pearson")
    assert _row(result, level="pooled")["ceiling"] is None
    means = _row(result, level="system_means")
    assert (means["value"], means["reason"], means["n_too_few"]) == (None, "too_few", 1)
    assert _row(result, level="per_item")["reason"] == "too_few"


def _wide(**more: list[Any]) -> list[dict[str, Any]]:
    """One row for each reply: people, a judge, a metric."""
    columns: dict[str, list[Any]] = {"h": MEANS, "j": JUDGE, "m": [0.1, 0.5, 0.3, 0.9, 0.7, 0.2], **more}
    return [
        {"reply_id": reply, "item_id": item, "system": system, **{name: own[at] for name, own in columns.items()}}
        for at, (reply, (item, system)) in enumerate(REPLIES.items())
    ]


@pytest.mark.parametrize("aspect", ["", ":relevance"])
def test_a_column_for_each_rater_gives_the_figures_of_rows(aspect: str) -> None:
    write_rows(Path("x.csv"), ROWS)
    long = {(row["level"], row["coefficient"]): row["value"] for row in _result()["rows"]}
    write_rows(Path("x.csv"), _wide())
    options = ["--wide-column", f"people{aspect}=h", "--wide-column", f"judge{aspect}=j", "--human", "people"]
    wide = _result(*options)
    assert {(row["level"], row["coefficient"]): row["value"] for row in wide["rows"]} == pytest.approx(long, abs=1e-12)
    assert {row["metric"] for row in wide["rows"]} == {"judge"}


def test_a_metric_of_another_aspect_stands_beside_every_aspect() -> None:
    write_rows(Path("x.csv"), _wide(tone=[5, 4, 3, 2, 1, 1]))
    options = [
        "--wide-column",
        "people:relevance=h",
        "--wide-column",
        "people:tone=tone",
        "--wide-column",
        "bleu=m",
        "--human",
        "people",
    ]
    result = _result(*options, "--level", "pooled", "--coefficient", "kendall_b")
    assert [(row["metric"], row["aspect"]) for row in result["rows"]] == [("bleu", "relevance"), ("bleu", "tone")]
    expected = [stats.kendalltau([0.1, 0.5, 0.3, 0.9, 0.7, 0.2], each)[0] for each in (MEANS, [5, 4, 3, 2, 1, 1])]
    assert [row["value"] for row in result["rows"]] == pytest.approx(expected, abs=1e-12)


def test_people_have_to_be_named_in_a_file_with_columns() -> None:
    write_rows(Path("x.csv"), _wide())
    assert fcconan("correlate", "x.csv", "--wide-column", "people=h", "--wide-column", "judge=j").complaint == (
        "no rating is by people, only by people, judge: name those who represent people with --human"
    )


def test_levels_that_mean_nothing_are_left_out_and_said() -> None:
    write_rows(Path("x.csv"), [{key: row[key] for key in row if key not in ("item_id", "system")} for row in ROWS])
    result = _result("--coefficient", "pearson")
    assert [row["level"] for row in result["rows"]] == ["pooled"]
    assert result["notes"] == [
        "Not all rows say the items and the systems of the replies: --replies names them.",
        "A reply without an item is an item of its own, which makes the intervals too narrow.",
    ]
    assert _result("--level", "per_item")["notes"][-1] == "per_item means nothing here."
    write_rows(Path("r.csv"), [{"reply_id": key, "item_id": i, "system": s} for key, (i, s) in REPLIES.items()])
    assert _result("--replies", "r.csv")["notes"] == [TWO_REPLIES, TWO_SYSTEMS]


def test_further_tables() -> None:
    rows = [*ROWS, *ratings("other", [1, 1, 2, 2, 3, 3], "model")]
    write_rows(Path("x.csv"), rows)
    result = _result(
        "--level",
        "pooled",
        "--coefficient",
        "pearson",
        "--tests",
        "item",
        "--stability",
    )
    (test,) = result["tests"]
    assert (test["a"], test["b"], test["test"]) == ("judge", "other", "perm_input")
    difference = stats.pearsonr(MEANS, JUDGE)[0] - stats.pearsonr(MEANS, [1, 1, 2, 2, 3, 3])[0]
    assert abs(test["difference"]) == pytest.approx(abs(difference), abs=1e-12)
    digest = hashlib.sha256(Path("x.csv").read_bytes()).hexdigest()[:12]
    for part in (f"x.csv@{digest}", "perm-input", "-by-item", "seed:0"):
        assert part in result["tests_signature"]
    assert result["tests_signature"] != result["signature"]
    assert [row["n_trials"] for row in result["stability"]] == [0, 0]
    assert result["notes"] == [
        "No test of the relevance, pooled, pearson family can be significant: its smallest corrected p is 0.25 with 3 "
        "paired units; 6 units or more are needed, more --resamples do not help.",
        "There are fewer than 100 rows: too few for the samples of --stability.",
    ]
    # Of the 2^3 ways to swap whole items 2 give the observed difference: all or none are swapped.
    (family,) = result["families"]
    assert (family["name"], family["n_tests"], family["floor"]) == ("relevance, pooled, pearson", 1, 0.25)
    assert (test["family"], test["p_corrected"]) == (family["name"], test["p"])
    assert "|family:aspect-level-coefficient|tests:1|floor:0.25|correction:max-t|" in result["tests_signature"]


def test_only_what_is_chosen_is_counted_as_missing() -> None:
    more = [ratings(name, [None, *JUDGE[1:]], "model", aspect) for name in "xy" for aspect in ("relevance", "tone")]
    people = [*ratings("anna", ANNA, aspect="tone"), *ratings("ben", ["", *BEN[1:]], aspect="tone")]
    write_rows(Path("x.csv"), [*PEOPLE, *people, *(row for rows in more for row in rows)])
    level = ("--level", "pooled", "--coefficient", "pearson")

    def missing(*options: str) -> list[tuple[str, str]]:
        return [(row["rater"], row["aspect"]) for row in _result(*level, *options)["missing"]]

    assert missing() == [("ben", "tone"), ("x", "relevance"), ("x", "tone"), ("y", "relevance"), ("y", "tone")]
    assert missing("--rater", "x") == [("ben", "tone"), ("x", "relevance"), ("x", "tone")]
    assert missing("--rater", "x", "--aspect", "relevance") == [("x", "relevance")]
    assert missing("--human", "anna", "--rater", "ben") == [("ben", "tone")]


def test_replies_of_no_known_system_are_counted() -> None:
    write_rows(Path("x.csv"), [{**row, "system": "unknown"} if row["reply_id"] == "r3B" else row for row in ROWS])
    result = _result("--coefficient", "pearson")
    unknown = "Replies of no known system: 1 of 6, missing at the levels of systems."
    assert result["notes"] == [unknown, TWO_REPLIES]  # the judge's means of A and B are equal
    assert [(row["level"], row["n"], row["n_missing"]) for row in result["rows"]] == [
        ("pooled", 6, 0),
        ("per_item", 6, 0),
        ("per_system", 5, 1),
        ("system_means", 5, 1),
    ]


@pytest.mark.parametrize(("again", "cure"), [(ROWS[0], ""), (ROWS[-6], ", or give one judge another --rater-name")])
def test_a_second_rating_of_a_reply_is_refused(again: dict[str, Any], cure: str) -> None:
    write_rows(Path("x.csv"), [*ROWS, again])
    done = fcconan("correlate", "x.csv")
    assert (done.status, done.complaint) == (
        2,
        f"x.csv, row 19: {again['rater']} has rated relevance of the reply r1A before, expected one rating; remove one "
        f"of them{cure}",
    )


def test_columns_of_raters_are_for_files_that_have_them() -> None:
    write_rows(Path("wide.csv"), _wide())
    write_rows(Path("long.csv"), ROWS)
    options = ["--wide-column", "anna:relevance=h", "--wide-column", "ben:relevance=j", "--human", "anna"]
    assert fcconan("correlate", "wide.csv", "long.csv", *options).complaint == (
        "long.csv has no columns 'h', 'j', but reply_id, item_id, system, rater, rater_kind, aspect, value, low, high: "
        "--wide-column needs wide files only, with a column for each rater"
    )
    # Files may have the columns of different raters.
    people, judges = ([{name: row[name] for name in row if name != lost} for row in _wide()] for lost in "jh")
    write_rows(Path("people.csv"), people)
    write_rows(Path("judges.csv"), [{**row, "reply_id": f"other-{row['reply_id']}"} for row in judges])
    assert fcconan("correlate", "people.csv", "judges.csv", *options).complaint.startswith(
        "no reply_id of judges.csv occurs in people's ratings (other-r1A against r1A, for example): "
    )


def _renamed(rows: list[dict[str, Any]], rater: str = "") -> list[dict[str, Any]]:
    return [{**row, "reply_id": f"my-{row['reply_id']}", "rater": rater or row["rater"]} for row in rows]


NEVER_RATED = (
    "no reply_id of {} occurs in people's ratings (my-r1A against r1A, for example): give ratings of the same replies, "
    "and write the same reply_id into both files"
)


def test_ratings_of_replies_that_people_did_not_rate_are_refused() -> None:
    judged = ratings("judge", JUDGE, "model")
    write_rows(Path("people.csv"), PEOPLE)
    write_rows(Path("others.csv"), _renamed(judged))
    write_rows(Path("judge.csv"), judged)
    write_rows(Path("joined.csv"), [*PEOPLE, *_renamed(judged)])
    for files, named in (
        (["people.csv", "others.csv"], "others.csv"),
        (["people.csv", "others.csv", "judge.csv", "--rater", "judge"], None),  # judge rated both
        (["joined.csv"], "judge"),
        (["people.csv", "others.csv", "--ranks", "relevance"], "others.csv"),
    ):
        done = fcconan("correlate", *files, "--resamples", 0)
        message = "" if named is None else f"fcconan: {NEVER_RATED.format(named)}\n"
        assert (done.status, done.stderr) == (2 if named else 0, message), done


def test_a_file_of_other_replies_is_refused_although_other_raters_match() -> None:
    write_rows(Path("x.csv"), ROWS)
    write_rows(Path("y.csv"), _renamed(ratings("mine", JUDGE, "model")))
    done = fcconan("correlate", "x.csv", "y.csv", "--resamples", 0)
    assert (done.status, done.stderr) == (2, f"fcconan: {NEVER_RATED.format('y.csv')}\n")


def test_raters_of_other_replies_are_noted_where_others_match() -> None:
    write_rows(Path("x.csv"), [*ROWS, *_renamed(ratings("mine", JUDGE, "model"))])
    result = _result("--level", "pooled", "--coefficient", "pearson")
    assert result["notes"] == [
        "No reply_id of mine occurs in people's ratings (my-r1A against r1A, for example), so there are no values for "
        "these raters."
    ]
    assert [(row["metric"], row["reason"]) for row in result["rows"]] == [("judge", None), ("mine", "no_rows")]


def test_levels_with_two_replies_for_some_raters_only_are_noted_with_the_raters() -> None:
    third = [{**row, "reply_id": f"{row['item_id']}C", "system": "C"} for row in ROWS if row["system"] == "B"]
    rows = [*ROWS, *third, *ratings("two", JUDGE, "model")]
    write_rows(Path("x.csv"), rows)
    assert _result("--coefficient", "spearman")["notes"] == [
        TWO_REPLIES.replace("per_item", "per_item of two"),
        TWO_SYSTEMS.replace("system_means", "system_means of two"),
    ]
    assert _result("--coefficient", "pairwise_accuracy")["notes"] == []


def test_a_dataset_without_texts_correlates(labels_only: Path) -> None:
    options = ["--level", "pooled", "--aspect", "relevance", "--coefficient", "spearman"]
    (row,) = _result(*options, source=labels_only)["rows"]
    assert (row["metric"], row["n"], row["n_missing"]) == ("simulated-judge", 92, 4)


def test_names_that_look_like_markup_are_names() -> None:
    write_rows(Path("x.csv"), [*PEOPLE, *ratings("judge[/b]", JUDGE, "model")])
    done = fcconan("correlate", "x.csv", "--resamples", 0, "--report", "page.html")
    assert (done.status, "judge[/b]" in done.stdout) == (0, True), done
    assert "judge[/b]" in Path("page.html").read_text(encoding="utf-8")


STRANGE = [{**ROWS[0], "reply_id": "r9"}, *ROWS[1:]]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (PEOPLE, [], "there are no ratings of relevance by models or metrics: known raters are anna, ben"),
        (ROWS[12:], [], "no rating is by people, only by judge: name those who represent people with --human"),
        ([*ROWS, ROWS[0]], [], "x.csv, row 19: anna has rated relevance of the reply r1A before, expected one rating"),
        (
            [{**ROWS[0], "value": "seven"}, *ROWS[1:]],
            [],
            "x.csv, row 1: value is 'seven', expected a number, or nothing",
        ),
        ([{**ROWS[0], "value": "inf"}, *ROWS[1:]], [], "x.csv, row 1: value is 'inf', expected a number"),
        (
            [{**ROWS[0], "value": 6}, *ROWS[1:]],
            [],
            "x.csv, row 1: anna rated relevance 6, expected 1 to 5; leave the v",
        ),
        ([{**ROWS[0], "low": "one"}, *ROWS[1:]], [], "x.csv, row 1: low is 'one', expected a number"),
        (
            [{**ROWS[0], "high": 10}, *ROWS[1:]],
            [],
            "anna rated relevance on different scales, 1 to 5 and 1 to 10: bring",
        ),
        (
            [*({**row, "high": 9} for row in ROWS[:6]), *ROWS[6:]],
            [],
            "relevance was rated on different scales, 1 to 5 a",
        ),
        ([{**ROWS[0], "system": "B"}, *ROWS[1:]], [], "the reply r1A has the system 'B', and in another row 'A': give"),
        ([{"id": 1, "score": 2}], [], "x.csv has no columns 'reply_id', 'rater', 'aspect', 'value', but id, score"),
        (STRANGE, ["--replies", "r.csv"], "the replies lack 1 of 7 rated ones (such as r9): give the replies that"),
        (ROWS, ["--human", "dora"], "unknown rater 'dora': known are anna, ben, judge"),
        (ROWS, ["--rater", "dora"], "unknown rater 'dora': known are anna, ben, judge"),
        (ROWS, ["--aspect", "tone"], "unknown aspect 'tone': known are relevance"),
        (
            ROWS,
            ["--level", "item"],
            "Invalid value for '--level': 'item' is not one of 'pooled', 'per_item', 'per_system'",
        ),
        (
            ROWS,
            ["--coefficient", "tau"],
            "Invalid value for '--coefficient': 'tau' is not one of 'pearson', 'spearman'",
        ),
        (ROWS, ["--rename", "value=grade"], "x.csv has no column 'grade', but reply_id, item_id, system, rater"),
        (
            ROWS,
            ["--filter", "rater_kind=robot"],
            "found no row with the rater_kind robot: choose among human, m",
        ),
        (ROWS, ["--wide-column", "anna=grade"], "x.csv has no column 'grade', but reply_id, item_id"),
        (
            ROWS,
            ["--wide-column", "x=item_id", "--human", "x"],
            "x.csv, row 1, column item_id: value is 'i1', expected a number",
        ),
        (ROWS, ["--split", "test"], "x.csv is a file and has no splits: leave --split out"),
        (ROWS, ["--tests", "rows"], "Invalid value for '--tests': 'rows' is not one of 'reply', 'item'"),
        (
            ROWS,
            ["--tests", "item", "--coefficient", "pairwise_accuracy_calibrated"],
            "--tests compares no pairwise_accuracy_calibrated, whose thresholds differ: choose another --coefficient",
        ),
        (
            ROWS,
            ["--tests", "item"],
            "--tests compares models and metrics, and there is one for each aspect: leave it out",
        ),
        (ROWS, ["--human", "judge", "--rater", "nobody"], "unknown rater 'nobody'"),
        (ROWS, ["--confidence", "1"], "Invalid value for '--confidence': Input should be less than 1 (found 1.0)."),
        (ROWS, ["--replies", "none.csv"], "there is no file none.csv: check the path"),
        (
            ROWS,
            ["--json", "r.csv", "--replies", "r.csv"],
            "r.csv is read, and --json would destroy it: choose another --json",
        ),
    ],
)
def test_bad_input_is_refused(rows: list[dict[str, Any]], options: list[str], message: str) -> None:
    write_rows(Path("x.csv"), rows)
    write_rows(Path("r.csv"), [{"reply_id": key, "item_id": i, "system": s} for key, (i, s) in REPLIES.items()])
    assert fcconan("correlate", "x.csv", *options).complaint.startswith(message)
    assert sorted(path.name for path in Path().iterdir()) == ["r.csv", "x.csv"]


def test_an_empty_file_and_half_a_character_are_refused() -> None:
    Path("x.csv").touch()
    assert fcconan("correlate", "x.csv").complaint == "x.csv has no rows: check the file"
    Path("x.jsonl").write_text('{"rater": "\\udc00"}\n', encoding="utf-8")
    assert fcconan("correlate", "x.jsonl").complaint == (
        "x.jsonl, line 1: '\\udc00' is half a character; correct the line"
    )
    assert fcconan("correlate", "x.jsonl", "--human", "\udcff").complaint.startswith("x.jsonl, line 1: ")


def _ranked() -> list[dict[str, Any]]:
    """Two items with three replies each: one judge orders the first as people do and the second the other way round."""
    rows = []
    for item in ("i1", "i2"):
        for rank in (1, 2, 3):
            place = {"reply_id": f"{item}-{rank}", "item_id": item, "system": f"s{rank}"}
            rows.append(
                {**place, "rater": "p", "rater_kind": "human", "aspect": "rank", "value": rank, "low": 1, "high": 3}
            )
            for aspect, share in (("relevance", 4), ("fit", 2)):  # on 1-5 and 1-3: the same order
                grade = 1 + share * ((3 - rank) / 2 if item == "i1" else (rank - 1) / 2)
                judged: dict[str, Any] = {
                    "rater": "j",
                    "rater_kind": "model",
                    "aspect": aspect,
                    "value": grade,
                    "low": 1,
                    "high": 1 + share,
                }
                rows.append({**place, **judged})
    return rows


def test_the_order_of_replies_against_peoples_ranks() -> None:
    write_rows(Path("x.csv"), _ranked())
    result = _result("--ranks", "rank")
    # Gains 3, 2, 1 by rank: the ideal order has 3 + 2 / log2(3) + 1 / 2, the reverse 1 + 2 / log2(3) + 3 / 2.
    middle = 2 / np.log2(3)
    reverse = (2.5 + middle) / (3.5 + middle)
    values = {row["protocol"]: row["value"] for row in result["ndcg"]}
    assert values == pytest.approx({"sound": (1 + reverse) / 2, "paper": (1 + reverse) / 2}, abs=1e-12)
    (row,) = [row for row in result["ndcg"] if row["protocol"] == "sound"]
    assert (row["metric"], row["n"], row["n_groups"], row["n_incomplete"], row["ceiling"]) == ("j", 6, 2, 0, None)
    assert result["signature"].split("|")[3] == "ranks:rank-by-p"
    assert not any("Judges" in note for note in result["notes"])


def test_judges_of_different_items_are_said_to_be_and_compared_on_common_ones() -> None:
    rows = _ranked()
    second = [{**row, "rater": "k"} for row in rows if row["rater"] == "j"]
    for row in second:
        if row["item_id"] == "i2":
            row["value"] = ""
    write_rows(Path("x.csv"), [*rows, *second])
    result = _result("--ranks", "rank")
    assert result["notes"][1] == (
        "Judges score all replies of 1 to 2 items: compare them on their 1 common items, by which the rows are sorted."
    )
    sound = {row["metric"]: row for row in result["ndcg"] if row["protocol"] == "sound"}
    assert sound["k"]["value"] == 1 > sound["j"]["value"]
    assert [(row["value_common"], row["n_groups_common"]) for row in sound.values()] == [(1, 1), (1, 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ranks", "taste"], "found no ranks of people in 'taste': people rated rank"),
        (["--ranks", "rank", "--stability"], "--stability: --ranks goes with --human and --rater"),
        (["--ranks", "rank", "--human", "p", "--rater", "q"], "q rated nothing, expected aspects with a scale"),
    ],
)
def test_ranks_that_cannot_be_used(options: list[str], message: str) -> None:
    write_rows(Path("x.csv"), _ranked())
    done = fcconan("correlate", "x.csv", *options)
    assert (done.status, message in done.stderr) == (2, True), done


def test_where_raters_are_named_as_people_the_others_are_judges_whatever_their_kind(tmp_path: Path) -> None:
    said = {"anna": ("preference_rank", [1, 2]), "gpt": ("score", [1, 2])}
    rows = [
        {"reply_id": reply, "item_id": "i", "system": reply, "rater": rater, "aspect": aspect, "value": value}
        for rater, (aspect, values) in said.items()
        for reply, value in zip("ab", values, strict=True)
    ]
    file = tmp_path / "r.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = tmp_path / "o.json"
    done = fcconan("correlate", file, "--ranks", "preference_rank", "--human", "anna", "--json", out)
    assert (done.status, done.stderr) == (0, "")
    found = {row["protocol"]: (row["metric"], round(row["value"], 3)) for row in json.loads(out.read_text())["ndcg"]}
    # The judge puts the worse reply first: (1 + 2 / log2(3)) / (2 + 1 / log2(3)). `paper` gives it the higher gain.
    assert found == {"sound": ("gpt", 0.86), "paper": ("gpt", 1.0)}
