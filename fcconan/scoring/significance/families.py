"""Declared families of tests, whose p values are adjusted together, in results, signatures and notes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from fcconan.data import counted, did_you_mean
from fcconan.errors import InputError
from fcconan.scoring.significance.max_t import units_floor

LEVEL = 0.05
CORRECTION = "max-t"
PRIMARY, EXPLORATORY = "primary", "exploratory"
Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Family:
    """A declared family of tests, whose p values are adjusted together.

    Attributes:
        name: `primary`, `exploratory`, or another name.
        tests: The tests it holds, in words.
        n_tests: Number of tests with a p value.
        floor: Smallest `p_corrected` that can occur; None without a test, or without such a bound.
        correction: `max-t`; `holm` or `bonferroni` where tests have no random draws in common.
        units: Number of paired units of the largest test; None where signs are not flipped.
    """

    name: str
    tests: str
    n_tests: int
    floor: float | None
    correction: str = CORRECTION
    units: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the family as results hold it."""
        return {key: value for key, value in asdict(self).items() if key != "units" or value is not None}

    def note(self, option: str) -> str | None:
        """Returns a line if no test of the family can be significant at .05, otherwise None.

        Args:
            option: The option that sets the number of draws, such as `--resamples`.
        """
        if self.floor is None or self.floor <= LEVEL:
            return None
        start = f"no test of the {self.name} family can be significant: its smallest corrected p is {self.floor:.3g}"
        if self.units is not None and units_floor(self.units) > LEVEL:
            units = counted(self.units, "paired unit")
            return f"{start} with {units}; 6 units or more are needed, more {option} do not help"
        return f"{start}; raise {option} to {round(1 / LEVEL)} or more"


def system_pairs(systems: Sequence[str], baseline: str | None = None) -> Pairs:
    """Returns the positions of the systems of every pair: all pairs, or each other system and the baseline.

    Args:
        systems: Names of the systems.
        baseline: System that all others are compared with, the second of every pair; None for all pairs.

    Raises:
        InputError: There is no such system, or no other one.
    """
    if baseline is None:
        return list(combinations(range(len(systems)), 2))
    if baseline not in systems:
        hint = did_you_mean(baseline, systems)
        raise InputError(f"unknown baseline system {baseline!r}: {hint}known are {', '.join(systems)}")
    if len(systems) < 2:
        raise InputError(f"there is one system, {baseline}: --baseline needs another one to compare it with")
    second = list(systems).index(baseline)
    return [(other, second) for other in range(len(systems)) if other != second]


def family_parts(families: Iterable[Family], by: str) -> dict[str, str]:
    """Returns the parts of a signature that declare families: their numbers of tests, smallest p and correction.

    Families of the same size and floor are counted together. Where floors differ, there is one for each of these
    groups, in the order of their numbers of tests.

    Args:
        families: The families.
        by: Rule that divides the tests into families.
    """
    listed = list(families)
    several = len({each.floor for each in listed if each.floor is not None}) > 1
    groups = Counter((each.n_tests, each.floor if several else None) for each in listed)
    floors: list[float | None] = [floor for _, floor in groups]
    if not several:  # the one floor of all families that have a test
        floors = [next((each.floor for each in listed if each.floor is not None), None)]
    return {
        "family": by,
        "tests": "+".join(str(n) if times == 1 else f"{times}x{n}" for (n, _), times in groups.items()) or "0",
        "floor": "+".join("none" if floor is None else f"{floor:.3g}" for floor in floors) or "none",
        "correction": "+".join(dict.fromkeys(each.correction for each in listed)) or "none",
    }


def floor_notes(families: Sequence[Family], option: str) -> list[str]:
    """Returns a sentence about the families no test of which can be significant, or none.

    Args:
        families: The families.
        option: Option that sets the number of draws.
    """
    notes = [note for each in families if (note := each.note(option)) is not None]
    if not notes:
        return []
    more = f"; the same holds for {len(notes) - 1} more of {len(families)} families" if len(notes) > 1 else ""
    return [f"{notes[0][0].upper()}{notes[0][1:]}{more}."]
