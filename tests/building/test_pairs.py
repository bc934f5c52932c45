import hashlib
from pathlib import Path
from typing import Any

import pytest

from fcconan.building import Recipe
from fcconan.building.builds import build_tables, load_recipe
from fcconan.building.kinds import pairs
from fcconan.building.kinds.pairs import CONAN_COLUMNS
from fcconan.building.source_files import SourceFiles
from fcconan.building.tables import Built
from fcconan.data import PAIR, decode_conan_id, ids as identity
from fcconan.errors import InputError
from tests import small

Row = dict[str, str]
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


def _build(folder: Path, data: dict[str, Any]) -> Built:
    recipe = Recipe.model_validate(data)
    built = pairs.build(SourceFiles(recipe, {name: folder / source.path for name, source in recipe.sources.items()}))
    for table in built.tables:
        table.check()
    return built


def _pair(hate_speech: str, counter_narrative: str) -> Row:
    return {"hate_speech": hate_speech, "counter_narrative": counter_narrative}


LANGUAGES = [{"config": name, "where": {"language": name}} for name in ("en", "fr", "it")]


def test_each_config_holds_the_rows_that_its_condition_selects_in_the_order_of_the_file(tmp_path: Path) -> None:
    built = _build(tmp_path, _conan(tmp_path, CONAN, *LANGUAGES))
    assert {(table.config, table.split): table.data["original_index"] for table in built.tables} == {
        ("en", "train"): [0, 1, 2, 6],
        ("fr", "train"): [3, 4],
        ("it", "train"): [5],
    }
    for table in built.tables:
        assert table.columns == PAIR.kinds | CONAN_COLUMNS
        assert table.data["source_id"] == [CONAN[row]["cn_id"] for row in table.data["original_index"]]


def test_all_conditions_must_hold(tmp_path: Path) -> None:
    configs = (
        {"config": "originals", "where": {"language": "en", "augmentation": "original"}},
        {"config": "english-texts", "split": "test", "where": {"text_language": "en", "language": "fr"}},
        {"config": "nothing", "where": {"language": "it", "augmentation": "translation-1"}},
    )
    built = _build(tmp_path, _conan(tmp_path, CONAN, *configs))
    assert built.table("originals", "train").data["original_index"] == [0, 6]
    assert built.table("english-texts", "test").data["original_index"] == [4]
    assert len(built.table("nothing", "train")) == 0


def test_the_id_of_conan_is_decoded_into_columns(tmp_path: Path) -> None:
    table = _build(tmp_path, _conan(tmp_path, CONAN)).table("all", "train")
    assert [tuple(row[name] for name in CONAN_COLUMNS) for row in table.rows()] == [
        ("en", "en", "T1", "ST0001", "HS0033", "CN000021", "original"),
        ("en", "en", "T1", "ST0001", "HS0033", "CN000021", "paraphrase-1"),
        ("en", "en", "T1", "ST0001", "HS0033", "CN000021", "paraphrase-2"),
        ("fr", "fr", "T1", "ST0012", "HS0037", "CN001687", "original"),
        ("fr", "en", "T1", "ST0012", "HS0037", "CN001687", "translation-1"),
        ("it", "it", "T2", "ST0004", "HS0040", "CN000300", "original"),
        ("en", "en", "T1", "ST0001", "HS0033", "CN000099", "original"),
    ]


MALFORMED = [
    "",
    "3",
    "ENT1ST0001HS0033CN00021",
    "ENT1ST0001HS033CN000021",
    "DET1ST0001HS0033CN000021",
    "ent1st0001hs0033cn000021",
    "ENT1ST0001HS0033CN000021P3",
    "ENT1ST0001HS0033CN000021T2",
    "ENT1ST0001HS0033CN000021P1T1",
    "ENT1ST0001HS0033CN000021 ",
    "xENT1ST0001HS0033CN000021",
]


@pytest.mark.parametrize("source_id", MALFORMED)
def test_a_malformed_id_is_none_of_conan_and_fails_with_file_and_line(tmp_path: Path, source_id: str) -> None:
    assert decode_conan_id(source_id) is None
    # The second row ends on line 4, because its HS holds a line break.
    bad = {"cn_id": source_id, "hateSpeech": "Two\nlines.", "counterSpeech": CN[0]}
    with pytest.raises(InputError) as caught:
        _build(tmp_path, _conan(tmp_path, [CONAN[0], bad], {"config": "en", "where": {"language": "en"}}))
    assert str(caught.value) == (
        f"conan.csv, line 4: source_id is {source_id!r}, expected one such as ENT1ST0001HS0033CN000021"
    )


