"""The datasets behind the recomputed values, built on first use."""

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fcconan.building import build, table_path
from fcconan.data import MANIFEST, content_folder, fetch, file_sha256, read_manifest, read_table
from fcconan.errors import InputError
from fcconan.reproduction.published import load_paper

Row = dict[str, Any]


class Datasets:
    """Datasets of the catalogue, built on first use.

    Args:
        folder: Folder with one subfolder per dataset; None for a temporary folder.

    Attributes:
        fingerprints: Fingerprints of the datasets used so far, by name of the recipe.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._temporary = tempfile.TemporaryDirectory() if folder is None else None
        self._folder = Path(self._temporary.name) if self._temporary is not None else folder
        self.fingerprints: dict[str, str] = {}
        self._rows: dict[tuple[str, str, str], list[Row]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def path(self, name: str) -> Path:
        """Returns the folder of a dataset; a missing dataset is built.

        Raises:
            InputError: The dataset cannot be built, or the folder holds another, a labels-only or a changed dataset.
        """
        assert self._folder is not None
        folder = self._folder / name
        if name not in self.fingerprints:
            exists = (folder / MANIFEST).is_file()
            if not exists:
                build(name, folder)
            manifest = read_manifest(folder)
            if manifest["name"] != name or manifest["labels_only"]:
                raise InputError(
                    f"{folder} is not {name} with its texts: give another --data-dir, or remove the folder"
                )
            if exists:
                _check_files(folder, manifest)
            self.fingerprints[name] = manifest["fingerprint"]
        return folder

    def rows(self, name: str, config: str, split: str = "test") -> list[Row]:
        """Returns the rows of a split. The list is shared: callers must not change it.

        Raises:
            InputError: The split is unknown, or `path` fails.
        """
        key = (name, config, split)
        if key not in self._rows:
            self._rows[key] = read_table(self.path(name) / table_path(config, split)).to_pylist()
        return self._rows[key]

    def source(self, paper: str, key: str) -> Path:
        """Returns an upstream file of `Paper.sources`.

        Raises:
            InputError: The file is unavailable, or its hash differs.
        """
        found = fetch(load_paper(paper).sources[key], folder=content_folder())
        if found is None:
            raise InputError(f"{paper}: the file {key} is unavailable: connect to the network, or set FCCONAN_MIRROR")
        return found


def _check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Checks the files of a dataset against the hashes in its manifest."""
    for name, written in manifest["files"].items():
        file = folder / name
        if not file.is_file() or file_sha256(file) != written["sha256"]:
            raise InputError(f"{file} was changed after the build: remove {folder} to build it again")
