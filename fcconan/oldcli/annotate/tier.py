"""`fcconan annotate tier`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.TierResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_counts, print_table
    from fcconan.reporting import make_table

    written = result.written
    by = f" by the tier rule {written.tier_rule}" if written.tier_rule else ""
    columns = ("config", "split", "rows")
    print_table(make_table(f"{written.recipe}{by}", result.rows(), columns))
    left_out = {f"judged, without a label: {reason}": count for reason, count in written.without_label.items()}
    left_out |= {name.replace("_", " "): count for name, count in written.published.counts.items() if count}
    if left_out:
        print_counts("Not in the tiers or the rows", ("reason", "number"), left_out)
    for note in result.data["notes"]:
        typer.echo(note)
    if written.published.unpublished:
        typer.echo(f"Columns of the texts that are not published: {', '.join(written.published.unpublished)}.")
    if written.kept:
        typer.echo("The text that people wrote into the recipe was preserved.")
    typer.echo(f"Edit the recipe, then: fcconan build {written.recipe} --out DIR")


COMMAND = Command(
    name="tier",
    help="Sort the pairs of a campaign into tiers, and write data files with a recipe that `fcconan build` reads.",
    example="fcconan annotate tier my-campaign --tier-rule strict --out my-dataset",
    show=_show,
)
