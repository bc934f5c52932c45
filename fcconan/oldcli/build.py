"""`fcconan build`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.BuildResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    manifest = result.manifest
    columns = ("config", "split", "rows")
    print_table(make_table(f"{manifest['title']} in {result.folder}", result.rows(), columns))
    for note in [*manifest["notes"], *(f"Left out: {text}" for text in manifest["left_out"])]:
        typer.echo(f"- {note}")


COMMAND = Command(
    name="build",
    help="Build a dataset from its pinned upstream files into a folder that `datasets.load_dataset` reads.",
    example="fcconan build fc-conan --out fc-conan --tier-rule strict",
    show=_show,
)
