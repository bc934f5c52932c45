"""Measure the coverage of prediction-powered estimates in simulated worlds.

A world is a sample of items from a population with a known mean. Two systems answer each item. Grades
are integers from 1 to 5; the two replies to an item are correlated. Annotators rate n of each system's 5 n replies: to
the same items (paired) or to different ones. The judge is good (correlation about .85), useless, adversarial (about
-.85) or biased. The biased judge's grades are too high, most of them 5, and higher still for one system. The
coverage of two intervals is measured: of a mean, and of the difference of the two systems. Limits are binomial 95 %
limits around .95 for the number of worlds; one rate in twenty is outside of them by chance.

Run it with `python benchmarks/few_labels.py [--worlds N]`; `--json FILE` writes rows. 1,000 worlds take
about five minutes on one core. `raters.py` measures savings on CSEval.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from fcconan.scoring.powered import Sample, estimate, summarise

Floats = npt.NDArray[np.float64]
Rows = list[dict[str, Any]]
REPLIES_PER_RATED = 5
LEVEL = 0.95  # confidence
SIZES = (50, 100, 200, 500)
JUDGES = {"good": (1.0, 0.55), "useless": (0.0, 1.0), "adversarial": (-1.0, 0.55), "biased": (1.0, 0.55)}


def simulated(generator: np.random.Generator, n: int, judge: str, *, paired: bool) -> list[Sample]:
    """Simulate a world.

    Args:
        generator: Source of randomness.
        n: Number of rated replies of each system.
        judge: Name in `JUDGES`.
        paired: Whether the rated replies of both systems are to the same items.

    Returns:
        The ratings of the two systems.
    """
    n_items, (slope, noise) = REPLIES_PER_RATED * n, JUDGES[judge]
    shared, found = generator.normal(size=n_items), []
    order = generator.permutation(n_items)
    for system in range(2):
        latent = 0.6 * shared + 0.8 * generator.normal(size=n_items)
        grades = np.clip(np.round(3 + 1.2 * latent), 1, 5)  # symmetric around 3
        judged = slope * latent + noise * generator.normal(size=n_items)
        if judge == "biased":
            judged = np.clip(np.round(4.2 + 0.4 * system + judged), 1, 5)
        rated = np.isin(np.arange(n_items), order[:n] if paired else generator.permutation(n_items)[:n])
        sample = summarise(np.where(rated, grades, np.nan), judged, np.arange(n_items), n_items, np.ones(n_items))
        assert sample is not None
        found.append(sample)
    return found


def coverage(worlds: int, seed: int) -> Rows:
    """Measure the coverage of intervals by judge, number of ratings and estimand."""
    rows: Rows = []
    low, high = (float(end) / worlds for end in binom.interval(0.95, worlds, 0.95))
    for number, judge in enumerate(JUDGES):
        for n in SIZES:
            estimates: dict[tuple[str, float], Rows] = {
                ("mean", 3.0): [], ("difference, paired", 0.0): [], ("difference, unpaired", 0.0): []
            }  # fmt: skip
            for world in range(worlds):
                for paired in (True, False):
                    generator = np.random.default_rng([seed, number, n, world, paired])
                    first, second = simulated(generator, n, judge, paired=paired)
                    if paired:
                        estimates["mean", 3.0].append(estimate(first, LEVEL))
                    kind = "paired" if paired else "unpaired"
                    estimates[f"difference, {kind}", 0.0].append(estimate(first.minus(second), LEVEL))
            for (what, truth), found in estimates.items():
                ratios = [_width_ratio(each) for each in found]
                hits = [each["low"] <= truth <= each["high"] for each in found]  # nan is none
                alone = [each["people_low"] <= truth <= each["people_high"] for each in found]
                rows.append(
                    {
                        "judge": judge,
                        "n": n,
                        "what": what,
                        "coverage": float(np.mean(hits)),
                        "people": float(np.mean(alone)),
                        "inside": low <= float(np.mean(hits)) <= high,
                        "width": float(np.nanmean(ratios)),
                    }
                )
                print(_line(rows[-1]), flush=True)
    inside = sum(row["inside"] for row in rows)
    print(f"{inside} of {len(rows)} rates within [{low:.3f}, {high:.3f}]")
    return rows


def _width_ratio(found: dict[str, Any]) -> float:
    return float((found["high"] - found["low"]) / (found["people_high"] - found["people_low"]))


def _line(row: dict[str, Any]) -> str:
    return "  ".join(f"{value:.3f}" if isinstance(value, float) else f"{value!s:<20}" for value in row.values())


def main() -> None:
    """Print the rates, and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = coverage(given.worlds, given.seed)
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
