"""docs/commands.yaml agrees with the command line: each command and option once, each name with one meaning."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import typer
import yaml

from fcconan import cli
from fcconan.cli import app
from fcconan.cli.command import Command
from fcconan.cli.parameters import REQUIRED

TABLE = Path(__file__).parents[2] / "docs" / "commands.yaml"
VISIBLE = 12  # options of a command in --help, besides the common ones
TYPES = {"bool", "int", "float", "str", "path", "choice", "table"}
VOCABULARY = {
    *(
        "flag",
        "short",
        "type",
        "choices",
        "form",
        "complete",
        "range",
        "open",
        "unit",
        "default",
        "help",
        "rare",
        "new",
    ),
    *("many", "was", "was_default", "value_change", "successors", "terminal_only"),
}
USE = {
    *("many", "required", "choices", "form", "range", "open", "default", "because", "help", "rare", "new"),
    *("was", "was_default", "value_change", "changes_result", "successors"),
}
HEAD = {"function", "service", "config", "panel"}
COMMAND = {"head", "arguments", "groups", "without", "new", "options", "removed"}
Option = dict[str, Any]


class _Loader(yaml.SafeLoader):
    """Refuses repeated keys, of which YAML would take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        assert len(keys) == len(set(keys)), [key for key, times in Counter(keys).items() if times > 1]
        return super().construct_mapping(node, deep)


TREE: dict[str, Any] = yaml.load(TABLE.read_text(encoding="utf-8"), Loader=_Loader)
OPTIONS, GROUPS, COMMANDS = TREE["options"], TREE["groups"], TREE["commands"]


def _flags(name: str) -> list[str]:
    return str(OPTIONS[name].get("flag", "--" + name.replace("_", "-"))).split("/")


def _resolved(command: dict[str, Any]) -> dict[str, Option]:
    """Returns the options of a command by meaning: those of its groups, then its own, with all that is inherited."""
    members = [name for group in command["groups"] for name in GROUPS[group]]
    own = command.get("options") or {}
    found = {}
    for name in [*(name for name in members if name not in command.get("without", ())), *own]:
        use = own.get(name) or {}
        new = {"new": True} if name in command.get("new", ()) else {}
        # A new default is the old one, too, unless the table says otherwise.
        inherited = {key: value for key, value in OPTIONS[name].items() if key != "was_default" or "default" not in use}
        found[name] = inherited | new | use
    return found


def _default(option: Option, *, was: bool = False) -> object:
    standard = False if option["type"] == "bool" else None
    default = option.get("default", standard)
    return option.get("was_default", default) if was else default


def _spellings(name: str, option: Option) -> tuple[list[str], list[str]]:
    return _flags(name), [flag for flags in option.get("was", ()) for flag in flags.split("/")]


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, below in getattr(command, "commands", {}).items():
        yield from _leaves(below, (*path, name))
    if not hasattr(command, "commands"):
        yield " ".join(path), command


APP = dict(_leaves(typer.main.get_command(app)))


def _parameters(name: str, kind: str) -> list[Any]:
    return [each for each in APP[name].params if each.param_type_name == kind and each.name != "help"]


def _is_moved(name: str) -> bool:
    """Says whether a command has its new options, as those of services have."""
    return isinstance(getattr(APP[name], "declared", None), Command)


def _older(name: str) -> set[str]:
    """Returns the older spellings that a command of a service accepts, or refuses with a note."""
    return {*APP[name].declared.parameters.renamed, *APP[name].declared.removed} if _is_moved(name) else set()


