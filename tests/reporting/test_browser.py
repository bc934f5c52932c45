"""The report of a benchmark in a real browser: from the disk, silent, by mouse and keyboard, narrow, and on paper."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from fcconan.reporting.benchmark_reports import write_report
from tests.browsing import accessibility_problems, needs_chromium, visit
from tests.reporting.invented import AWKWARD, BM25, CORPUS, EVIL, QUERIES, RANDOM, example_details, example_result

pytestmark = [needs_chromium, pytest.mark.slow]
INK_ON_DARK = "rgb(20, 24, 31)"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("browser") / "report", example_result(), example_details())[0]


@pytest.fixture
def retrieval(browser: Browser, report: Path) -> Iterator[Page]:
    with visit(browser, report) as page:
        yield page


def test_the_page_is_accessible_in_both_themes_and_fits_a_telephone(browser: Browser, report: Path) -> None:
    for theme in ("light", "dark"):
        with visit(browser, report, theme=theme) as page:
            assert accessibility_problems(page) == [], theme
            page.set_viewport_size({"width": 360, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") == 360
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == INK_ON_DARK
            assert dark == (theme == "dark")


def test_a_table_is_sorted_by_mouse_and_keyboard(retrieval: Page) -> None:
    table = retrieval.locator("div.table table").first
    names = table.locator("tbody tr th")
    partial, chance, failed = "bm25 (2 of 3 HS)", "(chance)", "gpt_4 (failed)"
    expect(names).to_have_text([partial, RANDOM, AWKWARD, chance, failed])
    average = table.locator("thead th").nth(1)
    average.click()
    expect(average).to_have_attribute("aria-sort", "descending")
    expect(names).to_have_text([partial, RANDOM, chance, AWKWARD, failed])
    average.locator("[role=button]").press("Enter")
    expect(average).to_have_attribute("aria-sort", "ascending")
    expect(names).to_have_text([chance, RANDOM, partial, AWKWARD, failed])  # missing last
    expect(retrieval.locator("#announcement")).to_have_text("Sorted by avg, ascending.")


def test_the_slider_moves_by_keyboard_and_takes_plot_table_and_rankings_along(retrieval: Page) -> None:
    slider = retrieval.get_by_role("slider", name="Partition")
    panels = retrieval.locator(".panel:visible")
    assert panels.count() == 1
    assert panels.get_attribute("data-partition") == "bronze"
    slider.focus()
    slider.press("Home")
    assert (slider.get_attribute("aria-valuetext"), panels.get_attribute("data-partition")) == ("diamond", "diamond")
    slider.press("ArrowRight")
    assert (slider.get_attribute("aria-valuetext"), panels.get_attribute("data-partition")) == ("gold", "gold")
    assert retrieval.locator("#slider-value").text_content() == "gold"
    assert retrieval.locator("#partition").input_value() == "gold"
    plots = panels.locator(".dots:visible")
    assert plots.count() == 1
    assert (plots.get_attribute("aria-label") or "").startswith("NDCG@10 on gold, with 95% intervals: bm25 0.250")
    retrieval.get_by_label("Plotted metric").select_option("mrr@10")
    assert (plots.get_attribute("aria-label") or "").startswith("MRR@10 on gold")
    point = plots.locator(".dot-point").first  # 0.25 on an axis from 0 to 1
    assert point.evaluate("dot => dot.style.left") == "25%"


def test_texts_are_shown_to_those_who_ask_and_are_never_markup(retrieval: Page) -> None:
    queries = retrieval.locator("#query-list button")
    assert queries.count() == 2  # the third has no figure
    first = retrieval.locator(f"#query-detail section[data-system={BM25}]")
    assert first.locator("li").all_text_contents() == ["✓ c1", "✗ c2", "? c3"]
    assert QUERIES["q1"] not in retrieval.locator("body").inner_text()
    shows = retrieval.get_by_role("button", name="Show texts")
    shows.press("Enter")
    assert shows.get_attribute("aria-pressed") == "true"
    assert QUERIES["q1"] in (queries.first.text_content() or "")  # 1 against 0: where systems differ most
    assert first.locator("h3").text_content() == "bm25: 1.000"
    assert first.locator("li").all_text_contents() == [f"✓ {CORPUS['c1']}", f"✗ {EVIL}", f"? {CORPUS['c3']}"]
    retrieval.select_option("#partition", "diamond")
    assert first.locator("li").all_text_contents() == [f"✓ {CORPUS['c1']}", f"? {EVIL}", f"? {CORPUS['c3']}"]
    queries.nth(1).click()
    assert retrieval.locator("#query-detail > p").text_content() == EVIL
    assert "no value" in (retrieval.locator(f"section[data-system={RANDOM}] h3").text_content() or "")
    assert retrieval.evaluate("window.evil") is None
    shows.press("Enter")
    assert retrieval.locator("#query-detail > p").text_content() == "q2"


def test_the_first_tab_leads_to_the_contents(retrieval: Page) -> None:
    retrieval.keyboard.press("Tab")
    assert retrieval.evaluate("document.activeElement.textContent") == "Skip to the contents"
    retrieval.keyboard.press("Enter")
    assert retrieval.evaluate("document.activeElement.id") == "main"
    retrieval.keyboard.press("Tab")  # the next stop is in the contents
    assert retrieval.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_on_paper_all_partitions_and_tables_are_there_and_no_control(retrieval: Page) -> None:
    closed = retrieval.locator("main details:not([open])")
    assert closed.count() > 0
    retrieval.evaluate("dispatchEvent(new Event('beforeprint'))")
    retrieval.emulate_media(media="print", color_scheme="dark")
    assert closed.count() == 0
    assert retrieval.locator(".panel:visible").count() == 4
    for hidden in ("nav", "#slider", ".copies", "#show-texts"):
        assert retrieval.locator(f"{hidden}:visible").count() == 0, hidden
    assert retrieval.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    retrieval.emulate_media(media="screen")
    retrieval.evaluate("dispatchEvent(new Event('afterprint'))")
    assert closed.count() > 0


def test_without_scripts_every_partition_is_there_and_no_text(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator(".panel:visible").count() == 4
    assert page.locator(".by-metric:visible").count() == 4  # one plot on each
    assert page.locator("#slider:visible, .copies:visible, #show-texts:visible").count() == 0
    assert QUERIES["q1"] not in page.locator("body").inner_text()
    context.close()
