"""Paired tests of differences between systems.

A pair is compared on the items for which both systems have a value. The sign of every item's difference is flipped at
random (Smucker, Allan and Carterette, 2007), one sign per item for all tests, and p is adjusted by max-T within
declared families (`fcconan.scoring.significance.families`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fcconan.data import count_noun
from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.leaderboards import item_sums, rater_scores
from fcconan.scoring.names import check_names, join_parts
from fcconan.scoring.ratings import Ratings
from fcconan.scoring.significance.families import (
    EXPLORATORY,
    LEVEL,
    PRIMARY,
    Family,
    Pairs,
    family_parts,
    floor_notes,
    p_floor,
    sign_flip_tests,
    system_pairs,
    units_floor,
)
from fcconan.scoring.significance.intervals import bootstrap_means, finite, percentile_interval, safe_divide

DRAWS = 10_000  # random signs of tests without a bootstrap
MAX_DIFFERENCES = 8_000_000  # resampled differences in memory at once: 64 MB
FEWEST_ITEMS = 2  # with a single item p is always 1
WIN_RATE = "win_rate"
REASONS = ("no_common_items", "too_few_items")


@dataclass(frozen=True)
class SystemTest:
    """A two-sided test of the difference between two systems.

    Attributes:
        a: The first system.
        b: The second system.
        rater: Rater of the values; None for verdicts, which are pooled over raters.
        aspect: The aspect, `unified`, or `win_rate` for verdicts.
        higher_is_better: Whether a positive difference means that `a` is better.
        difference: Mean over the items that both systems have of the value of `a` minus that of `b`; None with a
            reason.
        low: Lower end of the percentile interval over these items; None without a bootstrap.
        high: Upper end.
        p: (c + 1) / (draws + 1); None with a reason.
        p_corrected: Adjusted within the family.
        n: Number of items that both systems have.
        family: Name of the family.
        reason: Reason of a missing p, one of `REASONS`.
    """

    a: str
    b: str
    rater: str | None
    aspect: str
    higher_is_better: bool
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None
    n: int
    family: str
    reason: str | None


@dataclass(frozen=True)
class SystemDifferences:
    """Differences between systems by one rater for one aspect.

    Attributes:
        rater: See `SystemTest`.
        aspect: See `SystemTest`.
        higher_is_better: See `SystemTest`.
        family: Name of the family of its tests.
        differences: Shape (pairs, items); nan where a system has no value.
    """

    rater: str | None
    aspect: str
    higher_is_better: bool
    family: str
    differences: Floats


def compare_rated(
    rated: Ratings,
    *,
    aspects: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    primary: str | None = None,
    baseline: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[list[SystemTest], list[Family]]:
    """Tests the differences between the systems of a leaderboard; an item's value is the mean of its replies.

    Args:
        rated: The ratings.
        aspects: See `leaderboard`.
        raters: See `leaderboard`.
        primary: Aspect of the primary family of every rater who rated it; None for the unified score, or the first
            aspect of a rater without one.
        baseline: System that all others are compared with; None for all pairs.
        resamples: Number of random signs, and of resamples of the items; 0 for no intervals and `DRAWS` signs.
        seed: Seed of both.
        confidence: Confidence of the intervals.

    Returns:
        The tests, and their families: for every rater one of the primary aspect, and one of all other aspects.

    Raises:
        InputError: See `leaderboard`; or the primary aspect or the baseline is unknown.
    """
    series = rater_scores(rated, aspects=aspects, raters=raters)
    check_names("primary aspect", () if primary is None else [primary], dict.fromkeys(each.aspect for each in series))
    systems, (sums, counts) = item_sums(rated, series)
    pairs = system_pairs(systems, baseline)
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    chosen: dict[str, str | None] = {}
    for each in series:
        # The unified score comes first where a rater has one.
        chosen.setdefault(each.rater, each.aspect if primary is None else primary)
    measures = []
    for each, values in zip(series, safe_divide(sums, counts), strict=True):
        family = PRIMARY if each.aspect == chosen[each.rater] else EXPLORATORY
        name = f"{each.rater}, {family}"
        measures.append(
            SystemDifferences(each.rater, each.aspect, each.higher_is_better, name, values[first] - values[second])
        )
    raters = list(chosen)
    measures.sort(key=lambda each: (raters.index(str(each.rater)), each.aspect != chosen[str(each.rater)]))
    return compare_differences(measures, systems, pairs, resamples=resamples, seed=seed, confidence=confidence)


def compare_differences(
    measures: Sequence[SystemDifferences],
    systems: Sequence[str],
    pairs: Pairs,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[list[SystemTest], list[Family]]:
    """Tests differences between systems; all tests share the signs and the resamples of the items.

    Args:
        measures: The differences.
        systems: Names of the systems.
        pairs: Positions of the systems of every pair.
        resamples: Number of random signs, and of resamples of the items; 0 for no intervals and `DRAWS` signs.
        seed: Seed of both.
        confidence: Confidence of the intervals.

    Returns:
        The tests, measure by measure, and their families.
    """
    if not measures or not pairs:
        return [], []
    names = list(dict.fromkeys(each.family for each in measures))
    n_items = np.stack([np.isfinite(each.differences).sum(axis=1) for each in measures])
    testable = n_items >= FEWEST_ITEMS
    differences = np.concatenate([each.differences for each in measures])
    differences[~testable.ravel()] = np.nan
    differences = differences[:, np.isfinite(differences).any(axis=0)]
    families = np.repeat([names.index(each.family) for each in measures], len(pairs))
    draws = resamples or DRAWS
    found = sign_flip_tests(differences, families=families, resamples=draws, seed=seed)
    shape = (3, len(measures), len(pairs))
    mean, p_values, corrected = np.stack([found.difference, found.p, found.p_corrected]).reshape(shape)
    low, high = _intervals(differences, resamples, seed, confidence).reshape(2, len(measures), len(pairs))
    rows: list[SystemTest] = []
    for place, each in enumerate(measures):
        rows += [
            SystemTest(
                a=systems[a],
                b=systems[b],
                rater=each.rater,
                aspect=each.aspect,
                higher_is_better=each.higher_is_better,
                difference=finite(mean[place, at]),
                low=finite(low[place, at]),
                high=finite(high[place, at]),
                p=finite(p_values[place, at]),
                p_corrected=finite(corrected[place, at]),
                n=int(n_items[place, at]),
                family=each.family,
                reason=None if testable[place, at] else REASONS[int(n_items[place, at] > 0)],
            )
            for at, (a, b) in enumerate(pairs)
        ]
    return rows, [_family(name, measures, n_items, draws) for name in names]


def _intervals(differences: Floats, resamples: int, seed: int, confidence: float) -> Floats:
    """Computes lower and upper ends of percentile intervals, of shape (2, tests); nan without a resample."""
    ends = np.full((2, len(differences)), np.nan)
    at_once = max(1, MAX_DIFFERENCES // max(1, resamples))
    for start in range(0, len(differences) if resamples else 0, at_once):
        own = slice(start, start + at_once)
        drawn = bootstrap_means(differences[own], resamples=resamples, seed=seed)
        ends[:, own] = percentile_interval(drawn, confidence)
    return ends


def _family(name: str, measures: Sequence[SystemDifferences], n_items: Ints, draws: int) -> Family:
    members = [place for place, each in enumerate(measures) if each.family == name]
    n_tests, units = int((n_items[members] >= FEWEST_ITEMS).sum()), int(n_items[members].max())
    aspects = ", ".join(measures[place].aspect for place in members)
    floor = p_floor(draws, units) if n_tests else None
    return Family(name, f"pairs of systems, {aspects}", n_tests, floor, units=units)


def system_test_notes(tests: Sequence[SystemTest], families: Sequence[Family]) -> list[str]:
    """Returns sentences about the tests that cannot be significant for any difference.

    Args:
        tests: The tests.
        families: Their families.
    """
    notes = floor_notes(families, "--resamples")
    able = {family.name for family in families if family.floor is not None and family.floor <= LEVEL}
    few = sum(test.family in able and test.p is not None and units_floor(test.n) > LEVEL for test in tests)
    if few:
        notes.append(
            f"{count_noun(few, 'test')} of {len(tests)} have fewer than 6 common items: no p can be below .05."
        )
    return notes


def verdict_differences(wins: Floats, pairs: Pairs) -> Floats:
    """Computes differences between systems' win rates on every item: points per comparison, from 0 to 1.

    Two systems are compared by their comparisons on the item with each other and with common opponents. If all systems
    of an item met equally often, this is the difference between their points per comparison.

    Args:
        wins: Number of wins of i over j on each item, a tie being half a win for both; shape (items, systems,
            systems).
        pairs: Positions of the systems of every pair.

    Returns:
        The differences, shape (pairs, items); nan if the two met neither each other nor a common opponent.
    """
    rates = safe_divide(wins, wins + wins.swapaxes(1, 2))
    found = np.full((len(pairs), len(wins)), np.nan)
    for place, (a, b) in enumerate(pairs):
        apart = rates[:, a] - rates[:, b]  # nan for an opponent that one of them did not meet
        apart[:, a] = rates[:, a, b] - rates[:, b, a]
        there = np.isfinite(apart)
        found[place] = safe_divide(np.where(there, apart, 0.0).sum(axis=1), there.sum(axis=1))
    return found


def sign_flip_signature(
    signature: str, families: Iterable[Family], *, by: str, draws: int, baseline: str | None = None
) -> str:
    """Returns the signature of tests, which extends that of the values by everything that changes p.

    Args:
        signature: Signature of the values.
        families: Families of the tests.
        by: Rule that divides the tests into families.
        draws: Number of random signs.
        baseline: See `system_pairs`.
    """
    parts = {
        "test": "sign-flip",
        "draws": f"{draws}-by-item",
        "sides": 2,
        "pairs": "all" if baseline is None else f"against-{baseline}",
        **family_parts(families, by),
    }
    return f"{signature}|{join_parts(parts)}"
