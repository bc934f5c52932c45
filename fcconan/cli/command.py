"""A command of a service: its options follow from the service's signature and configuration.

The service is imported when the command is used, so that `fcconan --help` stays quick.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.cli.parameters import Interface, Parameters

COMMON = "Input and output"
CONFIG, JSON, PAGE, VERBOSE, FORCE = "config", "json_file", "report", "verbose", "force"


@dataclass(frozen=True, eq=False)
class Command:
    """A command of the command line.

    Attributes:
        name: Its name.
        help: One sentence; the commands are listed with it.
        service: Module and name of the function, such as `fcconan.services.build`.
        example: A whole command.
        show: Prints the result; its second argument is true with `--verbose`.
        page: Writes the result as a page; the command then has `--report FILE`.
        detailed: Whether `--verbose` prints more than the answer.
        protected: Whether the file that the command writes replaces an existing one with `--force` only.
        resumes: Returns whether an existing file is an earlier output of the command, which it continues.
        json: Whether there is `--json FILE`.
        renamed: Older spelling -> option, for options that each command has.
        removed: Older spelling -> the options that took its place, for spellings that had two meanings.
        ignored: Older switch -> the reason for which it has no effect.
        companions: Returns the files that are written next to a file of results, by the name of each in messages.
        keywords: Further arguments of the service, such as `progress`.
    """

    name: str
    help: str
    service: str
    example: str
    show: Callable[[Any, bool], None]
    page: Callable[[Any, Path], None] | None = None
    detailed: bool = False
    protected: bool = False
    resumes: Callable[[Path], bool] = lambda path: False
    json: bool = True
    renamed: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    ignored: Mapping[str, str] = field(default_factory=dict)
    companions: Callable[[Path], Mapping[str, Path]] = lambda path: {}
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def add_to(self, app: typer.Typer, panel: str | None = None) -> None:
        """Adds the command to an application, in a section of its help."""

        class Declared(_ServiceCommand):
            declared = self

        app.command(self.name, cls=Declared, help=self.help, epilog=f"Example: {self.example}", rich_help_panel=panel)(
            _without_parameters
        )

    @cached_property
    def interface(self) -> "Interface":
        """What the service takes."""
        from fcconan.cli.parameters import interface_of

        module, _, function = self.service.rpartition(".")
        return interface_of(getattr(import_module(module), function))

    @cached_property
    def parameters(self) -> "Parameters":
        """The parameters of the command."""
        from fcconan.cli.parameters import Parameters

        interface = self.interface
        found = Parameters()
        for name, declared in interface.arguments.items():
            required = name in interface.required
            found.add_argument(name, declared, required=required, default=interface.defaults.get(name))
        if interface.model is not None:
            found.add_options(interface.model)
        flags = {declared.flag for declared in interface.arguments.values()}

        def common(name: str, kind: Any, *flags: str, help: str, default: Any = None) -> None:
            found.add(name, kind, typer.Option(*flags, help=help, rich_help_panel=COMMON, show_default=False), default)

        if interface.model is not None:
            common(CONFIG, Path | None, "--config", help="YAML file with options; those typed here override it.")
        if self.json and "--json" not in flags:
            common(JSON, Path | None, "--json", help="Write the result to this file.")
        if self.page is not None:
            common(PAGE, Path | None, "--report", help="Write the result as a page to this file.")
        if self.detailed:
            common(VERBOSE, bool, "--verbose", "-v", help="Print everything, not only the answer.", default=False)
        if self.protected:
            common(FORCE, bool, "--force", help="Replace a file that is there.", default=False)
        found.renamed.update({old: (new, None) for old, new in self.renamed.items()})
        return found

    def run(self, context: typer.Context, values: dict[str, Any]) -> None:
        """Calls the service with typed values, writes its result and prints it.

        Raises:
            InputError: The configuration file or a target cannot be used, or the service refuses its input.
        """
        inputs = {name: value for name, value in values.items() if name in self.interface.arguments}
        passed = {name: value for name, value in inputs.items() if value is not None}
        options = self._options(context, values)
        if options is not None:
            passed["options"] = options
        self._check(values, options)
        try:
            result = self.interface.service(**passed, **self.keywords)
        except InputError as error:
            self._write_details(error, self._json_file(values))
            raise
        finally:
            for each in self.keywords.values():
                getattr(each, "close", lambda: None)()
        if (path := self._json_file(values)) is not None:
            result.to_json(path)
        page = values.get(PAGE)
        if self.page is not None and page is not None:
            self.page(result, page)
        self.show(result, bool(values.get(VERBOSE)))
        if page is not None:
            typer.echo(f"Written: {page}")
        for line in result.signature_lines():
            typer.echo(line)

    def _options(self, context: typer.Context, values: Mapping[str, Any]) -> Any:
        """Returns the configuration: values of the command line, then those of the file, then the defaults."""
        from fcconan.cli.parameters import plain
        from fcconan.services import ConfigurationError, message_of, open_configuration, value_type

        model = self.interface.model
        if model is None:
            return None
        described = model.describe()
        given = {}
        for name, (declared, how) in described.items():
            if _is_typed(context, name):
                try:
                    given[name] = plain(value_type(declared), values[name], how.metavar or "NAME=VALUE")
                except ValueError as error:
                    raise _refusal(context, name, str(error)) from error
        file = None if values[CONFIG] is None else open_configuration(values[CONFIG])
        try:
            return model.from_values(given, file)
        except ConfigurationError as error:
            first = error.error.errors()[0]
            if not first["loc"]:
                raise
            name = str(first["loc"][0])
            if first["type"] == "missing" and len(first["loc"]) == 1:
                raise InputError(
                    f"Missing option {_spelling(context, name)}. See `{context.command_path} --help`."
                ) from error
            raise _refusal(context, name, message_of(first)) from error

    def _check(self, values: Mapping[str, Any], options: Any) -> None:
        """Checks before long work that results can be written and replace nothing that is read."""
        from fcconan.cli.output import check_json_target
        from fcconan.services import check_files, files_of_models, flag_of

        arguments = self.interface.arguments
        used: list[tuple[str | None, str, Any]]
        used = [(each.role, flag_of(name, each), values[name]) for name, each in arguments.items()]
        if options is not None:
            fields = type(options).describe()
            used += [(how.role, flag_of(name, how), getattr(options, name)) for name, (_, how) in fields.items()]
        named: dict[str | None, list[str | Path]] = {}
        for role, _, value in used:
            each = list(value.values()) if isinstance(value, dict) else value
            each = each if isinstance(each, list | tuple) else [each]
            named.setdefault(role, []).extend(one for one in each if isinstance(one, str | Path))
        paths: dict[str | None, list[Any]] = {
            role: [_place(each) for each in found] for role, found in named.items() if role != "model"
        }
        recorded, local = files_of_models([str(name) for name in named.get("model", [])])
        json_file, page = self._json_file(values), values.get(PAGE)
        for folder in paths.get("release", [None]):
            check_json_target(json_file, folder)
        if page is not None:
            from fcconan.reporting import check_page

            check_page(page)
        folders = [*paths.get("folder", []), *local]
        written = {flag: path for role, flag, path in used if role == "write"}
        for name, each in arguments.items():
            if each.role == "write" and values[name] is not None:
                written |= self.companions(values[name])
        check_files(
            {**written, "--json": json_file, "--report": page},
            read=[*paths.get("read", []), *folders, *recorded, values.get(CONFIG)],
            folders=folders,
        )
        if self.protected and not values[FORCE]:
            for name, how in arguments.items():
                path = values[name]
                is_target = how.role == "write" and how.flag != "--json" and path is not None
                if is_target and path.exists() and not self.resumes(path):
                    raise InputError(
                        f"{path} exists already: choose another {flag_of(name, how)}, or replace it with --force"
                    )

    def _write_details(self, error: InputError, path: Path | None) -> None:
        """Writes all that an error refuses to the file of `--json`, where its message names the first few."""
        from fcconan.services import write_json

        details = getattr(error, "details", None)
        if path is not None and details is not None:
            write_json(details, path)

    def _json_file(self, values: Mapping[str, Any]) -> Path | None:
        """Returns the file of `--json`, which is a parameter of the service where the result depends on its place."""
        names = [name for name, each in self.interface.arguments.items() if each.flag == "--json"]
        found: Path | None = values.get(names[0] if names else JSON)
        return found


def add_command(app: typer.Typer, module: ModuleType, panel: str | None = None) -> None:
    """Adds the command of a module to an application.

    Args:
        app: The application.
        module: It has a `COMMAND`; or, until it is a service, `NAME`, `EXAMPLE` and the function `run`.
        panel: The section of the help.
    """
    if isinstance(declared := getattr(module, "COMMAND", None), Command):
        declared.add_to(app, panel)
    else:
        app.command(module.NAME, epilog=module.EXAMPLE, rich_help_panel=panel)(module.run)


class Group(TyperGroup):
    """A group of commands, whose help lists them by section with their whole sentences."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Prints the help where no command is given."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            raise typer.Exit
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the list of commands."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                sentence = (command.short_help or command.help or "").split("\n\n")[0].replace("\n", " ")
                panel = getattr(command, "rich_help_panel", None)
                sections.setdefault(panel if isinstance(panel, str) else "Commands", []).append((name, sentence))
        width = max((len(name) for rows in sections.values() for name, _ in rows), default=0)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), sentence) for name, sentence in rows])


