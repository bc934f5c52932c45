"""`fcconan leaderboard`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.LeaderboardResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import difference_tables, leaderboard_tables, powered_tables

    raters = None if verbose else result.main_raters
    tables = leaderboard_tables(result.data, raters=raters)
    differences = difference_tables(result.data, every=verbose, raters=raters)
    powered = powered_tables(result.data, every=verbose)
    print_tables([*tables, *differences, *powered], result.data["notes"])
    if result.further_raters and not verbose:
        typer.echo(f"Further raters: {', '.join(result.further_raters)}; --verbose shows their ratings.")


COMMAND = Command(
    name="leaderboard",
    help="Rank systems by ratings of their replies, aspect by aspect and by one score of all, and test differences.",
    example="fcconan leaderboard demo-dataset demo-ratings.csv --baseline simulated-matched",
    show=_show,
    page="leaderboard_page",
    detailed=True,
)
