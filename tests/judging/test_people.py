import math
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.judging.people import human_means
from fcconan.judging.rating import RatingSummary
from fcconan.oldcli.judge.ratings_table import print_ratings


def rating(
    name: str | None, value: Any, rater: str = "ann", kind: str = "human", aspect: str = "calm"
) -> dict[str, Any]:
    return {"reply_id": name, "rater": rater, "rater_kind": kind, "aspect": aspect, "value": value}


RATINGS = [
    rating("re-1", 2),
    rating("re-1", 5, "ben"),
    rating("re-1", "4", "eve"),
    rating("re-2", None),
    rating("re-2", "", "ben"),
    rating("re-2", math.nan, "eve"),
    rating("re-3", 3.5),
    rating("re-3", None, "ben"),
    rating("re-1", 1, "judge", "model"),
    rating("re-1", 1, aspect="depth"),
]


def test_people_are_averaged_and_what_they_left_out_is_left_out() -> None:
    assert human_means(RATINGS, "calm") == {"re-1": 11 / 3, "re-3": 3.5}
    assert human_means(RATINGS, "depth") == {"re-1": 1.0}


def test_raters_can_be_named_models_too() -> None:
    assert human_means(RATINGS, "calm", raters=["ben"]) == {"re-1": 5.0}
    assert human_means(RATINGS, "calm", raters=["judge", "ann"]) == {"re-1": 1.5, "re-3": 3.5}


@pytest.mark.parametrize(
    ("aspect", "raters", "message"),
    [
        ("wit", None, "found no ratings of wit by people; found ratings of calm, depth"),
        ("depth", ["eve"], "found no ratings of depth by eve; found ratings of calm, depth"),
    ],
)
def test_ratings_that_are_not_there(aspect: str, raters: list[str] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        human_means(RATINGS, aspect, raters=raters)
    with pytest.raises(InputError, match="found ratings of no aspect"):
        human_means([], aspect)


@pytest.mark.parametrize(
    "bad",
    [
        rating("re-9", "good"),
        rating("re-9", True),
        rating("re-9", "1_0"),
        rating("re-9", 10**400),
        rating("re-9", [3]),
        rating("re-9", math.inf),
        rating("re-9", "-inf"),
        rating(None, 3),
    ],
)
def test_ratings_that_cannot_be_read(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"a rating of calm is .* for the reply .*: expected a number and a reply_id"):
        human_means([*RATINGS, bad], "calm")


# What came of rating.


def row(value: float | None, reason: str | None = None, **further: Any) -> dict[str, Any]:
    return {"rater": "m", "aspect": "calm", "value": value, "low": 1.0, "high": 5.0, "reason": reason, **further}


def test_the_summary_counts_what_is_there_and_what_is_missing() -> None:
    summary = RatingSummary()
    summary.add(
        [row(2.0, cited=True, retained_mass=0.5), row(5.0, cited=False, retained_mass=0.75, suspicious="score: 5")]
    )
    summary.add([row(None, "timeout"), row(None, "no_field"), row(None, "timeout")])
    summary.add([row(3.0, cited=True) | {"aspect": "depth"}])
    found = summary.result(failed_requests=2)
    assert found["failed_requests"] == 2
    assert found["rows"] == [
        {
            "rater": "m",
            "aspect": "calm",
            "n": 2,
            "n_missing": 3,
            "missing": {"no_field": 1, "timeout": 2},
            "mean": 3.5,
            "bounds": [(7 + 3 * 1) / 5, (7 + 3 * 5) / 5],
            "cited": 0.5,
            "retained_mass": 0.625,
            "n_suspicious": 1,
        },
        {
            "rater": "m",
            "aspect": "depth",
            "n": 1,
            "n_missing": 0,
            "missing": {},
            "mean": 3.0,
            "bounds": [3.0, 3.0],
            "cited": 1.0,
            "retained_mass": None,
            "n_suspicious": 0,
        },
    ]


def test_the_summary_counts_labels() -> None:
    summary = RatingSummary()
    for label, reason in (("good", None), ("bad", None), ("good", None), (None, "no_majority")):
        summary.add([{"pair_id": "p", "rater": "m", "label": label, "reason": reason}])
    [found] = summary.result()["rows"]
    assert found["labels"] == {"bad": 1, "good": 2}
    assert (found["aspect"], found["n"], found["n_missing"], found["mean"], found["bounds"]) == (
        "label",
        3,
        1,
        None,
        None,
    )


def test_without_any_value_there_is_no_mean() -> None:
    summary = RatingSummary()
    summary.add([row(None, "empty"), row(None, "empty")])
    [found] = summary.result()["rows"]
    assert (found["n"], found["mean"], found["bounds"], found["missing"]) == (0, None, [1.0, 5.0], {"empty": 2})


def test_the_summary_is_printed_with_requests_that_failed(capsys: pytest.CaptureFixture[str]) -> None:
    summary = RatingSummary()
    summary.add([row(2.0), row(None, "timeout")])
    print_ratings(summary.result(failed_requests=1), Path("ratings.csv"))
    printed = capsys.readouterr().out
    assert "Ratings in ratings.csv" in printed
    assert "2.000" in printed
    assert "timeout 1" in printed
    assert "1 request failed for a passing reason: run the command again to repeat them" in printed


def test_replies_and_raters_may_be_numbers() -> None:
    rows = [
        {"reply_id": reply, "rater": rater, "rater_kind": "human", "aspect": "tone", "value": 2 * reply + rater}
        for reply in (0, 1.0)
        for rater in (0, 1.0)
    ]
    assert human_means(rows, "tone", raters=["1"]) == {"0": 1.0, "1": 3.0}
