"""Typer commands and groups whose parameters are made when they are needed, with help in sections."""

import inspect
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def group(name: str, help: str, commands: Iterable[Any]) -> typer.Typer:
    """Returns a group with commands, in their order."""
    settings = {"help_option_names": ["-h", "--help"]}
    app = typer.Typer(
        name=name, cls=Group, help=help, rich_markup_mode=None, no_args_is_help=True, context_settings=settings
    )
    for each in commands:
        each.COMMAND.add_to(app)
    return app


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


class ServiceCommand(TyperCommand):
    """A command whose parameters are made when they are needed."""

    declared: Any  # a `Command`, which imports this module

    @property
    def params(self) -> Any:
        """The parameters, as Typer makes them."""
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
        """Reads the options."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is None:
                raise
            if not error.message:  # a value is missing
                error.param_hint = spelling(ctx, error.param.name)
                raise
            found = getattr(error.__cause__, "errors", None)  # of pydantic, by which Typer reads values
            if found is None:
                raise refusal(ctx, error.param.name, error.message) from error
            from fcconan.services import error_message

            raise refusal(ctx, error.param.name, error_message(found()[0])) from error

    def invoke(self, ctx: Any) -> Any:
        """Runs the command."""
        return ctx.invoke(self._whole.callback, **ctx.params)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Returns the parts of the usage line after the name of the command."""
        from fcconan.oldcli.help_text import usage_of

        return ["[OPTIONS]", *(usage_of(each) for each in self.params if each.param_type_name == "argument")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options, section by section."""
        from fcconan.oldcli.help_text import record_of

        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        parameters: list[Any] = self.get_params(ctx)
        for parameter in parameters:
            if not parameter.hidden:
                record = record_of(parameter, ctx)
                if getattr(parameter, "is_bool_flag", False) and parameter.default is False:
                    record = (record[0].partition(" / ")[0], record[1])  # its opposite is the default
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                panel = getattr(parameter, "rich_help_panel", None)
                sections.setdefault(panel if isinstance(panel, str) else default, []).append(record)
        for title, rows in sections.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        rare = [each.opts[0] for each in self.params if each.hidden]
        if rare:
            with formatter.section("Rare options"):
                formatter.write_text(", ".join(rare))


def spelling(context: typer.Context, name: str) -> str:
    """Returns how messages name an option: by its long spelling."""
    found = [each.opts[0] for each in context.command.params if each.name == name]
    return f"'{found[0]}'" if found else f"{name!r} (a key of the --config file)"


def refusal(context: typer.Context, name: str, message: str) -> typer.BadParameter:
    """Returns the error of an option with a value that cannot be used."""
    sentence = message.removeprefix("Value error, ").rstrip(".") + "."
    return typer.BadParameter(sentence, ctx=context, param_hint=spelling(context, name))


def is_typed(context: typer.Context, name: str) -> bool:
    """Returns whether a value was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def without_parameters() -> None:
    """The callback that Typer requires; the command itself is made when its parameters are needed."""
