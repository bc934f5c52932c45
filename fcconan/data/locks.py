"""Locks: one process at a time changes a folder."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fcconan.errors import InputError

LOCK_FILE = ".lock"


@contextmanager
def locked(folder: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Makes a folder and holds its lock. A folder that is empty at the end is removed.

    Args:
        folder: The folder.
        wait: Seconds to wait for another process.

    Raises:
        InputError: Another process holds the lock, or the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LOCK_FILE, timeout=wait)
    try:
        while not lock.is_locked:
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # another process has removed the empty folder
                lock.acquire()
    except Timeout as error:
        raise InputError(f"another process is using {folder}: wait for it or choose another folder") from error
    except OSError as error:
        raise InputError(
            f"{folder} cannot be locked ({error.strerror or error}): check its permissions or choose another folder"
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK_FILE).unlink()  # waiting processes detect that their open file was deleted
            folder.rmdir()  # if it is empty
        lock.release()
