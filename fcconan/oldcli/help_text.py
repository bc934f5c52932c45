"""Names, forms and ranges of values in help texts."""

import re
import typing
from pathlib import Path
from typing import Any, Literal

from fcconan.services import without_constraints

_FORMS = {int: "INTEGER", float: "FLOAT", str: "TEXT", Path: "PATH"}
_LARGEST = 100_000  # larger limits are technical and not shown
_RANGE = re.compile(r"\S+<=x\S*|x[<>]=\S+")  # as Typer writes it


def form_of(kind: Any) -> str | None:
    """Returns the form of a value that declares none; None where Typer lists the choices.

    Examples:
        >>> form_of(int), form_of(tuple[str, ...]), form_of(tuple[Literal["oak", "elm"], ...]), form_of(bool)
        ('INTEGER', 'TEXT', '<oak|elm>', None)
    """
    if typing.get_origin(kind) in (tuple, list):
        inner = without_constraints(typing.get_args(kind)[0])
        is_choice = typing.get_origin(inner) is Literal
        return f"<{'|'.join(map(str, typing.get_args(inner)))}>" if is_choice else form_of(inner)
    return _FORMS.get(kind)


def usage_of(argument: Any) -> str:
    """Returns a positional argument as the usage line names it: `DATASET`, `[PAPERS...]`."""
    name = (argument.metavar or argument.name.upper()).removesuffix("...") + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def record_of(parameter: Any, context: Any) -> tuple[str, str]:
    """Returns name and meaning of a parameter that is not hidden, as its line of the help has them."""
    name, meaning = parameter.get_help_record(context)
    if parameter.param_type_name == "argument":
        name = usage_of(parameter).strip("[]")
    text, bracket, notes = meaning.rpartition("  [")
    if bracket and parameter.param_type_name == "option":
        parts = [each for each in notes.removesuffix("]").split("; ") if not _RANGE.fullmatch(each)]
        parts += [shown] if (shown := _range(parameter.min, parameter.max)) else []
        meaning = f"{text}  [{'; '.join(parts)}]" if parts else text
    return name, meaning


def _range(low: float | None, high: float | None) -> str:
    if high is not None and high >= _LARGEST:
        high = None
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"at least {low:g}" if low is not None else f"at most {high:g}" if high is not None else ""
