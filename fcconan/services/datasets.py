"""Datasets: their list, building, and restoring texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import fcconan
from fcconan.data import recipe_names, tier_rule_names
from fcconan.services.configuration import Configuration, argument, option, output
from fcconan.services.results import Result

if TYPE_CHECKING:
    from fcconan.building import Recipe


class Jobs(Configuration):
    """Parallel downloads."""

    jobs: int = option(4, help="Number of parallel jobs: downloads.", short="-j", ge=1)


class BuildOptions(Jobs):
    """How a dataset is built."""

    labels_only: bool = option(False, help="Leave out every column of upstream text.")
    tier_rule: str | None = option(
        None,
        help="Tier rule of datasets with tiers; default: that of the recipe, released.",
        metavar="released|strict",
        complete=tier_rule_names,
    )


@dataclass(frozen=True, repr=False)
class DatasetList(Result):
    """The datasets that can be built, and the annotation tasks.

    Attributes:
        tasks: Name, unit, aspects or labels, and title of each task.
    """

    tasks: Sequence[Mapping[str, str]]
    signatures: ClassVar[tuple[str, ...]] = ()

    def json_value(self) -> Any:
        """Returns the list of datasets."""
        return self.rows()


@dataclass(frozen=True, repr=False)
class BuildResult(Result):
    """A dataset that was built; its main table has one row for each split.

    Attributes:
        folder: The release folder.
        manifest: The content of its `manifest.json`.
    """

    folder: Path
    manifest: dict[str, Any]

    def rows(self) -> list[dict[str, Any]]:
        """Returns config, split and number of rows of each table of the release."""
        return [
            {"config": config, "split": split, "rows": rows}
            for config, splits in self.manifest["counts"].items()
            for split, rows in splits.items()
        ]

    @property
    def signature(self) -> str:
        """The package version and the fingerprint of the dataset."""
        return f"fcconan:{self.manifest['package']['version']}|data:{_fingerprint(self.manifest)}"


def list_datasets() -> DatasetList:
    """Lists the datasets that can be built, with their sizes and terms, and the annotation tasks.

    Returns:
        The datasets. The main table has the columns `name`, `title`, `kind`, `languages`, `synthetic`,
        `redistributable`, `rows`, `summary` and `terms`; `tasks` lists the annotation tasks.

    Raises:
        InputError: A recipe or a task of the catalogue cannot be read.

    Examples:
        >>> "demo" in list_datasets().to_frame()["name"].tolist()
        True
    """
    from fcconan.building import load_recipe
    from fcconan.data import task_names
    from fcconan.judging import load_task

    datasets = [
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
        for recipe in map(load_recipe, recipe_names())
    ]
    tasks = [
        {
            "name": task.name,
            "unit": task.unit,
            "parts": ", ".join(
                f"{each.name} {each.low:.{each.decimals}f}-{each.high:.{each.decimals}f}" for each in task.aspects
            )
            or ", ".join(label.name for label in task.labels),
            "title": task.title,
        }
        for task in map(load_task, task_names())
    ]
    return DatasetList({"signature": f"fcconan:{fcconan.__version__}|list", "rows": datasets}, tasks)


def build(
    recipe: Annotated[
        "Recipe | str",
        argument("A name that `fcconan list` prints, or the path of a recipe file.", complete=recipe_names),
    ],
    out: Annotated[Path | str, output("The folder to write; a release that is there is replaced.")],
    options: BuildOptions = BuildOptions(),
    *,
    progress: bool | None = None,
) -> BuildResult:
    """Builds a dataset and writes its release folder, replacing an older release there in one step.

    Args:
        recipe: A recipe, or the name or file of one.
        out: The folder to write.
        options: The options.
        progress: Whether to show progress; by default where standard error is a terminal.

    Returns:
        The release folder (`folder`) and its manifest. The main table has the columns `config`, `split` and `rows`.

    Raises:
        InputError: The recipe, an upstream file, the counts or the output folder cannot be used. The output folder is
            then unchanged.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     build("demo", f"{folder}/demo", progress=False).manifest["name"]
        'demo'
    """
    from fcconan.building import build as build_release

    built = build_release(recipe, out, **options.model_dump(), progress=progress)
    data = {"out": str(built.folder), **{key: value for key, value in built.manifest.items() if key != "files"}}
    return BuildResult(data, built.folder, built.manifest)


def _fingerprint(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['name']}@{manifest['fingerprint']}"