def test_every_command_is_in_the_table() -> None:
    assert set(APP) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_in_its_table_once(name: str) -> None:
    options, moved = _resolved(COMMANDS[name]), _is_moved(name)
    spellings = {each: _spellings(each, option) for each, option in options.items()}
    removed = set(COMMANDS[name].get("removed", {}))
    met: set[str] = set() if not moved or APP[name].declared.detailed else {"verbose"}
    current = _older(name)
    switches = {f"--no-{flag.removeprefix('--')}" for new, _ in spellings.values() if len(new) == 1 for flag in new}
    for parameter in _parameters(name, "option"):
        for flag in [each for each in (*parameter.opts, *parameter.secondary_opts) if each.startswith("--")]:
            if moved and flag in switches:  # the default of a switch, which the help does not show
                continue
            current.add(flag)
            if flag in removed:
                continue
            entries = [each for each, (new, old) in spellings.items() if flag in new or flag in old]
            if moved and flag in parameter.secondary_opts and not entries:
                continue  # every switch of a converted command has a generated `--no-` form
            before = [each for each in entries if not options[each].get("new")]
            assert len(before) <= 1 <= len(entries), (flag, entries)
            met.update(each for each in entries if flag in _flags(each) or not moved)
    # A command has `--verbose` and `--force` only where there is more to print, or something to protect.
    lacking = [
        each
        for each, option in options.items()
        if each not in met and (moved or not option.get("new")) and each not in ("verbose", "force")
    ]
    assert not lacking
    old = {flag for each, (_, flags) in spellings.items() for flag in flags if not options[each].get("new")}
    if (declared := getattr(APP[name], "declared", None)) is not None:
        current |= {*declared.parameters.renamed, *declared.removed, *declared.ignored}
    assert not (removed | old) - current, "an old spelling that no option has"
    assert len(_parameters(name, "argument")) == len(COMMANDS[name].get("arguments", ()))


@pytest.mark.parametrize("name", COMMANDS)
def test_values_of_an_option_are_those_of_the_command(name: str) -> None:
    options, moved = _resolved(COMMANDS[name]), _is_moved(name)
    for parameter in _parameters(name, "option"):
        for meaning, option in options.items():
            new, old = _spellings(meaning, option)
            flags = new if moved else [] if option.get("new") else old or new
            if not {*parameter.opts, *parameter.secondary_opts} & {*flags}:
                continue
            default = str(parameter.default) if isinstance(parameter.default, Path) else parameter.default
            if isinstance(default, list | tuple):  # the table gives the only value of such a list
                default = default[0] if default else None
            assert default == _default(option, was=not moved), meaning
            required = bool(parameter.required) or REQUIRED in (parameter.help or "")  # the file of options may have it
            assert required == option.get("required", False), meaning
            assert not moved or bool(parameter.hidden) == option.get("rare", False), meaning
            if not moved and "value_change" in option:
                continue
            assert bool(parameter.multiple) == option.get("many", False), meaning
            info = parameter.type_descriptor.parameter_info
            allowed = option.get("range", (None, None))
            for limit, least in zip((info.min, info.max), allowed, strict=True):
                # Services check the other limits today. Where the table sets none, a technical one is allowed.
                assert limit in (None, least) or (moved and least is None), meaning
            annotation = str(parameter.type_descriptor.annotation)
            plain = "" if "Literal" in annotation else annotation  # whose values may contain the name of a type
            kind = next((each for each in ("bool", "int", "float", "Path") if each in plain), "str")
            like = {"path": "Path", "choice": "str", "table": "str"}.get(option["type"], option["type"])
            assert kind == like or {kind, option["type"]} <= {"str", "Path", "table", "path"}, (meaning, annotation)


def _values(kind: Any) -> list[Any]:
    """Returns the values of a `Literal`, also within a list or with None."""
    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [value for each in get_args(kind) for value in _values(each)]


@pytest.mark.parametrize("name", COMMANDS)
def test_choices_are_those_of_the_model(name: str) -> None:
    fields = getattr(APP[name].declared.interface.model, "model_fields", {})
    for meaning, option in _resolved(COMMANDS[name]).items():
        found = _values(fields[meaning].annotation) if meaning in fields else []
        assert found == option.get("choices", []), meaning


