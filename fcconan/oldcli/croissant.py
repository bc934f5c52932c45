"""`fcconan croissant`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.CroissantResult", verbose: bool) -> None:
    records, files = result.data["recordSet"], result.data["distribution"]
    typer.echo(f"{result.json_file} describes {len(records)} record sets in {len(files)} files.")


COMMAND = Command(
    name="croissant",
    help="Describe a dataset in Croissant, the JSON-LD that dataset search engines and loaders read.",
    example="fcconan croissant data/fc-conan --json fc-conan.json",
    show=_show,
)
