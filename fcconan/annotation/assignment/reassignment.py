"""What becomes of a round when raters leave, join or skip units."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.annotation.assignment.allocation import Counts, Group, place
from fcconan.annotation.assignment.assignments import derived_seed, permissions
from fcconan.annotation.assignment.rounds import Key, done_in, made_how, others_rounds
from fcconan.annotation.assignment.sequence import Sittings, in_order
from fcconan.annotation.campaigns import MAIN, QUALIFICATION, VALIDATION, Assignment, Campaign
from fcconan.errors import InputError


@dataclass(frozen=True)
class Moved:
    """What became of a round after raters joined, left or skipped units.

    Attributes:
        assignments: The whole round.
        moved: How many units went to another rater.
        withdrawn: How many assignments were taken back.
        waiting: Units of raters who left that nobody else may judge yet.
    """

    assignments: list[Assignment]
    moved: int
    withdrawn: int
    waiting: list[str]


def reassign(
    campaign: Campaign,
    name: str = MAIN,
    *,
    skipped: bool = False,
    relieve: bool = False,
    seed: int | None = None,
) -> Moved:
    """Gives away what raters who left, or failed, still had to do; call it within `campaign.changing`.

    Finished answers stay. Only open assignments move, to the active raters with least to do, to the end of their order,
    so nobody else's order changes. Anchors do not move, and what raters have to do is counted without them: who gets
    units gets new anchors, too. In a round that all raters judge, raters who joined get all its units.

    Args:
        campaign: The campaign.
        name: The round.
        skipped: Whether units that somebody skipped go to somebody else, too.
        relieve: Whether raters with more to do hand the end of their order to those with less, such as who joined.
        seed: Of all draws; None for one that follows from the campaign's.

    Returns:
        The round as it is now; it is written if anything moved.

    Raises:
        InputError: There is no such round, or its units are for the raters who have them only.
        OSError: It cannot be written.
    """
    if name == VALIDATION:
        raise InputError("what validators have to do is given away by `fcconan annotate validate --extend`")
    before = campaign.assignments(name)
    plan = made_how(campaign, name)
    units, done = campaign.units(), done_in(campaign, name)
    people = campaign.raters()
    active = [rater.rater for rater in people.values() if (rater.role, rater.state) == ("annotator", "active")]
    all_raters = bool(plan.get("all_raters"))
    own = all_raters or plan.get("review") is not None or name == QUALIFICATION  # what is assigned is for nobody else
    if own and (relieve or skipped):
        raise InputError(
            f"nobody else can judge what the round {name} assigned to a rater: leave --rebalance and "
            "--reassign-skipped out"
        )
    holding = [each for each in before if not each.withdrawn]
    left = [each for each in holding if each.rater not in active and (each.rater, each.unit_id) not in done]
    movable = [] if own else [each for each in left if units[each.unit_id].role == "item"]
    withdrawn = {(each.rater, each.unit_id) for each in left if own or units[each.unit_id].role != "item"}
    if skipped:
        movable += [
            each for each in holding if done.get((each.rater, each.unit_id)) and units[each.unit_id].role == "item"
        ]
    had = {(each.rater, each.unit_id) for each in before} | others_rounds(campaign, name)
    fresh = derived_seed(campaign.settings.seed, f"reassign {name} {len(before)}", seed)
    generator = np.random.default_rng(fresh)
    new: dict[str, list[str]] = {rater: [] for rater in active}
    waiting: list[str] = []
    if all_raters:
        shared = list(dict.fromkeys(each.unit_id for each in before if units[each.unit_id].role == "item"))
        for rater in active:
            if not any(each.rater == rater for each in before):
                new[rater] = shared
    groups = _groups(movable, active, had, before)
    open_items = [
        each for each in holding if (each.rater, each.unit_id) not in done and units[each.unit_id].role == "item"
    ]
    counted = Counter(each.rater for each in open_items)
    load = np.array([counted[rater] for rater in active], dtype=np.int64)
    place(groups, load, _shared(before, active, done), generator)
    givers: dict[str, list[str]] = {}
    for each in movable:
        givers.setdefault(each.unit_id, []).append(each.rater)
    for group in groups:
        [unit_id] = group.units
        for position in group.added:
            new[active[position]].append(unit_id)
        withdrawn |= {(rater, unit_id) for rater in givers[unit_id][: len(group.added)]}
        waiting += [unit_id] * (group.wanted - len(group.added))
    if relieve:
        withdrawn |= _relieve(new, open_items, dict(zip(active, load.tolist(), strict=True)), had)
    kept = [replace(each, withdrawn=each.withdrawn or (each.rater, each.unit_id) in withdrawn) for each in before]
    added = _appended(campaign, kept, new, had, fresh)
    order = {rater: number for number, rater in enumerate(people)}
    whole = sorted([*kept, *added], key=lambda each: (order.get(each.rater, len(order)), each.position))
    if withdrawn or added:
        campaign.write(f"rounds/{name}.jsonl", whole)
    return Moved(whole, sum(map(len, new.values())), len(withdrawn), waiting)


def _groups(
    movable: Sequence[Assignment], active: Sequence[str], forbidden: Collection[Key], before: Sequence[Assignment]
) -> list[Group]:
    wanted = Counter(each.unit_id for each in movable)
    permitted = permissions(wanted, active, forbidden)
    on: dict[str, list[int]] = {unit_id: [] for unit_id in wanted}
    for each in before:
        if each.unit_id in on and each.rater in active and not each.withdrawn:
            on[each.unit_id].append(active.index(each.rater))
    return [
        Group((unit_id,), permitted[unit_id], number, fixed=tuple(on[unit_id])) for unit_id, number in wanted.items()
    ]


def _shared(before: Sequence[Assignment], active: Sequence[str], done: Collection[Key]) -> Counts:
    on: dict[str, list[int]] = {}
    for each in before:
        if each.rater in active and (not each.withdrawn or (each.rater, each.unit_id) in done):
            on.setdefault(each.unit_id, []).append(active.index(each.rater))
    shared = np.zeros((len(active), len(active)), np.int64)
    for raters in on.values():
        shared[np.ix_(raters, raters)] += 1
    np.fill_diagonal(shared, 0)
    return shared


def _relieve(
    new: dict[str, list[str]], open_items: Sequence[Assignment], load: dict[str, int], had: Collection[Key]
) -> set[Key]:
    """Moves open units to who has less to do, the last in the order first, until no permitted move evens the loads.

    Args:
        new: Rater -> units that they get; what moves is entered there.
        open_items: What raters have to do, in their order.
        load: How many units each active rater has to do, the new ones included; counted on.
        had: What raters have, or had, and do not get again.

    Returns:
        What is withdrawn.
    """
    old = {rater: [each.unit_id for each in open_items if each.rater == rater] for rater in load}
    withdrawn: set[Key] = set()
    while True:
        by_load = sorted(load, key=lambda rater: load[rater])
        move = next(
            (
                (giver, taker, unit_id)
                for giver in reversed(by_load)
                for taker in by_load
                if load[giver] - load[taker] > 1
                for unit_id in reversed([*old[giver], *new[giver]])
                if (taker, unit_id) not in had and unit_id not in new[taker]
            ),
            None,
        )
        if move is None:
            return withdrawn
        giver, taker, unit_id = move
        if unit_id in new[giver]:
            new[giver].remove(unit_id)
        else:
            old[giver].remove(unit_id)
            withdrawn.add((giver, unit_id))
        new[taker].append(unit_id)
        load[taker] += 1
        load[giver] -= 1


def _appended(
    campaign: Campaign, before: Sequence[Assignment], new: Mapping[str, Sequence[str]], had: Collection[Key], seed: int
) -> list[Assignment]:
    """New assignments after those that raters have, in sessions as the round's."""
    units = campaign.units()
    sessions = Counter((each.rater, each.session) for each in before)
    size = max(sessions.values()) if any(session > 1 for _, session in sessions) else None
    anchored = Counter((each.rater, each.session) for each in before if units[each.unit_id].role == "anchor")
    found = in_order(
        {rater: ids for rater, ids in new.items() if ids},
        seed=seed,
        anchors=[unit.unit_id for unit in units.values() if unit.role == "anchor"],
        sittings=Sittings(size, max(anchored.values(), default=0)),
        swap=any(units[unit_id].reply_b is not None for ids in new.values() for unit_id in ids),
        seen=had,
        ends={
            rater: (
                max((each.position for each in before if each.rater == rater), default=0),
                max((each.session for each in before if each.rater == rater), default=0),
            )
            for rater in new
        },
        strict=False,
    )
    return [each for rows in found.values() for each in rows]
