"""The examples in the docstrings of services, and of what makes commands of them."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import fcconan.services
from tests.annotation.handed_out import campaign_of
from tests.annotation.published import pairs_campaign

MODULES = [f"fcconan.services.{each.name}" for each in pkgutil.iter_modules(fcconan.services.__path__)]


OTHERS = ["fcconan.oldcli.parameters"]
FUNCTIONS = [name for name in dir(fcconan) if inspect.isfunction(inspect.unwrap(getattr(fcconan, name)))]
PUBLIC = sorted({inspect.unwrap(getattr(fcconan, name)).__module__ for name in FUNCTIONS} - {*MODULES})


@pytest.mark.parametrize("name", [*MODULES, *PUBLIC, *OTHERS])
def test_examples_give_what_they_show(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if name == "fcconan.reproduction.comparison":
        request.getfixturevalue("mirror")  # the published files of a paper; without them the test is skipped
    monkeypatch.chdir(tmp_path)
    there = {
        "folder": tmp_path,
        "campaign": campaign_of("appropriateness", tmp_path / "campaign").folder,
        "answered": pairs_campaign(tmp_path / "answered").folder,
    }
    assert doctest.testmod(importlib.import_module(name), extraglobs=there).failed == 0


def test_every_public_function_has_an_example() -> None:
    finder = doctest.DocTestFinder(recurse=False)
    shown = {
        name for name in FUNCTIONS for each in finder.find(inspect.unwrap(getattr(fcconan, name))) if each.examples
    }
    assert shown == {*FUNCTIONS} - {"finetune"}  # it needs a model
