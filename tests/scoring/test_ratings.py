"""Ratings from rows to arrays, with values worked out by hand."""

from typing import Any

import numpy as np
import pytest

from fcconan.data.tables import PlacedRow
from fcconan.errors import InputError
from fcconan.scoring.ratings import Ratings

Row = dict[str, Any]


def _rating(reply: str, rater: str, value: Any, aspect: str = "relevance", **more: Any) -> Row:
    return {"reply_id": reply, "rater": rater, "rater_kind": "human", "aspect": aspect, "value": value, **more}


def _scored(reply: str, rater: str, value: Any, aspect: str = "score") -> Row:
    return {**_rating(reply, rater, value, aspect), "rater_kind": "metric"}


PEOPLE = [
    _rating("r1", "anna", 2, low=1, high=5),
    _rating("r2", "anna", "4", low="1", high="5"),
    _rating("r3", "anna", None, low=1, high=5, reason="skipped"),
    _rating("r1", "ben", 5.0, low=1, high=5),
    _rating("r3", "ben", float("nan"), low=1, high=5),
]
REPLIES: list[Row] = [
    {"reply_id": "r1", "item_id": "i1", "system": "A", "text": "Ask the Ombrey library."},
    {"reply_id": "r2", "item_id": "i1", "system": "B", "text": ""},
    {"reply_id": "r3", "item_id": "i2", "system": "A", "text": None},
    {"reply_id": "r4", "item_id": "i2", "system": "B", "text": "Nobody rated this."},
]


def test_people_stand_in_rows_and_what_is_missing_is_counted() -> None:
    rated = Ratings(PEOPLE, REPLIES)
    names, values = rated.people("relevance")
    assert names == ["anna", "ben"]
    np.testing.assert_array_equal(values, [[2, 4, np.nan], [5, np.nan, np.nan]])
    assert (rated.replies, rated.items, rated.systems) == (["r1", "r2", "r3"], ["i1", "i1", "i2"], ["A", "B", "A"])
    assert (rated.knows_items, rated.knows_systems) == (True, True)
    assert rated.missing == {("anna", "relevance"): {"skipped": 1}, ("ben", "relevance"): {"no_value": 1}}
    assert rated.scale("relevance", names) == (1.0, 5.0)


@pytest.mark.parametrize(
    ("said", "praise"),
    [
        *((said, False) for said in (False, 0, 0.0, "0", "0.0", "false", "FALSE", "no", "No")),
        *((said, True) for said in (True, 1, 1.0, "1", "1.0", "true", "True", "yes", " YES ")),
        *((said, True) for said in (None, "", "  ", float("nan"))),
    ],
)
def test_whether_a_high_rating_is_praise(said: Any, praise: bool) -> None:
    rated = Ratings([_rating("r1", "anna", 1, higher_is_better=said)])
    assert rated.higher_is_better("relevance", ["anna"]) is praise


@pytest.mark.parametrize("said", ["lower", "f", 2, -1.0, "nan"])
def test_an_unclear_direction_is_refused(said: Any) -> None:
    with pytest.raises(InputError) as refused:
        Ratings([_rating("r1", "anna", 1, higher_is_better=said)])
    assert str(refused.value) == (f"rating 1: higher_is_better is {said!r}, expected true or false; correct the row")


def test_nothing_known_about_replies_makes_each_an_item_of_an_unknown_system() -> None:
    rated = Ratings(PEOPLE)
    assert (rated.items, rated.systems) == (["r1", "r2", "r3"], ["unknown"] * 3)
    assert (rated.knows_items, rated.knows_systems) == (False, False)


