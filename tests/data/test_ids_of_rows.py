"""Ids are one text, whatever kind of file holds them."""

import math
from typing import Any

import numpy as np
import pytest

from fcconan.data.ids import cell_list, cell_text, optional_id, with_ids
from fcconan.errors import InputError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None), ("", None), (math.nan, None), (np.float64("nan"), None),
        (0, "0"), (0.0, "0"), (-0.0, "0"), ("0", "0"), ("0.0", "0"), (7, "7"), (7.0, "7"), ("7.0", "7"), (-3.0, "-3"),
        ("-3.0", "-3"), (np.int64(5), "5"), (np.float32(5), "5"), (2.0**53, "9007199254740992"),
        (10**20, "100000000000000000000"),
        ("r1", "r1"), ("07", "07"), ("1.5", "1.5"), ("1.00", "1.00"), (".0", ".0"), ("v1.0", "v1.0"), ("nan", "nan"),
        (" ", " "),
    ],
)  # fmt: skip
def test_an_id_is_a_text(value: Any, expected: str | None) -> None:
    assert optional_id({"reply_id": value}, "reply_id", "row 1") == expected
    assert optional_id({}, "reply_id", "row 1") is None


@pytest.mark.parametrize("value", [0.5, True, False, math.inf, 2.0**54, np.True_, [1], {}, b"r1"])
def test_what_is_no_id_is_refused(value: Any) -> None:
    with pytest.raises(InputError) as refused:
        optional_id({"rater": value}, "rater", "x.jsonl, row 3")
    assert str(refused.value) == f"x.jsonl, row 3: rater is {value!r}, expected a name or an id; correct the row"


def test_ids_of_a_row_become_text_and_other_cells_stay() -> None:
    row = {"item_id": 0, "system_a": 1.0, "rater": "", "value": 3.0, "text": "1.0"}
    assert with_ids(row, "row 1") == {"item_id": "0", "system_a": "1", "rater": None, "value": 3.0, "text": "1.0"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "1"),
        (1.0, "1"),
        ("1.0", "1"),
        (1.5, "1.5"),
        (True, "True"),
        (None, "None"),
        ("", "None"),
        (math.nan, "None"),
    ],
)
def test_options_name_cells_alike_in_all_files(value: Any, expected: str) -> None:
    assert cell_text(value) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (("a",), ["a"]),
        ('["a", "b, c"]', ["a", "b, c"]),  # JSON
        ("['a', \"it's\"]", ["a", "it's"]),  # as pandas writes it
        ("[]", []),
        ("[a] said the Ombrey", ["[a] said the Ombrey"]),
        ("[" * 5000, ["[" * 5000]),
        ("a, b", ["a, b"]),
        (None, [None]),
    ],
)
def test_a_cell_is_read_as_a_list(cell: Any, expected: list[Any]) -> None:
    assert cell_list(cell) == expected
