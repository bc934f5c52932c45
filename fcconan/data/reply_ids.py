"""Ids of replies: the `reply_id` of the row, or else an id computed by a versioned rule.

Version 2 of the rule: the id is a hash of the item, the system, the normalised reply and `source_id`. Their values come
from the columns with the names of this package, without any column mapping. The id of a row is thus independent of the
mapping. Missing values have defaults: the item of the message and its references, the system `unknown`, an empty
`source_id`. If rows of one table have the same hash but different mapped systems or items, the second row gets `/2` as
part of its `source_id`, the third `/3`, in the order of the rows.

Version 1 used the mapped columns. Ratings with ids of version 1 are still readable: `ReplyIds.complete` returns both.
Without a mapping, both versions give the same ids.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from fcconan.data import ids
from fcconan.data.columns import TEXTS, first_column
from fcconan.data.ids import cell_list, is_missing, optional_id
from fcconan.data.schemas import ABOUT_REPLY
from fcconan.errors import InputError

UNKNOWN = "unknown"
Row = dict[str, Any]
_IN_ID = frozenset({"item_id", "hs_id", "system", "source_id", "references"})


class ReplyIds:
    """Completes the rows of one table of replies, and raises an error for duplicate replies."""

    def __init__(self) -> None:
        # Hashes, as ids are long.
        self._earlier: set[int] = set()
        self._ids: set[int] = set()
        self._further: Counter[int] = Counter()  # rows with the digest of an earlier one

    def complete(self, row: Row, names: Mapping[str, str | None], place: str) -> tuple[Row, str]:
        """Returns a row with texts and ids, and its id by version 1 of the rule.

        Args:
            row: The row of the file.
            names: Mapping from each mapped or text column of this package to its name in the row, or None.
            place: Position of the row, for messages.

        Raises:
            InputError: An id or a text has another type, or the reply is a duplicate.
        """
        found = {**row, **{name: row.get(theirs) if theirs else None for name, theirs in names.items()}}
        for name in ("text", "hate_speech"):
            found[name] = "" if is_missing(found[name]) else _text(found[name], name, place)
        found["references"] = _references(found["references"], place)
        given = optional_id(found, "reply_id", place) or optional_id(found, "pair_id", place)
        found["hs_id"], found["item_id"], found["system"], source = _about(found, place)
        earlier = given or ids.make_reply_id(found["item_id"], found["system"], found["text"], source)
        self._check_new(self._earlier, earlier, place)
        found["reply_id"] = given or self._new_id(row, found, names, earlier, place)
        self._check_new(self._ids, found["reply_id"], place)
        return found, earlier

    @staticmethod
    def _check_new(seen: set[int], key: str, place: str) -> None:
        if hash(key) in seen:
            raise InputError(
                f"{place}: the reply {key} is a duplicate; remove one, or distinguish them by a column `reply_id`"
            )
        seen.add(hash(key))

    def _new_id(self, row: Row, found: Row, names: Mapping[str, str | None], earlier: str, place: str) -> str:
        own, key = found, earlier
        if any(names.get(name) not in (None, name) for name in _IN_ID):
            theirs = first_column(row, "references")
            references = _references(row[theirs] if theirs else None, place)
            own = {**row, "hate_speech": found["hate_speech"], "text": found["text"], "references": references}
            key = _digest(own, place)
        if hash(key) not in self._ids:
            return key
        self._further[hash(key)] += 1
        return _digest(own, place, f"/{self._further[hash(key)] + 1}")


def reply_metadata(row: Mapping[str, Any]) -> Row:
    """Returns the reply columns of a rating: item, HS and system; None for unknown values.

    >>> reply_metadata({"item_id": "it-1", "system": "unknown", "text": "No."})
    {'item_id': 'it-1', 'hs_id': None, 'system': None}
    """
    return {name: None if row.get(name) == UNKNOWN else row.get(name) for name in ABOUT_REPLY}


def text_columns(row: Row, rename: Mapping[str, str]) -> dict[str, str | None]:
    """Returns the name in the row of each mapped column and each text column.

    Names depend on the columns only, not on empty cells, and are therefore determined once per file.
    """
    names: dict[str, str | None] = {name: theirs for name, theirs in rename.items() if theirs in row}
    return names | {name: first_column(row, name) for name in TEXTS if name not in names}


def later_columns(row: Row, names: Mapping[str, str | None]) -> dict[str, str]:
    """Returns columns of this row that the first row of a JSONL file lacks."""
    return {name: found for name, theirs in names.items() if theirs is None and (found := first_column(row, name))}


def _about(row: Row, place: str) -> tuple[str, str, str, str]:
    """Returns HS, item, system and record of a row whose texts are complete."""
    hs = optional_id(row, "hs_id", place) or ids.make_hs_id(row["hate_speech"])
    item = optional_id(row, "item_id", place) or ids.make_item_id(
        hs, [ids.make_cn_id(text) for text in row["references"]]
    )
    return hs, item, optional_id(row, "system", place) or UNKNOWN, optional_id(row, "source_id", place) or ""


def _digest(row: Row, place: str, further: str = "") -> str:
    _, item, system, source = _about(row, place)
    return ids.make_reply_id(item, system, row["text"], source + further)


def _text(value: Any, name: str, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{place}: {name} is {repr(value)[:40]}, expected a text; correct the row, or name the column of "
            f"texts with --rename {name}=COLUMN"
        )
    return value


def _references(value: Any, place: str) -> list[str]:
    listed = [] if is_missing(value) else cell_list(value)
    return [_text(each, "references", place) for each in listed if each is not None]
