"""The examples in the docstrings of services, and of what makes commands of them."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import fcconan.services
from tests.annotation.handed_out import campaign_of
from tests.annotation.published import pairs_campaign

MODULES = [f"fcconan.services.{each.name}" for each in pkgutil.iter_modules(fcconan.services.__path__)]


@pytest.mark.parametrize("name", [*MODULES, "fcconan.cli.parameters", "fcconan.cli.reference"])
def test_examples_give_what_they_show(name: str, tmp_path: Path) -> None:
    there = {
        "folder": tmp_path,
        "campaign": campaign_of("appropriateness", tmp_path / "campaign").folder,
        "answered": pairs_campaign(tmp_path / "answered").folder,
    }
    assert doctest.testmod(importlib.import_module(name), extraglobs=there).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = [each for name in MODULES for each in finder.find(importlib.import_module(name)) if each.examples]
    assert {"fcconan.services.datasets.build", "fcconan.services.results.Result"} <= {each.name for each in found}
