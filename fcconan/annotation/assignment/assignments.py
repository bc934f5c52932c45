"""Assignment of units, or blocks of units, to raters, with overlap and equal loads (see `allocation`)."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from fcconan.annotation.assignment.allocation import Allowed, Group, place
from fcconan.annotation.assignment.sequence import Sessions, in_order
from fcconan.annotation.campaigns import Assignment, Unit
from fcconan.building import group_values
from fcconan.errors import InputError

Blocks = Literal["units", "cn", "hs"]


def assign_units(
    units: Sequence[Unit],
    raters: Sequence[str],
    *,
    overlap: Mapping[int, float] | None = None,
    forbidden: Collection[tuple[str, str]] = (),
    seed: int = 0,
    blocks: Blocks = "units",
    scatter: bool = False,
    anchors: Sequence[Unit] = (),
    sessions: Sessions = Sessions(),  # noqa: B008, immutable
    swap: bool = True,
) -> list[Assignment]:
    """Assigns units to raters, in a random order for each rater.

    Args:
        units: Units without gold questions.
        raters: Pseudonyms of the raters.
        overlap: Number of raters -> share of the units that so many judge, such as `{2: 0.2, 3: 0.05}`; one rater
            judges the rest. Numbers of units follow by the largest remainder.
        forbidden: Pairs of a rater and a unit (or gold question) that must not be assigned.
        seed: Seed of the assignment.
        blocks: `cn` or `hs` if all units of a CN or HS go to the same raters and follow each other; else `units`.
        scatter: Whether the overlap consists of single units of all blocks instead of whole blocks.
        anchors: Gold questions to mix into the sessions.
        sessions: Length of sessions, and gold questions per session.
        swap: Whether half of the comparisons are shown with the second reply first.

    Returns:
        Assignments of each rater in their order; raters in the given order.

    Raises:
        InputError: The overlap or the gold questions are not possible with these raters and permissions.
    """
    who = distribute(
        units, raters, overlap=overlap or {}, forbidden=forbidden, seed=seed, blocks=blocks, scatter=scatter
    )
    judged: dict[str, list[str]] = {rater: [] for rater in raters}
    for unit_id, chosen in who.items():
        for rater in chosen:
            judged[rater].append(unit_id)
    found = in_order(
        judged,
        seed=seed,
        blocks=block_names(units, blocks),
        anchors=[anchor.unit_id for anchor in anchors],
        sessions=sessions,
        seen=frozenset(forbidden),
        swap=swap and any(unit.reply_b is not None for unit in units),
    )
    return [assignment for rater in raters for assignment in found[rater]]


def distribute(
    units: Sequence[Unit],
    raters: Sequence[str],
    *,
    overlap: Mapping[int, float],
    forbidden: Collection[tuple[str, str]] = (),
    seed: int = 0,
    blocks: Blocks = "units",
    scatter: bool = False,
) -> dict[str, list[str]]:
    """Allocates units to raters, as described in `assign_units`.

    Args:
        units: Units without gold questions.
        raters: Pseudonyms of the raters.
        overlap: Number of raters -> share of the units that so many judge.
        forbidden: Pairs of a rater and a unit that must not be assigned.
        seed: Seed of the allocation.
        blocks: Kind of block that goes to the same raters.
        scatter: Whether the overlap consists of single units of all blocks.

    Returns:
        Unit -> raters, units in the given order.

    Raises:
        InputError: The overlap is not possible with these raters and permissions.
    """
    generator = np.random.default_rng(seed)
    permitted = permissions((unit.unit_id for unit in units), raters, forbidden)
    whole = _whole_blocks(units, blocks, permitted)
    kind = {"units": "units", "cn": "blocks of a CN", "hs": "blocks of an HS"}[blocks]
    load, shared = np.zeros(len(raters), np.int64), np.zeros((len(raters), len(raters)), np.int64)
    scattered = scatter and blocks != "units"
    draw_numbers(whole, {} if scattered else overlap, len(raters), kind, generator.permutation(len(whole)).tolist())
    place(whole, load, shared, generator)
    groups = whole
    if scattered:
        groups = [Group((unit,), permitted[unit], 0, fixed=tuple(each.added)) for each in whole for unit in each.units]
        # Ordered by rank within the block, so that a draw of any size is balanced over blocks.
        ranks = np.concatenate([generator.permutation(len(each.units)) for each in whole])
        order = np.lexsort((generator.random(len(ranks)), ranks)).tolist()
        draw_numbers(groups, overlap, len(raters), "units", order)
        place(groups, load, shared, generator)
    who = {unit_id: [raters[rater] for rater in sorted(group.raters)] for group in groups for unit_id in group.units}
    return {unit.unit_id: who[unit.unit_id] for unit in units}


def _whole_blocks(units: Sequence[Unit], blocks: Blocks, permitted: Mapping[str, Allowed]) -> list[Group]:
    """Returns a group for each block, with the raters who may judge all of its units."""
    named = block_names(units, blocks)
    members = group_values((named[unit.unit_id], unit.unit_id) for unit in units)
    return [Group(tuple(ids), np.logical_and.reduce([permitted[each] for each in ids]), 1) for ids in members.values()]


def numbers(n: int, overlap: Mapping[int, float]) -> dict[int, int]:
    """Returns the number of raters -> the number of units (or blocks) that so many judge, by the largest remainder.

    Args:
        n: Number of units (or blocks).
        overlap: Number of raters -> share; one rater judges the rest.

    Raises:
        InputError: The sum of the shares exceeds 1.
    """
    shares = {raters: Fraction(str(share)) for raters, share in sorted(overlap.items()) if raters > 1}
    if sum(shares.values()) > 1:
        said = " and ".join(f"{float(share):g} by {raters}" for raters, share in shares.items())
        raise InputError(f"the shares of --overlap are {said}: give shares with a sum of at most 1")
    exact = {1: n * (1 - sum(shares.values(), Fraction(0))), **{raters: n * share for raters, share in shares.items()}}
    found = {raters: int(number) for raters, number in exact.items()}
    # Ties round up the larger overlap, which would otherwise vanish for small n.
    by_remainder = sorted(exact, key=lambda raters: (found[raters] - exact[raters], -raters))
    for raters in by_remainder[: n - sum(found.values())]:
        found[raters] += 1
    return found


def permissions(
    unit_ids: Iterable[str], raters: Sequence[str], forbidden: Collection[tuple[str, str]]
) -> dict[str, Allowed]:
    """Returns, for every unit, whether each rater may judge it; shape (raters,) each."""
    everyone = np.ones(len(raters), bool)
    found = dict.fromkeys(unit_ids, everyone)
    position = {rater: place for place, rater in enumerate(raters)}
    for rater, unit_id in forbidden:
        if rater in position and unit_id in found:
            if found[unit_id] is everyone:
                found[unit_id] = everyone.copy()
            found[unit_id][position[rater]] = False
    return found


def block_names(units: Iterable[Unit], blocks: Blocks) -> dict[str, str]:
    """Returns the block of every unit: its CN, its HS or itself.

    Raises:
        InputError: A unit has no CN or no HS.
    """
    found = {}
    for unit in units:
        name = {"units": unit.unit_id, "cn": unit.cn_id, "hs": unit.hs_id}[blocks]
        if name is None:
            other = "hs or units" if blocks == "cn" else "units"
            raise InputError(f"the unit {unit.unit_id} has no {blocks.upper()} of its own: choose --blocks {other}")
        found[unit.unit_id] = name
    return found


def draw_numbers(
    groups: Sequence[Group], overlap: Mapping[int, float], n_raters: int, kind: str, order: Sequence[int]
) -> None:
    """Sets the number of raters to add to each group; groups at the start of a random order get the most raters.

    Args:
        groups: The groups; raters whom they have already count.
        overlap: Number of raters -> share.
        n_raters: Number of active raters.
        kind: Name of the groups, for messages.
        order: Positions of the groups in random order.

    Raises:
        InputError: Too few raters are active or permitted.
    """
    asked = numbers(len(groups), overlap)
    remaining = list(order)
    for raters, number in sorted(asked.items(), reverse=True):
        able = [each for each in remaining if groups[each].permitted.sum() >= raters]
        if len(able) < number:
            raise InputError(
                f"{number} {kind} need {raters} of the {n_raters} active raters, but only {len(able)} have so many "
                "permitted raters: add raters, lower the overlap, or exclude units that raters had with --exclude-round"
            )
        chosen = set(able[:number])
        for each in chosen:
            groups[each].wanted = raters - len(groups[each].fixed)
        remaining = [each for each in remaining if each not in chosen]


@dataclass(frozen=True)
class Balance:
    """The balance of an allocation.

    Attributes:
        judgements: Number of judgements.
        by_raters: Number of raters -> number of units that so many judge.
        least: Smallest load of a rater.
        most: Largest load of a rater.
        pairs: Number of pairs of raters.
        sharing: Number of pairs of raters who share units.
        fewest_shared: Smallest number of units shared by two raters.
        most_shared: Largest number of units shared by two raters.
        connected: Whether shared units connect all raters.
    """

    judgements: int
    by_raters: dict[int, int]
    least: int
    most: int
    pairs: int
    sharing: int
    fewest_shared: int
    most_shared: int
    connected: bool


def measure_balance(judged: Mapping[str, Collection[str]]) -> Balance:
    """Returns the balance of an allocation.

    Args:
        judged: Rater -> units, without gold questions.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    column = {unit: place for place, unit in enumerate({each: None for ids in judged.values() for each in ids})}
    where = [(row, column[each]) for row, unit_ids in enumerate(judged.values()) for each in unit_ids]
    rows, columns = np.array(where, dtype=np.int64).reshape(-1, 2).T
    has = csr_array((np.ones(len(where), np.int64), (rows, columns)), shape=(len(judged), len(column)))
    shared, counts, loads = (has @ has.T).toarray(), has.sum(axis=0), has.sum(axis=1)
    between = shared[np.triu_indices(len(judged), k=1)]
    return Balance(
        judgements=int(has.sum()),
        by_raters={int(number): int((counts == number).sum()) for number in np.unique(counts)},
        least=int(loads.min(initial=len(column))),
        most=int(loads.max(initial=0)),
        pairs=len(between),
        sharing=int((between > 0).sum()),
        fewest_shared=int(between.min()) if len(between) else 0,
        most_shared=int(between.max(initial=0)),
        connected=not len(judged) or int(connected_components(shared)[0]) == 1,
    )


def derived_seed(campaign_seed: int, step: str, given: int | None = None) -> int:
    """Returns the given seed of a step, or a seed derived from the campaign's seed and the name of the step."""
    if given is not None:
        return given
    return int.from_bytes(hashlib.sha256(f"{campaign_seed}\n{step}".encode()).digest()[:4])
