"""`fcconan annotate simulate`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.SimulateResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    columns: dict[str, Any]
    if result.out is None:
        for title, names in zip(("Cost and agreement", "Labels"), result.measures, strict=True):
            columns = {
                "raters": "raters",
                "by 2": lambda row: f"{row['twice']:g}",
                "by 3": lambda row: f"{row['thrice']:g}",
            }
            columns |= {name: partial(_cell, name) for name in names}
            if names:
                print_table(make_table(f"{title}: mean, and 95 % of campaigns", result.data["designs"], columns))
    else:
        rows = result.data["raters"]
        there = "" if result.written else ": everything was there already"
        title = f"Simulated answers in round {result.data['round']} of {result.campaign}{there}"
        print_table(make_table(title, rows, list(rows[0])))
    for note in result.notes:
        typer.echo(note)


def _cell(name: str, row: Mapping[str, Any]) -> str | None:
    measure = row["measures"][name]
    if measure["mean"] is None:
        return None
    digits = 0 if measure["mean"] >= 100 else 1 if measure["mean"] >= 10 else 3
    low, high = measure["low"], measure["high"]
    spread = "" if low == high else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{measure['mean']:.{digits}f}{spread}"


COMMAND = Command(
    name="simulate",
    help="Simulate the answers of raters to try out a campaign, or estimate its cost, agreement and label errors.",
    example="fcconan annotate simulate my-campaign --out returned --accuracy 0.85 --bias appropriate=0.1",
    show=_show,
)
