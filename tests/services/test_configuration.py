"""Configurations: bounds, files with lines, and messages of one line."""

import importlib
import pkgutil
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import Field
from pydantic.fields import FieldInfo

from fcconan import services
from fcconan.errors import InputError
from fcconan.services import (
    Bootstrap,
    Configuration,
    ConfigurationError,
    Endpoint,
    RowSelection,
    open_configuration,
    option,
)


class Grove(Bootstrap, RowSelection):
    """Options of an invented service."""

    people: Literal["ombrey", "tessok"] = option(help="People.")
    trees: int = option(3, help="Number of trees.", ge=1, le=10)
    height: float | None = option(None, help="Height.", gt=0, lt=100)
    names: tuple[str, ...] = option((), help="Names.")


def test_values_are_checked_in_one_line() -> None:
    assert Grove(people="tessok", trees=10).trees == 10
    with pytest.raises(ConfigurationError) as refused:
        Grove(people="tessok", trees=11)
    assert str(refused.value) == "Grove: trees: Input should be less than or equal to 10 (found 11)"
    assert isinstance(refused.value, InputError)
    with pytest.raises(ConfigurationError, match=r"^Grove: people: Field required$"):
        Grove()
    with pytest.raises(
        ConfigurationError, match=r"^Grove: tres: Extra inputs are not permitted; did you mean 'trees'\?$"
    ):
        Grove(people="ombrey", tres=2)  # type: ignore[call-arg]


@pytest.mark.parametrize("height", [float("nan"), float("inf"), float("-inf"), 1e308, 10**30, 0, 100, "", True, "high"])
def test_a_number_is_finite_within_its_bounds_and_no_switch(height: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"^Grove: height: [^\n]+$"):
        Grove(people="ombrey", height=height)


def _has_unbounded_number(kind: Any, constraints: Iterable[Any]) -> bool:
    """Returns whether a type holds a number, also within a list, that lacks a lower or an upper bound."""
    if get_origin(kind) is Annotated:
        kind, *own = get_args(kind)
        constraints = [each for one in own for each in (one.metadata if isinstance(one, FieldInfo) else [one])]
        return _has_unbounded_number(kind, constraints)
    if kind in (int, float):
        found = {type(each) for each in constraints}
        return not (found & {Ge, Gt} and found & {Le, Lt})
    if get_origin(kind) is Literal:
        return False
    is_union = get_origin(kind) in (Union, types.UnionType)
    return any(_has_unbounded_number(each, constraints if is_union else ()) for each in get_args(kind))


@pytest.mark.parametrize(
    ("kind", "bounds", "unbounded"),
    [
        (int, {}, True),
        (float | None, {"lt": 3}, True),
        (tuple[float, ...], {}, True),
        (dict[str, Annotated[float, Field(ge=0)]], {}, True),
        (float | None, {"ge": 0}, False),
        (dict[str, Annotated[float, Field(ge=0, le=1)]], {}, False),
    ],
)
def test_numbers_without_bounds_are_found(kind: Any, bounds: dict[str, Any], unbounded: bool) -> None:
    field = _declare("Boundless", kind, bounds).model_fields["number"]
    assert _has_unbounded_number(field.annotation, field.metadata) is unbounded


def test_every_number_of_every_configuration_has_both_bounds() -> None:
    for each in pkgutil.iter_modules(services.__path__):
        importlib.import_module(f"fcconan.services.{each.name}")
    models: list[type[Configuration]] = [Configuration]
    for model in models:
        models += model.__subclasses__()
    own = [model for model in models if model.__module__.startswith("fcconan.services.")]
    assert len(own) > 40
    found = [
        f"{model.__name__}.{name}"
        for model in own
        for name, field in model.model_fields.items()
        if _has_unbounded_number(field.annotation, field.metadata)
    ]
    assert found == []


def test_the_usual_upper_bound_is_a_thousand_millions() -> None:
    made = _declare("Half", float, {"ge": 0})
    assert made(number=1e9).number == 1e9
    with pytest.raises(ConfigurationError, match=r"^Half: number: Input should be less than or equal to 1000000000 "):
        made(number=1.1e9)
    assert _declare("Small", int, {"ge": 0, "lt": 3})(number=2).number == 2


def test_options_without_effect_are_refused_by_their_flags() -> None:
    grove = Grove(people="ombrey", trees=3, seed=1, names=("Ilse",))
    grove.refuse("trees", "height", "resamples", why="for woods only")  # all have their defaults
    with pytest.raises(InputError, match=r"^--seed: for woods only; leave it out$"):
        grove.refuse("trees", "seed", why="for woods only")
    with pytest.raises(InputError, match=r"^--names, --seed: for woods only; leave them out$"):
        grove.refuse("names", "seed", why="for woods only")
    with pytest.raises(InputError, match=r"^--people: for woods only; leave it out$"):
        grove.refuse("people", why="for woods only")  # a required option is always given


