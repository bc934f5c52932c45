"""`fcconan croissant`."""

from typing import TYPE_CHECKING

import typer

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import CroissantResult


def _show(result: "CroissantResult", verbose: bool) -> None:
    records, files = result.data["recordSet"], result.data["distribution"]
    typer.echo(f"{result.json_file} describes {len(records)} record sets in {len(files)} files.")


COMMAND = Command(
    name="croissant",
    help="Describe a dataset in Croissant, the JSON-LD that dataset search engines and loaders read.",
    service="fcconan.services.croissant",
    example="fcconan croissant data/fc-conan --json fc-conan.json",
    show=_show,
)
