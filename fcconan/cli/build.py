"""`fcconan build`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "build"
EXAMPLE = "Example: fcconan build fc-conan --out fc-conan --tier-rule strict"


def run(
    recipe: Annotated[str, typer.Argument(help="A name that `fcconan list` prints, or the path of a recipe file.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write; a release that is there is replaced.")],
    labels_only: Annotated[
        bool, typer.Option("--labels-only", help="Leave out every column of upstream text.")
    ] = False,
    tier_rule: Annotated[
        str | None,
        typer.Option("--tier-rule", help="released (the default) or strict, for datasets with tiers."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Upstream files fetched at once.")] = 4,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write what was built to this file.")] = None,
) -> None:
    """Build a dataset from its pinned upstream files into a folder that `datasets.load_dataset` reads."""
    from fcconan.building import build
    from fcconan.cli.output import check_json_target, counts_rows, print_table, write_release_json

    check_json_target(json_file, out)
    result = build(recipe, out, labels_only=labels_only, tier_rule=tier_rule, jobs=jobs)
    manifest = result.manifest
    write_release_json(json_file, result.folder, manifest)
    print_table(f"{manifest['title']} in {result.folder}", ("config", "split", "rows"), counts_rows(manifest))
    for note in [*manifest["notes"], *(f"Left out: {text}" for text in manifest["left_out"])]:
        typer.echo(f"- {note}")
