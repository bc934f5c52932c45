"""Measure shares and Bradley-Terry strengths with bootstrap intervals against a loop of fits, in one run.

The tournament has the size of that of Zubiaga et al. (2024): 9 systems on 2,278 items, all pairs, 82,008 invented
verdicts.

- fcconan: rows are read and checked, and shares and strengths of 1,000 resamples of items are fitted at once.
- evalica loop: for each resample, `evalica.bradley_terry` counts and fits the rows. It runs on a part of the resamples,
  and its time is scaled. Reading and checking the rows counts once.
- Counts loop: for each resample, the wins of its items are added and fitted with the solver of this package; its time
  is scaled in the same way. Its prior, which evalica lacks, is negligible for so many verdicts.

The cases alternate, and the best of the repeats counts. The aim is at most a tenth of the time of the loop; a missed
aim is not an error. The benchmark stops if strengths differ. It needs evalica.

Run it with `python benchmarks/speed/tournament.py [--json FILE] [--repeats N] [--resamples N] [--looped N]`.
"""

import argparse
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import ratios
from ratios import machine, write_json

from fcconan import Bootstrap, rank
from fcconan.scoring.bradley_terry import strengths

SYSTEMS, ITEMS = 9, 2_278
AIM = 0.1
LARGEST_DIFFERENCE = 1e-4  # evalica stops when its scores change by less than 1e-6

Row = dict[str, Any]


def invented_rows(seed: int = 0) -> list[Row]:
    """Return verdicts of a judge that prefers some systems, with ties and a few invalid ones."""
    generator = np.random.default_rng(seed)
    truth = np.linspace(1.5, -1.5, SYSTEMS)
    rows = []
    for item in range(ITEMS):
        for a, b in combinations(range(SYSTEMS), 2):
            draw, win = generator.random(2)
            verdict = "a" if win < 1 / (1 + np.exp(truth[b] - truth[a])) else "b"
            verdict = "tie" if draw < 0.03 else "invalid" if draw < 0.0303 else verdict
            names = {"item_id": f"item-{item}", "system_a": f"system-{a}", "system_b": f"system-{b}"}
            rows.append(names | {"verdict": verdict, "rater": "judge"})
    return rows


def readable(rows: list[Row]) -> pd.DataFrame:
    """Return the valid verdicts, with the position of each item."""
    table = pd.DataFrame(rows)
    return table.assign(item=pd.factorize(table["item_id"])[0]).query("verdict != 'invalid'").reset_index(drop=True)


def evalica_loop(verdicts: pd.DataFrame, drawn: Any) -> list[list[float]]:
    """Return strengths of resampled items, fitted by evalica to their rows."""
    import evalica

    names = {"a": evalica.Winner.X, "b": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    first, second = (verdicts[side].to_numpy() for side in ("system_a", "system_b"))
    ends = np.searchsorted(verdicts["item"], np.arange(ITEMS + 1))
    winners = [*verdicts["verdict"].map(names)]
    found = []
    for resample in drawn:
        rows = np.concatenate([np.arange(ends[place], ends[place + 1]) for place in resample])
        result = evalica.bradley_terry(
            first[rows].tolist(),
            second[rows].tolist(),
            [winners[row] for row in rows.tolist()],
            limit=1_000,
        )
        scores = np.log(result.scores.sort_index().to_numpy())
        found.append((scores - scores.mean()).tolist())
    return found


def counts_loop(verdicts: pd.DataFrame, drawn: Any) -> list[list[float]]:
    """Return strengths of resampled items, fitted one after the other by the solver of this package."""
    per_item = np.zeros((ITEMS, SYSTEMS, SYSTEMS))
    a, b = (verdicts[side].str[-1].astype(int) for side in ("system_a", "system_b"))
    won = verdicts["verdict"].map({"a": 1.0, "b": 0.0, "tie": 0.5})
    per_item[verdicts["item"], a, b], per_item[verdicts["item"], b, a] = won, 1 - won
    return [strengths(per_item[resample].sum(axis=0)).tolist() for resample in drawn]


def measure(repeats: int, resamples: int, looped: int) -> dict[str, Any]:
    """Measure the cases in turn.

    Raises:
        RuntimeError: The strengths differ.
    """
    rows = invented_rows()
    verdicts = readable(rows)
    drawn = np.random.default_rng(0).integers(ITEMS, size=(looped, ITEMS))
    seconds: dict[str, list[float]] = {"fcconan": [], "evalica loop": [], "counts loop": []}
    for _ in range(repeats):
        start = time.perf_counter()
        rank(rows, bootstrap=Bootstrap(resamples=resamples))
        seconds["fcconan"].append(time.perf_counter() - start)
        start = time.perf_counter()
        readable(rows)
        reading = time.perf_counter() - start
        start = time.perf_counter()
        by_evalica = np.array(evalica_loop(verdicts, drawn))
        seconds["evalica loop"].append(reading + (time.perf_counter() - start) * resamples / looped)
        start = time.perf_counter()
        by_counts = np.array(counts_loop(verdicts, drawn))
        seconds["counts loop"].append(reading + (time.perf_counter() - start) * resamples / looped)
        print({case: round(times[-1], 2) for case, times in seconds.items()}, file=sys.stderr)
    difference = float(np.abs(by_evalica - by_counts).max())
    if difference > LARGEST_DIFFERENCE:
        raise RuntimeError(f"strengths differ by {difference}; expected at most {LARGEST_DIFFERENCE}")
    best = {case: min(times) for case, times in seconds.items()}
    return {
        "rows": len(rows),
        "resamples": resamples,
        "looped": looped,
        "seconds": best,
        "ratios": {
            "time, fcconan / a refit by evalica for each resample": (
                best["fcconan"] / best["evalica loop"],
                f"at most {AIM}",
            ),
            "time, fcconan / a refit by fcconan for each resample": (best["fcconan"] / best["counts loop"], ""),
        },
        "largest_difference": difference,
        "machine": machine("numpy", "evalica"),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write all measurements to this file")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each case; the best time counts")
    parser.add_argument("--resamples", type=int, default=1_000, help="resamples of items")
    parser.add_argument("--looped", type=int, default=20, help="resamples in the loops")
    options = parser.parse_args()
    found = measure(options.repeats, options.resamples, options.looped)
    print(f"{found['rows']} verdicts, {found['resamples']} resamples (loops: {found['looped']}, scaled)")
    for case, seconds in found["seconds"].items():
        print(f"{case:14} {seconds:9.2f} s")
    print(f"largest difference of strengths: {found['largest_difference']:.1e}")
    print("", *ratios.lines(found), sep="\n")
    write_json(found, options.json)


if __name__ == "__main__":
    main()
