import csv
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from fcconan.building import load_recipe
from fcconan.building.source_files import SourceFiles, SourceRow, SourceRows, _positions, read_csv
from fcconan.data import Source
from fcconan.errors import InputError
from tests import small

SHA256 = "0" * 64
COLUMNS = {"hate_speech": "hs", "counter_narrative": "cn"}


def _read(
    folder: Path,
    content: bytes | str,
    columns: dict[str, str] | None = None,
    *,
    ignore: tuple[str, ...] = (),
    empty_texts: int = 0,
    text_columns: tuple[str, ...] = (),
) -> SourceRows:
    """Writes a file and reads it with the mapping (by default, two text columns)."""
    path = folder / "rows.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = Source(
        path="data/rows.csv", sha256=SHA256, columns=columns or COLUMNS, ignore=list(ignore), empty_texts=empty_texts
    )
    return read_csv(path, source, text_columns=text_columns)


def _error(folder: Path, content: bytes | str, *, text_columns: tuple[str, ...] = (), empty_texts: int = 0) -> str:
    """Returns the message with which a file is refused."""
    with pytest.raises(InputError) as caught:
        _read(folder, content, text_columns=text_columns, empty_texts=empty_texts)
    return str(caught.value)


def test_columns_are_mapped_and_ignored_ones_are_not_read(tmp_path: Path) -> None:
    rows = _read(
        tmp_path,
        "cn,note 1,hs,note 2,index\nOmbrey readers return books.,x,The Ombrey steal books.,y,0\n",
        ignore=("note *", "index"),
    )
    assert rows.columns == {
        "hate_speech": ["The Ombrey steal books."],
        "counter_narrative": ["Ombrey readers return books."],
    }
    assert rows["hate_speech"] == ["The Ombrey steal books."]
    assert len(rows) == 1
    assert rows.name == "data/rows.csv"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("hs", "column 'cn' is missing; correct the header or the recipe's `columns`"),
        ("hs,cn2", "column 'cn' is missing; did you mean 'cn2'? correct the header or the recipe's `columns`"),
        ("hs,CN", "column 'cn' is missing; correct the header or the recipe's `columns`"),
        ("", "column 'hs' is missing; correct the header or the recipe's `columns`"),
        ("hs,cn,hs", "column 'hs' occurs twice in the header; keep one of them"),
        ("hs,cn,other,other", "column 'other' occurs twice in the header; keep one of them"),
        (
            "hs,cn,reply",
            "column 'reply' is not expected; map it in the recipe's `columns` or list it under `ignore`",
        ),
        ("hs,cn,", "column '' is not expected; map it in the recipe's `columns` or list it under `ignore`"),
    ],
)
def test_another_header_is_refused(tmp_path: Path, header: str, message: str) -> None:
    assert _error(tmp_path, f"{header}\n") == f"data/rows.csv: {message}"


def test_a_column_may_be_named_by_a_pattern_that_only_it_matches(tmp_path: Path) -> None:
    columns = {"hate_speech": "hs", "counter_narrative": "reply (*"}
    rows = _read(tmp_path, "hs,reply (in words of one's own)\na,b\n", columns=columns)
    assert rows.columns == {"hate_speech": ["a"], "counter_narrative": ["b"]}
    with pytest.raises(
        InputError, match=r"^data/rows\.csv: 'reply \(\*' is 2 columns, such as 'reply \(2\)'; name one"
    ):
        _read(tmp_path, "hs,reply (1),reply (2)\na,b,c\n", columns=columns)
    rows = _read(tmp_path, "hs,reply (*,reply (2)\na,b,c\n", columns=columns, ignore=("reply (2)",))
    assert rows["counter_narrative"] == ["b"]  # its very name comes first


def test_a_column_beside_the_ignore_patterns_is_refused_with_case_in_mind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column 'Note 1' is not expected"):
        _read(tmp_path, "hs,cn,Note 1\n", ignore=("note *",))


def test_a_column_that_looks_like_a_pattern_can_be_ignored_by_its_name(tmp_path: Path) -> None:
    assert len(_read(tmp_path, "hs,cn,note [1]\na,b,c\n", ignore=("note [1]",))) == 1


def test_an_empty_file_with_a_header_has_no_rows(tmp_path: Path) -> None:
    rows = _read(tmp_path, "hs,cn", text_columns=("hate_speech",))
    assert rows.columns == {"hate_speech": [], "counter_narrative": []}
    assert len(rows) == 0


@pytest.mark.parametrize(
    ("content", "byte", "value"),
    [
        (b"hs,cn\nx,caf\xe9\n", 11, "e9"),  # 6 bytes of header, 2 of the cell before, "caf"
        (b"\xef\xbb\xbfhs,cn\nx,caf\xe9\n", 14, "e9"),
        ("\ufeffhs,cn\nx,y\n".encode("utf-16-le"), 0, "ff"),
    ],
)
def test_another_encoding_is_refused_and_the_byte_named(tmp_path: Path, content: bytes, byte: int, value: str) -> None:
    assert _error(tmp_path, content) == (
        f"data/rows.csv: byte {byte} (0x{value}) is not UTF-8; re-encode the file as UTF-8"
    )


