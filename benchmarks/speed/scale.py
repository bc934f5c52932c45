"""Measure `annotate score`, which scores every pair of HS and CN, and `metrics`, with one worker and with two.

The cross product has several times as many pairs as that of MT-CONAN, 3,718 HS by 4,997 CNs. The texts are invented
(TF-IDF), or the vectors of 384 dimensions are (dense). MT-CONAN's cross product takes one worker four seconds of CPU
time, and each further worker takes one second for imports.

Workers are processes, or workers of a local Dask cluster; one case kills a worker of the cluster after the third shard.
Time is measured from the prepared texts to the finished files. It includes the start of the workers, but not that of
the cluster. CPU time covers the whole life of the workers; it depends less on other load. Memory is the highest peak of
a worker that wrote shards, compared with that for MT-CONAN's cross product. `metrics` has invented replies of two
systems and all metrics that need no model; its time includes reading and writing.

Every case has its own process. Low throughput and high memory are not errors; the benchmark stops if shards are not
equal, byte for byte, to those of one worker.

Run it with `python benchmarks/speed/scale.py [--json FILE] [--scorer tfidf|dense] [--times N] [--repeats N]`.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import ratios
from ratios import machine, write_json

if TYPE_CHECKING:
    from fcconan.annotation.pair_scoring.scorers import Scorer
    from fcconan.parallel.shards import Shard, ShardWriter

HS_COUNT, CN_COUNT = 3_718, 4_997
DIMENSIONS = 384
KILLED_AFTER = 3  # shards
WORDS = [
    f"{first}{last}" for first in "ba ce di fo gu ka le mi no ru".split() for last in "bar len mit sor tun".split()
]
# Kind of workers, number of workers, whether the input is the large one, and whether a worker is killed.
CASES = {
    "1 process": ("local", 1, True, False),
    "2 processes": ("local", 2, True, False),
    "2 processes, fewer HS": ("local", 2, False, False),
    "Dask, 1 worker": ("dask", 1, True, False),
    "Dask, 2 workers": ("dask", 2, True, False),
    "Dask, 2 workers, one killed": ("dask", 2, True, True),
    "metrics, 1 process": ("metrics", 1, True, False),
    "metrics, 2 processes": ("metrics", 2, True, False),
    "metrics, 2 processes, fewer replies": ("metrics", 2, False, False),
}


class PseudoRandomEncoder:
    """Encodes texts as pseudo-random unit vectors, with the hash of the text as the seed."""

    name = "made-up"

    def __init__(self) -> None:
        self.configuration = {"dimensions": DIMENSIONS}

    def encode(self, texts: Sequence[str], *, role: str) -> npt.NDArray[np.float32]:
        """Return one vector for each text."""
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
        drawn = np.array([np.random.default_rng(seed).normal(size=DIMENSIONS) for seed in seeds])
        vectors: npt.NDArray[np.float32] = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
        return vectors


@dataclass(frozen=True)
class Measured:
    """A shard writer that stores peak memory and CPU time of its worker after every shard."""

    work: "ShardWriter"

    @property
    def folder(self) -> Path:
        """Return the folder of the shards."""
        return self.work.folder

    @property
    def inputs(self) -> Mapping[str, Any]:
        """Return the inputs that determine the shards."""
        return self.work.inputs

    def write(self, shard: "Shard", path: Path) -> None:
        """Write the shard, and store peak memory and CPU time."""
        self.work.write(shard, path)
        (self.folder.parent / f"used-{os.getpid()}").write_text(f"{peak()} {time.process_time()}")


def peak(process: int | None = None) -> int:
    """Return the peak memory of a process in bytes; None for this process."""
    status = Path(f"/proc/{process or 'self'}/status")
    if status.exists():  # getrusage includes the peak of the parent process
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def texts(side: str, count: int, words: int) -> dict[str, str]:
    """Return pseudo-random texts by id."""
    draw = random.Random(side)
    return {f"{side}-{at:012x}": " ".join(draw.choices(WORDS, k=words)) + f" {at}" for at in range(count)}


def run_case(case: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run one case in this process and return its measurements."""
    from fcconan.annotation.pair_scoring.scorers import TfIdfScorer, VectorScorer
    from fcconan.annotation.pair_scoring.scores import plan_scoring, scoring_summary
    from fcconan.parallel import open_workers, run_shards

    kind, workers, more, kill = CASES[case]
    scorer: Scorer = TfIdfScorer() if options.scorer == "tfidf" else VectorScorer(PseudoRandomEncoder())
    hs = texts("hs", options.hs * (options.times if more else 1), 15)
    work, parts = plan_scoring(hs, texts("cn", options.cns, 25), scorer, folder / "scores", rows_per_shard=options.rows)
    measured = Measured(work)
    with ExitStack() as stack:
        place: dict[str, Any] = {"jobs": workers}
        progress = None
        if kind == "dask":
            import distributed

            started: Any = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    dashboard_address="127.0.0.1:0",
                    local_directory=str(folder),
                )
            )
            place = {"scheduler": started.scheduler_address}
            progress = make_killer(started, parts) if kill else None
        begin = time.perf_counter()
        with open_workers(**place) as opened:
            run_shards(measured, parts, opened, progress=progress)
        seconds = time.perf_counter() - begin
    found = scoring_summary(work, parts)
    together = hashlib.sha256()
    for part in parts:
        together.update((work.folder / part.name).read_bytes())
    used = [path.read_text().split() for path in folder.glob("used-*")]
    return {
        "pairs": found["rows"],
        "shards": found["finished"],
        "seconds": seconds,
        "pairs_per_second": found["rows"] / seconds,
        "processor_seconds": sum(float(each) for _, each in used),
        "peak_mb": max(int(each) for each, _ in used) / 1e6,
        "workers_that_wrote": len(used),
        "file_mb": sum((work.folder / part.name).stat().st_size for part in parts) / 1e6,
        "sha256": together.hexdigest(),
    }


