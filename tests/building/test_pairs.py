import hashlib
from pathlib import Path
from typing import Any

import pytest

from fcconan.data import PAIR, decode_conan_id, make_cn_id, make_hs_id, make_pair_id
from fcconan.errors import InputError
from tests import small
from tests.building.made import build_in

Row = dict[str, str]
CODES = ("language", "text_language", "type_code", "subtopic_code", "hs_code", "cn_code", "augmentation")
HS = ["The Ombrey never return a book.", "Les Tessok trichent aux cartes.", "I Velmari bruciano il pane."]
CN = ["The library's list says otherwise.", "None", "Les cartes y sont interdites."]
CONAN: list[Row] = [
    {"cn_id": "ENT1ST0001HS0033CN000021", "hateSpeech": HS[0], "counterSpeech": CN[0]},
    {"cn_id": "ENT1ST0001HS0033CN000021P1", "hateSpeech": "Books lent to the Ombrey are lost.", "counterSpeech": CN[0]},
    {"cn_id": "ENT1ST0001HS0033CN000021P2", "hateSpeech": "No Ombrey gives a book back.", "counterSpeech": CN[1]},
    {"cn_id": "FRT1ST0012HS0037CN001687", "hateSpeech": HS[1], "counterSpeech": CN[2]},
    {"cn_id": "FRT1ST0012HS0037CN001687T1", "hateSpeech": "The Tessok cheat at cards.", "counterSpeech": "Do they?"},
    {"cn_id": "ITT2ST0004HS0040CN000300", "hateSpeech": HS[2], "counterSpeech": "NA"},
    {"cn_id": "ENT1ST0001HS0033CN000099", "hateSpeech": HS[0] + " ", "counterSpeech": CN[0]},
]


def _recipe(folder: Path, **parts: Any) -> dict[str, Any]:
    """Returns a recipe as plain data, pinned to the files of the folder as they are now."""
    data = small.recipe_data(folder / "nothing") | {"kind": "pairs", "expect_by_tier_rule": {}, **parts}
    for source in data["sources"].values():
        source["sha256"] = hashlib.sha256((folder / source["path"]).read_bytes()).hexdigest()
    return data


def _conan(folder: Path, rows: list[Row], *configs: dict[str, Any]) -> dict[str, Any]:
    small.write_csv(folder / "conan.csv", rows)
    columns = {"source_id": "cn_id", "hate_speech": "hateSpeech", "counter_narrative": "counterSpeech"}
    made = [{"source": "conan", "decode": "conan-id", **config} for config in configs or ({"config": "all"},)]
    return _recipe(folder, sources={"conan": {"path": "conan.csv", "columns": columns}}, pairs=made)


def _plain(folder: Path, rows: list[Row], **parts: Any) -> dict[str, Any]:
    """Returns a recipe with one config, of a file whose columns have our names."""
    small.write_csv(folder / "pairs.csv", rows)
    source = {"path": "pairs.csv", "columns": {name: name for name in rows[0]}}
    return _recipe(folder, sources={"pairs": source}, pairs=[{"config": "pairs", "source": "pairs"}], **parts)


def _pair(hate_speech: str, counter_narrative: str) -> Row:
    return {"hate_speech": hate_speech, "counter_narrative": counter_narrative}


LANGUAGES = [{"config": name, "where": {"language": name}} for name in ("en", "fr", "it")]


def test_each_config_holds_the_rows_that_its_condition_selects_in_the_order_of_the_file(tmp_path: Path) -> None:
    built = build_in(tmp_path, _conan(tmp_path, CONAN, *LANGUAGES))
    assert {(table.config, table.split): table.data["original_index"] for table in built.tables} == {
        ("en", "train"): [0, 1, 2, 6],
        ("fr", "train"): [3, 4],
        ("it", "train"): [5],
    }
    for table in built.tables:
        assert table.columns == PAIR.kinds | dict.fromkeys(CODES, "string")
        assert table.data["source_id"] == [CONAN[row]["cn_id"] for row in table.data["original_index"]]


def test_the_id_of_conan_is_decoded_into_columns(tmp_path: Path) -> None:
    table = build_in(tmp_path, _conan(tmp_path, CONAN)).table("all", "train")
    assert [tuple(row[name] for name in CODES) for row in table.rows()] == [
        ("en", "en", "T1", "ST0001", "HS0033", "CN000021", "original"),
        ("en", "en", "T1", "ST0001", "HS0033", "CN000021", "paraphrase-1"),
        ("en", "en", "T1", "ST0001", "HS0033", "CN000021", "paraphrase-2"),
        ("fr", "fr", "T1", "ST0012", "HS0037", "CN001687", "original"),
        ("fr", "en", "T1", "ST0012", "HS0037", "CN001687", "translation-1"),
        ("it", "it", "T2", "ST0004", "HS0040", "CN000300", "original"),
        ("en", "en", "T1", "ST0001", "HS0033", "CN000099", "original"),
    ]


@pytest.mark.parametrize("source_id", ["", "ENT1ST0001HS033CN000021", "ENT1ST0001HS0033CN000021P3"])
def test_a_malformed_id_is_none_of_conan_and_fails_with_file_and_line(tmp_path: Path, source_id: str) -> None:
    assert decode_conan_id(source_id) is None
    bad = {"cn_id": source_id, "hateSpeech": "Two\nlines.", "counterSpeech": CN[0]}
    with pytest.raises(InputError) as caught:
        build_in(tmp_path, _conan(tmp_path, [CONAN[0], bad], {"config": "en", "where": {"language": "en"}}))
    assert str(caught.value).startswith(f"conan.csv, row 3: source_id is {source_id!r}, expected one such as ENT1ST")


