"""The verbs and options that `fcconan` has, and whether a written command uses those and no others."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import typer
from cyclopts import App, CycloptsError

from fcconan.cli import COMMANDS, app


class NotACommandError(AssertionError):
    """A document shows a command that `fcconan` does not have."""


@cache
def tree() -> Any:
    """Returns the command of all commands that are made by typer."""
    from fcconan.oldcli import app as old

    return typer.main.get_command(old)


def leaf(words: Sequence[str]) -> tuple[Any, list[str]]:
    """Returns the verb that the words of a command lead to, and the words behind it.

    Raises:
        NotACommandError: There is no such verb.
    """
    for count in (2, 1):
        if " ".join(words[:count]) in COMMANDS:
            return moved(" ".join(words[:count])), list(words[count:])
    command, rest = tree(), list(words)
    while getattr(command, "commands", None) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name not in command.commands:
            raise NotACommandError(f"`fcconan {' '.join(words)}`: there is no verb `{name}`")
        command = command.commands[name]
    return command, rest


def moved(name: str) -> App:
    """Returns the command of a name of one or two words in `COMMANDS`."""
    group, _, verb = name.rpartition(" ")
    return (app[group] if group else app)[verb]


def options(command: Any) -> set[str]:
    """Returns the options of a verb, as they are written; `--filter` for `--filter.COLUMN`."""
    if isinstance(command, App):
        arguments = [*command.assemble_argument_collection(), *app.meta.assemble_argument_collection()]
        return {name for each in arguments for name in each.names if name.startswith("--")} | {"--help", "--debug"}
    names = {name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("-")}
    return names | {"--help", "-h"}


def all_options() -> set[str]:
    """Returns the options of all verbs together."""

    def walk(command: Any) -> Iterator[set[str]]:
        yield options(command)
        for each in getattr(command, "commands", {}).values():
            yield from walk(each)

    return set().union(*walk(tree()), *(options(moved(name)) for name in COMMANDS))


def is_verb(name: str) -> bool:
    """Returns whether a command has this name."""
    return name in COMMANDS or name in tree().commands


def mentioned(words: Sequence[str]) -> None:
    """Checks a command as prose mentions it, with or without its arguments.

    Raises:
        NotACommandError: It has no such verb or option.
    """
    command, rest = leaf(words)
    for word in rest:
        name = word.partition("=")[0]
        name = name.partition(".")[0] if isinstance(command, App) else name
        if name.startswith("--") and name not in options(command):
            raise NotACommandError(f"`fcconan {' '.join(words)}`: the verb has no option `{name}`")


def parsed(words: Sequence[str]) -> None:
    """Parses a whole command and runs nothing.

    Raises:
        NotACommandError: It cannot be parsed.
    """
    from typer.exceptions import TyperException

    command, rest = leaf(words)
    try:
        if isinstance(command, App):
            _, bound, _ = app.meta.parse_args(words, exit_on_error=False, print_error=False)
            app.parse_args(bound.args, exit_on_error=False, print_error=False)
        else:
            command.make_context("fcconan", rest)
    except CycloptsError as error:
        raise NotACommandError(f"`fcconan {' '.join(words)}`: {error}") from None
    except TyperException as error:
        raise NotACommandError(f"`fcconan {' '.join(words)}`: {error.format_message()}") from None
