"""Allocation of groups of units to raters: by shared units, then by load, with one rebalancing pass."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Allowed = npt.NDArray[np.bool_]
ALGORITHM = 2  # version of the allocation in round files; rounds of version 1 have no entry


@dataclass
class Group:
    """Units with the same raters.

    Attributes:
        units: Ids of the units.
        permitted: Whether each rater may judge all of them; shape (raters,).
        wanted: Number of raters to add.
        fixed: Indices of raters who have the units and keep them.
        added: Indices of raters who have the units and may pass them on.
    """

    units: tuple[str, ...]
    permitted: Allowed
    wanted: int
    fixed: tuple[int, ...] = ()
    added: list[int] = field(default_factory=list)

    @property
    def raters(self) -> list[int]:
        """Indices of all raters who have the units."""
        return [*self.fixed, *self.added]

    @property
    def free(self) -> Allowed:
        """Whether each rater may be added; shape (raters,)."""
        free = self.permitted.copy()
        free[self.raters] = False
        return free


def place(groups: Sequence[Group], load: Counts, shared: Counts, generator: np.random.Generator) -> None:
    """Adds the wanted number of permitted raters to every group, and balances the loads.

    Groups of several raters come first. Each gets the raters who share the fewest units with its present raters (with
    any
    rater, if it has none). Ties, and groups of one rater, are decided by the smallest load.

    Args:
        groups: Groups whose `added` is filled.
        load: Number of units of each rater; shape (raters,), updated.
        shared: Number of units shared by two raters; shape (raters, raters), updated.
        generator: Source of randomness for ties.
    """
    several = [len(group.raters) + group.wanted > 1 for group in groups]
    order = generator.permutation(len(groups)).tolist()
    for number in sorted(order, key=lambda each: (not several[each], -groups[each].wanted, -len(groups[each].units))):
        group = groups[number]
        for _ in range(group.wanted):
            free = np.flatnonzero(group.free)
            if not len(free):
                break
            cost = [generator.random(len(load))[free], load[free]]  # lexsort: the last key is the primary one
            if several[number]:
                cost.append(shared[group.raters or slice(None)].sum(axis=0)[free])
            best = np.lexsort(cost)[0]
            _add(group, int(free[best]), load, shared)
    _rebalance(groups, load, shared)


def _add(group: Group, rater: int, load: Counts, shared: Counts, sign: int = 1) -> None:
    """Adds a rater to a group, or removes the rater with the sign -1."""
    if sign < 0:
        group.added.remove(rater)
    size = sign * len(group.units)
    shared[rater, group.raters] += size
    shared[group.raters, rater] += size
    load[rater] += size
    if sign > 0:
        group.added.append(rater)


def _rebalance(groups: Sequence[Group], load: Counts, shared: Counts) -> None:
    """Moves each group, at most once, to a rater whose load is smaller by more than the group's size.

    Large groups come first. Groups of few raters come before others, as moving them changes fewer shared units.
    """
    for group in sorted(groups, key=lambda each: (-len(each.units), len(each.raters))):
        for giver in list(group.added):
            if load[giver] - load.min() <= len(group.units):
                continue
            takers = np.flatnonzero(group.free)
            if len(takers) and load[giver] - load[takers].min() > len(group.units):
                _add(group, giver, load, shared, sign=-1)
                _add(group, int(takers[load[takers].argmin()]), load, shared)
