"""Files are written whole or not at all."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fcconan.data.stale_files import leftovers, mark


def may_be_written(path: Path) -> bool:
    """Returns whether a path names a file, or nothing yet, in a folder that is there and accepts new files."""
    folder = path.absolute().parent
    return bool(path.name) and (path.is_file() or not path.exists()) and folder.is_dir() and os.access(folder, os.W_OK)


def is_special(path: Path) -> bool:
    """Returns whether a path names a device, a pipe or a socket, which the superuser could replace by a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_whole(path: Path, text: str, *, errors: str = "strict") -> None:
    """Writes a file under a temporary name and renames it.

    What killed processes left of the same file is removed.

    Args:
        path: The file.
        text: Its content.
        errors: What is done with half characters, as in `str.encode`.

    Raises:
        OSError: The file cannot be written.
    """
    write_whole_bytes(path, [text.encode("utf-8", errors)])


def write_whole_bytes(path: Path, parts: Iterable[bytes]) -> None:
    """Writes a file as `write_whole` does, from parts that need not be in memory together.

    Args:
        path: The file.
        parts: Its content, in order.

    Raises:
        OSError: The file cannot be written, or the path names a device, a pipe or a socket.
    """
    prefix = f".{path.name}."
    with suppress(OSError):  # a folder that cannot be listed may still be written
        for stale in leftovers(path.parent, prefix):
            stale.unlink()
    if is_special(path):
        raise OSError(errno.EINVAL, "it is a device, a pipe or a socket")
    temporary = path.with_name(mark(prefix) + "whole")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()
