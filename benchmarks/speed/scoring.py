"""Measure correlation with human ratings against loops over scipy in the same run.

The invented data have the size of CSEval: 7926 replies to 1586 HS by 5 systems. 4 aspects have mean ratings of three
annotators on a scale from 1 to 5. Of 20 metrics, 8 are continuous, 6 are 0 for half of the replies, and 6 are judges
with a scale.

- Pooled: Pearson, Spearman and Kendall's tau-b of all 80 pairs with 10 000 bootstrap resamples of HS. The loop samples
  the rows of a resample and calls scipy. It runs for a few resamples and pairs, and its time is scaled to all of them.
- Per item: the same within HS. The loop calls scipy once for each pair and each HS of a sample, and then averages in
  each resample; its time is scaled. A loop that calls scipy in each resample would take thousands of times longer.
- Tests: PERM-INPUT with 10 000 permutations, and intervals, for all aspects: on all 190 pairs of the 20 metrics, and on
  three metrics of each kind. The loop permutes and calls scipy; it runs for a few permutations and pairs, and its time
  is scaled.
- Twice the ratings: `fcconan correlate` on one and on two million ratings, in parquet and in CSV: two aspects of
  replies by 10 systems, rated by three annotators and two judges. Every run has its own process. The shortest CPU time
  of three runs counts, because it depends less on other load than wall time.

Compilation is not measured: numba caches its code on disk after the first run. Memory is the peak of the process. A
missed aim is not an error; the benchmark stops if a value differs from scipy's.

Run it with `python benchmarks/speed/scoring.py [--json FILE] [--resamples N] [--part pooled|per-item|tests|twice]`.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import ratios
from ratios import machine, write_json
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fcconan import Bootstrap
from fcconan.scoring import Scores
from fcconan.scoring.correlation.analysis import correlations, differences
from fcconan.scoring.correlation.weighted import KENDALL_B, PEARSON, SPEARMAN

Floats = npt.NDArray[np.float64]
Measured = dict[str, Any]

ROWS, SYSTEMS = 7926, 5
CONTINUOUS, ZEROS, JUDGES = 8, 6, 6
COEFFICIENTS = (PEARSON, SPEARMAN, KENDALL_B)
LOOPED = 24  # iterations of each loop over scipy
LOOPED_ITEMS = 40
AIM = "at least 20, Kendall 5"
RATINGS, REPEATS = 1_000_000, 3
TWICE = "at most 2.2"


def data() -> Scores:
    """Return invented scores with the size and ties of CSEval."""
    generator = np.random.default_rng(0)
    people = np.clip(generator.integers(1, 6, size=(4, 1, ROWS)) + generator.integers(-1, 2, size=(4, 3, ROWS)), 1, 5)
    quality = people.mean(axis=1)
    noisy = quality[0] + 2 * generator.standard_normal((CONTINUOUS + ZEROS + JUDGES, ROWS))
    zeros = slice(CONTINUOUS, CONTINUOUS + ZEROS)
    noisy[zeros] = np.maximum(noisy[zeros] - np.median(noisy[zeros]), 0)
    noisy[zeros.stop :] = np.clip(noisy[zeros.stop :].round(), 1, 5)
    names = [f"continuous {i}" for i in range(CONTINUOUS)] + [f"zeros {i}" for i in range(ZEROS)]
    names += [f"judge {i}" for i in range(JUDGES)]
    aspects = ("relevance", "coherence", "aggressiveness", "suitableness")
    item, system = np.arange(ROWS) // SYSTEMS, np.arange(ROWS) % SYSTEMS
    none = np.zeros((0, len(aspects), ROWS))
    return Scores([(name, None) for name in names], noisy, aspects, quality, item, system, none)


def run(table: Scores, level: str, name: str, resamples: int) -> list[dict[str, Any]]:
    """Return the rows of the table of correlations."""
    found = correlations(table, (level,), (name,), Bootstrap(resamples=resamples))
    rows: list[dict[str, Any]] = found.to_dict("records")
    return rows


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def scipy_coefficient(name: str) -> Callable[[Floats, Floats], float]:
    """Return scipy's function."""
    from scipy import stats

    function = {PEARSON: stats.pearsonr, SPEARMAN: stats.spearmanr, KENDALL_B: stats.kendalltau}[name]
    return lambda x, y: float(function(x, y)[0])


def check_equal(value: float | None, expected: float, name: str) -> None:
    """Stop if a value differs from scipy's."""
    if value is None or abs(value - expected) > 1e-10:
        sys.exit(f"{name} is {value}; expected {expected}, the value of scipy")


def spread(table: Scores) -> list[tuple[int, int]]:
    """Return pairs of a metric and an aspect that cover all kinds of metrics."""
    return [(position % len(table.metrics), position % len(table.aspects)) for position in range(0, 7 * LOOPED, 7)]


def pooled(table: Scores, resamples: int) -> dict[str, Measured]:
    """Measure pooled coefficients with intervals."""
    generator = np.random.default_rng(1)
    rows_of = [np.flatnonzero(table.item == item) for item in range(int(table.item.max()) + 1)]
    found = {}
    for name in COEFFICIENTS:
        coefficient = scipy_coefficient(name)
        run(table, "pooled", name, 2)
        results: list[Any] = []

        def run_fcconan(name: str = name, results: list[Any] = results) -> None:
            results += run(table, "pooled", name, resamples)

        own = seconds(run_fcconan)
        row = results[0]
        x, y = table.x[table.metrics.index((row["metric"], None))], table.y[table.aspects.index(row["aspect"])]
        check_equal(row["value"], coefficient(x, y), f"pooled {name}")

        def loop(coefficient: Callable[[Floats, Floats], float] = coefficient) -> None:
            for metric, aspect in spread(table):
                drawn = np.concatenate([rows_of[item] for item in generator.integers(len(rows_of), size=len(rows_of))])
                coefficient(table.x[metric, drawn], table.y[aspect, drawn])

        calls = resamples * len(table.pairs())
        found[f"pooled, {name}"] = _measured(own, seconds(loop), LOOPED, calls)
    return found


def per_item(table: Scores, resamples: int) -> dict[str, Measured]:
    """Measure coefficients within HS with intervals."""
    n_items = int(table.item.max()) + 1
    rows_of = [np.flatnonzero(table.item == item) for item in range(n_items)]
    found = {}
    for name in COEFFICIENTS:
        coefficient = scipy_coefficient(name)
        results: list[Any] = []

        def run_fcconan(name: str = name, results: list[Any] = results) -> None:
            results += run(table, "per_item", name, resamples)

        own = seconds(run_fcconan)

        def defined(metric: int, aspect: int, rows: Any, f: Callable[[Floats, Floats], float] = coefficient) -> float:
            x, y = table.x[metric, rows], table.y[aspect, rows]
            return f(x, y) if np.ptp(x) > 0 and np.ptp(y) > 0 else np.nan

        row = results[0]
        place = table.metrics.index((row["metric"], None)), table.aspects.index(row["aspect"])
        values = np.array([defined(*place, rows) for rows in rows_of if len(rows) > 1])
        check_equal(row["value"], float(np.nanmean(values)), f"per item {name}")

        def coefficients() -> None:
            for metric, aspect in spread(table):
                for rows in rows_of[:LOOPED_ITEMS]:
                    defined(metric, aspect, rows)

        def means(values: Floats = values) -> None:
            generator = np.random.default_rng(0)
            for _ in range(1000):
                np.nanmean(values[generator.integers(len(values), size=len(values))])

        loop = seconds(coefficients) / LOOPED / LOOPED_ITEMS * n_items * len(table.pairs())
        loop += seconds(means) / 1000 * resamples * len(table.pairs())
        found[f"per item, {name}"] = {"fcconan": own, "scipy, scaled": loop, "ratio": loop / own}
    return found