def _declare(name: str, kind: Any, bounds: dict[str, Any]) -> Any:
    return type(name, (Configuration,), {"__annotations__": {"number": kind}, "number": option(help="N.", **bounds)})


@pytest.mark.parametrize(
    ("kind", "good", "read", "wrong"),
    [
        (dict[str, Annotated[float, Field(ge=0, le=1)]], {"2": ".25"}, {"2": 0.25}, {"2": "nan"}),
        (tuple[Annotated[int, Field(ge=1, le=9)], ...], [1, 9], (1, 9), [1, 10]),
    ],
)
def test_numbers_in_lists_have_bounds_too(kind: Any, good: Any, read: Any, wrong: Any) -> None:
    made = _declare("Bounded", kind, {})
    assert made(number=good).number == read
    with pytest.raises(ConfigurationError):
        made(number=wrong)


def test_a_configuration_cannot_be_changed_and_equal_ones_are_equal() -> None:
    grove = Grove(people="ombrey", filter={"system": ("a",)})
    with pytest.raises(Exception, match="frozen"):
        grove.trees = 4  # type: ignore[misc]
    assert grove == Grove(people="ombrey", filter={"system": "a"})
    assert grove != Grove(people="ombrey")


def _write(folder: Path, text: str) -> Path:
    path = folder / "grove.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_holds_fields_by_name(tmp_path: Path) -> None:
    text = "people: ombrey\nnames: [Ilse, Orm]\nseed: 7\nfilter: {system: a, rater: [x, y]}\n"
    assert Grove.from_values({}, open_configuration(_write(tmp_path, text))) == Grove(
        people="ombrey", names=("Ilse", "Orm"), seed=7, filter={"system": ("a",), "rater": ("x", "y")}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("people: ombrey\n\ntreees: 4\n", "line 3: unknown key 'treees'; did you mean 'trees'?"),
        (
            "people: ombrey\ntrees: 0\n",
            "line 2: trees: Input should be greater than or equal to 1 (found 0)",
        ),
        ("people: dravene\n", "line 1: people: Input should be 'ombrey' or 'tessok' (found 'dravene')"),
        ("people: ombrey\nheight: .nan\n", "line 2: height: Input should be a finite number (found nan)"),
        ("people: ombrey\nnames:\n- a\n- 3\n", "line 4: names.1: Input should be a valid string (found 3)"),
        ("- 3\n", "line 1: found no mapping, expected `key: value` lines at the top level"),
    ],
)
def test_an_error_in_a_file_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = _write(tmp_path, text)
    with pytest.raises(InputError) as refused:
        Grove.from_values({}, open_configuration(path))
    assert str(refused.value) == f"{path}, {message}"


def test_what_is_given_comes_before_the_file(tmp_path: Path) -> None:
    file = open_configuration(_write(tmp_path, "people: ombrey\ntrees: 99\n"))
    assert Grove.from_values({"trees": 5}, file) == Grove(people="ombrey", trees=5)
    with pytest.raises(ConfigurationError) as refused:
        Grove.from_values({"trees": 11}, file)
    assert refused.value.error.errors()[0]["loc"] == ("trees",)
    file = open_configuration(_write(tmp_path, "trees: 99\nseed: 1\n"))
    with pytest.raises(ConfigurationError, match=r"^Grove: people: Field required$"):
        Grove.from_values({"trees": 5}, file)
    file = open_configuration(_write(tmp_path, "seed: -1\npeeple: tessok\n"))
    with pytest.raises(InputError, match=r"line 2: unknown key 'peeple'; did you mean 'people'\?"):
        Grove.from_values({"trees": 5}, file)  # not that people are missing
    file = open_configuration(_write(tmp_path, "people: ombrey\nseed: -1\n"))
    with pytest.raises(ConfigurationError, match=r"^Grove: trees: "):
        Grove.from_values({"trees": 11, "resamples": 2}, open_configuration(_write(tmp_path, "people: ombrey\n")))
    with pytest.raises(InputError, match=r"line 2: seed: "):
        Grove.from_values({"resamples": 2}, file)
    with pytest.raises(InputError, match=r"^configuration file not found"):
        open_configuration(tmp_path / "none.yaml")


def test_the_shared_groups_have_their_defaults() -> None:
    endpoint = Endpoint()
    assert (endpoint.concurrency, endpoint.retries, endpoint.timeout) == (8, 4, 120)
    assert (endpoint.base_url, endpoint.prices, endpoint.max_cost, endpoint.structured_output) == (
        None,
        None,
        None,
        True,
    )
    assert (Bootstrap().resamples, Bootstrap().confidence, Bootstrap().seed) == (10_000, 0.95, 0)


def test_options_without_a_group_come_first() -> None:
    assert list(Grove.describe())[:4] == ["people", "trees", "height", "names"]
    assert [how.group for _, how in Grove.describe().values()].count(None) == 4
