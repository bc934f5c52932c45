"""Files are written whole or not at all."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fcconan.leftovers import leftovers, mark


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
        OSError: The file cannot be written.
    """
    prefix = f".{path.name}."
    with suppress(OSError):  # a folder that cannot be listed may still be written
        for stale in leftovers(path.parent, prefix):
            stale.unlink()
    temporary = path.with_name(mark(prefix) + "whole")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()
