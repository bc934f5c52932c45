"""The report of the real benchmark in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browsing import accessibility_problems, launched, needs_chromium, visit

pytestmark = [pytest.mark.upstream, pytest.mark.long, needs_chromium]  # tests/reporting checks the demo


def test_the_paper_protocol_of_fc_conan_is_sorted_filtered_and_accessible(paper_run: Path) -> None:
    report = paper_run / "report" / "report.html"
    with launched() as browser:
        for theme in ("light", "dark"):
            with visit(browser, report, theme=theme) as page:
                assert accessibility_problems(page) == [], theme
        with visit(browser, report) as page:
            table = page.locator("div.table table").first
            names = table.locator("tbody tr:not(.grey) th")
            ranked = ["sbert-minilm", "tfidf", "bm25", "random"]
            expect(names).to_have_text(ranked)
            grey = table.locator("tbody tr.grey th").all_text_contents()
            published = [name for name in grey if name.endswith(" (published)")]
            assert (len(published), set(grey) - set(published)) == (12, {"(chance)"})
            average = table.locator("thead th").nth(1)
            average.click()  # descending
            average.locator("[role=button]").press("Enter")
            expect(names).to_have_text(["random", *ranked[3::-1]])
            slider = page.get_by_role("slider", name="Partition")
            slider.press("Home")
            shown = page.locator(".panel:visible")
            assert (shown.get_attribute("data-partition"), shown.locator("h3").text_content()) == (
                "diamond",
                "diamond: 35 appropriate of 353 judged pairs, 45 HS, 22 without an appropriate CN",
            )
            assert page.locator("#query-list button").count() == 45
            first = page.locator("#query-detail li bdi").first
            assert (first.text_content() or "").startswith("cn-")  # ids until somebody asks for texts
            page.get_by_role("button", name="Show texts").click()
            assert not (first.text_content() or "cn-").startswith("cn-")
