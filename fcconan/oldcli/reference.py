"""The option reference of all commands, and the JSON schema of a command's configuration file.

python -m fcconan.oldcli.reference > docs/options.md
python -m fcconan.oldcli.reference build > build.schema.json
"""

import copy
import json
import sys
from collections.abc import Iterator
from typing import Any

import typer

from fcconan.errors import InputError
from fcconan.oldcli.help_text import record_of

_HEAD = """# Options

All commands with their arguments and options. This page is generated from the code by `make schema`.

Options of a command with `--config` can also be written into a YAML file. The key is the name of the option with
underscores for dashes, unless the table names another key. Options that are typed override those of the file. Rare
options are left out of `--help`. `python -m fcconan.oldcli.reference COMMAND` prints the JSON schema of the file, for
editors.
"""


def reference() -> str:
    """Returns the page in Markdown."""
    parts = [_HEAD]
    for words, command, context in _commands():
        parts.append(f"## fcconan {words}\n\n{_sentence(command)}\n")
        rows = [_row(parameter, command, context) for parameter in command.params]
        if rows:
            parts.append("| argument or option | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def configuration_schema(words: str) -> str:
    """Returns the JSON schema of the configuration file of a command, as text.

    Args:
        words: The command, such as `build` or `judge rate`.

    Raises:
        InputError: The command does not exist, or it has no configuration file.

    Examples:
        >>> sorted(json.loads(configuration_schema("build"))["properties"])
        ['jobs', 'labels_only', 'tier_rule']
    """
    from fcconan.services import options_schema

    found = {name: command for name, command, _ in _commands()}
    if words not in found:
        raise InputError(f"found no command {words!r}: choose among {', '.join(found)}")
    model = _model(found[words])
    if model is None:
        raise InputError(f"fcconan {words} takes no configuration file")
    return json.dumps(options_schema(model), indent=2) + "\n"


def _commands() -> Iterator[tuple[str, Any, Any]]:
    """Yields words, command and context of every command, without groups."""
    from fcconan.oldcli import app

    def walk(words: tuple[str, ...], command: Any, parent: Any) -> Iterator[tuple[str, Any, Any]]:
        context = typer.Context(command, info_name=words[-1] if words else "fcconan", parent=parent)
        if not hasattr(command, "commands"):
            yield " ".join(words), command, context
        for name, each in getattr(command, "commands", {}).items():
            yield from walk((*words, name), each, context)

    return walk((), typer.main.get_command(app), None)


def _sentence(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


def _row(parameter: Any, command: Any, context: Any) -> str:
    shown = copy.copy(parameter)
    shown.hidden = False
    name, meaning = record_of(shown, context)
    notes = []
    model = _model(command)
    if model is not None and parameter.name in model.model_fields:
        from fcconan.services import find_option

        how = find_option(model.model_fields[parameter.name])
        if how.flag is not None:
            notes.append(f"Key: `{parameter.name}`.")
        if how.rare:
            notes.append("Rare.")
    whole = " ".join([meaning.replace("  [", " ["), *notes])
    return f"| `{_cell(name)}` | {_cell(whole)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _model(command: Any) -> Any:
    declared = getattr(command, "declared", None)
    return None if declared is None else declared.interface.model


if __name__ == "__main__":
    print(configuration_schema(" ".join(sys.argv[1:])) if sys.argv[1:] else reference(), end="")
