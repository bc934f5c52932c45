"""Replies as rows, and what is counted as they go by."""

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
REFUSAL = "refusal"  # how the flags begin that tell of one


def generate_rows(generator: Generator, items: Iterable[Item], *, flags: Flags | None = None) -> Iterator[Row]:
    """Yields one row for every item, in their order, while later ones are being asked about.

    Args:
        generator: The system.
        items: The messages.
        flags: Looks for what is wrong with a reply; by default `fcconan.generation.safety.flags_of`.

    Yields:
        Rows with the columns `fcconan.generation.items.GENERATED`.

    Raises:
        InputError: The generator cannot be used at all, or gives another number of answers than there are items.
    """
    make = row_maker(generator.name, generator.strategy, flags=flags)
    for item, (generated,) in match_answers(generator.name, generator.answers, ((item, [item]) for item in items)):
        yield make(item, generated)


def row_maker(system: str, strategy: str, *, flags: Flags | None = None) -> Callable[[Item, Generated], Row]:
    """Returns what makes a row of an item and what came of it.

    Args:
        system: Its name.
        strategy: How it answers.
        flags: Looks for what is wrong with a reply; by default `fcconan.generation.safety.flags_of`.
    """
    if flags is None:
        from fcconan.generation.safety import flags_of

        flags = flags_of
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


class Tally:
    """Counts for every system; of the rows, only their ids are kept."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], dict[str, Any]] = {}
        self._seen: set[int] = set()  # of hashes, for ids are long

    def add(self, row: Row) -> None:
        """Counts a row.

        Raises:
            InputError: There was a row with its id already.
        """
        short = hash(row["reply_id"])
        if short in self._seen:
            raise InputError(
                f"the reply {row['reply_id']} of {row['system']} to the item {row['item_id']} stands there twice: "
                "remove one, or tell them apart by a column reply_id"
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
        """Returns the counts of every system, in the order in which they came, as JSON-able values.

        `examples_shown` says how many messages were shown with how many examples; `tokens` are those of all candidates.
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
