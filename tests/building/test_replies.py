import hashlib
from pathlib import Path
from typing import Any

import pytest

from fcconan.building import Recipe
from fcconan.building.builds import build_tables, load_recipe
from fcconan.building.kinds import replies
from fcconan.building.source_files import SourceFiles
from fcconan.building.tables import Built
from fcconan.data import PAIR, REPLY, ids
from fcconan.errors import InputError
from tests import small

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
        sources[name] = {
            "path": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "columns": {column: column for column in rows[0]},
        }
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


def _build(folder: Path, answered: list[Row] | None = None, proposed: list[Row] | None = None) -> Built:
    recipe = Recipe.model_validate(_recipe(folder, answered, proposed))
    built = replies.build(SourceFiles(recipe, {name: folder / source.path for name, source in recipe.sources.items()}))
    for table in built.tables:
        table.check()
    return built


def _item(row: Row) -> str:
    return ids.make_item_id(ids.make_hs_id(row["hate_speech"]), [ids.make_cn_id(row["counter_narrative"])])


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
        "reply_id": ids.make_reply_id(_item(ANSWERED[0]), "vicuna", "None"),
        "item_id": _item(ANSWERED[0]),
        "hs_id": ids.make_hs_id(HS[0]),
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
    assert [row["hs_id"] for row in rows] == [ids.make_hs_id(text) for text in (HS[0], HS[0], HS[1])]
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
    assert table.data["reply_id"][1] == ids.make_reply_id(_item(ANSWERED[0]), "dialogpt", "They do.", "candidate_2")


def test_a_chosen_reply_that_is_no_candidate_is_refused(tmp_path: Path) -> None:
    answered = [ANSWERED[0], ANSWERED[1] | {"dialogpt": "who told you?"}, ANSWERED[2]]
    with pytest.raises(InputError) as caught:
        _build(tmp_path, answered)
    assert str(caught.value) == ("replies.csv, line 3: the chosen reply of dialogpt is not among its 3 candidates")


@pytest.mark.parametrize("change", ["order", "rows", "text"])
def test_candidates_of_other_rows_are_refused(tmp_path: Path, change: str) -> None:
    proposed = _proposed()
    if change == "order":
        proposed.reverse()
    elif change == "rows":
        proposed.pop()
    else:
        proposed[1]["counter_narrative"] = "Another reference."
    with pytest.raises(InputError) as caught:
        _build(tmp_path, None, proposed)
    assert str(caught.value) == ("candidates.csv: its rows are not those of replies.csv; the two files go together")


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_empty_reply_is_refused(tmp_path: Path, system: str) -> None:
    with pytest.raises(InputError, match=rf"^replies\.csv, line 4: {system} is empty"):
        _build(tmp_path, [*ANSWERED[:2], ANSWERED[2] | {system: " "}])


def test_an_empty_candidate_is_refused(tmp_path: Path) -> None:
    proposed = _proposed()
    proposed[2]["candidate_2"] = ""
    with pytest.raises(InputError, match=r"^candidates\.csv, line 4: candidate_2 is empty"):
        _build(tmp_path, None, proposed)


def test_rubrics_are_one_row_an_aspect_with_the_prompt_as_it_is(tmp_path: Path) -> None:
    table = _build(tmp_path).table("rubrics", "test")
    assert table.columns == {"aspect": "string", "prompt": "text"}
    assert table.rows() == [{"aspect": aspect, "prompt": prompt} for aspect, prompt in RUBRICS.items()]


def test_the_pairs_of_the_recipe_are_tables_of_their_own(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("pairs", "test")
    assert table.columns == PAIR.kinds | {"target": "string"}
    expected = ids.make_pair_id(ids.make_hs_id(HS[0]), ids.make_cn_id("The list says otherwise."))
    assert table.data["pair_id"] == [expected, expected]
    assert table.data["source_id"] == ["0", "1"]
    assert len(built.table("pairs", "train")) == 1


def test_repeated_pairs_and_files_that_are_deliberately_not_used_are_noted(tmp_path: Path) -> None:
    assert _build(tmp_path).notes == [
        "pairs/test: rows that repeat an earlier pair: 1; they are included.",
        "Left out: scores/example.csv (a placeholder, not human data)",
    ]


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


def test_candidates_for_another_hs_are_refused(tmp_path: Path) -> None:
    proposed = _proposed()
    proposed[1]["hate_speech"] = HS[1]
    with pytest.raises(InputError, match=r"^candidates\.csv: its rows are not those of replies\.csv"):
        _build(tmp_path, None, proposed)


@pytest.mark.parametrize("rows", [[], [RUBRICS, RUBRICS]])
def test_rubrics_are_one_row(tmp_path: Path, rows: list[Row]) -> None:
    recipe = Recipe.model_validate(_recipe(tmp_path))
    small.write_csv(tmp_path / "rubrics.csv", rows, tuple(RUBRICS))
    with pytest.raises(InputError, match=rf"^rubrics\.csv: has {len(rows)} rows, expected one"):
        replies.build(SourceFiles(recipe, {name: tmp_path / source.path for name, source in recipe.sources.items()}))


def test_a_mapped_column_that_the_pairs_do_not_read_is_refused(tmp_path: Path) -> None:
    data = _recipe(tmp_path)
    data["extra_columns"] = {}
    with pytest.raises(
        InputError, match=r"^train\.csv: kind 'replies' does not read 'target'; .*it reads age, .*; decl"
    ):
        replies.build(
            SourceFiles(Recipe.model_validate(data), {name: tmp_path / f"{name}.csv" for name in data["sources"]})
        )
