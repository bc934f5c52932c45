"""Paired tests of differences between systems, adjusted for the number of tests of one declared family."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fcconan.data import check_names
from fcconan.errors import InputError
from fcconan.groups import Bootstrap
from fcconan.scoring.arrays import Floats
from fcconan.scoring.intervals import chunks, draws, means, percentile_interval, safe_divide

if TYPE_CHECKING:
    from pandas import DataFrame

# The unit is the item: a test that swaps single replies rejects over 20 % at a nominal 5 % if replies to one item
# resemble each other; one that swaps items retains 5 %.
TOLERANCE = 1e-12  # relative; statistics that are equal may differ in the last digits


def family(systems: list[str], baselines: tuple[str, ...] = ()) -> list[tuple[int, int]]:
    """Returns the pairs of systems of a family, as positions: all pairs, or all other systems against each baseline.

    Raises:
        InputError: A baseline is unknown, or there is no other system.
    """
    check_names("baseline system", baselines, systems)
    if not baselines:
        return list(combinations(range(len(systems)), 2))
    if not {*systems} - {*baselines}:
        raise InputError(f"found no system but the baseline {', '.join(baselines)}: add others to compare it with")
    against = [systems.index(name) for name in baselines]
    return [(other, one) for one in against for other in range(len(systems)) if other not in against]


def max_t(observed: Floats, blocks: Iterable[Floats]) -> Floats:
    """Returns p and the p adjusted by step-down max-T (Westfall and Young, 1993, algorithm 4.1), shape (2, tests).

    p is (c + 1) / (n + 1), where c is the number of the n draws that reach the statistic. The adjusted p compares with
    the largest statistic of all tests that are not more extreme.

    Args:
        observed: Statistics of the data, shape (tests,).
        blocks: Statistics of draws, shape (block of draws, tests) each; nan reaches every statistic.
    """
    observed = observed * (1 - TOLERANCE) - TOLERANCE
    order = np.argsort(observed)  # the smallest first, so that a running maximum is over less extreme tests
    reached, n = np.zeros((2, len(observed))), 0
    for drawn in blocks:
        drawn = np.nan_to_num(drawn, nan=np.inf)
        reached[0] += (drawn >= observed).sum(axis=0)
        reached[1, order] += (np.maximum.accumulate(drawn[:, order], axis=1) >= observed[order]).sum(axis=0)
        n += len(drawn)
    found: Floats = (reached + 1) / (n + 1) if n else np.full(reached.shape, np.nan)
    found[1, order[::-1]] = np.maximum.accumulate(found[1, order[::-1]])
    return found


def sign_flips(differences: Floats, bootstrap: Bootstrap) -> Floats:
    """Tests mean differences of paired items by random signs, two-sided; p and adjusted p are those of `max_t`.

    All tests share one random sign for each item (Smucker, Allan and Carterette, 2007). The statistic is the sum of the
    differences over the root of the sum of their squares.

    Args:
        differences: Differences of the items, shape (tests, items); nan leaves an item out of a test.
        bootstrap: Number of draws, and seed.

    Returns:
        p and adjusted p, shape (2, tests); nan for a test with fewer than two items, or without draws.
    """
    tested = np.isfinite(differences).sum(axis=1) > 1
    filled = np.nan_to_num(differences[tested])
    scale = np.sqrt((filled**2).sum(axis=1))
    filled = filled / np.where(scale > 0, scale, 1.0)[:, None]
    generator, n_items = np.random.default_rng(bootstrap.seed), differences.shape[1]
    signs = (generator.integers(2, size=(size, n_items)) * 2.0 - 1.0 for size in chunks(n_items, bootstrap.resamples))
    found = np.full((2, len(differences)), np.nan)
    found[:, tested] = max_t(np.abs(filled.sum(axis=1)), (np.abs(each @ filled.T) for each in signs))
    return found


def mean_intervals(sums: Floats, counts: Floats, bootstrap: Bootstrap) -> Floats:
    """Returns ends of intervals of means, shape (2, ...), from sums and counts by item, shape (..., items)."""
    ends = np.full((2, *sums.shape[:-1]), np.nan)
    if bootstrap.resamples and sums.size:
        drawn = [
            safe_divide(*(np.tensordot(weights, each, axes=(1, -1)) for each in (sums, counts)))
            for weights in draws(sums.shape[-1], bootstrap.resamples, bootstrap.seed)
        ]
        ends = np.stack(percentile_interval(np.concatenate(drawn), bootstrap.confidence))
    return np.where((counts > 0).sum(axis=-1) > 1, ends, np.nan)


def difference_table(
    measures: Sequence[Mapping[str, str]],
    differences: Floats,
    systems: Sequence[str],
    pairs: Sequence[tuple[int, int]],
    bootstrap: Bootstrap,
    tested: Sequence[bool] | None = None,
) -> "DataFrame":
    """Returns differences of systems with intervals, and with tests for the first measure.

    Args:
        measures: Columns that name each measure.
        differences: Differences of the items, shape (measures, pairs, items); nan where a system has no value.
        systems: Names of the systems.
        pairs: Positions of the two systems of each pair.
        bootstrap: Resamples and signs.
        tested: Pairs that are in the family of tests; None for all.
    """
    import pandas as pd

    n = np.isfinite(differences).sum(axis=2)
    known = np.where(n[:, :, None] > 1, differences, np.nan)
    known = known[:, :, np.isfinite(known).any(axis=(0, 1))]
    p = np.full((2, *n.shape), np.nan)
    family = np.ones(len(pairs), dtype=bool) if tested is None else np.array(tested, dtype=bool)
    p[:, 0, family] = sign_flips(known[0, family], bootstrap)
    names = {"a": [systems[a] for a, _ in pairs], "b": [systems[b] for _, b in pairs]}
    parts = []
    for place, (measure, own) in enumerate(zip(measures, known, strict=True)):
        low, high = mean_intervals(np.nan_to_num(own), np.isfinite(own).astype(float), bootstrap)
        values = {"difference": means(own), "low": low, "high": high, "p": p[0, place], "p_adjusted": p[1, place]}
        parts.append(pd.DataFrame({**measure, **names, **values, "n": n[place]}))
    table = pd.concat(parts, ignore_index=True)
    reasons = {0: "no_common_items", 1: "too_few_items"}
    return table.assign(reason=[reasons.get(number) for number in table["n"]])
