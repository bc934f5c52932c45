"""Atomic writes of files and folders, and the removal of stale temporary files."""

import ctypes
import errno
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def mark(prefix: str) -> str:
    """Returns the beginning of a name that this process may use under a folder, for `leftovers` to tell apart."""
    return f"{prefix}{_host()}-{os.getpid()}-"


def leftovers(folder: Path, prefix: str) -> list[Path]:
    """Returns the entries of a folder that a process of this host marked and that has ended since.

    What another host marked stays: whether its process still runs cannot be seen from here.
    """
    own = f"{prefix}{_host()}-"
    found = []
    for path in folder.iterdir():
        process = path.name.removeprefix(own).split("-")[0]
        if path.name.startswith(own) and process.isdigit() and not _is_running(int(process)):
            found.append(path)
    return found


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Makes a temporary folder, removes it in the end, and removes those that killed processes left.

    Args:
        prefix: What the names of these folders begin with.
    """
    with suppress(OSError):  # a folder that cannot be listed may still be written
        for stale in leftovers(Path(tempfile.gettempdir()), prefix):
            shutil.rmtree(stale, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=mark(prefix), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _host() -> str:
    return re.sub(r"\W", "_", socket.gethostname())


def _is_running(process: int) -> bool:
    if os.name != "posix":  # signal 0 asks whether a process is there only where there are signals
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


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
