"""The explorer of a dataset folder."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fcconan.errors import InputError
from fcconan.reporting import explorer_data
from fcconan.reporting.explorer import explorer_page
from fcconan.reporting.explorer_data import browsable, encode, read_release
from fcconan.reporting.explorer_matrix import matrix_of
from fcconan.reporting.explorer_tables import all_tables
from fcconan.reporting.page import render
from tests.reporting.invented_release import ANSWER, CN, EVIL_NAME, HS, MESSAGE, SCRIPT, TEXTS, write_release_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release_folder(tmp_path_factory.mktemp("explorer") / "invented")


def decoded(column: dict[str, Any]) -> list[Any]:
    if "codes" not in column:
        return list(column["values"])
    raw = base64.b64decode(column["codes"])
    size = column["size"]
    codes = [int.from_bytes(raw[at : at + size], "little") for at in range(0, len(raw), size)]
    return [column["values"][code - 1] if code else None for code in codes]


def test_figures_are_counted_from_the_rows(folder: Path) -> None:
    tables = {table.title: table for table in all_tables(read_release(folder))}
    assert tables["How sparse the tiers are: 2 HS x 3 CNs"].rows == [
        ["diamond", "1", "16.7%", "1", "100.0%", "1 of 2", "1 of 3", "0.50"],
        ["gold", "2", "33.3%", "1", "50.0%", "1 of 2", "1 of 3", "0.50"],
        ["silver", "3", "50.0%", "2", "66.7%", "1 of 2", "2 of 3", "1.00"],
        ["bronze", "5", "83.3%", "3", "60.0%", "2 of 2", "3 of 3", "1.50"],
    ]
    assert tables["Labels of pairs"].rows[-1] == ["bronze, test", "5", "2", "3", "2", "3", "0", "60.0%"]
    assert tables["Best tier of a pair and agreement of its votes"].rows == [
        ["diamond", "0", "1", "0", "0", "1"],
        ["gold", "0", "0", "0", "1", "1"],
        ["silver", "1", "0", "0", "0", "1"],
        ["bronze", "1", "0", "1", "0", "2"],
    ]
    assert tables["Votes"].rows == [
        ["rater-1", "2", "0", "3", "5", "test"],
        ["rater-2", "0", "0", "3", "3", "test"],
        ["rater-3", "1", "0", "0", "1", "test"],
    ]
    assert tables["Replies by system"].rows == [
        ["alpha", "replies, test", "1", "1"],
        [EVIL_NAME, "replies, test", "1", "1"],
    ]
    assert tables["Ratings by rater and aspect"].rows == [
        ["anna", "relevance", "test", "2", "2.17", "0", "–"],
        [EVIL_NAME, "relevance", "test", "1", "5.00", "0", "–"],
        ["anna", "tone", "test", "0", "–", "1", "out of scale 1"],
    ]
    # The same two systems whichever comes first: anna's verdict is for alpha, ben's against it.
    systems = f"{EVIL_NAME} and alpha"
    assert tables["Verdicts by rater and systems"].rows == [
        [systems, "anna", "test", "0", "1", "0", "0", "1"],
        [systems, "ben", "test", "1", "0", "0", "0", "1"],
        [systems, "cleo", "test", "0", "0", "0", "1", "1"],
    ]


def test_columns_are_distinct_values_and_codes(folder: Path) -> None:
    shown, notes = browsable(read_release(folder).sources)
    assert [source.config for source in shown] == [
        "bronze",
        "queries",
        "votes",
        "replies",
        "ratings",
        "comparisons",
        "labels",
    ]
    assert notes == ["The pairs of diamond, gold, silver are among those of bronze, where tier tells them."]
    pairs = encode(shown[0], texts=False)
    columns = pairs["columns"]
    assert (pairs["rows"], pairs["kind"], columns["pair_id"]) == (5, "pairs", {"join": ["hs_id", "cn_id"]})
    assert columns["hs_id"]["values"] == list(HS) and decoded(columns["hs_id"]) == [HS[0]] * 3 + [HS[1]] * 2
    assert decoded(columns["tier"]) == ["diamond", "gold", "silver", "bronze", "bronze"]
    assert decoded(columns["valid"]) == [True, True, True, False, False]
    assert {
        "hate_speech",
        "counter_narrative",
        "cn_type",
    } & columns.keys() == set()  # texts, and what is always missing
    ratings = encode(shown[4], texts=True)["columns"]
    assert decoded(ratings["value"]) == [3.3333, None, 5, 1]
    assert decoded(ratings["reason"]) == [None, "out_of_scale", None, None]
    assert ratings["explanation"]["text"] is True and decoded(ratings["explanation"]) == [None, None, None, SCRIPT]
    assert decoded(encode(shown[3], texts=True)["columns"]["references"]) == [[ANSWER], [ANSWER]]


def test_a_table_that_no_page_can_hold_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer_data, "MOST_ROWS", 4)
    release = read_release(folder)
    shown, notes = browsable(release.sources)
    assert [source.config for source in shown] == ["queries", "replies", "ratings", "comparisons", "labels"]
    assert "votes, test has 9 rows, more than a page can hold: they are counted." in notes
    assert any(table.title == "Votes" for table in all_tables(release))


def test_many_values_take_more_bytes() -> None:
    for n, size in ((255, 1), (256, 2), (65_536, 4)):
        values = [str(place) for place in range(n)]
        packed = explorer_data._column(pa.chunked_array([[*values, None, "0"]]))
        assert (packed["size"], decoded(packed)[-3:]) == (size, [str(n - 1), None, "0"])


def test_the_matrix_shows_what_is_judged_the_fullest_first(folder: Path) -> None:
    matrix = matrix_of(read_release(folder).sources)
    assert matrix is not None
    assert (matrix.hs_ids, matrix.cn_ids) == (list(HS), list(CN))  # 2 and 1, then one each, by name
    assert matrix.table.rows == [
        [HS[0], "1 of 1", "1 of 2", "2 of 3", "2 of 3"],
        [HS[1], "0 of 0", "0 of 0", "0 of 0", "1 of 2"],
    ]
    paths = dict(re.findall(r'<path class="(\w+ \w+)" d="([^"]*)"', str(matrix.drawing)))
    assert paths == {
        "diamond good": "M3.5 3.5h0",
        "gold bad": "M10.5 3.5h0",
        "silver good": "M17.5 3.5h0",
        "bronze bad": "M3.5 10.5h0",
        "bronze good": "M10.5 10.5h0",
    }


def test_texts_are_on_the_page_only_where_they_may_be(folder: Path, tmp_path: Path) -> None:
    page = render(explorer_page(folder))
    assert all(text in page for text in (MESSAGE, ANSWER))
    assert page.index(MESSAGE) > page.index("<noscript><details") and "do not publish this page" in page
    without = render(explorer_page(folder, texts=False))
    bare = render(explorer_page(write_release_folder(tmp_path / "bare", labels_only=True)))
    for text in TEXTS:
        for one in (text, json.dumps(text)[1:-1], text.replace("<", "\\u003c"), text[-30:].replace("&", "\\u0026")):
            assert one not in without
            assert one not in bare
    assert HS[1] in without and HS[1] in bare
    assert "fcconan hydrate" in bare and "fcconan hydrate" not in without
    assert "show-texts" not in bare.partition("<script")[0] and "Content notice" not in bare


def test_names_and_texts_are_no_markup(folder: Path) -> None:
    page = render(explorer_page(folder))
    assert page.count("<script") == 2 and page.count("</script>") == 2  # the data, and the scripts
    assert "<img" not in page
    _, _, rest = page.partition('<script type="application/json" id="data">')
    data = json.loads(rest.partition("</script>")[0])
    assert EVIL_NAME in data["tables"][0]["columns"]["hs_type"]["values"]
    assert data["matrix"] == {
        "table": 0,
        "hs": list(HS),
        "cn": list(CN),
        "tiers": ["diamond", "gold", "silver", "bronze"],
    }
    assert [one["tier"] for one in data["rule"]] == ["diamond", "gold", "silver", "bronze"]
    assert data["rule"][1]["asks"] == "2 or more votes, label confirmed by a validator"


def test_a_page_in_a_site_has_a_headline_and_tables_to_download(folder: Path) -> None:
    page = explorer_page(folder, texts=False)
    assert (page.name, page.title) == ("dataset-invented", f"Dataset: Invented & {EVIL_NAME}")
    assert page.headline is not None and page.headline.title.startswith("How sparse")
    assert len(page.tables) == 9 and page.signatures[0].endswith("|data:invented@0123456789ab")


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no manifest\.json"):
        explorer_page(tmp_path)
    folder = write_release_folder(tmp_path / "broken")
    (folder / "votes" / "test-00000-of-00001.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match="get or build this Parquet file again"):
        explorer_page(folder)