def test_ratings_may_tell_of_their_replies_themselves() -> None:
    rows = [
        _rating(0, 0, 1, item_id=0, system=1.0, text="Two words."),  # type: ignore[arg-type]
        _rating("1", 1.0, 2, item_id="0", system=None, text=None),  # type: ignore[arg-type]
        _rating(1.0, 0.0, 2, item_id=float("nan"), system=0),  # type: ignore[arg-type]
    ]
    rated = Ratings(rows)
    assert (rated.replies, rated.items, rated.systems) == (["0", "1"], ["0", "0"], ["1", "0"])
    assert (rated.raters(), rated.knows_items, rated.knows_systems) == (["0", "1"], True, True)
    # What the replies do not say, the ratings may.
    rated = Ratings(rows, [{"reply_id": 0, "text": "Two words."}, {"reply_id": 1.0, "text": "One, two, three."}])
    assert (rated.items, rated.systems) == (["0", "0"], ["1", "0"])


@pytest.mark.parametrize("column", ["item_id", "system", "hs_id"])
def test_replies_that_contradict_the_ratings_are_refused(column: str) -> None:
    ratings = [*PEOPLE[:3], PEOPLE[3] | {column: "Tessok"}]
    with pytest.raises(InputError) as refused:
        Ratings(ratings, [{"reply_id": "r2"}, {"reply_id": "r3"}, {"reply_id": "r1", column: "Velmari"}])
    assert str(refused.value) == (
        f"the reply r1 has the {column} 'Tessok', and in another row 'Velmari': give every reply an id of its own, "
        "and the replies that were rated"
    )


def test_one_reply_without_an_item_makes_items_unknown() -> None:
    rated = Ratings(PEOPLE, [*REPLIES[:2], {"reply_id": "r3", "system": "A"}])
    assert (rated.knows_items, rated.knows_systems, rated.items[2]) == (False, True, "r3")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there are no ratings: give rows with reply_id, rater, aspect and value"),
        ([{**PEOPLE[0], "reply_id": None}], "rating 1: reply_id is None, expected a name or an id; correct the row"),
        ([{**PEOPLE[0], "rater": ""}], "rating 1: rater is '', expected a name or an id; correct the row"),
        ([{**PEOPLE[0], "aspect": np.nan}], "rating 1: aspect is nan, expected a name or an id; correct the row"),
        (
            [{**PEOPLE[0], "rater_kind": "robot"}],
            "rating 1: rater_kind is 'robot', expected human, model, metric; correct",
        ),
        ([PEOPLE[0], _rating("r1", "anna", 2)], "rating 2: anna has rated relevance of the reply r1 before, expected"),
        ([PEOPLE[0], _scored("r2", "anna", 2)], "rating 2: anna is a rater of the kind metric, but before of the kind"),
        ([_rating("r1", "anna", "good")], "rating 1: value is 'good', expected a number, or nothing where it is miss"),
        ([_rating("r1", "anna", "inf")], "rating 1: value is 'inf', expected a number, or nothing"),
        ([_rating("r1", "anna", True)], "rating 1: value is True, expected a number"),
        ([_rating("r1", "anna", [3])], "rating 1: value is [3], expected a number"),
        ([_rating("r1", "anna", 6, low=1, high=5)], "rating 1: anna rated relevance 6, expected 1 to 5; leave the val"),
        ([_rating("r1", "anna", 0, low=1, high=5)], "rating 1: anna rated relevance 0, expected 1 to 5"),
        ([_rating("r1", "anna", 3, low=5, high=1)], "rating 1: the scale is 5 to 1, expected the lowest grade first"),
        ([_rating(True, "anna", 3)], "rating 1: reply_id is True, expected a name or an id; correct the row"),  # type: ignore[arg-type]
        ([_rating("r1", 1.5, 3)], "rating 1: rater is 1.5, expected a name or an id; correct the row"),  # type: ignore[arg-type]
        (
            [_rating("r1", "anna", 3, item_id=0.5)],
            "rating 1: item_id is 0.5, expected a name or an id; correct the row",
        ),
        (
            [PEOPLE[0], _rating("r1", "ben", 9), _rating("r2", "anna", 9), _rating("r3", "anna", 5, low=1)],
            "rating 3: anna rated relevance 9, expected 1 to 5; leave the value empty",
        ),
        (
            [_rating("r1", "anna", 0, low=1), _rating("r2", "anna", 3), PEOPLE[2]],
            "rating 1: anna rated relevance 0, expected 1 to 5; leave",
        ),
        (
            [PEOPLE[0] | {"system": "A"}, PEOPLE[3] | {"system": "B"}],
            "the reply r1 has the system 'A', and in another row 'B': give every reply an id of its own",
        ),
        (
            [PEOPLE[0], _rating("r2", "anna", 3, low=0, high=10)],
            "anna rated relevance on different scales, 0 to 10 and 1 to 5: bring the ratings to one scale",
        ),
    ],
)
def test_a_bad_rating_is_refused(rows: list[Row], message: str) -> None:
    with pytest.raises(InputError) as refused:
        Ratings(rows)
    assert str(refused.value).startswith(message)


