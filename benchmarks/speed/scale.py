"""Measure `metrics` with one worker and with two.

The invented replies are those of two systems; the metrics are all that need no model. Time includes reading, writing,
and the start of the workers, which are processes. CPU time covers the whole life of the workers; it depends less on
other load. Memory is the highest peak of a worker, compared with that for fewer replies.

Every case has its own process. Low throughput and high memory are not errors; the benchmark stops if the files are not
equal, byte for byte, to those of one worker.

Run it with `python benchmarks/speed/scale.py [--json FILE] [--times N] [--repeats N]`.
"""

import argparse
import hashlib
import json
import multiprocessing
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import ratios
from ratios import machine, write_json

WORDS = [
    f"{first}{last}" for first in "ba ce di fo gu ka le mi no ru".split() for last in "bar len mit sor tun".split()
]
# Number of workers, and whether the input is the large one.
CASES = {
    "1 process": (1, True),
    "2 processes": (2, True),
    "2 processes, fewer replies": (2, False),
}


def peak(process: int | None = None) -> int:
    """Return the peak memory of a process in bytes; None for this process."""
    status = Path(f"/proc/{process or 'self'}/status")
    if status.exists():  # getrusage includes the peak of the parent process
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def texts(side: str, count: int, words: int) -> list[str]:
    """Return pseudo-random texts."""
    draw = random.Random(side)
    return [" ".join(draw.choices(WORDS, k=words)) + f" {at}" for at in range(count)]


def run_case(case: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run one case in this process and return its measurements."""
    from fcconan import metrics

    workers, more = CASES[case]
    replies, out = folder / "replies.jsonl", folder / "ratings.csv"
    count = options.replies * (options.times if more else 1)
    hs, texts_of, references = (texts(side, count, 25) for side in ("hs", "reply", "reference"))
    with replies.open("w", encoding="utf-8") as file:
        for at in range(count):
            row = {
                "reply_id": f"r{at}",
                "item_id": f"i{at // 2}",
                "system": "AB"[at % 2],
                "hate_speech": hs[at // 2],
                "text": texts_of[at],
            }
            file.write(json.dumps({**row, "references": [references[at // 2]]}) + "\n")
    peaks = {0: 0}
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.1):
            for child in multiprocessing.active_children():
                with suppress(OSError, StopIteration):
                    peaks[child.pid or 0] = peak(child.pid)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.perf_counter()
    metrics(replies, jobs=workers).write(out)
    seconds = time.perf_counter() - begin
    ended.set()
    watcher.join()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "replies": count,
        "seconds": seconds,
        "replies_per_second": count / seconds,
        "processor_seconds": sum(each.ru_utime + each.ru_stime for each in used),
        "peak_mb": (max(peaks.values()) or peak()) / 1e6,
        "file_mb": out.stat().st_size / 1e6,
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
    }


def run_in_process(case: str, given: Sequence[str]) -> dict[str, Any]:
    """Run one case in a new process and return its measurements."""
    with tempfile.TemporaryDirectory(prefix="fcconan-speed-") as folder:
        command = [sys.executable, __file__, *given, "--case", case, "--folder", folder]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    measured: dict[str, Any] = json.loads(answer)
    print(f"{case}: {measured['seconds']:.1f} s, {measured['peak_mb']:.0f} MB a worker", file=sys.stderr)
    return measured


def measure(given: Sequence[str], repeats: int) -> dict[str, Any]:
    """Run every case and return the run of median time of each case, and the ratios."""
    every: dict[str, list[dict[str, Any]]] = {case: [] for case in CASES}
    for _ in range(repeats):
        # Alternating cases spread the load of other processes evenly.
        for case in CASES:
            every[case].append(run_in_process(case, given))
    runs = {case: sorted(found, key=lambda run: float(run["seconds"]))[repeats // 2] for case, found in every.items()}
    one, two, fewer = (runs[case] for case in CASES)
    if one["sha256"] != two["sha256"]:
        sys.exit("the files of one and of two processes differ")
    return {
        "machine": machine("numpy", "pyarrow", "scipy"),
        "runs": runs,
        "seconds_of_all": {case: [run["seconds"] for run in found] for case, found in every.items()},
        "ratios": {
            "throughput, metrics, 2 processes / 1": (
                two["replies_per_second"] / one["replies_per_second"],
                "at least 1.5",
            ),
            f"memory of a worker, metrics, {two['replies'] / fewer['replies']:.1f} times the replies / once": (
                two["peak_mb"] / fewer["peak_mb"],
                "about 1",
            ),
        },
    }


def table(result: dict[str, Any]) -> str:
    """Return the measurements as text."""
    lines = [
        f"{'':28} {'replies':>9} {'seconds':>8} {'replies/s':>10} {'CPU s':>7} {'MB a worker':>12} {'files MB':>9}"
    ]
    lines += [
        f"{case:28} {run['replies']:9,} {run['seconds']:8.1f} {run['replies_per_second']:10,.0f}"
        f" {run['processor_seconds']:7.1f} {run['peak_mb']:12.0f} {run['file_mb']:9.1f}"
        for case, run in result["runs"].items()
    ]
    return "\n".join([*lines, "", *ratios.lines(result)])


def main() -> None:
    """Measure and print, or run one case for the parent process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all measurements to this file")
    parser.add_argument("--times", type=int, default=8, help="factor for the number of replies (default: %(default)s)")
    parser.add_argument("--replies", type=int, default=5_000, help="number of replies (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case (default: %(default)s)")
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_case(options.case, options, options.folder)))
        return
    result = measure([f"--{name}={getattr(options, name)}" for name in ("times", "replies")], options.repeats)
    print(table(result))
    write_json(result, options.json)


if __name__ == "__main__":
    main()
