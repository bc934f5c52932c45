"""Files that commands of `fcconan judge` may replace without `--force`: their own earlier output."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


def holds(*schemas: str) -> Callable[[Path, Any], bool]:
    """Returns a function that checks whether a file is empty or an earlier output of the same models.

    Such an output has all columns, no row of a person, no rater who is another model, and no item of another shard.

    Args:
        schemas: Names of the schemas in `fcconan.data` that the command writes.
    """

    def is_earlier_output(path: Path, options: Any) -> bool:
        from fcconan import data
        from fcconan.oldcli.targets import has_own_rows

        columns = [getattr(data, name).kinds.keys() for name in schemas]
        return has_own_rows(
            path,
            lambda row: (
                row.keys() in columns
                and row["rater_kind"] != "human"
                and _is_own_rater(row, options)
                and _is_in_shard(row, options)
            ),
        )

    return is_earlier_output


def _is_own_rater(row: dict[str, Any], options: Any) -> bool:
    """Returns whether the rater of a row is one of the models, or has the name that is given."""
    from fcconan.oldcli.targets import name_of_model

    rater = str(row["rater"])
    before = rater.rpartition(":")[0]
    if options.rater_name:
        return bool(rater == options.rater_name)
    if before == "learned":
        return any(name.startswith("learned:") for name in options.model)
    return before in map(name_of_model, options.model)


def _is_in_shard(row: dict[str, Any], options: Any) -> bool:
    """Returns whether a row is certain to be of the shard that is given, if any; votes do not name their item."""
    if getattr(options, "shard", None) is None:
        return True
    item = row.get("item_id")
    return item is not None and bool(options.portion.holds(str(item)))
