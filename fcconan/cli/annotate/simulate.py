"""`fcconan annotate simulate`."""

from typing import TYPE_CHECKING, Any

import typer

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fcconan.services import SimulateResult


def _show(result: "SimulateResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table

    if result.out is None:
        rows = result.data["designs"]
        for title, names in zip(("Cost and agreement", "Labels"), result.measures, strict=True):
            if names:
                cells = [
                    [row["raters"], row["twice"], row["thrice"], *(_cell(row["measures"][name]) for name in names)]
                    for row in rows
                ]
                print_table(f"{title}: mean, and 95 % of campaigns", ("raters", "by 2", "by 3", *names), cells)
    else:
        rows = result.data["raters"]
        cells = [[f"{value:.3f}" if isinstance(value, float) else value for value in row.values()] for row in rows]
        there = "" if result.written else ": everything was there already"
        title = f"Simulated answers in round {result.data['round']} of {result.campaign}{there}"
        print_table(title, list(rows[0]), cells)
    for note in result.notes:
        typer.echo(note)


def _cell(measure: "Mapping[str, Any]") -> str:
    if measure["mean"] is None:
        return "-"
    digits = 0 if measure["mean"] >= 100 else 1 if measure["mean"] >= 10 else 3
    low, high = measure["low"], measure["high"]
    spread = "" if low == high else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{measure['mean']:.{digits}f}{spread}"


COMMAND = Command(
    name="simulate",
    help="Answer for raters who err as described, to try a campaign; or estimate its cost, agreement and label errors.",
    service="fcconan.services.simulate",
    example="fcconan annotate simulate my-campaign --out returned --accuracy 0.85 --bias appropriate=0.1",
    show=_show,
)
