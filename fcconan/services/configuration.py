"""Configurations of services: each option is declared once, as a field of a model.

The Python signature, the options of the command, and the keys of `--config FILE.yaml` follow
from the model. The inputs of a service precede the configuration in its signature and are declared by `argument`.
"""

import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from fcconan.data import read_yaml
from fcconan.errors import InputError

Names = Callable[[], Iterable[str]]
Role = Literal["read", "folder", "release", "write", "model"]
_OPTIONS = "\n\nOptions:\n"
LARGEST = 1_000_000_000  # of numbers whose option declares no upper bound


@dataclass(frozen=True)
class Option:
    """How a field of a configuration appears on the command line.

    Attributes:
        flag: Its spelling, such as `--seed`; None for the name of the field with dashes.
        short: A short spelling, such as `-n`.
        metavar: The form of a value in the help, such as `NAME=COLUMN`.
        group: The section of the help; None for the first one.
        rare: Whether the help leaves it out. It is accepted and has a place in the reference.
        complete: Returns the values that the shell completes, for values that are not a closed list.
        role: How a file or folder that it names is used; see `Argument`.
    """

    flag: str | None = None
    short: str | None = None
    metavar: str | None = None
    group: str | None = None
    rare: bool = False
    complete: Names | None = None
    role: Role | None = None

    def __call__(self, schema: dict[str, Any]) -> None:
        """Adds nothing to the JSON schema of the field: pydantic accepts extra data of a field in this form."""


@dataclass(frozen=True)
class Argument:
    """How a parameter of a service outside its configuration appears on the command line.

    Attributes:
        help: One sentence or phrase.
        flag: Its spelling as an option, such as `--out`; None for a positional argument.
        short: A short spelling of the option, such as `-o`.
        many: Whether several values are accepted.
        path: Whether the value is a path; otherwise it is text, such as the name of a dataset.
        metavar: As in `Option`.
        complete: As in `Option`.
        role: How the file or folder is used: it is read (`read`), all its files are read (`folder`), it is a release
            folder, which holds nothing else (`release`), it is a file that the command writes (`write`), or the value
            names a language model, which may be a file of responses or a folder (`model`).
        required: Whether the command demands a value even though the parameter has a default.
        rare: As in `Option`.
    """

    help: str
    flag: str | None = None
    short: str | None = None
    many: bool = False
    path: bool = False
    metavar: str | None = None
    complete: Names | None = None
    role: Role | None = None
    required: bool = False
    rare: bool = False


argument = Argument


def names_by(function: str) -> Names:
    """Returns a function that imports and calls a function of another package, for shell completion.

    Examples:
        >>> names_by("fcconan.data.recipe_names")()[:3]
        ['cn-ranking', 'conan', 'cseval']
    """
    module, _, name = function.rpartition(".")
    return lambda: getattr(import_module(module), name)()


def output(help: str, *, role: Role = "release", required: bool = False) -> Argument:
    """Declares `--out`: a folder, or with the role `write` a file; see `Argument`."""
    metavar = "FILE" if role == "write" else None
    return Argument(help, flag="--out", short="-o", path=True, metavar=metavar, role=role, required=required)


def option(
    default: Any = PydanticUndefined,
    *,
    help: str,
    flag: str | None = None,
    short: str | None = None,
    metavar: str | None = None,
    group: str | None = None,
    rare: bool = False,
    complete: Names | None = None,
    role: Role | None = None,
    **constraints: Any,
) -> Any:
    """Declares an option of a configuration.

    Args:
        default: The default; without one, the option is required.
        help: One sentence or phrase for the help and the reference.
        flag: As in `Option`, and so are the following ones.
        short: See above.
        metavar: See above.
        group: See above.
        rare: See above.
        complete: See above.
        role: See above.
        constraints: Those of `pydantic.Field`: `ge`, `gt`, `le`, `lt`, `min_length`, `pattern`. A number needs a lower
            bound; its upper bound is `LARGEST` where none is given.
    """
    if constraints.keys() & {"ge", "gt"} and not constraints.keys() & {"le", "lt"}:
        constraints["le"] = LARGEST
    how = Option(flag, short, metavar, group, rare, complete, role)
    extra: Any = how
    return Field(default, description=help, json_schema_extra=extra, **constraints)


class ConfigurationError(InputError):
    """A configuration with values that cannot be used.

    Attributes:
        error: The errors that pydantic found.
    """

    def __init__(self, model: type["Configuration"], error: ValidationError) -> None:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        message = error_message(first)
        if first["type"] == "extra_forbidden" and (near := get_close_matches(place, model.model_fields, n=1)):
            message += f"; did you mean {near[0]!r}?"
        super().__init__(f"{model.__name__}: {place + ': ' if place else ''}{message}")
        self.error = error


