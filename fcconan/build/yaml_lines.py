"""Reads YAML and remembers on which line each value stands, so that a message can name the line."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from fcconan.errors import InputError

Location = tuple[Hashable, ...]


class YamlFile:
    """A YAML file as plain data, with the line of every value.

    Attributes:
        path: The file.
        data: Its content as dicts, lists and scalars.
    """

    def __init__(self, path: Path) -> None:
        """Reads the file.

        Raises:
            InputError: The file is not UTF-8, not YAML, not a mapping, or says one key twice.
        """
        self.path = path
        self._lines: dict[Location, int] = {(): 1}
        try:
            node = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise InputError(f"{path}, line {line}: not valid YAML ({error.problem}); mend that line") from error
        if not isinstance(node, yaml.MappingNode):
            raise InputError(f"{path}, line 1: found no mapping, expected `key: value` lines at the top level")
        self.data: dict[str, Any] = self._plain(node, ())

    def line(self, location: Location) -> int:
        """Returns the line of the value at a location, or of the nearest value around it."""
        while location not in self._lines:
            location = location[:-1]
        return self._lines[location]

    def _plain(self, node: yaml.Node, location: Location) -> Any:
        self._lines.setdefault(location, node.start_mark.line + 1)
        constructor = yaml.constructor.SafeConstructor()
        if isinstance(node, yaml.MappingNode):
            plain: dict[Any, Any] = {}
            for key_node, value_node in node.value:
                key = constructor.construct_object(key_node)
                line = key_node.start_mark.line + 1
                if key in plain:
                    raise InputError(f"{self.path}, line {line}: key {key!r} stands twice; keep one of them")
                self._lines[(*location, key)] = line
                plain[key] = self._plain(value_node, (*location, key))
            return plain
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*location, index)) for index, item in enumerate(node.value)]
        return constructor.construct_object(node)
