"""Messages to answer, from folders and files, with what is wrong with either."""

from pathlib import Path
from typing import Any

import pytest

from fcconan.data import ids
from fcconan.data.leakage import message_leakage_keys
from fcconan.errors import InputError
from fcconan.generation.items import describe_messages, load_items
from fcconan.generation.splits import open_split
from tests.generation.folders import pair, write_lines, write_manifest, write_part
from tests.generation.said import ITEMS

OMBREY, TESSOK = "The Ombrey never return a book.", "Every Tessok cheats at cards."
EARLY, BANNED = "The library's list says they do.", "Cards were banned there."


def item_id(message: str, *references: str) -> str:
    return ids.make_item_id(ids.make_hs_id(message), [ids.make_cn_id(text) for text in references])


def reply(message: str, item: str, system: str, *references: str, **more: Any) -> dict[str, Any]:
    return {
        "reply_id": f"{item}-{system}",
        "item_id": item,
        "hs_id": ids.make_hs_id(message),
        "hate_speech": message,
        "text": f"what {system} said",
        "system": system,
        "references": list(references),
        **more,
    }


def test_replies_give_the_items_that_they_answer(tmp_path: Path) -> None:
    rows = [reply(OMBREY, "i2", "a", EARLY), reply(TESSOK, "i1", "a", BANNED), reply(OMBREY, "i2", "b", EARLY)]
    rows.append(reply(OMBREY, "i3", "a", "NA"))  # the same message with another reference is another item
    write_part(tmp_path, "replies", "test", rows)
    write_part(tmp_path, "pairs", "train", [pair("The Dravene sing.", "Well, too.")])
    items = load_items(tmp_path)
    assert [(each.item_id, each.hate_speech, each.references) for each in items] == [
        ("i2", OMBREY, (EARLY,)),
        ("i1", TESSOK, (BANNED,)),
        ("i3", OMBREY, ("NA",)),
    ]
    assert items[0].hs_id == ids.make_hs_id(OMBREY)
    assert items[0].leakage_keys == message_leakage_keys(OMBREY, [EARLY])
    assert items[0].language is None
    assert [each.item_id for each in load_items(tmp_path, limit=2)] == ["i2", "i1"]
    assert [each.hate_speech for each in load_items(tmp_path, config="pairs")] == ["The Dravene sing."]


def test_a_filter_chooses_rows_by_the_values_of_columns(tmp_path: Path) -> None:
    rows = [reply(OMBREY, "1", "a", EARLY), reply(TESSOK, "2", "b", BANNED), reply("The Dravene sing.", "3", "c")]
    file = write_lines(tmp_path / "replies.jsonl", rows)
    chosen = load_items(file, filter={"system": ("a", "c"), "item_id": ("2", "3")})
    assert [each.item_id for each in chosen] == ["3"]
    with pytest.raises(InputError, match=r"replies\.jsonl has no rows with item_id 1 and system c: choose values"):
        load_items(file, filter={"system": ("c",), "item_id": ("1",)})
    with pytest.raises(InputError, match="has no column 'who', but reply_id, item_id"):
        load_items(file, filter={"who": ("a",)})


def test_pairs_give_an_item_for_every_message(tmp_path: Path) -> None:
    rows = [
        pair(OMBREY, EARLY, label="appropriate", language="en"),
        pair(TESSOK, BANNED, label="not_appropriate", language="en"),
        pair(OMBREY, BANNED, label="not_appropriate", language="en"),
        pair(OMBREY, "NA", label=None, language="en"),
        pair(OMBREY, EARLY, label="appropriate", language="en"),
    ]
    items = load_items(write_part(tmp_path, "pairs", "train", rows))
    assert [(each.item_id, each.references, each.language) for each in items] == [
        (item_id(OMBREY, EARLY, "NA"), (EARLY, "NA"), "en"),
        (item_id(TESSOK), (), "en"),
    ]
    assert items[0].leakage_keys == message_leakage_keys(OMBREY, [EARLY, "NA"], judged=True)


def test_the_broadest_tier_and_not_the_training_part(tmp_path: Path) -> None:
    write_part(tmp_path, "diamond", "test", [pair(OMBREY, EARLY, tier="diamond")])
    both = [pair(OMBREY, EARLY, tier="diamond"), pair(TESSOK, BANNED, tier="bronze")]
    write_part(tmp_path, "bronze", "test", both)
    write_part(tmp_path, "train", "train", [pair("The Dravene sing.", "Well, too.")])
    assert [each.hate_speech for each in load_items(tmp_path)] == [OMBREY, TESSOK]
    assert [each.hate_speech for each in load_items(tmp_path, config="diamond")] == [OMBREY]


def test_queries_alone(tmp_path: Path) -> None:
    write_part(tmp_path, "queries", "test", [{"_id": "q1", "text": OMBREY}, {"_id": "q2", "text": TESSOK}])
    write_part(tmp_path, "corpus", "test", [{"_id": "d1", "text": EARLY}])
    (tmp_path / "README.md").write_text("---\nlanguage:\n- en\n---\n# Small\n", encoding="utf-8")
    items = load_items(tmp_path)
    assert [(each.hs_id, each.hate_speech, each.language) for each in items] == [
        ("q1", OMBREY, "en"),
        ("q2", TESSOK, "en"),
    ]


