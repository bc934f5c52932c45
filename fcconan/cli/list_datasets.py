"""`fcconan list`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "list"
EXAMPLE = "Example: fcconan list --json datasets.json"


def run(
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the datasets for programs to this file.")
    ] = None,
) -> None:
    """List the datasets that can be built, with their sizes and terms, and the annotation tasks."""
    from fcconan.building import load_recipe
    from fcconan.cli.output import print_table, write_json
    from fcconan.data import recipe_names, task_names
    from fcconan.judging import load_task

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
    tasks = [load_task(name) for name in task_names()]
    print_table(
        "Annotation tasks",
        ("name", "of a", "aspects and their scales, or labels", "title"),
        [
            (
                task.name,
                task.unit,
                ", ".join(
                    f"{each.name} {each.low:.{each.decimals}f}-{each.high:.{each.decimals}f}" for each in task.aspects
                )
                or ", ".join(label.name for label in task.labels),
                task.title,
            )
            for task in tasks
        ],
    )
