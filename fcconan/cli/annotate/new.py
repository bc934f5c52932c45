"""`fcconan annotate new`."""

from typing import TYPE_CHECKING

import typer

from fcconan.cli.annotate.next_step import next_of
from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import NewCampaignResult


def _show(result: "NewCampaignResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table
    from fcconan.reporting import table_of

    columns = {"": lambda row: row["name"].replace("_", " "), "number": "number", "meaning": "meaning"}
    print_table(table_of(result.title, result.rows(), columns))
    for note in result.notes:
        typer.echo(note)


COMMAND = Command(
    name="new",
    help="Make a campaign: the units that are judged, from a corpus, two lists of texts, or replies.",
    service="fcconan.services.new_campaign",
    example="fcconan annotate new my-campaign --task appropriateness --corpus conan --hs 45 --cns 129",
    show=_show,
    next_step=next_of,
)
