"""Folders of pages that are written whole, and names of files in them."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from fcconan.data import new_folder
from fcconan.errors import InputError

LONGEST = 100  # letters of a name that a file's name takes up


def replace_folder(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Replaces a folder by new files in one step.

    Args:
        folder: The folder; its earlier content is removed.
        files: Path within the folder, content.

    Returns:
        The files, in order.

    Raises:
        InputError: The folder cannot be written.
    """
    folder = folder.absolute()
    try:
        with new_folder(folder) as stage:
            for name, content in files.items():
                path = stage / name
                path.parent.mkdir(parents=True, exist_ok=True)
                # A name that is not Unicode holds lone surrogates, which no file can.
                path.write_text(content, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{folder} cannot be written ({reason}): choose another folder for the report") from error
    return [folder / name for name in files]


def safe_names(names: Iterable[str], folder: str, suffix: str) -> dict[str, str]:
    """Returns a file for every name; no two share one, also where the file system ignores case."""
    taken: set[str] = set()
    files = {}
    for name in names:
        safe = "".join(letter if letter.isalnum() or letter in "-_.+" else "_" for letter in name[:LONGEST])
        free, count = safe, 1
        while free.lower() in taken:
            count += 1
            free = f"{safe}-{count}"
        taken.add(free.lower())
        files[name] = f"{folder}/{free}{suffix}"
    return files
