"""`fcconan reproduce`."""

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.ReproduceResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import reproduction_page

    papers, tables, every = reproduction_page(result.data).own_tables()
    print_tables([papers, tables, every] if verbose else [papers])
    if not verbose:
        print("--verbose prints every value with the reason for which it differs; --report writes them as a page.")


COMMAND = Command(
    name="reproduce",
    help="Recompute the published values of the papers and print them next to the printed ones.",
    example="fcconan reproduce fc-conan --json values.json",
    show=_show,
    page="reproduction_page",
    detailed=True,
)
