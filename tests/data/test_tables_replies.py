import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.building import build
from fcconan.data import Table, ids, open_table
from fcconan.errors import InputError
from fcconan.services import dataset_folder
from tests.small import PAIRS, write_small


def load_replies(source: Path, *, config: str = "replies", **options: Any) -> Table:
    options["rename"] = options.pop("columns", None)
    return open_table("replies", [source], part=config, locate=dataset_folder, **options)


HS, CN, REFERENCE = "The Ombrey never return a book.", "They return them early.", "The list says otherwise."


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


def dataset(path: Path, **splits: list[dict[str, Any]]) -> Path:
    (path / "replies").mkdir(parents=True)
    for split, rows in splits.items():
        for part in range(2):
            table = pa.Table.from_pylist(rows[part::2])
            pq.write_table(table, path / "replies" / f"{split}-0000{part}-of-00002.parquet")
    return path


def reply(name: str, **further: Any) -> dict[str, Any]:
    return {
        "reply_id": name,
        "item_id": "it-1",
        "hs_id": "hs-1",
        "hate_speech": HS,
        "text": CN,
        "system": "s",
        "strategy": None,
        "references": [REFERENCE],
    } | further


def test_a_dataset_gives_its_replies_as_they_are_each_time_anew(tmp_path: Path) -> None:
    folder = dataset(tmp_path, test=[reply("re-1"), reply("re-2"), reply("re-3")])
    replies = load_replies(folder)
    assert list(replies) == [reply("re-1"), reply("re-3"), reply("re-2")]
    assert list(replies) == list(replies)


def test_a_split_has_to_be_chosen_where_there_are_several(tmp_path: Path) -> None:
    folder = dataset(tmp_path, test=[reply("re-1"), reply("re-2")], dev=[reply("re-3"), reply("re-4")])
    assert [row["reply_id"] for row in load_replies(folder, split="dev")] == ["re-3", "re-4"]
    with pytest.raises(InputError, match="has the splits dev, test: choose one with --split"):
        load_replies(folder)
    with pytest.raises(InputError, match="has no split 'train': it has dev, test"):
        load_replies(folder, split="train")
    with pytest.raises(
        InputError, match="has no config 'pairs': it has replies; choose one of these, or another dataset"
    ):
        load_replies(folder, config="pairs")
    with pytest.raises(
        InputError, match=rf"replies is the config replies of a dataset, not its folder: give {tmp_path}$"
    ):
        load_replies(folder / "replies")


def test_missing_ids_follow_from_the_texts(tmp_path: Path) -> None:
    file = lines(tmp_path / "r.jsonl", {"hate_speech": HS, "text": CN, "references": [REFERENCE], "system": "s"})
    [found] = load_replies(file)
    hs = ids.make_hs_id(HS)
    item = ids.make_item_id(hs, [ids.make_cn_id(REFERENCE)])
    assert (found["hs_id"], found["item_id"]) == (hs, item)
    assert found["reply_id"] == ids.make_reply_id(item, "s", CN)
    [other] = load_replies(lines(tmp_path / "o.jsonl", {"hate_speech": HS, "text": CN, "source_id": 7}))
    assert other["item_id"] == ids.make_item_id(hs, [])
    assert other["reply_id"] == ids.make_reply_id(other["item_id"], "unknown", CN, "7")


def test_ids_that_are_numbers_become_text(tmp_path: Path) -> None:
    [found] = load_replies(lines(tmp_path / "r.jsonl", {"hate_speech": HS, "text": CN, "reply_id": 3, "item_id": 4}))
    assert (found["reply_id"], found["item_id"]) == ("3", "4")


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("hate_speech,text,reference", {}),
        ("HS,counter_narrative,references", {}),
        ("hateSpeech,response,reference", {}),
        ("message,answer,gold", {"hate_speech": "message", "text": "answer", "references": "gold"}),
    ],
)
def test_columns_go_by_other_names(tmp_path: Path, header: str, columns: dict[str, str]) -> None:
    [found] = load_replies(write(tmp_path / "r.csv", f"{header}\n{HS},{CN},{REFERENCE}\n"), columns=columns)
    assert (found["hate_speech"], found["text"], found["references"]) == (HS, CN, [REFERENCE])


def test_an_empty_reply_is_empty_whatever_other_columns_hold(tmp_path: Path) -> None:
    # The reference must never be judged in the place of a reply that a system did not give.
    file = write(tmp_path / "r.csv", f"hate_speech,text,counter_narrative,system\n{HS},,{REFERENCE},s\n{HS},{CN},x,s\n")
    assert [row["text"] for row in load_replies(file)] == ["", CN]
    named = write(tmp_path / "n.csv", f"hate_speech,predicted,counter_narrative,system\n{HS},,{REFERENCE},s\n")
    assert [row["text"] for row in load_replies(named, columns={"text": "predicted"})] == [""]
    gone = lines(tmp_path / "g.jsonl", {"hate_speech": HS, "text": CN}, {"hate_speech": HS, "reply": "No."})
    assert [row["text"] for row in load_replies(gone)] == [CN, ""]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ([], []),
        (["A.", "B."], ["A.", "B."]),
        (["A.", None], ["A."]),
        ('["A.", "B."]', ["A.", "B."]),
        ('["A.", null]', ["A."]),
        ("['A.', \"It's B.\", None]", ["A.", "It's B."]),
        ("[A \\d] A.", ["[A \\d] A."]),
        ("[" * 100_000, ["[" * 100_000]),
        ("[sic] A.", ["[sic] A."]),
        ("A.", ["A."]),
        ('{"a": 1}', ['{"a": 1}']),
        ("", []),
        ("7", ["7"]),
    ],
)
def test_references_are_a_list_json_or_a_text(tmp_path: Path, value: Any, expected: list[str]) -> None:
    [found] = load_replies(lines(tmp_path / "r.jsonl", {"hate_speech": HS, "text": CN, "references": value}))
    assert found["references"] == expected


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("text", 5, "5"),
        ("hate_speech", True, "True"),
        ("references", 7, "7"),
        ("references", ["A.", 7], "7"),
        ("references", '["A.", 7]', "7"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, column: str, value: Any, shown: str) -> None:
    row = {"hate_speech": HS, "text": CN, "references": []}
    file = lines(tmp_path / "r.jsonl", row, {**row, column: value})
    with pytest.raises(InputError) as error:
        list(load_replies(file))
    assert str(error.value) == (
        f"{file}, row 2: {column} is {shown}, expected a text; correct the row, or name the column of texts with "
        f"--rename {column}=COLUMN"
    )


