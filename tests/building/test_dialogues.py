from pathlib import Path
from typing import Any

import pytest

from fcconan.building import build_tables, load_recipe
from fcconan.data import make_cn_id
from fcconan.errors import InputError
from tests import small
from tests.building.made import build_in

HEADER = ("text", "TARGET", "dialogue_id", "turn_id", "type", "source")
COLUMNS = {
    "text": "text",
    "target": "TARGET",
    "dialogue_id": "dialogue_id",
    "turn_id": "turn_id",
    "role": "type",
    "collection": "source",
}
Turn = tuple[str, str, str, str, str]
# Text, target, dialogue, turn, role. Dialogues 7 and 8 take turns in the file.
TURNS: list[Turn] = [
    ("The Ombrey never return a book.", "OMBREY", "7", "0", "HS"),
    ("Nobody needs Velmari bakers.", "VELMARI", "8", "0", "HS"),
    ("The library's list says otherwise.", "OMBREY", "7", "1", "CN"),
    ("Then who bakes at night?", "VELMARI", "8", "1", "CN"),
    ("Lists can lie.", "OMBREY", "7", "2", "HS"),
    ("None", "OMBREY", "7", "3", "CN"),
]


def _recipe(folder: Path, turns: list[Turn], *, empty_texts: int = 0) -> dict[str, Any]:
    path = folder / "turns.csv"
    small.write_csv(path, [dict(zip(HEADER, (*turn, "set-1"), strict=True)) for turn in turns], HEADER)
    source = small.pinned(path, ()) | {"columns": COLUMNS, "empty_texts": empty_texts}
    base = small.recipe_data(folder / "nothing")
    return base | {"kind": "dialogues", "expect_by_tier_rule": {}, "sources": {"turns": source}}


def _build(folder: Path, turns: list[Turn], *, empty_texts: int = 0) -> Any:
    return build_in(folder, _recipe(folder, turns, empty_texts=empty_texts))


def test_one_row_a_turn_in_the_order_of_the_file(tmp_path: Path) -> None:
    built = _build(tmp_path, TURNS)
    table = built.table("turns", "train")
    assert [(row["dialogue_id"], row["turn_id"], row["role"]) for row in table.rows()] == [
        ("7", 0, "hs"),
        ("8", 0, "hs"),
        ("7", 1, "cn"),
        ("8", 1, "cn"),
        ("7", 2, "hs"),
        ("7", 3, "cn"),
    ]
    assert table.rows()[5] == {
        "dialogue_id": "7",
        "turn_id": 3,
        "role": "cn",
        "text_id": make_cn_id("None"),
        "text": "None",
        "target": "OMBREY",
        "collection": "set-1",
    }
    assert built.facts == {"dialogues": 2, "alternating_dialogues": 2, "empty_turns": 0}
    assert built.notes == [
        "0 of 2 dialogues do not alternate between HS and CN; they are included.",
        "Turns that are empty upstream: 0; they are included without a text id.",
        "Dialogues whose turns name more than one target: 0.",
    ]


def test_an_empty_turn_that_the_recipe_knows_of_is_kept_without_an_id(tmp_path: Path) -> None:
    turns = [*TURNS[:3], (" ", "VELMARI", "8", "1", "CN"), *TURNS[4:]]
    built = _build(tmp_path, turns, empty_texts=1)
    assert built.table("turns", "train").data["text_id"][3] is None
    assert built.table("turns", "train").data["text"][3] == " "
    assert built.facts == {"dialogues": 2, "alternating_dialogues": 2, "empty_turns": 1}


@pytest.mark.parametrize(
    ("number", "expected"),
    [("2", 1), ("0", 1)],
)
def test_a_turn_out_of_order_is_refused(tmp_path: Path, number: str, expected: int) -> None:
    turns = [*TURNS[:2], (TURNS[2][0], "OMBREY", "7", number, "CN"), *TURNS[3:]]
    with pytest.raises(InputError) as caught:
        _build(tmp_path, turns)
    assert str(caught.value).startswith(f"turns.csv, row 4: turn_id is {number}, expected {expected}, the next of")


@pytest.mark.parametrize(
    ("roles", "alternating"),
    [
        (["HS", "CN"], 1),
        (["HS", "CN", "HS", "CN"], 1),
        (["CN", "HS"], 0),
        (["HS", "HS", "CN", "CN"], 0),
        (["HS", "CN", "HS"], 1),  # the last message has no answer
        (["HS"], 1),
        (["HS", "CN", "CN"], 0),
    ],
)
def test_a_dialogue_alternates_when_hs_and_cn_take_turns_from_an_hs_on(
    tmp_path: Path, roles: list[str], alternating: int
) -> None:
    turns = [(f"Turn {at}.", "OMBREY", "1", str(at), role) for at, role in enumerate(roles)]
    built = _build(tmp_path, turns)
    assert built.table("turns", "train").data["role"] == [role.lower() for role in roles]
    assert built.facts == {"dialogues": 1, "alternating_dialogues": alternating, "empty_turns": 0}
    assert built.notes[0].startswith(f"{1 - alternating} of 1 dialogues")


def test_a_recipe_file_builds_and_its_facts_are_checked(tmp_path: Path) -> None:
    data = _recipe(tmp_path, TURNS)
    facts = {"dialogues": 2, "alternating_dialogues": 2, "empty_turns": 0}
    data["expect"] = {"rows": {"turns": {"train": 6}}, "facts": facts}
    built, left_out = build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
    assert ([table.config for table in built.tables], left_out) == (["turns"], [])
    data["expect"] = {"rows": {"turns": {"train": 6}}, "facts": facts | {"dialogues": 3}}
    with pytest.raises(InputError, match=r": dialogues: found 2, expected 3; correct `expect` if meant$"):
        build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
