"""Simulate the tests of `bench`: family-wise error and power of the step-down max-T correction.

A world is a simulated dataset of the size of FC-CONAN: 45 HS, a catalogue of 100 CNs, and eight systems. The score of a
system is the sum of noise that all systems share and of its own noise. A truly better system adds a constant to the
scores of positives. Equal systems are exchangeable for every HS. The tests are those of `bench`: all pairs on NDCG@10.
An error is a pair of equal systems with an adjusted p of at most .05.

- `--better 0`: all systems are equal; every rejection is an error.
- `--better 4`: four systems are truly better; pairs within the four, and within the others, are true nulls.

Limits are binomial 95% limits around .05 for the number of worlds. Run it with `python benchmarks/family_wise_error.py
[--worlds N] [--resamples N] [--better N]`. 1,000 worlds take less than a minute.
"""

import argparse
from itertools import combinations

import numpy as np
from scipy import stats

from fcconan import Bootstrap
from fcconan.scoring import Floats, evaluate, sign_flips

SYSTEMS, HS, CATALOGUE = 8, 45, 100
PAIRS = np.array([*combinations(range(SYSTEMS), 2)])
LEVEL = 0.05
SHARED = 0.6  # share of the variance of scores that all systems share
SIGNAL = 0.3  # added to the scores of positives by every system, in standard deviations
GAIN = 0.3  # added by better systems, too


def world(generator: np.random.Generator, better: int) -> Floats:
    """Return the NDCG@10 of simulated systems, of which the first ones are truly better; shape (systems, HS)."""
    positive = (generator.random((HS, CATALOGUE)) < generator.beta(1.2, 9.0, size=(HS, 1))).astype(np.float64)
    scores = np.sqrt(SHARED) * generator.standard_normal((HS, CATALOGUE))
    scores = scores + np.sqrt(1 - SHARED) * generator.standard_normal((SYSTEMS, HS, CATALOGUE))
    signal = np.where(np.arange(SYSTEMS) < better, SIGNAL + GAIN, SIGNAL)
    orders, none = np.argsort(-(scores + signal[:, None, None] * positive)), np.zeros(HS, dtype=bool)
    return np.stack([evaluate(order, positive, ["ndcg@10"], none)["ndcg@10"] for order in orders])


def simulate(worlds: int, resamples: int, better: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Test all pairs of systems in every world; the signs of world i have the seed i.

    Returns:
        For unadjusted and adjusted p, the share of worlds with an error, and the share of false nulls rejected.
    """
    generator = np.random.default_rng(seed)
    differs = (better > PAIRS).sum(axis=1) == 1
    counts = np.zeros((2, 2))
    for one in range(worlds):
        values = world(generator, better)
        found = sign_flips(values[PAIRS[:, 0]] - values[PAIRS[:, 1]], Bootstrap(resamples=resamples, seed=one))
        rejected = found <= LEVEL
        counts += np.stack(
            [rejected[:, ~differs].any(axis=1), rejected[:, differs].sum(axis=1) / max(1, differs.sum())]
        )
    return dict(zip(("unadjusted", "adjusted"), (counts.T / worlds).tolist(), strict=True))


def limits(worlds: int) -> tuple[float, float]:
    """Return the binomial 95% limits of the share of worlds with an error, if its probability is .05."""
    low, high = stats.binom.interval(0.95, worlds, LEVEL)
    return float(low) / worlds, float(high) / worlds


def main() -> None:
    """Simulate and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1_000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--better", type=int, default=0, help="number of truly better systems (default: 0)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    low, high = limits(given.worlds)
    print(f"{given.worlds} worlds, {given.better} of {SYSTEMS} systems better; limits of .05: {low:.3f} to {high:.3f}")
    for name, (error, power) in simulate(given.worlds, given.resamples, given.better, given.seed).items():
        print(f"{name:12} error {error:.3f}", f"power {power:.3f}" * (given.better > 0))


if __name__ == "__main__":
    main()
