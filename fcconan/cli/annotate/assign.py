"""`fcconan annotate assign`."""

from typing import TYPE_CHECKING

import typer

from fcconan.cli.annotate.next_step import next_of
from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import AssignResult


def _show(result: "AssignResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table

    data, rows = result.data, result.rows()
    if "round" not in data:
        title = f"Qualification test of {result.campaign}, pass mark {data['pass_mark']:g}"
        cells = [
            (row["rater"], row["right"], row["known"], f"{row['share']:.3f}", row["open"], row["state"]) for row in rows
        ]
        print_table(title, ("rater", "right", "of", "share", "open", "state"), cells)
        return
    columns = [name for name in rows[0] if rows[0][name] is not None] if rows else ["rater"]
    shown = [[f"{row[name]:.2f}" if name in ("hours", "pay") else row[name] for name in columns] for row in rows]
    print_table(f"Round {data['round']} of {result.campaign}", columns, shown)
    for note in data["notes"]:
        typer.echo(note)


COMMAND = Command(
    name="assign",
    help="Assign units to raters, in rounds and sessions, with overlaps and gold questions, and estimate the cost.",
    service="fcconan.services.assign",
    example="fcconan annotate assign my-campaign --overlap 2=0.2 --overlap 3=0.05 --session-size 100",
    show=_show,
    next_step=next_of,
)
