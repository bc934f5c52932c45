"""Typer parameters of a service, from its signature and configuration, and the conversion of typed values."""

import enum
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fcconan.oldcli.help_text import form_of
from fcconan.services import Argument, Configuration, Names, bounds, option_flag, value_type, without_constraints

REQUIRED = "  [required]"
REPEATABLE = " Repeatable."


@dataclass(frozen=True)
class Interface:
    """The inputs of a service.

    Attributes:
        service: The function.
        arguments: The parameters that are declared by `argument`, in order.
        defaults: Their defaults; `inspect.Parameter.empty` for those without one.
        model: The class of its configuration; None if it takes none.
    """

    service: Callable[..., Any]
    arguments: Mapping[str, Argument]
    defaults: Mapping[str, Any]
    model: type[Configuration] | None


def interface_of(service: Callable[..., Any]) -> Interface:
    """Reads the signature of a service: parameters annotated by `argument`, and the configuration named `options`.

    Examples:
        >>> from fcconan.services import hydrate
        >>> interface_of(hydrate).model.__name__
        'HydrateOptions'
    """
    parameters = inspect.signature(service).parameters
    arguments = {
        name: declared
        for name, parameter in parameters.items()
        for declared in typing.get_args(parameter.annotation)
        if isinstance(declared, Argument)
    }
    defaults = {name: parameters[name].default for name in arguments}
    return Interface(
        service, arguments, defaults, parameters["options"].annotation if "options" in parameters else None
    )


@dataclass
class Parameters:
    """The parameters of a command, from which Typer makes its options.

    Attributes:
        found: Parameters in the order of the help.
    """

    found: list[inspect.Parameter] = field(default_factory=list)

    def add(self, name: str, annotation: Any, info: Any, default: Any) -> None:
        """Adds a parameter.

        Args:
            name: Its name.
            annotation: Its type.
            info: Its option or argument of Typer.
            default: Its default; `inspect.Parameter.empty` if Typer shall demand a value.
        """
        # Typer takes parameters by name, so that those without a default may follow others.
        kind = inspect.Parameter.KEYWORD_ONLY
        self.found.append(inspect.Parameter(name, kind, annotation=Annotated[annotation, info], default=default))

    def add_argument(self, name: str, declared: Argument, default: Any) -> None:
        """Adds a parameter of the service that precedes its configuration."""
        kind: Any = Path if declared.path else str
        annotation = list[kind] if declared.many else kind
        how: dict[str, Any] = {
            "help": declared.help + (REPEATABLE if declared.many and declared.flag else ""),
            "metavar": declared.metavar or (form_of(kind) if declared.flag else None),
            "autocompletion": completed(declared.complete),
            "show_default": isinstance(default, str),
            "hidden": declared.rare,
        }
        names = [name for name in (declared.flag, declared.short) if name is not None]
        info = typer.Option(*names, **how) if names else typer.Argument(**how)
        if declared.required or default is inspect.Parameter.empty:
            self.add(name, annotation, info, inspect.Parameter.empty)
        else:
            self.add(name, annotation | None, info, kind(default) if isinstance(default, str) else None)

    def add_options(self, model: type[Configuration]) -> None:
        """Adds the fields of a configuration."""
        for name, (declared, how) in model.describe().items():
            kind = value_type(declared)
            flag = option_flag(name, how)
            lowest, highest = bounds(declared) if kind in (int, float) else (None, None)
            default = None if declared.is_required() else declared.get_default(call_default_factory=True)
            if isinstance(default, tuple | dict):
                default = list(default) or None  # for the help only: the model has the defaults
            names = [flag if kind is not bool else f"{flag}/--no-{flag.removeprefix('--')}"]
            info = typer.Option(
                *names,
                *([how.short] if how.short else []),
                help=(declared.description or "")
                + (REPEATABLE if typing.get_origin(kind) in (tuple, dict) else "")
                + (REQUIRED if declared.is_required() else ""),
                metavar=how.metavar or form_of(kind),
                min=lowest,
                max=highest,
                hidden=how.rare,
                autocompletion=completed(how.complete),
                rich_help_panel=how.group,
                show_default=default is not None and default is not False,
            )
            self.add(name, typed(kind) | None, info, default)


def typed(kind: Any) -> Any:
    """Returns the type that Typer reads a field as.

    Examples:
        >>> typed(tuple[str, ...]), typed(dict[str, str]), typed(int)
        (list[str], list[str], <class 'int'>)
    """
    origin = typing.get_origin(kind)
    if origin in (tuple, list):
        inner: Any = without_constraints(typing.get_args(kind)[0])
        if typing.get_origin(inner) is Literal:  # Typer reads lists of plain types and enumerations only
            made: Any = enum.Enum
            inner = made("Choice", {str(each): each for each in typing.get_args(inner)})
        return list.__class_getitem__(inner)
    if origin is dict:
        return list[str]
    return kind


def plain(kind: Any, value: Any, form: str) -> Any:
    """Returns a typed value as the configuration takes it.

    Args:
        kind: The type of the field.
        value: Value as read by Typer.
        form: The form of a pair, such as `NAME=COLUMN`.

    Raises:
        ValueError: A pair is not of its form, or a name has two values.
    """
    if typing.get_origin(kind) is dict:
        return _mapping(kind, value, form)
    if isinstance(value, list):
        return tuple(each.value if isinstance(each, enum.Enum) else each for each in value)
    return value


def _mapping(kind: Any, pairs: list[str], form: str) -> dict[str, Any]:
    several = typing.get_origin(typing.get_args(kind)[1]) is tuple
    found: dict[str, Any] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not (name and value):
            raise ValueError(f"found {pair!r}, expected {form}")
        if several:
            found[name] = (*found.get(name, ()), value)
        elif found.setdefault(name, value) != value:
            raise ValueError(f"{name} has two values, {found[name]!r} and {value!r}; give one")
    return found


def completed(names: Names | None) -> Any:
    """Returns a function that completes one of some names, as Typer calls it."""
    if names is None:
        return None

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete
