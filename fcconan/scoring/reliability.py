"""Agreement of raters on a matrix of values: percent agreement, Cohen's kappa and Krippendorff's alpha, with intervals.

Every coefficient follows from tables that count how often two raters gave two values. They are sums over items, so that
resamples of items are products of matrices.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fcconan.data import check_names
from fcconan.errors import InputError
from fcconan.groups import Bootstrap
from fcconan.scoring.arrays import Floats
from fcconan.scoring.intervals import CHUNK, draws, percentile_interval, safe_divide

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_VALUES = 101


def _raw(tables: Floats, _: Floats) -> Floats:
    """Share of equal values."""
    return safe_divide(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-2, -1)))


def _cohen(tables: Floats, scale: Floats, weigh: Callable[[Floats], Floats]) -> Floats:
    """1 - observed / expected disagreement (Cohen, 1968); the weights are distances of values."""
    weights = weigh(np.abs(np.subtract.outer(scale, scale)))
    expected = ((tables.sum(axis=-1) @ weights) * tables.sum(axis=-2)).sum(axis=-1)
    return 1 - safe_divide((tables * weights).sum(axis=(-2, -1)) * tables.sum(axis=(-2, -1)), expected)


def _krippendorff(tables: Floats, scale: Floats, level: str) -> Floats:
    """1 - observed / expected disagreement of coincident values (Krippendorff, 2011)."""
    # The package krippendorff is under the GPL; the tests compare both.
    coincidences = tables + tables.swapaxes(-1, -2)
    totals = coincidences.sum(axis=-1)
    # Ordinal: the number of values below, and half the equal ones.
    place = np.cumsum(totals, axis=-1) - totals / 2 if level == "ordinal" else scale
    distance = place[..., :, None] - place[..., None, :]
    weights = np.sign(distance) ** 2 if level == "nominal" else distance**2
    expected = (totals[..., :, None] * totals[..., None, :] * weights).sum(axis=(-2, -1))
    return 1 - safe_divide((coincidences * weights).sum(axis=(-2, -1)) * (totals.sum(axis=-1) - 1), expected)


COEFFICIENTS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "raw": _raw,
    "cohen": partial(_cohen, weigh=np.sign),
    "cohen_linear": partial(_cohen, weigh=np.abs),
    "cohen_quadratic": partial(_cohen, weigh=np.square),
    "krippendorff_nominal": partial(_krippendorff, level="nominal"),
    "krippendorff_ordinal": partial(_krippendorff, level="ordinal"),
    "krippendorff_interval": partial(_krippendorff, level="interval"),
}


def measure_agreement(
    values: npt.ArrayLike,
    *,
    items: Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    coefficients: Sequence[str] = tuple(COEFFICIENTS),
    bootstrap: Bootstrap = Bootstrap(),
) -> "DataFrame":
    """Measures agreement of all raters, and of every pair of raters.

    A unit counts if at least two of the raters rated it. Of all raters, `raw` is the share of equal values among all
    pairs of values of a unit, and Cohen's kappas are means over the pairs of raters (Light, 1971), missing if one of
    them is. The weights of `cohen_linear` and `cohen_quadratic` are distances of values (Cohen, 1968): for consecutive
    grades these equal distances of positions.

    Args:
        values: Ratings, shape (raters, units); nan is missing. Labels are numbers.
        items: Item of each unit, such as the HS message of a reply. Items are resampled with all their units. None if
            each unit is an item of its own.
        raters: Names of the raters; by default numbers.
        coefficients: Keys of `COEFFICIENTS`.
        bootstrap: Resamples.

    Returns:
        Rows with `a` and `b` (two raters; None for all), `coefficient`, `value`, `low`, `high`, `n` (units that count),
        `n_items` (their items) and `reason`: `one_rater`, `no_common_units`, `no_variation`, or `undefined_pair` for a
        mean of kappas. A single item has no interval.

    Raises:
        InputError: There are more than 101 different values to resample, or a coefficient is unknown.

    Examples:
        >>> found = measure_agreement([[1, 2, 3, 3], [1, 2, 2, 3]], bootstrap=Bootstrap(resamples=0))
        >>> found[found["a"].isna()].set_index("coefficient")["value"].round(3).head(3).to_dict()
        {'raw': 0.75, 'cohen': 0.636, 'cohen_linear': 0.714}
    """
    import pandas as pd
    from scipy.sparse import csr_array

    table = np.asarray(values, dtype=np.float64)
    names = [str(number + 1) for number in range(len(table))] if raters is None else raters
    chosen = check_names("coefficient", coefficients, COEFFICIENTS)
    there = np.isfinite(table)
    counted = np.flatnonzero(there.sum(axis=0) > 1)
    table, there = table[:, counted], there[:, counted]
    scale, code = np.unique(table[there], return_inverse=True)
    if (size := len(scale)) > MOST_VALUES and bootstrap.resamples:
        raise InputError(
            f"found {size} different values, expected labels or the grades of a scale, at most {MOST_VALUES}: round "
            "them, choose other raters, or give --resamples 0"
        )
    item, known = pd.factorize(counted if items is None else np.asarray(items, dtype=object)[counted])
    codes = np.zeros(table.shape, dtype=np.int64)
    codes[there] = code
    pairs = list(combinations(range(len(table)), 2))
    units = [np.flatnonzero(there[a] & there[b]) for a, b in pairs]
    # Counts of pairs of values by item, for each pair of raters, and for all with the weights of coincidences.
    shape, share = (len(known), size * size), 1 / (there.sum(axis=0) - 1)
    cells = [codes[a, both] * size + codes[b, both] for (a, b), both in zip(pairs, units, strict=True)]
    counts = [csr_array((np.ones(len(both)), (item[both], own)), shape) for both, own in zip(units, cells, strict=True)]
    found = np.full((1, len(pairs) + 1, len(chosen)), np.nan)
    if len(known):
        every = np.concatenate(units)
        weighted = csr_array((share[every], (item[every], np.concatenate(cells))), shape)
        resamples = draws(len(known), bootstrap.resamples if len(known) > 1 else 0, bootstrap.seed)
        found = np.concatenate(
            [
                _values(part, counts, weighted, scale, chosen)
                for weights in chain([np.ones((1, len(known)))], resamples)
                for part in np.array_split(weights, len(weights) * size * size // CHUNK + 1)
            ]
        )
    n_items = [len(known), *(len(np.unique(item[both])) for both in units)]
    ends = (
        percentile_interval(found[1:], bootstrap.confidence)
        if len(found) > 1
        else np.full((2, *found.shape[1:]), np.nan)
    )
    rows = []
    for place, (a, b) in enumerate([(None, None), *((names[a], names[b]) for a, b in pairs)]):
        n = len(units[place - 1]) if place else len(counted)
        for at, name in enumerate(chosen):
            value, reason = found[0, place, at], None
            if np.isnan(value):
                mean = not place and len(pairs) > 1 and name.startswith("cohen")
                reason = "undefined_pair" if mean else "no_variation"
                reason = "one_rater" if not pairs else reason if n else "no_common_units"
            low, high = (end[place, at] if n_items[place] > 1 else np.nan for end in ends)
            row = {"a": a, "b": b, "coefficient": name, "value": value, "low": low, "high": high}
            rows.append(row | {"n": n, "n_items": n_items[place], "reason": reason})
    return pd.DataFrame(rows)


def _values(
    weights: Floats, counts: Sequence[Any], weighted: Any, scale: Floats, coefficients: Sequence[str]
) -> Floats:
    """Computes coefficients of all raters and of each pair, shape (resamples, 1 + pairs, coefficients).

    Args:
        weights: Number of times that each item is drawn, shape (resamples, items).
        counts: Counts of values by item, for each pair of raters, shape (items, values * values).
        weighted: Sum of these, with a weight of each unit of 1 / (its ratings - 1).
        scale: The values.
        coefficients: Names of the coefficients.
    """
    shape = (len(weights), len(scale), len(scale))
    found, together = np.empty((len(weights), len(counts) + 1, len(coefficients))), np.zeros(shape)
    for place, matrix in enumerate(counts, start=1):
        table = (weights @ matrix).reshape(shape)
        together += table
        for at, name in enumerate(coefficients):
            found[:, place, at] = COEFFICIENTS[name](table, scale)
    coincidences = (weights @ weighted).reshape(shape)
    for at, name in enumerate(coefficients):
        if name.startswith("cohen"):
            found[:, 0, at] = found[:, 1:, at].mean(axis=1)
        else:
            found[:, 0, at] = COEFFICIENTS[name](together if name == "raw" else coincidences, scale)
    return found
