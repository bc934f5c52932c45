"""Datasets: their list, building, and restoring texts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import fcconan
from fcconan.services.configuration import Configuration, argument, option, output
from fcconan.services.results import Result

if TYPE_CHECKING:
    from fcconan.building import Hydration


class HydrateOptions(Configuration):
    """How the texts of a labels-only folder are restored."""

    revision: str | None = option(
        None, help="Tag, branch or commit of a dataset on the Hub; default: the newest.", metavar="NAME"
    )
    recipe: str | None = option(
        None, help="Recipe file of a dataset that is not in the catalogue.", metavar="FILE", role="read", rare=True
    )
    keep_going: bool = option(False, help="Write the folder even if rows were changed or are missing.")


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
        ...     _ = fcconan.build("demo", out=Path(folder, "labels"), labels_only=True)
        ...     hydrate(f"{folder}/labels", f"{folder}/full").to_dict()["complete"]
        True
    """
    from fcconan.building import hydrate as hydrate_release

    found = hydrate_release(folder, out, **options.model_dump())
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
