import math
from typing import Any

import numpy as np
import pytest
from fcconan.scoring.comparisons import pair_items, read_verdicts, verdict_table

from fcconan.data.tables import PlacedRow
from fcconan.errors import InputError

Row = dict[str, Any]


def row(a: str, b: str, verdict: str, item: str = "i1", rater: str = "r1", **columns: Any) -> Row:
    return {"item_id": item, "system_a": a, "system_b": b, "verdict": verdict, "rater": rater} | columns


def test_columns_of_verdicts() -> None:
    found = read_verdicts(
        [
            row("owl", "elk", "a", "i2", "r2", reply_a="p", reply_b="q"),
            row("elk", "owl", "tie", "i1", "r1"),
            row("elk", "ant", "invalid", "i1", "r1"),
        ]
    )
    assert (found.systems, found.items, found.raters) == (("ant", "elk", "owl"), ("i1", "i2"), ("r1", "r2"))
    assert found.first.tolist() == [2, 1, 1]
    assert found.second.tolist() == [1, 2, 0]
    assert found.outcome[:2].tolist() == [1.0, 0.5]
    assert math.isnan(found.outcome[2])
    assert found.item.tolist() == [1, 0, 0]
    assert found.rater.tolist() == [1, 0, 0]
    assert found.replies == (("p", "q"), (None, None), (None, None))


def test_kinds_of_raters_and_corpora_are_known_where_rows_say_them() -> None:
    found = read_verdicts(
        [
            row("ant", "elk", "a", "i1", "r2", rater_kind="human", corpus="south"),
            row("ant", "elk", "a", "i2", "r2", corpus="north"),
            row("ant", "owl", "a", "i2", "r1", rater_kind=None, corpus="north"),
            row("ant", "owl", "a", "i3", "r1", corpus="north"),
        ]
    )
    assert (found.raters, found.kinds) == (("r1", "r2"), (None, "human"))
    assert found.corpora == {"north": {"i2", "i3"}, "south": {"i1"}}


def test_only_an_invalid_verdict_can_be_unresolved() -> None:
    found = read_verdicts(
        [
            row("ant", "elk", "invalid", reason="unresolved"),
            row("ant", "owl", "invalid", reason="no_verdicts"),
            row("elk", "owl", "a", reason="unresolved"),
        ]
    )
    assert found.unresolved.tolist() == [True, False, False]


def test_complaints_name_the_place_of_a_row() -> None:
    placed = PlacedRow(row("ant", "ant", "a"), "verdicts.csv, row 7")
    with pytest.raises(InputError, match=r"^verdicts\.csv, row 7: ant is compared with itself, expected two systems"):
        read_verdicts([row("ant", "elk", "a"), placed])


def test_wins_are_counted_by_item_and_by_rater() -> None:
    found = read_verdicts(
        [
            row("ant", "elk", "a"),
            row("elk", "ant", "a", rater="r2"),
            row("ant", "elk", "tie", "i2"),
            row("ant", "owl", "invalid", "i2"),
        ]
    )
    assert found.wins().tolist() == [
        [[0, 1, 0], [1, 0, 0], [0, 0, 0]],
        [[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]],
    ]
    assert found.wins(1).tolist() == [[[0, 0, 0], [1, 0, 0], [0, 0, 0]], [[0, 0, 0]] * 3]


def test_numbers_are_ids_and_a_rater_need_not_be_named() -> None:
    found = read_verdicts([{"item_id": 7, "system_a": "ant", "system_b": "elk", "verdict": "a", "rater": math.nan}])
    assert (found.items, found.raters) == (("7",), ("rater",))


def test_raters_and_replies_may_be_floats_of_whole_numbers() -> None:
    found = read_verdicts([row(0, 1.0, "a", 0, rater, reply_a=0.0, reply_b=5.0) for rater in (1.0, 0)])  # type: ignore[arg-type]
    assert (found.items, found.systems, found.raters) == (("0",), ("0", "1"), ("0", "1"))
    assert found.replies == (("0", "5"), ("0", "5"))


