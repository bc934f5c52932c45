"""Datasets by the names that users give: a path, a name of the catalogue, or a name on the Hub."""

import hashlib
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

FOLDER = "datasets"


def dataset_folder(name: str | Path, *, notice: Callable[[str], None] | None = None) -> Path:
    """Returns the path of a file or folder that a name stands for.

    An existing path comes first, then a dataset of the catalogue, then a dataset on the Hub (`owner/name`), which is
    downloaded. Anything else is returned as it is; its reader says what it lacks.

    Args:
        name: A path or a name.
        notice: As in `built_folder`.

    Raises:
        InputError: The dataset cannot be built or downloaded, or its files in the cache were changed.

    >>> dataset_folder("rows.csv")
    PosixPath('rows.csv')
    """
    from fcconan.data import release_folder

    return release_folder(str(built_folder(name, notice=notice)))


def built_folder(name: str | Path, *, notice: Callable[[str], None] | None = None) -> Path:
    """Returns a path as it is, and for the name of a dataset of the catalogue the folder that it is built into.

    An existing path comes first. A dataset is built into the cache (`$FCCONAN_CACHE`) on first use, and reused as long
    as its recipe and the version of this package are the same.

    Args:
        name: A path or a name.
        notice: Gets the line that says that a dataset is being built; by default it goes to stderr.

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
        (notice or _to_stderr)(f"note: building {name} into {folder}, for this and later commands")
    return Datasets(folder.parent).path(str(name))


def cached_folder(name: str) -> Path:
    """Returns where the dataset of a recipe is kept in the cache: another folder for another recipe or version."""
    from fcconan.data import cache_folder, recipe_path

    recipe = hashlib.sha256(recipe_path(name).read_bytes()).hexdigest()[:12]
    return cache_folder() / FOLDER / f"{version('fcconan')}-{recipe}" / name


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
