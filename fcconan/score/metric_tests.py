"""Does one metric follow people better than another? Tests by random swaps of their values.

PERM-BOTH (Deutsch et al., 2021, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods",
section 4) puts both metrics on one scale and swaps their values reply by reply at random; the difference of the two
coefficients is compared with those after the swaps. Swapping whole items (their PERM-INPUT) keeps the replies to one HS
together and is the safer choice where they resemble each other.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError
from fcconan.score.coefficients import CALIBRATED, known_coefficients
from fcconan.score.correlation import DEFAULT, data_parts
from fcconan.score.correlation_levels import POOLED, at_level, known_levels
from fcconan.score.metric_swaps import Comparison, comparison
from fcconan.score.score_table import ScoreTable
from fcconan.score.significance import TOLERANCE, holm

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.int8]

UNITS = {"reply": "perm_both", "item": "perm_input"}  # what is swapped, and the name of the test
BLOCK = 256  # swaps held at once
COLUMNS = 20_000_000  # numbers to be summed over swaps that are held at once, twice: 320 MB


@dataclass(frozen=True)
class MetricTest:
    """A two-sided test of the difference between two metrics.

    Attributes:
        a: The first metric.
        b: The second metric.
        aspect: What people rated.
        level: One of `LEVELS`.
        coefficient: Its name.
        test: `perm_both`, `perm_input` or `williams`.
        difference: The coefficient of `a` minus that of `b`, on the rows that have both; None where one is undefined.
        p: (c + 1) / (n + 1) for the swaps, never 0; None with the difference.
        p_corrected: Holm's correction over all pairs of metrics for the same aspect, level and coefficient.
        n: Rows that have both metrics and people's value.
        n_undefined: Swaps after which a coefficient is undefined; they count against a difference.
        reason: Why there is no p: `no_rows`, `too_few` or `constant`; for `williams` also `degenerate`, where both
            coefficients are defined and determine each other.
    """

    a: str
    b: str
    aspect: str
    level: str
    coefficient: str
    test: str
    difference: float | None
    p: float | None
    p_corrected: float | None
    n: int
    n_undefined: int
    reason: str | None


def permutation_tests(
    table: ScoreTable,
    *,
    levels: Sequence[str] = (POOLED,),
    coefficients: Sequence[str] = DEFAULT,
    swaps: int = 10_000,
    seed: int = 0,
    unit: str = "reply",
) -> list[MetricTest]:
    """Compares all pairs of metrics for every aspect by random swaps; all pairs share the swaps.

    Args:
        table: The values.
        levels: From `LEVELS`.
        coefficients: From `fcconan.score.coefficients.COEFFICIENTS`, except the calibrated accuracy, whose thresholds
            belong to one metric each.
        swaps: How many.
        seed: Decides them.
        unit: What is swapped: `reply` (PERM-BOTH) or `item` (PERM-INPUT).

    Raises:
        InputError: A level, a coefficient or the unit is unknown, or there is no swap.
    """
    names = known_coefficients(coefficients)
    if CALIBRATED in names or unit not in UNITS or swaps < 1:
        found = CALIBRATED if CALIBRATED in names else f"unit {unit!r} and {swaps} swaps"
        raise InputError(f"found {found}, expected another coefficient, a unit reply or item, and at least 1 swap")
    rows: list[MetricTest] = []
    for level in known_levels(levels):
        batch: list[_Prepared] = []
        for prepared in _prepared(table, level, names):
            batch.append(prepared)
            if sum(each.comparison.columns.size for each in batch) > COLUMNS:
                rows += _swapped(table, batch, level, names, swaps, seed, unit)
                batch = []
        rows += _swapped(table, batch, level, names, swaps, seed, unit)
    return holm_corrected(rows)


def permutation_signature(
    table: ScoreTable, *, population: str = "", swaps: int = 10_000, seed: int = 0, unit: str = "reply"
) -> str:
    """Returns the short string that names everything that changes the figures of `permutation_tests`.

    Args:
        table: The values, which are named by a hash; its metrics are the family that Holm's correction is over.
        population: What the rows are, in the words of whoever read them.
        swaps: As given to `permutation_tests`.
        seed: As given to `permutation_tests`.
        unit: As given to `permutation_tests`.
    """
    parts = {
        **data_parts(table, population),
        "test": UNITS[unit].replace("_", "-"),
        "swaps": f"{swaps}-by-{unit}",
        "sides": 2,
        "correction": "holm-by-aspect-level-coefficient",
        "seed": seed,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())


@dataclass(frozen=True)
class _Prepared:
    first: int
    second: int
    aspects: list[int]
    rows: Ints
    comparison: Comparison


def _prepared(table: ScoreTable, level: str, names: Sequence[str]) -> Iterator[_Prepared]:
    """Yields two metrics and the aspects for which they lack the same rows."""
    table = at_level(table, level)
    for (first, second), aspects in compared_pairs(table).items():
        both = np.isfinite(table.metric_values[[first, second]]).all(axis=0)
        alike: dict[bytes, list[int]] = {}
        for aspect in aspects:
            alike.setdefault((both & np.isfinite(table.human_values[aspect])).tobytes(), []).append(aspect)
        for key, own in alike.items():
            rows = np.flatnonzero(np.frombuffer(key, dtype=np.bool_))
            metrics = table.metric_values[first, rows], table.metric_values[second, rows]
            people = table.human_values[own][:, rows]
            yield _Prepared(
                first,
                second,
                own,
                rows,
                comparison(level, metrics, people, table.item[rows], table.system[rows], names),
            )


def compared_pairs(table: ScoreTable) -> dict[tuple[int, int], list[int]]:
    """Returns pairs of metrics with the aspects that both speak of."""
    compared: dict[tuple[int, int], list[int]] = {}
    for aspect in range(len(table.aspects)):
        for pair in combinations([metric for metric, own in table.pairs if own == aspect], 2):
            compared.setdefault(pair, []).append(aspect)
    return compared


def _swapped(
    table: ScoreTable, batch: list[_Prepared], level: str, names: Sequence[str], swaps: int, seed: int, unit: str
) -> Iterator[MetricTest]:
    if not batch:
        return
    columns = np.zeros((len(table.items), sum(each.comparison.columns.shape[1] for each in batch)))
    slices, start = [], 0
    for each in batch:
        slices.append(slice(start, start + each.comparison.columns.shape[1]))
        columns[each.rows, slices[-1]] = each.comparison.columns
        start = slices[-1].stop
    observed = [
        each.comparison.differences(np.zeros((own.stop - own.start, 1)), np.zeros((len(each.rows), 1), dtype=np.int8))
        for each, own in zip(batch, slices, strict=True)
    ]
    at_least = [{name: np.zeros(len(each.aspects), dtype=np.int64) for name in names} for each in batch]
    undefined = [{name: np.zeros(len(each.aspects), dtype=np.int64) for name in names} for each in batch]

    def count(position: int, sums: Floats, swapped: Flags) -> None:
        prepared = batch[position]
        after = prepared.comparison.differences(sums[slices[position]], swapped[prepared.rows])
        for name, differences in after.items():
            # Equal differences may differ in their last digits.
            larger = np.abs(differences) >= np.abs(observed[position][name]) - TOLERANCE
            missing = np.isnan(differences)
            at_least[position][name] += (larger | missing).sum(axis=1)
            undefined[position][name] += missing.sum(axis=1)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for swapped in _draws(table, swaps, seed, unit):
            sums = columns.T @ swapped.astype(np.float64)
            for _ in threads.map(partial(count, sums=sums, swapped=swapped), range(len(batch))):
                pass
    for position, each in enumerate(batch):
        for name in names:
            for place, aspect in enumerate(each.aspects):
                difference = observed[position][name][place, 0]
                there = bool(np.isfinite(difference))
                yield MetricTest(
                    a=table.metrics[each.first],
                    b=table.metrics[each.second],
                    aspect=table.aspects[aspect],
                    level=level,
                    coefficient=name,
                    test=UNITS[unit],
                    difference=float(difference) if there else None,
                    p=float((at_least[position][name][place] + 1) / (swaps + 1)) if there else None,
                    p_corrected=None,
                    n=len(each.rows),
                    n_undefined=int(undefined[position][name][place]) if there else 0,
                    reason=None if there else _reason(len(each.rows)),
                )


def _draws(table: ScoreTable, swaps: int, seed: int, unit: str) -> Iterator[Flags]:
    generator = np.random.default_rng(seed)
    n_units = len(table.items) if unit == "reply" else len(table.item_names)
    for start in range(0, swaps, BLOCK):
        drawn = generator.integers(2, size=(n_units, min(BLOCK, swaps - start)), dtype=np.int8)
        yield drawn if unit == "reply" else drawn[table.item]


def _reason(n_rows: int) -> str:
    return "no_rows" if n_rows == 0 else "too_few" if n_rows < 2 else "constant"


def holm_corrected(rows: list[MetricTest]) -> list[MetricTest]:
    """Corrects the p values of all pairs of metrics for the same aspect, level and coefficient."""
    families: dict[tuple[str, str, str], list[int]] = {}
    for position, row in enumerate(rows):
        families.setdefault((row.level, row.coefficient, row.aspect), []).append(position)
    corrected = list(rows)
    for members in families.values():
        p_values = np.array([np.nan if rows[each].p is None else rows[each].p for each in members], dtype=np.float64)
        for each, value in zip(members, holm(p_values), strict=True):
            corrected[each] = replace(rows[each], p_corrected=float(value) if np.isfinite(value) else None)
    return corrected
