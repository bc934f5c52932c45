"""People's ratings for calibration, in three parts of which no two share an HS."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fcconan.errors import InputError
from fcconan.identity import digest, normalise

PARTS = ("draft", "select", "report")
LEAST_ITEMS = 5  # in a part; with fewer, the bootstrap over items says nothing


@dataclass(frozen=True)
class Example:
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
class Parts:
    """Three parts of human ratings.

    Attributes:
        draft: What the drafter sees, as examples and as errors.
        select: What candidates are chosen by.
        report: What the chosen one is scored on, once.

    Raises:
        InputError: A part has too few items, or two parts share an HS.
    """

    draft: tuple[Example, ...]
    select: tuple[Example, ...]
    report: tuple[Example, ...]

    def __post_init__(self) -> None:
        first_part: dict[str, str] = {}
        items: dict[str, str] = {}
        for name, examples in self:
            n_items = len({example.item for example in examples})
            if n_items < LEAST_ITEMS:
                raise InputError(f"the {name} part has {n_items} HS: give {LEAST_ITEMS} or more to each part")
            for example in examples:
                if first_part.setdefault(example.item, name) != name:
                    raise InputError(
                        f"the item {example.item} is in the {first_part[example.item]} part and in the {name} part: "
                        "keep all rows of an HS in one part"
                    )
                message = normalise(example.variables.get("hate_speech", "")) or example.item
                if items.setdefault(message, example.item) != example.item:
                    raise InputError(
                        f"the items {items[message]} and {example.item} have one HS: give all rows of an HS one item"
                    )

    def __iter__(self) -> Iterator[tuple[str, tuple[Example, ...]]]:
        """Yields every part with its name."""
        return iter(zip(PARTS, (self.draft, self.select, self.report), strict=True))

    def summary(self) -> dict[str, dict[str, int | str]]:
        """Returns items, rows and fingerprint of every part."""
        return {
            name: {
                "items": len({example.item for example in examples}),
                "examples": len(examples),
                "fingerprint": digest(*(repr((e.item, sorted(e.variables.items()), e.value)) for e in examples)),
            }
            for name, examples in self
        }


def split(examples: Sequence[Example], *, seed: int = 0, shares: tuple[float, float, float] = (0.2, 0.4, 0.4)) -> Parts:
    """Splits human ratings by item.

    Args:
        examples: In any order; every part keeps it.
        seed: Decides which item goes where.
        shares: Of the items, for drafting, selection and report.

    Raises:
        InputError: The shares are no shares, there are too few items, or two items have one HS.
    """
    if len(shares) != len(PARTS) or any(share <= 0 for share in shares) or abs(sum(shares) - 1) > 1e-9:
        raise InputError(f"the shares are {', '.join(map(str, shares))}: give three that are above 0 and add up to 1")
    items = sorted({example.item for example in examples})
    ends = [round(len(items) * end) for end in np.cumsum(shares)]
    if min(np.diff([0, *ends])) < LEAST_ITEMS:
        raise InputError(
            f"there are ratings of {len(items)} HS: each of the three parts needs {LEAST_ITEMS}, so give about "
            f"{math.ceil(LEAST_ITEMS / min(shares))} or more with these shares"
        )
    part_of: dict[str, str] = {}
    start = 0
    order = np.random.default_rng(seed).permutation(len(items))
    for name, end in zip(PARTS, ends, strict=True):
        part_of |= {items[position]: name for position in order[start:end]}
        start = end
    return Parts(*(tuple(example for example in examples if part_of[example.item] == name) for name in PARTS))


def spread(examples: Sequence[Example], size: int, generator: np.random.Generator) -> list[Example]:
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
