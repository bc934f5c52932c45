"""Bootstrap of retrieval metrics over HS and CNs: how certain a mean is for other messages and other replies.

The bootstrap over HS takes the catalogue as given. Here HS and CNs are both samples: in each resample both are drawn
with replacement, independently (the pigeonhole bootstrap: Owen, 2007, "The pigeonhole bootstrap", Annals of Applied
Statistics 1(2); of documents in retrieval: Zobel and Rashidi, 2020, "Corpus bootstrapping for assessment of the
properties of effectiveness measures", CIKM). Owen's theorem holds for means over pairs: the interval is then somewhat
too wide, and not too narrow. A ranking metric is no such mean, and copies of a CN stand together in a ranking, so that
here the intervals are approximate: hit ratio and MRR, for which a further copy of a CN is worth nothing, are lower in
the resamples than in the data.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints, Qrels
from fcconan.scoring.retrieval.evaluation import Rule, own_values
from fcconan.scoring.retrieval.metrics import NOTHING, UNJUDGED, Ranked, parse_metric
from fcconan.scoring.significance.intervals import CHUNK, divided, draws

OF_CNS = 1  # part of the seed for the draws of CNs, which separates them from those of HS


def two_way_draws(n_hs: int, n_cns: int, resamples: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Draws resamples of HS and, independently, of CNs, a bounded number of resamples at a time.

    All functions that take the same seed and numbers share these draws; those of HS are the ones of `draws`.

    Args:
        n_hs: How many HS are drawn from, and drawn.
        n_cns: How many CNs are drawn from, and drawn.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.

    Yields:
        How often every HS and every CN is drawn; shapes (some resamples, HS) and (some resamples, CNs).
    """
    # Streams that numpy keeps apart; a resample is the same however many are drawn at a time.
    of_hs, of_cns = np.random.default_rng(seed), np.random.default_rng([seed, OF_CNS])
    largest = max(1, CHUNK // max(1, n_hs + n_cns))
    for start in range(0, resamples, largest):
        size = min(largest, resamples - start)
        yield next(draws(n_hs, size, of_hs)), next(draws(n_cns, size, of_cns))


def two_way_means(
    orders: Sequence[Mapping[str, Sequence[str]]],
    qrels: Qrels,
    query_ids: Sequence[str],
    corpus_ids: Sequence[str],
    *,
    rule: Rule,
    k: int,
    resamples: int,
    seed: int,
    failed: Sequence[Collection[str]] = (),
) -> Floats:
    """Means of metrics over resampled HS and CNs, with the same draws for all systems.

    A CN that is drawn w times is repeated w times at its rank in every ranking and in the catalogue; a CN that is not
    drawn is absent. Ideal rankings and numbers of positives follow; the catalogue keeps its size. An HS that is drawn w
    times counts w times in the mean.

    Args:
        orders: Rankings of every system, query id to corpus ids, best first, ties broken; a query without an
            entry has an empty ranking.
        qrels: Query id to corpus id to relevance; CNs without an entry are unjudged. CNs outside the catalogue are left
            out.
        query_ids: The HS to draw from.
        corpus_ids: The catalogue to draw from.
        rule: The metrics, and what becomes of a query without a positive in the resample: left out, or counted as it is
            (`all_queries`).
        k: The cutoff of metrics without one.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.
        failed: Queries for which each system failed, which are left out of its means; empty if none did.

    Returns:
        Shape (resamples, systems, metrics); nan for a metric that only ranx computes, and in a resample without a
        query that counts.

    Raises:
        InputError: A ranking has an id that is not in the catalogue.
    """
    found = np.full((resamples, len(orders), len(rule.metrics)), np.nan)
    if not (len(query_ids) and len(corpus_ids)):
        return found
    places = {key: place for place, key in enumerate(corpus_ids)}
    relevances = _relevances(qrels, query_ids, places)
    rankings = [_places(order, query_ids, places) for order in orders]
    failures = [
        np.array([query in gone for query in query_ids], dtype=np.bool_) for gone in (failed or [()] * len(orders))
    ]
    depth = max([1, *(parse_metric(metric, k)[1] for metric in rule.metrics)])
    start = 0
    for of_hs, of_cns in two_way_draws(len(query_ids), len(corpus_ids), resamples, seed):
        step = max(1, CHUNK // max(1, len(query_ids) * (depth + 2 * len(corpus_ids))))
        for first in range(0, len(of_hs), step):
            part = slice(first, first + step)
            batch = _Batch(of_hs[part], of_cns[part].astype(np.int64), relevances)
            for system, (ranking, gone) in enumerate(zip(rankings, failures, strict=True)):
                means = batch.means(ranking, gone, rule, depth)
                found[start : start + len(means), system] = means
            start += len(of_hs[part])
    return found


def _relevances(qrels: Qrels, query_ids: Sequence[str], places: Mapping[str, int]) -> Ints:
    """Returns the judgements, `UNJUDGED` where there is none; shape (HS, CNs)."""
    found = np.full((len(query_ids), len(places)), UNJUDGED, dtype=np.int64)
    for row, query in enumerate(query_ids):
        for key, value in qrels.get(query, {}).items():
            if key in places:
                found[row, places[key]] = max(value, 0)  # TREC marks junk by negative relevances
    return found


def _places(order: Mapping[str, Sequence[str]], query_ids: Sequence[str], places: Mapping[str, int]) -> Ints:
    """Returns the positions of the ranked CNs in the catalogue, padded with -1; shape (HS, longest ranking)."""
    rankings = [order.get(query, ()) for query in query_ids]
    found = np.full((len(query_ids), max(map(len, rankings))), -1, dtype=np.int64)
    for row, ranking in enumerate(rankings):
        try:
            found[row, : len(ranking)] = [places[key] for key in ranking]
        except KeyError as error:
            raise InputError(
                f"the ranking for {query_ids[row]!r} has {error.args[0]!r}, which is not in the catalogue: rank ids of "
                "the catalogue only"
            ) from error
    return found


@dataclass(frozen=True)
class _Counted(Ranked):
    """Rankings whose ideal is known to some depth only.

    Attributes:
        counts: The number of positives of every query; shape (queries,).
    """

    counts: Ints

    @property
    def n_positive(self) -> Ints:
        """The number of positives of every query; shape (queries,)."""
        return self.counts


class _Batch:
    """Some resamples, as one list of all drawn HS in each of them.

    Attributes:
        resample: The resample of every row; shape (rows,).
        hs: Position of the HS of every row; shape (rows,).
        times: How often the HS is drawn; shape (rows,).
    """

    def __init__(self, of_hs: Floats, of_cns: Ints, relevances: Ints) -> None:
        """Takes the draws, shapes (resamples, HS) and (resamples, CNs), and the judgements, shape (HS, CNs)."""
        self.resample, self.hs = np.nonzero(of_hs)
        self.times = of_hs[self.resample, self.hs]
        self._size = len(of_hs)
        # A last column, for places past the end of a ranking: such a CN is never drawn.
        self._of_cns = np.pad(of_cns, ((0, 0), (0, 1)))
        self._relevances = relevances
        self._at_least = self._levels(of_cns)

    def _levels(self, of_cns: Ints) -> dict[int, Ints]:
        """Returns, for each relevance of a positive, how many copies have at least that; shape (rows,)."""
        levels = [level for level in np.unique(self._relevances) if level > 0]
        # As floats, the product is BLAS's; the counts are small whole numbers, which floats hold exactly.
        copies = of_cns.astype(np.float64)
        drawn = {level: copies @ (self._relevances >= level).T.astype(np.float64) for level in levels}
        return {int(level): each[self.resample, self.hs].astype(np.int64) for level, each in drawn.items()}

    def _ideal(self, depth: int) -> Ints:
        """Returns the relevances of an ideal ranking of all copies, down to a rank; shape (rows, depth)."""
        found = np.zeros((len(self.hs), depth), dtype=np.int64)
        for level, n_copies in self._at_least.items():  # ascending: higher levels are fewer, and come first
            found[np.arange(depth) < n_copies[:, None]] = level
        return found

    def means(self, ranking: Ints, gone: Flags, rule: Rule, depth: int) -> Floats:
        """Returns the means of a system.

        Args:
            ranking: Positions of its ranked CNs; shape (HS, longest ranking).
            gone: True where it failed; shape (HS,).
            rule: The metrics.
            depth: How many ranks they look at.

        Returns:
            Shape (resamples, metrics).
        """
        failed = gone[self.hs]
        n_positive = next(iter(self._at_least.values()), np.zeros(len(failed), dtype=np.int64))
        n_corpus = self._relevances.shape[1]
        ranked = _Counted((), self._gains(ranking, depth), self._ideal(depth), n_corpus, failed, n_positive)
        values = own_values(ranked, rule)
        counted = ~failed & ((ranked.n_positive > 0) | rule.all_queries)
        times = self.times * counted
        n_counted = self._summed(times)
        found = np.full((self._size, len(rule.metrics)), np.nan)
        for column, metric in enumerate(rule.metrics):
            if metric in values:
                found[:, column] = divided(self._summed(times * values[metric]), n_counted)
        return found

    def _summed(self, values: Floats) -> Floats:
        """Returns sums over the rows of every resample."""
        return np.bincount(self.resample, weights=values, minlength=self._size).astype(np.float64)

    def _gains(self, ranking: Ints, depth: int) -> Ints:
        """Returns the judged relevance at each rank when every CN is repeated as often as it is drawn.

        Each CN is drawn once on average, so that a few times `depth` places of a ranking nearly always hold enough.

        Args:
            ranking: Places in the catalogue, -1 past the end; shape (HS, longest ranking).
            depth: How many ranks to return.

        Returns:
            Shape (rows, depth).
        """
        gains = np.take_along_axis(self._relevances, np.maximum(ranking, 0), axis=1)
        n_places = ranking.shape[1]
        seen = min(n_places, 3 * depth + 10)
        while True:
            copies = self._of_cns[self.resample[:, None], ranking[self.hs, :seen]]
            n_copies = copies.sum(axis=1)
            if seen == n_places or (n_copies >= depth).all():
                break
            seen = min(n_places, 2 * seen)
        # The copies of all rows one after another, and the places where those of each row begin.
        every = np.append(np.repeat(gains[self.hs, :seen].ravel(), copies.ravel()), NOTHING)
        first = np.cumsum(n_copies) - n_copies
        ranks = np.arange(depth)
        return every[np.where(ranks < n_copies[:, None], first[:, None] + ranks, -1)]
