"""Simulate the tests of `bench`: family-wise error of the step-down max-T correction, and its power against Holm's.

A world is a simulated dataset of the size of FC-CONAN: 45 HS, a catalogue of 100 CNs, four nested tiers of positives
(the smaller ones cover fewer HS), and eight systems. The score of a system is the sum of noise that all systems share
and of its own noise. A truly better system adds a constant to the scores of positives. Equal systems are exchangeable
for every HS. The eight default metrics of `bench` are computed from the first ten CNs, so that the tests have realistic
dependence and discrete, skewed values. An error is a pair of equal systems with p_corrected <= .05. Families are those
of `bench`: all pairs on NDCG@10 and Silver, and all other metrics and tiers.

- `--better 0`: all systems are equal; every rejection is an error.
- `--better 4`: four systems are truly better; pairs within the four, and within the others, are true nulls.

Holm's rates use the same worlds, uncorrected p values and families; `Holm, all tests` has one family of all tests.
Limits are binomial 95% limits around .05 for the number of worlds.

Run it with `python benchmarks/family_wise_error.py [--worlds N] [--resamples N] [--better N] [--json FILE]`. 1,000
worlds take about two minutes on one core.
"""

import argparse
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.scoring.significance.families import sign_flip_tests

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SYSTEMS, HS, CATALOGUE, K = 8, 45, 100, 10
TIERS = ("diamond", "gold", "silver", "bronze")
RETAINED = (0.65, 0.125, 0.85)  # share of the positives of the next broader tier: diamond, gold, silver
METRICS = ("hit_rate@10", "mrr@10", "ndcg@10", "map@10", "precision@10", "recall@10", "f1@10", "accuracy@10")
PRIMARY = TIERS.index("silver") * len(METRICS) + METRICS.index("ndcg@10")
PAIRS = list(combinations(range(SYSTEMS), 2))
LEVEL = 0.05
SHARED = 0.6  # share of the variance of scores that all systems share
SIGNAL = 0.3  # added to the scores of positives by every system, in standard deviations
GAIN = 0.3  # added by better systems, too


def world(generator: np.random.Generator, better: int) -> tuple[Floats, Bools]:
    """Simulate labels and rankings.

    Args:
        generator: Source of randomness.
        better: Number of truly better systems; they are the first ones.

    Returns:
        Relevance of the first ten CNs, of shape (tiers, systems, HS, 10), and positives, of shape (tiers, HS, CNs).
    """
    rate = generator.beta(1.2, 9.0, size=(HS, 1))
    positive = generator.random((HS, CATALOGUE)) < rate
    tiers = [positive]
    for share in reversed(RETAINED):
        tiers.insert(0, tiers[0] & (generator.random((HS, CATALOGUE)) < share))
    scores = np.sqrt(SHARED) * generator.standard_normal((HS, CATALOGUE))
    scores = scores + np.sqrt(1 - SHARED) * generator.standard_normal((SYSTEMS, HS, CATALOGUE))
    signal = np.where(np.arange(SYSTEMS) < better, SIGNAL + GAIN, SIGNAL)
    scores += signal[:, None, None] * positive
    top = np.argsort(-scores, axis=-1)[..., :K]
    positives = np.stack(tiers)
    return np.take_along_axis(positives[:, None], top[None], axis=-1).astype(np.float64), positives


