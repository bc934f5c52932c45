"""The verbs and options that `fcconan` has, and whether a written command uses those and no others."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import typer
from cyclopts import App, CycloptsError

from fcconan import cli


class NotACommandError(AssertionError):
    """A document shows a command that `fcconan` does not have."""


@cache
def tree() -> Any:
    """Returns the command of all commands."""
    from fcconan.oldcli import app

    return typer.main.get_command(app)


def leaf(words: Sequence[str]) -> tuple[Any, list[str]]:
    """Returns the verb that the words of a command lead to, and the words behind it.

    Raises:
        NotACommandError: There is no such verb.
    """
    command, rest = tree(), list(words)
    if rest and rest[0] in cli.COMMANDS:
        return cli.app[rest[0]], rest[1:]
    while getattr(command, "commands", None) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name not in command.commands:
            raise NotACommandError(f"`fcconan {' '.join(words)}`: there is no verb `{name}`")
        command = command.commands[name]
    return command, rest


def options(command: Any) -> set[str]:
    """Returns the options of a verb, as they are written."""
    if isinstance(command, App):
        given = (*command.assemble_argument_collection(), *cli.app.meta.assemble_argument_collection())
        names = {name for each in given for name in each.names if name.startswith("--")}
        return {name for name in names if not name.startswith(("--no-", "--empty-"))} | {"--help", "-h"}
    names = {name for each in command.params for name in (*each.opts, *each.secondary_opts) if name.startswith("-")}
    return names | {"--help", "-h"}


def all_options() -> set[str]:
    """Returns the options of all verbs together."""

    def walk(command: Any) -> Iterator[set[str]]:
        yield options(command)
        for each in getattr(command, "commands", {}).values():
            yield from walk(each)

    return set().union(*walk(tree()), *(options(cli.app[name]) for name in cli.COMMANDS))


def mentioned(words: Sequence[str]) -> None:
    """Checks a command as prose mentions it, with or without its arguments.

    Raises:
        NotACommandError: It has no such verb or option.
    """
    command, rest = leaf(words)
    for word in rest:
        name = re.split("[=.]", word)[0]  # --filter.corpus conan
        if name.startswith("--") and name not in options(command):
            raise NotACommandError(f"`fcconan {' '.join(words)}`: the verb has no option `{name}`")


def parsed(words: Sequence[str]) -> dict[str, Any]:
    """Parses a whole command and runs nothing.

    Returns:
        The value of every parameter.

    Raises:
        NotACommandError: It cannot be parsed.
    """
    from typer.exceptions import TyperException

    command, rest = leaf(words)
    if isinstance(command, App):
        try:
            _, outputs, _ = cli.app.meta.parse_args([*words], exit_on_error=False, print_error=False)
            _, given, _ = cli.app.parse_args(outputs.args, exit_on_error=False, print_error=False)
        except CycloptsError as error:
            raise NotACommandError(f"`fcconan {' '.join(words)}`: {error}") from None
        return dict(given.arguments)
    try:
        context = command.make_context("fcconan", rest)
    except TyperException as error:
        raise NotACommandError(f"`fcconan {' '.join(words)}`: {error.format_message()}") from None
    parameters: dict[str, Any] = context.params
    return parameters
