"""The verbs and options that `fcconan` has, and whether a written command uses those and no others."""

from collections.abc import Sequence

from cyclopts import App, CycloptsError

from fcconan.cli import COMMANDS, GROUPS, app


class NotACommandError(AssertionError):
    """A document shows a command that `fcconan` does not have."""


def leaf(words: Sequence[str]) -> tuple[App, list[str]]:
    """Returns the verb that the words of a command lead to, and the words behind it.

    Raises:
        NotACommandError: There is no such verb.
    """
    for count in (2, 1):
        if (name := " ".join(words[:count])) in COMMANDS:
            return command_of(name), list(words[count:])
    if words and not words[0].startswith("-") and words[0] not in GROUPS:
        raise NotACommandError(f"`fcconan {' '.join(words)}`: there is no verb `{words[0]}`")
    if words and words[0] in GROUPS and words[1:] and not words[1].startswith("-"):
        raise NotACommandError(f"`fcconan {' '.join(words)}`: there is no verb `{words[1]}`")
    return app, list(words)


def command_of(name: str) -> App:
    """Returns the command of a name of one or two words in `COMMANDS`."""
    group, _, verb = name.rpartition(" ")
    return (app[group] if group else app)[verb]


def options(command: App) -> set[str]:
    """Returns the options of a verb, as they are written; `--filter` for `--filter.COLUMN`."""
    arguments = [*command.assemble_argument_collection(), *app.meta.assemble_argument_collection()]
    names = {name for each in arguments for name in each.names if name.startswith("--")}
    return names | {"--help", "--debug", "--version"}


def all_options() -> set[str]:
    """Returns the options of all verbs together."""
    return set().union(*(options(command_of(name)) for name in COMMANDS))


def is_verb(name: str) -> bool:
    """Returns whether a command has this name."""
    return name in COMMANDS or name in GROUPS


def mentioned(words: Sequence[str]) -> None:
    """Checks a command as prose mentions it, with or without its arguments.

    Raises:
        NotACommandError: It has no such verb or option.
    """
    command, rest = leaf(words)
    for word in rest:
        name = word.partition("=")[0].partition(".")[0]
        if name.startswith("--") and name not in options(command):
            raise NotACommandError(f"`fcconan {' '.join(words)}`: the verb has no option `{name}`")


def parsed(words: Sequence[str]) -> None:
    """Parses a whole command and runs nothing.

    Raises:
        NotACommandError: It cannot be parsed.
    """
    if leaf(words)[0] is app:
        return
    try:
        _, bound, _ = app.meta.parse_args(words, exit_on_error=False, print_error=False)
        app.parse_args(bound.args, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise NotACommandError(f"`fcconan {' '.join(words)}`: {error}") from None