def test_a_beir_folder(tmp_path: Path) -> None:
    write_lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": OMBREY}])
    write_lines(tmp_path / "corpus.jsonl", [{"_id": "d1", "text": EARLY}])
    assert [(each.hs_id, each.hate_speech) for each in load_items(tmp_path)] == [("q1", OMBREY)]


def test_files(tmp_path: Path) -> None:
    table = tmp_path / "messages.csv"
    table.write_text(f'HS,reference,lang\n"{OMBREY}","[""{EARLY}"", ""NA""]",en\n{TESSOK},{BANNED},en\n')
    items = load_items(table, columns={"language": "lang"})
    assert [(each.item_id, each.references, each.language) for each in items] == [
        (item_id(OMBREY, EARLY, "NA"), (EARLY, "NA"), "en"),
        (item_id(TESSOK, BANNED), (BANNED,), "en"),
    ]
    lines = write_lines(tmp_path / "pairs.jsonl", [pair(OMBREY, EARLY), pair(TESSOK, BANNED), pair(OMBREY, "NA")])
    assert [each.references for each in load_items(lines)] == [(EARLY, "NA"), (BANNED,)]
    alone = write_lines(tmp_path / "alone.jsonl", [{"message": OMBREY}, {"message": TESSOK}, {"message": OMBREY}])
    found = load_items(alone, columns={"hate_speech": "message"})
    assert [(each.item_id, each.references) for each in found] == [(item_id(OMBREY), ()), (item_id(TESSOK), ())]


def test_pairs_with_ids_of_items_keep_them(tmp_path: Path) -> None:
    rows = [pair(OMBREY, EARLY, item_id=1), pair(OMBREY, "NA", item_id=2), pair(OMBREY, BANNED, item_id=1)]
    items = load_items(write_lines(tmp_path / "pairs.jsonl", rows))
    assert [(each.item_id, each.references) for each in items] == [("1", (EARLY, BANNED)), ("2", ("NA",))]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "has no rows: check the file"),
        ([{"post": "x"}], "has no column 'hate_speech', but post: name one of these"),
        ([{"hate_speech": OMBREY}, {"hate_speech": "  "}], "row 2: hate_speech is empty"),
        ([{"hate_speech": OMBREY}, {"hate_speech": None}], "row 2: hate_speech is empty"),
        ([{"hate_speech": 7}], "row 1: hate_speech is 7, expected a text"),
        ([{"hate_speech": OMBREY, "references": [7]}], "row 1: references is 7, expected a text"),
        (
            [{"hate_speech": OMBREY, "item_id": "i"}, {"hate_speech": TESSOK, "item_id": "i"}],
            "row 2: the item i has another text in an earlier row",
        ),
        (
            [pair(OMBREY, EARLY, hs_id="h"), pair(TESSOK, EARLY, hs_id="h")],
            "row 2: the message h has another text in an earlier row",
        ),
        ([{"hs_id": "hs-1", "pair_id": "p"}], "holds labels without texts: `fcconan hydrate`"),
    ],
)
def test_bad_files(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError, match=r"^[^\n]*$") as caught:
        load_items(write_lines(tmp_path / "messages.jsonl", rows))
    assert message in str(caught.value)


def test_bad_places(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "messages.jsonl", [{"hate_speech": OMBREY}])
    with pytest.raises(InputError, match="is a file and has no config 'en'"):
        load_items(file, config="en")
    with pytest.raises(InputError, match="has no column 'post', but hate_speech: name one of these"):
        load_items(file, columns={"hate_speech": "post"})
    with pytest.raises(InputError, match="there is no file"):
        load_items(tmp_path / "none.csv")
    several = tmp_path / "several"
    write_part(several, "en", "train", [pair(OMBREY, EARLY)])
    write_part(several, "fr", "train", [pair(OMBREY, EARLY)])
    with pytest.raises(InputError, match="has messages in en, fr: choose one of these configs"):
        load_items(several)
    with pytest.raises(InputError, match="has no config 'it': it has en, fr"):
        load_items(several, config="it")
    splits = write_part(tmp_path / "splits", "replies", "one", [reply(OMBREY, "i", "a")])
    write_part(splits, "replies", "two", [reply(OMBREY, "i", "a")])
    with pytest.raises(InputError, match="has the splits one, two: choose one with --split"):
        load_items(splits)
    labels = tmp_path / "labels"
    write_part(labels, "replies", "test", [{"reply_id": "r", "item_id": "i", "hs_id": "h"}])
    write_manifest(labels, labels_only=True)
    with pytest.raises(InputError, match="holds labels without texts: `fcconan hydrate"):
        load_items(labels)
    votes = write_part(tmp_path / "votes", "votes", "test", [{"pair_id": "p", "rater": "r", "label": "not_sure"}])
    with pytest.raises(InputError, match="has the configs votes, and no replies, pairs or queries"):
        load_items(votes)


def test_the_messages_are_named_by_file_and_content(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "messages.jsonl", [{"hate_speech": each.hate_speech} for each in ITEMS])
    found = describe_messages(open_split(path, config=None, split=None), ITEMS)
    assert (found["name"], found["items"]) == ("messages.jsonl", 3)
    assert "config" not in found
    assert len(found["fingerprint"]) == len(found["items_digest"]) == 12
    fewer = describe_messages(open_split(path, config=None, split=None), ITEMS[:2])
    assert fewer["items_digest"] != found["items_digest"]
