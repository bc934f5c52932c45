"""Agreement between raters: raw, Cohen's and Fleiss' kappa, Krippendorff's alpha, with bootstrap intervals over items.

Every coefficient is a function of sums over items. A resample of items is then a product of matrices, and ten thousand
of them cost little. Krippendorff's alpha is computed here, because the well-known package is under the GPL; a test
compares the two.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

import fcconan
from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints
from fcconan.scoring.intervals import CHUNK, draws as all_draws, percentile_interval, safe_divide
from fcconan.scoring.names import bootstrap_parts, check_names, join_parts

# Level of measurement -> function of the scale and the totals of its values that gives each value a position, whose
# squared differences are the disagreements; None where all different values disagree equally.
_POSITIONS: dict[str, Callable[[Floats, Floats], Floats | None]] = {
    "nominal": lambda scale, totals: None,
    # The values ranked between two values, the two themselves by half.
    "ordinal": lambda scale, totals: np.cumsum(totals, axis=-1) - totals / 2,
    "interval": lambda scale, totals: scale,
}
LEVELS = tuple(_POSITIONS)
AGREEMENT_COEFFICIENTS = (
    "raw",
    "cohen",
    "cohen_linear",
    "cohen_quadratic",
    "fleiss",
    "krippendorff_nominal",
    "krippendorff_ordinal",
    "krippendorff_interval",
)
REASONS = ("one_rater", "too_few_pairs", "no_variation", "undefined_pair")
LARGEST_DOMAIN = 101
LARGEST_PANEL = 10  # raters whose pairs have intervals by default; 100 raters are 4950 pairs
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Alpha:
    """Krippendorff's alpha.

    Attributes:
        value: Alpha, at most 1; None where it is undefined.
        reason: Why it is undefined: `too_few_pairs` or `no_variation`.
        n_units: The units with two or more values.
    """

    value: float | None
    reason: str | None
    n_units: int


@dataclass(frozen=True)
class _Terms:
    """Terms whose sums determine a coefficient.

    Attributes:
        sums: Contributions of the included units; shape (units, terms).
        statistic: Function from sums of terms, shape (..., terms), to the coefficient, shape (...); nan where it is
            undefined.
        reason: Reason of an undefined coefficient.
        included: Whether each rated unit is included; None if all are.
    """

    sums: Floats
    statistic: Statistic
    reason: str = "no_variation"
    included: Flags | None = None

    def by_item(self, items: Ints) -> Floats:
        """Sums the contributions of the units of each item; shape (items, terms)."""
        own = items if self.included is None else items[self.included]
        order = np.argsort(own, kind="stable")
        starts = np.flatnonzero(np.diff(own[order], prepend=-1))
        return np.asarray(np.add.reduceat(self.sums[order], starts, axis=0), dtype=np.float64)


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Computes Cohen's kappa of two raters, unweighted (Cohen 1960).

    Args:
        first: Labels by the first rater, item by item.
        second: Labels by the second rater of the same items.

    Returns:
        Kappa; None where it is undefined: without items, or if both raters always give the same label.

    Raises:
        ValueError: The lists differ in length.
    """
    items = len(first)
    if items != len(second):
        raise ValueError(f"found {items} and {len(second)} labels, expected equal numbers")
    observed = sum(a == b for a, b in zip(first, second, strict=True))
    by_chance = sum(first.count(label) * second.count(label) for label in set(first))
    if by_chance == items * items:
        return None
    return (observed * items - by_chance) / (items * items - by_chance)


def krippendorff_alpha(units: Sequence[Sequence[float]], *, level: str) -> Alpha:
    """Computes Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    Args:
        units: Values of each unit, from any raters; units with fewer than two values are ignored.
        level: Level of measurement: `nominal`, `ordinal` or `interval`.

    Raises:
        ValueError: The level is unknown.
    """
    paired = [unit for unit in units if len(unit) > 1]
    values = np.full((max(map(len, paired), default=0), len(paired)), np.nan)
    for column, unit in enumerate(paired):
        values[: len(unit), column] = unit
    scale = np.unique(values[~np.isnan(values)])
    return alpha_of_counts(_counts(values, scale), scale, level=level)


def alpha_of_counts(counts: Floats, scale: Floats, *, level: str) -> Alpha:
    """Computes Krippendorff's alpha from counts of values.

    Args:
        counts: Number of times that each unit received each value, shape (units, values).
        scale: Values in ascending order: all of the scale, or those that occur.
        level: See `krippendorff_alpha`.

    Raises:
        ValueError: The level is unknown.
    """
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}, expected one of {', '.join(LEVELS)}")
    paired = counts[counts.sum(axis=1) > 1]
    if not len(paired):
        return Alpha(None, "too_few_pairs", 0)
    terms = _krippendorff(paired, scale, level)
    value = float(terms.statistic(terms.sums.sum(axis=0)))
    return Alpha(None, terms.reason, len(paired)) if np.isnan(value) else Alpha(value, None, len(paired))


