"""Order of each rater's units: sessions, gold questions at random positions, and sides of replies."""

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fcconan.annotation.campaigns import Assignment, Key
from fcconan.building import group_values
from fcconan.errors import InputError


def in_order(
    judged: Mapping[str, Sequence[str]],
    *,
    seed: int,
    session_size: int | None = None,
    gold: Sequence[str] = (),
    gold_per_session: int = 0,
    swap: bool = False,
    seen: Collection[Key] = (),
    ends: Mapping[str, tuple[int, int]] | None = None,
) -> dict[str, list[Assignment]]:
    """Arranges the units of each rater in a random order.

    Sizes of a rater's sessions differ by at most one. Gold questions are at random positions of every session. Each
    rater gets the gold questions with the fewest other raters, and none twice.

    Args:
        judged: Rater -> units.
        seed: Seed of the orders, combined with the pseudonym: a rater's order does not depend on other raters.
        session_size: Largest number of units in a session, gold questions included; None for one session.
        gold: Ids of gold questions.
        gold_per_session: Number of gold questions in each session.
        swap: Whether units are comparisons, of which half are shown with the second reply first.
        seen: Raters and units that were assigned before.
        ends: Rater -> last position and session so far; new ones follow.

    Returns:
        Rater -> assignments in their order.

    Raises:
        InputError: There are too few gold questions, or they fill the sessions.
    """
    if session_size is not None and session_size <= gold_per_session:
        raise InputError(
            f"found sessions of {session_size} units for {gold_per_session} gold questions: use longer ones"
        )
    had = Counter(unit for _, unit in seen)
    found: dict[str, list[Assignment]] = {}
    for rater, unit_ids in judged.items():
        generator = np.random.default_rng([seed, zlib.crc32(rater.encode())])
        number = math.ceil(len(unit_ids) / ((session_size or math.inf) - gold_per_session)) or min(len(unit_ids), 1)
        unseen = [each for each in gold if (rater, each) not in seen]
        if (needed := gold_per_session * number) > len(unseen):
            raise InputError(
                f"{rater} needs {needed} gold questions, but {len(unseen)} are left: give fewer, or longer sessions"
            )
        chosen = sorted(generator.permutation(unseen).tolist(), key=lambda each: had[each])[:needed]
        had.update(chosen)
        generator.shuffle(chosen)
        units = generator.permutation(sorted(unit_ids))
        position, session = (ends or {}).get(rater, (0, 0))
        found[rater] = []
        for place, own in enumerate(np.array_split(units, number) if number else []):
            known = chosen[place * gold_per_session :][:gold_per_session]
            for unit_id in generator.permutation([*own.tolist(), *known]).tolist() if known else own.tolist():
                position += 1
                found[rater].append(Assignment(rater, unit_id, position, session + place + 1))
    if swap:
        turned = sides([each.key for rows in found.values() for each in rows], seed)
        found = {rater: [replace(each, swapped=each.key in turned) for each in rows] for rater, rows in found.items()}
    return found


def sides(judgements: Sequence[Key], seed: int) -> set[Key]:
    """Chooses the comparisons that are shown with their second reply first.

    Half of the judgements of every rater, and half of those of every unit, are chosen; of an odd number, one more or
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


def last_places(assignments: Iterable[Assignment]) -> dict[str, tuple[int, int]]:
    """Returns the last position and session of each rater."""
    ends: dict[str, tuple[int, int]] = {}
    for each in assignments:
        position, session = ends.get(each.rater, (0, 0))
        ends[each.rater] = max(position, each.position), max(session, each.session)
    return ends


def derived_seed(campaign_seed: int, step: str, given: int | None = None) -> int:
    """Returns the given seed of a step, or a seed derived from the campaign's seed and the name of the step."""
    if given is not None:
        return given
    return int.from_bytes(hashlib.sha256(f"{campaign_seed}\n{step}".encode()).digest()[:4])
