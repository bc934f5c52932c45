"""`fcconan rank`."""

from typing import TYPE_CHECKING

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import RankResult


def _show(result: "RankResult", verbose: bool) -> None:
    from fcconan.cli.output import print_tables
    from fcconan.reporting import tournament_tables

    print_tables(tournament_tables(result.data, every=verbose, details=verbose), result.data["notes"])


COMMAND = Command(
    name="rank",
    help="Rank systems by the verdicts on pairs of their replies, and test differences.",
    service="fcconan.services.rank",
    example="fcconan rank comparisons.csv --json tournament.json",
    show=_show,
    page="tournament_page",
    detailed=True,
)
