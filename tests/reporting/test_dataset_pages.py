"""The page of a dataset folder."""

import json
import re
from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.reporting import dataset_folders
from fcconan.reporting.dataset_counts import all_tables
from fcconan.reporting.dataset_folders import browsable, read_sources
from fcconan.reporting.dataset_matrix import matrix_of
from fcconan.reporting.dataset_pages import dataset_page, rows_table
from fcconan.reporting.page import render
from tests.reporting.invented_release import ANSWER, CN, EVIL_NAME, HS, MESSAGE, REPLY_TEXT, TEXTS, write_release_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release_folder(tmp_path_factory.mktemp("dataset") / "invented")


def test_figures_are_counted_from_the_rows(folder: Path) -> None:
    tables = {table.title: table for table in all_tables(read_sources(folder))}
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
        ["anna", "tone", "test", "0", "–", "1", "out of scale 1"],
        [EVIL_NAME, "relevance", "test", "1", "5.00", "0", "–"],
    ]
    # The same two systems whichever comes first: anna's verdict is for alpha, ben's against it.
    systems = f"{EVIL_NAME} and alpha"
    assert tables["Verdicts by rater and systems"].rows == [
        [systems, "anna", "test", "0", "1", "0", "0", "1"],
        [systems, "ben", "test", "1", "0", "0", "0", "1"],
        [systems, "cleo", "test", "0", "0", "0", "1", "1"],
    ]


def test_rows_have_filters_and_their_texts_wait(folder: Path) -> None:
    shown, notes = browsable(read_sources(folder))
    names = ["bronze", "queries", "votes", "replies", "ratings", "comparisons", "labels"]
    assert [source.config for source in shown] == names
    assert notes == ["The pairs of diamond, gold, silver are part of bronze; its column tier distinguishes them."]
    pairs = rows_table(shown[0], texts=True)
    assert pairs.table.columns[:4] == ["pair_id", "hate_speech", "counter_narrative", "hs_id"]
    assert pairs.texts == ("hate_speech", "counter_narrative")
    assert pairs.filters == ("label", "valid", "n_votes", "agreement", "tier", "hs_type")
    assert [row[0] for row in pairs.table.rows] == [f"{HS[0]}:{cn}" for cn in CN] + [f"{HS[1]}:{cn}" for cn in CN[:2]]
    bare = rows_table(shown[0], texts=False)
    assert bare.texts == () and not {"hate_speech", "counter_narrative", "cn_type"} & set(bare.table.columns)
    ratings = rows_table(shown[4], texts=True)
    place = ratings.table.columns.index
    assert [row[place("value")] for row in ratings.table.rows] == ["3.3333", "–", "5", "1"]
    assert [row[place("reason")] for row in ratings.table.rows] == ["–", "out_of_scale", "–", "–"]
    assert [row[place("higher_is_better")] for row in ratings.table.rows] == ["yes"] * 4
    assert rows_table(shown[3], texts=True).table.rows[0][1:4] == [MESSAGE, REPLY_TEXT, ANSWER]


def test_a_table_that_no_page_can_hold_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_folders, "MOST_ROWS", 4)
    sources = read_sources(folder)
    shown, notes = browsable(sources)
    assert [source.config for source in shown] == ["queries", "replies", "ratings", "comparisons", "labels"]
    assert "votes, test has 9 rows, too many for a page: only the counts are shown." in notes
    assert any(table.title == "Votes" for table in all_tables(sources))


def test_the_matrix_shows_what_is_judged_the_fullest_first(folder: Path) -> None:
    matrix = matrix_of(read_sources(folder))
    assert matrix is not None
    drawing, by_hs = matrix
    assert by_hs.rows == [  # HS with 2 and 1 appropriate CNs; CNs with one each, by name
        [HS[0], "1 of 1", "1 of 2", "2 of 3", "2 of 3"],
        [HS[1], "0 of 0", "0 of 0", "0 of 0", "1 of 2"],
    ]
    paths = dict(re.findall(r'<path class="(\w+ \w+)" d="([^"]*)"', str(drawing)))
    assert paths == {
        "diamond good": "M3.5 3.5h0",
        "gold bad": "M10.5 3.5h0",
        "silver good": "M17.5 3.5h0",
        "bronze bad": "M3.5 10.5h0",
        "bronze good": "M10.5 10.5h0",
    }


def test_texts_are_on_the_page_only_where_they_may_be(folder: Path, tmp_path: Path) -> None:
    page = render(dataset_page(folder))
    assert all(text in page for text in (MESSAGE, ANSWER))
    assert page.index(MESSAGE) > page.index('<script type="application/json" class="rows">')
    assert "do not publish this page" in page
    without = render(dataset_page(folder, texts=False))
    bare = render(dataset_page(write_release_folder(tmp_path / "bare", labels_only=True)))
    for text in TEXTS:
        for one in (text, json.dumps(text)[1:-1], text.replace("<", "\\u003c"), text[-30:].replace("&", "\\u0026")):
            assert one not in without
            assert one not in bare
    assert HS[1] in without and HS[1] in bare
    assert "fcconan hydrate" in bare and "fcconan hydrate" not in without
    assert "show-texts" not in bare.partition("<script")[0] and "Content notice" not in bare


def test_names_and_texts_are_no_markup(folder: Path) -> None:
    page = render(dataset_page(folder))
    parts = re.findall(r'<script type="application/json" class="rows">(.*?)</script>', page)
    assert len(parts) == 4  # tables with texts; those of labels only are short, and elements
    columns = json.loads(parts[0])
    assert {"values": ["maps", EVIL_NAME], "places": [0, 0, 0, 1, 1]} in columns
    assert page.count("</script>") == len(parts) + 1 and "<img" not in page
    assert "2 or more votes, label confirmed by a validator" in page


def test_a_page_in_a_site_has_a_headline_and_tables_to_download(folder: Path) -> None:
    page = dataset_page(folder, texts=False)
    assert (page.name, page.title) == ("dataset-invented", f"Dataset: Invented & {EVIL_NAME}")
    assert page.headline is not None and page.headline.title.startswith("How sparse")
    assert page.finding == (
        "5 pairs in bronze, 83.3% of the matrix of 2 HS x 3 CNs; 3 of them (60.0%) are appropriate."
    )
    assert len(page.own_tables()) == 9 and page.signatures[0].endswith("|data:invented@0123456789ab")


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no manifest\.json"):
        dataset_page(tmp_path)
    folder = write_release_folder(tmp_path / "broken")
    (folder / "votes" / "test-00000-of-00001.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match="get or build this Parquet file again"):
        dataset_page(folder)
