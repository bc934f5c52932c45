"""Rows of replies, and their counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from fcconan.data import make_reply_id
from fcconan.errors import InputError
from fcconan.generation.generators import Generator
from fcconan.generation.items import GENERATED, Generated, Item, Row
from fcconan.judging import match_answers

Flags = Callable[..., tuple[str, ...]]
REFUSAL = "refusal"  # prefix of the flags of refusals


def generate_rows(generator: Generator, items: Iterable[Item], *, flags: Flags | None = None) -> Iterator[Row]:
    """Yields one row for each item in order; requests for later items run meanwhile.

    Args:
        generator: The system.
        items: The items.
        flags: Function that finds the flags of a reply; by default `fcconan.generation.safety.find_flags`.

    Yields:
        Rows with the columns `fcconan.generation.items.GENERATED`.

    Raises:
        InputError: The generator cannot be used, or the numbers of its replies and of items differ.
    """
    make = row_maker(generator.name, generator.strategy, flags=flags)
    for item, (generated,) in match_answers(generator.name, generator.answers, ((item, [item]) for item in items)):
        yield make(item, generated)


def row_maker(system: str, strategy: str, *, flags: Flags | None = None) -> Callable[[Item, Generated], Row]:
    """Returns a function that turns an item and its reply into a row.

    Args:
        system: Name of the system.
        strategy: Strategy of the system.
        flags: Function that finds the flags of a reply; by default `fcconan.generation.safety.find_flags`.
    """
    if flags is None:
        from fcconan.generation.safety import find_flags

        flags = find_flags
    return partial(_row, system, strategy, flags)


def _row(system: str, strategy: str, flags: Flags, item: Item, generated: Generated) -> Row:
    more, text = generated.more, generated.text
    found = () if text is None else flags(item.hate_speech, text, language=item.language)
    return {
        **dict.fromkeys(GENERATED),
        "reply_id": make_reply_id(item.item_id, system, text or ""),
        "item_id": item.item_id,
        "hs_id": item.hs_id,
        "hate_speech": item.hate_speech,
        "text": text,
        "system": system,
        "strategy": strategy,
        "references": list(item.references),
        "reason": generated.reason,
        **more,
        "flags": [*found, *more.get("flags", ())],
    }


class ReplyCounts:
    """Counts of replies for each system. Memory holds only hashes of ids."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], dict[str, Any]] = {}
        self._seen: set[int] = set()  # hashes of ids

    def add(self, row: Row) -> None:
        """Counts a row.

        Raises:
            InputError: An earlier row has the same id.
        """
        short = hash(row["reply_id"])
        if short in self._seen:
            raise InputError(
                f"the reply {row['reply_id']} of {row['system']} to the item {row['item_id']} occurs twice: remove "
                "one, or add a column reply_id with different ids"
            )
        self._seen.add(short)
        part = self._parts.setdefault(
            (row["system"], row["strategy"]),
            {
                "n": 0,
                "words": 0,
                "refusals": 0,
                "missing": Counter(),
                "flags": Counter(),
                "examples": Counter(),
                "tokens": Counter(),
            },
        )
        if row["text"] is None:
            part["missing"][str(row["reason"])] += 1
        else:
            part["n"] += 1
            part["words"] += len(row["text"].split())
        part["flags"].update(row["flags"])
        part["refusals"] += any(flag.startswith(REFUSAL) for flag in row["flags"])
        part["examples"][len(row["examples"] or ())] += 1
        part["tokens"].update({name: row[f"{name}_tokens"] or 0 for name in ("prompt", "completion")})

    def result(self) -> list[dict[str, Any]]:
        """Returns the counts of each system in order of first occurrence, as JSON-able values.

        `examples_shown` maps numbers of examples to numbers of messages; `tokens` includes all candidates.
        """
        return [
            {
                "system": system,
                "strategy": strategy,
                "n": part["n"],
                "n_missing": part["missing"].total(),
                "missing": dict(sorted(part["missing"].items())),
                "refusals": part["refusals"],
                "flags": dict(sorted(part["flags"].items())),
                "mean_words": round(part["words"] / part["n"], 2) if part["n"] else None,
                "examples_shown": {str(number): of for number, of in sorted(part["examples"].items())},
                "tokens": {name: part["tokens"][name] for name in ("prompt", "completion")},
            }
            for (system, strategy), part in self._parts.items()
        ]
