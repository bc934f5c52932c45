"""Measure exhaustive pairing, the one heavy step of building: time, peak memory and file size.

The pairs are as many as those of MT-CONAN, 3,718 HS by 4,997 CN, with made-up ids. Polars writes the same
three columns in two ways, both with its defaults: a cross join of data frames with `write_parquet`, the
baseline, and the same query streamed with `sink_parquet`, for candour. Every run is a process of its own; its
time runs from the ids in memory to the finished files, and its peak memory is that of the whole process.

The aims, on one machine:

- at most 1.5 times the time of the baseline,
- at most a third of its memory,
- memory flat as the pairs grow tenfold.

Nothing fails when an aim is missed: the table says what was measured.

Run it with `python benchmarks/speed/build.py [--json FILE] [--repeats N]`.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ratios
from ratios import machine, write_json

# Libraries are imported in the measured processes only: a process starts with the peak memory of its parent.

CN_COUNT = 4_997
HS_COUNT = 3_718

Figures = dict[str, float]


def write_ours(hs_ids: list[str], cn_ids: list[str], folder: Path) -> Callable[[], None]:
    """Return what writes the pairs with fcconan."""
    from fcconan.building.cross_product import write_exhaustive_pairs

    def write() -> None:
        write_exhaustive_pairs(hs_ids, cn_ids, folder)

    return write


def write_polars(hs_ids: list[str], cn_ids: list[str], folder: Path) -> Callable[[], None]:
    """Return what writes the pairs with polars, in memory."""
    import polars

    def write() -> None:
        hs = polars.DataFrame({"hs_id": hs_ids})
        cn = polars.DataFrame({"cn_id": cn_ids})
        pair_id = polars.concat_str("hs_id", "cn_id", separator=":").alias("pair_id")
        hs.join(cn, how="cross").select(pair_id, "hs_id", "cn_id").write_parquet(folder / "pairs.parquet")

    return write


def write_polars_streamed(hs_ids: list[str], cn_ids: list[str], folder: Path) -> Callable[[], None]:
    """Return what writes the pairs with polars, streamed."""
    import polars

    def write() -> None:
        hs = polars.LazyFrame({"hs_id": hs_ids})
        cn = polars.LazyFrame({"cn_id": cn_ids})
        pair_id = polars.concat_str("hs_id", "cn_id", separator=":").alias("pair_id")
        hs.join(cn, how="cross").select(pair_id, "hs_id", "cn_id").sink_parquet(folder / "pairs.parquet")

    return write


CASES = {
    "fcconan": (write_ours, HS_COUNT),
    "polars": (write_polars, HS_COUNT),
    "polars, streamed": (write_polars_streamed, HS_COUNT),
    "fcconan, 10x": (write_ours, 10 * HS_COUNT),
}


def made_up_ids(prefix: str, count: int) -> list[str]:
    """Return distinct ids of 12 random hexadecimal digits, the same in every run."""
    return [f"{prefix}-{number:012x}" for number in random.Random(prefix).sample(range(16**12), count)]


def run_here(case: str, folder: Path) -> Figures:
    """Run one case in this process and return its figures."""
    prepare, hs_count = CASES[case]
    write = prepare(made_up_ids("hs", hs_count), made_up_ids("cn", CN_COUNT), folder)
    start = time.perf_counter()
    write()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "pairs": hs_count * CN_COUNT,
        "seconds": seconds,
        "peak_bytes": peak * (1 if sys.platform == "darwin" else 1024),
        "file_bytes": sum(path.stat().st_size for path in folder.iterdir()),
    }


def run_apart(case: str) -> Figures:
    """Run one case in a process of its own and return its figures."""
    with tempfile.TemporaryDirectory(prefix="fcconan-speed-") as folder:
        command = [sys.executable, __file__, "--case", case, "--folder", folder]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: Figures = json.loads(answer)
    print(f"{case}: {figures['seconds']:.2f} s, {figures['peak_bytes'] / 1e6:.0f} MB", file=sys.stderr)
    return figures


def medians(runs: list[Figures]) -> Figures:
    """Return the median of each figure."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def measure(repeats: int) -> dict[str, Any]:
    """Run every case and return all that the table is made of.

    Args:
        repeats: How often each case runs; the tenfold case, which is compared by its memory only, runs once.
    """
    runs: dict[str, list[Figures]] = {case: [] for case in CASES}
    for _ in range(repeats):
        # Taking turns spreads whatever else the machine does over all cases.
        for case in ("fcconan", "polars", "polars, streamed"):
            runs[case].append(run_apart(case))
    runs["fcconan, 10x"].append(run_apart("fcconan, 10x"))
    middle = {case: medians(figures) for case, figures in runs.items()}

    def ratio(figure: str, case: str, other: str) -> float:
        return middle[case][figure] / middle[other][figure]

    return {
        "machine": machine("pyarrow", "polars"),
        "runs": runs,
        "medians": middle,
        "ratios": {
            "time, fcconan / polars": (ratio("seconds", "fcconan", "polars"), "at most 1.50"),
            "memory, fcconan / polars": (ratio("peak_bytes", "fcconan", "polars"), "at most 0.33"),
            "memory, ten times the pairs / once": (ratio("peak_bytes", "fcconan, 10x", "fcconan"), "about 1"),
            "time, fcconan / polars streamed": (ratio("seconds", "fcconan", "polars, streamed"), ""),
            "memory, fcconan / polars streamed": (ratio("peak_bytes", "fcconan", "polars, streamed"), ""),
        },
    }


def table(result: dict[str, Any]) -> str:
    """Return the figures as text."""
    lines = [f"{'median of':20} {'pairs':>12} {'seconds':>8} {'peak MB':>8} {'files MB':>9} {'runs':>5}"]
    for case, figures in result["medians"].items():
        peak, size = figures["peak_bytes"] / 1e6, figures["file_bytes"] / 1e6
        lines.append(
            f"{case:20} {figures['pairs']:12,.0f} {figures['seconds']:8.2f} {peak:8.0f} {size:9.1f}"
            f" {len(result['runs'][case]):5}"
        )
    return "\n".join([*lines, "", *ratios.lines(result)])


def main() -> None:
    """Measure and print, or run one case for the measuring process."""
    parser = argparse.ArgumentParser(description="Measure exhaustive pairing against polars.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to this file")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case (default: %(default)s)")
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_here(options.case, options.folder)))
        return
    result = measure(options.repeats)
    print(table(result))
    write_json(result, options.json)


if __name__ == "__main__":
    main()
