"""`fcconan annotate raters`."""

from fcconan import services
from fcconan.oldcli.annotate.next_step import next_of
from fcconan.oldcli.command import Command


def _show(result: "services.RosterResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    title = f"{len(result.rows())} raters of {result.campaign}, {result.data['n_changed']} changed"
    print_table(make_table(title, result.rows(), ("rater", "role", "state", "was")))


COMMAND = Command(
    name="raters",
    help="List the raters of a campaign, add raters by pseudonym, and mark raters as left.",
    service="update_raters",
    example="fcconan annotate raters my-campaign --add-annotators 9 --add-validators 4",
    show=_show,
    next_step=next_of,
)
