"""Who judges what: units, or blocks of units, to raters with overlaps and equal loads.

What more than one rater judges is given to the two raters who share least so far, first of all to two whom no chain of
raters that share units connects; so every pair of raters comes to share units where there are enough of them, and the
raters hang together where there are not. What one rater judges goes to whoever has least to do. In the end units are
moved from raters with more to raters with less, along chains of raters where no direct move is permitted: with single
units the loads then differ as little as the permissions allow (a minimum-cost flow has no cheaper one).
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

import numpy as np

from fcconan.annotation.assignment.allocation import Allowed, Group, Teams, place
from fcconan.annotation.assignment.sequence import Sittings, in_order
from fcconan.annotation.campaigns import Assignment, Unit
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
    if not raters:
        raise InputError("there is no active rater to assign units to: let some join with `fcconan annotate raters`")
    generator = np.random.default_rng(seed)
    named = block_names(units, blocks)
    members: dict[str, list[str]] = {}
    for unit in units:
        members.setdefault(named[unit.unit_id], []).append(unit.unit_id)
    permitted = permissions((unit.unit_id for unit in units), raters, forbidden)
    whole = [
        Group(tuple(ids), np.logical_and.reduce([permitted[unit_id] for unit_id in ids]), 1) for ids in members.values()
    ]
    what = {"units": "units", "cn": "blocks of a CN", "hs": "blocks of an HS"}
    load, shared = np.zeros(len(raters), np.int64), np.zeros((len(raters), len(raters)), np.int64)
    if scatter and blocks != "units":
        _want(whole, {}, len(raters), what[blocks], generator)
        place(whole, load, shared, generator)
        single = [
            Group((unit_id,), permitted[unit_id], 1, fixed=tuple(group.added))
            for group in whole
            for unit_id in group.units
        ]
        _want(single, overlap, len(raters), "units", generator, have=1, spread=[group.size for group in whole])
        place(single, load, shared, generator)
        groups = single
    else:
        _want(whole, overlap, len(raters), what[blocks], generator)
        place(whole, load, shared, generator)
        groups = whole
    who = {unit_id: group for group in groups for unit_id in group.units}
    return {
        unit.unit_id: [raters[rater] for rater in sorted((*who[unit.unit_id].fixed, *who[unit.unit_id].added))]
        for unit in units
    }


def numbers(n: int, overlap: Mapping[int, float]) -> dict[int, int]:
    """Returns how many of `n` things how many raters judge: the shares by the largest remainder.

    Args:
        n: How many things there are.
        overlap: Number of raters -> share; one rater judges the rest.

    Raises:
        InputError: A share is none, or together they are more than all.
    """
    given = {raters: share for raters, share in sorted(overlap.items()) if raters > 1}
    shares = {raters: Fraction(str(share)) for raters, share in given.items() if math.isfinite(share)}
    if shares.keys() != given.keys() or any(share < 0 for share in shares.values()) or sum(shares.values()) > 1:
        said = " and ".join(f"{share:g} by {raters}" for raters, share in given.items())
        raise InputError(f"the shares judged by several are {said}: give shares from 0 that make no more than 1")
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
            raise InputError(
                f"the unit {unit.unit_id} has no {blocks.upper()} of its own, so there are no blocks of it: choose "
                f"--blocks {other}"
            )
        found[unit.unit_id] = name
    return found


def _want(
    groups: Sequence[Group],
    overlap: Mapping[int, float],
    n_raters: int,
    what: str,
    generator: np.random.Generator,
    *,
    have: int = 0,
    spread: Sequence[int] | None = None,
) -> None:
    """Draws which groups how many raters judge, and sets how many each wants besides those it has.

    Args:
        groups: In blocks of the sizes `spread`, over which the draw is spread evenly, if that is given.
        overlap: Number of raters -> share.
        n_raters: How many raters there are.
        what: The groups' name, for complaints.
        generator: Decides.
        have: How many raters each group has.
        spread: Sizes of blocks.

    Raises:
        InputError: So many raters are not there or not permitted.
    """
    asked = numbers(len(groups), overlap)
    for raters, share in overlap.items():
        if share > 0 and raters > n_raters:
            raise InputError(
                f"{share:g} of the {what} are to be judged by {raters} raters, but only {n_raters} are active: let "
                "more join, or lower the share"
            )
    remaining = generator.permutation(len(groups)).tolist()
    if spread is not None:
        turn, start = np.empty(len(groups)), 0
        for size in spread:
            turn[start : start + size] = generator.permutation(size) + generator.random(size)
            start += size
        remaining = np.argsort(turn, kind="stable").tolist()
    for raters in sorted(asked, reverse=True):
        able = [each for each in remaining if groups[each].permitted.sum() >= raters]
        if len(able) < asked[raters]:
            raise InputError(
                f"{asked[raters]} {what} are to be judged by {raters} of the {n_raters} active raters, but only "
                f"{len(able)} may be, as raters had the others before: let more join, lower the overlap, or leave "
                "units out with --exclude-round"
            )
        for each in able[: asked[raters]]:
            groups[each].wanted = raters - have
        chosen = set(able[: asked[raters]])
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
    raters = list(judged)
    position = {rater: place for place, rater in enumerate(raters)}
    on: dict[str, list[int]] = {}
    for rater, unit_ids in judged.items():
        for unit_id in unit_ids:
            on.setdefault(unit_id, []).append(position[rater])
    shared = np.zeros((len(raters), len(raters)), np.int64)
    for several in on.values():
        for first, second in combinations(several, 2):
            shared[first, second] += 1
            shared[second, first] += 1
    counts = [len(several) for several in on.values()]
    loads = [len(unit_ids) for unit_ids in judged.values()]
    between = shared[np.triu_indices(len(raters), k=1)]
    return Spread(
        judgements=sum(counts),
        by_raters={number: counts.count(number) for number in sorted(set(counts))},
        least=min(loads, default=0),
        most=max(loads, default=0),
        pairs=len(between),
        sharing=int((between > 0).sum()),
        fewest_shared=int(between.min()) if len(between) else 0,
        most_shared=int(between.max(initial=0)),
        connected=len(set(Teams(shared).of.tolist())) <= 1,
    )


def derived_seed(campaign_seed: int, step: str, given: int | None = None) -> int:
    """Returns the seed of a step: the given one, or one that follows from the campaign's seed and the step's name."""
    if given is not None:
        return given
    return int.from_bytes(hashlib.sha256(f"{campaign_seed}\n{step}".encode()).digest()[:4])
