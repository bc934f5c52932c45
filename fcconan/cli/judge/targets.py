"""Files that commands of `fcconan judge` may replace without `--force`: their own earlier output."""

from collections.abc import Callable
from pathlib import Path


def holds(*schemas: str) -> Callable[[Path], bool]:
    """Returns a function that says whether a file is empty or an earlier output with all columns and no person's row.

    Args:
        schemas: Names of the schemas in `fcconan.data` that the command writes.
    """

    def is_earlier_output(path: Path) -> bool:
        from fcconan import data
        from fcconan.errors import InputError

        if not path.is_file() or not path.stat().st_size:
            return True  # the check of targets refuses what is no file
        columns = [getattr(data, name).kinds.keys() for name in schemas]
        try:
            rows = list(data.read_rows(path))
        except InputError:
            return False
        return bool(rows) and all(row.keys() in columns and row["rater_kind"] != "human" for row in rows)

    return is_earlier_output
