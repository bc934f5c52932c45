"""`fcconan annotate tier`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "tier"
EXAMPLE = "Example: fcconan annotate tier my-campaign --rule strict --out my-dataset"


def run(
    campaign: Annotated[Path, typer.Argument(help="The campaign's folder.")],
    out: Annotated[Path, typer.Option("--out", help="The folder for data files and recipe.yaml.")],
    rule: Annotated[
        str | None,
        typer.Option("--rule", help="For pairs: released (the default), strict, or a .yaml file of your own."),
    ] = None,
    rounds: Annotated[
        list[str] | None,
        typer.Option(
            "--round",
            help="Whose answers count; repeat it, a later one goes first; 'queue-*' is a pattern. Default: main.",
        ),
    ] = None,
    synthetic: Annotated[bool, typer.Option("--synthetic", help="The answers were simulated.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write what was published to this file.")] = None,
) -> None:
    """Publish a campaign: sort its pairs into tiers, and write data files with a recipe that `fcconan build` takes."""
    from fcconan.annotation import Campaign, write_dataset
    from fcconan.cli.output import check_json_target, print_table, write_json

    check_json_target(json_file, out)
    opened = Campaign(campaign)
    written = write_dataset(opened, out, rule=rule, rounds=opened.rounds_like(rounds), synthetic=synthetic)
    if json_file is not None:
        write_json(
            json_file,
            {
                "recipe": str(written.recipe),
                "tier_rule": written.tier_rule,
                "rows": written.rows,
                "facts": written.facts,
                "without_label": written.without_label,
                **written.published.counts,
                "unpublished_columns": written.published.unpublished,
                "notes": written.published.notes,
            },
        )
    rows = [(config, split, number) for config, splits in written.rows.items() for split, number in splits.items()]
    by = f" by the tier rule {written.tier_rule}" if written.tier_rule else ""
    print_table(f"{written.recipe}{by}", ("config", "split", "rows"), rows)
    stays = {f"judged, without a label: {reason}": count for reason, count in written.without_label.items()}
    stays |= {name.replace("_", " "): count for name, count in written.published.counts.items() if count}
    if stays:
        print_table("What is not in the tiers or the rows", ("what", "number"), list(stays.items()))
    for note in written.published.notes:
        typer.echo(note)
    if written.published.unpublished:
        typer.echo(f"Columns of the texts that stay behind: {', '.join(written.published.unpublished)}.")
    if written.kept:
        typer.echo("The text that people wrote into the recipe was kept.")
    typer.echo(f"Edit the recipe, then: fcconan build {written.recipe} --out DIR")
