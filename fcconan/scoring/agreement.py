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
from fcconan.scoring.names import bootstrap_parts, joined_parts, known_names
from fcconan.scoring.significance.intervals import CHUNK, divided, draws as all_draws, percentile_interval

# What places values on a line, given the scale and how often each value occurs; None where all values differ alike.
_PLACES: dict[str, Callable[[Floats, Floats], Floats | None]] = {
    "nominal": lambda scale, totals: None,
    # The values ranked between two values, the two themselves by half.
    "ordinal": lambda scale, totals: np.cumsum(totals, axis=-1) - totals / 2,
    "interval": lambda scale, totals: scale,
}
LEVELS = tuple(_PLACES)
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
PANEL = 10  # of more raters, pairs have intervals only if that is asked for: 100 raters are 4950 pairs
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
    """What a coefficient is made of.

    Attributes:
        sums: What each item that counts adds; shape (items, terms).
        statistic: The coefficient of such sums, shape (..., terms) to (...); nan where it is undefined.
        reason: Why the coefficient is undefined, where it is.
        kept: Which of the rated things these are; None for all.
    """

    sums: Floats
    statistic: Statistic
    reason: str = "no_variation"
    kept: Flags | None = None

    def by_item(self, items: Ints) -> Floats:
        """Returns what each item adds with all its things: shape (items, terms)."""
        own = items if self.kept is None else items[self.kept]
        order = np.argsort(own, kind="stable")
        starts = np.flatnonzero(np.diff(own[order], prepend=-1))
        return np.asarray(np.add.reduceat(self.sums[order], starts, axis=0), dtype=np.float64)


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Computes Cohen's kappa of two raters, unweighted (Cohen 1960).

    Args:
        first: The labels that the first rater gave, item by item.
        second: The labels that the second rater gave to the same items.

    Returns:
        Kappa, or None where it is undefined: no items, or both raters constant and equal.

    Raises:
        ValueError: The lists differ in length.
    """
    items = len(first)
    if items != len(second):
        raise ValueError(f"found {items} and {len(second)} labels, expected as many")
    observed = sum(a == b for a, b in zip(first, second, strict=True))
    by_chance = sum(first.count(label) * second.count(label) for label in set(first))
    if by_chance == items * items:
        return None
    return (observed * items - by_chance) / (items * items - by_chance)


def krippendorff_alpha(units: Sequence[Sequence[float]], *, level: str) -> Alpha:
    """Computes Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    Args:
        units: The values that each unit received, from any raters; units with fewer than two values do not count.
        level: `nominal`, `ordinal` or `interval`.

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
    """Computes Krippendorff's alpha of values that are counted already.

    Args:
        counts: How often each unit received each value, shape (units, values).
        scale: The values in ascending order; all of the scale, or those that occur.
        level: As for `krippendorff_alpha`.

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
    """Computes how far raters agree, overall and for every pair of them.

    A thing counts if two of the raters rated it; for Fleiss' kappa, which needs as many ratings of every thing, if as
    many rated it as rated the thing with most ratings. Overall, `raw` is the share of equal pairs of ratings of one
    thing, and Cohen's kappas are means over the pairs of raters, missing if one of them is (Light, 1971). The weights
    of `cohen_linear` and `cohen_quadratic` are distances of values (Cohen, 1968): those of whole grades without a gap
    are distances of positions, as in other packages. Alpha is Krippendorff's (2011).

    Args:
        values: Shape (raters, things); nan is missing. Labels are coded as numbers.
        domain: All values of the scale in ascending order, also those that no rater gave; at most 101.
        items: The item of each thing, such as the HS message of a reply. Items are resampled with all their things,
            because raters' errors on things of one item are alike. None where each thing is an item of its own.
        coefficients: Some of `AGREEMENT_COEFFICIENTS`.
        raters: Their names; by default `rater-1`, `rater-2`, ...
        aspect: What was rated, for the rows.
        resamples: Of the items; 0 for no intervals.
        seed: Decides the draws.
        confidence: Of the percentile intervals.
        pair_intervals: Whether pairs of raters have intervals, too; None for those of at most `PANEL` raters.

    Returns:
        Rows with `aspect`, `coefficient`, `level` (`overall` or `pair`), `raters` (names), `value`, `low`, `high`, `n`
        (things that count), `n_items` (their items), `n_missing` (things with a rating that do not count),
        `n_undefined` (resamples without a value, which the interval leaves out) and `reason` (one of `REASONS` where
        there is no value). One item has no interval.

    Raises:
        InputError: The array is not of that shape, a value is not in the domain, or a name is wrong.
    """
    table = _checked(values, domain)
    names = [f"rater-{number + 1}" for number in range(len(table))] if raters is None else [*raters]
    if len(names) != len(table) or len(set(names)) < len(names):
        raise InputError(f"found {len(table)} rows of ratings and the raters {names}: give each row a name of its own")
    coefficients = known_names("coefficient", coefficients, AGREEMENT_COEFFICIENTS)
    if items is not None and len(items) != table.shape[1]:
        raise InputError(f"found {len(items)} items of {table.shape[1]} things that were rated: give each one its item")
    numbers = {item: number for number, item in enumerate(dict.fromkeys(items or ()))}
    own = np.arange(table.shape[1]) if items is None else np.array([numbers[item] for item in items], dtype=np.int64)
    scale = np.asarray(domain, dtype=np.float64)
    everybody = tuple(range(len(table)))
    pairs = [*combinations(everybody, 2)]
    drawn = dict.fromkeys(pairs, resamples if has_pair_intervals(len(table), pair_intervals) else 0)
    found = {
        who: list(_rows(table[list(who)], own, scale, coefficients, draws, seed, confidence))
        for who, draws in (drawn | {everybody: resamples}).items()
    }
    return [
        {"aspect": aspect, "coefficient": row["coefficient"], "level": level, "raters": [names[i] for i in who]} | row
        for level, who in [("overall", everybody), *(("pair", pair) for pair in pairs)]
        for row in found[who]
    ]


def has_pair_intervals(raters: int, asked: bool | None = None) -> bool:
    """Tells whether pairs of raters get intervals: the choice of the caller, otherwise only on small panels."""
    return raters <= PANEL if asked is None else asked


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
    """Returns the short string that names everything that changes the figures of `measure_agreement`.

    Args:
        domain: As for `measure_agreement`.
        population: What was rated: the dataset with its fingerprint, or the file.
        unit: What is resampled: `item`, or `reply` or `pair` where items are not known.
        resamples: As for `measure_agreement`.
        seed: As for `measure_agreement`.
        confidence: As for `measure_agreement`.
        pair_intervals: Whether pairs of raters have intervals.
        scale_known: Whether the domain is that of a scale, and not the values that were given.
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
    return joined_parts(parts | bootstrap_parts(resamples, seed, confidence, unit=unit))


