"""What `read` accepts, seen through `fcconan.rank`: one table from all forms of the same ratings."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from fcconan import Bootstrap, InputError, Result, Rows, agree, audit, correlate, metrics, rank
from fcconan.data import make_cn_id, make_hs_id, make_item_id, make_reply_id, read

NONE = Bootstrap(resamples=0)
SYSTEMS = ("None", "NA", "Señor; Ñu, the 2nd")  # texts that readers take for something else
ROWS: list[dict[str, Any]] = [
    {
        "reply_id": 3 * number + item,
        "item_id": item,
        "system": system,
        "rater": rater,
        "rater_kind": "human",
        "aspect": aspect,
        "value": [1.5, 2, 4, 5, 3][(7 * number + 3 * item + len(rater) + len(aspect)) % 5] if item else None,
        "low": 1,
        "high": 5,
    }
    for (number, system), item in itertools.product(enumerate(SYSTEMS), range(3))
    for rater, aspect in itertools.product(("anna", "benno"), ("kind", "clear"))
]
FRAME = pd.DataFrame(ROWS)
WIDE = FRAME.pivot(
    index=[name for name in FRAME if name not in ("aspect", "value")], columns="aspect", values="value"
).reset_index()


# Neither ratings nor known columns: ids, counts, texts with a number, flags.
OTHERS: dict[str, Any] = {
    "Unnamed: 0": 6,
    "id": 7,
    "Session ID": 8,
    "n_words": 9,
    "word count": 10,
    "age": 11,
    "seconds": 12.5,
}
OTHERS |= {"comment": ["fine", "5", "NA", "None; 3"] * 4 + ["", ""]}


def table(*sources: Any, **options: Any) -> pd.DataFrame:
    return rank(*sources, bootstrap=NONE, **options).to_frame()


def csv(separator: str, encoding: str, frame: pd.DataFrame = FRAME, **names: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        frame.rename(columns=names).to_csv(path := folder / "rows.csv", sep=separator, encoding=encoding, index=False)
        return path

    return write


def returned(end: str = "\n", **how: Any) -> Callable[[Path], Path]:
    """A file of a spreadsheet with decimal commas and empty rows; missing ratings are marked."""

    def write(folder: Path) -> Path:
        marks = iter(itertools.cycle(["n/a", "NA", " - ", "None", "#N/A", ""]))
        texts = [next(marks) if row["value"] is None else str(row["value"]).replace(".", ",") for row in ROWS]
        header, *lines = FRAME.assign(value=texts).to_csv(sep=how["sep"], index=False).splitlines()
        nothing = how["sep"] * header.count(how["sep"])
        text = end.join([header, *lines[:5], nothing, *lines[5:], nothing, nothing, ""])
        (path := folder / "rows.csv").write_bytes(text.encode(how["encoding"]))
        return path

    return write


def jsonl(folder: Path) -> Path:
    lines = [json.dumps(row | {"explanation": "two\u2028lines"}, ensure_ascii=False) for row in ROWS]
    (path := folder / "rows.jsonl").write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


def parquet(folder: Path) -> Path:
    FRAME.to_parquet(path := folder / "rows.parquet")
    return path


def dataset_folder(folder: Path) -> Path:
    """Ratings without item and system, which its replies have."""
    for config, frame in {
        "ratings": FRAME.drop(columns=["item_id", "system"]),
        "replies": FRAME[["reply_id", "item_id", "system"]].drop_duplicates(),
    }.items():
        (folder / config).mkdir()
        frame.to_parquet(folder / config / "test-00000-of-00001.parquet")
    return folder


FORMS: dict[str, Callable[[Path], Any]] = {
    "commas": csv(",", "utf-8"),
    "semicolons": csv(";", "utf-8-sig"),
    "tabs": csv("\t", "utf-16"),
    "cp1252": csv(";", "cp1252"),
    "a sheet with semicolons": returned(sep=";", encoding="cp1252"),
    "a sheet with tabs": returned(sep="\t", encoding="utf-16"),
    "UTF-16 without a mark": returned(sep="\t", encoding="utf-16-le"),
    "ends of lines of old Macs": returned("\r", sep=";", encoding="utf-8-sig"),
    "spaces around names": csv(",", "utf-8", reply_id=" reply_id", value="value ", rater=" rater "),
    "jsonl": jsonl,
    "parquet": parquet,
    "frame": lambda _: FRAME.astype({"reply_id": float}).iloc[::-1],
    "dataset": lambda _: datasets.Dataset.from_list(ROWS),
    "dict of splits": lambda _: datasets.DatasetDict(test=datasets.Dataset.from_list(ROWS)),
    "mappings": lambda _: iter(ROWS),
    "result": lambda _: Result("judge rate", {"ratings": FRAME}, {}),
    "folder": dataset_folder,
    "wide": csv(";", "cp1252", WIDE),
    "wide with other columns": csv("\t", "utf-16", WIDE.assign(**OTHERS)),
    "wide mappings": lambda _: WIDE.to_dict("records"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_same_ratings_gives_the_same_table(form: str, tmp_path: Path) -> None:
    before = FRAME.copy()
    rows = Rows(split="test" if form in ("dict of splits", "folder") else None)
    found = table(FORMS[form](tmp_path), aspect=("clear", "kind"), rows=rows)
    assert_frame_equal(found, table(ROWS, aspect=("clear", "kind")))
    assert {*SYSTEMS} == {*found["system"]} and found["n_missing"].sum() == 9
    assert_frame_equal(FRAME, before)


def test_a_list_of_sources_is_several(tmp_path: Path) -> None:
    FRAME[:9].to_csv(tmp_path / "first.csv", index=False)
    several = [tmp_path / "first.csv", FRAME[9:18], ROWS[18:]]
    assert_frame_equal(table(several), table(ROWS))
    found = [audit(ratings=each, bootstrap=NONE) for each in (several, ROWS)]
    assert_frame_equal(*(each.to_frame() for each in found))


def test_a_sheet_without_raters_is_one_rater_with_a_note(tmp_path: Path) -> None:
    WIDE[WIDE["rater"] == "anna"].drop(columns=["rater", "rater_kind"]).to_csv(tmp_path / "sheet.csv", index=False)
    judged = FRAME.assign(rater="judge", rater_kind="model", value=FRAME["value"].fillna(1))
    note = "sheet.csv has no column rater: its rows are by one rater, `rater`."
    judged = judged.drop_duplicates(["reply_id", "aspect"])
    assert note in correlate(tmp_path / "sheet.csv", judged, bootstrap=NONE).notes
    assert note in audit(ratings=(tmp_path / "sheet.csv", judged), bootstrap=NONE).notes
    assert note not in audit(ratings=judged, bootstrap=NONE).notes


def test_numbers_and_texts_are_one_id(tmp_path: Path) -> None:
    """1, 1.0, "1" and "1.0" of several files; a further empty cell turns the numbers of a frame into fractions."""
    ratings = FRAME.drop(columns=["item_id", "system"])
    replies = FRAME[["reply_id", "item_id", "system"]].drop_duplicates()
    halves = [ratings[ratings["rater"] == name] for name in ("anna", "benno")]
    halves[0].to_csv(tmp_path / "anna.csv", index=False)
    replies.astype({"reply_id": float}).to_csv(tmp_path / "replies.csv", index=False)
    assert_frame_equal(table(tmp_path / "anna.csv", halves[1], replies=tmp_path / "replies.csv"), table(ROWS))
    with pytest.raises(InputError, match="the replies lack 12 of 36 rated ones, such as 0: give the replies"):
        table(ratings, replies=replies[3:])


def test_columns_of_other_names_and_wide_files_of_other_numbers(tmp_path: Path) -> None:
    """A renamed number and known columns are no aspects."""
    wide = csv(",", "utf-8", WIDE.assign(selection_probability=0.5), reply_id="id", rater="who")(tmp_path)
    renamed = {"reply_id": "id", "rater": "who"}
    assert_frame_equal(table(wide, rows=Rows(rename=renamed)), table(WIDE))
    assert {*table(WIDE)["aspect"]} == {"unified", "kind", "clear"}
    both = Rows(rename={"item_id": "reply_id"})  # one column of the file for two of ours
    assert_frame_equal(table(ROWS, rows=both), table(FRAME.assign(item_id=FRAME["reply_id"])))


def test_filters_are_texts_of_any_column() -> None:
    found = table(FRAME.assign(round=[1.0, 2.0] * 18), rows=Rows(filter={"round": ("1",), "item_id": ("0", "2")}))
    assert_frame_equal(found, table(FRAME[FRAME["item_id"].isin([0, 2])].iloc[::2]))
    with pytest.raises(InputError, match="found no row with item_id 9: choose among 0, 1, 2"):
        table(ROWS, rows=Rows(filter={"item_id": ("1", "9")}))


def test_verdicts_are_recognised_by_their_columns(tmp_path: Path) -> None:
    rows = pd.DataFrame({"item_id": [1, 2], "system_a": "None", "system_b": "NA", "verdict": ["A ", "Tie"]})
    rows.to_csv(tmp_path / "rows.csv", index=False, sep=";")
    assert_frame_equal(table(tmp_path / "rows.csv"), table(rows.assign(verdict=["a", "tie"])))
    with pytest.raises(InputError, match="has no column system_b, verdict, only"):
        table(rows.rename(columns={"verdict": "winner", "system_b": "second"}))


def test_files_of_spreadsheets_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(";item_id;system;kind\n0;i1;A;2,5\n1;i2;A;3\n2;i1;B;\n3;i2;B;1,5\n", encoding="utf-8")
    found = rank(path, bootstrap=Bootstrap(resamples=0)).to_frame()
    assert found[["aspect", "system", "value", "n"]].to_numpy().tolist() == [
        ["kind", "A", 2.75, 2],
        ["kind", "B", 1.5, 1],
    ]
    path.write_text("item_id,system,rater,aspect,value\ni1,A,x,kind,3,\ni1,B,x,kind,4,\n", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        rank(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("4;2", "4;two", "wide.csv, row 5: clear is 'two', expected a number such as 3.5, or nothing or n/a where"),
        ("4;2", "4;2;1", "wide.csv cannot be read (row 5 has 6 cells, the header 5; a cell with ';' needs quotation"),
        ("ok", '"ok', "wide.csv cannot be read (row 5: unexpected end of data; look for a quotation mark that is not"),
        ("r2;", ";", "wide.csv, row 5: found no reply_id, expected one in each row: fill the cell, or remove the row"),
        ("r2;anna", "r2;", "wide.csv, row 5: found no rater, expected one in each row"),
        ("clear", "kind", "wide.csv cannot be read (two columns have the name 'kind'; rename one)"),
    ],
)
def test_mistakes_in_a_sheet_are_named_by_its_rows_and_columns(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = 'reply_id;rater;note;kind;clear\nr1;anna;"two\nlines; and\nmore";3,5;4\n\n;;;;\nr2;anna;ok;4;2\n'
    (path := tmp_path / "wide.csv").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        correlate(path, human=("anna",))
    assert message in str(refused.value)


HEAD = "item_id,system,rater,kind,low,high\n"


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (agree, "item_id,system,rater,kind\ni1,A,anna,2\ni1,,ben,2\n", "row 3: found no system, expected one"),
        (agree, "item_id,system_a,system_b,rater,verdict\n1,A,B,,a\n1,A,B,ben,a\n", "row 2: found no rater"),
        (agree, "pair_id,rater,label\nhs:cn,anna,1\n,anna,1\n,ben,1\n", "rows 3, 4: found no pair_id"),
        (metrics, "system,hate_speech,text\nA,No.,Yes.\n,No.,Why?\n", "row 3: found no system"),
        (metrics, "system,hate_speech,text\nA,No.,Yes.\n\nA,No.,Yes.\n", "rows 2, 4: found the reply re-.* twice"),
        (rank, f"{HEAD}1,A,anna,2,1,5\n1,B,anna,2,1,5\n1,B,anna,2,1,5\n", "rows 3, 4: anna rated kind of .* twice"),
        (agree, f"{HEAD}1,A,anna,2,1,5\n1,A,anna,3,1,5\n", "rows 2, 3: anna rated 1|A twice"),
        (rank, f"{HEAD}1,A,anna,7,1,5\n", "row 2: anna rated kind of the reply 1|A 7, expected 1 to 5"),
        (agree, f"{HEAD}1,A,anna,7,1,5\n", "row 2: anna rated kind of 1|A 7, expected 1 to 5"),
        (rank, "item_id,system_a,system_b,verdict\n1,A,B,a\n2,A,B,won\n", "row 3: found verdict 'won' on A and B"),
        (rank, "item_id,system_a,system_b,verdict\n1,A,B,a\n1,A,B,b\n", "rows 2, 3: rater gave different verdicts"),
    ],
)
def test_a_mistake_is_named_with_its_row(read: Any, text: str, message: str, tmp_path: Path) -> None:
    (path := tmp_path / "rows.csv").write_text(text)
    with pytest.raises(InputError, match=rf"^rows\.csv, {message.replace('|', '.')}"):
        read(path)


def test_a_decimal_comma_needs_another_separator(tmp_path: Path) -> None:
    (path := tmp_path / "rows.csv").write_text('item_id,system,kind\ni1,A,4\ni2,A,"3,5"\ni3,A,3\n')
    with pytest.raises(InputError, match=r"rows\.csv, row 3: kind is '3,5', expected a number such as 3\.5"):
        rank(path)


def test_two_frames_with_the_same_cells_under_other_names_have_other_signatures() -> None:
    frame = pd.DataFrame({"item_id": ["i1", "i1"], "system": ["A", "B"], "kind": [1, 2]})
    names = {rank(frame.rename(columns={"kind": name})).identity["data"] for name in ("kind", "cruel")}
    assert len(names) == 2


HS, CN, REFERENCE = "The Ombrey never return a book.", "They return them early.", "The list says otherwise."


def replies(*rows: dict[str, Any], **rename: str) -> list[dict[str, Any]]:
    frame, _, _ = read("replies", [*rows], rows=Rows(rename=rename))
    return [*frame.to_dict("records")]


def test_missing_ids_of_replies_follow_from_their_texts() -> None:
    [found] = replies({"HS": HS, "counter_narrative": CN, "reference": REFERENCE, "system": "s"})
    hs = make_hs_id(HS)
    item = make_item_id(hs, [make_cn_id(REFERENCE)])
    assert (found["hs_id"], found["item_id"]) == (hs, item)
    assert found["reply_id"] == make_reply_id(item, "s", CN)
    [other] = replies({"hate_speech": HS, "text": CN, "source_id": 7.0})
    assert other["item_id"] == make_item_id(hs, [])
    assert other["reply_id"] == make_reply_id(other["item_id"], "unknown", CN, "7")
    [pair] = replies({"hate_speech": HS, "text": CN, "pair_id": 0})
    assert pair["reply_id"] == "0"


def test_ids_of_replies_are_independent_of_renamed_columns() -> None:
    rows = [{"hate_speech": HS, "text": CN, "model": name} for name in ("s", "t", "s")]
    plain = make_item_id(make_hs_id(HS), [])
    found = replies(*rows[:2], system="model")
    assert [row["system"] for row in found] == ["s", "t"]
    assert found[0]["reply_id"] == make_reply_id(plain, "unknown", CN)
    assert found[1]["reply_id"] == make_reply_id(plain, "unknown", CN, "/2")
    with pytest.raises(InputError, match=r"^rows, rows 1, 3: found the reply re-.* twice: remove one"):
        metrics(
            [{**row, "references": [REFERENCE]} for row in rows],
            metric=("rouge-l",),
            rows=Rows(rename={"system": "model"}),
        )


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (None, []),
        (["A.", None], ["A."]),
        ('["A.", "B."]', ["A.", "B."]),
        ("['A.', \"It's B.\", None]", ["A.", "It's B."]),
        ("[sic] A.", ["[sic] A."]),
        ("", []),
        ("7", ["7"]),
    ],
)
def test_references_are_a_list_json_or_a_text(cell: Any, expected: list[str]) -> None:
    [found] = replies({"hate_speech": HS, "text": CN, "references": cell})
    assert found["references"] == expected


def test_an_empty_reply_is_empty_whatever_other_columns_hold() -> None:
    """The reference must never be judged in the place of a reply that a system did not give."""
    [found] = replies({"hate_speech": HS, "predicted": "", "counter_narrative": REFERENCE}, text="predicted")
    assert found["text"] == ""
    with pytest.raises(InputError, match="has no column hate_speech, only text: name it"):
        replies({"text": CN})


def test_long_whole_numbers_stay_ids_beside_missing_cells(tmp_path: Path) -> None:
    ids = [7_700_000_000_000_000_001, 7_700_000_000_000_000_002]
    rows = [{"reply_id": each, "item_id": each, "system": "s"} for each in ids] + [{"reply_id": 3, "system": "s"}]
    (path := tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for source in (path, rows):
        frame, _, _ = read("replies", source, ids=False)
        assert frame["item_id"].fillna("").tolist() == [*map(str, ids), ""]


def test_replies_with_ids_get_their_items_and_the_others_their_ids() -> None:
    rows = [{"hate_speech": HS, "text": CN, "reply_id": "r1"}, {"hate_speech": HS, "text": CN, "reply_id": None}]
    frame, _, _ = read("replies", rows)
    found = frame.to_dict("records")
    item = make_item_id(make_hs_id(HS), [])
    assert [(row["reply_id"], row["item_id"]) for row in found] == [
        ("r1", item),
        (make_reply_id(item, "unknown", CN), item),
    ]
