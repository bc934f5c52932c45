import hashlib
from pathlib import Path
from typing import Any

import pytest

from fcconan.building import Recipe
from fcconan.building.builds import build_tables, load_recipe
from fcconan.building.kinds import dialogues
from fcconan.building.kinds.dialogues import TURN
from fcconan.building.source_files import SourceFiles
from fcconan.building.tables import Built
from fcconan.data import ids as identity
from fcconan.errors import InputError
from tests import small

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
    source = {
        "path": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "columns": COLUMNS,
        "empty_texts": empty_texts,
    }
    base = small.recipe_data(folder / "nothing")
    return base | {"kind": "dialogues", "expect_by_tier_rule": {}, "sources": {"turns": source}}


def _build(folder: Path, turns: list[Turn], *, empty_texts: int = 0) -> Built:
    recipe = Recipe.model_validate(_recipe(folder, turns, empty_texts=empty_texts))
    built = dialogues.build(SourceFiles(recipe, {"turns": folder / "turns.csv"}))
    built.table("turns", "train").check()
    return built


def test_one_row_a_turn_in_the_order_of_the_file(tmp_path: Path) -> None:
    built = _build(tmp_path, TURNS)
    table = built.table("turns", "train")
    assert table.columns == TURN
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
        "text_id": identity.make_cn_id("None"),
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


def test_a_text_has_an_id_of_its_role(tmp_path: Path) -> None:
    same = [("Why?", "OMBREY", "1", "0", "HS"), (" Why? ", "OMBREY", "1", "1", "CN")]
    ids = _build(tmp_path, same).table("turns", "train").data["text_id"]
    assert ids == [identity.make_hs_id("Why?"), identity.make_cn_id("Why?")]
    assert [name[:3] for name in ids] == ["hs-", "cn-"]


def test_without_texts_the_ids_stay(tmp_path: Path) -> None:
    kept = _build(tmp_path, TURNS).table("turns", "train").labels_only()
    assert kept.columns.keys() == TURN.keys() - {"text"}
    assert kept.data["text_id"][0] == identity.make_hs_id(TURNS[0][0])


def test_an_empty_turn_that_the_recipe_knows_of_is_kept_without_an_id(tmp_path: Path) -> None:
    turns = [*TURNS[:3], (" ", "VELMARI", "8", "1", "CN"), *TURNS[4:]]
    built = _build(tmp_path, turns, empty_texts=1)
    assert built.table("turns", "train").data["text_id"][3] is None
    assert built.table("turns", "train").data["text"][3] == " "
    assert built.facts == {"dialogues": 2, "alternating_dialogues": 2, "empty_turns": 1}


@pytest.mark.parametrize("allowed", [0, 1])
def test_more_empty_turns_than_the_recipe_says_are_refused(tmp_path: Path, allowed: int) -> None:
    turns = [*TURNS, ("", "OMBREY", "7", "4", "HS"), ("\n", "OMBREY", "7", "5", "CN")]
    with pytest.raises(InputError) as caught:
        _build(tmp_path, turns, empty_texts=allowed)
    assert str(caught.value).startswith(
        f"turns.csv, line 8: text is empty (2 empty texts, expected {allowed}); fill it in, or remove the row"
    )


@pytest.mark.parametrize(
    ("number", "expected"),
    [("2", 1), ("0", 1), ("", 1), ("-1", 1)],
)
def test_a_turn_out_of_order_is_refused(tmp_path: Path, number: str, expected: int) -> None:
    turns = [*TURNS[:2], (TURNS[2][0], "OMBREY", "7", number, "CN"), *TURNS[3:]]
    with pytest.raises(InputError) as caught:
        _build(tmp_path, turns)
    assert str(caught.value) == (f"turns.csv, line 4: turn_id is {number}, expected {expected}, the next of dialogue 7")


def test_a_dialogue_that_does_not_start_with_turn_0_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^turns\.csv, line 2: turn_id is 1, expected 0, the next of dialogue 7$"):
        _build(tmp_path, [("The Ombrey never return a book.", "OMBREY", "7", "1", "HS")])


@pytest.mark.parametrize("number", ["1.5", "one"])
def test_a_turn_number_must_be_a_whole_number(tmp_path: Path, number: str) -> None:
    with pytest.raises(InputError, match=r"^turns\.csv, line 2: turn_id is .*expected a (whole )?number$"):
        _build(tmp_path, [("The Ombrey never return a book.", "OMBREY", "7", number, "HS")])


@pytest.mark.parametrize("role", ["hs", "", "MOD"])
def test_an_unknown_role_is_refused(tmp_path: Path, role: str) -> None:
    turns = [*TURNS, ("Who asked?", "OMBREY", "9", "0", role)]
    with pytest.raises(InputError) as caught:
        _build(tmp_path, turns)
    assert str(caught.value).startswith(f"turns.csv, line 8: role is {role!r}, expected one of 'HS', 'CN'")


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


def test_a_dialogue_with_several_targets_is_noted_and_its_turns_keep_them(tmp_path: Path) -> None:
    turns = [*TURNS[:5], ("None", "OMBREY/TESSOK", "7", "3", "CN")]
    built = _build(tmp_path, turns)
    assert built.notes[2] == "Dialogues whose turns name more than one target: 1."
    assert built.table("turns", "train").data["target"][-1] == "OMBREY/TESSOK"


def test_a_recipe_file_builds_and_its_facts_are_checked(tmp_path: Path) -> None:
    data = _recipe(tmp_path, TURNS)
    facts = {"dialogues": 2, "alternating_dialogues": 2, "empty_turns": 0}
    data["expect"] = {"rows": {"turns": {"train": 6}}, "facts": facts}
    built, left_out = build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
    assert ([table.config for table in built.tables], left_out) == (["turns"], [])
    data["expect"] = {"rows": {"turns": {"train": 6}}, "facts": facts | {"dialogues": 3}}
    with pytest.raises(InputError, match=r": dialogues: found 2, expected 3; correct `expect` if meant$"):
        build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
