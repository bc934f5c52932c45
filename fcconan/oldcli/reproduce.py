"""`fcconan reproduce`."""

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.ReproduceResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import reproduction_tables

    tables = reproduction_tables(result.rows())
    print_tables(tables if verbose else tables[:1])
    if not verbose:
        print("--verbose prints every value with the reason for which it differs.")


COMMAND = Command(
    name="reproduce",
    help="Recompute the published values of the papers and print them next to the printed ones.",
    example="fcconan reproduce fc-conan --json values.json",
    show=_show,
    detailed=True,
)