def run_metrics(case: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run `metrics` in this process and return its measurements."""
    from fcconan.services import MetricsOptions, metrics

    _, workers, more, _ = CASES[case]
    replies, out = folder / "replies.jsonl", folder / "ratings.csv"
    count = options.replies * (options.times if more else 1)
    hs, texts_of, references = (list(texts(side, count, 25).values()) for side in ("hs", "reply", "reference"))
    with replies.open("w", encoding="utf-8") as file:
        for at in range(count):
            row = {"item_id": f"i{at // 2}", "system": "AB"[at % 2], "hate_speech": hs[at // 2], "text": texts_of[at]}
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
    metrics(replies, MetricsOptions(jobs=workers), out=out)
    seconds = time.perf_counter() - begin
    ended.set()
    watcher.join()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "pairs": count,
        "shards": 1,
        "seconds": seconds,
        "pairs_per_second": count / seconds,
        "processor_seconds": sum(each.ru_utime + each.ru_stime for each in used),
        "peak_mb": (max(peaks.values()) or peak()) / 1e6,
        "workers_that_wrote": workers,
        "file_mb": out.stat().st_size / 1e6,
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
    }


def make_killer(started: Any, parts: Sequence["Shard"]) -> Callable[[int, int], None]:
    """Return a progress callback that kills a worker of a cluster after the third shard."""
    first = next(iter(started.workers.values())).pid
    limit = sum(part.size for part in parts[: min(KILLED_AFTER, len(parts))])
    killed: list[int] = []

    def look(done: int, total: int) -> None:
        if done >= limit and not killed:
            killed.append(first)
            os.kill(first, signal.SIGKILL)
            print(f"killed worker {first} after {done:,} of {total:,} HS", file=sys.stderr)

    return look


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
    digests = {case: run["sha256"] for case, run in runs.items() if CASES[case][2]}
    for is_metrics in (False, True):
        if len({digest for case, digest in digests.items() if (CASES[case][0] == "metrics") == is_metrics}) > 1:
            sys.exit(f"the files differ: {digests}")
    one, two, fewer = (runs[case] for case in ("1 process", "2 processes", "2 processes, fewer HS"))
    single, double, short = (runs[case] for case in CASES if CASES[case][0] == "metrics")
    dask = [runs[case]["pairs_per_second"] for case in ("Dask, 1 worker", "Dask, 2 workers")]
    return {
        "machine": machine("numpy", "pyarrow", "scipy", "distributed"),
        "runs": runs,
        "seconds_of_all": {case: [run["seconds"] for run in found] for case, found in every.items()},
        "ratios": {
            "throughput, 2 processes / 1": (two["pairs_per_second"] / one["pairs_per_second"], "at least 1.6"),
            "throughput, Dask, 2 workers / 1": (dask[1] / dask[0], "at least 1.6"),
            "throughput, Dask / processes, 2 workers": (dask[1] / two["pairs_per_second"], ""),
            f"memory of a worker, {two['pairs'] / fewer['pairs']:.1f} times the pairs / once": (
                two["peak_mb"] / fewer["peak_mb"],
                "about 1",
            ),
            "throughput, metrics, 2 processes / 1": (
                double["pairs_per_second"] / single["pairs_per_second"],
                "at least 1.6",
            ),
            f"memory of a worker, metrics, {double['pairs'] / short['pairs']:.1f} times the replies / once": (
                double["peak_mb"] / short["peak_mb"],
                "about 1",
            ),
        },
    }


def table(result: dict[str, Any]) -> str:
    """Return the measurements as text."""
    lines = [f"{'':35} {'pairs':>12} {'seconds':>8} {'pairs/s':>11} {'CPU s':>7} {'MB a worker':>12} {'files MB':>9}"]
    lines += [
        f"{case:35} {run['pairs']:12,} {run['seconds']:8.1f} {run['pairs_per_second']:11,.0f}"
        f" {run['processor_seconds']:7.1f} {run['peak_mb']:12.0f} {run['file_mb']:9.1f}"
        for case, run in result["runs"].items()
    ]
    return "\n".join([*lines, "", *ratios.lines(result)])


def main() -> None:
    """Measure and print, or run one case for the parent process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all measurements to this file")
    parser.add_argument("--scorer", choices=["tfidf", "dense"], default="tfidf")
    parser.add_argument("--times", type=int, default=4, help="factor for the number of HS (default: %(default)s)")
    parser.add_argument("--hs", type=int, default=HS_COUNT, help="number of HS (default: %(default)s)")
    parser.add_argument("--cns", type=int, default=CN_COUNT, help="number of CNs (default: %(default)s)")
    parser.add_argument("--replies", type=int, default=5_000, help="replies for `metrics` (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of a shard (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case (default: %(default)s)")
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        run = run_metrics if CASES[options.case][0] == "metrics" else run_case
        print(json.dumps(run(options.case, options, options.folder)))
        return
    given = [f"--{name}={getattr(options, name)}" for name in ("scorer", "times", "hs", "cns", "replies", "rows")]
    result = measure(given, options.repeats)
    print(table(result))
    write_json(result, options.json)


if __name__ == "__main__":
    main()
