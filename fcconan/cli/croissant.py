"""`fcconan croissant`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "croissant"
EXAMPLE = "Example: fcconan croissant data/fc-conan --json fc-conan.json"


def run(
    folder: Annotated[Path, typer.Argument(help="A folder that `fcconan build` wrote.")],
    json_file: Annotated[Path, typer.Option("--json", help="The file to write, outside the folder.")],
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            help="Where the folder's files are fetched; without it, the file says where the folder is from there.",
        ),
    ] = None,
) -> None:
    """Describe a dataset in Croissant, the JSON-LD that dataset search engines and loaders read."""
    import os

    from fcconan.building import croissant
    from fcconan.cli.output import check_json_target, write_json

    check_json_target(json_file, folder)
    place = url or Path(os.path.relpath(folder.resolve(), json_file.absolute().parent.resolve())).as_posix()
    described = croissant(folder, place)
    write_json(json_file, described)
    typer.echo(
        f"{json_file} describes {len(described['recordSet'])} record sets in {len(described['distribution'])} files."
    )
