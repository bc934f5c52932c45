"""The published files of a dataset folder, verified against its manifest."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcconan.data import CARD, MANIFEST, file_sha256, read_manifest, recipe_names
from fcconan.errors import InputError

# The files of a build. No other files are published, because only in tables the position of texts is known.
_RELEASE_FILE = re.compile(rf"{re.escape(CARD)}|\w[\w.-]*/\w[\w.-]*\.parquet")


def is_release_file(path: str) -> bool:
    """Returns whether a path is that of the card or of a table."""
    return _RELEASE_FILE.fullmatch(path) is not None


@dataclass(frozen=True)
class Contents:
    """A dataset folder with verified files.

    Attributes:
        folder: The folder.
        manifest: Content of its `manifest.json`.
        hashes: sha256 of every published file, including the manifest, by its path in the folder.
        left_out: Other files of the folder, which are not published.
        notes: Notes for the user.
        replaced: Files to publish instead of those in the folder, by their path in the folder.
    """

    folder: Path
    manifest: dict[str, Any]
    hashes: dict[str, str]
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    replaced: Mapping[str, Path] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the dataset."""
        return str(self.manifest["name"])

    @property
    def tables(self) -> list[str]:
        """Paths of the Parquet files."""
        return sorted(path for path in self.hashes if path.endswith(".parquet"))

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that change with any file."""
        lines = "".join(f"{path}\n{self.hashes[path]}\n" for path in sorted(self.hashes))
        return hashlib.sha256(lines.encode()).hexdigest()[:12]

    def path(self, name: str) -> Path:
        """Returns the path of a published file."""
        return self.replaced.get(name, self.folder / name)

    @property
    def has_catalogue_recipe(self) -> bool:
        """Whether the dataset has a recipe in the catalogue, and not one of a campaign or of the user."""
        return self.name in recipe_names()

    @property
    def labels_only_command(self) -> str:
        """Command that builds this dataset without its texts."""
        recipe = self.name if self.has_catalogue_recipe else "PATH/recipe.yaml"
        return f"fcconan build {recipe} --labels-only --out FOLDER"


def read_contents(folder: Path) -> Contents:
    """Reads a folder by `fcconan build`, and verifies its files against the manifest.

    Raises:
        InputError: The folder has no valid manifest, or a file is missing or was changed.
    """
    manifest = read_manifest(folder)
    hashes = {}
    for name, written in manifest["files"].items():
        if not is_release_file(name):
            raise InputError(
                f"{folder / MANIFEST} lists {name!r}, which is not a file of a build: build the folder again"
            )
        hashes[name] = file_sha256(folder / name) if (folder / name).is_file() else "none"
        if hashes[name] != written["sha256"]:
            raise InputError(
                f"{folder / name} was changed or removed since it was built (sha256 {hashes[name][:12]}, the manifest "
                f"has {written['sha256'][:12]}): build the folder again"
            )
    if CARD not in hashes:
        raise InputError(f"{folder} has no {CARD} in its manifest: build the folder again")
    hashes[MANIFEST] = file_sha256(folder / MANIFEST)
    present = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return Contents(folder, manifest, hashes, sorted(path for path in present if path not in hashes))
