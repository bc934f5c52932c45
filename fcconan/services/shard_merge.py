"""One file of ratings from those of shards, in the order of a run without shards."""

from collections.abc import Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from fcconan.data import RATED, SCORED, check_row_target, read_rows, read_typed_rows
from fcconan.errors import InputError
from fcconan.services.model_results import written
from fcconan.services.options import PartSelection
from fcconan.services.rows import Source, open_rows

Row = Mapping[str, Any]


def merge_shards(
    files: Sequence[Path | str], replies: Source, out: Path | str, options: PartSelection = PartSelection()
) -> None:
    """Merges the files of `metrics --shard` or `judge rate --shard`; the result is that of one run without `--shard`.

    Several files are read as one by each command, too. The order of rows then differs from that of one run, and so do
    the samples of a bootstrap.

    Args:
        files: The files of all shards, in any order.
        replies: The replies of all shards.
        out: The file to write.
        options: The selection of replies, as for the shards.

    Raises:
        InputError: A file cannot be read or written, a reply is in no file or in two, or a rating has no reply.
    """
    check_row_target(Path(out))
    paths = [Path(file) for file in files]
    is_judged = any("strategy" in row for path in paths for row in islice(read_rows(path), 1))
    columns = (RATED if is_judged else SCORED).kinds
    parts = [list(read_typed_rows(path, columns)) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if any(name not in row for row in part for name in ("reply_id", "rater", "aspect")):
            raise InputError(f"{path}: found no ratings of replies, expected a file of metrics or judge rate: give one")
    place = {row["reply_id"]: number for number, row in enumerate(open_rows("replies", replies, options))}
    held = [reply for part in parts for reply in {row["reply_id"]: None for row in part}]
    if sorted(held) != sorted(place):
        raise InputError(
            f"the files have ratings of {len(set(held))} replies, {len(held) - len(set(held))} of them in two files, "
            f"expected each of the {len(place)} replies in one: give the file of each shard once, and their replies"
        )
    rows = [row for part in parts for row in part]
    series = {key: rank for rank, key in enumerate(dict.fromkeys((row["rater"], row["aspect"]) for row in rows))}
    raters = {key: rank for rank, key in enumerate(dict.fromkeys(row["rater"] for row in rows))}
    by_reply = bool(rows) and _is_by_reply(max(parts, key=len))

    def order(row: Row) -> tuple[Any, ...]:
        if not is_judged:
            return row["system"], series[row["rater"], row["aspect"]], place[row["reply_id"]]
        return (0 if by_reply else raters[row["rater"]]), place[row["reply_id"]]

    written([sorted(rows, key=order)], columns, Path(out))


def _is_by_reply(rows: Sequence[Row]) -> bool:
    """Returns whether all raters of a reply follow each other, as in the file of a panel."""
    _, first = next(groupby(rows, key=lambda row: row["reply_id"]))
    return {row["rater"] for row in first} == {row["rater"] for row in rows}
