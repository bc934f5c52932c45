"""`fcconan list`."""

from typing import TYPE_CHECKING

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import DatasetList


def _show(result: "DatasetList", verbose: bool) -> None:
    from fcconan.cli.output import print_table

    print_table(
        "Datasets",
        ("name", "languages", "largest part", "rows", "texts may be passed on", "title"),
        [
            (
                recipe["name"],
                " ".join(recipe["languages"]),
                *max(
                    ((f"{c}/{s}", n) for c, splits in recipe["rows"].items() for s, n in splits.items()),
                    key=lambda part: part[1],
                ),
                "yes" if recipe["redistributable"] else "no",
                recipe["title"] + (" (synthetic)" if recipe["synthetic"] else ""),
            )
            for recipe in result.rows()
        ],
    )
    print_table(
        "Annotation tasks",
        ("name", "of a", "aspects and their scales, or labels", "title"),
        [tuple(task.values()) for task in result.tasks],
    )


COMMAND = Command(
    name="list",
    help="List the datasets that can be built, with their sizes and terms, and the annotation tasks.",
    service="fcconan.services.list_datasets",
    example="fcconan list --json datasets.json",
    show=_show,
)