class _ServiceCommand(TyperCommand):
    """A command whose parameters are made when they are needed."""

    declared: Command

    @property
    def params(self) -> Any:
        return self._whole.params

    @params.setter
    def params(self, parameters: Any) -> None:
        """Ignores the empty list of the constructor."""

    @cached_property
    def _whole(self) -> Any:
        """The command as Typer makes it of a function with all parameters."""
        command = self.declared

        def run(context: typer.Context, **values: Any) -> None:
            command.run(context, values)

        first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
        run.__signature__ = inspect.Signature([first, *command.parameters.found])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (first, *command.parameters.found)}
        app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        app.command()(run)
        return typer.main.get_command(app)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Replaces old spellings by new ones and reads the options."""
        try:
            return super().parse_args(ctx, self._renewed(args))
        except typer.BadParameter as error:
            if error.param is None:
                raise
            if not error.message:  # a value is missing
                error.param_hint = _spelling(ctx, error.param.name)
                raise
            raise _refusal(ctx, error.param.name, error.message) from error

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        return ctx.invoke(self._whole.callback, **ctx.params)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options, section by section."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                if getattr(parameter, "is_bool_flag", False) and parameter.default is False:
                    record = (record[0].partition(" / ")[0], record[1])  # the opposite is what happens without it
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panel = getattr(parameter, "rich_help_panel", None)
                sections.setdefault(panel if isinstance(panel, str) else default, []).append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        rare = [each.opts[0] for each in self.params if each.hidden]
        if rare:
            with formatter.section("Rare options, described in docs/options.md"):
                formatter.write_text(", ".join(rare))

    def _renewed(self, args: list[str]) -> list[str]:
        renewed: list[str] = []
        noted: set[str] = set()
        template = None
        for place, word in enumerate(args):
            if word == "--":
                return [*renewed, *args[place:]]
            if template is not None:
                renewed.append(template.format(word))
                template = None
                continue
            old, equals, value = word.partition("=")
            if old in self.declared.removed:
                raise InputError(f"{old} was removed: use {self.declared.removed[old]}")
            if old in self.declared.ignored:
                print(f"fcconan: {old} has no effect now: {self.declared.ignored[old]}", file=sys.stderr)
                continue
            if old in self.declared.parameters.renamed:
                new, template = self.declared.parameters.renamed[old]
                if old not in noted:
                    noted.add(old)
                    print(f"fcconan: {old} is now {new}: the old spelling will be removed in 0.3.0", file=sys.stderr)
                if template is not None and "{}" not in template:  # a switch that became a value
                    renewed += [new, template]
                    template = None
                    continue
                renewed.append(new + (equals + (template or "{}").format(value) if equals else ""))
                template = None if equals else template
            else:
                renewed.append(word)
        return renewed


def _without_parameters() -> None:
    """The callback that Typer requires; the command itself is made when its parameters are needed."""


def _place(value: str | Path) -> Path:
    """Returns the path that a value names, without a part or labels (`FOLDER:PART`)."""
    before, _, after = str(value).rpartition(":")
    return Path(before) if after and not Path(value).exists() and before and Path(before).is_dir() else Path(value)


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _spelling(context: typer.Context, name: str) -> str:
    """Returns how messages name an option: by its long spelling."""
    found = [each.opts[0] for each in context.command.params if each.name == name]
    return f"'{found[0]}'" if found else f"{name!r} (a key of the --config file)"


def _refusal(context: typer.Context, name: str, message: str) -> typer.BadParameter:
    """Returns the error of an option with a value that cannot be used."""
    sentence = message.removeprefix("Value error, ").rstrip(".") + "."
    return typer.BadParameter(sentence, ctx=context, param_hint=_spelling(context, name))
