"""What killed processes left behind: files and folders that carry the id of the process that was writing them."""

import os
from pathlib import Path


def leftovers(folder: Path, prefix: str) -> list[Path]:
    """Returns the entries of a folder named `<prefix><process id>-...` whose process has ended."""
    found = []
    for path in folder.glob(f"{prefix}*"):
        process = path.name.removeprefix(prefix).split("-")[0]
        if process.isdigit() and not _is_running(int(process)):
            found.append(path)
    return found


def _is_running(process: int) -> bool:
    if os.name != "posix":  # signal 0 asks whether a process is there only where there are signals
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
