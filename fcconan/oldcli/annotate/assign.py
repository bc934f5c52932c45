"""`fcconan annotate assign`."""

from fcconan import services
from fcconan.oldcli.annotate.next_step import next_of
from fcconan.oldcli.command import Command


def _show(result: "services.AssignResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import make_table

    data, rows = result.data, result.rows()
    if "round" not in data:
        title = f"Qualification test of {result.campaign}, pass mark {data['pass_mark']:g}"
        columns = {
            "rater": "rater",
            "right": "right",
            "of": "known",
            "share": "share",
            "open": "open",
            "state": "state",
        }
        print_tables([make_table(title, rows, columns)])
        return
    columns = {name: name for name in rows[0] if rows[0][name] is not None} if rows else {"rater": "rater"}
    print_tables([make_table(f"Round {data['round']} of {result.campaign}", rows, columns)], data["notes"])


COMMAND = Command(
    name="assign",
    help="Assign units to raters, in rounds and sessions, with overlaps and gold questions.",
    example="fcconan annotate assign my-campaign --overlap 2=0.2 --overlap 3=0.05 --session-size 100",
    show=_show,
    next_step=next_of,
)