def test_a_number_that_is_none_is_an_empty_text(tmp_path: Path) -> None:
    [found] = load_replies(write(tmp_path / "r.jsonl", f'{{"hate_speech": "{HS}", "text": NaN, "references": NaN}}'))
    assert (found["text"], found["references"]) == ("", [])


def test_ids_may_be_zero(tmp_path: Path) -> None:
    row = {"hate_speech": HS, "text": CN, "reply_id": 0, "item_id": 0.0, "hs_id": 0, "system": 0}
    [found] = load_replies(lines(tmp_path / "r.jsonl", row))
    assert [found[key] for key in ("reply_id", "item_id", "hs_id", "system")] == ["0"] * 4
    del row["reply_id"]
    [pair] = load_replies(lines(tmp_path / "p.jsonl", row | {"pair_id": 0}))
    assert pair["reply_id"] == "0"
    [derived] = load_replies(lines(tmp_path / "s.jsonl", row | {"source_id": 0}))
    assert derived["reply_id"] == ids.make_reply_id("0", "0", CN, "0")
    with pytest.raises(
        InputError, match=r"b\.jsonl, row 1: item_id is 0\.5, expected a name or an id; correct the row"
    ):
        list(load_replies(lines(tmp_path / "b.jsonl", row | {"item_id": 0.5})))


def test_texts_that_read_as_missing_are_texts(tmp_path: Path) -> None:
    file = write(tmp_path / "r.csv", f"hate_speech,text\n{HS},None\n{HS},NA\n{HS},nan\n")
    assert [row["text"] for row in load_replies(file)] == ["None", "NA", "nan"]


def test_a_reply_that_stands_twice_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path / "r.csv", f"hate_speech,text,system\n{HS},{CN},s\n{HS},{CN},t\n{HS}, {CN} ,s\n")
    name = ids.make_reply_id(ids.make_item_id(ids.make_hs_id(HS), []), "s", CN)
    with pytest.raises(
        InputError, match=rf"r\.csv, row 3: the reply {name} is a duplicate; remove one, or distinguish"
    ):
        list(load_replies(file))
    folder = dataset(tmp_path / "d", test=[reply("re-1"), reply("re-1")])
    with pytest.raises(InputError, match="row 1: the reply re-1 is a duplicate"):
        list(load_replies(folder))


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("HS,words\na,b\n", {}, "has no column 'text', but HS, words: name the column with --rename text=COLUMN"),
        (
            "message,text\na,b\n",
            {},
            "has no column 'hate_speech', but message, text: name the column with --rename hate_",
        ),
        ("HS,text\na,b\n", {"text": "words"}, "has no column 'words', but HS, text: name one of these"),
        ("HS,text\n", {}, "has no rows: give replies to judge"),
        ("", {}, "has no rows: give replies to judge"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, columns: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as error:
        list(load_replies(write(tmp_path / "r.csv", text), columns=columns))
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "r.csv"))


def test_sources_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*r\.csv: check the path"):
        load_replies(tmp_path / "r.csv")
    with pytest.raises(InputError, match="is neither a dataset folder nor a file of rows: give a folder that"):
        load_replies(tmp_path / "nowhere")
    with pytest.raises(
        InputError, match=r"^there is no folder .*demo-dataset yet: `fcconan build demo --out demo-dataset` writes it$"
    ):
        load_replies(tmp_path / "demo-dataset")
    with pytest.raises(InputError, match="is a file and has no splits: leave --split out"):
        load_replies(write(tmp_path / "r.csv", "HS,text\n"), split="test")
    with pytest.raises(InputError, match="it has no parquet files; run `fcconan build`"):
        load_replies(tmp_path)


def test_pairs_of_a_built_dataset_are_judged_as_replies(tmp_path: Path) -> None:
    build(str(write_small(tmp_path)), out=tmp_path / "out")
    rows = list(load_replies(tmp_path / "out", config="bronze"))
    assert len(rows) == len(PAIRS)
    for row in rows:
        assert row["reply_id"] == row["pair_id"]
        assert row["pair_id"] == ids.make_pair_id(ids.make_hs_id(row["hate_speech"]), ids.make_cn_id(row["text"]))
        assert (row["text"], row["system"], row["references"]) == (row["counter_narrative"], "unknown", [])


def test_a_column_that_the_first_row_lacks_is_read_in_later_ones(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    rows = [{"hate_speech": HS, "text": CN}, {"hate_speech": HS, "text": f"{CN}!", "references": [REFERENCE]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert [row["references"] for row in load_replies(file)] == [[], [REFERENCE]]