def test_a_repeated_pair_is_kept_and_noted_for_the_config_that_holds_it(tmp_path: Path) -> None:
    built = _build(tmp_path, _conan(tmp_path, CONAN, *LANGUAGES))
    ids = built.table("en", "train").data["pair_id"]
    assert ids[0] == ids[3] == identity.make_pair_id(identity.make_hs_id(HS[0]), identity.make_cn_id(CN[0]))
    assert len(set(ids)) == 3
    assert built.notes == ["en/train: rows that repeat an earlier pair: 1; they are included."]


def test_two_rows_with_one_source_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^all/train: two rows share source_id ENT1ST0001HS0033CN000021;"):
        _build(tmp_path, _conan(tmp_path, [*CONAN, CONAN[0]]))


def test_a_file_with_the_two_texts_alone_gives_complete_rows(tmp_path: Path) -> None:
    rows = [_pair(HS[0], "None"), _pair("NA", "nan")]
    built = _build(tmp_path, _plain(tmp_path, rows))
    table = built.table("pairs", "train")
    assert table.columns == PAIR.kinds
    hs, cn = identity.make_hs_id(HS[0]), identity.make_cn_id("None")
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


def test_texts_keep_their_spelling_while_ids_do_not_depend_on_white_space(tmp_path: Path) -> None:
    table = _build(tmp_path, _plain(tmp_path, [_pair(" The  Ombrey\nsing. ", CN[0])])).table("pairs", "train")
    assert table.data["hate_speech"] == [" The  Ombrey\nsing. "]
    assert table.data["hs_id"] == [identity.make_hs_id("The Ombrey sing.")]


@pytest.mark.parametrize("column", ["hate_speech", "counter_narrative"])
def test_an_empty_text_is_refused(tmp_path: Path, column: str) -> None:
    rows = [_pair(HS[0], CN[0]), _pair(HS[1], CN[1]) | {column: " "}]
    with pytest.raises(InputError, match=rf"^pairs\.csv, line 3: {column} is empty"):
        _build(tmp_path, _plain(tmp_path, rows))


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
    row = _build(tmp_path, _plain(tmp_path, [_pair(HS[0], CN[0]) | {column: cell}])).table("pairs", "train").rows()[0]
    others = {"hs_type", "hs_subtype", "cn_type", "gender", "age", "education"} - {column}
    assert row[column] == value
    assert {name: row[name] for name in others} == dict.fromkeys(others)


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("age", "25.5", "age is 25.5, expected a whole number"),
        ("age", "young", "age is 'young', expected a number"),
        ("education", "master", "education is 'master', expected one of '', 'Less than high school', "),
    ],
)
def test_metadata_of_another_form_is_refused(tmp_path: Path, column: str, cell: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        _build(tmp_path, _plain(tmp_path, [_pair(HS[0], CN[0]) | {column: cell}]))
    assert str(caught.value).startswith(f"pairs.csv, line 2: {problem}")


EXTRA = {"target": "string", "knowledge": "text", "round": "int", "weight": "float"}


def test_extra_columns_have_their_types(tmp_path: Path) -> None:
    cells = [("Ombrey", "NA", "3.0", "0.25"), ("", "", "", "")]
    rows = [_pair(HS[at], CN[at]) | dict(zip(EXTRA, row, strict=True)) for at, row in enumerate(cells)]
    table = _build(tmp_path, _plain(tmp_path, rows, extra_columns=EXTRA)).table("pairs", "train")
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
        ("round", "2.5", "round is 2.5, expected a whole number"),
        ("weight", "heavy", "weight is 'heavy', expected a number"),
        ("weight", "inf", "weight is 'inf', expected a number"),
    ],
)
def test_an_extra_cell_of_another_type_is_refused(tmp_path: Path, column: str, cell: str, problem: str) -> None:
    data = _plain(tmp_path, [_pair(HS[0], CN[0]) | {column: cell}], extra_columns={column: EXTRA[column]})
    with pytest.raises(InputError) as caught:
        _build(tmp_path, data)
    assert str(caught.value) == f"pairs.csv, line 2: {problem}"


def test_a_table_has_only_the_extra_columns_of_its_own_file(tmp_path: Path) -> None:
    small.write_csv(tmp_path / "one.csv", [_pair(HS[0], CN[0]) | {"target": "Ombrey"}])
    small.write_csv(tmp_path / "two.csv", [_pair(HS[1], CN[1])])
    texts = {"hate_speech": "hate_speech", "counter_narrative": "counter_narrative"}
    data = _recipe(
        tmp_path,
        sources={
            "one": {"path": "one.csv", "columns": texts | {"target": "target"}},
            "two": {"path": "two.csv", "columns": texts},
        },
        pairs=[{"config": "one", "source": "one"}, {"config": "two", "split": "test", "source": "two"}],
        extra_columns={"target": "string"},
    )
    built = _build(tmp_path, data)
    assert built.table("one", "train").data["target"] == ["Ombrey"]
    assert built.table("two", "test").columns == PAIR.kinds


