"""Files that commands of `fcconan judge` may replace without `--force`: their own earlier output."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def holds(*schemas: str) -> Callable[[Path, Any], bool]:
    """Returns a function that says whether a file is empty or an earlier output of the same models.

    Such an output has all columns, no row of a person, and no rater who is another model.

    Args:
        schemas: Names of the schemas in `fcconan.data` that the command writes.
    """

    def is_earlier_output(path: Path, options: Any) -> bool:
        from fcconan import data
        from fcconan.errors import InputError

        if not path.is_file() or not path.stat().st_size:
            return True  # the check of targets refuses what is no file
        columns = [getattr(data, name).kinds.keys() for name in schemas]
        try:
            rows = list(data.read_rows(path))
        except InputError:
            return False
        if not rows or not all(row.keys() in columns and row["rater_kind"] != "human" for row in rows):
            return False
        # The verdicts of a panel have a rater of their own.
        return getattr(options, "panel", None) is not None or {row["rater"] for row in rows} <= _raters(rows, options)

    return is_earlier_output


def _raters(rows: list[Any], options: Any) -> set[str]:
    """Returns the raters of rows whose names begin as those of the models, or that have the name that is given."""
    models = [options.model] if isinstance(options.model, str) else options.model
    names = [options.rater_name] if options.rater_name else []
    for model in () if names else models:
        kind, _, rest = model.partition(":")
        names += (
            [f"replay:{Path(rest).stem}"]
            if kind == "replay"
            else [rest, Path(rest).name]
            if kind == "local"
            else [model]
        )
    return {row["rater"] for row in rows if row["rater"].startswith(tuple(names))}
