"""Permutation tests: does one metric agree with people better than another?

PERM-BOTH (Deutsch et al., 2021, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods",
section 4) standardises both metrics and swaps their values at random, reply by reply. The difference of the two
coefficients is compared with those after the swaps. PERM-INPUT swaps whole items and keeps the replies to one HS
together. It is the safer choice, because replies to one HS resemble each other.

All pairs of metrics share the swaps, so p is adjusted by max-T (`fcconan.scoring.significance`). A family is all pairs
for one aspect, level and coefficient: the comparisons within one column of a table of correlations.
"""

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fcconan.scoring.arrays import Floats, Ints, Swaps
from fcconan.scoring.correlation.analysis import DEFAULT_COEFFICIENTS, data_parts
from fcconan.scoring.correlation.coefficients import CALIBRATED, COEFFICIENTS
from fcconan.scoring.correlation.levels import LEVELS, POOLED, at_level
from fcconan.scoring.correlation.permutation_kernels import Comparison, prepare_comparison
from fcconan.scoring.intervals import TOLERANCE
from fcconan.scoring.names import check_names, join_parts
from fcconan.scoring.score_table import ScoreTable
from fcconan.scoring.significance.families import (
    CORRECTION,
    Family,
    all_sign_vectors,
    family_parts,
    p_floor,
    step_down,
    units_floor,
)

UNITS = {"reply": "perm_both", "item": "perm_input"}  # unit that is swapped -> name of the test
BLOCK = 256  # swaps in memory
ROWS = 600_000  # rows of pairs of metrics in memory: about 250 MB for 4 aspects
DIFFERENCES = 25_000_000  # differences after swaps in memory (one aspect at least): 200 MB
BY = "aspect-level-coefficient"  # definition of a family, for signatures


@dataclass(frozen=True, kw_only=True)
class MetricTest:
    """A two-sided test of the difference between two metrics.

    Attributes:
        a: The first metric.
        b: The second metric.
        aspect: Aspect that people rated.
        level: One of `LEVELS`.
        coefficient: Name of the coefficient.
        test: `perm_both` or `perm_input`.
        difference: Coefficient of `a` minus that of `b`, on the rows that have both; None if one is undefined.
        p: p value, (c + 1) / (n + 1), never 0; None without a difference.
        p_corrected: p adjusted within the family by max-T.
        n: Number of rows with both metrics and a value by people.
        n_units: Number of replies or items of these rows, whose values are swapped together.
        n_undefined: Number of swaps after which a coefficient is undefined; they count against a difference.
        reason: Reason of a missing p: `no_rows`, `too_few` or `constant`.
    """

    a: str
    b: str
    aspect: str
    level: str
    coefficient: str
    test: str
    difference: float | None
    p: float | None
    p_corrected: float | None = None
    n: int
    n_units: int
    n_undefined: int
    reason: str | None

    @property
    def family(self) -> str:
        """Name of the family: all pairs of metrics for the same aspect, level and coefficient."""
        return f"{self.aspect}, {self.level}, {self.coefficient}"