@pytest.mark.parametrize(("column", "value"), [("rater", 0.5), ("reply_a", 1.5), ("reply_b", True), ("corpus", [1])])
def test_what_is_no_id_is_refused_also_where_none_is_needed(column: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        read_verdicts([row("ant", "elk", "a"), row("ant", "elk", "a", "i2") | {column: value}])
    assert str(caught.value) == f"comparison 2: {column} is {value!r}, expected a name or an id; correct the row"


def test_a_repeated_verdict_counts_once() -> None:
    found = read_verdicts([row("ant", "elk", "a"), row("ant", "elk", "a"), row("ant", "elk", "a", rater="r2")])
    assert (len(found.outcome), found.n_repeated, found.n_both_orders) == (2, 1, 0)
    assert read_verdicts([row("ant", "elk", "a")] * 3).n_repeated == 2


def test_one_row_says_that_there_is_no_majority() -> None:
    rows = [row("ant", "elk", "invalid", reason="unresolved"), row("ant", "elk", "invalid", reason="truncated")]
    assert read_verdicts(rows).unresolved.tolist() == [True]
    assert read_verdicts(rows[::-1]).unresolved.tolist() == [True]
    assert read_verdicts(rows[1:]).unresolved.tolist() == [False]


def test_two_replies_of_one_system_are_two_pairs() -> None:
    found = read_verdicts(
        [row("ant", "elk", "a", reply_a="p", reply_b="q"), row("ant", "elk", "b", reply_a="o", reply_b="q")]
    )
    assert found.outcome.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("first", "second", "outcome", "flipped"),
    [("a", "b", 1.0, 0), ("b", "a", 0.0, 0), ("tie", "tie", 0.5, 0), ("a", "a", 0.5, 1), ("a", "tie", 0.5, 1)],
)
def test_both_orders_make_one_verdict_and_disagreement_a_tie(
    first: str, second: str, outcome: float, flipped: int
) -> None:
    found = read_verdicts([row("elk", "ant", first), row("ant", "elk", second)])
    assert found.outcome.tolist() == [outcome]
    assert (found.systems[found.first[0]], found.n_both_orders, found.n_flipped) == ("elk", 1, flipped)
    assert found.n_repeated == 0
    twice = [row(*sides, item) for item in ("i1", "i2") for sides in (("elk", "ant", first), ("ant", "elk", second))]
    assert (read_verdicts(twice).n_both_orders, read_verdicts(twice).n_flipped) == (2, 2 * flipped)