def test_a_complaint_names_where_the_row_comes_from() -> None:
    with pytest.raises(InputError, match=r"^ratings\.csv, row 7: value is 'x', expected a number"):
        Ratings([PlacedRow(_rating("r1", "anna", "x"), "ratings.csv, row 7")])


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        (REPLIES[:1], "the replies lack 2 of 3 rated ones (such as r2): give the replies that were rated"),
        ([], "the replies lack 3 of 3 rated ones (such as r1): give the replies that were rated"),
        ([*REPLIES, {"item_id": "i9"}], "reply 5: reply_id is None, expected a name or an id; correct the row"),
        (
            [*REPLIES, {**REPLIES[0], "system": "B"}],
            "the reply r1 has the system 'A', and in another row 'B': give every reply an id of its own",
        ),
    ],
)
def test_replies_that_do_not_belong_are_refused(replies: list[Row], message: str) -> None:
    with pytest.raises(InputError) as refused:
        Ratings(PEOPLE, replies)
    assert str(refused.value).startswith(message)


def test_a_reply_may_be_named_twice_if_nothing_contradicts() -> None:
    rated = Ratings(PEOPLE, [*REPLIES, REPLIES[0], {"reply_id": "r3", "text": "Yes."}])
    assert rated.systems == ["A", "B", "A"]


def test_praise_is_high_unless_the_rows_say_otherwise() -> None:
    rated = Ratings([_rating("r1", "anna", 1, "rudeness", higher_is_better="False"), PEOPLE[0]])
    assert [rated.higher_is_better(aspect, ["anna"]) for aspect in ("rudeness", "relevance")] == [False, True]


def test_a_scale_of_one_grade_is_refused() -> None:
    with pytest.raises(InputError, match="the scale is 1 to 1, expected the lowest grade first"):
        Ratings([_rating("r1", "anna", 1, low=1, high=1)])


def test_contradictory_directions_are_refused() -> None:
    said = [_rating(reply, "anna", 1, "rudeness", higher_is_better=high) for reply, high in (("r1", True), ("r2", ""))]
    with pytest.raises(InputError) as refused:
        Ratings([*said, _rating("r3", "anna", 1, "rudeness", higher_is_better="no")])
    assert str(refused.value) == (
        "rating 3: higher_is_better of rudeness by anna is False, but in rating 1 True; write one of them into all rows"
    )
    other = _rating("r1", "ben", 1, "rudeness", higher_is_better=False)

    assert Ratings([*said, other]).higher_is_better("rudeness", ["anna"]) is True  # each for themselves


def test_who_rated_on_which_scale_is_named() -> None:
    rows = [_rating("r1", f"rater-{at}", 1, low=0 if at else 1, high=5) for at in range(5)]
    with pytest.raises(
        InputError, match=r"raters of one \(0 to 5: rater-1, rater-2, rater-3, \.\.\.; 1 to 5: rater-0\)$"
    ):
        Ratings(rows).people("relevance")
