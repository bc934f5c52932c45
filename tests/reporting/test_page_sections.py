"""Pages of notes, plots and tables."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from markupsafe import Markup

from fcconan.errors import InputError
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, Section, check_page, render, today, write_page
from fcconan.reporting.tables import DisplayTable, format_interval, format_number

SECTIONS = [
    Section(
        "First <b>", ["A note & more."], [DisplayTable("Few", ["system", "x"], [["A[/b]", "1"], ["<script>", "2"]])]
    ),
    Section("Second", more=Markup("<svg><path/></svg>")),
]


def render_sections(title: str, lead: str, sections: list[Section], *, signatures: Sequence[str] = ()) -> str:
    return render(Page(title, lead, sections, signatures=signatures))


def test_a_page_shows_what_it_is_given_and_escapes_it() -> None:
    page = render_sections("Title <i>", "Lead.", SECTIONS, signatures=["x|y:1"])
    assert "<h1>Title &lt;i&gt;</h1>" in page
    assert '<section id="part-1"><h2>First &lt;b&gt;</h2>' in page
    assert "<li>A note &amp; more.</li>" in page
    assert '<th scope="row">&lt;script&gt;</th><td>2</td>' in page
    assert "<svg><path/></svg>" in page
    assert "<code>x|y:1</code>" in page
    assert page.count("<script>") == 1


def test_a_page_loads_nothing() -> None:
    page = render_sections("T", "L", SECTIONS)
    assert "default-src 'none'" in page
    assert re.findall(r"""(?:src|href)=["'](?!#)[^"']*""", page) == []


def test_several_parts_have_links_and_one_has_none() -> None:
    assert 'href="#part-2">Second</a>' in render_sections("T", "L", SECTIONS)
    assert "<nav" not in render_sections("T", "L", SECTIONS[:1])
    assert 'href="#part-1">First &lt;b&gt;</a>' in render_sections("T", "L", SECTIONS)


@pytest.mark.parametrize(("rows", "shown"), [(24, "<summary>Long</summary>"), (25, "25 rows")])
def test_long_tables_say_how_long_they_are(rows: int, shown: str) -> None:
    table = DisplayTable("Long", ["a"], [["x"]] * rows)
    page = render_sections("T", "L", [Section("S", tables=[DisplayTable("First", ["a"], [["x"]]), table])])
    assert shown in page
    assert page.count('<th scope="row">x</th>') == rows + 1


def test_a_page_is_written_whole_also_where_a_name_is_not_unicode(tmp_path: Path) -> None:
    page = Page("T", "L", SECTIONS, signatures=["data:\udcff.csv"])
    write_page(tmp_path / "page.html", page)
    assert "data:\\udcff.csv" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InputError, match=r"folder\.html cannot be written \(Is a directory\): choose another file$"):
        write_page(tmp_path / "folder.html", page)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.html", "page.html"]


def test_what_is_no_page_is_refused_before_any_work(tmp_path: Path) -> None:
    check_page(tmp_path / "page.htm")
    (tmp_path / "folder.html").mkdir()
    for name, message in (
        ("page.txt", r"page\.txt is not a page: give a file that ends in \.html$"),
        ("folder.html", r"folder\.html is not a page"),
        ("none/page.html", r"page\.html cannot be written: choose a file in a folder that is there$"),
    ):
        with pytest.raises(InputError, match=message):
            check_page(tmp_path / name)


def test_a_page_replaces_only_an_earlier_page(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<p>mine</p>", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"page\.html exists and is not a page of fcconan: choose another file for the"
    ):
        check_page(path)
    path.write_text("", encoding="utf-8")
    check_page(path)
    write_page(path, Page("T" * 2_000, "L", SECTIONS))
    check_page(path)


def test_characters_that_turn_a_text_around_are_written_out() -> None:
    table = DisplayTable("T", ["system"], [["gpt\u202e4"]])
    texts = View(DisplayTable("Texts", ["system", "reply"], [["one", "\u2067no\u2069"]]), texts=("reply",))
    section = Section("S", ["A \u202enote."], [table, texts])
    page = render_sections("Title\u202e", "L", [section])
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.partition("<script>")[0])
    assert '<th scope="row">gpt\\u202e4</th>' in page and "<h1>Title\\u202e</h1>" in page
    assert "A \\u202enote." in page and "\\\\u2067no\\\\u2069" in page


def test_figures_are_rounded_and_what_is_missing_is_a_dash() -> None:
    assert (format_number(0.12345), format_number(-2.0, 1), format_number(None)) == ("0.123", "-2.0", "–")
    assert (format_interval(0.1, 0.25, 2), format_interval(None, 1.0)) == ("[0.10, 0.25]", "–")


def test_what_stands_between_backticks_in_a_note_is_code_and_nothing_is_markup() -> None:
    section = Section("One", ["Give `--rater <name>`, & nothing ` else."])
    page = render_sections("One", "", [section])
    assert "<li>Give <code>--rater &lt;name&gt;</code>, &amp; nothing ` else.</li>" in page


def test_a_day_is_today_or_the_one_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert len(today()) == 10
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert today() == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "now")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is 'now': give a whole number"):
        today()
