"""Atomic writes: a file or folder has its old content or the new one, also if the process ends at any moment."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Writes a file of text in UTF-8, whole or not at all."""
    with new_file(path) as temporary:
        temporary.write_bytes(text.encode())


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yields a temporary name with the same suffix, and replaces the file at the end of the block.

    After an error in the block, the old file is unchanged.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yields an empty folder, and replaces the target folder with it at the end of the block.

    After an error in the block, the old folder is unchanged.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as place:
        stage = Path(place) / "new"
        stage.mkdir()
        yield stage
        if folder.exists():
            folder.rename(Path(place) / "old")
        stage.rename(folder)
