"""Raters for groups of units: those who share least, then those who have least to do, then one rebalancing pass."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Allowed = npt.NDArray[np.bool_]
ALGORITHM = 2  # version of the allocation, as round files record it; rounds of version 1 do not record any


@dataclass
class Group:
    """Units that go to the same raters.

    Attributes:
        units: Their ids.
        permitted: Which raters may judge all of them; shape (raters,).
        wanted: Number of raters to add.
        fixed: Raters who have them and keep them, by position.
        added: Raters who have them and may hand them on, by position.
    """

    units: tuple[str, ...]
    permitted: Allowed
    wanted: int
    fixed: tuple[int, ...] = ()
    added: list[int] = field(default_factory=list)

    @property
    def raters(self) -> list[int]:
        """All raters who have the units."""
        return [*self.fixed, *self.added]

    @property
    def free(self) -> Allowed:
        """The raters who may be added; shape (raters,)."""
        free = self.permitted.copy()
        free[self.raters] = False
        return free


def place(groups: Sequence[Group], load: Counts, shared: Counts, generator: np.random.Generator) -> None:
    """Adds to every group as many raters as it wants, as far as they are permitted, and evens out the loads.

    Groups of several raters come first: each gets the raters who share fewest units with those it has (at the start:
    with anyone). Among equals, and for groups of one rater, the smallest load decides.

    Args:
        groups: Groups whose `added` is filled.
        load: Units of each rater; shape (raters,), updated.
        shared: Units that two raters share; shape (raters, raters), updated.
        generator: Source of randomness among equals.
    """
    several = [len(group.raters) + group.wanted > 1 for group in groups]
    order = generator.permutation(len(groups)).tolist()
    for number in sorted(order, key=lambda each: (not several[each], -groups[each].wanted, -len(groups[each].units))):
        group = groups[number]
        for _ in range(group.wanted):
            free = np.flatnonzero(group.free)
            if not len(free):
                break
            cost = [generator.random(len(load))[free], load[free]]  # the last one decides first
            if several[number]:
                cost.append(shared[group.raters or slice(None)].sum(axis=0)[free])
            best = np.lexsort(cost)[0]
            _add(group, int(free[best]), load, shared)
    _rebalance(groups, load, shared)


def _add(group: Group, rater: int, load: Counts, shared: Counts, sign: int = 1) -> None:
    """Adds a rater to a group, or removes one with the sign -1."""
    if sign < 0:
        group.added.remove(rater)
    size = sign * len(group.units)
    shared[rater, group.raters] += size
    shared[group.raters, rater] += size
    load[rater] += size
    if sign > 0:
        group.added.append(rater)


def _rebalance(groups: Sequence[Group], load: Counts, shared: Counts) -> None:
    """Hands each group on, once at most, to a rater whose load is smaller by more than the group's size.

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
