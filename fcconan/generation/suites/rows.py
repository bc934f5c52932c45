"""Rows of a suite: replies of all systems to all items, and their judgements."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.data import Columns, RowWriter, read_typed_rows
from fcconan.errors import InputError
from fcconan.generation.items import GENERATED, Generated, Item, Row
from fcconan.generation.writing import row_maker
from fcconan.judging import COMPARISON_COLUMNS, RATED

NO_REPLY, SYSTEM_FAILED = "no_reply", "system_failed"
_BYTES = 4  # bytes per token, as in `fcconan.models.budget`


def complete_replies(system: str, items: Sequence[Item], file: Path) -> Iterator[Row]:
    """Yields a row for each item: the first reply in a file, or a missing reply with a reason.

    Args:
        system: Name of the system in the rows.
        items: The items.
        file: Output of `fcconan generate`; if it does not exist, the system failed.
    """
    found: dict[str, Row] = {}
    if file.is_file():
        for row in read_typed_rows(file, GENERATED):
            found.setdefault(row["item_id"], {**row, "system": system})
    strategy = next((row["strategy"] for row in found.values()), "")
    make = row_maker(system, strategy)
    reason = NO_REPLY if found else SYSTEM_FAILED
    for item in items:
        yield found.get(item.item_id) or make(item, Generated(None, reason))


def placeholder_replies(system: str, items: Iterable[Item], tokens: int) -> Iterator[Row]:
    """Yields distinct placeholder replies of a given length, for dry runs."""
    make = row_maker(system, "", flags=lambda *texts, **more: ())
    for number, item in enumerate(items):
        text = f"{system} {number} "
        yield make(item, Generated(text + "word" * max(1, tokens - len(text) // _BYTES)))


def write_replies(path: Path, rows: Iterable[Row]) -> None:
    """Writes replies.

    Raises:
        InputError: The file cannot be written.
    """
    _write(path, rows, GENERATED)


_JUDGEMENTS = {"ratings": (RATED, ("rater", "aspect")), "comparisons": (COMPARISON_COLUMNS, ("rater",))}


def join_judgements(kind: str, parts: Iterable[Path], path: Path) -> None:
    """Merges files of judgements into one.

    Args:
        kind: `ratings` or `comparisons`.
        parts: The files, one for each entry of the suite.
        path: The file to write.

    Raises:
        InputError: Two files have the same rater and, for ratings, the same aspect.
    """
    columns, key = _JUDGEMENTS[kind]
    rows, part_of = list[Row](), dict[tuple[str, ...], Path]()
    for part in parts:
        for row in read_typed_rows(part, columns):
            names = tuple(row[column] for column in key)
            if part_of.setdefault(names, part) != part:
                found = " and ".join(f"the {column} {name}" for column, name in zip(key, names, strict=True))
                raise InputError(f"two entries of {kind} have {found}: give one of them a `name`")
            rows.append(row)
    _write(path, rows, columns)


def model_raters(ratings: Path) -> list[str]:
    """Returns the raters of a file that are models, in order; all raters if none is a model."""
    kinds: dict[str, str | None] = {row["rater"]: row["rater_kind"] for row in read_typed_rows(ratings, RATED)}
    return [name for name, kind in kinds.items() if kind == "model"] or list(kinds)


def count_missing(replies: Path, ratings: Path | None, comparisons: Path | None) -> dict[str, int]:
    """Returns the numbers of replies without a text, model ratings without a value, and comparisons without a verdict.

    A comparison whose two orders disagree is not missing.
    """
    without: dict[str, int] = {"replies": sum(row["text"] is None for row in read_typed_rows(replies, GENERATED))}
    if ratings is not None:
        rows: Iterable[Mapping[str, Any]] = read_typed_rows(ratings, RATED)
        without["ratings"] = sum(row["value"] is None and row["rater_kind"] == "model" for row in rows)
    if comparisons is not None:
        rows = read_typed_rows(comparisons, COMPARISON_COLUMNS)
        without["verdicts"] = sum(row["verdict"] == "invalid" and row["reason"] != "orders_disagree" for row in rows)
    return without


def _write(path: Path, rows: Iterable[Row], columns: Columns) -> None:
    with RowWriter(path, columns) as writer:
        writer.write(list(rows))
