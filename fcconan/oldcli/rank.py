"""`fcconan rank`."""

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.RankResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import tournament_tables

    print_tables(tournament_tables(result.data, every=verbose, details=verbose), result.data["notes"])


COMMAND = Command(
    name="rank",
    help="Rank systems by the verdicts on pairs of their replies, and test differences.",
    example="fcconan rank comparisons.csv --json tournament.json",
    show=_show,
    page="tournament_page",
    detailed=True,
)
