"""Locks: one process at a time changes a folder."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fcconan.errors import InputError

LOCK_FILE = ".lock"


@contextmanager
def locked(folder: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Makes a folder and holds its lock; a folder that is still empty in the end is removed.

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
            with suppress(FileNotFoundError):  # the process before removed the empty folder meanwhile
                lock.acquire()
    except Timeout as error:
        raise InputError(f"another process works on {folder}: wait for it or choose another folder") from error
    except OSError as error:
        raise InputError(
            f"{folder} cannot be locked ({error.strerror or error}): check its permissions or choose another folder"
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK_FILE).unlink()  # a waiting process notices that its open file has no name any more
            folder.rmdir()  # if it is empty
        lock.release()
