"""Datasets and files by name, and the check that no command overwrites its input."""

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from fcconan.errors import InputError

_MANIFEST = "manifest.json"


def check_files(
    written: Mapping[str, Path | None], *, read: Iterable[Path | None] = (), folders: Iterable[Path | None] = ()
) -> None:
    """Checks, before anything is written, that results destroy nothing.

    Args:
        written: Option -> the file that it names; None where it names none.
        read: Files, and folders of datasets, that are read.
        folders: Folders of which every file counts: passages, local models.

    Raises:
        InputError: Two options name one file, a result would replace a device, a pipe or an input, or a result would be
            written into an input folder or a release.
    """
    inputs = [path for path in read if path is not None]
    whole = [path for path in folders if path is not None and path.is_dir()]
    seen: list[tuple[str, Path]] = []
    for option, path in written.items():
        if path is None or not path.name:
            continue
        if path.exists() and not path.is_file() and not path.is_dir():  # it would be replaced by a file
            raise InputError(f"{path} is a device or pipe; expected a file: choose another {option}")
        for folder in (*inputs, *path.resolve().parents):
            if path.resolve().is_relative_to(folder.resolve()) and _is_release(folder):
                raise InputError(
                    f"{path} is in the folder {folder}, which holds the release only: choose another {option}"
                )
        for folder in whole:
            if path.resolve().is_relative_to(folder.resolve()):
                raise InputError(f"{path} is in the folder {folder}, which is read: choose another {option}")
        for other in inputs:
            if _same(path, other):
                raise InputError(f"{path} is read, and {option} would destroy it: choose another {option}")
        for before, other in seen:
            if _same(path, other):
                raise InputError(f"{path} is named by {before} and {option}: give each a file of its own")
        seen.append((option, path))


def _same(path: Path, other: Path) -> bool:
    if path.resolve() == other.resolve():
        return True
    try:
        return path.samefile(other)  # two names of one file
    except OSError:
        return False


def _is_release(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    package = manifest.get("package") if isinstance(manifest, dict) else None
    return isinstance(package, dict) and package.get("name") == "fcconan"


FOLDER = "datasets"


def dataset_folder(name: str | Path) -> Path:
    """Returns the path of a file or folder of a name.

    An existing path comes first, then a dataset of the catalogue, then a dataset on the Hub (`owner/name`), which is
    downloaded. Any other name is returned unchanged, and its reader raises the error.

    Args:
        name: A path or a name.

    Raises:
        InputError: The dataset cannot be built or downloaded, or its files in the cache were changed.

    >>> dataset_folder("rows.csv")
    PosixPath('rows.csv')
    """
    from fcconan.data import release_folder

    return release_folder(str(built_folder(name)))


def built_folder(name: str | PathLike[str]) -> Path:
    """Returns a path as it is, and for the name of a dataset of the catalogue the folder that it is built into.

    An existing path comes first. A dataset is built into the cache (`$FCCONAN_CACHE`) on first use, and reused as long
    as its recipe and the version of this package are the same. A note on stderr reports the build.

    Args:
        name: A path or a name.

    Raises:
        InputError: The dataset cannot be built, or its files in the cache were changed.
    """
    from fcconan.data import recipe_names
    from fcconan.reproduction import Datasets

    path = Path(name)
    if path.exists() or str(name) not in recipe_names():
        return path
    folder = cached_folder(str(name))
    if not folder.exists():
        print(f"note: building {name} into {folder}, for this and later commands", file=sys.stderr)
    return Datasets(folder.parent).path(str(name))


def cached_folder(name: str) -> Path:
    """Returns the folder of a dataset in the cache; it depends on the recipe and the version of the package."""
    from fcconan.data import cache_folder, recipe_path

    recipe = hashlib.sha256(recipe_path(name).read_bytes()).hexdigest()[:12]
    return cache_folder() / FOLDER / f"{version('fcconan')}-{recipe}" / name


FORM = "DATASET[:CONFIG[:SPLIT]]"


class DatasetPart(NamedTuple):
    """A dataset, and the config and the split of it that are read; None for those that it is usually read from."""

    source: Path
    config: str | None
    split: str | None


def dataset_part(text: str | Path) -> DatasetPart:
    """Reads DATASET[:CONFIG[:SPLIT]]; a text that is a path as a whole is the dataset.

    A dataset of the catalogue is built where it is named.

    Raises:
        InputError: The dataset cannot be built.

    Examples:
        >>> dataset_part("pairs.csv:bronze:test")
        DatasetPart(source=PosixPath('pairs.csv'), config='bronze', split='test')
    """
    pieces = str(text).split(":")
    # The longest beginning that exists is the path: drives and some folders have colons.
    for number in range(len(pieces), max(len(pieces) - 3, 0), -1):
        path = Path(":".join(pieces[:number]))
        if path.exists():
            break
    else:
        number = max(1, len(pieces) - 2)
    config, split = (*pieces[number:], None, None)[:2]
    return DatasetPart(built_folder(":".join(pieces[:number])), config or None, split or None)
