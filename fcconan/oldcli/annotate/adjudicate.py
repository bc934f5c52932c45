"""`fcconan annotate adjudicate`."""

from fcconan import services
from fcconan.oldcli.annotate.next_step import next_of
from fcconan.oldcli.command import Command


def _show(result: "services.AdjudicateResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import make_table

    tables = []
    if result.outcome is not None:
        rows = [row for row in result.rows() if verbose or row["units"]]
        tables.append(make_table(f"Final labels of {result.campaign}", rows, ("what", "which", "units")))
    print_tables(tables, result.notes)


COMMAND = Command(
    name="adjudicate",
    help="Determine the final label of each unit from its votes, by rule or by a person; discard the others.",
    example="fcconan annotate adjudicate my-campaign --export-conflicts conflicts.csv",
    show=_show,
    detailed=True,
    next_step=next_of,
)