@pytest.mark.parametrize("verdicts", [("invalid", "a"), ("tie", "invalid"), ("invalid", "invalid")])
def test_one_invalid_order_makes_an_invalid_verdict(verdicts: tuple[str, str]) -> None:
    found = read_verdicts([row("ant", "elk", verdicts[0]), row("elk", "ant", verdicts[1])])
    assert np.isnan(found.outcome).tolist() == [True]
    assert (found.n_both_orders, found.n_flipped) == (1, 0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there are no comparisons: give rows with item_id, system_a, system_b, verdict and rater"),
        ([row("ant", "ant", "a")], "comparison 1: ant is compared with itself, expected two systems; remove that row"),
        (
            [row("ant", "elk", "a"), row("ant", "owl", "A")],
            "comparison 2: the verdict is 'A', expected one of a, b, tie, invalid; correct the row, and write invalid "
            "where there is no verdict",
        ),
        (
            [row("ant", "elk", None)],  # type: ignore[arg-type]
            "comparison 1: the verdict is None, expected one of a, b, tie, invalid; correct the row, and write invalid "
            "where there is no verdict",
        ),
        (
            [row("ant", "elk", "a"), row("ant", "elk", "b")],
            "comparison 2: the verdict of r1 on ant and elk, item i1, is 'b', but 'a' in an earlier row; remove one of "
            "them",
        ),
        (
            [row("ant", "elk", "a"), row("elk", "ant", "b"), row("elk", "ant", "tie")],
            "comparison 3: the verdict of r1 on elk and ant, item i1, is 'tie', but 'b' in an earlier row; remove one "
            "of them",
        ),
        (
            [row("ant", "elk", "a", rater_kind="robot")],
            "comparison 1: rater_kind is 'robot', expected human, model, metric; correct the row",
        ),
        (
            [row("ant", "elk", "a", rater_kind="human"), row("ant", "elk", "a", "i2", rater_kind="model")],
            "comparison 2: r1 is a rater of the kind model, but before of the kind human; write one rater_kind for "
            "each rater",
        ),
        ([row("ant", "", "a")], "comparison 1: system_b is '', expected a name or an id; correct the row"),
        (
            [row("ant", "elk", "a", math.nan)],  # type: ignore[arg-type]
            "comparison 1: item_id is nan, expected a name or an id; correct the row",
        ),
        (
            [row("ant", "elk", "a", "i1", reply_a="p", reply_b="q"), row("ant", "owl", "a", "i2", reply_a="p")],
            "comparison 2: the reply p is one of ant to i2, but before it was one of ant to i1; give every reply an id "
            "of its own",
        ),
        (
            [row("ant", "elk", "a", reply_a="p", reply_b="p")],
            "comparison 1: the reply p is one of elk to i1, but before it was one of ant to i1; give every reply an id "
            "of its own",
        ),
    ],
)
def test_bad_rows_are_refused(rows: list[Row], message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_verdicts(rows)
    assert str(caught.value) == message


PANEL = [
    # unanimous, seen from either side
    *(row("ant", "elk", "a", "i1", "r1"), row("elk", "ant", "b", "i1", "r2"), row("ant", "elk", "a", "i1", "r3")),
    # two of three
    *(row("ant", "elk", "tie", "i2", "r1"), row("ant", "elk", "b", "i2", "r2"), row("ant", "elk", "tie", "i2", "r3")),
    # three ways
    *(row("ant", "elk", "tie", "i3", "r1"), row("ant", "elk", "b", "i3", "r2"), row("elk", "ant", "b", "i3", "r3")),
    # one of two: no majority; the third is invalid, and so is that of two
    *(row("ant", "elk", "a", "i4", "r1"), row("ant", "elk", "invalid", "i4", "r2")),
    *(row("ant", "elk", "a", "i5", "r1"), row("ant", "elk", "a", "i5", "r2"), row("ant", "elk", "invalid", "i5", "r3")),
    # a single verdict, and none
    row("ant", "elk", "b", "i6", "r2"),
    *(row("ant", "elk", "invalid", "i7", "r1"), row("ant", "elk", "invalid", "i7", "r2")),
]


def test_verdict_table_turns_verdicts_to_the_first_rows_sides() -> None:
    raters, table = verdict_table(PANEL)
    assert raters == ["r1", "r2", "r3"]
    expected = [[0, 2, 2, 0, 0, None, None], [0, 1, 1, None, 0, 1, None], [0, 2, 0, None, None, None, None]]
    assert [[None if math.isnan(value) else value for value in line] for line in table.tolist()] == expected


def test_the_items_of_pairs_stand_in_the_order_of_the_table() -> None:
    assert pair_items(PANEL) == ["i1", "i2", "i3", "i4", "i5", "i6", "i7"]
    assert pair_items([row("ant", "elk", "a", "i2"), row("ant", "owl", "a", "i1"), row("elk", "owl", "a", "i2")]) == [
        "i2",
        "i1",
        "i2",
    ]


MIXED = [
    row("ant", "elk", "b", "i1", "r2"),
    row("ant", "elk", "a", "i1", "r1", reply_a="p", reply_b="q"),
    row("elk", "ant", "a", "i1", "r3", reply_a="q"),
]


def test_raters_whose_rows_name_no_replies_judge_the_pair_that_others_name() -> None:
    assert read_verdicts(MIXED).replies == (("p", "q"), ("p", "q"), ("q", "p"))
    assert verdict_table(MIXED)[1].tolist() == [[0.0], [1.0], [1.0]]


def test_one_rater_may_name_replies_in_one_order_only() -> None:
    found = read_verdicts([row("ant", "elk", "a", reply_a="p", reply_b="q"), row("elk", "ant", "b")])
    assert (found.outcome.tolist(), found.n_both_orders, found.n_flipped) == ([1.0], 1, 0)
    again = read_verdicts([row("ant", "elk", "a", reply_a="p", reply_b="q"), row("ant", "elk", "a")])
    assert (again.outcome.tolist(), again.n_repeated) == ([1.0], 1)


def test_replies_of_other_pairs_and_items_say_nothing() -> None:
    rows = [
        row("ant", "owl", "a", "i1", reply_a="o", reply_b="w"),
        row("ant", "elk", "a", "i2", reply_a="p", reply_b="q"),
        row("ant", "elk", "a", "i1"),
    ]
    assert read_verdicts(rows).replies == (("o", "w"), ("p", "q"), (None, None))


def test_a_row_without_replies_is_refused_where_others_name_several() -> None:
    rows = [*MIXED, row("ant", "elk", "a", "i1", "r4", reply_a="o", reply_b="q")]
    with pytest.raises(InputError) as caught:
        read_verdicts(rows)
    assert str(caught.value) == (
        "comparison 1: the reply of ant to the item i1 has no id, but other rows have 2 ids (p, o), expected at most "
        "one; write reply_a and reply_b in every row"
    )
