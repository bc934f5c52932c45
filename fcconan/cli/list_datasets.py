"""`fcconan list`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "list"
EXAMPLE = "Example: fcconan list --json datasets.json"


def run(
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the list for programs to this file.")] = None,
) -> None:
    """List the datasets that can be built, with their sizes and terms."""
    from fcconan.build import load_recipe
    from fcconan.catalog import recipe_names
    from fcconan.cli.output import print_table, write_json

    recipes = [load_recipe(name) for name in recipe_names()]
    if json_file:
        write_json(
            json_file,
            [
                {
                    "name": recipe.name,
                    "title": recipe.title,
                    "kind": recipe.kind,
                    "languages": recipe.languages,
                    "synthetic": recipe.synthetic,
                    "redistributable": recipe.redistributable,
                    "rows": recipe.expect.rows,
                    "summary": recipe.summary.strip(),
                    "terms": recipe.card.terms.strip(),
                }
                for recipe in recipes
            ],
        )
    print_table(
        "Datasets",
        ("name", "languages", "largest part", "rows", "texts may be passed on", "title"),
        [
            (
                recipe.name,
                " ".join(recipe.languages),
                *max(
                    ((f"{c}/{s}", n) for c, splits in recipe.expect.rows.items() for s, n in splits.items()),
                    key=lambda p: p[1],
                ),
                "yes" if recipe.redistributable else "no",
                recipe.title + (" (synthetic)" if recipe.synthetic else ""),
            )
            for recipe in recipes
        ],
    )
