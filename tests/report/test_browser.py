"""The page in a real browser: headless Chromium, no network."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from fcconan.report import write_report
from tests.report.example import EVIL, details, result

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_person_can_sort_and_see_where_systems_differ(tmp_path: Path) -> None:
    write_report(tmp_path / "report", result(), details())
    said: list[str] = []
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        try:
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            url = (tmp_path / "report" / "report.html").as_uri()
            page.goto(url)

            table = page.locator("table.sortable").first
            names = table.locator("tbody tr th")
            assert names.all_text_contents() == ["alpha", "beta_1", "gamma", "(chance)", "delta (failed)"]
            average = table.locator("thead th").nth(1)
            average.locator("button").click()
            assert average.get_attribute("aria-sort") == "descending"
            assert names.all_text_contents() == ["alpha", "beta_1", "(chance)", "gamma", "delta (failed)"]
            average.locator("button").press("Enter")  # by keyboard, too
            assert average.get_attribute("aria-sort") == "ascending"
            assert names.all_text_contents() == [
                "(chance)",
                "beta_1",
                "alpha",
                "gamma",
                "delta (failed)",
            ]  # missing last

            queries = page.locator("#query-list button")
            assert queries.count() == 2
            assert EVIL in (queries.first.text_content() or "")  # 0.9 against 0.2: where systems differ most
            first = page.locator("#query-detail section[data-system=alpha]")
            assert first.locator("h3").text_content() == "alpha: 0.900"
            assert first.locator("li").all_text_contents() == ["✓ Bread is for all.", f"✗ {EVIL}", "? Ask the Dravene."]
            assert "no figure" in (page.locator("section[data-system=gamma] h3").text_content() or "")
            queries.nth(1).click()
            assert page.locator("#query-detail > p").text_content() == "Nobody needs Velmari bakers."
            assert page.locator("section[data-system=beta_1] li").all_text_contents() == ["✗ Bread is for all."]
            page.select_option("#partition", "gold")
            assert page.locator("section[data-system=beta_1] li").all_text_contents() == ["? Bread is for all."]
            assert page.title() == "Example & co: retrieval, protocol sound"
            assert page.locator("figure svg").count() == 4
        finally:
            browser.close()
    assert said == []
    assert asked == [url]
