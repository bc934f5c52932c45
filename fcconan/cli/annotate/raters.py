"""`fcconan annotate raters`."""

from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli import row_options
from fcconan.errors import InputError

NAME = "raters"
MOST_RATERS = 10_000
EXAMPLE = "Example: fcconan annotate raters my-campaign --annotators 9 --validators 4"


def run(
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.")],
    joining: Annotated[
        list[str] | None, typer.Option("--join", help="The pseudonym of somebody who joins or comes back; repeat it.")
    ] = None,
    leaving: Annotated[
        list[str] | None, typer.Option("--leave", help="The pseudonym of somebody who leaves; repeat it.")
    ] = None,
    role: Annotated[str, typer.Option("--role", help="What those who join do: annotator or validator.")] = "annotator",
    invited: Annotated[bool, typer.Option("--invited", help="Those who join have to pass the quiz first.")] = False,
    annotators: Annotated[
        int,
        typer.Option(
            "--annotators", min=0, max=MOST_RATERS, help="Let annotator-1 to annotator-N join, if they are not there."
        ),
    ] = 0,
    validators: Annotated[
        int,
        typer.Option(
            "--validators", min=0, max=MOST_RATERS, help="Let validator-1 to validator-N join, if they are not there."
        ),
    ] = 0,
    json_file: row_options.Json = None,
) -> None:
    """Let raters join or leave, under pseudonyms, and list them; `assign --again` then gives their work to others."""
    from fcconan.annotation import Campaign, join, leave
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json

    if role not in ("annotator", "validator"):
        raise InputError(f"--role is {role!r}: give annotator or validator")
    check_files({"--json": json_file}, folders=[folder])
    check_json_target(json_file, folder)
    campaign = Campaign(folder)
    with campaign.changing():
        before = campaign.raters()
        numbered = {"annotator": annotators, "validator": validators}
        found = join(before, joining or (), role=role, invited=invited)  # type: ignore[arg-type]
        for kind, number in numbered.items():
            names = [name for name in (f"{kind}-{each}" for each in range(1, number + 1)) if name not in found]
            found = join(found, names, role=kind, invited=invited and kind == "annotator")  # type: ignore[arg-type]
        found = leave(found, leaving or ())
        if found != before:
            campaign.write("raters.jsonl", found.values())
        rows = [
            {"rater": each.rater, "role": each.role, "state": each.state, "was": before[each.rater].state}
            if each.rater in before
            else {"rater": each.rater, "role": each.role, "state": each.state, "was": None}
            for each in found.values()
        ]
    changed = [row for row in rows if row["state"] != row["was"]]
    title = f"{len(rows)} raters of {campaign.settings.name}, {len(changed)} changed"
    print_table(title, ("rater", "role", "state", "was"), [[row[key] or "" for key in row] for row in rows])
    if json_file is not None:
        write_json(json_file, {"raters": rows, "n_changed": len(changed)})