def tests(table: Scores, resamples: int) -> dict[str, Measured]:
    """Measure PERM-INPUT."""
    found = {}
    generator = np.random.default_rng(2)
    starts = {"continuous": 0, "zeros": CONTINUOUS, "judges": CONTINUOUS + ZEROS}
    kinds = {kind: [start, start + 1, start + 2] for kind, start in starts.items()}
    kinds["all"] = list(range(len(table.metrics)))
    for kind, metrics in kinds.items():
        few = table._replace(metrics=[table.metrics[each] for each in metrics], x=table.x[metrics])
        for name in COEFFICIENTS:
            coefficient = scipy_coefficient(name)
            differences(few, ("pooled",), (name,), Bootstrap(resamples=2))
            results: list[Any] = []

            def run_fcconan(few: Scores = few, name: str = name, results: list[Any] = results) -> None:
                options = Bootstrap(resamples=resamples)
                results += differences(few, ("pooled",), (name,), options).to_dict("records")

            own = seconds(run_fcconan)
            both = [coefficient(few.x[each], few.y[0]) for each in (0, 1)]
            check_equal(results[0]["difference"], both[0] - both[1], f"difference of {name}")
            scaled = [(each - each.mean()) / each.std() for each in few.x]
            pairs = [(a, b) for a in range(len(metrics)) for b in range(a)]

            def loop(
                few: Scores = few,
                scaled: list[Floats] = scaled,
                pairs: list[tuple[int, int]] = pairs,
                coefficient: Callable[[Floats, Floats], float] = coefficient,
            ) -> None:
                for position in range(LOOPED):
                    a, b = (scaled[each] for each in pairs[7 * position % len(pairs)])
                    people = few.y[position % len(few.aspects)]
                    swapped = generator.integers(2, size=ROWS // SYSTEMS + 1)[few.item] == 1
                    coefficient(np.where(swapped, b, a), people) - coefficient(np.where(swapped, a, b), people)

            # Each test is two coefficients, and each metric has one in a resample, for the intervals.
            calls = resamples * (len(pairs) + len(metrics) // 2) * len(few.aspects)
            found[f"PERM-INPUT, {kind}, {name}"] = _measured(own, seconds(loop), LOOPED, calls)
    return found


def _measured(own: float, loop: float, looped: int, calls: int) -> Measured:
    scaled = loop / looped * calls
    return {"fcconan": own, "scipy, scaled": scaled, "ratio": scaled / own}


def twice() -> dict[str, Measured]:
    """Measure the command on a million ratings and on twice as many."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".parquet", ".csv"):
            times = []
            for count in (RATINGS, 2 * RATINGS):
                file = Path(folder, f"ratings-{count}{suffix}")
                write_ratings(file, count)
                command = [sys.executable, "-m", "fcconan", "correlate", str(file), "--resamples", "100"]
                times.append(min(processor_seconds(command) for _ in range(REPEATS)))
            found[suffix[1:]] = {"once": times[0], "twice": times[1], "ratio": times[1] / times[0]}
    return found


def processor_seconds(command: list[str]) -> float:
    """Return the CPU time of a process in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_ratings(file: Path, count: int) -> None:
    """Write ratings with the items and systems of their replies."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    generator = np.random.default_rng(0)
    raters = [f"{kind}-{number}" for kind, n in (("person", 3), ("judge", 2)) for number in range(n)]
    replies = count // (len(raters) * 2)
    quality = generator.normal(3, 1, size=replies)
    rater, aspect = np.tile(np.repeat(raters, 2), replies), np.tile(["relevance", "coherence"], len(raters) * replies)
    reply = np.repeat(np.arange(replies), len(raters) * 2)
    table = pa.table(
        {
            "reply_id": [f"re-{number:012x}" for number in reply],
            "item_id": [f"it-{number // 10:012x}" for number in reply],
            "system": [f"system-{number % 10}" for number in reply],
            "rater": rater,
            "rater_kind": np.where(np.char.startswith(rater, "person"), "human", "model"),
            "aspect": aspect,
            "value": np.clip((quality[reply] + generator.normal(0, 1, size=len(reply))).round(), 1, 5),
            "low": np.full(len(reply), 1.0),
            "high": np.full(len(reply), 5.0),
        }
    )
    write = parquet.write_table if file.suffix == ".parquet" else csv.write_csv
    write(table, file)


PARTS: dict[str, Callable[[Scores, int], dict[str, Measured]]] = {
    "pooled": pooled,
    "per-item": per_item,
    "tests": tests,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure correlation with human ratings against loops over scipy.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all measurements to this file")
    parser.add_argument(
        "--resamples", type=int, default=10_000, help="resamples and permutations (default: %(default)s)"
    )
    parser.add_argument(
        "--part",
        action="append",
        choices=[*PARTS, "twice"],
        help="measure this part only; repeat the option for several",
    )
    options = parser.parse_args()
    parts = dict.fromkeys(options.part or [*PARTS, "twice"])
    found: dict[str, Measured] = {}
    if set(parts) & set(PARTS):
        table = data()
        print(f"{'seconds':45} {'fcconan':>9} {'scipy*':>9} {'ratio':>7}  aim")
    for part in [each for each in parts if each in PARTS]:
        with threadpool_limits(1, user_api="blas"):  # as the command does
            cases = PARTS[part](table, options.resamples)
        for case, measured in cases.items():
            found[case] = measured
            values = measured["fcconan"], measured["scipy, scaled"], measured["ratio"]
            print(f"{case:45} {values[0]:9.2f} {values[1]:9.0f} {values[2]:7.0f}  {AIM}", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    doubled = twice() if "twice" in parts else {}
    result = {
        "machine": machine("numpy", "scipy", "numba"),
        "resamples": options.resamples,
        "peak_gib": peak,
        "cases": found,
        "twice": doubled,
        "ratios": {
            **{f"time, scipy looped / fcconan: {case}": (each["ratio"], AIM) for case, each in found.items()},
            **{f"time, twice the ratings / once: {name}": (each["ratio"], TWICE) for name, each in doubled.items()},
            "memory of all but twice the ratings / 1 GB": (peak * 2**30 / 1e9, "below 1"),
        },
    }
    if found:
        print(f"* a loop over scipy, scaled from {LOOPED} to {options.resamples} resamples or permutations")
    print("", *ratios.lines(result), sep="\n")
    write_json(result, options.json)


if __name__ == "__main__":
    main()
