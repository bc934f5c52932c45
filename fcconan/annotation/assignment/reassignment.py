"""Reassignment of a round's units after raters left, joined or skipped units."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fcconan.annotation.assignment.allocation import Counts, Group, place
from fcconan.annotation.assignment.assignments import derived_seed, permissions
from fcconan.annotation.assignment.rounds import assigned_elsewhere, completed_assignments, recorded_options
from fcconan.annotation.assignment.sequence import Sessions, in_order, last_places
from fcconan.annotation.campaigns import MAIN, QUALIFICATION, VALIDATION, Assignment, Campaign, Key, Unit
from fcconan.building import group_values
from fcconan.errors import InputError


@dataclass(frozen=True)
class Reassignment:
    """The result of a reassignment.

    Attributes:
        assignments: All assignments of the round.
        moved: Number of units that went to another rater.
        withdrawn: Number of withdrawn assignments.
        waiting: Units of raters who left that no other rater may judge yet.
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
) -> Reassignment:
    """Reassigns open units of raters who left or failed; call it within `campaign.changing`.

    Answers stay. Open units move to the active raters with the smallest loads, to the end of their orders; the orders
    of
    other raters do not change. Gold questions do not move, and loads do not include them: raters who get units get new
    gold
    questions as well. In a round that all raters judge, raters who joined get all units.

    Args:
        campaign: The campaign.
        name: Name of the round.
        skipped: Whether skipped units are assigned to another rater as well.
        relieve: Whether raters with large loads pass the end of their orders on to raters with small loads.
        seed: Seed of the reassignment; None for one derived from the campaign's seed.

    Returns:
        The new state of the round, which is written if it has changed.

    Raises:
        InputError: The round does not exist, or only its present raters can judge its units.
        OSError: The round cannot be written.
    """
    if name == VALIDATION:
        raise InputError("the validation round is reassigned by `fcconan annotate validate --extend`")
    before, plan = campaign.assignments(name), recorded_options(campaign, name)
    all_raters = bool(plan.get("all_raters"))
    own = all_raters or plan.get("review") is not None or name == QUALIFICATION  # no other rater can judge the units
    if own and (relieve or skipped):
        raise InputError(f"only their raters can judge units of {name}: leave --rebalance and --reassign-skipped out")
    units, people, done = campaign.units(), campaign.raters(), completed_assignments(campaign, name)
    active = campaign.active("annotator")
    items = {each.key: each for each in before if units[each.unit_id].role == "item" and not each.withdrawn}
    left = {each.key for each in before if not each.withdrawn and each.rater not in active} - done.keys()
    new: dict[str, list[str]] = {rater: [] for rater in active}
    withdrawn = left if own else left - items.keys()
    waiting: list[str] = []
    had = {each.key for each in before} | assigned_elsewhere(campaign, name)
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
    return Reassignment(whole, sum(map(len, new.values())), len(withdrawn), waiting)


def _groups(
    items: Mapping[Key, Assignment],
    given: Sequence[Key],
    movable: Collection[Key],
    active: Sequence[str],
    had: Collection[Key],
) -> list[Group]:
    """Returns a group for each unit that may move; units that may stay are ordered by position, the last first.

    Args:
        items: Valid assignments of the round, by rater and unit.
        given: Assignments whose units go to other raters.
        movable: Assignments whose units may stay or go to a rater with a smaller load.
        active: Active raters.
        had: Raters and units that must not be assigned again.
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
    """Returns the number of units shared by two raters; shape (raters, raters)."""
    on = group_values(
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
    """Adds the new units of raters to `new`; returns withdrawn assignments, and units that no other rater may judge."""
    withdrawn: set[Key] = set()
    waiting: list[str] = []
    givers = group_values((key[1], key) for key in given)
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
    """Returns new assignments after the present ones, with the session size of the round."""
    sessions = Counter((each.rater, each.session) for each in before)
    size = max(sessions.values()) if any(session > 1 for _, session in sessions) else None
    anchored = Counter((each.rater, each.session) for each in before if units[each.unit_id].role == "anchor")
    found = in_order(
        {rater: ids for rater, ids in new.items() if ids},
        seed=seed,
        anchors=[unit.unit_id for unit in units.values() if unit.role == "anchor"],
        sessions=Sessions(size, max(anchored.values(), default=0)),
        swap=any(units[unit_id].reply_b is not None for ids in new.values() for unit_id in ids),
        seen=had,
        ends=last_places(before),
        strict=False,
    )
    return [each for rows in found.values() for each in rows]
