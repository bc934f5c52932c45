"""A real browser for tests of pages: headless Chromium, with axe-core as a Python package carries it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--no-first-run"]  # fmt: skip
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser. It ends with its module: while it runs, nothing else in the process can have an event loop."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page of files on the disk, and what it said and asked for."""

    def __init__(self, browser: Browser, *, theme: Any = "light", width: int = 1200) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, path: Path) -> Page:
        self.page.goto(path.as_uri())
        return self.page

    def close(self) -> None:
        """Ends the visit: the page was silent, and asked for nothing but pages on the disk."""
        self.context.close()
        assert self.said == []
        assert [url for url in self.asked if not url.startswith("file://")] == []


@contextmanager
def visit(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """Opens a page, and checks at the end that it was silent and loaded nothing from elsewhere."""
    visited = Visit(browser, **options)
    try:
        yield visited.open(path)
    except BaseException:
        visited.context.close()
        raise
    visited.close()


def accessibility_problems(page: Page) -> list[str]:
    """Returns what axe-core finds on the page as it stands, whatever the severity: rule, severity, first element."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}" for each in found["violations"]]
