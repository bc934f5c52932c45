"""The page in a real browser: headless Chromium, no network."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from fcconan.report import write_report
from fcconan.report.sections import Section, render_sections
from fcconan.report.tables import Table
from tests.report.invented import AWKWARD, BM25, CORPUS, EVIL, QUERIES, RANDOM, example_details, example_result

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_a_person_can_sort_and_see_where_systems_differ(tmp_path: Path) -> None:
    write_report(tmp_path / "report", example_result(), example_details())
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
            partial, chance, failed = "bm25 (2 of 3 HS)", "(chance)", "gpt_4 (failed)"
            assert names.all_text_contents() == [partial, RANDOM, AWKWARD, chance, failed]
            average = table.locator("thead th").nth(1)
            average.locator("button").click()
            assert average.get_attribute("aria-sort") == "descending"
            assert names.all_text_contents() == [partial, RANDOM, chance, AWKWARD, failed]
            average.locator("button").press("Enter")  # by keyboard, too
            assert average.get_attribute("aria-sort") == "ascending"
            assert names.all_text_contents() == [chance, RANDOM, partial, AWKWARD, failed]  # missing last

            queries = page.locator("#query-list button")
            assert queries.count() == 2  # the third has no figure
            assert QUERIES["q1"] in (queries.first.text_content() or "")  # 1 against 0: where systems differ most
            first = page.locator(f"#query-detail section[data-system={BM25}]")
            assert first.locator("h3").text_content() == "bm25: 1.000"
            assert first.locator("li").all_text_contents() == [f"✓ {CORPUS['c1']}", f"✗ {EVIL}", f"? {CORPUS['c3']}"]
            page.select_option("#partition", "diamond")
            assert first.locator("li").all_text_contents() == [f"✓ {CORPUS['c1']}", f"? {EVIL}", f"? {CORPUS['c3']}"]
            queries.nth(1).click()
            assert page.locator("#query-detail > p").text_content() == EVIL
            assert "no figure" in (page.locator(f"section[data-system={RANDOM}] h3").text_content() or "")
            assert page.title() == "Invented & made up: retrieval, protocol sound"
            assert page.locator("figure svg").count() == 4
        finally:
            browser.close()
    assert said == []
    assert asked == [url]


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_second_page_is_reached_sorted_and_filtered(tmp_path: Path) -> None:
    rows = [[f"system {number:02}", str(number), f"{number / 10:.1f} [0.0, 9.9]"] for number in range(30)]
    section = Section("Tournament", ["A note."], [Table("Standings", ["system", "points", "share"], rows)])
    second = render_sections("Judges", "Invented.", [section, section], signatures=["a|b"], back="report.html")
    write_report(tmp_path / "report", example_result(), example_details(), further=second)
    said: list[str] = []
    asked: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        try:
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            page.goto((tmp_path / "report" / "report.html").as_uri())
            page.get_by_role("link", name="Judges and tournaments").click()
            page.wait_for_url((tmp_path / "report" / "scores.html").as_uri())
            table = page.locator("#part-1 table")
            page.locator("#part-1 details").evaluate("part => part.open = true")
            table.locator("thead th").nth(1).locator("button").click()
            assert table.locator("tbody th").first.text_content() == "system 29"
            page.locator("#part-1 input[type=search]").fill("system 07")
            assert table.locator("tbody tr:visible").count() == 1
            page.get_by_role("link", name="Retrieval").click()
            page.wait_for_url((tmp_path / "report" / "report.html").as_uri())
        finally:
            browser.close()
    assert said == []
    assert {url.rsplit("/", 1)[1] for url in asked} == {"report.html", "scores.html"}
