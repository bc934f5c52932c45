"""Atomic writes of files and folders, and the removal of stale temporary files.

A process may end at any moment: a file or folder then has its old content or the new one. The new content is written
under a temporary name next to the old one, which carries host and process. The next write of the same file or folder
removes the temporary files of processes that have ended.
"""

import ctypes
import errno
import os
import re
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ASIDE = "-old"  # suffix of an old folder during its replacement
_AT_WORKING_FOLDER = -100
_EXCHANGE = 2


def write_whole(path: Path, text: str, *, errors: str = "strict") -> None:
    """Writes a file of text, whole or not at all.

    Args:
        path: The file.
        text: Its content.
        errors: The treatment of half characters, as in `str.encode`.

    Raises:
        OSError: As in `new_file`.
    """
    with new_file(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", errors))


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yields a temporary name for a file, and replaces the file at the end of the block.

    The temporary name has the same suffix. After an error in the block, the old file is unchanged.

    Args:
        path: The file, in a folder that exists.

    Raises:
        OSError: The file cannot be written, or the path names a device, a pipe or a socket.
    """
    if is_special(path):
        raise OSError(errno.EINVAL, "it is a device, a pipe or a socket")
    remove_stale(path)
    temporary = path.with_name(mark(f".{path.name}.") + f"{threading.get_ident()}{path.suffix}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yields an empty folder, and replaces the target folder with it at the end of the block.

    After an error in the block, the old folder is unchanged.

    Args:
        folder: The folder to replace or make.

    Raises:
        OSError: The folder cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_stale(folder)
    stage = Path(tempfile.mkdtemp(dir=folder.parent, prefix=mark(f".{folder.name}.")))
    try:
        stage.chmod(0o755)
        yield stage
        _put_in_place(stage, folder)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """Makes a temporary folder, and removes it at the end together with those of killed processes.

    Args:
        prefix: The beginning of the names of these folders.
    """
    with suppress(OSError):  # a folder that cannot be listed may still be written
        for stale in leftovers(Path(tempfile.gettempdir()), prefix):
            shutil.rmtree(stale, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=mark(prefix), ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def remove_stale(path: Path) -> None:
    """Removes stale temporary files of a file or folder, and restores an old folder that was moved aside."""
    with suppress(OSError):  # a folder that cannot be listed may still be written
        for stale in leftovers(path.parent, f".{path.name}."):
            if stale.name.endswith(ASIDE) and not path.exists():
                stale.rename(path)
            elif stale.is_dir():
                shutil.rmtree(stale, ignore_errors=True)
            else:
                stale.unlink()


def mark(prefix: str) -> str:
    """Returns the beginning of a temporary name of this process; `leftovers` finds such names later."""
    return f"{prefix}{_host()}-{os.getpid()}-"


def leftovers(folder: Path, prefix: str) -> list[Path]:
    """Returns temporary files and folders of processes of this host that have ended.

    Those of other hosts are left out, because their processes may still run.
    """
    own = f"{prefix}{_host()}-"
    found = []
    for path in folder.iterdir():
        process = path.name.removeprefix(own).split("-")[0]
        if path.name.startswith(own) and process.isdigit() and not _is_running(int(process)):
            found.append(path)
    return found


def _host() -> str:
    return re.sub(r"\W", "_", socket.gethostname())


def _is_running(process: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 would end the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def is_writable(path: Path) -> bool:
    """Returns whether a path names a file, or nothing yet, in an existing folder that accepts new files."""
    folder = path.absolute().parent
    return bool(path.name) and (path.is_file() or not path.exists()) and folder.is_dir() and os.access(folder, os.W_OK)


def is_special(path: Path) -> bool:
    """Returns whether a path is a device, a pipe or a socket, which the superuser could overwrite with a file."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _put_in_place(stage: Path, folder: Path) -> None:
    """Replaces a folder with the finished one. The old folder may remain under the name of the stage.

    Raises:
        OSError: The folder cannot be replaced. The old one is unchanged.
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
    """Exchanges two folders in one step where the system can (Linux); returns whether it did."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    status = rename(
        _AT_WORKING_FOLDER,
        os.fsencode(first.absolute()),
        _AT_WORKING_FOLDER,
        os.fsencode(second.absolute()),
        ctypes.c_uint(_EXCHANGE),
    )
    return bool(status == 0)
