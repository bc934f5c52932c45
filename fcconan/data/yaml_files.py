"""Reads YAML with the line number of each value, for error messages."""

import difflib
import re
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ValidationError

from fcconan.errors import InputError

Location = tuple[Hashable, ...]
_HALF = re.compile(r"[\ud800-\udfff]")
_UNFOLDED = 10_000  # maximum number of values that aliases repeat


@lru_cache(maxsize=128)  # PyYAML is slow, and runs read the same tasks, suites and recipes many times
def _composed(text: str) -> yaml.Node | None:
    return yaml.compose(text, Loader=yaml.SafeLoader)


class YamlFile:
    """A YAML file as plain data, with the line of every value.

    Attributes:
        path: The file.
        data: Its content as dicts, lists and scalars.
    """

    def __init__(self, path: Path, top: Literal["mapping", "list"] = "mapping") -> None:
        """Reads the file.

        Args:
            path: The file.
            top: Required type of the top level.

        Raises:
            InputError: The file is not UTF-8, not one document of YAML, not a mapping (or list), has a duplicate key,
                or its aliases repeat too many values.
        """
        self.path = path
        self._lines: dict[Location, int] = {(): 1}
        self._n_values = self._most_values = 0
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file: give a YAML file")
        try:
            text = path.read_text(encoding="utf-8")
            self._most_values = _UNFOLDED + len(text)
            node = _composed(text)
            wanted = {"mapping": yaml.MappingNode, "list": yaml.SequenceNode}[top]
            data = self._plain(node, ()) if isinstance(node, wanted) else None
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise InputError(f"{path}, line {line}: not valid YAML ({error.problem}); correct the line") from error
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            found = f"character U+{error.character:04X} is not allowed"
            raise InputError(f"{path}, line {line}: not valid YAML ({found}); correct the line") from error
        except RecursionError as error:
            raise InputError(f"{path}: nested too deeply, or an anchor that holds itself; write it out") from error
        if data is None:
            lines = {"mapping": "`key: value` lines", "list": "`- ` entries"}[top]
            raise InputError(f"{path}, line 1: found no {top}, expected {lines} at the top level")
        self.data: Any = data

    def line(self, location: Location) -> int:
        """Returns the line of the value at a location, or of the nearest value around it."""
        while location not in self._lines:
            location = location[:-1]
        return self._lines[location]

    def _plain(self, node: yaml.Node, location: Location) -> Any:
        self._lines.setdefault(location, node.start_mark.line + 1)
        self._n_values += 1
        if self._n_values > self._most_values:
            raise InputError(f"{self.path}: its aliases (`*name`) repeat too many values; write them out")
        if isinstance(node, yaml.MappingNode):
            plain: dict[Any, Any] = {}
            for key_node, value_node in node.value:
                line = key_node.start_mark.line + 1
                if not isinstance(key_node, yaml.ScalarNode):
                    raise InputError(f"{self.path}, line {line}: found a block as a key, expected a plain word")
                key = self._scalar(key_node)
                if key in plain:
                    raise InputError(f"{self.path}, line {line}: key {key!r} occurs twice; remove one of them")
                self._lines[(*location, key)] = line
                plain[key] = self._plain(value_node, (*location, key))
            return plain
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*location, index)) for index, item in enumerate(node.value)]
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> Any:
        where = f"{self.path}, line {node.start_mark.line + 1}"
        kind = node.tag.rpartition(":")[2]
        if kind in ("int", "float") and ":" in node.value:
            raise InputError(
                f"{where}: YAML takes {node.value} for a number of base 60; put it in quotes if it is text"
            )
        try:
            value = yaml.constructor.SafeConstructor().construct_object(node)
        except (ValueError, KeyError, AttributeError) as error:  # the last for a `!!timestamp` that is none
            raise InputError(
                f"{where}: {node.value!r} is not a valid {kind}; put it in quotes if it is text"
            ) from error
        if isinstance(value, str) and _HALF.search(value):
            raise InputError(f"{where}: {_HALF.findall(value)[0]!a} is half a character; correct the line")
        return value


def explain_error(
    file: YamlFile, error: ValidationError, *, whole: str, known_keys: Callable[[Location], Iterable[str]]
) -> str:
    """Returns a one-line message about the first error, with its line number; unknown keys come first.

    Args:
        file: The validated file.
        error: Errors of pydantic.
        whole: Name of the file for errors without a key, such as `the recipe`.
        known_keys: Function that returns the known keys at a location.
    """
    first, *others = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    location = first["loc"]
    where = ".".join(str(part) for part in location if part != "[key]") or whole
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(location[-1]), list(known_keys(location)), n=1)
        message = f"unknown key {where!r}; " + (f"did you mean {near[0]!r}?" if near else "remove it")
    else:
        key, value = location[-1] if location else None, first["input"]
        if first["type"] == "list_type" and isinstance(key, str) and isinstance(value, str | int | float):
            wrong = f"expected a list, such as `{key}: [{' '.join(str(value).split())[:80]}]`"
        else:
            wrong = first["msg"].removeprefix("Value error, ")
        message = f"{where}: {wrong}"
        if first["type"] != "missing" and not isinstance(first["input"], dict | list):
            message += f" (found {repr(first['input'])[:80]})"
    return f"{file.path}, line {file.line(location)}: {message}" + (f" (and {len(others)} more)" if others else "")
