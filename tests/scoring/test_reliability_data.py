"""What several raters said, as the agreement functions take it."""

from typing import Any

import numpy as np
import pytest
from fcconan.scoring.reliability_data import NOMINAL_COEFFICIENTS, read_reliability_data

from fcconan.errors import InputError
from fcconan.scoring.agreement import AGREEMENT_COEFFICIENTS
from fcconan.scoring.ratings import Ratings

Row = dict[str, Any]


def _rating(reply: str, rater: str, value: Any, kind: str = "human", aspect: str = "relevance", **more: Any) -> Row:
    return {"reply_id": reply, "rater": rater, "rater_kind": kind, "aspect": aspect, "value": value, **more}


def _verdict(item: str, rater: str, verdict: str) -> Row:
    return {"item_id": item, "system_a": "A", "system_b": "B", "rater": rater, "verdict": verdict}


RATINGS = [
    _rating("r1", "anna", 1),
    _rating("r1", "ben", 2),
    _rating("r2", "ben", 4),
    _rating("r2", "judge", 5, "model"),
    _rating("r1", "bleu", 0.5, "metric", "score"),
]


def test_people_are_taken_and_the_domain_is_what_they_gave() -> None:
    (table,) = read_reliability_data("ratings", RATINGS)
    assert (table.aspect, table.raters, table.domain) == ("relevance", ["anna", "ben"], [1.0, 2.0, 4.0])
    assert (table.coefficients, table.ordered, table.scale_known) == (AGREEMENT_COEFFICIENTS, True, False)
    np.testing.assert_array_equal(table.values, [[1, np.nan], [2, 4]])


def test_one_person_is_compared_with_models_and_not_with_metrics() -> None:
    (table,) = read_reliability_data("ratings", [row for row in RATINGS if row["rater"] != "ben"])
    assert table.raters == ["anna", "judge"]


def test_metrics_alone_are_compared_with_each_other() -> None:
    rows = [_rating("r1", name, 1, "metric", "score") for name in ("x", "y")]
    assert read_reliability_data("ratings", rows)[0].raters == ["x", "y"]


def test_a_scale_gives_all_its_grades() -> None:
    rows = [{**row, "low": 1.0, "high": 5.0} for row in RATINGS[:3]]
    assert read_reliability_data("ratings", rows)[0].domain == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert read_reliability_data("ratings", rows)[0].scale_known
    assert read_reliability_data("ratings", RATINGS[:3], scale=(0, 4))[0].domain == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_means_of_grades_have_the_values_that_were_given() -> None:
    rows = [_rating("r1", "anna", 1.5, low=1, high=5), _rating("r1", "ben", 2, low=1, high=5)]
    assert read_reliability_data("ratings", rows)[0].domain == [1.5, 2.0]


def test_ratings_that_are_all_missing_have_a_domain() -> None:
    (table,) = read_reliability_data("ratings", [_rating("r1", "anna", None), _rating("r1", "ben", None)])
    assert (table.domain, bool(np.isnan(table.values).all())) == ([0.0], True)


def test_verdicts_are_nominal() -> None:
    rows = [_verdict("i1", "anna", "a"), _verdict("i1", "ben", "tie"), _verdict("i2", "ben", "invalid")]
    (table,) = read_reliability_data("comparisons", rows)
    assert (table.raters, table.domain, table.coefficients) == (["anna", "ben"], [0.0, 1.0, 2.0], NOMINAL_COEFFICIENTS)
    assert table.ordered is False
    np.testing.assert_array_equal(table.values, [[0, np.nan], [2, np.nan]])


def test_labels_have_the_order_of_votes_also_those_that_nobody_gave() -> None:
    rows = [
        {"pair_id": "p1", "rater": "ben", "label": "appropriate"},
        {"pair_id": "p1", "rater": "anna", "label": "not_appropriate"},
        {"pair_id": "p2", "rater": "anna", "label": "appropriate"},
        {"pair_id": "p2", "rater": "anna", "label": "appropriate"},
    ]
    (table,) = read_reliability_data("votes", rows)
    assert (table.raters, table.domain, table.ordered) == (["anna", "ben"], [0.0, 1.0, 2.0], True)
    np.testing.assert_array_equal(table.values, [[0, 2], [2, np.nan]])
    (table,) = read_reliability_data("votes", [{**row, "label": row["label"].upper()} for row in rows])
    assert (table.domain, table.ordered) == ([0.0, 1.0], False)


def test_raters_and_aspects_are_chosen() -> None:
    assert read_reliability_data("ratings", RATINGS, raters=["judge", "anna", "judge"])[0].raters == ["anna", "judge"]
    assert [table.aspect for table in read_reliability_data("ratings", RATINGS, raters=["bleu", "ben"])] == [
        "relevance",
        "score",
    ]
    assert [table.aspect for table in read_reliability_data("ratings", RATINGS, aspects=["relevance"])] == ["relevance"]
    rows = [_verdict("i1", name, "a") for name in ("anna", "ben", "clara")]
    assert read_reliability_data("comparisons", rows, raters=["ben", "anna"])[0].raters == ["anna", "ben"]