def test_rows_can_be_selected_by_an_extra_column(tmp_path: Path) -> None:
    rows = [_pair(HS[at], CN[at]) | {"target": target} for at, target in enumerate(("Ombrey", "Tessok", "Ombrey"))]
    data = _plain(tmp_path, rows, extra_columns={"target": "string"})
    data["pairs"] = [{"config": "ombrey", "source": "pairs", "where": {"target": "Ombrey"}}]
    assert _build(tmp_path, data).table("ombrey", "train").data["original_index"] == [0, 2]


def test_a_recipe_file_builds_and_its_counts_are_checked(tmp_path: Path) -> None:
    data = _conan(tmp_path, CONAN, *LANGUAGES)
    data["expect"] = {"rows": {"en": {"train": 4}, "fr": {"train": 2}, "it": {"train": 1}}}
    built, left_out = build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
    assert left_out == []
    assert [len(table) for table in built.tables] == [4, 2, 1]
    data["expect"] = {"rows": {"en": {"train": 4}, "fr": {"train": 3}, "it": {"train": 1}}}
    with pytest.raises(InputError, match=r"fr/train rows: found 2, expected 3; correct `expect` if meant$"):
        build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))


def test_a_condition_on_an_unknown_column_is_refused(tmp_path: Path) -> None:
    data = _conan(tmp_path, CONAN, {"config": "en", "where": {"langauge": "en"}})
    with pytest.raises(InputError, match=r"^conan\.csv: no column 'langauge' for `where` of 'en'; correct the recipe$"):
        _build(tmp_path, data)


def test_a_condition_may_be_on_a_column_of_numbers(tmp_path: Path) -> None:
    rows = [_pair(HS[at], CN[at]) | {"round": number} for at, number in enumerate(("1", "2", ""))]
    data = _plain(tmp_path, rows, extra_columns={"round": "int"})
    data["pairs"] = [
        {"config": "second", "source": "pairs", "where": {"round": "2"}},
        {"config": "none", "source": "pairs", "where": {"round": ""}},
    ]
    built = _build(tmp_path, data)
    assert [table.data["original_index"] for table in built.tables] == [[1], [2]]


READ = (
    "it reads age, cn_type, counter_narrative, education, gender, hate_speech, hs_subtype, hs_type, source_id; "
    "declare others in `extra_columns`, or move them to the source's `ignore`"
)


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("topic", ""),
        ("label", "did you mean 'age'? "),  # every pair is appropriate here
        ("educaton", "did you mean 'education'? "),
        ("hs_typ", "did you mean 'hs_type'? "),
    ],
)
def test_a_mapped_column_that_nobody_reads_is_refused(tmp_path: Path, column: str, hint: str) -> None:
    data = _plain(tmp_path, [_pair(HS[0], CN[0]) | {column: "x"}])
    with pytest.raises(InputError) as caught:
        _build(tmp_path, data)
    assert str(caught.value) == f"pairs.csv: kind 'pairs' does not read {column!r}; {hint}{READ}"


def test_a_code_has_at_most_four_words_and_a_text_any_number(tmp_path: Path) -> None:
    cells = ["people of the hills", " people  of the\nhills ", "people of all the hills"]
    rows = [_pair(HS[at], CN[at]) | {"target": cell} for at, cell in enumerate(cells)]
    table = _build(tmp_path, _plain(tmp_path, rows, extra_columns={"target": "text"})).table("pairs", "train")
    assert table.data["target"] == cells
    assert "target" not in table.labels_only().columns
    table = _build(tmp_path, _plain(tmp_path, rows[:2], extra_columns={"target": "string"})).table("pairs", "train")
    assert table.data["target"] == cells[:2]
    with pytest.raises(InputError) as caught:  # the row before it ends on a line of its own
        _build(tmp_path, _plain(tmp_path, rows, extra_columns={"target": "string"}))
    assert str(caught.value) == (
        "pairs.csv, line 5: target reads like a text; declare it as `text`, which labels-only folders leave out"
    )


def test_a_config_may_stand_twice_with_two_splits_but_not_with_one(tmp_path: Path) -> None:
    twice: list[dict[str, Any]] = [{"config": "all"}, {"config": "all", "split": "test", "where": {"language": "fr"}}]
    built = _build(tmp_path, _conan(tmp_path, CONAN, *twice))
    assert [(table.config, table.split, len(table)) for table in built.tables] == [
        ("all", "train", 7),
        ("all", "test", 2),
    ]
    with pytest.raises(ValueError, match="all/train occurs twice; give one of them another config or split"):
        _build(tmp_path, _conan(tmp_path, CONAN, *twice, {"config": "all", "split": "train"}))
