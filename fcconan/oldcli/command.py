"""A command of a service: its options follow from the service's signature and configuration.

The service is imported when the command is used, so that `fcconan --help` stays quick.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fcconan.errors import InputError
from fcconan.oldcli.typer_command import ServiceCommand, is_typed, refusal, spelling, without_parameters

if TYPE_CHECKING:
    from fcconan.oldcli.parameters import Interface, Parameters

COMMON = "Input and output"
CONFIG, JSON, VERBOSE = "config", "json_file", "verbose"


@dataclass(frozen=True, eq=False)
class Command:
    """A command of the command line.

    Attributes:
        name: Its name.
        help: One sentence; the commands are listed with it.
        example: A whole command.
        show: Prints the result; its second argument is true with `--verbose`.
        service: Name of the function in `fcconan.services`, or of another module with it; default: the command's name.
        detailed: Whether `--verbose` prints more than the answer.
        next_step: Returns the line that names the command that comes next, from the values of this one.
    """

    name: str
    help: str
    example: str
    show: Callable[[Any, bool], None]
    service: str = ""
    detailed: bool = False
    next_step: Callable[[Mapping[str, Any]], str] | None = None

    def add_to(self, app: typer.Typer, panel: str | None = None) -> None:
        """Adds the command to an application, in a section of its help."""

        class Declared(ServiceCommand):
            declared = self

        app.command(self.name, cls=Declared, help=self.help, epilog=f"Example: {self.example}", rich_help_panel=panel)(
            without_parameters
        )

    @cached_property
    def interface(self) -> "Interface":
        """The inputs of the service."""
        from fcconan.oldcli.parameters import interface_of

        module, _, function = (self.service or self.name.replace("-", "_")).rpartition(".")
        return interface_of(getattr(import_module(module or "fcconan.services"), function))

    @cached_property
    def parameters(self) -> "Parameters":
        """The parameters of the command."""
        from fcconan.oldcli.parameters import Parameters

        interface = self.interface
        found = Parameters()
        for name, declared in interface.arguments.items():
            found.add_argument(name, declared, interface.defaults[name])
        if interface.model is not None:
            found.add_options(interface.model)
        flags = {declared.flag for declared in interface.arguments.values()}

        def common(name: str, kind: Any, *flags: str, help: str, default: Any = None) -> None:
            form = None if kind is bool else "FILE"
            info = typer.Option(*flags, help=help, metavar=form, rich_help_panel=COMMON, show_default=False)
            found.add(name, kind, info, default)

        if interface.model is not None:
            common(
                CONFIG,
                Path | None,
                "--config",
                help="YAML file with options; options on the command line take precedence.",
            )
        if "--json" not in flags:
            common(JSON, Path | None, "--json", help="Write the result to this file.")
        if self.detailed:
            common(VERBOSE, bool, "--verbose", "-v", help="Print all tables, not only the main result.", default=False)
        return found

    def run(self, context: typer.Context, values: dict[str, Any]) -> None:
        """Calls the service with typed values, writes its result and prints it.

        Raises:
            InputError: The configuration file or a target cannot be used, or the service refuses its input.
        """
        inputs = {name: value for name, value in values.items() if name in self.interface.arguments}
        passed = {name: value for name, value in inputs.items() if value is not None}
        from fcconan.oldcli.targets import check_targets

        options = self._options(context, values)
        if options is not None:
            passed["options"] = options
        check_targets(
            self.interface.arguments,
            values,
            options,
            {"--json": self._json_file(values), "--config": values.get(CONFIG)},
        )
        try:
            result = self.interface.service(**passed)
        except InputError as error:
            self._write_details(error, self._json_file(values))
            raise
        if (path := self._json_file(values)) is not None:
            result.to_json(path)
        self.show(result, bool(values.get(VERBOSE)))
        if self.next_step is not None:
            typer.echo(self.next_step(values))
        for line in result.signature_lines():
            typer.echo(line)

    def _options(self, context: typer.Context, values: Mapping[str, Any]) -> Any:
        """Returns the configuration: values of the command line, then those of the file, then the defaults."""
        from fcconan.oldcli.parameters import plain
        from fcconan.services import ConfigurationError, error_message, open_configuration, value_type

        model = self.interface.model
        if model is None:
            return None
        described = model.describe()
        given = {}
        for name, (declared, how) in described.items():
            if is_typed(context, name):
                try:
                    given[name] = plain(value_type(declared), values[name], how.metavar or "NAME=VALUE")
                except ValueError as error:
                    raise refusal(context, name, str(error)) from error
        file = None if values[CONFIG] is None else open_configuration(values[CONFIG], "subset" in described)
        try:
            return model.from_values(given, file)
        except ConfigurationError as error:
            first = error.error.errors()[0]
            if not first["loc"]:
                raise
            name = str(first["loc"][0])
            if first["type"] == "missing" and len(first["loc"]) == 1:
                raise InputError(
                    f"Missing option {spelling(context, name)}. See `{context.command_path} --help`."
                ) from error
            raise refusal(context, name, error_message(first)) from error

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
