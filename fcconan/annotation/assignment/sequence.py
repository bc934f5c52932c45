"""Order of each rater's units: sessions, gold questions at random positions, and sides of replies."""

import math
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.annotation.campaigns import Assignment, Key
from fcconan.building import group_values
from fcconan.errors import InputError


@dataclass(frozen=True)
class Sessions:
    """The sessions of a round.

    Attributes:
        size: Maximum number of units in a session, gold questions included; None for one session.
        anchors: Number of gold questions in a session.
    """

    size: int | None = None
    anchors: int = 0

    def sizes(self, units: int) -> list[int]:
        """Returns the number of units in each session; the numbers differ by at most one.

        Raises:
            InputError: Gold questions fill the sessions.
        """
        if self.size is not None and self.size <= self.anchors:
            raise InputError(
                f"sessions of {self.size} units are too short for {self.anchors} gold questions: make them longer"
            )
        number = math.ceil(units / (self.size - self.anchors)) if self.size is not None else min(units, 1)
        return [units // number + (session < units % number) for session in range(number)]


def in_order(
    judged: Mapping[str, Sequence[str]],
    *,
    seed: int,
    blocks: Mapping[str, str] | None = None,
    anchors: Sequence[str] = (),
    sessions: Sessions = Sessions(),
    swap: bool = False,
    seen: Collection[Key] = (),
    ends: Mapping[str, tuple[int, int]] | None = None,
    strict: bool = True,
) -> dict[str, list[Assignment]]:
    """Arranges the units of each rater in a random order.

    Units of a block follow each other. Gold questions are at random positions of every session. Each rater gets the
    gold
    questions with the fewest other raters, and none twice.

    Args:
        judged: Rater -> units.
        seed: Seed of the orders, combined with the pseudonym: a rater's order does not depend on other raters.
        blocks: Unit -> block; by default, every unit is its own block.
        anchors: Ids of gold questions.
        sessions: Sessions of the round.
        swap: Whether units are comparisons. Half of each rater's, and half of each unit's, are swapped.
        seen: Set of raters and units that were assigned before.
        ends: Rater -> last position and session so far; new ones follow.
        strict: Whether too few gold questions are an error; otherwise fewer are assigned.

    Returns:
        Rater -> assignments in their order.

    Raises:
        InputError: There are too few gold questions, or they fill the sessions.
    """
    known = set(anchors)
    had = Counter(anchor for _, anchor in seen if anchor in known)
    swapped: set[Key] = set()
    found: dict[str, list[Assignment]] = {}
    for rater, unit_ids in judged.items():
        generator = np.random.default_rng([seed, zlib.crc32(rater.encode())])
        sizes = sessions.sizes(len(unit_ids))
        unseen = [anchor for anchor in anchors if (rater, anchor) not in seen]
        needed = sessions.anchors * len(sizes)
        if needed > len(unseen) and strict:
            raise InputError(
                f"{rater} needs {needed} gold questions, but {len(unseen)} are left: give fewer, or longer sessions"
            )
        mixed = [unseen[each] for each in generator.permutation(len(unseen))]
        chosen = sorted(mixed, key=lambda anchor: had[anchor])[:needed]
        had.update(chosen)
        queue = _shuffled(unit_ids, blocks or {}, generator)
        position, session = (ends or {}).get(rater, (0, 0))
        found[rater] = []
        generator.shuffle(chosen)
        for number, size in enumerate(sizes, start=1):
            own, queue = queue[:size], queue[size:]
            share, chosen = chosen[: sessions.anchors], chosen[sessions.anchors :]
            for unit_id in _among(own, share, generator):
                position += 1
                found[rater].append(Assignment(rater, unit_id, position, session + number))
    if swap:
        swapped = sides([each.key for rows in found.values() for each in rows], seed)
    return {rater: [replace(each, swapped=each.key in swapped) for each in rows] for rater, rows in found.items()}


def last_places(assignments: Iterable[Assignment]) -> dict[str, tuple[int, int]]:
    """Returns the last position and session of each rater."""
    ends: dict[str, tuple[int, int]] = {}
    for each in assignments:
        position, session = ends.get(each.rater, (0, 0))
        ends[each.rater] = max(position, each.position), max(session, each.session)
    return ends


def _shuffled(unit_ids: Sequence[str], blocks: Mapping[str, str], generator: np.random.Generator) -> list[str]:
    members = group_values((blocks.get(unit_id, unit_id), unit_id) for unit_id in sorted(unit_ids))
    names = sorted(members)
    order = [names[each] for each in generator.permutation(len(names))]
    return [members[name][each] for name in order for each in generator.permutation(len(members[name]))]


def _among(units: Sequence[str], anchors: Sequence[str], generator: np.random.Generator) -> list[str]:
    """Inserts gold questions at random positions."""
    length = len(units) + len(anchors)
    places = set(generator.choice(length, size=len(anchors), replace=False).tolist())
    rest, known = iter(units), iter(anchors)
    return [next(known) if place in places else next(rest) for place in range(length)]


def sides(judgements: Sequence[Key], seed: int) -> set[Key]:
    """Chooses the comparisons that are shown with their second reply first.

    Half of the judgements of every rater, and half of those of every unit, are chosen; of an odd number, one more or
    one
    less. Raters and units are the two sides of a bipartite graph, and judgements its edges. Additional edges make every
    degree even. The graph then decomposes into closed walks of even length, and every second edge of a walk is chosen.

    Args:
        judgements: Raters and units.
        seed: Seed of the walks.

    Returns:
        The swapped judgements.
    """
    generator = np.random.default_rng([seed, len(judgements)])
    edges: list[tuple[tuple[int, str], tuple[int, str]]] = [((0, rater), (1, unit)) for rater, unit in judgements]
    degrees = Counter(node for edge in edges for node in edge)
    extra_rater, extra_unit = (2, "rater"), (2, "unit")  # distinct from all raters and units
    odd = [node for node, degree in degrees.items() if degree % 2]
    edges += [(node, extra_unit) if node[0] == 0 else (extra_rater, node) for node in odd]
    if sum(edge[1] == extra_unit for edge in edges) % 2:
        edges.append((extra_rater, extra_unit))
    around = group_values((node, each) for each in generator.permutation(len(edges)).tolist() for node in edges[each])
    walked = [False] * len(edges)
    swapped = set()
    for start in list(around):
        node, turn = start, bool(generator.integers(2))
        while True:
            while around[node] and walked[around[node][-1]]:
                around[node].pop()
            if not around[node]:
                break
            each = around[node].pop()
            walked[each] = True
            if turn and each < len(judgements):
                swapped.add(judgements[each])
            first, second = edges[each]
            node, turn = second if node == first else first, not turn
    return swapped
