"""The check that no command overwrites its input."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

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
