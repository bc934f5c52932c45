"""Pairs of replies: all pairs of systems, or a seeded selection of limited size that connects all systems."""

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
        a: Reply of the system whose name is first in alphabetical order.
        b: Reply of the other system.
    """

    a: Row
    b: Row


def all_pairs(replies: Iterable[Row]) -> Iterator[ReplyPair]:
    """Yields all pairs of systems of each item.

    Items are in order of their first occurrence, pairs in order of the systems' names. The replies are in memory, the
    pairs are not.

    Args:
        replies: Rows with the columns of `fcconan.data.schemas.REPLY`.

    Raises:
        InputError: An item has two replies of one system or two HS, or no item has replies of two systems.
    """
    return _pairs_of(_by_item(replies))


def budgeted_pairs(replies: Iterable[Row], *, budget: int, seed: int) -> Iterator[ReplyPair]:
    """Yields at most `budget` pairs that connect all systems and use them about equally.

    The selection cycles through the pairs of systems. Systems are arranged on a circle and items in a list, both in
    random order. Pairs of systems that form a spanning tree are first (neighbours, if they share items), followed by
    other neighbours, then systems two positions apart, and so on. In each cycle, a pair of systems takes its next item.

    If all systems answered all items, the numbers of comparisons of two pairs of systems differ by one at most, and
    those of two items, too. Otherwise items without one of the systems are skipped, and items are used less evenly. The
    selection of a smaller budget is the beginning of that of a larger one with the same seed, so that it can be
    extended. It does not depend on the order of the rows.

    Pairs with a reply without text need no judgement: all of them follow after the selection, outside of the budget. A
    system without any text is not connected.

    Args:
        replies: Rows with the columns of `fcconan.data.schemas.REPLY`.
        budget: Largest number of pairs.
        seed: Seed of the order of systems and items.

    Raises:
        InputError: The budget is too small to connect the systems, or as in `all_pairs`.
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
            f"{budget} comparisons cannot connect {len(systems)} systems: "
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
    """Returns item -> system -> reply.

    Raises:
        InputError: An item has two replies of one system or two HS, or no item has replies of two systems.
    """
    items: _Items = {}
    for number, row in enumerate(replies, start=1):
        item, system = row["item_id"], row["system"]
        answers = items.setdefault(item, {})
        if system in answers:
            raise InputError(f"reply {number}: a second reply of {system} to the item {item}: keep one of them")
        if answers and next(iter(answers.values()))["hate_speech"] != row["hate_speech"]:
            raise InputError(f"reply {number}: the item {item} has two HS, expected one: give each HS its own item_id")
        answers[system] = row
    if not any(len(answers) > 1 for answers in items.values()):
        raise InputError("no item has replies of two systems to compare: check the column item_id")
    return items


def _pairs_that_met(circle: list[str], line: list[dict[str, Row]]) -> list[_Systems]:
    """Returns the pairs of systems with a common item, neighbours on the circle first."""
    met = {pair for answers in line for pair in combinations(sorted(answers), 2)}
    size = len(circle)
    found = []
    for distance in range(1, size // 2 + 1):
        # Pairs of opposite systems would be counted twice.
        for place in range(size // 2 if 2 * distance == size else size):
            first, second = sorted((circle[place], circle[(place + distance) % size]))
            if (first, second) in met:
                found.append((first, second))
    return found


def _tree_first(systems: list[str], pairs: list[_Systems]) -> list[_Systems]:
    """Moves the pairs of a spanning tree to the front.

    Raises:
        InputError: The pairs do not connect all systems.
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
            f"{systems[0]} and {apart[0]} have no common item, and no other systems connect them: "
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
    """Yields the items of one pair of systems, each pair with its own start.

    Turn t takes item t modulo the number of items, with an offset that increases by one after each least common
    multiple of the numbers of pairs and items, so that no item repeats.
    """
    size, cycle = len(line), lcm(of, len(line))
    for round_ in range(size):
        turn = round_ * of + number
        answers = line[(turn + turn // cycle) % size]
        if pair[0] in answers and pair[1] in answers:
            yield ReplyPair(answers[pair[0]], answers[pair[1]])
