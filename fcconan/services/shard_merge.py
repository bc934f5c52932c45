"""One file of ratings from those of shards, in the order of a run without shards."""

from collections.abc import Mapping, Sequence
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from fcconan.data import RATED, SCORED, check_row_target, read_rows, read_typed_rows
from fcconan.errors import InputError
from fcconan.services.model_results import written
from fcconan.services.options import PartSelection
from fcconan.services.rows import Source, open_rows

Row = Mapping[str, Any]


def merge_shards(
    files: Path | str | Sequence[Path | str], replies: Source, out: Path | str, options: PartSelection = PartSelection()
) -> None:
    """Merges the files of `metrics --shard` or `judge rate --shard`; the result is that of one run without `--shard`.

    Several files are read as one by each command, too. The order of rows then differs from that of one run, and so do
    the samples of a bootstrap.

    Args:
        files: The files of all shards, in any order; a path is one file.
        replies: The replies of all shards.
        out: The file to write, which must be new.
        options: The selection of replies, as for the shards.

    Raises:
        InputError: A file cannot be read or written, `out` is there already, the files are of different runs, a reply
            is in no file or in two, or a rating has no reply.
    """
    paths = _paths(files)
    check_row_target(out := Path(out))
    if out.resolve() in [path.resolve() for path in paths]:
        raise InputError(f"{out}: found one of the files to merge, expected a new file: choose another file")
    if out.exists():
        raise InputError(f"{out}: found a file, expected a new one: choose another file or remove it")
    is_judged = any("strategy" in row for path in paths for row in islice(read_rows(path), 1))
    columns = (RATED if is_judged else SCORED).kinds
    parts = [list(read_typed_rows(path, columns)) for path in paths]
    for path, part in zip(paths, parts, strict=True):
        if any(name not in row for row in part for name in ("reply_id", "rater", "aspect")):
            raise InputError(f"{path}: found no ratings of replies, expected a file of metrics or judge rate: give one")
    _check_series(paths, parts)
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

    def order(row: Row) -> tuple[Any, ...]:
        if not is_judged:
            return row["system"], series[row["rater"], row["aspect"]], place[row["reply_id"]]
        return raters[row["rater"]], place[row["reply_id"]]

    written([sorted(rows, key=order)], columns, out)


def _paths(files: Path | str | Sequence[Path | str]) -> list[Path]:
    """Returns the paths of the files to merge.

    Raises:
        InputError: The list is empty, or an entry is not a path.
    """
    given: Any = [files] if isinstance(files, str | PathLike) else files
    is_list = isinstance(given, Sequence) and len(given) > 0
    if not is_list or not all(isinstance(file, str | PathLike) for file in given):
        raise InputError(f"files is {files!r:.60}, expected paths: give a list of the files of all shards")
    return [Path(file) for file in given]


def _check_series(paths: Sequence[Path], parts: Sequence[Sequence[Row]]) -> None:
    """Checks that all files with ratings have the same raters and aspects; a shard without items has no rating.

    Raises:
        InputError: They are of different runs.
    """
    first: tuple[Path, set[tuple[Any, Any]]] | None = None
    for path, part in zip(paths, parts, strict=True):
        found = {(row["rater"], row["aspect"]) for row in part}
        if not found:
            continue
        first = first or (path, found)
        if others := sorted(f"{rater}/{aspect}" for rater, aspect in found ^ first[1]):
            raise InputError(
                f"{path}: found other raters or aspects than in {first[0]} (such as {others[0]}), expected the same in "
                "all files: give the shards of one run"
            )