@pytest.mark.parametrize(
    "content",
    [
        "hs,cn\nx,y\nv,w\n",
        "hs,cn\nx,y\nv,w",
        "hs,cn\r\nx,y\r\nv,w\r\n",
        "hs,cn\rx,y\rv,w\r",
        "\ufeffhs,cn\nx,y\nv,w\n",
        '\ufeff"hs","cn"\r\n"x","y"\r\n"v","w"\r\n',
    ],
)
def test_a_byte_order_mark_and_any_line_ends_are_accepted(tmp_path: Path, content: str) -> None:
    rows = _read(tmp_path, content)
    assert rows.columns == {"hate_speech": ["x", "v"], "counter_narrative": ["y", "w"]}
    assert rows.lines == [2, 3]


def test_a_byte_order_mark_further_on_is_part_of_the_text(tmp_path: Path) -> None:
    assert _read(tmp_path, "hs,cn\n\ufeffx,y\n")["hate_speech"] == ["\ufeffx"]


def test_quoted_newlines_commas_and_quotes_are_text_and_lines_are_counted(tmp_path: Path) -> None:
    rows = _read(tmp_path, 'hs,cn\n"two\n\r\nlines","one, two"\n\n"say ""no""",in"side\n')
    assert rows["hate_speech"] == ["two\n\r\nlines", 'say "no"']
    assert rows["counter_narrative"] == ["one, two", 'in"side']
    assert rows.lines == [4, 6]  # the first row takes three lines, then comes an empty one
    assert str([*rows][1].fail("it is wrong")) == "data/rows.csv, line 6: it is wrong"


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("x,y\nx,y,z\n", 3, "found 3 cells, expected 2 as in the header; correct the quotation marks of that row"),
        ('"x\nx",y\n\nx\n', 5, "found 1 cells, expected 2 as in the header; correct the quotation marks of that row"),
        ("x\ry,z\n", 2, "found 1 cells, expected 2 as in the header; correct the quotation marks of that row"),
        ('x,"y"z\n', 2, "not valid CSV (',' expected after '\"'); correct that line"),
        ('x,y\nx,"y\nx,y\n', 4, "not valid CSV (unexpected end of data); correct that line"),
    ],
)
def test_a_row_of_another_form_is_refused_with_its_line(tmp_path: Path, body: str, line: int, problem: str) -> None:
    assert _error(tmp_path, f"hs,cn\n{body}") == f"data/rows.csv, line {line}: {problem}"


def test_empty_texts_are_accepted_up_to_the_stated_number(tmp_path: Path) -> None:
    content = 'hs,cn\nx,y\nx,\n" ",y\nx,y\n'
    both = ("hate_speech", "counter_narrative")
    assert _read(tmp_path, content, text_columns=both, empty_texts=2)["hate_speech"] == ["x", "x", " ", "x"]
    assert _read(tmp_path, content)["counter_narrative"] == ["y", "", "y", "y"]
    assert _error(tmp_path, content, text_columns=both, empty_texts=1) == (
        "data/rows.csv, line 4: hate_speech is empty (2 empty texts, expected 1); fill it in, or remove the row"
    )
    assert _error(tmp_path, content, text_columns=("counter_narrative",)) == (
        "data/rows.csv, line 3: counter_narrative is empty (1 empty texts, expected 0); fill it in, or remove the row"
    )


def test_texts_that_look_missing_or_like_numbers_survive(tmp_path: Path) -> None:
    texts = ["NA", "N/A", "None", "null", "nan", "NaN", "-", "007", "1.50", "1e3", "True", " x ", "#N/A"]
    rows = _read(tmp_path, "".join(f"{text}\n" for text in ["hs", *texts]), {"hs": "hs"}, text_columns=("hs",))
    assert rows["hs"] == texts


def test_a_field_longer_than_the_limit_of_the_csv_module_is_accepted(tmp_path: Path) -> None:
    text = "Velmari bread is good. " * 10_000
    assert len(text) > 131_072
    assert _read(tmp_path, f'hs,cn\n"{text}",y\n')["hate_speech"] == [text]


def _cell(text: str) -> SourceRow:
    return SourceRow(SourceRows("rows.csv", {"age": [text]}, [2]), 0)


@pytest.mark.parametrize(
    ("text", "number", "integer"),
    [
        ("25", 25.0, 25),
        ("25.0", 25.0, 25),
        (" 7 ", 7.0, 7),
        ("-3", -3.0, -3),
        ("1e3", 1000.0, 1000),
        ("0", 0.0, 0),
        ("", None, None),
        ("  ", None, None),
    ],
)
def test_numbers_are_read(text: str, number: float | None, integer: int | None) -> None:
    record = _cell(text)
    assert record.number("age") == number
    assert record.integer("age") == integer


