"""Ratings by people for calibration, in three parts without common HS and, if possible, without common CNs."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.data import normalise, short_hash
from fcconan.errors import InputError

PARTS = ("draft", "select", "report")
LEAST_ITEMS = 5  # items of a part; the bootstrap over fewer items is meaningless
LARGEST_GROUP = 0.1  # share of all HS; larger groups with common CNs cannot be split into three parts
_TEXTS = ("hate_speech", "counter_narrative")


@dataclass(frozen=True)
class RatedExample:
    """Reply with a rating by people.

    Attributes:
        item: Id of the HS, or another id of its group.
        variables: Variable of a prompt -> text, with `hate_speech` and `counter_narrative`.
        value: Rating by people.
    """

    item: str
    variables: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class CalibrationParts:
    """Ratings by people in three parts.

    Attributes:
        draft: Examples in requests to the drafter.
        select: Examples on which candidates are compared.
        report: Examples for the final scores, used once.

    Raises:
        InputError: Two parts have a common item.
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
        """Yields the name and the examples of each part."""
        return iter(zip(PARTS, (self.draft, self.select, self.report), strict=True))

    def summary(self) -> dict[str, dict[str, int | str]]:
        """Returns part -> numbers of items, examples and examples whose CN is in another part, and a fingerprint."""
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
    """Splits ratings by people into three parts of items.

    Items with equal HS, except for case and white space, are merged. Items with a common CN are merged, too, unless
    this gives too few groups or a group with more than `LARGEST_GROUP` of all items, such as in exhaustive datasets. In
    that case parts may have common CNs, which `CalibrationParts.summary` counts.

    Args:
        examples: Rated examples; each part has the same order.
        seed: Seed of the assignment of items to parts.
        shares: Shares of the items for drafting, selection and report, with the sum 1.

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
            f"found ratings of {len(items)} HS, expected {LEAST_ITEMS} or more for each of the three parts: give about "
            f"{math.ceil(LEAST_ITEMS / min(shares))} HS or more, or a larger --limit"
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
    """Returns item -> first item of its connected component, where items with an equal text are connected."""
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
    """Samples examples evenly over grades: a grade is repeated only after all grades have occurred.

    Args:
        examples: Population.
        size: Number of examples.
        generator: Random generator.
    """
    taken: Counter[int] = Counter()
    order: list[tuple[int, int]] = []
    for row in generator.permutation(len(examples)):
        grade = round(examples[row].value)
        order.append((taken[grade], int(row)))
        taken[grade] += 1
    return [examples[row] for _, row in sorted(order, key=lambda each: each[0])[:size]]