def measure_agreement(
    values: npt.ArrayLike,
    domain: Sequence[float],
    *,
    items: Sequence[str] | None = None,
    coefficients: Sequence[str] = AGREEMENT_COEFFICIENTS,
    raters: Sequence[str] | None = None,
    aspect: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
    pair_intervals: bool | None = None,
) -> list[dict[str, Any]]:
    """Measures agreement between raters, overall and for every pair of raters.

    A unit (a reply, a labelled pair, a pair of replies) counts if at least two of the raters rated it. Fleiss' kappa
    needs equal numbers of ratings and uses the units with the largest number of ratings. Overall, `raw` is the share of
    equal pairs among all pairs of ratings of the same unit. Overall Cohen's kappas are means over pairs of raters
    (Light, 1971), missing if one of them is. The weights of `cohen_linear` and `cohen_quadratic` are distances of
    values (Cohen, 1968): for consecutive whole grades they equal the distances of positions that other packages use.
    Alpha is Krippendorff's (2011).

    Args:
        values: Ratings, shape (raters, units); nan is missing. Labels are coded as numbers.
        domain: All values of the scale in ascending order, including those that no rater gave; at most 101.
        items: Item of each unit, such as the HS message of a reply. Items are resampled with all their units, because
            raters' errors on units of one item are correlated. None if each unit is an item of its own.
        coefficients: Coefficients, from `AGREEMENT_COEFFICIENTS`.
        raters: Names of the raters; by default `rater-1`, `rater-2`, ...
        aspect: Aspect that the rows name.
        resamples: Number of resamples of the items; 0 for no intervals.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.
        pair_intervals: Whether pairs of raters have intervals, too; None: if there are at most `LARGEST_PANEL` raters.

    Returns:
        Rows with `aspect`, `coefficient`, `level` (`overall` or `pair`), `raters` (names), `value`, `low`, `high`, `n`
        (units that count), `n_items` (their items), `n_missing` (rated units that do not count), `n_undefined`
        (resamples without a value, which the interval leaves out) and `reason` (one of `REASONS` where there is no
        value). A single item has no interval.

    Raises:
        InputError: The array has another shape, a value is outside the domain, or a name is unknown or repeated.
    """
    table = _check_ratings(values, domain)
    names = [f"rater-{number + 1}" for number in range(len(table))] if raters is None else [*raters]
    if len(names) != len(table) or len(set(names)) < len(names):
        raise InputError(f"found {len(table)} rows of ratings and the raters {names}: give each row a different name")
    coefficients = check_names("coefficient", coefficients, AGREEMENT_COEFFICIENTS)
    if items is not None and len(items) != table.shape[1]:
        raise InputError(f"found {len(items)} items for {table.shape[1]} rated units: give one item for each unit")
    numbers = {item: number for number, item in enumerate(dict.fromkeys(items or ()))}
    own = np.arange(table.shape[1]) if items is None else np.array([numbers[item] for item in items], dtype=np.int64)
    scale = np.asarray(domain, dtype=np.float64)
    all_raters = tuple(range(len(table)))
    pairs = [*combinations(all_raters, 2)]
    n_resamples = dict.fromkeys(pairs, resamples if has_pair_intervals(len(table), pair_intervals) else 0)
    found = {
        group: list(_rows(table[list(group)], own, scale, coefficients, n, seed, confidence))
        for group, n in (n_resamples | {all_raters: resamples}).items()
    }
    return [
        {"aspect": aspect, "coefficient": row["coefficient"], "level": level, "raters": [names[i] for i in group]} | row
        for level, group in [("overall", all_raters), *(("pair", pair) for pair in pairs)]
        for row in found[group]
    ]


def has_pair_intervals(raters: int, requested: bool | None = None) -> bool:
    """Returns whether pairs of raters get intervals: as requested, by default only on small panels."""
    return raters <= LARGEST_PANEL if requested is None else requested