def test_each_flag_has_one_meaning() -> None:
    flags = Counter(flag for name in OPTIONS for flag in (*_flags(name), *_short(name)))
    assert not [flag for flag, times in flags.items() if times > 1]
    helps = Counter(option["help"] for option in OPTIONS.values())
    assert not [text for text, times in helps.items() if times > 1]


def _short(name: str) -> list[str]:
    return [OPTIONS[name]["short"]] if "short" in OPTIONS[name] else []


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_well_formed(name: str) -> None:
    option = OPTIONS[name]
    assert not set(option) - VOCABULARY
    assert option["type"] in TYPES
    assert name.isidentifier()
    assert option["help"].endswith(".")
    if "choices" in option:
        assert option["type"] == "choice"
        assert option.get("default") in (None, *option["choices"])
    lowest, highest = option.get("range", (None, None))
    default = option.get("default")
    assert default is None or lowest is None or default >= lowest
    assert default is None or highest is None or default <= highest
    assert any(name in _resolved(command) for command in COMMANDS.values()), "no command has it"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_well_formed(name: str) -> None:
    command = COMMANDS[name]
    own, options = command.get("options") or {}, _resolved(command)
    assert not set(command) - COMMAND
    assert set(command["head"]) == HEAD
    assert command["head"]["panel"] in TREE["panels"]
    assert set(command.get("arguments", ())) <= set(TREE["arguments"])
    members = {each for group in command["groups"] for each in GROUPS[group]}
    assert set(command.get("without", ())) <= members - set(own)
    assert set(command.get("new", ())) <= set(options)
    for meaning, use in own.items():
        assert not set(use or {}) - USE, meaning
        assert ("default" in (use or {})) == ("because" in (use or {})), f"{meaning}: a default of its own has a reason"
    for meaning, option in options.items():
        assert option["type"] != "choice" or option.get("choices"), meaning
        changed = _default(option) != _default(option, was=True)
        assert not option.get("changes_result") or changed, meaning
    current = {flag for each in options for flag in _flags(each)}
    for meaning, option in options.items():
        for flag in set(_spellings(meaning, option)[1]) & current - set(_flags(meaning)):
            assert len(option.get("successors", ())) > 1, f"{flag} of {meaning} is the flag of another option"
    shown = [each for each, option in options.items() if each not in GROUPS["common"] and not option.get("rare")]
    assert len(shown) <= VISIBLE, shown


@pytest.mark.parametrize("name", COMMANDS)
def test_the_head_of_a_command_is_true(name: str) -> None:
    head, interface = COMMANDS[name]["head"], APP[name].declared.interface
    assert interface.service.__name__ == head["function"]
    assert interface.service.__module__ == f"fcconan.services.{head['service']}"
    assert (interface.model and interface.model.__name__) == head["config"]
    panels = {verb.COMMAND.name: panel for panel, verbs in cli.COMMANDS.items() for verb in verbs}
    assert head["panel"] == panels.get(name, "Campaigns and judges")


def test_functions_are_named_once_and_unlike_their_modules() -> None:
    heads = [command["head"] for command in COMMANDS.values()]
    for key in ("function", "service", "config"):
        assert key == "service" or len({head[key] for head in heads}) == len(heads), key
    assert not {head["function"] for head in heads} & {head["service"] for head in heads}
    assert all(head["config"] is None or head["config"].endswith("Options") for head in heads)


def test_members_of_groups_have_one_default_but_for_known_exceptions() -> None:
    exceptions = set()
    for group, members in GROUPS.items():
        assert set(members) <= set(OPTIONS)
        assert len(members) == len(set(members)), group
        users = [command for command in COMMANDS.values() if group in command["groups"]]
        assert len(users) > 1, f"{group}: a group of one command"
        for command in users:
            own = command.get("options") or {}
            exceptions |= {name for name in members if "default" in (own.get(name) or {})}
    # A seed of a campaign or preset, folders of commands that need no decision, a prompt of either kind, and the
    # intervals of some fifty raters.
    assert exceptions == {"seed", "out", "comparison_format", "resamples"}
