"""Rows of replies, and their counts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from fcconan.data import make_reply_id
from fcconan.generation.generators import Generator
from fcconan.generation.items import GENERATED, Generated, Item, Row
from fcconan.judging import match_answers
from fcconan.parsing import find_refusal

REFUSAL = "refusal"  # prefix of the flags of refusals


def generate_rows(generator: Generator, items: Iterable[Item]) -> Iterator[Row]:
    """Yields one row for each item in order; requests for later items run meanwhile.

    Args:
        generator: The system.
        items: The items.

    Yields:
        Rows with the columns `fcconan.generation.items.GENERATED`.

    Raises:
        InputError: The generator cannot be used, or the numbers of its replies and of items differ.
    """
    for item, (generated,) in match_answers(generator.name, generator.answers, ((item, [item]) for item in items)):
        yield _row(generator, item, generated)


def find_flags(text: str | None) -> tuple[str, ...]:
    """Returns the flags that a reply has by its text: `empty` without a letter or digit, or `refusal:KIND`.

    The generator sets `truncated`. The kinds are those of `fcconan.parsing.find_refusal`.
    """
    if text is None:
        return ()
    if not any(character.isalnum() for character in text):
        return ("empty",)
    refusal = find_refusal(text)
    return (f"{REFUSAL}:{refusal.kind}",) if refusal else ()


def _row(generator: Generator, item: Item, generated: Generated) -> Row:
    more, text = generated.more, generated.text
    return {
        **dict.fromkeys(GENERATED),
        "reply_id": make_reply_id(item.item_id, generator.name, text or ""),
        "item_id": item.item_id,
        "hs_id": item.hs_id,
        "hate_speech": item.hate_speech,
        "text": text,
        "system": generator.name,
        "strategy": generator.strategy,
        "references": list(item.references),
        "reason": generated.reason,
        **more,
        "flags": [*find_flags(text), *more.get("flags", ())],
    }


class ReplyCounts:
    """Counts of the replies of a system.

    Args:
        generator: The system.
    """

    def __init__(self, generator: Generator) -> None:
        self._names = {"system": generator.name, "strategy": generator.strategy}
        self._n = self._words = self._refusals = 0
        self._missing, self._flags, self._examples, self._tokens = (Counter[Any]() for _ in range(4))

    def add(self, row: Row) -> None:
        """Counts a row."""
        if row["text"] is None:
            self._missing[str(row["reason"])] += 1
        else:
            self._n += 1
            self._words += len(row["text"].split())
        self._flags.update(row["flags"])
        self._refusals += any(flag.startswith(REFUSAL) for flag in row["flags"])
        self._examples[len(row["examples"] or ())] += 1
        self._tokens.update({name: row[f"{name}_tokens"] or 0 for name in ("prompt", "completion")})

    def result(self) -> dict[str, Any]:
        """Returns the counts as JSON-able values.

        `examples_shown` maps numbers of examples to numbers of messages; `tokens` includes all candidates.
        """
        return {
            **self._names,
            "n": self._n,
            "n_missing": self._missing.total(),
            "missing": dict(sorted(self._missing.items())),
            "refusals": self._refusals,
            "flags": dict(sorted(self._flags.items())),
            "mean_words": round(self._words / self._n, 2) if self._n else None,
            "examples_shown": {str(number): of for number, of in sorted(self._examples.items())},
            "tokens": {name: self._tokens[name] for name in ("prompt", "completion")},
        }