def agreement_signature(
    domain: Sequence[float],
    *,
    population: str,
    unit: str = "item",
    resamples: int = 10_000,
    seed: int = 0,
    confidence: float = 0.95,
    pair_intervals: bool = True,
    scale_known: bool = True,
) -> str:
    """Returns the signature of `measure_agreement`, which names everything that changes its values.

    Args:
        domain: See `measure_agreement`.
        population: Source of the rows: a dataset with its fingerprint, or a file.
        unit: Unit of the bootstrap: `item`, or `reply` or `pair` where items are unknown.
        resamples: See `measure_agreement`.
        seed: See `measure_agreement`.
        confidence: See `measure_agreement`.
        pair_intervals: Whether pairs of raters have intervals.
        scale_known: Whether the domain is that of a known scale; otherwise it has the values that occur.
    """
    unit += "" if pair_intervals else "-overall-only"
    parts = {
        "fcconan": fcconan.__version__,
        "metric": "agreement",
        "data": population,
        "domain": ",".join(f"{value:g}" for value in domain) + ("" if scale_known else "-as-given"),
        "missing": "left-out",
        "cohen-overall": "mean-of-pairs",
    }
    return join_parts(parts | bootstrap_parts(resamples, seed, confidence, unit=unit))


def _check_ratings(values: npt.ArrayLike, domain: Sequence[float]) -> Floats:
    scale, table = [float(value) for value in domain], np.asarray(values, dtype=np.float64)
    if not 0 < len(scale) <= LARGEST_DOMAIN or not np.isfinite(scale).all() or sorted(set(scale)) != scale:
        raise InputError(
            f"the domain is {[*domain][:10]}, {len(scale)} values: give 1 to {LARGEST_DOMAIN} numbers, ascending"
        )
    if table.ndim != 2 or not len(table):
        raise InputError(f"the ratings have the shape {table.shape}, expected (raters, units): give one row per rater")
    outside = np.argwhere(~(np.isnan(table) | np.isin(table, scale)))
    if len(outside):
        rater, item = outside[0].tolist()
        raise InputError(
            f"ratings outside the domain: {len(outside)}, the first is {table[rater, item]:g} by rater {rater + 1} "
            f"for unit {item + 1}, expected one of {', '.join(f'{value:g}' for value in scale)}: correct them, or "
            "set them to nan"
        )
    return table


def _rows(
    table: Floats,
    items: Ints,
    scale: Floats,
    coefficients: Sequence[str],
    resamples: int,
    seed: int,
    confidence: float,
) -> Iterator[dict[str, Any]]:
    given = (~np.isnan(table)).sum(axis=0)
    rated = int((given > 0).sum())
    row: dict[str, Any] = {"value": None, "low": None, "high": None, "n": 0, "n_items": 0}
    row |= {"n_missing": rated, "n_undefined": 0}
    if len(table) == 1 or not (given > 1).any():
        reason = "one_rater" if len(table) == 1 else "too_few_pairs"
        yield from ({"coefficient": name} | row | {"reason": reason} for name in coefficients)
        return
    counted = table[:, given > 1]
    found = {name: _COEFFICIENTS[name](counted, scale) for name in coefficients}
    sums = {name: terms.by_item(items[given > 1]) for name, terms in found.items()}
    draws = _bootstrap(found, sums, resamples, seed)
    for name, terms in found.items():
        value = float(terms.statistic(terms.sums.sum(axis=0)))
        n = len(terms.sums)
        new = row | {"n": n, "n_items": len(sums[name]), "n_missing": rated - n, "reason": None}
        if np.isnan(value):
            yield {"coefficient": name} | new | {"reason": terms.reason}
            continue
        new["value"] = value
        if name in draws:
            low, high = percentile_interval(draws[name][:, None], confidence)
            if np.isfinite(low[0]):
                new |= {"low": float(low[0]), "high": float(high[0])}
            new["n_undefined"] = int(np.isnan(draws[name]).sum())
        yield {"coefficient": name} | new


