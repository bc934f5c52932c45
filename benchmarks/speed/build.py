"""Measure exhaustive pairing, the most expensive step of building: time, peak memory and file size.

The pairs are as many as those of MT-CONAN, 3,718 HS by 4,997 CNs, with invented ids. Polars writes the same three
columns in two ways, both with default settings. The baseline is a cross join of data frames with `write_parquet`; the
second one streams the same query with `sink_parquet`. Every run has its own process. Time is measured from the ids in
memory to the finished files, and peak memory is that of the process.

The aims, on one machine:

- at most 1.5 times the time of the baseline,
- at most a third of its memory,
- constant memory for ten times the pairs.

A missed aim is not an error; the table shows the measured values.

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

Measurements = dict[str, float]


def write_with_fcconan(hs_ids: list[str], cn_ids: list[str], folder: Path) -> Callable[[], None]:
    """Return a function that writes the pairs with fcconan."""
    from fcconan.building.cross_product import write_exhaustive_pairs

    def write() -> None:
        write_exhaustive_pairs(hs_ids, cn_ids, folder)

    return write


def write_with_polars(hs_ids: list[str], cn_ids: list[str], folder: Path) -> Callable[[], None]:
    """Return a function that writes the pairs with polars, in memory."""
    import polars

    def write() -> None:
        hs = polars.DataFrame({"hs_id": hs_ids})
        cn = polars.DataFrame({"cn_id": cn_ids})
        pair_id = polars.concat_str("hs_id", "cn_id", separator=":").alias("pair_id")
        hs.join(cn, how="cross").select(pair_id, "hs_id", "cn_id").write_parquet(folder / "pairs.parquet")

    return write


def stream_with_polars(hs_ids: list[str], cn_ids: list[str], folder: Path) -> Callable[[], None]:
    """Return a function that writes the pairs with polars, streamed."""
    import polars

    def write() -> None:
        hs = polars.LazyFrame({"hs_id": hs_ids})
        cn = polars.LazyFrame({"cn_id": cn_ids})
        pair_id = polars.concat_str("hs_id", "cn_id", separator=":").alias("pair_id")
        hs.join(cn, how="cross").select(pair_id, "hs_id", "cn_id").sink_parquet(folder / "pairs.parquet")

    return write


CASES = {
    "fcconan": (write_with_fcconan, HS_COUNT),
    "polars": (write_with_polars, HS_COUNT),
    "polars, streamed": (stream_with_polars, HS_COUNT),
    "fcconan, 10x": (write_with_fcconan, 10 * HS_COUNT),
}


def invented_ids(prefix: str, count: int) -> list[str]:
    """Return distinct ids of 12 pseudo-random hexadecimal digits."""
    return [f"{prefix}-{number:012x}" for number in random.Random(prefix).sample(range(16**12), count)]


def run_case(case: str, folder: Path) -> Measurements:
    """Run one case in this process and return its measurements."""
    prepare, hs_count = CASES[case]
    write = prepare(invented_ids("hs", hs_count), invented_ids("cn", CN_COUNT), folder)
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


def run_in_process(case: str) -> Measurements:
    """Run one case in a new process and return its measurements."""
    with tempfile.TemporaryDirectory(prefix="fcconan-speed-") as folder:
        command = [sys.executable, __file__, "--case", case, "--folder", folder]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    measured: Measurements = json.loads(answer)
    print(f"{case}: {measured['seconds']:.2f} s, {measured['peak_bytes'] / 1e6:.0f} MB", file=sys.stderr)
    return measured


def medians(runs: list[Measurements]) -> Measurements:
    """Return the median of each measurement."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def measure(repeats: int) -> dict[str, Any]:
    """Run every case and return the measurements and ratios.

    Args:
        repeats: Number of runs of each case. The tenfold case runs once, since only its memory is compared.
    """
    runs: dict[str, list[Measurements]] = {case: [] for case in CASES}
    for _ in range(repeats):
        # Alternating cases spread the load of other processes evenly.
        for case in ("fcconan", "polars", "polars, streamed"):
            runs[case].append(run_in_process(case))
    runs["fcconan, 10x"].append(run_in_process("fcconan, 10x"))
    middle = {case: medians(measured) for case, measured in runs.items()}

    def ratio(name: str, case: str, other: str) -> float:
        return middle[case][name] / middle[other][name]

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
    """Return the measurements as text."""
    lines = [f"{'median of':20} {'pairs':>12} {'seconds':>8} {'peak MB':>8} {'files MB':>9} {'runs':>5}"]
    for case, measured in result["medians"].items():
        peak, size = measured["peak_bytes"] / 1e6, measured["file_bytes"] / 1e6
        lines.append(
            f"{case:20} {measured['pairs']:12,.0f} {measured['seconds']:8.2f} {peak:8.0f} {size:9.1f}"
            f" {len(result['runs'][case]):5}"
        )
    return "\n".join([*lines, "", *ratios.lines(result)])


def main() -> None:
    """Measure and print, or run one case for the parent process."""
    parser = argparse.ArgumentParser(description="Measure exhaustive pairing against polars.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all measurements to this file")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case (default: %(default)s)")
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(options.case, options.folder)))
        return
    result = measure(options.repeats)
    print(table(result))
    write_json(result, options.json)


if __name__ == "__main__":
    main()
