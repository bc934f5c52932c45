"""The datasets that figures are computed from: built when they are first asked for."""

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fcconan.building import build, table_path
from fcconan.data import MANIFEST, content_folder, fetch, read_manifest, read_table, sha256_of
from fcconan.errors import InputError
from fcconan.reproduction.published import load_paper

Row = dict[str, Any]


class Datasets:
    """Built datasets by the name of their recipe.

    Args:
        folder: Where they are, or will be; a folder of its own for each. None: a temporary folder.

    Attributes:
        fingerprints: Of the datasets that were used.
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
        """Returns the folder of a dataset, built if it is not there.

        Raises:
            InputError: It cannot be built, or what is there is another dataset, has no texts or was changed.
        """
        assert self._folder is not None
        folder = self._folder / name
        if name not in self.fingerprints:
            kept = (folder / MANIFEST).is_file()
            if not kept:
                build(name, folder)
            manifest = read_manifest(folder)
            if manifest["name"] != name or manifest["labels_only"]:
                raise InputError(f"{folder} is not {name} with its texts: give another --data, or remove that folder")
            if kept:
                _check_files(folder, manifest)
            self.fingerprints[name] = manifest["fingerprint"]
        return folder

    def rows(self, name: str, config: str, split: str = "test") -> list[Row]:
        """Returns the rows of a split; callers share them and must not change them.

        Raises:
            InputError: As in `path`, or the split is unknown.
        """
        key = (name, config, split)
        if key not in self._rows:
            self._rows[key] = read_table(self.path(name) / table_path(config, split)).to_pylist()
        return self._rows[key]

    def source(self, paper: str, key: str) -> Path:
        """Returns an upstream file that a paper's figures are computed from and that no dataset holds.

        Raises:
            InputError: It cannot be had, or its hash differs.
        """
        found = fetch(load_paper(paper).sources[key], folder=content_folder())
        if found is None:
            raise InputError(f"{paper}: the file {key} cannot be had: connect to the network, or set FCCONAN_MIRROR")
        return found


def _check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Checks the files of a release against the hashes of its manifest, which the fingerprint names."""
    for name, written in manifest["files"].items():
        file = folder / name
        if not file.is_file() or sha256_of(file) != written["sha256"]:
            raise InputError(f"{file} is not as it was built: remove {folder}, so that it is built again")