def _checked(values: npt.ArrayLike, domain: Sequence[float]) -> Floats:
    scale, table = [float(value) for value in domain], np.asarray(values, dtype=np.float64)
    if not 0 < len(scale) <= LARGEST_DOMAIN or not np.isfinite(scale).all() or sorted(set(scale)) != scale:
        raise InputError(
            f"the domain is {[*domain][:10]}, {len(scale)} values: give 1 to {LARGEST_DOMAIN} numbers, ascending"
        )
    if table.ndim != 2 or not len(table):
        raise InputError(f"the ratings have the shape {table.shape}, expected (raters, items): give one row a rater")
    outside = np.argwhere(~(np.isnan(table) | np.isin(table, scale)))
    if len(outside):
        rater, item = outside[0].tolist()
        raise InputError(
            f"ratings outside the domain: {len(outside)}, the first is {table[rater, item]:g} by rater {rater + 1} "
            f"for item {item + 1}, expected one of {', '.join(f'{value:g}' for value in scale)}: correct them, or "
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
    found = {name: _TERMS[name](counted, scale) for name in coefficients}
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
    """Coefficients of resampled items; coefficients of equally many items share the draws."""
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
    """How often each value was given to each item; shape (items, values)."""
    counts = np.zeros((table.shape[1], len(scale)))
    for column, value in enumerate(scale):
        counts[:, column] = (table == value).sum(axis=0)
    return counts


def _raw(table: Floats, scale: Floats) -> _Terms:
    """Equal pairs of ratings of one thing, of all such pairs."""
    counts = _counts(table, scale)
    given = counts.sum(axis=1)
    equal, pairs = (counts * (counts - 1)).sum(axis=1), given * (given - 1)
    return _Terms(np.stack([equal, pairs], axis=1), lambda sums: divided(sums[..., 0], sums[..., 1]))


def _fleiss(table: Floats, scale: Floats) -> _Terms:
    """Fleiss (1971): equations 3 to 7."""
    counts = _counts(table, scale)
    given = counts.sum(axis=1)
    most = given.max()
    kept = given == most
    counts = counts[kept]
    equal = (counts * (counts - 1)).sum(axis=1, keepdims=True) / (most * (most - 1))

    def statistic(sums: Floats) -> Floats:
        n = sums[..., 1:].sum(axis=-1) / most
        by_chance = (sums[..., 1:] ** 2).sum(axis=-1) / most**2
        return divided(sums[..., 0] * n - by_chance, n * n - by_chance)

    return _Terms(np.concatenate([equal, counts], axis=1), statistic, kept=kept)


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
        return (1 - divided(each[..., 0] * each[..., 1], expected)).mean(axis=-1)

    return _Terms(np.concatenate(blocks, axis=1), statistic, "no_variation" if len(pairs) == 1 else "undefined_pair")


def _krippendorff(counts: Floats, scale: Floats, level: str) -> _Terms:
    """Krippendorff (2011): disagreement seen in the coincidences of values, over that expected from their totals."""
    given = counts.sum(axis=1)
    occurring = counts.sum(axis=0) > 0
    counts, scale = counts[:, occurring], scale[occurring]
    size = len(scale)
    rows, columns = np.triu_indices(size, k=1)
    # Twice: a coincidence of two values is one of the second with the first, too.
    coincidences = 2 * counts[:, rows] * counts[:, columns] / (given - 1)[:, None]

    def statistic(sums: Floats) -> Floats:
        totals, observed = sums[..., :size], sums[..., size:]
        place = _PLACES[level](scale, totals)
        difference = np.ones(len(rows)) if place is None else (place[..., rows] - place[..., columns]) ** 2
        expected = 2 * (totals[..., rows] * totals[..., columns] * difference).sum(axis=-1)
        return 1 - divided((observed * difference).sum(axis=-1) * (totals.sum(axis=-1) - 1), expected)

    return _Terms(np.concatenate([counts, coincidences], axis=1), statistic)


def _alpha(table: Floats, scale: Floats, level: str) -> _Terms:
    return _krippendorff(_counts(table, scale), scale, level)


# What each coefficient is made of, from things that two or more of the raters rated, and the scale.
_TERMS: dict[str, Callable[[Floats, Floats], _Terms]] = {
    "raw": _raw,
    "cohen": partial(_cohen, weigh=np.sign),
    "cohen_linear": partial(_cohen, weigh=np.abs),
    "cohen_quadratic": partial(_cohen, weigh=np.square),
    "fleiss": _fleiss,
    **{f"krippendorff_{level}": partial(_alpha, level=level) for level in LEVELS},
}
