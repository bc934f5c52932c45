"""Files that commands of `fcconan judge` may replace without `--force`: their own earlier output."""

from collections.abc import Callable
from pathlib import Path


def holds(*columns: str) -> Callable[[Path], bool]:
    """Returns a function that says whether a file is empty or has rows with certain columns."""

    def is_earlier_output(path: Path) -> bool:
        from fcconan.data import read_rows
        from fcconan.errors import InputError

        if not path.is_file():
            return True  # the check of targets refuses it
        try:
            first = next(iter(read_rows(path)), None)
        except InputError:
            first = None
        return not path.stat().st_size or (first is not None and set(columns) <= first.keys())

    return is_earlier_output