def test_a_repeated_pair_is_kept_and_noted_for_the_config_that_holds_it(tmp_path: Path) -> None:
    built = build_in(tmp_path, _conan(tmp_path, CONAN, *LANGUAGES))
    ids = built.table("en", "train").data["pair_id"]
    assert ids[0] == ids[3] == make_pair_id(make_hs_id(HS[0]), make_cn_id(CN[0]))
    assert len(set(ids)) == 3
    assert built.notes == ["en/train: rows that repeat an earlier pair: 1; they are included."]


def test_a_file_with_the_two_texts_alone_gives_complete_rows(tmp_path: Path) -> None:
    rows = [_pair(HS[0], "None"), _pair("NA", "nan")]
    built = build_in(tmp_path, _plain(tmp_path, rows))
    table = built.table("pairs", "train")
    assert table.columns == PAIR.kinds
    hs, cn = make_hs_id(HS[0]), make_cn_id("None")
    assert table.rows()[0] == {
        **dict.fromkeys(PAIR.kinds),
        "pair_id": f"{hs}:{cn}",
        "hs_id": hs,
        "cn_id": cn,
        "hate_speech": HS[0],
        "counter_narrative": "None",
        "label": "appropriate",
        "source_id": "0",
        "original_index": 0,
    }
    assert [table.data[name] for name in ("hate_speech", "counter_narrative", "source_id", "original_index")] == [
        [HS[0], "NA"],
        ["None", "nan"],
        ["0", "1"],
        [0, 1],
    ]
    assert built.notes == []


@pytest.mark.parametrize(
    ("column", "cell", "value"),
    [
        ("hs_type", "Economics, Crimes ,, ", "Economics; Crimes"),
        ("hs_type", "Economics", "Economics"),
        ("hs_subtype", "", None),
        ("hs_subtype", " , ", None),
        ("cn_type", "facts,humor", "facts; humor"),
        ("gender", "female", "female"),
        ("gender", "", None),
        ("age", "25.0", 25),
        ("age", "40", 40),
        ("age", "", None),
        ("education", "", None),
        ("education", "Less than high school", "below_high_school"),
        ("education", "High school", "high_school"),
        ("education", "Some university without degree", "some_university"),
        ("education", "Bachelor", "bachelor"),
        ("education", "Master", "master"),
        ("education", "PhD", "phd"),
    ],
)
def test_metadata_is_normalised(tmp_path: Path, column: str, cell: str, value: Any) -> None:
    row = build_in(tmp_path, _plain(tmp_path, [_pair(HS[0], CN[0]) | {column: cell}])).table("pairs", "train").rows()[0]
    others = {"hs_type", "hs_subtype", "cn_type", "gender", "age", "education"} - {column}
    assert row[column] == value
    assert {name: row[name] for name in others} == dict.fromkeys(others)


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("age", "25.5", "age is '25.5', expected a whole number"),
        ("education", "master", "education is 'master', expected one of '', 'Less than high school', "),
    ],
)
def test_metadata_of_another_form_is_refused(tmp_path: Path, column: str, cell: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        build_in(tmp_path, _plain(tmp_path, [_pair(HS[0], CN[0]) | {column: cell}]))
    assert str(caught.value).startswith(f"pairs.csv, row 2: {problem}")


EXTRA = {"target": "string", "knowledge": "text", "round": "int", "weight": "float"}


def test_extra_columns_have_their_types(tmp_path: Path) -> None:
    cells = [("Ombrey", "NA", "3.0", "0.25"), ("", "", "", "")]
    rows = [_pair(HS[at], CN[at]) | dict(zip(EXTRA, row, strict=True)) for at, row in enumerate(cells)]
    table = build_in(tmp_path, _plain(tmp_path, rows, extra_columns=EXTRA)).table("pairs", "train")
    assert table.columns == PAIR.kinds | EXTRA
    assert {name: table.data[name] for name in EXTRA} == {
        "target": ["Ombrey", ""],
        "knowledge": ["NA", ""],
        "round": [3, None],
        "weight": [0.25, None],
    }
    assert [type(table.data[name][0]) for name in EXTRA] == [str, str, int, float]
    assert table.labels_only().columns.keys() & EXTRA.keys() == EXTRA.keys() - {"knowledge"}


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("weight", "inf", "weight is 'inf', expected a number"),
        ("target", "They never do such things", "target reads like a text: declare it as `text`"),
    ],
)
def test_an_extra_cell_of_another_type_is_refused(tmp_path: Path, column: str, cell: str, problem: str) -> None:
    data = _plain(tmp_path, [_pair(HS[0], CN[0]) | {column: cell}], extra_columns={column: EXTRA[column]})
    with pytest.raises(InputError) as caught:
        build_in(tmp_path, data)
    assert str(caught.value).startswith(f"pairs.csv, row 2: {problem}")


def test_a_condition_on_an_unknown_column_is_refused(tmp_path: Path) -> None:
    data = _conan(tmp_path, CONAN, {"config": "en", "where": {"langauge": "en"}})
    with pytest.raises(InputError, match=r"^conan\.csv has no column 'langauge' for `where` of 'en': correct"):
        build_in(tmp_path, data)
