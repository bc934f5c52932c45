"""Families of tests whose p-values are adjusted together, by the step-down max-T method (Westfall and Young, 1993).

All tests of a family are resampled together. A test's adjusted p compares its statistic with the largest statistic of
all tests that are not more extreme, in every draw. Correlated tests therefore cost little, and the smallest adjusted p
is 1 / (draws + 1) for any number of tests; a Bonferroni or Holm bound grows with the number of tests.

References:
    Westfall and Young, Resampling-Based Multiple Testing, 1993, algorithm 4.1.
    Ge, Dudoit and Speed, Resampling-based multiple testing for microarray data analysis, Test 12, 2003, box 4.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fcconan.data import count_noun
from fcconan.scoring.arrays import Floats, Ints, Swaps
from fcconan.scoring.intervals import TOLERANCE

MAX_SIGN_VECTORS = 1_000_000  # sign vectors in memory at once


def p_floor(draws: int, units: int | None = None) -> float:
    """Returns the smallest p value that tests can have.

    Args:
        draws: Number of random draws: p is at least 1 / (draws + 1).
        units: Number of paired units whose signs are flipped; None for other draws.
    """
    of_draws = 1 / (draws + 1)
    return of_draws if units is None else max(of_draws, units_floor(units))


def units_floor(units: int) -> float:
    """Returns the smallest p value that paired units allow, for any number of draws.

    Of the 2^units sign vectors, two always reach the observed statistic: the one without flips and the one that flips
    all signs. p is therefore at least 2^(1 - units).
    """
    return float(min(1.0, 2.0 ** (1 - units)))


def all_sign_vectors(units: int, draws: int) -> Swaps | None:
    """Returns all sign vectors, for which p is exact; None if there are more than the requested draws.

    A sign vector and its opposite have the same absolute statistic, so only one of them is included. The one without
    flips is left out, because p counts it in any case.

    Args:
        units: Number of units.
        draws: Number of requested draws.

    Returns:
        Shape (2^(units - 1) - 1, units); 1 for flipped units, otherwise 0.
    """
    n_ways = 2 ** max(0, units - 1)  # the last unit is never flipped
    if n_ways - 1 > min(draws, MAX_SIGN_VECTORS):
        return None
    return (np.arange(1, n_ways)[:, None] >> np.arange(units) & 1).astype(np.int8)


def step_down(observed: Floats, null: Iterable[Floats], *, families: Ints | None = None) -> Floats:
    """Adjusts p values by the step-down max-T method (Ge, Dudoit and Speed, 2003, box 4).

    The statistics of a family are sorted as t_1 >= ... >= t_m, and u_j is the largest statistic of the tests j, ..., m
    in a draw. The adjusted p of test j is (c_j + 1) / (n + 1), where c_j is the number of the n draws with u_j >= t_j.
    It is then made monotone.

    Args:
        observed: Absolute studentised statistics, shape (tests,); nan for a test without a statistic.
        null: Absolute statistics of the draws, in chunks of shape (draws, tests); all tests share a draw. nan is
            ignored.
        families: Family of each test, shape (tests,); each family is adjusted separately. None for one family.

    Returns:
        Adjusted p values, shape (tests,); nan for a test without a statistic.
    """
    bars = observed - TOLERANCE * np.maximum(1.0, np.abs(observed))  # equal statistics may differ in the last digit
    return _adjusted(bars, null, families, np.zeros(len(bars)))


def _adjusted(bars: Floats, null: Iterable[Floats], families: Ints | None, least: Floats) -> Floats:
    """Adjusts p values by max-T; see `step_down` for the formula.

    `least` is the smallest p value that each test can have, shape (tests,).
    """
    labels = np.zeros(len(bars), dtype=np.int64) if families is None else families
    ascending = [
        members[np.argsort(bars[members], kind="stable")]
        for label in np.unique(labels)
        if len(members := np.flatnonzero((labels == label) & ~np.isnan(bars)))
    ]
    at_least = np.zeros(len(bars), dtype=np.int64)
    n_draws = 0
    for chunk in null:
        n_draws += len(chunk)
        for tests in ascending:
            largest = np.fmax.accumulate(chunk[:, tests], axis=1)
            at_least[tests] += (largest >= bars[tests]).sum(axis=0)
    adjusted = np.full(len(bars), np.nan)
    for tests in ascending:
        p_values = np.maximum((at_least[tests[::-1]] + 1) / (n_draws + 1), least[tests[::-1]])
        adjusted[tests[::-1]] = np.maximum.accumulate(p_values)
    return adjusted


LEVEL = 0.05
CORRECTION = "max-t"


@dataclass(frozen=True)
class Family:
    """A declared family of tests, whose p values are adjusted together.

    Attributes:
        name: `primary`, `exploratory`, or another name.
        tests: Description of the tests.
        n_tests: Number of tests with a p value.
        floor: Smallest possible `p_corrected`; None without a test, or if there is no bound.
        correction: `max-t`; `holm` or `bonferroni` for tests without common random draws.
        units: Number of paired units of the largest test; None for tests without sign flips.
    """

    name: str
    tests: str
    n_tests: int
    floor: float | None
    correction: str = CORRECTION
    units: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the family as a row of results."""
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
            units = count_noun(self.units, "paired unit")
            return f"{start} with {units}; 6 units or more are needed, more {option} do not help"
        return f"{start}; raise {option} to {round(1 / LEVEL)} or more"


def family_parts(families: Iterable[Family], by: str) -> dict[str, str]:
    """Returns the parts of a signature that declare families: their numbers of tests, smallest p and correction.

    Families with the same size and floor are counted together. If floors differ, each of these groups has one, in the
    order of the numbers of tests.

    Args:
        families: The families.
        by: Rule that divides the tests into families.
    """
    listed = list(families)
    several = len({each.floor for each in listed if each.floor is not None}) > 1
    groups = Counter((each.n_tests, each.floor if several else None) for each in listed)
    floors: list[float | None] = [floor for _, floor in groups]
    if not several:  # all families with a test have the same floor
        floors = [next((each.floor for each in listed if each.floor is not None), None)]
    return {
        "family": by,
        "tests": "+".join(str(n) if times == 1 else f"{times}x{n}" for (n, _), times in groups.items()) or "0",
        "floor": "+".join("none" if floor is None else f"{floor:.3g}" for floor in floors) or "none",
        "correction": "+".join(dict.fromkeys(each.correction for each in listed)) or "none",
    }


def floor_notes(families: Sequence[Family], option: str) -> list[str]:
    """Returns a sentence about the families without a possibly significant test, or an empty list.

    Args:
        families: The families.
        option: Option that sets the number of draws.
    """
    notes = [note for each in families if (note := each.note(option)) is not None]
    if not notes:
        return []
    more = f"; the same holds for {len(notes) - 1} more of {len(families)} families" if len(notes) > 1 else ""
    return [f"{notes[0][0].upper()}{notes[0][1:]}{more}."]
