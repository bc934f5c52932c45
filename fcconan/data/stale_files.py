"""What killed processes left behind: files and folders that carry host and process id of whoever was writing them."""

import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
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
