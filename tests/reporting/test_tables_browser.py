"""Long tables, and heat maps in a real browser."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Locator, Page, expect

from fcconan.reporting.page import Page as ReportPage, Section, write_page
from fcconan.reporting.tables import DisplayTable, latex_lines, markdown_lines
from tests.browsing import accessibility_problems, needs_chromium, visit

pytestmark = needs_chromium


def expect_rows(part: Locator, names: Sequence[str]) -> None:
    expect(part.locator("tbody tr > th")).to_have_text(names)


def is_accessible(page: Page, *themes: Literal["light", "dark"]) -> None:
    """Checks a page as it stands in some themes, and that a phone need not scroll sideways."""
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        assert accessibility_problems(page) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_long_table_is_paged_searched_sorted_and_copied(browser: Browser, tmp_path: Path) -> None:
    rows = [[f"s_{place}", f"{place % 7}.5", "–" if place == 3 else f"x [{place}, x&y <b>"] for place in range(300)]
    table = DisplayTable("Many & <i>", ["name", "figure", "words"], rows)
    write_page(tmp_path / "page.html", ReportPage("T", "L", [Section("S", tables=[table])]))
    with visit(browser, tmp_path / "page.html") as page:
        part = page.locator("div.table")
        expect_rows(part, [f"s_{place}" for place in range(25)])
        part.locator(".dt-paging button", has_text="12").click()
        expect(part.locator("tbody tr > th").last).to_have_text("s_299")
        part.get_by_label("Rows with").fill("x [3, x&y <b>")
        expect_rows(part, [])
        part.get_by_label("Rows with").fill("[10")
        expect_rows(part, ["s_10", *(f"s_{place}" for place in range(100, 110))])
        part.locator("thead th").nth(1).locator("[role=button]").press("Enter")
        expect(page.locator("#announcement")).to_have_text("Sorted by figure, descending.")
        found = part.locator("tbody tr").all()
        assert [row.locator("td").first.text_content() for row in found[:3]] == ["6.5", "5.5", "4.5"]
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        shown = DisplayTable(table.title, table.columns, [row.locator("th, td").all_text_contents() for row in found])
        part.get_by_role("button", name="Copy as LaTeX").press("Enter")
        page.wait_for_function("window.copied")
        assert page.evaluate("window.copied").rstrip().split("\n") == latex_lines(shown)
        part.get_by_role("button", name="Copy as Markdown").press("Enter")
        expect(page.locator("#announcement")).to_have_text("Copied 11 rows as Markdown.")
        assert page.evaluate("window.copied").splitlines() == markdown_lines(shown)
        is_accessible(page, "light", "dark")
