"""Which replies are compared: all pairs of systems, or a budgeted, seeded choice that connects all systems."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, islice
from math import lcm
from typing import Any

import numpy as np

from fcconan.data import normalise
from fcconan.errors import InputError

Row = Mapping[str, Any]
_Systems = tuple[str, str]
_Items = dict[str, dict[str, Row]]


@dataclass(frozen=True)
class ReplyPair:
    """Two replies to one item, as rows with the columns of `fcconan.data.schemas.REPLY`.

    Attributes:
        a: The reply of the system whose name comes first in the alphabet.
        b: The other one.
    """

    a: Row
    b: Row


def all_pairs(replies: Iterable[Row]) -> Iterator[ReplyPair]:
    """Returns every pair of systems of every item.

    Items come in the order in which they first appear, the pairs of an item in the order of the systems' names. The
    replies are held, the pairs are not.

    Args:
        replies: Rows with the columns of `fcconan.data.schemas.REPLY`.

    Raises:
        InputError: An item has two replies of one system or two HS, or nothing can be compared.
    """
    return _pairs_of(_by_item(replies))


def budgeted_pairs(replies: Iterable[Row], *, budget: int, seed: int) -> Iterator[ReplyPair]:
    """Returns a choice of at most `budget` pairs that connects all systems and uses all of them about equally.

    Nobody is asked about a reply without text: pairs with one come after the choice, all of them, and cost nothing. A
    system without any text need not be connected.

    Systems stand on a circle in a random order, items in a line in a random order. The pairs of systems take turns:
    first those that make a tree of all systems (neighbours, as far as they answered common items), then the other
    neighbours, then those two places apart, and so on. At every turn a pair of systems takes the next item of a walk
    that runs through the line of items from one turn to the next, and meets every item once with every pair of systems.

    Where every system answered every item, two pairs of systems differ by one comparison at most, and so do two items.
    Items that lack one of the systems are passed over, so then the items are used less evenly. The pairs of a smaller
    budget are the first ones of a larger budget with the same seed: a campaign can be extended. The order of the rows
    makes no difference. What is held is the replies and one position for every pair of systems.

    Args:
        replies: Rows with the columns of `fcconan.data.schemas.REPLY`.
        budget: The number of pairs; all pairs are returned where there are no more.
        seed: Of the order of systems and items.

    Raises:
        InputError: As `all_pairs`; or the budget cannot connect the systems.
    """
    every = _by_item(replies)
    items = {
        item: {system: row for system, row in answers.items() if normalise(row.get("text") or "")}
        for item, answers in every.items()
    }
    systems = sorted({system for answers in items.values() for system in answers})
    empty = (
        pair for pair in _pairs_of(every) if not {pair.a["system"], pair.b["system"]} <= items[pair.a["item_id"]].keys()
    )
    if budget < len(systems) - 1:
        raise InputError(
            f"a budget of {budget} cannot connect {len(systems)} systems: "
            f"give {len(systems) - 1} comparisons or more, or compare fewer systems"
        )
    rng = np.random.default_rng(seed)
    circle = [systems[place] for place in rng.permutation(len(systems))]
    ids = sorted(items)
    line = [items[ids[place]] for place in rng.permutation(len(ids))]
    return chain(islice(_take_turns(_tree_first(systems, _pairs_that_met(circle, line)), line), budget), empty)


def _pairs_of(items: _Items) -> Iterator[ReplyPair]:
    return (
        ReplyPair(systems[a], systems[b]) for systems in items.values() for a, b in combinations(sorted(systems), 2)
    )


def _by_item(replies: Iterable[Row]) -> _Items:
    """Returns the replies of every item by system, for the items with two or more."""
    items: _Items = {}
    for number, row in enumerate(replies, start=1):
        item, system = row["item_id"], row["system"]
        answers = items.setdefault(item, {})
        if system in answers:
            raise InputError(f"reply {number}: {system} answers the item {item} a second time: keep one of its replies")
        if answers and next(iter(answers.values()))["hate_speech"] != row["hate_speech"]:
            raise InputError(f"reply {number}: the item {item} has two HS, expected one: give them items of their own")
        answers[system] = row
    if not any(len(answers) > 1 for answers in items.values()):
        raise InputError("no item has replies of two systems, so nothing can be compared: check the column item_id")
    return items


def _pairs_that_met(circle: list[str], line: list[dict[str, Row]]) -> list[_Systems]:
    """Returns the pairs of systems that answered a common item, neighbours on the circle first."""
    met = {pair for answers in line for pair in combinations(sorted(answers), 2)}
    size = len(circle)
    found = []
    for distance in range(1, size // 2 + 1):
        # Pairs that face each other on the circle are seen from both ends.
        for place in range(size // 2 if 2 * distance == size else size):
            first, second = sorted((circle[place], circle[(place + distance) % size]))
            if (first, second) in met:
                found.append((first, second))
    return found


def _tree_first(systems: list[str], pairs: list[_Systems]) -> list[_Systems]:
    """Moves to the front the pairs that connect what the ones before them left apart.

    Raises:
        InputError: All pairs together leave something apart.
    """
    from scipy.cluster.hierarchy import DisjointSet

    connected = DisjointSet(systems)
    tree: list[_Systems] = []
    rest: list[_Systems] = []
    for first, second in pairs:
        (tree if connected.merge(first, second) else rest).append((first, second))
    apart = [system for system in systems if not connected.connected(system, systems[0])]
    if apart:
        raise InputError(
            f"{systems[0]} and {apart[0]} answered no common item, and no other systems connect them: "
            "compare them in separate runs"
        )
    return tree + rest


def _take_turns(pairs: list[_Systems], line: list[dict[str, Row]]) -> Iterator[ReplyPair]:
    turns = deque(_walk(number, len(pairs), pair, line) for number, pair in enumerate(pairs))
    while turns:
        turn = turns.popleft()
        for pair in islice(turn, 1):
            yield pair
            turns.append(turn)


def _walk(number: int, of: int, pair: _Systems, line: list[dict[str, Row]]) -> Iterator[ReplyPair]:
    """Yields every item of one pair of systems, beginning at a place of its own.

    Turn t of all turns takes the item t modulo their number. That repeats itself after the least common multiple of the
    numbers of pairs and items, so the walk then moves on by one more.
    """
    size, cycle = len(line), lcm(of, len(line))
    for round_ in range(size):
        turn = round_ * of + number
        answers = line[(turn + turn // cycle) % size]
        if pair[0] in answers and pair[1] in answers:
            yield ReplyPair(answers[pair[0]], answers[pair[1]])