def metric_values(relevance: Floats, n_positive: Floats) -> Floats:
    """Return the default metrics of `bench` under protocol `sound`; tests compare them with those of `bench`.

    Args:
        relevance: Relevance of the first ten CNs, of shape (tiers, systems, HS, 10).
        n_positive: Number of positives, of shape (tiers, HS).

    Returns:
        Values of shape (tiers, metrics, systems, HS); nan for HS without a positive.
    """
    ranks = np.arange(1, K + 1)
    discounts = 1 / np.log2(ranks + 1)
    total = np.where(n_positive > 0, n_positive, np.nan)[:, None]
    found = relevance.cumsum(axis=-1)
    hits = found[..., -1]
    ideal = np.concatenate([[0.0], discounts.cumsum()])[np.minimum(n_positive, K).astype(int)][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = [
            (hits > 0) + 0.0,
            (relevance * (found == 1) / ranks).max(axis=-1),
            relevance @ discounts / ideal,
            (relevance * found / ranks).sum(axis=-1) / total,
            hits / K,
            hits / total,
            2 * hits / (K + total),  # 2 p r / (p + r) with p = hits / K and r = hits / total
            1 - (K - hits + total - hits) / CATALOGUE,
        ]
    values = np.stack(columns, axis=1)
    values[np.broadcast_to(np.isnan(total)[:, None], values.shape)] = np.nan
    return values


def simulate(worlds: int, resamples: int, better: int, seed: int = 0) -> dict[str, Any]:
    """Test all pairs of systems in every world and count errors and discoveries.

    Args:
        worlds: Number of worlds.
        resamples: Random sign vectors for each world.
        better: Number of truly better systems.
        seed: Seed of the worlds; the signs of world i have the seed i.

    Returns:
        Rates for each family and correction: `fwer` is the share of worlds with an error. If systems differ, `power` is
        the share of rejected false null hypotheses, and `any` the share of worlds with such a rejection.
    """
    generator = np.random.default_rng(seed)
    series = np.repeat(np.arange(len(TIERS) * len(METRICS)), len(PAIRS))
    exploratory = (series != PRIMARY).astype(np.int64)
    differs = np.tile([(a < better) != (b < better) for a, b in PAIRS], len(TIERS) * len(METRICS))
    families = {"primary": exploratory == 0, "exploratory": exploratory == 1}
    counts: dict[str, list[tuple[bool, float, bool]]] = {}
    first, second = (np.array([pair[side] for pair in PAIRS]) for side in (0, 1))
    for one in range(worlds):
        relevance, positives = world(generator, better)
        values = metric_values(relevance, positives.sum(axis=-1).astype(np.float64)).reshape(-1, SYSTEMS, HS)
        differences = (values[:, first] - values[:, second]).reshape(-1, HS)
        tests = sign_flip_tests(differences, families=exploratory, resamples=resamples, seed=one)
        for name, members in families.items():
            for correction, p_values in (("max-T", tests.p_corrected), ("uncorrected", tests.p)):
                rejected = members & (p_values <= LEVEL)
                discovered = rejected[members & differs]
                share = float(discovered.mean()) if len(discovered) else 0.0
                counts.setdefault(f"{name}, {correction}", []).append(
                    (bool((rejected & ~differs).any()), share, bool(discovered.any()))
                )
    found = {}
    for name, rows in counts.items():
        error, share, some = np.array(rows, dtype=np.float64).mean(axis=0)
        found[name] = {"fwer": error} | ({"power": share, "any": some} if better else {})
    return found


def limits(worlds: int) -> tuple[float, float]:
    """Return the binomial 95% limits of the share of worlds with an error, if its probability is .05."""
    from scipy import stats

    low, high = stats.binom.interval(0.95, worlds, LEVEL)
    return float(low) / worlds, float(high) / worlds


def main() -> None:
    """Simulate, print a table and write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1_000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--better", type=int, default=0, help="number of truly better systems (default: 0)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    found = simulate(options.worlds, options.resamples, options.better, options.seed)
    low, high = limits(options.worlds)
    print(
        f"{options.worlds} worlds, {options.better} of {SYSTEMS} systems better; limits of .05: {low:.3f} to {high:.3f}"
    )
    for name, rates in found.items():
        print(f"{name:32}", "  ".join(f"{key} {value:.3f}" for key, value in rates.items()))
    if options.json is not None:
        settings = {key: value for key, value in vars(options).items() if key != "json"}
        result = {**settings, "limits": [low, high], "rates": found}
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
