"""Prompt files: the messages that a model sees, with `{{variables}}` in the place of the texts."""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.data import YamlFile
from fcconan.errors import InputError
from fcconan.models import Messages

ROLES = ("system", "user", "assistant")
_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
# What is left of braces after all variables are taken out was meant as one.
_LEFT_OVER = re.compile(r"\{\{[^{}]{0,40}\}\}|\{\{\s*[A-Za-z_]\w*")


@dataclass(frozen=True)
class Prompt:
    """Messages with `{{variables}}`.

    Attributes:
        messages: Role and content of every message.
    """

    messages: tuple[tuple[str, str], ...]

    @property
    def variables(self) -> frozenset[str]:
        """The names of all variables."""
        return frozenset(name for _, content in self.messages for name in _VARIABLE.findall(content))

    @property
    def hash(self) -> str:
        """12 hexadecimal digits that change with the prompt."""
        return hashlib.sha256(json.dumps(self.messages).encode()).hexdigest()[:12]

    def filled(self, values: Mapping[str, str]) -> "Prompt":
        """Returns the prompt with some of its variables replaced for good; the others stay variables.

        Args:
            values: Texts by the names of variables. Braces in them do not become variables.
        """
        return Prompt(
            tuple(
                (
                    role,
                    _VARIABLE.sub(lambda found: inert(values[found[1]]) if found[1] in values else found[0], content),
                )
                for role, content in self.messages
            )
        )

    def render(self, variables: Mapping[str, str]) -> Messages:
        """Puts texts into the places of the variables. What stands in a text is never read as a variable.

        Raises:
            KeyError: A variable has no text; `check_variables` finds that before the first call.
        """
        return [
            {"role": role, "content": _VARIABLE.sub(lambda found: variables[found[1]], content)}
            for role, content in self.messages
        ]


def inert(text: str) -> str:
    """Returns a text in which no two opening braces touch, so that nothing in it is read as a variable."""
    return re.sub(r"\{(?=\{)", "{ ", text)


def load_prompt(path: Path, *, known: Collection[str], needed: Collection[str]) -> Prompt:
    """Loads a prompt file: a YAML list of entries with `role` and `content`.

    Args:
        path: The file.
        known: The variables that can be filled.
        needed: Those without which all items would get the same prompt.

    Raises:
        InputError: The file is no such list, or names a variable that is not known or lacks one that is needed.
    """
    file = YamlFile(path, top="list")
    messages = []
    for number, entry in enumerate(file.data):
        where = f"{path}, line {file.line((number,))}"
        if not isinstance(entry, dict) or set(entry) != {"role", "content"}:
            raise InputError(f"{where}: found {_shape(entry)}, expected an entry with `role` and `content`")
        if entry["role"] not in ROLES:
            raise InputError(f"{where}: the role is {entry['role']!r}, expected one of {', '.join(ROLES)}")
        if not isinstance(entry["content"], str) or not entry["content"].strip():
            raise InputError(f"{where}: the content is no text; write it after `content: |`")
        messages.append((entry["role"], entry["content"]))
    if not messages:
        raise InputError(f"{path}: the list of messages is empty; give one with `role` and `content`")
    prompt = Prompt(tuple(messages))
    _check_variables(prompt, path, known, needed)
    return prompt


def dump_prompt(messages: Messages) -> str:
    """Returns messages as the text of a prompt file, which reads as the same messages."""
    import yaml

    class Readable(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        # Outside double quotes PyYAML writes these marks as they are, and reads them back as something else.
        odd = any(mark in value for mark in "\r\x85\u2028\u2029\ufeff")
        return dumper.represent_scalar(
            "tag:yaml.org,2002:str", value, style='"' if odd else "|" if "\n" in value else None
        )

    Readable.add_representer(str, text)
    written: str = yaml.dump(messages, Dumper=Readable, sort_keys=False, allow_unicode=True, width=1_000_000)
    return written


def _check_variables(prompt: Prompt, path: Path, known: Collection[str], needed: Collection[str]) -> None:
    for role, content in prompt.messages:
        left = _LEFT_OVER.search(_VARIABLE.sub("", content))
        if left is not None:
            raise InputError(
                f"{path}: the {role} message has {left[0]!r}, which is no variable; write {{{{name}}}} with letters, "
                "digits and underscores"
            )
    unknown = sorted(prompt.variables - set(known))
    if unknown:
        raise InputError(f"{path}: there is no variable {', '.join(unknown)}; choose among {', '.join(sorted(known))}")
    missing = sorted(set(needed) - prompt.variables)
    if missing:
        raise InputError(f"{path}: the prompt does not show {', '.join(missing)}; put {{{{{missing[0]}}}}} into it")


def _shape(entry: Any) -> str:
    return f"the keys {', '.join(map(str, entry))}" if isinstance(entry, dict) else repr(entry)[:60]
