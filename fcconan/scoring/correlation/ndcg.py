"""NDCG of the order in which metrics put the replies to an item, against ranks by people."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fcconan.errors import InputError
from fcconan.groups import Bootstrap
from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.intervals import means
from fcconan.scoring.paired_tests import mean_intervals

if TYPE_CHECKING:
    from pandas import DataFrame

PROTOCOLS = SOUND, PAPER = "sound", "paper"
FEWEST = 3  # replies of a person behind a ceiling


def ndcg(gains: Floats, scores: Floats) -> float:
    """Normalised discounted cumulative gain of a whole ranking, with linear gain (Järvelin and Kekäläinen, 2002).

    Tied scores share the mean of their discounts, which gives the mean over all orders of the tied replies (McSherry
    and Najork, 2008).

    Args:
        gains: Gains above 0, shape (replies,).
        scores: Scores, highest first; the same shape.
    """
    discounts = 1 / np.log2(np.arange(2, len(gains) + 2))
    _, level, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    shared = np.add.reduceat(discounts, np.cumsum(counts) - counts) / counts
    return float(gains @ shared[level] / (-np.sort(-gains) @ discounts))


def ranking_scores(
    metrics: Sequence[str],
    scores: Floats,
    ranks: Floats,
    item: Ints,
    people: Floats,
    bootstrap: Bootstrap,
    protocols: Sequence[str] = PROTOCOLS,
) -> "DataFrame":
    """Scores the order of replies within each item against people's ranks.

    Args:
        metrics: Names of the metrics.
        scores: Scores, the higher the better, shape (metrics, replies); nan is missing.
        ranks: People's ranks, shape (replies,): 1 is the best; means and ties are allowed. A reply without a rank does
            not belong to its item.
        item: Item of each reply, from 0.
        people: Ranks by each person, for the ceiling, shape (people, replies).
        bootstrap: Resamples of the items.
        protocols: `sound`: the gain is the number of replies plus 1 minus the rank, so the best reply has the highest
            gain. `paper`: the gain is the rank (CSEval, Table 2), so the worst reply has the highest gain, and a metric
            that orders all replies wrongly scores 1.

    Returns:
        Rows as `fcconan.correlate` returns them for ranks.

    Raises:
        InputError: A rank is below 1 or above the number of replies.
    """
    import pandas as pd

    ranked = np.isfinite(ranks)
    items = [np.flatnonzero(ranked & (item == each)) for each in np.unique(item[ranked])]
    gains = {protocol: [_gains(ranks, rows, protocol) for rows in items] for protocol in protocols}
    complete = np.array([[np.isfinite(own[rows]).all() for rows in items] for own in scores], dtype=np.bool_)
    complete = complete.reshape(len(metrics), len(items))
    # Metrics that lack different items are compared on those that none of them lacks.
    common, found = complete[complete.any(axis=1)].all(axis=0), []
    for protocol in protocols:
        values, chances = np.full((2, len(metrics), len(items)), np.nan)
        for metric, place in zip(*np.nonzero(complete), strict=True):
            own, rows = gains[protocol][place], items[place]
            values[metric, place] = ndcg(own, scores[metric, rows])
            chances[metric, place] = ndcg(own, np.zeros(len(rows)))  # the mean over all orders
        ends = np.full((2, len(metrics)), np.nan)
        for metric, there in enumerate(complete):
            ends[:, metric] = mean_intervals(values[metric, there], np.ones(there.sum()), bootstrap)
        ceiling = _ceiling(people, ranked, item, protocol)
        for metric, name in enumerate(metrics):
            there = complete[metric]
            row = {"metric": name, "protocol": protocol, "value": float(means(values[metric]))}
            row |= {"low": ends[0, metric], "high": ends[1, metric], "chance": float(means(chances[metric]))}
            row |= {"ceiling": ceiling, "n": sum(len(rows) for rows, is_in in zip(items, there, strict=True) if is_in)}
            row |= {"n_groups": int(there.sum()), "n_missing": int(np.isnan(scores[metric, ranked]).sum())}
            row |= {"value_common": float(means(values[metric, common & there]))}
            row |= {"chance_common": float(means(chances[metric, common & there]))}
            found.append({**row, "reason": None if there.any() else "incomplete" if items else "no_rows"})
    return pd.DataFrame(found)


def _gains(ranks: Floats, rows: Ints, protocol: str) -> Floats:
    own = ranks[rows]
    if ((own < 1) | (own > len(rows))).any():
        raise InputError(
            f"found ranks {own.min():g} to {own.max():g} in an item of {len(rows)} replies, expected 1 (the best) to "
            f"{len(rows)}: rank every reply to an item"
        )
    return own if protocol == PAPER else len(rows) + 1.0 - own


def _ceiling(people: Floats, ranked: Floats, item: Ints, protocol: str) -> float:
    """Returns the mean NDCG of the order by the mean of the others against one person, over people and items.

    Only items count that both ranked completely, of people with 3 such replies or more.
    """
    found: list[float] = []
    for position, own in enumerate(people if len(people) > 1 else ()):
        others, values, n = means(np.delete(people, position, axis=0), axis=0), [], 0
        for each in np.unique(item[ranked]):
            rows = np.flatnonzero(ranked & (item == each))
            if np.isfinite(own[rows]).all() and np.isfinite(others[rows]).all():
                scores = others[rows] if protocol == PAPER else -others[rows]
                values.append(ndcg(_gains(own, rows, protocol), scores))
                n += len(rows)
        found += values if n >= FEWEST else []
    return float(np.mean(found)) if found else float("nan")
