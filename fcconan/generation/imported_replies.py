"""Import of replies from other tools, matched with the items of a dataset."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.data import is_missing, make_cn_id, make_hs_id, make_item_id, make_reply_id, optional_id, short_hash
from fcconan.errors import InputError
from fcconan.generation.items import Generated, Item, Row
from fcconan.generation.splits import open_split

IMPORTED_STRATEGY = "imported"
EMPTY = "empty"
# Names of the text column, in order of preference.
_TEXTS = ("text", "reply", "response", "counter_speech", "counterspeech", "counter_narrative")
_MESSAGES = ("hate_speech", "item_id", "hs_id")
_COLUMNS = ("text", *_MESSAGES, "references", "system", "strategy", "reply_id")


class ImportedReplies:
    """Replies of a file or of a dataset folder, matched with items.

    A reply is matched by the id of its item, else by message and references, else by message: the only reply of a
    system to a message belongs to all items of that message, and as many replies as items are matched in order.

    Args:
        source: A CSV, JSONL or parquet file, or a folder that `fcconan build` wrote.
        items: Items of the dataset.
        config: Config of the folder; by default its replies.
        split: Split of the config; required if there are several.
        columns: Name of a column here (`text`, `hate_speech`, `item_id`, `references`, `system`, `strategy`) -> its
            name in the file.
        filter: Column -> the values, as text, of the rows that are read; by default all rows are read.
        system: System to read, if there is a column of systems; otherwise the name of the system, by default that of
            the file.

    Attributes:
        configuration: File and content.
        counts: `rows`; `left_out` (of other systems); `unknown` (answers to no item); `empty`; `repeated` (further
            replies of one system to one item); `missing`, for every system: items without a reply of it.

    Raises:
        InputError: The file cannot be read, lacks a column, has no reply of the system or to any of the items, or it
            is ambiguous to which of several items a reply belongs.
    """

    def __init__(
        self,
        source: Path,
        items: Sequence[Item],
        *,
        config: str | None = None,
        split: str | None = None,
        columns: Mapping[str, str] | None = None,
        filter: Mapping[str, Collection[str]] | None = None,
        system: str | None = None,
    ) -> None:
        self._items = items
        for each, theirs in (columns or {}).items():
            if each not in _COLUMNS:
                raise InputError(f"--rename {each}={theirs}: replies have no {each!r}, only {', '.join(_COLUMNS)}")
        rows = list(open_split(source, config=config, split=split, columns=columns, filter=filter).rows())
        _check_columns(rows[0][1], source)
        read = [_reply(row, place, system or source.stem) for place, row in rows]
        chosen = [row for row in read if system in (None, row["system"])]
        if not chosen:
            named = ", ".join(dict.fromkeys(row["system"] for row in read))
            raise InputError(f"{source} has no replies of {system!r}, but of {named}: name one of these")
        self._by_system: dict[str, dict[str, list[Generated]]] = {}
        unknown = self._match(chosen)
        if len(unknown) == len(chosen):
            raise InputError(
                f"none of the {len(chosen)} replies in {source} answers an item of the dataset: check the columns "
                "hate_speech and item_id (--rename), the dataset and its split"
            )
        found = [said for by_item in self._by_system.values() for said in by_item.values()]
        self.counts: dict[str, Any] = {
            "rows": len(read),
            "left_out": len(read) - len(chosen),
            "unknown": len(unknown),
            "empty": sum(each.text is None for said in found for each in said),
            "repeated": sum(len(said) - 1 for said in found),
            "missing": {name: len(items) - len(by_item) for name, by_item in self._by_system.items()},
        }
        texts = (short_hash(row["system"], row["message"], row["text"]) for row in read)
        self.configuration: dict[str, Any] = {
            "strategy": IMPORTED_STRATEGY,
            "file": source.name,
            "content": short_hash(*texts),
        }

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems with a reply to one of the items, in the order of the file."""
        return tuple(self._by_system)

    def iter_replies(self, system: str) -> Iterator[tuple[Item, Generated]]:
        """Yields every reply of a system with its item, in the order of the items."""
        for item in self._items:
            for each in self._by_system[system].get(item.item_id, ()):
                yield item, each

    def notes(self) -> list[str]:
        """Returns notes on unmatched, repeated and missing replies, one sentence each."""
        counts, said = self.counts, []
        if counts["unknown"]:
            said.append(f"{counts['unknown']} of {counts['rows']} replies answer no message of the dataset: left out.")
        if counts["repeated"]:
            said.append(
                f"Further replies of the same system to the same item: {counts['repeated']}. All are retained; "
                "`fcconan judge compare` uses one."
            )
        lacking = {name: number for name, number in counts["missing"].items() if number}
        if lacking:
            told = ", ".join(f"{name} {number}" for name, number in lacking.items())
            said.append(f"Items without a reply, of {len(self._items)}: {told}.")
        return said

    def _match(self, rows: Sequence[Row]) -> list[Row]:
        """Matches replies with items; returns the replies without an item."""
        by_id = {item.item_id: item for item in self._items}
        of_message: dict[str, list[Item]] = {}
        for item in self._items:
            of_message.setdefault(make_hs_id(item.hate_speech), []).append(item)
        unknown: list[Row] = []
        open_: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            named = next((each for each in row["items"] if each in by_id), None)
            if named is not None:
                self._put(by_id[named], row)
            elif row["message"] in of_message:
                open_.setdefault((row["system"], row["message"]), []).append(row)
            else:
                unknown.append(row)
        for (system, message), replies in open_.items():
            items = of_message[message]
            if len(replies) == 1 or len(items) == 1:
                pairs = [(item, reply) for item in items for reply in replies]
            elif len(replies) == len(items):
                pairs = list(zip(items, replies, strict=True))
            else:
                raise InputError(
                    f"{replies[0]['place']}: {system} has {len(replies)} replies to this message, of which the dataset "
                    f"has {len(items)} items: add a column item_id or references"
                )
            for item, reply in pairs:
                self._put(item, reply)
        return unknown

    def _put(self, item: Item, row: Row) -> None:
        text = row["text"].strip() or None
        said = self._by_system.setdefault(row["system"], {}).setdefault(item.item_id, [])
        own = make_reply_id(item.item_id, row["system"], text or "", str(len(said)) if said else "")
        # With its old id, a reply still matches its ratings.
        kept = row["reply_id"] if row["items"][:1] == [item.item_id] else None
        more = {"reply_id": kept or own, "strategy": row["strategy"] or IMPORTED_STRATEGY}
        said.append(Generated(text, None if text else EMPTY, more))


def _check_columns(row: Row, source: Path) -> None:
    if not any(name in row for name in _TEXTS) or not any(name in row for name in _MESSAGES):
        raise InputError(
            f"{source} has the columns {', '.join(row)}, expected `text` and one of {', '.join(_MESSAGES)}: name them "
            "with --rename text=COLUMN"
        )


def _reply(row: Row, place: str, name: str) -> Row:
    text = next((row[each] for each in _TEXTS if each in row), None)
    text = "" if is_missing(text) else text
    if not isinstance(text, str):
        raise InputError(f"{place}: the reply is {repr(text)[:40]}, expected a text; correct that row")
    said = row.get("hate_speech") or ""
    message = make_hs_id(said) if said else optional_id(row, "hs_id", place) or ""
    references = [make_cn_id(each) for each in row["references"]]
    items = [optional_id(row, "item_id", place), make_item_id(message, references) if message else None]
    return {
        "text": text,
        "message": message,
        "items": [each for each in items if each],
        "system": optional_id(row, "system", place) or name,
        "strategy": row.get("strategy") or None,
        "reply_id": optional_id(row, "reply_id", place),
        "place": place,
    }
