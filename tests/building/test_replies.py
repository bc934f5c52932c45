from pathlib import Path
from typing import Any

import pytest

from fcconan.building import build_tables, load_recipe
from fcconan.data import REPLY, make_cn_id, make_hs_id, make_item_id, make_reply_id
from fcconan.errors import InputError
from tests import small
from tests.building.made import build_in

Row = dict[str, str]
HS = ["The Ombrey never return a book.", "Every Tessok cheats at cards."]
SYSTEMS = ("chatgpt", "dialogpt", "vicuna")
CANDIDATES = ("candidate_1", "candidate_2", "candidate_3")
ANSWERED: list[Row] = [
    {
        "hate_speech": HS[0],
        "counter_narrative": "The list says otherwise.",
        "target": "OMBREY",
        "chatgpt": "Ask a librarian.",
        "dialogpt": "They do.",
        "vicuna": "None",
    },
    {
        "hate_speech": HS[0],
        "counter_narrative": "Have you counted?",
        "target": "OMBREY",
        "chatgpt": "Ask a librarian.",
        "dialogpt": "Who told you?",
        "vicuna": "Books come back.",
    },
    {
        "hate_speech": HS[1],
        "counter_narrative": "Cards are banned there.",
        "target": "TESSOK",
        "chatgpt": "With which cards?",
        "dialogpt": "No.",
        "vicuna": "NA",
    },
]
PROPOSED = [("Hm.", "They do.", "Yes."), ("Who told you?", "Well.", "Oh."), ("No.", "Why?", "No.")]
RUBRICS = {"fluency": "Is it written well?", "overall": "Grade it,\nfrom 1 to 5."}


def _proposed() -> list[Row]:
    return [
        {name: row[name] for name in ("hate_speech", "counter_narrative", "target")}
        | dict(zip(CANDIDATES, texts, strict=True))
        for row, texts in zip(ANSWERED, PROPOSED, strict=True)
    ]


def _recipe(folder: Path, answered: list[Row] | None = None, proposed: list[Row] | None = None) -> dict[str, Any]:
    """Writes the files and returns the recipe as plain data."""
    pair = [{name: ANSWERED[0][name] for name in ("hate_speech", "counter_narrative", "target")}]
    files = {
        "replies": answered or ANSWERED,
        "candidates": proposed or _proposed(),
        "rubrics": [RUBRICS],
        "train": pair,
        "test": pair * 2,
    }
    sources = {}
    for name, rows in files.items():
        path = folder / f"{name}.csv"
        small.write_csv(path, rows)
        sources[name] = small.pinned(path, rows[0])
    return small.recipe_data(folder / "nothing") | {
        "kind": "replies",
        "expect_by_tier_rule": {},
        "systems": list(SYSTEMS),
        "sources": sources,
        "excluded": {"scores/example.csv": "a placeholder, not human data"},
        "extra_columns": {"target": "string"},
        "pairs": [
            {"config": "pairs", "split": "train", "source": "train"},
            {"config": "pairs", "split": "test", "source": "test"},
        ],
        "expect": {
            "rows": {
                "replies": {"test": 9},
                "candidates": {"test": 9},
                "rubrics": {"test": 2},
                "pairs": {"train": 1, "test": 2},
            },
            "facts": {"systems": 3, "items": 3, "hate_speech": 2},
        },
    }


def _build(folder: Path, answered: list[Row] | None = None, proposed: list[Row] | None = None) -> Any:
    return build_in(folder, _recipe(folder, answered, proposed))


def _item(row: Row) -> str:
    return make_item_id(make_hs_id(row["hate_speech"]), [make_cn_id(row["counter_narrative"])])


def test_every_system_replies_to_every_item(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("replies", "test")
    assert table.columns == REPLY.kinds | {"target": "string"}
    assert [(row["item_id"], row["system"], row["text"], row["references"], row["target"]) for row in table.rows()] == [
        (_item(row), system, row[system], [row["counter_narrative"]], row["target"])
        for row in ANSWERED
        for system in SYSTEMS
    ]
    first = table.rows()[2]
    assert first == {
        "reply_id": make_reply_id(_item(ANSWERED[0]), "vicuna", "None"),
        "item_id": _item(ANSWERED[0]),
        "hs_id": make_hs_id(HS[0]),
        "hate_speech": HS[0],
        "text": "None",
        "system": "vicuna",
        "strategy": None,
        "references": ["The list says otherwise."],
        "target": "OMBREY",
    }


def test_one_hs_with_two_references_is_two_items(tmp_path: Path) -> None:
    built = _build(tmp_path)
    rows = [row for row in built.table("replies", "test").rows() if row["system"] == "chatgpt"]
    assert [row["hs_id"] for row in rows] == [make_hs_id(text) for text in (HS[0], HS[0], HS[1])]
    assert len({row["item_id"] for row in rows}) == 3
    # The same text to the same HS, under two references: two replies.
    assert rows[0]["text"] == rows[1]["text"]
    assert rows[0]["reply_id"] != rows[1]["reply_id"]
    assert built.facts == {"systems": 3, "items": 3, "hate_speech": 2}


def test_candidates_are_the_replies_that_dialogpt_proposed_and_the_chosen_one_is_marked(tmp_path: Path) -> None:
    table = _build(tmp_path).table("candidates", "test")
    assert table.columns == REPLY.kinds | {"target": "string", "chosen": "bool"}
    assert [(row["item_id"], row["text"], row["chosen"]) for row in table.rows()] == [
        (_item(ANSWERED[0]), "Hm.", False),
        (_item(ANSWERED[0]), "They do.", True),
        (_item(ANSWERED[0]), "Yes.", False),
        (_item(ANSWERED[1]), "Who told you?", True),
        (_item(ANSWERED[1]), "Well.", False),
        (_item(ANSWERED[1]), "Oh.", False),
        # It proposed the chosen text twice: both candidates are marked.
        (_item(ANSWERED[2]), "No.", True),
        (_item(ANSWERED[2]), "Why?", False),
        (_item(ANSWERED[2]), "No.", True),
    ]
    assert set(table.data["system"]) == {"dialogpt"}
    assert len(set(table.data["reply_id"])) == 9
    assert table.data["reply_id"][1] == make_reply_id(_item(ANSWERED[0]), "dialogpt", "They do.", "candidate_2")


def test_a_chosen_reply_that_is_no_candidate_is_refused(tmp_path: Path) -> None:
    answered = [ANSWERED[0], ANSWERED[1] | {"dialogpt": "who told you?"}, ANSWERED[2]]
    with pytest.raises(InputError) as caught:
        _build(tmp_path, answered)
    assert str(caught.value) == "replies.csv, row 3: the reply of dialogpt is not among its 3 candidates"


def test_rubrics_are_one_row_an_aspect_with_the_prompt_as_it_is(tmp_path: Path) -> None:
    table = _build(tmp_path).table("rubrics", "test")
    assert table.columns == {"aspect": "string", "prompt": "text"}
    assert table.rows() == [{"aspect": aspect, "prompt": prompt} for aspect, prompt in RUBRICS.items()]


def test_a_recipe_file_builds_with_the_counts_that_it_states(tmp_path: Path) -> None:
    built, left_out = build_tables(load_recipe(str(small.write_recipe(tmp_path, _recipe(tmp_path)))))
    assert left_out == []
    assert [(table.config, table.split, len(table)) for table in built.tables] == [
        ("replies", "test", 9),
        ("candidates", "test", 9),
        ("rubrics", "test", 2),
        ("pairs", "train", 1),
        ("pairs", "test", 2),
    ]
