"""Tables of correlations of metrics with people: intervals, chance levels, human ceilings, tests and samples."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fcconan.groups import Bootstrap
from fcconan.scoring.arrays import Flags, Floats, Ints, Swaps
from fcconan.scoring.correlation.levels import (
    PER_ITEM,
    PER_SYSTEM,
    SYSTEM_MEANS,
    evaluate,
    resampled,
)
from fcconan.scoring.correlation.weighted import ACCURACY, CALIBRATED, CHANCE
from fcconan.scoring.intervals import means, percentile_interval, safe_divide
from fcconan.scoring.paired_tests import max_t

if TYPE_CHECKING:
    from pandas import DataFrame

FEWEST = 3  # rows of an annotator behind a ceiling: the correlation of two rows is always 1 or -1
EQUAL = 1e-12  # largest difference of equal standardised values
STEP = 100, 500  # smallest sample, and distance of the sizes of samples
SEEDS = 1, 2, 3  # of these samples


class Scores(NamedTuple):
    """Values of metrics and of people for the same replies; nan is missing.

    Attributes:
        metrics: Name of each metric, and the aspect that it rates; None for all aspects.
        x: Values of the metrics, shape (metrics, replies).
        aspects: Names of the aspects that people rated.
        y: Mean ratings by people, shape (aspects, replies).
        item: Item of each reply, from 0.
        system: System of each reply, from 0; -1 if it is unknown.
        people: Ratings of each person, shape (people, aspects, replies).
    """

    metrics: Sequence[tuple[str, str | None]]
    x: Floats
    aspects: Sequence[str]
    y: Floats
    item: Ints
    system: Ints
    people: Floats

    def at(self, level: str) -> "Scores":
        """Returns the scores for a level: at the levels of systems, replies of unknown systems are missing."""
        if level not in (PER_SYSTEM, SYSTEM_MEANS):
            return self
        known = self.system >= 0
        return self._replace(y=np.where(known, self.y, np.nan), people=np.where(known, self.people, np.nan))

    def pairs(self) -> list[tuple[int, int]]:
        """Returns the positions of the metrics and aspects that are compared, by aspect."""
        return [
            (metric, aspect)
            for aspect, name in enumerate(self.aspects)
            for metric, (_, only) in enumerate(self.metrics)
            if only in (None, name)
        ]


def correlations(
    scores: Scores, levels: Sequence[str], coefficients: Sequence[str], bootstrap: Bootstrap
) -> "DataFrame":
    """Correlates every metric with every aspect.

    Intervals are percentile intervals over resampled items, each with all its systems; all pairs share the resamples.
    The threshold of the calibrated accuracy is fitted once, to the data, and is the same in all resamples.

    Args:
        scores: The values.
        levels: Levels.
        coefficients: Coefficients.
        bootstrap: Resamples.

    Returns:
        Rows as `fcconan.correlate` returns them, by level, coefficient, aspect and metric.
    """
    import pandas as pd

    n_items, found = int(scores.item.max(initial=-1)) + 1, []
    for level in levels:
        own = scores.at(level)
        ceilings = _ceilings(own, level, coefficients)
        there = [(pair, np.isfinite(own.x[pair[0]]) & np.isfinite(own.y[pair[1]])) for pair in own.pairs()]
        for rows, pairs in _alike(there):
            x, y, item, system = own.x[:, rows], own.y[:, rows], own.item[rows], own.system[rows]
            at = evaluate(level, x, y, item, n_items, system, pairs, coefficients)
            several = len(np.unique(item)) > 1
            drawn = resampled(at, n_items, len(item), bootstrap) if bootstrap.resamples and several else {}
            for name in coefficients:
                groups, n_groups = at.groups[name], np.isfinite(at.groups[name]).sum(axis=1)
                values = means(groups)
                ends = np.full((2, len(pairs)), np.nan)
                if drawn:
                    # All resamples of a single item are equal: the interval would have no width.
                    kept = np.isfinite(values) & ((n_groups > 1) | (level != PER_ITEM))
                    ends[:, kept] = percentile_interval(drawn[name][kept].T, bootstrap.confidence)
                for place, (metric, aspect) in enumerate(pairs):
                    reason = None
                    if np.isnan(values[place]):
                        reason = "no_rows" if not len(item) else "constant" if groups.shape[1] else "too_few"
                    chance = float(np.nanmean(at.groups[CHANCE][place])) if name == ACCURACY and at.n else np.nan
                    row = {
                        "metric": own.metrics[metric][0],
                        "aspect": own.aspects[aspect],
                        "level": level,
                        "coefficient": name,
                        "value": values[place],
                        "low": ends[0, place],
                        "high": ends[1, place],
                        "chance": chance if name in (ACCURACY, CALIBRATED) else 0.0,
                        "ceiling": ceilings.get((aspect, name), np.nan),
                        "n": at.n,
                        "n_groups": len(np.unique(system))
                        if level == SYSTEM_MEANS and reason is None
                        else n_groups[place],
                        "n_missing": len(own.item) - len(item),
                        "reason": reason,
                    }
                    row |= {"threshold": at.thresholds[place] if name == CALIBRATED and reason is None else np.nan}
                    found.append(((levels.index(level), coefficients.index(name), aspect, metric), row))
    table = pd.DataFrame([row for _, row in sorted(found, key=lambda each: each[0])])
    return table if CALIBRATED in coefficients else table.drop(columns="threshold")


def _alike(there: Sequence[tuple[Any, Flags]]) -> Iterator[tuple[Ints, list[Any]]]:
    """Yields rows, and the pairs that are complete in these rows."""
    alike: dict[bytes, list[Any]] = {}
    for pair, rows in there:
        alike.setdefault(rows.tobytes(), []).append(pair)
    for key, pairs in alike.items():
        yield np.flatnonzero(np.frombuffer(key, dtype=np.bool_)), pairs


def _ceilings(scores: Scores, level: str, coefficients: Sequence[str]) -> dict[tuple[int, str], float]:
    """Correlates each person with the mean of the others, and averages over people by their rows.

    Returns:
        Aspect and coefficient -> ceiling; a person with fewer than 3 rows does not count.
    """
    there = np.isfinite(scores.people)
    total, number = np.nansum(scores.people, axis=0), there.sum(axis=0)
    collected: dict[tuple[int, str], list[tuple[float, int]]] = {}
    for own, given in zip(scores.people, there, strict=True):
        others = safe_divide(total - np.where(given, own, 0.0), number - given)
        both = given & np.isfinite(others)
        for rows, aspects in _alike([(aspect, both[aspect]) for aspect in range(len(own))]):
            if len(rows) < FEWEST:
                continue
            pairs, item = [(aspect, aspect) for aspect in aspects], scores.item[rows]
            at = evaluate(
                level, own[:, rows], others[:, rows], item, item.max() + 1, scores.system[rows], pairs, coefficients
            )
            for name in coefficients:
                n_groups = np.isfinite(at.groups[name]).sum(axis=1)
                for aspect, value in zip(
                    aspects, safe_divide(np.nansum(at.groups[name], axis=1), n_groups), strict=True
                ):
                    if np.isfinite(value):
                        collected.setdefault((aspect, name), []).append((float(value), len(rows)))
    return {
        key: float(np.average(values, weights=n))
        for key, (values, n) in ((k, zip(*v, strict=True)) for k, v in collected.items())
    }


def differences(
    scores: Scores, levels: Sequence[str], coefficients: Sequence[str], bootstrap: Bootstrap
) -> "DataFrame":
    """Compares all pairs of metrics by random swaps of their values, item by item.

    PERM-INPUT (Deutsch et al., 2021, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
    Methods", section 4): both metrics are standardised, and all values of an item are swapped or not. Replies to one
    item stay together, because they resemble each other. All pairs share the swaps. A family is all pairs of metrics
    of one aspect, level and coefficient; p is adjusted within it by `max_t`, of differences over their root mean
    square. A swap after which a coefficient is undefined counts against a difference.

    Args:
        scores: The values.
        levels: Levels.
        coefficients: Coefficients; the calibrated accuracy, whose thresholds differ by metric, is left out.
        bootstrap: Resamples, and swaps.
    """
    import pandas as pd

    names = [name for name in coefficients if name != CALIBRATED]
    n_items, found = int(scores.item.max(initial=-1)) + 1, []
    swaps = np.random.default_rng(bootstrap.seed).integers(2, size=(bootstrap.resamples, n_items), dtype=np.int8).T
    for level in levels:
        own = scores.at(level)
        drawn: dict[tuple[int, str], list[tuple[dict[str, Any], Floats]]] = {}
        there = [
            ((a, b, aspect), np.isfinite(own.x[[a, b]]).all(axis=0) & np.isfinite(own.y[aspect]))
            for aspect, only in enumerate(own.aspects)
            for a, b in combinations([m for m, (_, about) in enumerate(own.metrics) if about in (None, only)], 2)
        ]
        for rows, compared in _alike(there):
            ends = _intervals(own, level, rows, compared, names, n_items, bootstrap)
            for a, b in dict.fromkeys((a, b) for a, b, _ in compared):
                aspects = [aspect for *pair, aspect in compared if pair == [a, b]]
                observed, after = _swapped(own, level, rows, [a, b], aspects, names, n_items, swaps)
                for name in names:
                    for place, aspect in enumerate(aspects):
                        row = {"a": own.metrics[a][0], "b": own.metrics[b][0], "aspect": own.aspects[aspect]}
                        row |= {"level": level, "coefficient": name, "difference": observed[name][place]}
                        row |= dict(zip(("low", "high"), ends[name][:, compared.index((a, b, aspect))], strict=True))
                        row |= {"p": np.nan, "p_adjusted": np.nan, "n": len(rows)}
                        drawn.setdefault((aspect, name), []).append((row, after[name][place]))
        for name in names:
            for aspect in range(len(own.aspects)):
                family = drawn.get((aspect, name), [])
                _test([each for each in family if np.isfinite(each[0]["difference"])])
                found += [row for row, _ in family]
    columns = ["a", "b", "aspect", "level", "coefficient", "difference", "low", "high", "p", "p_adjusted", "n"]
    return pd.DataFrame(found, columns=columns)


def _test(family: list[tuple[dict[str, Any], Floats]]) -> None:
    """Writes the p of tests of a family into their rows."""
    if not family:
        return
    observed = np.abs([row["difference"] for row, _ in family])
    drawn = np.abs(np.array([after for _, after in family]))
    # With the observed difference, so that the scale is above 0 where the difference is.
    scale = np.sqrt(safe_divide(np.nansum(drawn**2, axis=1) + observed**2, np.isfinite(drawn).sum(axis=1) + 1))
    scale[scale <= 0] = 1.0
    for (row, _), p, adjusted in zip(family, *max_t(observed / scale, [(drawn / scale[:, None]).T]), strict=True):
        row |= {"p": p, "p_adjusted": adjusted}


def _swapped(
    scores: Scores,
    level: str,
    rows: Ints,
    metrics: list[int],
    aspects: list[int],
    names: Sequence[str],
    n_items: int,
    swaps: Swaps,
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Returns differences, shape (aspects,), and those after swaps, shape (aspects, swaps), by coefficient.

    The values of both metrics are rows of one metric, whose units are the items of the first and those of the second.
    """
    values = scores.x[metrics][:, rows]
    if len(rows):
        values = np.ldexp(values, -np.frexp(np.abs(values).max(axis=1, keepdims=True))[1])
        values = values - values.mean(axis=1, keepdims=True)
        values = np.nan_to_num(safe_divide(values, values.std(axis=1, keepdims=True)))
        # Equal values of both metrics are ties; others keep their digits, so that equal means of them are ties, too.
        distinct = np.unique(values)
        first = np.diff(distinct, prepend=-np.inf) > EQUAL
        values = distinct[first][np.cumsum(first)[np.searchsorted(distinct, values)] - 1]
    item, system = scores.item[rows], scores.system[rows]
    at = evaluate(
        level,
        values.reshape(1, -1),
        np.tile(scores.y[aspects][:, rows], 2),
        np.concatenate([item, item + n_items]),
        2 * n_items,
        np.tile(system, 2),
        [(0, place) for place in range(len(aspects))],
        names,
        fixed=True,
    )

    def apart(swapped: Swaps | Floats) -> dict[str, Floats]:
        weights = np.ascontiguousarray(np.concatenate([1.0 - swapped, swapped]))
        one, other = at.weighted(weights), at.weighted(1 - weights)
        return {name: one[name] - other[name] for name in names}

    observed = apart(np.zeros((n_items, 1)))
    step = max(16, min(250_000 // max(1, len(rows)), 256))
    parts = [apart(swaps[:, start : start + step]) for start in range(0, swaps.shape[1], step)]
    after = {
        name: np.concatenate([part[name] for part in parts] or [np.zeros((len(aspects), 0))], axis=1) for name in names
    }
    return {name: values[:, 0] for name, values in observed.items()}, after


def _intervals(
    scores: Scores,
    level: str,
    rows: Ints,
    compared: list[tuple[int, int, int]],
    names: Sequence[str],
    n_items: int,
    bootstrap: Bootstrap,
) -> dict[str, Floats]:
    """Returns the ends of the intervals of differences, shape (2, differences), by coefficient."""
    item = scores.item[rows]
    if not bootstrap.resamples or len(np.unique(item)) < 2:
        return dict.fromkeys(names, np.full((2, len(compared)), np.nan))
    pairs = [*dict.fromkeys((metric, aspect) for a, b, aspect in compared for metric in (a, b))]
    at = evaluate(level, scores.x[:, rows], scores.y[:, rows], item, n_items, scores.system[rows], pairs, names)
    drawn = resampled(at, n_items, len(rows), bootstrap)
    sides = [[pairs.index((pair[side], pair[2])) for pair in compared] for side in (0, 1)]
    return {
        name: np.stack(percentile_interval((drawn[name][sides[0]] - drawn[name][sides[1]]).T, bootstrap.confidence))
        for name in names
    }


def stability(scores: Scores) -> "DataFrame":
    """Returns the variation of Spearman's coefficient over random samples (CSEval, Appendix D: 13 sizes, 3 seeds).

    Args:
        scores: The values; each metric is sampled from the replies that both it and people rated. The sizes are 100,
            600, 1100, ... up to the number of these replies.

    Returns:
        `metric`, `aspect`, `mean`, `std` (with n - 1), `n` (trials) and `sizes`.
    """
    import pandas as pd
    from scipy import stats

    found = []
    for metric, aspect in scores.pairs():
        rows = np.flatnonzero(np.isfinite(scores.x[metric]) & np.isfinite(scores.y[aspect]))
        sizes = range(STEP[0], len(rows) + 1, STEP[1])
        drawn = [rows[np.random.default_rng(seed).choice(len(rows), n, replace=False)] for n in sizes for seed in SEEDS]
        trials = np.array([stats.spearmanr(scores.x[metric, own], scores.y[aspect, own])[0] for own in drawn])
        names = {"metric": scores.metrics[metric][0], "aspect": scores.aspects[aspect], "sizes": [*sizes]}
        found.append({**names, "mean": trials.mean(), "std": trials.std(ddof=1), "n": len(trials)})
    return pd.DataFrame(found)
