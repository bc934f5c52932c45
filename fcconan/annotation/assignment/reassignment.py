"""What becomes of a round when raters leave, join or skip units."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.annotation.assignment.allocation import Counts, Group, place
from fcconan.annotation.assignment.assignments import derived_seed, permissions
from fcconan.annotation.assignment.rounds import done_in, made_how, others_rounds
from fcconan.annotation.assignment.sequence import Sittings, in_order, last_places
from fcconan.annotation.campaigns import MAIN, QUALIFICATION, VALIDATION, Assignment, Campaign, Key, Unit
from fcconan.building import grouped
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
    before, plan = campaign.assignments(name), made_how(campaign, name)
    all_raters = bool(plan.get("all_raters"))
    own = all_raters or plan.get("review") is not None or name == QUALIFICATION  # nobody else can judge the units
    if own and (relieve or skipped):
        raise InputError(f"no other rater can judge units of {name}: leave --rebalance and --reassign-skipped out")
    units, people, done = campaign.units(), campaign.raters(), done_in(campaign, name)
    active = campaign.active("annotator")
    items = {each.key: each for each in before if units[each.unit_id].role == "item" and not each.withdrawn}
    left = {each.key for each in before if not each.withdrawn and each.rater not in active} - done.keys()
    new: dict[str, list[str]] = {rater: [] for rater in active}
    withdrawn = left if own else left - items.keys()
    waiting: list[str] = []
    had = {each.key for each in before} | others_rounds(campaign, name)
    seed = derived_seed(campaign.settings.seed, f"reassign {name} {len(before)}", seed)
    if all_raters:
        there = {each.rater for each in before}
        everything = list(dict.fromkeys(each.unit_id for each in before if units[each.unit_id].role == "item"))
        new |= {rater: everything for rater in active if rater not in there}
    elif not own:
        open_keys = {key for key in items if key not in done and key[0] in active}
        given = [key for key in items if key in left or (skipped and done.get(key))]
        groups = _groups(items, given, open_keys if relieve else set(), active, had)
        load = np.array([sum(rater == each for each, _ in open_keys) for rater in active], dtype=np.int64)
        place(groups, load, _shared(before, active, done), np.random.default_rng(seed))
        moved, waiting = _moves(groups, given, open_keys, active, new)
        withdrawn |= moved
    kept = [replace(each, withdrawn=each.withdrawn or each.key in withdrawn) for each in before]
    added = _appended(units, kept, new, had, seed)
    order = {rater: number for number, rater in enumerate(people)}
    whole = sorted([*kept, *added], key=lambda each: (order.get(each.rater, len(order)), each.position))
    if withdrawn or added:
        campaign.write(f"rounds/{name}.jsonl", whole)
    return Moved(whole, sum(map(len, new.values())), len(withdrawn), waiting)


def _groups(
    items: Mapping[Key, Assignment],
    given: Sequence[Key],
    movable: Collection[Key],
    active: Sequence[str],
    had: Collection[Key],
) -> list[Group]:
    """A group for each unit that may move; those that need not are ordered by position, the last first.

    Args:
        items: Assignments of the round that hold, by rater and unit.
        given: Those whose units go to other raters.
        movable: Those that may stay or go to a rater with less to do.
        active: Active raters.
        had: Raters and units that they do not get again.
    """
    wanted = Counter(unit for _, unit in given)
    last_first = sorted(items.values(), key=lambda each: -each.position)
    moving = dict.fromkeys([*wanted, *(each.unit_id for each in last_first if each.key in movable)])
    permitted = permissions(moving, active, had)
    groups = {unit: Group((unit,), permitted[unit], wanted[unit]) for unit in moving}
    for rater, unit in items:
        if unit in groups and rater in active:
            if (rater, unit) in movable:
                groups[unit].added.append(active.index(rater))
            else:
                groups[unit].fixed += (active.index(rater),)
    return list(groups.values())


def _shared(before: Sequence[Assignment], active: Sequence[str], done: Collection[Key]) -> Counts:
    """How many units two raters share; shape (raters, raters)."""
    on = grouped(
        (each.unit_id, active.index(each.rater))
        for each in before
        if each.rater in active and (not each.withdrawn or each.key in done)
    )
    shared = np.zeros((len(active), len(active)), np.int64)
    for raters in on.values():
        shared[np.ix_(raters, raters)] += 1
    np.fill_diagonal(shared, 0)
    return shared


def _moves(
    groups: Sequence[Group],
    given: Sequence[Key],
    open_keys: Collection[Key],
    active: Sequence[str],
    new: dict[str, list[str]],
) -> tuple[set[Key], list[str]]:
    """Enters into `new` which units raters get, and returns which are withdrawn and which nobody else may judge."""
    withdrawn: set[Key] = set()
    waiting: list[str] = []
    givers = grouped((key[1], key) for key in given)
    for group in groups:
        [unit] = group.units
        now = {active[at] for at in group.raters}
        before = {rater for rater in active if (rater, unit) in open_keys}
        gained = [active[at] for at in group.added if active[at] not in before]
        lost = {(rater, unit) for rater in before - now}
        for rater in gained:
            new[rater].append(unit)
        taken = len(gained) - len(lost)
        withdrawn |= {*lost, *givers.get(unit, [])[:taken]}
        waiting += [unit] * (group.wanted - taken)
    return withdrawn, waiting


def _appended(
    units: Mapping[str, Unit],
    before: Sequence[Assignment],
    new: Mapping[str, Sequence[str]],
    had: Collection[Key],
    seed: int,
) -> list[Assignment]:
    """New assignments after those that raters have, in sessions as the round's."""
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
        ends=last_places(before),
        strict=False,
    )
    return [each for rows in found.values() for each in rows]
