"""To whom groups of units go: raters who share least, then raters who have least to do."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Allowed = npt.NDArray[np.bool_]
_SHARED = 1e7  # what one unit more that two raters share weighs, against units of load
_APART = 1e14  # what it weighs that nothing connects two raters


@dataclass
class Group:
    """Units that go to the same raters.

    Attributes:
        units: Their ids.
        permitted: Which raters may judge all of them; shape (raters,).
        wanted: How many raters are to be added.
        fixed: Raters who have them already, by position.
        added: Raters who were added, by position.
    """

    units: tuple[str, ...]
    permitted: Allowed
    wanted: int
    fixed: tuple[int, ...] = ()
    added: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.units)

    def may_have(self, rater: int) -> bool:
        """Returns whether a rater can be added."""
        return bool(self.permitted[rater]) and rater not in self.fixed and rater not in self.added


def place(
    groups: Sequence[Group],
    load: Counts,
    shared: Counts,
    generator: np.random.Generator,
) -> None:
    """Adds to every group as many raters as it wants, if so many are permitted.

    Args:
        groups: Their `added` is filled.
        load: Units that each rater has; shape (raters,), counted up.
        shared: Units that two raters share; shape (raters, raters), counted up.
        generator: Decides between equals.
    """
    teams = Teams(shared)
    order = generator.permutation(len(groups))
    several = [len(group.fixed) + group.wanted > 1 for group in groups]
    for number in sorted(order, key=lambda each: (not several[each], -groups[each].wanted, -groups[each].size)):
        group = groups[number]
        free = group.permitted.copy()
        free[list(group.fixed)] = False
        if group.wanted >= free.sum():
            for rater in np.flatnonzero(free).tolist():
                _add(group, rater, load, shared)
            teams.join([*group.fixed, *group.added])
            continue
        for _ in range(group.wanted):
            on = [*group.fixed, *group.added]
            if not on and group.wanted > 1:
                rater = _first_of_two(free, load, shared, teams, generator)
            else:
                rater = _next(free, on, load, shared, teams, generator)
            _add(group, rater, load, shared)
            free[rater] = False
            teams.join([*on, rater])
    _even_out(groups, load, shared, generator)


class Teams:
    """Raters who are connected by units that they share."""

    def __init__(self, shared: Counts) -> None:
        self.of = np.arange(len(shared))
        for first, second in np.argwhere(shared > 0):
            self.join([int(first), int(second)])

    def join(self, raters: Sequence[int]) -> None:
        """Connects raters."""
        if len(raters) > 1 and self.apart:
            self.of[np.isin(self.of, self.of[list(raters)])] = self.of[raters[0]]

    @property
    def apart(self) -> bool:
        """Whether nothing connects some of them."""
        return bool((self.of != self.of[:1]).any())


def _first_of_two(
    free: Allowed,
    load: Counts,
    shared: Counts,
    teams: Teams,
    generator: np.random.Generator,
) -> int:
    """One of the two raters who share least; the other is then the one who shares least with them."""
    cost = shared * _SHARED + load[:, None] + load[None, :] + generator.random(shared.shape)
    if teams.apart:
        cost -= _APART * (teams.of[:, None] != teams.of[None, :])
    cost[~free] = cost[:, ~free] = np.inf
    np.fill_diagonal(cost, np.inf)
    return int(cost.argmin() // len(free))


def _next(
    free: Allowed,
    on: Sequence[int],
    load: Counts,
    shared: Counts,
    teams: Teams,
    generator: np.random.Generator,
) -> int:
    cost = load + generator.random(len(load))
    if on:
        cost += _SHARED * shared[list(on)].sum(axis=0)
        if teams.apart:
            cost -= _APART * ~np.isin(teams.of, teams.of[list(on)])
    cost[~free] = np.inf
    return int(cost.argmin())


def _add(group: Group, rater: int, load: Counts, shared: Counts, sign: int = 1) -> None:
    """Adds a rater to a group, or takes them off with the sign -1."""
    if sign < 0:
        group.added.remove(rater)
    for other in (*group.fixed, *group.added):
        shared[rater, other] += sign * group.size
        shared[other, rater] += sign * group.size
    if sign > 0:
        group.added.append(rater)
    load[rater] += sign * group.size


def _even_out(
    groups: Sequence[Group],
    load: Counts,
    shared: Counts,
    generator: np.random.Generator,
) -> None:
    # Groups of few raters are moved first: moving one of several changes who shares units with whom.
    order = sorted(generator.permutation(len(groups)), key=lambda each: len(groups[each].fixed) + groups[each].wanted)
    for size in sorted({group.size for group in groups}, reverse=True):
        having: list[list[Group]] = [[] for _ in load]
        for number in order:
            if groups[number].size == size:
                for rater in groups[number].added:
                    having[rater].append(groups[number])
        while chain := _chain(having, load, size):
            for giver, taker, group in chain:
                _add(group, giver, load, shared, sign=-1)
                _add(group, taker, load, shared)
                having[giver] = [each for each in having[giver] if each is not group]
                having[taker].append(group)


def _chain(having: Sequence[Sequence[Group]], load: Counts, size: int) -> list[tuple[int, int, Group]] | None:
    """Finds groups of a size to hand on, from a rater with more to one who has less by more than the size."""
    for start in np.argsort(-load, kind="stable"):
        if load[start] - load.min() <= size:
            return None
        came: dict[int, tuple[int, Group]] = {}
        waiting = deque([int(start)])
        while waiting:
            giver = waiting.popleft()
            for taker in np.argsort(load, kind="stable").tolist():
                if taker in came or taker == start:
                    continue
                group = next((each for each in having[giver] if each.may_have(taker)), None)
                if group is None:
                    continue
                came[taker] = (giver, group)
                if load[start] - load[taker] > size:
                    return _back(came, int(start), taker)
                waiting.append(taker)
    return None


def _back(came: Mapping[int, tuple[int, Group]], start: int, end: int) -> list[tuple[int, int, Group]]:
    """The moves from start to end, the last one first, so that a group never has a rater twice."""
    chain = []
    while end != start:
        giver, group = came[end]
        chain.append((giver, end, group))
        end = giver
    return chain