@pytest.mark.parametrize(
    "text", ["inf", "-inf", "Infinity", "nan", "NaN", "1e400", "NA", "None", "0x10", "1,5", "x", "1_000", "٣", "."]
)
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    for read in (_cell(text).number, _cell(text).integer):
        with pytest.raises(InputError) as caught:
            read("age")
        assert str(caught.value) == f"rows.csv, line 2: age is {text!r}, expected a number"


def test_a_fraction_is_no_integer() -> None:
    record = _cell("25.5")
    assert record.number("age") == 25.5
    with pytest.raises(InputError) as caught:
        record.integer("age")
    assert str(caught.value) == "rows.csv, line 2: age is 25.5, expected a whole number"


def test_one_of_compares_the_text_as_it_is() -> None:
    rows = SourceRows("rows.csv", {"label": ["1", "0", "1 "]}, [2, 3, 5])
    values = {"0": False, "1": True}
    *good, bad = rows
    assert [record.one_of("label", values) for record in good] == [True, False]
    assert [record.word("label", "01") for record in good] == ["1", "0"]
    with pytest.raises(InputError) as caught:
        bad.one_of("label", values)
    assert str(caught.value) == (
        "rows.csv, line 5: label is '1 ', expected one of '0', '1'; correct the row or the recipe"
    )


def test_the_files_of_a_recipe_are_read_by_name(tmp_path: Path) -> None:
    recipe = load_recipe(str(small.write_small(tmp_path)))
    upstream = SourceFiles(recipe, {"queries": tmp_path / "queries.csv"})
    rows = upstream.read("queries", text_columns=("hate_speech",), columns={"again": "hate_speech"})
    assert rows.columns == {"hate_speech": small.HS, "again": small.HS}
    with pytest.raises(InputError) as caught:
        upstream.read("pool")
    assert str(caught.value) == "pool.csv was not found, and kind 'exhaustive' needs it; it cannot be optional"
    with pytest.raises(InputError) as caught:
        upstream.read("dialogues")
    assert str(caught.value) == (
        "recipe 'small' has no source 'dialogues', which kind 'exhaustive' needs; add it under `sources`"
    )


TEXTS = st.text(st.sampled_from("\r\n\0\",' ;\t\\\ufeff") | st.characters(exclude_categories=["Cs"]), max_size=8)
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(TEXTS, min_size=width, max_size=width), min_size=1, max_size=6)
)


def test_a_column_that_the_recipe_does_not_map_is_named() -> None:
    with pytest.raises(InputError) as caught:
        _cell("25")["gender"]
    assert str(caught.value) == (
        "rows.csv: the recipe maps no column to 'gender'; add it to the `columns` of the source"
    )


@settings(deadline=None)
@given(table=TABLES, bom=st.booleans())
def test_whatever_a_csv_writer_writes_reads_back_equal(table: list[list[str]], bom: bool) -> None:
    """With the writer's own dialect this holds for every text, bare CR and NUL included."""
    header = ["a", "b", "c"][: len(table[0])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        with path.open("w", newline="", encoding="utf-8-sig" if bom else "utf-8") as file:
            csv.writer(file).writerows([header, *table])
        rows = read_csv(path, Source(path="rows.csv", sha256=SHA256, columns={name: name for name in header}))
    assert rows.columns == {name: [row[at] for row in table] for at, name in enumerate(header)}
    assert len(rows) == len(table)


def test_a_text_of_invisible_characters_counts_as_empty(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 2: text is empty \(1 empty texts, expected 0\); fill it in"):
        _read(tmp_path, "text\n\u200b\u2060\ufeff\nMivs\n", {"text": "text"}, text_columns=("text",))


@pytest.mark.parametrize("ignore", [["col-*"], [f"col-{number}" for number in range(2_000)], []])
def test_the_time_to_check_a_header_is_linear_in_its_columns(tmp_path: Path, ignore: list[str]) -> None:
    header = ["text", *(f"col-{number}" for number in range(2_000))]
    path = tmp_path / "rows.csv"
    path.write_text(",".join(header) + "\n" + ",".join("x" for _ in header) + "\n", encoding="utf-8")
    source = Source(path="rows.csv", sha256=SHA256, columns={"text": "text"}, ignore=ignore)
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    counted: list[str] = [Name(column) for column in header]
    if ignore:
        assert _positions("rows.csv", counted, source) == {"text": 0}
        assert read_csv(path, source).columns == {"text": ["x"]}
    else:
        with pytest.raises(InputError, match="column 'col-0' is not expected"):
            _positions("rows.csv", counted, source)
    assert compared < 10 * len(header)
