"""Who judges what: units, or blocks of units, to raters with overlaps and equal loads (see `allocation`)."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from fcconan.annotation.assignment.allocation import Allowed, Group, place
from fcconan.annotation.assignment.sequence import Sittings, in_order
from fcconan.annotation.campaigns import Assignment, Unit
from fcconan.building import grouped
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
    sittings: Sittings = Sittings(),  # noqa: B008, it cannot be changed
    swap: bool = True,
) -> list[Assignment]:
    """Assigns units to raters, in an order of their own for every rater.

    Args:
        units: What is judged, anchors left out.
        raters: Their pseudonyms.
        overlap: Number of raters -> share of the units that so many judge, such as `{2: 0.2, 3: 0.05}`; one rater
            judges the rest. Numbers are exact, by the largest remainder.
        forbidden: Raters and ids of units, or anchors, that they must not get.
        seed: Of all draws.
        blocks: `cn` or `hs`: all units of a CN or HS go to the same raters and follow each other; else `units`.
        scatter: Whether the overlap is single units also where there are blocks, and not whole blocks.
        anchors: Units with a known answer that are put into the sessions.
        sittings: How long sessions are, and how many anchors are in each.
        swap: Whether half of the comparisons are shown with the second reply first.

    Returns:
        Each rater's assignments in their order, raters in the order given.

    Raises:
        InputError: The overlap or the anchors cannot be had with these raters and permissions.
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
        sittings=sittings,
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
    """Decides who judges what, as `assign_units` says.

    Args:
        units: What is judged, anchors left out.
        raters: Their pseudonyms.
        overlap: Number of raters -> share of the units that so many judge.
        forbidden: Raters and ids of units that they must not get.
        seed: Of all draws.
        blocks: What goes to the same raters as a whole.
        scatter: Whether the overlap is single units also where there are blocks.

    Returns:
        Unit -> raters, units in the order given.

    Raises:
        InputError: The overlap cannot be had with these raters and permissions.
    """
    generator = np.random.default_rng(seed)
    permitted = permissions((unit.unit_id for unit in units), raters, forbidden)
    whole = _whole_blocks(units, blocks, permitted)
    what = {"units": "units", "cn": "blocks of a CN", "hs": "blocks of an HS"}[blocks]
    load, shared = np.zeros(len(raters), np.int64), np.zeros((len(raters), len(raters)), np.int64)
    scattered = scatter and blocks != "units"
    draw_numbers(whole, {} if scattered else overlap, len(raters), what, generator.permutation(len(whole)).tolist())
    place(whole, load, shared, generator)
    groups = whole
    if scattered:
        groups = [Group((unit,), permitted[unit], 0, fixed=tuple(each.added)) for each in whole for unit in each.units]
        # Ranks within a block, so that a draw of any size takes as many units of every block.
        ranks = np.concatenate([generator.permutation(len(each.units)) for each in whole])
        order = np.lexsort((generator.random(len(ranks)), ranks)).tolist()
        draw_numbers(groups, overlap, len(raters), "units", order)
        place(groups, load, shared, generator)
    who = {unit_id: [raters[rater] for rater in sorted(group.raters)] for group in groups for unit_id in group.units}
    return {unit.unit_id: who[unit.unit_id] for unit in units}


def _whole_blocks(units: Sequence[Unit], blocks: Blocks, permitted: Mapping[str, Allowed]) -> list[Group]:
    """The groups of a round: all units of a block, for raters who may judge all of them."""
    named = block_names(units, blocks)
    members = grouped((named[unit.unit_id], unit.unit_id) for unit in units)
    return [Group(tuple(ids), np.logical_and.reduce([permitted[each] for each in ids]), 1) for ids in members.values()]


def numbers(n: int, overlap: Mapping[int, float]) -> dict[int, int]:
    """Returns how many of `n` things how many raters judge: the shares by the largest remainder.

    Args:
        n: How many things there are.
        overlap: Number of raters -> share; one rater judges the rest.

    Raises:
        InputError: Together the shares are more than all.
    """
    shares = {raters: Fraction(str(share)) for raters, share in sorted(overlap.items()) if raters > 1}
    if sum(shares.values()) > 1:
        said = " and ".join(f"{float(share):g} by {raters}" for raters, share in shares.items())
        raise InputError(f"the shares judged by several are {said}: give shares that make no more than 1")
    exact = {1: n * (1 - sum(shares.values(), Fraction(0))), **{raters: n * share for raters, share in shares.items()}}
    found = {raters: int(number) for raters, number in exact.items()}
    # Among equal remainders the larger overlap is rounded up: it is the one that small numbers lose altogether.
    by_remainder = sorted(exact, key=lambda raters: (found[raters] - exact[raters], -raters))
    for raters in by_remainder[: n - sum(found.values())]:
        found[raters] += 1
    return found


def permissions(
    unit_ids: Iterable[str], raters: Sequence[str], forbidden: Collection[tuple[str, str]]
) -> dict[str, Allowed]:
    """Returns for every unit which raters may judge it; shape (raters,) each."""
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
    """Returns for every unit the block that it is in: its CN, its HS or itself.

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
    groups: Sequence[Group], overlap: Mapping[int, float], n_raters: int, what: str, order: Sequence[int]
) -> None:
    """Sets how many raters each group wants, besides those it has: the first in a random order get most.

    Args:
        groups: The groups.
        overlap: Number of raters -> share.
        n_raters: Number of active raters.
        what: Name of the groups, for messages.
        order: Positions of groups in a random order.

    Raises:
        InputError: So many raters are not there or not permitted.
    """
    asked = numbers(len(groups), overlap)
    remaining = list(order)
    for raters, number in sorted(asked.items(), reverse=True):
        able = [each for each in remaining if groups[each].permitted.sum() >= raters]
        if len(able) < number:
            raise InputError(
                f"{number} {what} are to be judged by {raters} of the {n_raters} active raters, but only "
                f"{len(able)} may be: let more raters join, lower the overlap, or leave units that they had out with "
                "--exclude-round"
            )
        chosen = set(able[:number])
        for each in chosen:
            groups[each].wanted = raters - len(groups[each].fixed)
        remaining = [each for each in remaining if each not in chosen]


@dataclass(frozen=True)
class Spread:
    """How evenly work is spread.

    Attributes:
        judgements: How many there are.
        by_raters: How many units are judged by how many raters.
        least: The smallest load of a rater.
        most: The largest load.
        pairs: How many pairs of raters there are.
        sharing: How many of them share units.
        fewest_shared: The smallest number of units that two raters share.
        most_shared: The largest.
        connected: Whether units that two raters share connect all raters.
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


def spread_of(judged: Mapping[str, Collection[str]]) -> Spread:
    """Returns how evenly units are spread.

    Args:
        judged: Rater -> units, anchors left out.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    column = {unit: place for place, unit in enumerate({each: None for ids in judged.values() for each in ids})}
    where = [(row, column[each]) for row, unit_ids in enumerate(judged.values()) for each in unit_ids]
    rows, columns = np.array(where, dtype=np.int64).reshape(-1, 2).T
    has = csr_array((np.ones(len(where), np.int64), (rows, columns)), shape=(len(judged), len(column)))
    shared, counts, loads = (has @ has.T).toarray(), has.sum(axis=0), has.sum(axis=1)
    between = shared[np.triu_indices(len(judged), k=1)]
    return Spread(
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
    """Returns the seed of a step: the given one, or one that follows from the campaign's seed and the step's name."""
    if given is not None:
        return given
    return int.from_bytes(hashlib.sha256(f"{campaign_seed}\n{step}".encode()).digest()[:4])
