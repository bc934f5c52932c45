"""Folders are written whole or not at all: beside the old one under a temporary name, and then in its place."""

import ctypes
import os
import shutil
import tempfile
from pathlib import Path

from fcconan.data.stale_files import leftovers, mark

ASIDE = "-old"  # what a folder's name ends with while another takes its place
AT_WORKING_FOLDER = -100
EXCHANGE = 2


def new_stage(folder: Path, prefix: str) -> Path:
    """Makes the folder to write into, beside the one that it will replace.

    What killed processes left there is removed, and a folder that one had moved aside is put back.

    Args:
        folder: The folder to replace.
        prefix: What names of stages begin with.

    Raises:
        OSError: The folder cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_stale(folder, prefix)
    stage = Path(tempfile.mkdtemp(dir=folder.parent, prefix=mark(prefix)))
    stage.chmod(0o755)
    return stage


def put_in_place(stage: Path, folder: Path) -> None:
    """Puts the finished folder in the place of the old one, which may end up under the stage's name.

    Raises:
        OSError: The folder cannot be put there; the old one is where it was.
    """
    if not folder.exists():
        stage.rename(folder)
        return
    if exchange(stage, folder):
        return
    # Without an atomic exchange: if the process ends between the two renames, the old folder is next to the new one.
    aside = stage.with_name(stage.name + ASIDE)
    folder.rename(aside)
    try:
        stage.rename(folder)
    except OSError:
        aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def exchange(first: Path, second: Path) -> bool:
    """Swaps two folders in one step where the system can (Linux), and says whether it did."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    status = rename(
        AT_WORKING_FOLDER,
        os.fsencode(first.absolute()),
        AT_WORKING_FOLDER,
        os.fsencode(second.absolute()),
        ctypes.c_uint(EXCHANGE),
    )
    return bool(status == 0)


def remove_stale(folder: Path, prefix: str) -> None:
    """Removes what killed processes left next to a folder, and puts back an old folder that one had moved aside."""
    for path in leftovers(folder.parent, prefix):
        if path.name.endswith(ASIDE) and not folder.exists():
            path.rename(folder)
        else:
            shutil.rmtree(path, ignore_errors=True)
