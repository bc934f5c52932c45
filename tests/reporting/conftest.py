"""One browser for every module that opens pages."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browsing import launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser
