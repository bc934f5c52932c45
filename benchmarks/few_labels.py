"""Measure prediction-powered estimates: coverage in simulated worlds, and widths on CSEval with a fifth of the labels.

Part `worlds`: a world is a sample of items from a population with a known mean. Two systems answer each item. Grades
are integers from 1 to 5; the two replies to an item are correlated. Annotators rate n of each system's 5 n replies: to
the same items (paired) or to different ones. The judge is good (correlation about .85), useless, adversarial (about
-.85) or biased. The biased judge's grades are too high, most of them 5, and higher still for one system. The
coverage of two intervals is measured: of a mean, and of the difference of the two systems. Limits are binomial 95 %
limits around .95 for the number of worlds; one rate in twenty is outside of them by chance.

Part `weighted`: as `worlds`, but the probability of selection grows sixfold with the judge's value.

Part `cseval`: the first 1,500 test rows. Repeatedly, a random fifth of them counts as rated. There are intervals of the
mean of all replies, of the systems with 10 rated replies or more, and of their differences. They are compared with
intervals from human ratings alone, and with the value from all labels. The estimates are for the population of these
rows, so the intervals cover the value from all labels in more than 95 %. Raters are GPT-4 as released, and the
raters in `--ratings` files with ratings of the same replies.

Run it with `python benchmarks/few_labels.py worlds|weighted [--worlds N]` or
`python benchmarks/few_labels.py cseval FOLDER [--ratings FILE]... [--rater NAME]...`; `--json FILE` writes rows.
1,000 worlds take about five minutes on one core; CSEval takes about one.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from fcconan.scoring.intervals import means
from fcconan.scoring.powered import Sample, estimate, summarise

Floats = npt.NDArray[np.float64]
Rows = list[dict[str, Any]]
REPLIES_PER_RATED = 5
LEVEL = 0.95  # confidence
SIZES = (50, 100, 200, 500)
JUDGES = {"good": (1.0, 0.55), "useless": (0.0, 1.0), "adversarial": (-1.0, 0.55), "biased": (1.0, 0.55)}
TEST, SHARE, DRAWS, FEWEST = 1_500, 0.2, 500, 10
ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")


def simulated(generator: np.random.Generator, n: int, judge: str, *, paired: bool, weighted: bool) -> list[Sample]:
    """Simulate a world.

    Args:
        generator: Source of randomness.
        n: Number of rated replies of each system.
        judge: Name in `JUDGES`.
        paired: Whether the rated replies of both systems are to the same items.
        weighted: Whether probabilities of selection differ; replies are then selected independently.

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
        chances = np.ones(n_items)
        if weighted:
            chances = 0.1 + 0.5 / (1 + np.exp(-2 * (judged - judged.mean()) / judged.std()))
            chances *= n / chances.sum()
            rated = generator.random(n_items) < chances
        else:
            rated = np.isin(np.arange(n_items), order[:n] if paired else generator.permutation(n_items)[:n])
        sample = summarise(np.where(rated, grades, np.nan), judged, np.arange(n_items), n_items, chances)
        assert sample is not None
        found.append(sample)
    return found


def coverage(worlds: int, seed: int, weighted: bool) -> Rows:
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
                    first, second = simulated(generator, n, judge, paired=paired, weighted=weighted)
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
                        "widest": float(np.nanmax(ratios)),
                    }
                )
                print(_line(rows[-1]), flush=True)
    inside = sum(row["inside"] for row in rows)
    print(
        f"{inside} of {len(rows)} rates within [{low:.3f}, {high:.3f}]; widest {max(row['widest'] for row in rows):.3f}"
    )
    return rows


def _width_ratio(found: dict[str, Any]) -> float:
    return float((found["high"] - found["low"]) / (found["people_high"] - found["people_low"]))


def _line(row: dict[str, Any]) -> str:
    return "  ".join(f"{value:.3f}" if isinstance(value, float) else f"{value!s:<20}" for value in row.values())


def released_ratings(
    folder: Path, files: list[Path], names: list[str], n: int
) -> Iterator[tuple[str, str, Floats, Floats, Any]]:
    """Yield the human ratings and the values of a rater for the first test rows.

    Args:
        folder: Folder of the built dataset.
        files: Files with further ratings of its replies.
        names: Raters to read from these files; empty for all.
        n: Number of test rows.

    Yields:
        Rater, aspect, human ratings, the rater's values (nan is missing), and items and systems of the replies.
    """
    from fcconan.data import open_table
    from fcconan.scoring import Ratings

    replies = [row for row, _ in zip(open_table("replies", folder, split="test"), range(n), strict=False)]
    known = {str(row["reply_id"]) for row in replies}
    rows = [dict(row) for row in open_table("ratings", folder, split="test") if str(row["reply_id"]) in known]
    given: Rows = []
    raters = ["gpt-4"]
    for file in files:
        more = [dict(row) for row in open_table("ratings", file) if str(row["reply_id"]) in known]
        more = [row for row in more if row.get("rater_kind") != "human" and (not names or row["rater"] in names)]
        raters += dict.fromkeys(str(row["rater"]) for row in more if row["rater"] not in raters)
        given += more
    facts = [{name: row.get(name) for name in ("reply_id", "item_id", "system", "hs_id")} for row in replies]
    about = ("reply_id", "rater", "rater_kind", "aspect", "value", "low", "high", "higher_is_better", "reason")
    once = {(row["reply_id"], row["rater"], row["aspect"]): row for row in [*rows, *given]}
    rated = Ratings([{name: row.get(name) for name in about} for row in once.values()], facts)
    items, systems = np.unique(rated.items, return_inverse=True)[1], np.array(rated.systems)
    for rater in raters:
        for aspect in ASPECTS:
            values = rated.people(aspect, [rater])[1]
            if np.isfinite(values).any():  # a rater may have no value for some aspects
                yield rater, aspect, means(rated.people(aspect)[1], axis=0), values[0], (items, systems)


def widths(folder: Path, files: list[Path], names: list[str], seed: int) -> Rows:
    """Compare intervals from a fifth of the labels, with and without a rater, with the values from all labels."""
    rows: Rows = []
    for rater, aspect, people, judged, (items, systems) in released_ratings(folder, files, names, TEST):
        there = np.isfinite(people)  # replies with a human rating
        people, judged, items_of, system = people[there], judged[there], items[there], systems[there]
        groups = {"all replies": np.arange(len(people))}
        counts = {name: int((system == name).sum()) for name in np.unique(system) if name != "unknown"}
        groups |= {name: np.flatnonzero(system == name) for name, n in counts.items() if n * SHARE >= FEWEST}
        found: dict[str, list[tuple[dict[str, Any], float]]] = {}
        generator = np.random.default_rng(seed)
        for _ in range(DRAWS):
            few = np.full(len(people), np.nan)
            drawn = generator.permutation(len(people))[: round(SHARE * len(people))]
            few[drawn] = people[drawn]
            samples = {
                name: summarise(few[own], judged[own], items_of[own], int(items.max()) + 1, np.ones(len(own)))
                for name, own in groups.items()
            }
            for name, sample in samples.items():
                if sample is not None:
                    what = name if name == "all replies" else "systems"
                    found.setdefault(what, []).append((estimate(sample, LEVEL), float(people[groups[name]].mean())))
            named = [name for name in groups if name != "all replies"]
            for place, a in enumerate(named):
                for b in named[place + 1 :]:
                    first, second = samples[a], samples[b]
                    if first is not None and second is not None:
                        truth = float(people[groups[a]].mean() - people[groups[b]].mean())
                        found.setdefault("differences", []).append((estimate(first.minus(second), LEVEL), truth))
        for what, pairs in found.items():
            defined = [(each, truth) for each, truth in pairs if each["reason"] is None]
            ratios = [_width_ratio(each) for each, _ in defined]
            alone = [each["people_low"] <= truth <= each["people_high"] for each, truth in defined]
            rows.append(
                {
                    "rater": rater,
                    "aspect": aspect,
                    "what": what,
                    "width": float(np.mean(ratios)),
                    "widest": float(np.max(ratios)),
                    "coverage": float(np.mean([each["low"] <= truth <= each["high"] for each, truth in defined])),
                    "people": float(np.mean(alone)),
                    "lambda": float(np.mean([each["weight"] for each, _ in defined])),
                }
            )
            print(_line(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("worlds", "weighted", "cseval"))
    parser.add_argument("folder", type=Path, nargs="?", help="folder written by `fcconan build cseval`")
    parser.add_argument("--ratings", type=Path, action="append", default=[])
    parser.add_argument("--rater", action="append", default=[])
    parser.add_argument("--worlds", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.part == "cseval":
        if given.folder is None:
            parser.error("give the folder of CSEval")
        rows = widths(given.folder, given.ratings, given.rater, given.seed)
    else:
        rows = coverage(given.worlds, given.seed, given.part == "weighted")
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