def _bootstrap(found: dict[str, _Terms], sums: dict[str, Floats], resamples: int, seed: int) -> dict[str, Floats]:
    """Computes coefficients of resampled items; coefficients with the same number of items share the resamples."""
    draws: dict[str, Floats] = {}
    for n in {len(each) for each in sums.values()} if resamples else ():
        if n < 2:
            continue
        mine = {name: each for name, each in sums.items() if len(each) == n}
        parts: dict[str, list[Floats]] = {name: [] for name in mine}
        size = max(1, CHUNK // max(each.shape[1] for each in mine.values()))
        for weights in all_draws(n, resamples, seed):
            for start in range(0, len(weights), size):
                for name, each in mine.items():
                    parts[name].append(found[name].statistic(weights[start : start + size] @ each))
        draws |= {name: np.concatenate(some) for name, some in parts.items()}
    return draws


def _counts(table: Floats, scale: Floats) -> Floats:
    """Counts the ratings of each unit by value; shape (units, values)."""
    counts = np.zeros((table.shape[1], len(scale)))
    for column, value in enumerate(scale):
        counts[:, column] = (table == value).sum(axis=0)
    return counts


def _raw(table: Floats, scale: Floats) -> _Terms:
    """Share of equal pairs among all pairs of ratings of the same unit."""
    counts = _counts(table, scale)
    given = counts.sum(axis=1)
    equal, pairs = (counts * (counts - 1)).sum(axis=1), given * (given - 1)
    return _Terms(np.stack([equal, pairs], axis=1), lambda sums: safe_divide(sums[..., 0], sums[..., 1]))


def _fleiss(table: Floats, scale: Floats) -> _Terms:
    """Fleiss (1971): equations 3 to 7."""
    counts = _counts(table, scale)
    given = counts.sum(axis=1)
    most = given.max()
    complete = given == most
    counts = counts[complete]
    equal = (counts * (counts - 1)).sum(axis=1, keepdims=True) / (most * (most - 1))

    def statistic(sums: Floats) -> Floats:
        n = sums[..., 1:].sum(axis=-1) / most
        by_chance = (sums[..., 1:] ** 2).sum(axis=-1) / most**2
        return safe_divide(sums[..., 0] * n - by_chance, n * n - by_chance)

    return _Terms(np.concatenate([equal, counts], axis=1), statistic, included=complete)


def _cohen(table: Floats, scale: Floats, weigh: Callable[[Floats], Floats]) -> _Terms:
    """Mean over pairs of raters of 1 - observed / expected disagreement (Cohen, 1968)."""
    distance = weigh(np.abs(np.subtract.outer(scale, scale)))
    pairs = list(combinations(range(len(table)), 2))
    marks = [(row[:, None] == scale).astype(np.float64) for row in table]
    blocks = []
    for a, b in pairs:
        both = (marks[a].sum(axis=1) * marks[b].sum(axis=1))[:, None]
        observed = ((marks[a] @ distance) * marks[b]).sum(axis=1, keepdims=True)
        blocks += [observed, both, marks[a] * both, marks[b] * both]
    width = 2 + 2 * len(scale)

    def statistic(sums: Floats) -> Floats:
        each = sums.reshape(*sums.shape[:-1], len(pairs), width)
        first, second = each[..., 2 : 2 + len(scale)], each[..., 2 + len(scale) :]
        expected = ((first @ distance) * second).sum(axis=-1)
        return (1 - safe_divide(each[..., 0] * each[..., 1], expected)).mean(axis=-1)

    return _Terms(np.concatenate(blocks, axis=1), statistic, "no_variation" if len(pairs) == 1 else "undefined_pair")


def _krippendorff(counts: Floats, scale: Floats, level: str) -> _Terms:
    """Krippendorff (2011): observed disagreement of coincident values over that expected from their totals."""
    given = counts.sum(axis=1)
    occurring = counts.sum(axis=0) > 0
    counts, scale = counts[:, occurring], scale[occurring]
    size = len(scale)
    rows, columns = np.triu_indices(size, k=1)
    # Twice, because the matrix of coincidences is symmetric.
    coincidences = 2 * counts[:, rows] * counts[:, columns] / (given - 1)[:, None]

    def statistic(sums: Floats) -> Floats:
        totals, observed = sums[..., :size], sums[..., size:]
        position = _POSITIONS[level](scale, totals)
        difference = np.ones(len(rows)) if position is None else (position[..., rows] - position[..., columns]) ** 2
        expected = 2 * (totals[..., rows] * totals[..., columns] * difference).sum(axis=-1)
        return 1 - safe_divide((observed * difference).sum(axis=-1) * (totals.sum(axis=-1) - 1), expected)

    return _Terms(np.concatenate([counts, coincidences], axis=1), statistic)


def _alpha(table: Floats, scale: Floats, level: str) -> _Terms:
    return _krippendorff(_counts(table, scale), scale, level)


# Coefficient -> function from the ratings of units that two or more raters rated, and the scale, to its terms.
_COEFFICIENTS: dict[str, Callable[[Floats, Floats], _Terms]] = {
    "raw": _raw,
    "cohen": partial(_cohen, weigh=np.sign),
    "cohen_linear": partial(_cohen, weigh=np.abs),
    "cohen_quadratic": partial(_cohen, weigh=np.square),
    "fleiss": _fleiss,
    **{f"krippendorff_{level}": partial(_alpha, level=level) for level in LEVELS},
}
