"""`fcconan annotate simulate`."""

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.SimulateResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    rows = result.data["raters"]
    there = "" if result.written else ": everything was there already"
    title = f"Simulated answers in round {result.data['round']} of {result.campaign}{there}"
    print_table(make_table(title, rows, list(rows[0])))


COMMAND = Command(
    name="simulate",
    help="Simulate the answers of raters to try out a campaign.",
    example="fcconan annotate simulate my-campaign --out returned --accuracy 0.85",
    show=_show,
)
