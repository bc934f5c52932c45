"""People's ratings for calibration, in three parts of which no two share an HS nor, where it can be done, a CN."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.data import normalise, short_hash
from fcconan.errors import InputError

PARTS = ("draft", "select", "report")
LEAST_ITEMS = 5  # in a part; with fewer, the bootstrap over items says nothing
LARGEST_GROUP = 0.1  # of all HS; groups that share CNs and are larger cannot be spread over three parts
_TEXTS = ("hate_speech", "counter_narrative")


@dataclass(frozen=True)
class RatedExample:
    """One thing that people rated.

    Attributes:
        item: Groups the rows of one HS; its id serves well.
        variables: What a prompt is filled with, `hate_speech` and `counter_narrative` among it.
        value: The people's rating.
    """

    item: str
    variables: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class CalibrationParts:
    """Three parts of human ratings.

    Attributes:
        draft: What the drafter sees, as examples and as errors.
        select: What candidates are chosen by.
        report: What the chosen one is scored on, once.

    Raises:
        InputError: Two parts share an item.
    """

    draft: tuple[RatedExample, ...]
    select: tuple[RatedExample, ...]
    report: tuple[RatedExample, ...]

    def __post_init__(self) -> None:
        first_part: dict[str, str] = {}
        for name, examples in self:
            for example in examples:
                if first_part.setdefault(example.item, name) != name:
                    raise InputError(
                        f"the item {example.item} is in the {first_part[example.item]} part and in the {name} part: "
                        "keep all rows of an HS in one part"
                    )

    def __iter__(self) -> Iterator[tuple[str, tuple[RatedExample, ...]]]:
        """Yields every part with its name."""
        return iter(zip(PARTS, (self.draft, self.select, self.report), strict=True))

    def summary(self) -> dict[str, dict[str, int | str]]:
        """Returns items, rows and fingerprint of every part, and how many rows have a CN that another part holds."""
        texts = {name: {_text(example, "counter_narrative") for example in examples} - {""} for name, examples in self}
        elsewhere = {
            name: set().union(*(texts[other] for other in PARTS if other != name)) & texts[name] for name in PARTS
        }
        return {
            name: {
                "items": len({example.item for example in examples}),
                "examples": len(examples),
                "shared_texts": sum(_text(example, "counter_narrative") in elsewhere[name] for example in examples),
                "fingerprint": short_hash(*(repr((e.item, sorted(e.variables.items()), e.value)) for e in examples)),
            }
            for name, examples in self
        }


def split_examples(
    examples: Sequence[RatedExample], *, seed: int = 0, shares: tuple[float, float, float] = (0.2, 0.4, 0.4)
) -> CalibrationParts:
    """Splits human ratings by item.

    Items with the same HS become one item, whatever its upper case and white space. So do items that share a CN, unless
    that makes a group of more than `LARGEST_GROUP` of all or too few groups, as where all messages have the same
    replies: then parts share CNs, and `Parts.summary` says how many.

    Args:
        examples: In any order; every part keeps it.
        seed: Decides which item goes where.
        shares: Of the items, for drafting, selection and report; their sum is 1.

    Raises:
        InputError: There are too few items.
    """
    by_message, by_text = _linked(examples, _TEXTS[:1]), _linked(examples, _TEXTS)
    largest = max(Counter(by_text.values()).values(), default=0)
    apart = largest <= max(1.0, LARGEST_GROUP * len(by_text)) and _is_enough(_ends(by_text, shares))
    first = by_text if apart else by_message
    items, ends = sorted(set(first.values())), _ends(first, shares)
    if not _is_enough(ends):
        raise InputError(
            f"there are ratings of {len(items)} HS: each of the three parts needs {LEAST_ITEMS}, so give about "
            f"{math.ceil(LEAST_ITEMS / min(shares))} or more with these shares, or a larger --limit"
        )
    part_of: dict[str, str] = {}
    start = 0
    order = np.random.default_rng(seed).permutation(len(items))
    for name, end in zip(PARTS, ends, strict=True):
        part_of |= {items[position]: name for position in order[start:end]}
        start = end
    joined = [replace(example, item=first[example.item]) for example in examples]
    return CalibrationParts(*(tuple(example for example in joined if part_of[example.item] == name) for name in PARTS))


def _ends(first: Mapping[str, str], shares: Sequence[float]) -> list[int]:
    return [round(len(set(first.values())) * end) for end in np.cumsum(shares)]


def _is_enough(ends: Sequence[int]) -> bool:
    return bool(min(np.diff([0, *ends])) >= LEAST_ITEMS)


def _text(example: RatedExample, name: str) -> str:
    return normalise(example.variables.get(name, "")).casefold()


def _linked(examples: Sequence[RatedExample], names: Sequence[str]) -> dict[str, str]:
    """Returns, for every item, the first of all items that it shares a text of these names with, at any remove."""
    from scipy.cluster.hierarchy import DisjointSet

    linked = DisjointSet(example.item for example in examples)
    holder: dict[tuple[str, str], str] = {}
    for example in examples:
        for name in names:
            if text := _text(example, name):
                linked.merge(example.item, holder.setdefault((name, text), example.item))
    return {item: min(group) for group in linked.subsets() for item in group}


def sample_across_grades(
    examples: Sequence[RatedExample], size: int, generator: np.random.Generator
) -> list[RatedExample]:
    """Draws examples at random, from as many grades as possible: a second one of a grade when each has given one.

    Args:
        examples: From which to draw.
        size: How many.
        generator: Decides the draw.
    """
    taken: Counter[int] = Counter()
    order: list[tuple[int, int]] = []
    for row in generator.permutation(len(examples)):
        grade = round(examples[row].value)
        order.append((taken[grade], int(row)))
        taken[grade] += 1
    return [examples[row] for _, row in sorted(order, key=lambda each: each[0])[:size]]
