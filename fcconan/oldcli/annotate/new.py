"""`fcconan annotate new`."""

from fcconan import services
from fcconan.oldcli.annotate.next_step import next_of
from fcconan.oldcli.command import Command


def _show(result: "services.NewCampaignResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import make_table

    columns = {"": lambda row: row["name"].replace("_", " "), "number": "number", "meaning": "meaning"}
    print_tables([make_table(result.title, result.rows(), columns)], result.notes)


COMMAND = Command(
    name="new",
    help="Make a campaign: the units that are judged, from a corpus, two lists of texts, or replies.",
    service="new_campaign",
    example="fcconan annotate new my-campaign --task appropriateness --corpus conan --hs 45 --cns 129",
    show=_show,
    next_step=next_of,
)
