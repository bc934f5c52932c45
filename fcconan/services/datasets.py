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
    from fcconan.building import Hydration, Recipe


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


class HydrateOptions(Jobs):
    """How the texts of a labels-only folder are restored."""

    revision: str | None = option(
        None, help="Tag, branch or commit of a dataset on the Hub; default: the newest.", metavar="NAME"
    )
    recipe: str | None = option(
        None, help="Recipe file of a dataset that is not in the catalogue.", metavar="FILE", role="read", rare=True
    )
    keep_going: bool = option(False, help="Write the folder even if rows were changed or are missing.")


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


@dataclass(frozen=True, repr=False)
class HydrateResult(Result):
    """How the rows of a labels-only folder compare with the same rows built from upstream.

    Attributes:
        comparison: The comparison.
        source: The labels-only folder.
    """

    comparison: "Hydration"
    source: str
    table: ClassVar[str] = "examples"

    @property
    def folder(self) -> Path | None:
        """The folder that was written, or None."""
        return self.comparison.folder

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows by outcome."""
        return {name: self.data[name] for name in ("matched", "changed", "missing", "not in the folder")}

    @property
    def signature(self) -> str:
        """The package version and the folder."""
        return f"fcconan:{fcconan.__version__}|hydrate:{self.source}"


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


def hydrate(
    folder: Annotated[Path | str, argument("A labels-only folder, or the name of one on the Hub (owner/name).")],
    out: Annotated[Path | str, output("The folder to write.")],
    options: HydrateOptions = HydrateOptions(),
    *,
    progress: bool | None = None,
) -> HydrateResult:
    """Restores the texts of a labels-only folder from the upstream files or the mirror.

    Args:
        folder: The labels-only folder, or the name of such a dataset on the Hub, which is downloaded.
        out: The folder to write.
        options: The options.
        progress: Whether to show progress; by default where standard error is a terminal.

    Returns:
        The comparison; nothing was written if its `folder` is None.

    Raises:
        InputError: The folder is not a labels-only release, its recipe is unknown, or the Hub or an upstream source
            cannot be reached.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     labels = build("demo", f"{folder}/labels", BuildOptions(labels_only=True), progress=False).folder
        ...     hydrate(labels, f"{folder}/full", progress=False).to_dict()["complete"]
        True
    """
    from fcconan.building import hydrate as hydrate_release

    found = hydrate_release(folder, out, **options.model_dump(), progress=progress)
    data = {
        "out": str(found.folder) if found.folder else None,
        "complete": found.complete,
        "matched": found.matched,
        "changed": found.changed,
        "missing": found.missing,
        "not in the folder": found.extra,
        "examples": found.examples,
    }
    return HydrateResult(data, found, str(folder))


def _fingerprint(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['name']}@{manifest['fingerprint']}"
