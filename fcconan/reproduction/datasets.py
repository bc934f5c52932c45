"""The datasets behind the recomputed values, built on first use."""

from pathlib import Path
from typing import Any

from fcconan.building import build, table_path
from fcconan.data import MANIFEST, content_folder, fetch, file_sha256, read_manifest, read_table
from fcconan.errors import InputError
from fcconan.reproduction.published import load_paper

Row = dict[str, Any]


class Datasets:
    """Datasets of the catalogue, built on first use.

    Args:
        folder: Folder with one subfolder per dataset.

    Attributes:
        fingerprints: Fingerprints of the datasets used so far, by name of the recipe.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.fingerprints: dict[str, str] = {}
        self._rows: dict[tuple[str, str, str], list[Row]] = {}

    def path(self, name: str) -> Path:
        """Returns the folder of a dataset; a missing dataset is built.

        Raises:
            InputError: The dataset cannot be built, or the folder holds another, a labels-only or a changed dataset.
        """
        folder = self._folder / name
        if name not in self.fingerprints:
            exists = (folder / MANIFEST).is_file()
            if not exists:
                build(name, out=folder)
            manifest = read_manifest(folder)
            if manifest["name"] != name or manifest["labels_only"]:
                raise InputError(
                    f"{folder} is not {name} with its texts: give another --data-dir, or remove the folder"
                )
            for file, written in manifest["files"].items() if exists else ():
                if not (folder / file).is_file() or file_sha256(folder / file) != written["sha256"]:
                    raise InputError(f"{folder / file} was changed after the build: remove {folder} to build it again")
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
        assert found is not None  # only optional files may be missing
        return found
