"""Choices of options are those of the packages below: a new one is added in both places."""

import importlib
from collections.abc import Iterable
from typing import Any, get_args

import pytest

import fcconan
from fcconan.services import Configuration, value_type

STRATEGIES_WITHOUT_MODEL = {"retrieval", "reference"}


def _choices(model: type[Configuration], name: str) -> set[str]:
    """Returns the values of an option, also within a list."""
    kind = value_type(model.model_fields[name])
    inner = get_args(kind)[0]
    return set(get_args(inner) or get_args(kind))


def _names(place: str) -> set[str]:
    """Returns the names in a constant: values of a type, keys of a table, or a sequence."""
    module, _, name = place.rpartition(".")
    found: Any = getattr(importlib.import_module(module), name)
    names: Iterable[str] = get_args(found) or found
    return set(names)


@pytest.mark.parametrize(
    ("model", "name", "place"),
    [
        (fcconan.GenerateOptions, "selection", "fcconan.generation.decoding.Selection"),
    ],
)
def test_choices_are_those_of_the_package(model: type[Configuration], name: str, place: str) -> None:
    assert _choices(model, name) == _names(place)


def test_strategies_with_a_model_have_a_prompt_and_take_the_options_of_models() -> None:
    from fcconan.generation import DEFAULT_PROMPTS
    from fcconan.services.reply_options import BY_MODEL, METHOD

    strategies = _choices(fcconan.GenerateOptions, "strategy")
    assert strategies - STRATEGIES_WITHOUT_MODEL == set(BY_MODEL) == set(DEFAULT_PROMPTS)
    assert {each for given in METHOD.values() for each in given} == strategies - {"reference"}
    assert METHOD.keys() <= fcconan.GenerateOptions.model_fields.keys()
