"""Replies that were made elsewhere, as replies to the items of a dataset."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcconan.data import ids
from fcconan.errors import InputError
from fcconan.generation.imported_replies import ImportedReplies
from fcconan.generation.writing import row_maker
from tests.generation.folders import write_lines, write_manifest, write_part
from tests.generation.said import ITEMS, OMBREY, TESSOK, VELMARI, item

Row = dict[str, Any]
TWICE = [item(OMBREY, "One."), item(OMBREY, "Two."), item(TESSOK)]


def no_flags(hate_speech: str, text: str, *, language: str | None = None) -> tuple[str, ...]:
    return ()


def texts(found: ImportedReplies, system: str) -> list[tuple[str, str | None, str | None]]:
    return [(each.item_id, got.text, got.reason) for each, got in found.iter_replies(system)]


def replies(tmp_path: Path, rows: Sequence[Mapping[str, Any]], items: Any = ITEMS, **settings: Any) -> ImportedReplies:
    return ImportedReplies(write_lines(tmp_path / "mine.jsonl", rows), items, **settings)


def test_replies_find_their_items_by_the_message(tmp_path: Path) -> None:
    found = replies(
        tmp_path,
        [
            {"hate_speech": f" {TESSOK.replace(' ', '  ')}", "text": " Who saw? "},
            {"hate_speech": OMBREY, "text": "They do."},
            {"hate_speech": "Another message.", "text": "Left out."},
            {"hate_speech": VELMARI, "text": " "},
        ],
    )
    assert found.systems == ("mine",)
    assert texts(found, "mine") == [
        (ITEMS[0].item_id, "They do.", None),
        (ITEMS[1].item_id, "Who saw?", None),
        (ITEMS[2].item_id, None, "empty"),
    ]
    assert found.counts == {
        "rows": 4,
        "left_out": 0,
        "unknown": 1,
        "empty": 1,
        "repeated": 0,
        "missing": {"mine": 0},
    }
    assert found.notes() == ["1 of 4 replies answer no message of the dataset: left out."]
    (_, got), *_ = found.iter_replies("mine")
    assert got.more == {
        "reply_id": ids.make_reply_id(ITEMS[0].item_id, "mine", "They do."),
        "strategy": "imported",
    }


def test_rows_have_the_message_and_the_references_of_the_item(tmp_path: Path) -> None:
    found = replies(tmp_path, [{"hate_speech": f"{OMBREY} ", "text": "They do.", "references": ["Other."]}])
    ((each, got),) = found.iter_replies("mine")
    row = row_maker("mine", "imported", flags=no_flags)(each, got)
    assert (row["hate_speech"], row["references"]) == (OMBREY, list(ITEMS[0].references))
    assert (row["model"], row["seed"], row["examples"]) == (None, None, None)


def test_an_item_id_goes_before_the_message_and_needs_none(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"item_id": TWICE[1].item_id, "text": "To the second.", "hate_speech": OMBREY},
        {"item_id": TWICE[2].item_id, "text": "To the third.", "hate_speech": None},
    ]
    assert texts(replies(tmp_path, rows, TWICE), "mine") == [
        (TWICE[1].item_id, "To the second.", None),
        (TWICE[2].item_id, "To the third.", None),
    ]
    only_ids = [{"item_id": each["item_id"], "text": each["text"]} for each in rows]
    assert texts(replies(tmp_path, only_ids, TWICE), "mine")[1][1] == "To the third."


def test_references_tell_items_of_one_message_apart(tmp_path: Path) -> None:
    rows = [
        {"hate_speech": OMBREY, "text": "b", "references": '["Two."]'},
        {"hate_speech": OMBREY, "text": "a", "references": "One."},
    ]
    assert [text for _, text, _ in texts(replies(tmp_path, rows, TWICE), "mine")] == ["a", "b"]


def test_the_only_reply_to_a_message_answers_all_its_items(tmp_path: Path) -> None:
    found = replies(tmp_path, [{"hate_speech": OMBREY, "text": "a"}], TWICE)
    assert texts(found, "mine") == [(TWICE[0].item_id, "a", None), (TWICE[1].item_id, "a", None)]
    assert len({got.more["reply_id"] for _, got in found.iter_replies("mine")}) == 2
    assert found.counts["missing"] == {"mine": 1}
    assert found.notes() == ["Items without a reply, of 3: mine 1."]


def test_as_many_replies_as_items_answer_them_in_their_order(tmp_path: Path) -> None:
    rows = [{"hate_speech": OMBREY, "text": "a"}, {"hate_speech": OMBREY, "text": "a"}]
    found = replies(tmp_path, rows, TWICE)
    assert [text for _, text, _ in texts(found, "mine")] == ["a", "a"]
    assert found.counts["repeated"] == 0


def test_any_other_number_cannot_be_told_apart(tmp_path: Path) -> None:
    rows = [{"hate_speech": OMBREY, "text": text} for text in "abc"]
    with pytest.raises(InputError) as refused:
        replies(tmp_path, rows, TWICE)
    assert str(refused.value) == (
        f"{tmp_path / 'mine.jsonl'}, row 1: mine has 3 replies to this message, of which the dataset has 2 items: add "
        "a column item_id or references"
    )


def test_further_replies_of_a_system_are_kept_and_counted(tmp_path: Path) -> None:
    rows = [{"hate_speech": TESSOK, "text": text} for text in ("a", "b", "a")]
    found = replies(tmp_path, rows)
    assert [text for _, text, _ in texts(found, "mine")] == ["a", "b", "a"]
    assert len({got.more["reply_id"] for _, got in found.iter_replies("mine")}) == 3
    assert found.counts["repeated"] == 2
    assert replies(tmp_path, rows[:2]).notes()[0].startswith("Further replies of the same system to the same item: 1.")
    assert found.notes()[0] == (
        "Further replies of the same system to the same item: 2. All are retained; `fcconan judge compare` uses one."
    )


SYSTEMS = [
    {"hate_speech": OMBREY, "text": "a", "system": "two", "strategy": "facts"},
    {"hate_speech": TESSOK, "text": "b", "system": "one"},
    {"hate_speech": OMBREY, "text": "c", "system": "one"},
]


def test_several_systems_are_told_apart_and_one_can_be_chosen(tmp_path: Path) -> None:
    found = replies(tmp_path, SYSTEMS)
    assert found.systems == ("two", "one")
    assert [text for _, text, _ in texts(found, "one")] == ["c", "b"]
    assert [got.more["strategy"] for name in found.systems for _, got in found.iter_replies(name)] == [
        "facts",
        *["imported"] * 2,
    ]
    assert found.counts["missing"] == {"two": 2, "one": 1}
    chosen = replies(tmp_path, SYSTEMS, system="two")
    assert (chosen.systems, chosen.counts["left_out"], chosen.counts["rows"]) == (("two",), 2, 3)
    assert chosen.configuration == found.configuration
    with pytest.raises(InputError) as refused:
        replies(tmp_path, SYSTEMS, system="three")
    path = tmp_path / "mine.jsonl"
    assert str(refused.value) == f"{path} has no replies of 'three', but of two, one: name one of these"


def test_a_system_without_a_column_is_named_by_option_or_file(tmp_path: Path) -> None:
    assert replies(tmp_path, [{"hate_speech": OMBREY, "text": "a"}], system="chat").systems == ("chat",)


def test_replies_of_a_dataset_keep_their_ids(tmp_path: Path) -> None:
    rows = [
        {
            "reply_id": f"re-{number}",
            "item_id": each.item_id,
            "hs_id": each.hs_id,
            "hate_speech": each.hate_speech,
            "text": f"To {number}.",
            "system": "paper",
            "strategy": None,
            "references": list(each.references),
        }
        for number, each in enumerate(TWICE)
    ]
    folder = write_part(tmp_path / "built", "replies", "test", rows)
    write_manifest(folder)
    found = ImportedReplies(folder, TWICE)
    assert [got.more["reply_id"] for _, got in found.iter_replies("paper")] == ["re-0", "re-1", "re-2"]
    moved = ImportedReplies(folder, [item(OMBREY, "Another."), item(TESSOK, "A CN.")], system="paper")
    ((other, got),) = [(each, got) for each, got in moved.iter_replies("paper") if each.hate_speech == TESSOK]
    assert got.more["reply_id"] == ids.make_reply_id(other.item_id, "paper", "To 2.")


def test_columns_go_by_other_names(tmp_path: Path) -> None:
    path = tmp_path / "theirs.csv"
    path.write_text(f'HS,output,who\n"{OMBREY}",a,x\n"{TESSOK}",,y\n', encoding="utf-8")
    found = ImportedReplies(path, ITEMS, columns={"text": "output", "system": "who"})
    assert (texts(found, "x"), texts(found, "y")) == (
        [(ITEMS[0].item_id, "a", None)],
        [(ITEMS[1].item_id, None, "empty")],
    )


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        (
            [{"hate_speech": "x", "text": "y"}],
            {},
            "none of the 1 replies in FILE answers an item of the dataset: check",
        ),
        ([], {}, "FILE has no rows: check the file"),
        (
            [{"hate_speech": OMBREY}],
            {},
            "FILE has the columns hate_speech, references, expected `text` and one of hate_",
        ),
        (
            [{"text": "y"}],
            {},
            "FILE has the columns text, references, expected `text` and one of hate_speech, item_id, ",
        ),
        ([{"hate_speech": OMBREY, "text": 3}], {}, "FILE, row 1: the reply is 3, expected a text; correct that row"),
        (
            [{"hate_speech": OMBREY, "text": "y"}],
            {"columns": {"text": "z"}},
            "FILE has no column 'z', but hate_speech, ",
        ),
        ([{"hate_speech": OMBREY, "text": "y"}], {"columns": {"rank": "text"}}, "--rename rank=text: replies have no "),
        (
            [{"hate_speech": OMBREY, "text": "y"}],
            {"split": "test"},
            "FILE is a file and has no splits: leave --split o",
        ),
    ],
)
def test_bad_input_is_refused_in_a_line(
    tmp_path: Path, rows: list[dict[str, Any]], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as refused:
        replies(tmp_path, rows, **settings)
    said = str(refused.value)
    assert said.replace(str(tmp_path / "mine.jsonl"), "FILE").startswith(message)
    assert "\n" not in said


def test_the_configuration_changes_with_the_replies(tmp_path: Path) -> None:
    one = replies(tmp_path, SYSTEMS).configuration
    assert json.loads(json.dumps(one)) == one
    assert (one["strategy"], one["file"]) == ("imported", "mine.jsonl")
    other = replies(tmp_path, [*SYSTEMS[:2], {**SYSTEMS[2], "text": "d"}]).configuration
    assert other["content"] != one["content"]
