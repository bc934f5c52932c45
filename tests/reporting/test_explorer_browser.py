"""The explorer, heat maps and the ledger in a real browser."""

from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect

from fcconan.reporting.explorer import explorer_page
from fcconan.reporting.ledger import write_ledger
from fcconan.reporting.page import write
from fcconan.reporting.scores import write_correlations
from tests.browsing import accessibility_problems, needs_chromium, visit
from tests.reporting.invented_release import CN, EVIL_NAME, HS, MESSAGE, SCRIPT, write_release_folder
from tests.reporting.test_heat import CELLS, ROWS

pytestmark = needs_chromium

SHOWN = "paths => paths.filter(path => getComputedStyle(path).display !== 'none').length"


def first_cells(page: Page) -> list[str]:
    return page.locator("#rows-list > tbody > tr[data-row] > th").all_text_contents()


def is_accessible(page: Page, *themes: Literal["light", "dark"]) -> None:
    """Checks a page as it stands in some themes, and that a phone need not scroll sideways."""
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        assert accessibility_problems(page) == []
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_rows_are_filtered_opened_and_read_once_asked(browser: Browser, tmp_path: Path) -> None:
    write(tmp_path / "page.html", explorer_page(write_release_folder(tmp_path / "data")))
    with visit(browser, tmp_path / "page.html") as page:
        pairs = [f"{HS[0]}:{cn}" for cn in CN] + [f"{HS[1]}:{cn}" for cn in CN[:2]]
        assert first_cells(page) == pairs
        tier = page.locator('select[data-column="tier"]')
        tier.select_option(label="gold and better (2)")
        assert first_cells(page) == pairs[:2]
        expect(page.locator("#said")).to_have_text("Rows 1 to 2 of 2 found in 5")
        page.locator("#rows-with").fill(CN[1])
        assert first_cells(page) == [pairs[1]]
        page.locator("#rows-list button.row").press("Enter")
        opened = page.locator(".opened")
        expect(opened.locator("h4")).to_have_text(["Why gold", "Votes"])
        expect(opened.locator("li").last).to_contain_text(
            "It is not diamond, which asks for: 2 or more votes, agreement"
        )
        assert opened.locator("tbody tr").all_text_contents() == ["rater-1not_appropriate", "rater-2appropriate"]
        assert MESSAGE not in page.locator("body").inner_text()
        page.get_by_role("button", name="Show texts").click()
        expect(opened).to_contain_text(MESSAGE)  # it stays open
        page.get_by_role("button", name="Clear all").click()
        page.get_by_label("Id or text holds").fill("THE OSTRUN & ")
        assert first_cells(page) == pairs[3:]
        assert SCRIPT in page.locator("#rows-list").inner_text() and page.evaluate("window.evil") is None
        page.locator("#rows-list thead button", has_text="label").click()
        assert first_cells(page) == [pairs[4], pairs[3]]  # appropriate before not_appropriate

        page.locator("#rows-of").select_option(label="replies, test (2)")
        page.get_by_role("button", name="re-0").click()
        rows = opened.locator("tbody tr").all_text_contents()
        assert rows[:2] == ["anna3.3333 (1 to 5)– out of scale", f"{EVIL_NAME}5 (1 to 5)not asked"]
        assert len(rows) == 5  # and three comparisons

        matrix = page.locator("#matrix")
        matrix.press("ArrowDown")
        matrix.press("ArrowRight")
        at = page.locator("#matrix-at")
        expect(at).to_have_text(f"{HS[1]}, {CN[1]}: appropriate, bronze")
        page.get_by_role("radio", name="silver").check()
        expect(at).to_have_text(f"{HS[1]}, {CN[1]}: not in silver")
        assert page.locator("#matrix path").evaluate_all(SHOWN) == 3
        page.get_by_role("radio", name="bronze").check()
        matrix.press("Enter")
        expect(opened.locator("h3")).to_have_text(pairs[4])
        is_accessible(page, "light", "dark")


def test_maps_are_chosen_and_figures_filtered(browser: Browser, tmp_path: Path) -> None:
    write_correlations(tmp_path / "maps.html", {"rows": ROWS, "signature": "s|1"})
    with visit(browser, tmp_path / "maps.html") as page:
        expect(page.locator("figure.heat:visible figcaption")).to_have_text("spearman with people, pooled")
        page.get_by_label("Level").select_option("per_item")
        expect(page.locator("figure.heat:visible td")).to_have_text(["0.25", ""])
        page.get_by_label("Coefficient").select_option("pairwise_accuracy")
        expect(page.locator("figure.heat:visible")).to_have_count(0)
        expect(page.locator("#said")).to_contain_text("There is no such map")
        page.get_by_label("Level").select_option("pooled")
        is_accessible(page, "dark")
    write_ledger(tmp_path / "ledger.html", CELLS, "s|1")
    with visit(browser, tmp_path / "ledger.html") as page:
        figures = page.locator(".filtered tbody tr:visible")
        page.get_by_role("combobox", name="Status").select_option("differs")
        assert figures.count() == 2
        assert (
            page.locator('select >> option:has-text("Table 2")').text_content() == "Table 2 (1)"
        )  # what is left of it
        expect(page.locator(".filtered .controls .hint")).to_have_text("2 of 5 figures")
        page.get_by_role("button", name="last digits").click()
        assert figures.nth(1).locator("td").nth(5).text_content() == "2.5"  # the largest first
        is_accessible(page, "light")
