"""Messages that generators answer, and the replies to them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fcconan.data import (
    GENERATED as GENERATED_SCHEMA,
    Columns,
    codes_of_row,
    id_of,
    is_blank,
    kin_of,
    make_cn_id,
    make_hs_id,
    make_item_id,
    normalise,
)
from fcconan.errors import InputError
from fcconan.generation.splits import Part, is_judged, open_part
from fcconan.models import Call

Row = dict[str, Any]

GENERATED: Columns = GENERATED_SCHEMA.kinds


@dataclass(frozen=True)
class Item:
    """One message to answer, with its references.

    Attributes:
        item_id: Of the message and its references.
        hs_id: Of the message.
        hate_speech: The message.
        references: CNs that people wrote for it.
        language: Code of its language, where the dataset names one.
        kin: Everything that tells which messages are this one in other words: its id, its upstream codes, the ids of
            its CNs. A training pair that shares any of these may not be shown for it.
    """

    item_id: str
    hs_id: str
    hate_speech: str
    references: tuple[str, ...] = ()
    language: str | None = None
    kin: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Example:
    """A pair of the training part that a prompt shows, or the CN of one that is offered as an answer.

    Attributes:
        pair_id: Of the pair.
        cn_id: Of the CN.
        hate_speech: The message that it was written for; empty for a CN of a catalogue.
        counter_narrative: The CN.
        score: How near it is to the message that is answered, by whatever found it.
    """

    pair_id: str
    cn_id: str
    hate_speech: str
    counter_narrative: str
    score: float = 0.0


@dataclass(frozen=True)
class Shown:
    """What a prompt shows besides the message.

    Attributes:
        examples: Pairs, in the order in which they are shown.
        candidates: Pairs whose CNs are offered, the best one first.
        background: Passages about the message.
    """

    examples: tuple[Example, ...] = ()
    candidates: tuple[Example, ...] = ()
    background: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generated:
    """What came of one item.

    Attributes:
        text: The reply; None where there is none.
        reason: Why there is none.
        more: Further columns of `GENERATED`.
    """

    text: str | None
    reason: str | None = None
    more: Row = field(default_factory=dict)


class Source(Protocol):
    """Finds training pairs for an item; never one that shares any of its kin."""

    configuration: dict[str, Any]

    def prepare(self, items: Iterable[Item]) -> None:
        """Looks for many items at once, which is faster."""
        ...

    def of(self, item: Item) -> tuple[Example, ...]:
        """Returns the pairs, the best one first."""
        ...


@dataclass(frozen=True)
class Candidate:
    """One answer to a message.

    Attributes:
        text: Its words, without what the model thought before and white space around them; None where there are none.
        reason: Why there are none.
        cut: Whether it was cut at its longest.
        model: The name under which the model answered.
        prompt_tokens: As the model counts.
        completion_tokens: As the model counts.
    """

    text: str | None
    reason: str | None = None
    cut: bool = False
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass
class Drawn:
    """A message with all answers to it.

    Attributes:
        item: The message.
        shown: What the prompt showed besides.
        calls: What was asked.
        reason: Why nothing was asked.
        candidates: The answers, in the order of the calls.
    """

    item: Item
    shown: Shown
    calls: list[Call]
    reason: str | None = None
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def texts(self) -> dict[int, str]:
        """The candidates that have words, by their place."""
        return {place: each.text for place, each in enumerate(self.candidates) if each.text is not None}


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

    Replies give the items that they answer. Pairs give one item for every message, with the CNs that fit it as its
    references. Otherwise every row is an item, and rows that are alike in message and references are one.

    Args:
        source: A folder that `fcconan build` wrote, a BEIR folder, or a CSV, JSONL or parquet file with a column
            `hate_speech` and, where there are any, `references`, `counter_narrative`, `item_id`, `hs_id`, `language`.
        config: A part of the folder; by default its replies, else its pairs, else its queries.
        split: A split of that part; needed where it has several.
        columns: Name of a column here -> its name in a file.
        filter: Column -> the values, as text, of the rows that are read; by default all rows are read.
        limit: How many items are read; by default all.

    Raises:
        InputError: The file, folder or part is missing; it holds no messages, an empty one, or two under one id.
    """
    part = open_part(source, config=config, split=split, columns=columns, filter=filter)
    rows = part.all_rows()
    for place, row in rows:
        if is_blank(str(row.get("hate_speech", ""))):
            raise InputError(f"{place}: hate_speech is empty; there is nothing to answer, remove or correct that row")
    judged = is_judged(rows)
    paired = any("counter_narrative" in row for _, row in rows) and not any(row["references"] for _, row in rows)
    items = [_item(part, group, judged=judged) for group in _groups(rows, paired=paired)]
    return items if limit is None else items[:limit]


def _groups(rows: Sequence[tuple[str, Row]], *, paired: bool) -> list[list[Row]]:
    """Groups the rows of one item: those with its id; without ids, pairs of one message, and rows that are alike."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for place, row in rows:
        references = row["references"]
        if paired and row.get("label") in (None, "", APPROPRIATE) and row.get("counter_narrative", "").strip():
            references = (row["counter_narrative"],)
        message = id_of(row, "hs_id", place) or make_hs_id(row["hate_speech"])
        item = id_of(row, "item_id", place)
        kind, key = ("item", item) if item else ("message", message if paired else _item_id(message, references))
        same = groups.setdefault((kind, key), [])
        same.append({**row, "hs_id": message, "item_id": item, "references": references})
        if normalise(same[0]["hate_speech"]) != normalise(row["hate_speech"]):
            raise InputError(
                f"{place}: the {kind} {key} has another text in an earlier row; give every message an id of its own"
            )
    return list(groups.values())


def _item(part: Part, rows: Sequence[Row], *, judged: bool) -> Item:
    first = rows[0]
    references = tuple(dict.fromkeys(text for row in rows for text in row["references"]))
    codes = {code for row in rows for code in codes_of_row(row, dataset=part.dataset, judged=judged)}
    return Item(
        item_id=first["item_id"] or _item_id(first["hs_id"], references),
        hs_id=first["hs_id"],
        hate_speech=first["hate_speech"],
        references=references,
        language=language_of_row(first) or part.language,
        kin=kin_of(first["hate_speech"], references, codes=codes, judged=judged),
    )


def _item_id(message: str, references: Sequence[str]) -> str:
    return make_item_id(message, [make_cn_id(text) for text in references])


def language_of_row(row: Mapping[str, Any]) -> str | None:
    """Returns the code of the language of a row's texts, where it names one."""
    return row.get("text_language") or row.get("language") or None
