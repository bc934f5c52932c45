"""Calls of services from Python: a wrong kind of options is one clear line, and `help` shows a short signature."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from os import PathLike
from pathlib import Path
from typing import Any, get_args, get_origin

from fcconan.errors import InputError
from fcconan.services.configuration import Argument, Configuration, option_flag, without_constraints


@cache
def checked(service: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a service as users call it; a function that takes no options is returned as it is.

    A single path is accepted for a parameter that takes several, and None for a progress callback.
    """
    signature = inspect.signature(service)
    declared = {name: each.annotation for name, each in signature.parameters.items()}
    model = declared.get("options")
    if not (inspect.isclass(model) and issubclass(model, Configuration)):
        return service

    @wraps(service)
    def call(*given: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{service.__name__}: {error}") from None
        values = bound.arguments
        if not isinstance(options := values.get("options"), model) and "options" in values:
            raise InputError(f"{service.__name__}: options is {_expected(options, model)}")
        if values.get("progress", call) is None:
            del values["progress"]
        progress = values.get("progress", call)
        if not callable(progress) and not (isinstance(progress, bool) and bool in get_args(declared["progress"])):
            raise InputError(f"{service.__name__}: progress is {progress!r}, expected a function: give one, or None")
        for name, value in values.items():
            kind = without_constraints(declared[name])
            several = get_origin(kind) is Sequence
            if several and isinstance(value, str | PathLike):
                values[name] = value = [value]
            kinds = get_args(get_args(kind)[0] if several else kind)
            for each in value if several else [value]:
                if Path in kinds and not isinstance(each, (str, PathLike, *kinds)):
                    raise InputError(
                        f"{service.__name__}: {name} is a {type(each).__name__}, expected a path or a name"
                    )
        try:
            return service(*bound.args, **bound.kwargs)
        except InputError as error:
            error.args = (_in_python(str(error), model, declared),)
            raise

    parameters = [
        each.replace(
            annotation=without_constraints(each.annotation),
            default=None if inspect.isfunction(each.default) else each.default,
        )
        for each in signature.parameters.values()
    ]
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__module__, call.__qualname__ = "fcconan", service.__name__  # where `pickle` finds it, for other processes
    return call


def _expected(options: Any, model: type[Configuration]) -> str:
    is_named = isinstance(options, Mapping) and all(isinstance(name, str) for name in options)
    shown = ", ".join(f"{name}={value!r}" for name, value in options.items()) if is_named else "..."
    found = f"the class {options.__name__}" if inspect.isclass(options) else f"a {type(options).__name__}"
    return f"{found}, expected {model.__name__}: give {model.__name__}({shown})"


def _in_python(message: str, model: type[Configuration], declared: Mapping[str, Any]) -> str:
    """Returns a message with the names of options in Python: `max_cost` for `--max-cost`."""
    flags = {option_flag(name, how): name for name, (_, how) in model.describe().items()}
    for name, kind in declared.items():
        flags |= {option_flag(name, each): name for each in get_args(kind) if isinstance(each, Argument)}
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", lambda found: flags.get(found[0], found[0]), message)
