"""Messages to reply to, and the replies."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fcconan.data import (
    GENERATED as GENERATED_SCHEMA,
    Columns,
    is_blank,
    make_cn_id,
    make_hs_id,
    make_item_id,
    message_codes,
    message_leakage_keys,
    normalise,
    optional_id,
    short_hash,
)
from fcconan.errors import InputError
from fcconan.generation.splits import DatasetSplit, is_judged, open_split
from fcconan.models import ChatRequest

Row = dict[str, Any]

GENERATED: Columns = GENERATED_SCHEMA.kinds


@dataclass(frozen=True)
class Item:
    """A message to reply to, with its references.

    Attributes:
        item_id: Id of message and references.
        hs_id: Id of the message.
        hate_speech: Text of the message.
        references: Human CNs for the message.
        language: Language code of the message, if the dataset has one.
        leakage_keys: Keys of the leakage group: hash of the message, upstream codes, hashes of the CNs. A training pair
            that shares one of them is not shown for the item.
    """

    item_id: str
    hs_id: str
    hate_speech: str
    references: tuple[str, ...] = ()
    language: str | None = None
    leakage_keys: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Example:
    """A training pair in a prompt.

    Attributes:
        pair_id: Id of the pair.
        cn_id: Id of the CN.
        hate_speech: Message of the pair.
        counter_narrative: Text of the CN.
        score: Similarity of its message to that of the item.
    """

    pair_id: str
    cn_id: str
    hate_speech: str
    counter_narrative: str
    score: float = 0.0


@dataclass(frozen=True)
class PromptContext:
    """Context of a prompt in addition to the message.

    Attributes:
        examples: Few-shot examples, in the order of the prompt.
        background: Background passages.
    """

    examples: tuple[Example, ...] = ()
    background: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generated:
    """The reply to one item.

    Attributes:
        text: Text of the reply; None if it is missing.
        reason: Reason of a missing reply.
        more: Further columns of `GENERATED`.
    """

    text: str | None
    reason: str | None = None
    more: Row = field(default_factory=dict)


class ExampleSource(Protocol):
    """Finds training pairs for an item, outside of its leakage group."""

    configuration: dict[str, Any]

    def prepare(self, items: Iterable[Item]) -> None:
        """Searches for many items in batches."""
        ...

    def find(self, item: Item) -> tuple[Example, ...]:
        """Returns the pairs, the best one first."""
        ...


@dataclass(frozen=True)
class Candidate:
    """A candidate reply.

    Attributes:
        text: Text without the reasoning before it and surrounding white space; None if it is missing.
        reason: Reason of a missing text.
        cut: Whether the text was cut at the token limit.
        model: Name of the model, as the endpoint reports it.
        prompt_tokens: Number of prompt tokens, as reported.
        completion_tokens: Number of generated tokens, as reported.
    """

    text: str | None
    reason: str | None = None
    cut: bool = False
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass
class ItemCandidates:
    """An item with its candidate replies.

    Attributes:
        item: The item.
        shown: Context of the prompt.
        calls: Requests to the model.
        reason: Reason if there are no requests.
        candidates: Candidates, in the order of the requests.
    """

    item: Item
    shown: PromptContext
    calls: list[ChatRequest]
    reason: str | None = None
    candidates: list[Candidate] = field(default_factory=list)


APPROPRIATE = "appropriate"


def load_items(
    source: Path,
    *,
    config: str | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    filter: Mapping[str, Collection[str]] | None = None,
    limit: int | None = None,
) -> list[Item]:
    """Reads items, in the order of the data.

    Rows of replies result in one item for each item id. Pairs result in one item for each message, with its appropriate
    CNs as references. Otherwise every row is an item; rows with equal message and references are one item.

    Args:
        source: A folder that `fcconan build` wrote, a BEIR folder, or a CSV, JSONL or parquet file with a column
            `hate_speech` and, where there are any, `references`, `counter_narrative`, `item_id`, `hs_id`, `language`.
        config: Config of the folder; by default its replies, else its pairs, else its queries.
        split: Split of the config; required if there are several.
        columns: Name of a column here -> its name in a file.
        filter: Column -> the values, as text, of the rows that are read; by default all rows are read.
        limit: Maximum number of items; by default all.

    Raises:
        InputError: The file, folder or part is missing; it holds no messages, an empty one, or two under one id.
    """
    part = open_split(source, config=config, split=split, columns=columns, filter=filter)
    rows = part.all_rows()
    for place, row in rows:
        if is_blank(str(row.get("hate_speech", ""))):
            raise InputError(f"{place}: hate_speech is empty; remove or correct that row")
    judged = is_judged(rows)
    paired = any("counter_narrative" in row for _, row in rows) and not any(row["references"] for _, row in rows)
    items = [_item(part, group, judged=judged) for group in _groups(rows, paired=paired)]
    return items if limit is None else items[:limit]


def describe_messages(part: DatasetSplit, items: Sequence[Item]) -> dict[str, Any]:
    """Describes the messages: dataset, fingerprint, config, split, number of items, and a hash of their content."""
    found: dict[str, Any] = {
        "name": part.dataset,
        "fingerprint": part.fingerprint,
        "config": part.config,
        "split": part.split,
        "items": len(items),
        "items_digest": short_hash(
            *(text for each in items for text in (each.item_id, each.hate_speech, *each.references))
        ),
    }
    return {key: value for key, value in found.items() if value is not None}


def _groups(rows: Sequence[tuple[str, Row]], *, paired: bool) -> list[list[Row]]:
    """Groups rows by item id; without ids, pairs by message, and other rows by message and references."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for place, row in rows:
        references = row["references"]
        if paired and row.get("label") in (None, "", APPROPRIATE) and row.get("counter_narrative", "").strip():
            references = (row["counter_narrative"],)
        message = optional_id(row, "hs_id", place) or make_hs_id(row["hate_speech"])
        item = optional_id(row, "item_id", place)
        kind, key = ("item", item) if item else ("message", message if paired else _item_id(message, references))
        same = groups.setdefault((kind, key), [])
        same.append({**row, "hs_id": message, "item_id": item, "references": references})
        if normalise(same[0]["hate_speech"]) != normalise(row["hate_speech"]):
            raise InputError(
                f"{place}: the {kind} {key} has another text in an earlier row; give every message an id of its own"
            )
    return list(groups.values())


def _item(part: DatasetSplit, rows: Sequence[Row], *, judged: bool) -> Item:
    first = rows[0]
    references = tuple(dict.fromkeys(text for row in rows for text in row["references"]))
    codes = {code for row in rows for code in message_codes(row, dataset=part.dataset, judged=judged)}
    return Item(
        item_id=first["item_id"] or _item_id(first["hs_id"], references),
        hs_id=first["hs_id"],
        hate_speech=first["hate_speech"],
        references=references,
        language=language_of_row(first) or part.language,
        leakage_keys=message_leakage_keys(first["hate_speech"], references, codes=codes, judged=judged),
    )


def _item_id(message: str, references: Sequence[str]) -> str:
    return make_item_id(message, [make_cn_id(text) for text in references])


def language_of_row(row: Mapping[str, Any]) -> str | None:
    """Returns the language code of a row, or None."""
    return row.get("text_language") or row.get("language") or None
