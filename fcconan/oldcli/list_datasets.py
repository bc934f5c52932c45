"""`fcconan list`."""

from collections.abc import Mapping
from typing import Any

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.DatasetList", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables
    from fcconan.reporting import make_table

    datasets = {
        "name": "name",
        "languages": lambda recipe: " ".join(recipe["languages"]),
        "largest part": lambda recipe: _largest(recipe)[0],
        "rows": lambda recipe: _largest(recipe)[1],
        "texts redistributable": lambda recipe: "yes" if recipe["redistributable"] else "no",
        "title": lambda recipe: recipe["title"] + (" (synthetic)" if recipe["synthetic"] else ""),
    }
    tasks = {"name": "name", "of a": "unit", "aspects and their scales, or labels": "parts", "title": "title"}
    print_tables([make_table("Datasets", result.rows(), datasets), make_table("Annotation tasks", result.tasks, tasks)])


def _largest(recipe: Mapping[str, Any]) -> tuple[str, int]:
    """Returns config and split of the largest table of a dataset, and its number of rows."""
    parts = [(f"{config}/{split}", n) for config, splits in recipe["rows"].items() for split, n in splits.items()]
    return max(parts, key=lambda part: part[1])


COMMAND = Command(
    name="list",
    help="List the datasets that can be built, with their sizes and terms, and the annotation tasks.",
    service="list_datasets",
    example="fcconan list --json datasets.json",
    show=_show,
)
