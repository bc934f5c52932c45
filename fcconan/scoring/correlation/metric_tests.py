"""Does one metric follow people better than another? Tests by random swaps of their values.

PERM-BOTH (Deutsch et al., 2021, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods",
section 4) puts both metrics on one scale and swaps their values reply by reply at random; the difference of the two
coefficients is compared with those after the swaps. Swapping whole items (their PERM-INPUT) keeps the replies to one HS
together and is the safer choice where they resemble each other.

All pairs of metrics share the swaps, so p is adjusted by max-T (`fcconan.scoring.significance`). A family is all
pairs for one aspect, level and coefficient: the comparisons that one column of a table of correlations invites.
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
from fcconan.scoring.correlation.permutation_kernels import Comparison, comparison
from fcconan.scoring.names import joined_parts, known_names
from fcconan.scoring.score_table import ScoreTable
from fcconan.scoring.significance.families import (
    CORRECTION,
    Family,
    all_flips,
    family_parts,
    p_floor,
    step_down,
    units_floor,
)
from fcconan.scoring.significance.intervals import TOLERANCE

UNITS = {"reply": "perm_both", "item": "perm_input"}  # what is swapped, and the name of the test
BLOCK = 256  # swaps held at once
ROWS = 600_000  # rows of pairs of metrics that are prepared at once: about 250 MB for 4 aspects
DIFFERENCES = 25_000_000  # differences after swaps that are held at once, of one aspect at least: 200 MB
BY = "aspect-level-coefficient"  # the rule that makes families


@dataclass(frozen=True, kw_only=True)
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
        p_corrected: p adjusted within the family: by max-T for swaps, by Holm's method for `williams`.
        n: Rows that have both metrics and people's value.
        n_units: Replies or items of these rows, whose values are swapped together; None for `williams`.
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
    p_corrected: float | None = None
    n: int
    n_units: int | None = None
    n_undefined: int = 0
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
    """Compares all pairs of metrics for every aspect by random swaps; all pairs share the swaps.

    Where all ways to swap are not more than `swaps`, each is taken once, and p is exact.

    Args:
        table: The values.
        levels: From `LEVELS`.
        coefficients: From `COEFFICIENTS`, except the calibrated accuracy, whose thresholds belong to one metric each.
        swaps: How many.
        seed: Decides them.
        unit: What is swapped: `reply` (PERM-BOTH) or `item` (PERM-INPUT).

    Raises:
        InputError: A level, a coefficient or the unit is unknown.
    """
    names = known_names("coefficient", coefficients, [each for each in COEFFICIENTS if each != CALIBRATED])
    known_names("unit", [unit], UNITS)
    rows: list[MetricTest] = []
    for level in known_names("level", levels, LEVELS):
        whole = at_level(table, level)
        compared = compared_pairs(whole)
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
    """Returns the short string that names everything that changes the figures of `permutation_tests`.

    Args:
        table: The values, which are named by a hash.
        families: What `permutation_families` returned.
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
        **family_parts(families, BY),
        "seed": seed,
    }
    return joined_parts(parts)


def permutation_families(tests: Sequence[MetricTest], *, swaps: int = 10_000) -> list[Family]:
    """Returns the families of tests by random swaps.

    Args:
        tests: What `permutation_tests` returned.
        swaps: Number of swaps that it was given.
    """
    found, members = metric_families(tests, CORRECTION), members_of_families(tests)
    for at, family in enumerate(found):
        units = max(tests[each].n_units or 0 for each in members[family.name])
        found[at] = replace(family, floor=p_floor(swaps, units) if family.n_tests else None, units=units)
    return found


def metric_families(tests: Sequence[MetricTest], correction: str) -> list[Family]:
    """Returns the families of tests between metrics, in their order, without a smallest p.

    Args:
        tests: The tests.
        correction: How p was adjusted.
    """
    return [
        Family(name, "all pairs of metrics", sum(tests[each].p is not None for each in members), None, correction)
        for name, members in members_of_families(tests).items()
    ]


def members_of_families(tests: Sequence[MetricTest]) -> dict[str, list[int]]:
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
    """Yields two metrics and the chosen aspects for which they lack the same rows."""
    for (first, second), aspects in compared.items():
        both = np.isfinite(table.metric_values[[first, second]]).all(axis=0)
        alike: dict[bytes, list[int]] = {}
        for aspect in [each for each in aspects if each in chosen]:
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


@dataclass(frozen=True)
class _Swapped:
    """A test whose p is not adjusted yet, and its differences after the swaps, of shape (swaps,)."""

    test: MetricTest
    differences: Floats


def _swapped(
    table: ScoreTable, batch: list[_Prepared], level: str, names: Sequence[str], swaps: int, seed: int, unit: str
) -> list[_Swapped]:
    observed = [each.comparison.differences(np.zeros((len(each.rows), 1), dtype=np.int8)) for each in batch]
    # Each thread multiplies its own small matrices, which BLAS would spread over threads of its own.
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
    # Equal differences may differ in their last digits.
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
    """Adjusts p within families by max-T; a test's own undefined swaps count against it, as they do in its p."""
    rows = [each.test for each in found]
    for all_members in members_of_families(rows).values():
        members = [each for each in all_members if rows[each].difference is not None]
        if not members:
            continue
        observed = np.abs(np.array([rows[each].difference for each in members], dtype=np.float64))
        drawn = np.abs(np.stack([found[each].differences for each in members]))
        # The swap that swaps nothing is one of all; without it a scale could be 0 where the difference is not.
        squares = np.nansum(drawn**2, axis=1) + observed**2
        scale = np.sqrt(squares / (np.isfinite(drawn).sum(axis=1) + 1))
        scale[scale <= TOLERANCE] = 1.0
        corrected = step_down((observed - TOLERANCE) / scale, [(drawn / scale[:, None]).T])
        for member, value in zip(members, corrected.tolist(), strict=True):
            rows[member] = replace(rows[member], p_corrected=max(value, rows[member].p or 0.0))
    return rows


def _draws(table: ScoreTable, swaps: int, seed: int, unit: str) -> Iterator[Swaps]:
    """Yields swaps of shape (rows, some swaps): all ways to swap if these are not more, otherwise random ones."""
    n_units = len(table.items) if unit == "reply" else len(table.item_names)
    generator = np.random.default_rng(seed)
    every = all_flips(n_units, swaps)
    n_drawn = swaps if every is None else len(every)
    for start in range(0, n_drawn, BLOCK):
        size = n_units, min(BLOCK, n_drawn - start)
        drawn = generator.integers(2, size=size, dtype=np.int8) if every is None else every[start : start + BLOCK].T
        yield drawn if unit == "reply" else drawn[table.item]