def permutation_tests(
    table: ScoreTable,
    *,
    levels: Sequence[str] = (POOLED,),
    coefficients: Sequence[str] = DEFAULT_COEFFICIENTS,
    swaps: int = 10_000,
    seed: int = 0,
    unit: str = "reply",
) -> list[MetricTest]:
    """Compares all pairs of metrics for every aspect by random swaps, which all pairs share.

    If there are at most `swaps` different swaps, each is used once, and p is exact.

    Args:
        table: The values.
        levels: Levels, from `LEVELS`.
        coefficients: Coefficients, from `COEFFICIENTS`. The calibrated accuracy is not available, because its threshold
            belongs to one metric.
        swaps: Number of random swaps.
        seed: Seed of the swaps.
        unit: Unit that is swapped: `reply` (PERM-BOTH) or `item` (PERM-INPUT).

    Raises:
        InputError: A level, a coefficient or the unit is unknown.
    """
    names = check_names("coefficient", coefficients, [each for each in COEFFICIENTS if each != CALIBRATED])
    check_names("unit", [unit], UNITS)
    rows: list[MetricTest] = []
    for level in check_names("level", levels, LEVELS):
        whole = at_level(table, level)
        compared = _compared_pairs(whole)
        at_once = max(1, DIFFERENCES // max(1, len(compared) * len(names) * swaps))
        for start in range(0, len(table.aspects), at_once):
            prepared = _prepared(whole, level, names, compared, range(start, start + at_once))
            done: list[_Swapped] = []
            while batch := list(islice(prepared, max(1, ROWS // max(1, len(table.items))))):
                done += _swapped(table, batch, level, names, swaps, seed, unit)
            rows += _adjusted(done)
    return rows


def permutation_signature(
    table: ScoreTable,
    families: Sequence[Family],
    *,
    population: str = "",
    swaps: int = 10_000,
    seed: int = 0,
    unit: str = "reply",
) -> str:
    """Returns the signature of `permutation_tests`, which names everything that changes its values.

    Args:
        table: The values; the signature has a hash of them.
        families: Result of `permutation_families`.
        population: Source of the rows, as the signature names it.
        swaps: See `permutation_tests`.
        seed: See `permutation_tests`.
        unit: See `permutation_tests`.
    """
    parts = {
        **data_parts(table, population),
        "test": UNITS[unit].replace("_", "-"),
        "swaps": f"{swaps}-by-{unit}",
        "sides": 2,
        **family_parts(families, BY),
        "seed": seed,
    }
    return join_parts(parts)


def permutation_families(tests: Sequence[MetricTest], *, swaps: int = 10_000) -> list[Family]:
    """Returns the families of tests by random swaps.

    Args:
        tests: Result of `permutation_tests`.
        swaps: See `permutation_tests`.
    """
    found = []
    for name, members in _members_of_families(tests).items():
        n_tests = sum(tests[each].p is not None for each in members)
        units = max(tests[each].n_units for each in members)
        floor = p_floor(swaps, units) if n_tests else None
        found.append(Family(name, "all pairs of metrics", n_tests, floor, CORRECTION, units))
    return found


def _members_of_families(tests: Sequence[MetricTest]) -> dict[str, list[int]]:
    """Returns the positions of the tests of each family, in their order."""
    families: dict[str, list[int]] = {}
    for position, row in enumerate(tests):
        families.setdefault(row.family, []).append(position)
    return families


@dataclass(frozen=True)
class _Prepared:
    first: int
    second: int
    aspects: list[int]
    rows: Ints
    comparison: Comparison


def _prepared(
    table: ScoreTable,
    level: str,
    names: Sequence[str],
    compared: Mapping[tuple[int, int], Sequence[int]],
    chosen: Container[int],
) -> Iterator[_Prepared]:
    """Yields pairs of metrics with the chosen aspects that share their missing rows."""
    for (first, second), aspects in compared.items():
        both = np.isfinite(table.metric_values[[first, second]]).all(axis=0)
        by_pattern: dict[bytes, list[int]] = {}
        for aspect in [each for each in aspects if each in chosen]:
            by_pattern.setdefault((both & np.isfinite(table.human_values[aspect])).tobytes(), []).append(aspect)
        for key, own in by_pattern.items():
            rows = np.flatnonzero(np.frombuffer(key, dtype=np.bool_))
            metrics = table.metric_values[first, rows], table.metric_values[second, rows]
            people = table.human_values[own][:, rows]
            yield _Prepared(
                first,
                second,
                own,
                rows,
                prepare_comparison(level, metrics, people, table.item[rows], table.system[rows], names),
            )


def _compared_pairs(table: ScoreTable) -> dict[tuple[int, int], list[int]]:
    """Returns pairs of metrics with the aspects that both rate."""
    compared: dict[tuple[int, int], list[int]] = {}
    for aspect in range(len(table.aspects)):
        for pair in combinations([metric for metric, own in table.pairs if own == aspect], 2):
            compared.setdefault(pair, []).append(aspect)
    return compared


@dataclass(frozen=True)
class _Swapped:
    """A test before adjustment, and its differences after the swaps, shape (swaps,)."""

    test: MetricTest
    differences: Floats


def _swapped(
    table: ScoreTable, batch: list[_Prepared], level: str, names: Sequence[str], swaps: int, seed: int, unit: str
) -> list[_Swapped]:
    observed = [each.comparison.differences(np.zeros((len(each.rows), 1), dtype=np.int8)) for each in batch]
    # Each thread multiplies small matrices; the threads of BLAS would compete with these.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as threads:
        blocks = [list(threads.map(partial(_differences, drawn), batch)) for drawn in _draws(table, swaps, seed, unit)]
    found = []
    for at, each in enumerate(batch):
        for name in names:
            after = np.concatenate([block[at][name] for block in blocks], axis=1)
            for aspect, value, own in zip(each.aspects, observed[at][name][:, 0], after, strict=True):
                found.append(_Swapped(_test(table, each, aspect, level, name, value, own, unit), own))
    return found


def _differences(drawn: Swaps, prepared: _Prepared) -> dict[str, Floats]:
    return prepared.comparison.differences(drawn[prepared.rows])


def _test(
    table: ScoreTable,
    prepared: _Prepared,
    aspect: int,
    level: str,
    name: str,
    difference: float,
    after: Floats,
    unit: str,
) -> MetricTest:
    there = bool(np.isfinite(difference))
    undefined = np.isnan(after)
    # Equal differences may differ by rounding errors.
    at_least = (np.abs(after) >= abs(difference) - TOLERANCE) | undefined
    n_rows = len(prepared.rows)
    n_units = n_rows if unit == "reply" else len(np.unique(table.item[prepared.rows]))
    p = max(float((at_least.sum() + 1) / (len(after) + 1)), units_floor(n_units))
    return MetricTest(
        a=table.metrics[prepared.first],
        b=table.metrics[prepared.second],
        aspect=table.aspects[aspect],
        level=level,
        coefficient=name,
        test=UNITS[unit],
        difference=float(difference) if there else None,
        p=p if there else None,
        n=n_rows,
        n_units=n_units,
        n_undefined=int(undefined.sum()) if there else 0,
        reason=None if there else "no_rows" if n_rows == 0 else "too_few" if n_rows < 2 else "constant",
    )


def _adjusted(found: list[_Swapped]) -> list[MetricTest]:
    """Adjusts p within families by max-T; undefined swaps of a test count against it, as they do in its p."""
    rows = [each.test for each in found]
    for all_members in _members_of_families(rows).values():
        members = [each for each in all_members if rows[each].difference is not None]
        if not members:
            continue
        observed = np.abs(np.array([rows[each].difference for each in members], dtype=np.float64))
        drawn = np.abs(np.stack([found[each].differences for each in members]))
        # The observed difference is included: without it, the scale could be 0 although the difference is not.
        squares = np.nansum(drawn**2, axis=1) + observed**2
        scale = np.sqrt(squares / (np.isfinite(drawn).sum(axis=1) + 1))
        scale[scale <= TOLERANCE] = 1.0
        corrected = step_down((observed - TOLERANCE) / scale, [(drawn / scale[:, None]).T])
        for member, value in zip(members, corrected.tolist(), strict=True):
            rows[member] = replace(rows[member], p_corrected=max(value, rows[member].p or 0.0))
    return rows


def _draws(table: ScoreTable, swaps: int, seed: int, unit: str) -> Iterator[Swaps]:
    """Yields swaps, shape (rows, block of swaps): all different swaps if there are few, otherwise random ones."""
    n_units = len(table.items) if unit == "reply" else len(table.item_names)
    generator = np.random.default_rng(seed)
    every = all_sign_vectors(n_units, swaps)
    n_drawn = swaps if every is None else len(every)
    for start in range(0, n_drawn, BLOCK):
        size = n_units, min(BLOCK, n_drawn - start)
        drawn = generator.integers(2, size=size, dtype=np.int8) if every is None else every[start : start + BLOCK].T
        yield drawn if unit == "reply" else drawn[table.item]
