"""What is to be published: the files of a dataset folder, each of them as its manifest says."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcconan.data import CARD, MANIFEST, read_manifest, sha256_of
from fcconan.errors import InputError

# What a build writes. Nothing else is published: in tables it is known where text is.
_FILE = re.compile(rf"{re.escape(CARD)}|\w[\w.-]*/\w[\w.-]*\.parquet")


def is_built(path: str) -> bool:
    """Whether a file has the name of the card or of a table."""
    return _FILE.fullmatch(path) is not None


@dataclass(frozen=True)
class Contents:
    """A dataset folder whose files are what its manifest says.

    Attributes:
        folder: The folder.
        manifest: The content of its `manifest.json`.
        hashes: The sha256 of every file to publish, by its path in the folder, the manifest included.
        left_out: Files of the folder that no build wrote; they stay here.
        notes: Remarks for the user.
    """

    folder: Path
    manifest: dict[str, Any]
    hashes: dict[str, str]
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The dataset's name."""
        return str(self.manifest["name"])

    @property
    def is_rows(self) -> bool:
        """Whether it was made of rows, runs or results, not by a build."""
        return self.manifest.get("kind") == "rows"

    @property
    def title(self) -> str:
        """What people call it: rows have no name of their own."""
        return str(self.manifest["title"]) if self.is_rows else self.name

    @property
    def tables(self) -> list[str]:
        """The paths of the Parquet files."""
        return sorted(path for path in self.hashes if path.endswith(".parquet"))

    @property
    def digest(self) -> str:
        """12 hexadecimal digits that change with any file."""
        lines = "".join(f"{path}\n{self.hashes[path]}\n" for path in sorted(self.hashes))
        return hashlib.sha256(lines.encode()).hexdigest()[:12]

    def path(self, name: str) -> Path:
        """Returns where a file lies."""
        return self.folder / name


def read_contents(folder: Path) -> Contents:
    """Reads a folder that `fcconan build` wrote, and checks every file against its manifest.

    Raises:
        InputError: The folder is none, or a file is missing or not as it was built.
    """
    manifest = read_manifest(folder)
    hashes = {}
    for name, written in manifest["files"].items():
        if not is_built(name):
            raise InputError(f"{folder / MANIFEST} names the file {name!r}, which no build writes: build it again")
        hashes[name] = sha256_of(folder / name) if (folder / name).is_file() else "none"
        if hashes[name] != written["sha256"]:
            raise InputError(
                f"{folder / name} was changed or removed since it was built (sha256 {hashes[name][:12]}, the manifest "
                f"says {written['sha256'][:12]}): build the folder again"
            )
    if CARD not in hashes:
        raise InputError(f"{folder} has no {CARD} in its manifest: build the folder again")
    hashes[MANIFEST] = sha256_of(folder / MANIFEST)
    present = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return Contents(folder, manifest, hashes, sorted(path for path in present if path not in hashes))