def test_replies_have_the_items_of_the_rows_or_of_the_replies() -> None:
    (table,) = read_reliability_data("ratings", RATINGS)
    assert (table.items, table.unit) == (None, "reply")
    rows = [{**row, "item_id": "i1"} for row in RATINGS]
    (table,) = read_reliability_data("ratings", rows)
    assert (table.items, table.unit) == (["i1", "i1"], "item")
    known = [{"reply_id": "r1", "item_id": "i1"}, {"reply_id": "r2", "item_id": "i2"}]
    (table,) = read_reliability_data("ratings", Ratings(RATINGS, known))
    assert (table.items, table.unit, table.raters) == (["i1", "i2"], "item", ["anna", "ben"])
    (table,) = read_reliability_data("ratings", Ratings(RATINGS, [known[0], {"reply_id": "r2"}]))
    assert (table.items, table.unit) == (None, "reply")


def test_pairs_of_replies_have_the_item_of_their_rows() -> None:
    rows = [_verdict("i2", "anna", "a"), _verdict("i1", "ben", "b"), {**_verdict("i2", "ben", "a"), "system_a": "C"}]
    (table,) = read_reliability_data("comparisons", rows)
    assert (table.items, table.unit) == (["i2", "i1", "i2"], "item")


@pytest.mark.parametrize(
    ("pairs", "items", "unit"),
    [
        (["hs-1:cn-1", "hs-1:cn-2", "hs-2:cn-1"], ["hs-1", "hs-1", "hs-2"], "item"),
        (["hs-1:cn-1", "p2"], None, "pair"),
        (["hs-1:cn-1", "hs-2:cn:1"], None, "pair"),
        (["hs-1:cn-1", ":cn-1"], None, "pair"),
    ],
)
def test_labelled_pairs_have_the_hs_message_of_their_ids(pairs: list[str], items: list[str] | None, unit: str) -> None:
    rows = [{"pair_id": pair, "rater": rater, "label": "yes"} for rater in ("anna", "ben") for pair in pairs]
    (table,) = read_reliability_data("votes", rows)
    assert (table.items, table.unit, table.values.shape) == (items, unit, (2, len(pairs)))


def test_numbers_name_pairs_raters_and_labels() -> None:
    votes = [{"pair_id": pair, "rater": rater, "label": pair % 2} for pair in range(3) for rater in (0, 1.0)]
    (table,) = read_reliability_data("votes", votes, raters=["0", "1"])
    assert (table.raters, table.values.tolist()) == (["0", "1"], [[0.0, 1.0, 0.0]] * 2)
    verdicts = [{**_verdict("i1", "", "a"), "rater": rater, "rater_kind": "human"} for rater in (0, 1.0)]
    model = {**_verdict("i1", "", "a"), "rater": 2, "rater_kind": "model"}
    for raters, left_out in ((None, ("2",)), (["1", "0"], ())):
        (table,) = read_reliability_data("comparisons", [*verdicts, model], raters=raters)
        assert (table.raters, table.left_out, table.values.tolist()) == (["0", "1"], left_out, [[0.0], [0.0]])


VOTE = {"pair_id": "p1", "rater": "anna", "label": "yes"}


@pytest.mark.parametrize(
    ("kind", "rows", "options", "message"),
    [
        ("ratings", [], {}, "there are no ratings: give rows with reply_id, rater, aspect and value"),
        ("ratings", RATINGS, {"raters": ["dora"]}, "unknown rater 'dora': known are anna, ben, judge, bleu"),
        ("ratings", RATINGS, {"aspects": ["tone"]}, "unknown aspect of anna, ben 'tone': known are relevance"),
        (
            "ratings",
            RATINGS,
            {"scale": (1, 3)},
            "relevance was rated 4, expected 1 to 3: give its own --scale, or correct",
        ),
        (
            "ratings",
            [_rating(f"r{n}", who, n / 7) for n in range(102) for who in ("anna", "ben")],
            {},
            "relevance has 102 different values, expected the grades of one person each, at most 101: means of",
        ),
        ("comparisons", [_verdict("i1", "anna", "a")], {"aspects": ["tone"]}, "comparisons have no aspects: leave"),
        ("comparisons", [_verdict("i1", "anna", "a")], {"scale": (1, 5)}, "comparisons have no grades: leave --scale"),
        ("comparisons", [_verdict("i1", "anna", "a")], {"raters": ["ben"]}, "unknown rater 'ben': known are anna"),
        (
            "comparisons",
            [_verdict("i1", "anna", "A")],
            {},
            "comparison 1: the verdict is 'A', expected one of a, b, tie",
        ),
        ("votes", [], {}, "there are no votes: give rows with pair_id, rater and label"),
        ("votes", [{**VOTE, "label": None}], {}, "vote 1: label is None, expected a name or an id; correct"),
        ("votes", [{**VOTE, "pair_id": 0.5}], {}, "vote 1: pair_id is 0.5, expected a name or an id; correct the row"),
        ("votes", [VOTE], {"raters": ["ben"]}, "unknown rater 'ben': known are anna"),
        (
            "votes",
            [VOTE, {**VOTE, "label": "no"}],
            {},
            "vote 2: anna labelled the pair p1 yes before, and now no; remove one of them",
        ),
    ],
)
def test_bad_rows_are_refused(kind: str, rows: list[Row], options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_reliability_data(kind, rows, **options)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("high", [1e9, 1e308])
def test_a_scale_that_memory_cannot_hold_is_refused(high: float) -> None:
    rows = [{**row, "low": 1, "high": high} for row in RATINGS[:3]]
    with pytest.raises(InputError) as caught:
        read_reliability_data("ratings", rows)
    assert str(caught.value).startswith(f"relevance has a scale from 1 to {high:g}, expected fewer than 1000000 grades")