class Configuration(BaseModel):
    """The options of a service. Fields are declared by `option`; unknown names are refused.

    Numbers are finite, and each has a lower and an upper bound.

    Raises:
        ConfigurationError: A value cannot be used.

    Examples:
        >>> class SampleOptions(Configuration):
        ...     size: int = option(100, help="Number of rows.", ge=1, le=1_000)
        >>> SampleOptions(size=20)
        SampleOptions(size=20)
        >>> try:
        ...     SampleOptions(size=0)
        ... except ConfigurationError as error:
        ...     print(error)
        SampleOptions: size: Input should be greater than or equal to 1 (found 0)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigurationError(type(self), error) from None

    # Without this mark, pydantic also calls the constructor above for nested configurations and files, and errors lose
    # their location within the file.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __init_subclass__(cls, **options: Any) -> None:
        """Leaves the options of a class to the following method, which pydantic calls when the fields are known."""
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(cls, group: str | None = None, **options: Any) -> None:
        """Adds the options to the documentation, and the group to those that name none.

        Args:
            group: The section of the help for all options of the class that name no other.
            options: Those of pydantic.
        """
        for name, field in cls.model_fields.items():
            if group is not None and name in cls.__annotations__ and find_option(field).group is None:
                extra: Any = replace(find_option(field), group=group)
                field.json_schema_extra = extra
        listed = "\n".join(f"    {name}: {field.description}" for name, (field, _) in cls.describe().items())
        cls.__doc__ = f"{cleandoc(cls.__doc__ or '')}{_OPTIONS}{listed}\n"

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Returns the options that are not the defaults."""
        return [(name, value) for name, value in super().__repr_args__() if name is None or self.is_given(name)]

    def is_given(self, name: str) -> bool:
        """Returns whether an option differs from its default."""
        return bool(getattr(self, name) != type(self).model_fields[name].get_default(call_default_factory=True))

    def refuse(self, *names: str, why: str) -> None:
        """Refuses options that have no effect together with others.

        Args:
            names: The options.
            why: The reason, for the message.

        Raises:
            InputError: One of them differs from its default.
        """
        described = self.describe()
        given = [option_flag(name, described[name][1]) for name in names if self.is_given(name)]
        if given:
            raise InputError(f"{', '.join(given)}: {why}; leave {'it' if len(given) == 1 else 'them'} out")

    @field_validator("*", mode="before")
    @classmethod
    def _is_no_switch(cls, value: Any, info: Any) -> Any:
        """Refuses true and false as numbers, which pydantic reads as 1 and 0."""
        if isinstance(value, bool) and value_type(cls.model_fields[info.field_name]) in (int, float):
            raise ValueError("Input should be a valid number")
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _is_listed(cls, value: Any, info: Any) -> Any:
        """Accepts a single name or path where several are allowed."""
        several = get_origin(cls.model_fields[info.field_name].annotation) is tuple
        return (value,) if several and isinstance(value, str | Path) else value

    @classmethod
    def describe(cls) -> dict[str, tuple[FieldInfo, Option]]:
        """Returns field and option by name: first options without a group, then group by group."""
        found = {name: (field, find_option(field)) for name, field in cls.model_fields.items()}
        groups = list(dict.fromkeys([None, *(how.group for _, how in found.values())]))
        return dict(sorted(found.items(), key=lambda each: groups.index(each[1][1].group)))

    @classmethod
    def from_values(cls, given: Mapping[str, Any], file: dict[str, Any] | None = None) -> Self:
        """Merges values with those of a file, which they override.

        Args:
            given: Values by name of the field.
            file: Further values.

        Raises:
            InputError: A value of the file cannot be used, or the file has an unknown key; the message names the line.
            ConfigurationError: A given value cannot be used, or a required one is missing.
        """
        data = file or {}
        try:
            return cls.model_validate({**data, **given})
        except ValidationError as error:
            raise ConfigurationError(cls, error) from error


Model = TypeVar("Model", bound=Configuration)


def open_configuration(path: Path, has_subset: bool = False) -> dict[str, Any]:
    """Returns the content of a configuration file.

    Args:
        path: The file.
        has_subset: Whether there is an option `--subset`, the former `--config`.

    Raises:
        InputError: The file does not exist, or is not a mapping in YAML.
    """
    if not path.exists():
        hint = ", or the part of a dataset by --subset" if has_subset and not path.suffix else ""
        raise InputError(f"configuration file not found: {path}; give a YAML file{hint}")
    content: dict[str, Any] = read_yaml(path)
    return content


def find_option(field: FieldInfo) -> Option:
    """Returns how a field appears on the command line."""
    extra: Any = field.json_schema_extra
    return extra if isinstance(extra, Option) else Option()


def option_flag(name: str, how: Option | Argument) -> str:
    """Returns the spelling of an option."""
    return how.flag or "--" + name.replace("_", "-")


def value_type(field: FieldInfo) -> Any:
    """Returns the type of a field's values, without `None`."""
    kinds = [each for each in typing.get_args(field.annotation) if each is not type(None)]
    is_optional = len(kinds) < len(typing.get_args(field.annotation))
    return kinds[0] if is_optional and len(kinds) == 1 else field.annotation


def without_constraints(kind: Any) -> Any:
    """Returns the type within `Annotated`."""
    return typing.get_args(kind)[0] if typing.get_origin(kind) is Annotated else kind


def bounds(field: FieldInfo) -> tuple[float | None, float | None]:
    """Returns the lowest and the highest value of a number, where they are values themselves."""
    lowest = next((each.ge for each in field.metadata if isinstance(each, Ge)), None)
    highest = next((each.le for each in field.metadata if isinstance(each, Le)), None)
    return typing.cast("tuple[float | None, float | None]", (lowest, highest))


def error_message(error: Any) -> str:
    """Returns the message of one of pydantic's errors, with the value that was found."""
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if error["type"] in ("missing", "extra_forbidden", "value_error", "assertion_error"):
        return message
    return f"{message.partition(', unable to parse')[0]} (found {repr(error['input'])[:80]})"
