"""Bootstrap of retrieval metrics over HS and CNs, for the uncertainty of a mean on other messages and other replies.

The bootstrap over HS treats the catalogue as fixed. Here both HS and CNs are samples, and each resample draws both with
replacement, independently.

For means over pairs, the interval is somewhat too wide rather than too narrow (Owen's theorem). A ranking metric is not
such a mean, and copies of a CN are adjacent in a ranking, so the intervals are approximate. Hit ratio and MRR are lower
in the resamples than in the data, because they gain nothing from a second copy of a CN.

References:
    Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1(2), 2007.
    Zobel and Rashidi, Corpus bootstrapping for assessment of the properties of effectiveness measures, CIKM 2020.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints, Qrels
from fcconan.scoring.retrieval.evaluation import Rule, own_values
from fcconan.scoring.retrieval.metrics import NOTHING, UNJUDGED, Ranked, parse_metric
from fcconan.scoring.intervals import CHUNK, draws, safe_divide

CN_STREAM = 1  # part of the seed for the draws of CNs, which separates them from those of HS


def two_way_draws(n_hs: int, n_cns: int, resamples: int, seed: int) -> Iterator[tuple[Floats, Floats]]:
    """Draws resamples of HS and, independently, of CNs, in blocks of bounded size.

    All functions with the same seed and sizes share these draws; the draws of HS are those of `draws`.

    Args:
        n_hs: Number of HS, and of draws of HS per resample.
        n_cns: Number of CNs, and of draws of CNs per resample.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.

    Yields:
        Number of times that each HS and each CN is drawn; shapes (block of resamples, HS) and (block of resamples,
        CNs).
    """
    # Two independent streams; resamples do not depend on the size of the blocks.
    of_hs, of_cns = np.random.default_rng(seed), np.random.default_rng([seed, CN_STREAM])
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
    """Computes means of metrics over resampled HS and CNs, with the same draws for all systems.

    A CN that is drawn w times is repeated w times at its rank in every ranking and in the catalogue; a CN that is not
    drawn is absent. Ideal rankings and numbers of positives are those of the resample, whose catalogue has the original
    size. An HS that is drawn w times counts w times in the mean.

    Args:
        orders: Rankings of each system: query id -> corpus ids, best first, ties broken. A query without an entry has
            an empty ranking.
        qrels: Query id -> corpus id -> relevance. CNs without an entry are unjudged; CNs outside the catalogue are left
            out.
        query_ids: Ids of the HS to resample.
        corpus_ids: Ids of the CNs to resample, which are the catalogue.
        rule: Metrics and conventions. Queries without a positive in the resample are left out, or with `all_queries`
            counted.
        k: Cutoff of metrics without one.
        resamples: Number of resamples.
        seed: Seed of the bootstrap.
        failed: Queries for which each system failed, which are left out of its means; empty if no system failed.

    Returns:
        The means, shape (resamples, systems, metrics); nan for metrics that only ranx computes, and for resamples
        without a query that counts.

    Raises:
        InputError: A ranking has an id that is not in the catalogue.
    """
    found = np.full((resamples, len(orders), len(rule.metrics)), np.nan)
    if not (len(query_ids) and len(corpus_ids)):
        return found
    places = {key: place for place, key in enumerate(corpus_ids)}
    relevances = _relevances(qrels, query_ids, places)
    rankings = [_positions(order, query_ids, places) for order in orders]
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
    """Returns the judged relevances, `UNJUDGED` for pairs without one; shape (HS, CNs)."""
    found = np.full((len(query_ids), len(places)), UNJUDGED, dtype=np.int64)
    for row, query in enumerate(query_ids):
        for key, value in qrels.get(query, {}).items():
            if key in places:
                found[row, places[key]] = max(value, 0)  # TREC marks junk by negative relevances
    return found


def _positions(order: Mapping[str, Sequence[str]], query_ids: Sequence[str], places: Mapping[str, int]) -> Ints:
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
class _CountedRankings(Ranked):
    """Rankings whose `relevances` end at a depth, so that positives are counted separately.

    Attributes:
        counts: Number of positives of each query; shape (queries,).
    """

    counts: Ints

    @property
    def n_positive(self) -> Ints:
        """Number of positives of each query; shape (queries,)."""
        return self.counts


class _Batch:
    """A block of resamples, with a row for each HS that a resample draws.

    Args:
        of_hs: Number of times that each HS is drawn; shape (resamples, HS).
        of_cns: Number of times that each CN is drawn; shape (resamples, CNs).
        relevances: Judged relevances, shape (HS, CNs).

    Attributes:
        resample: Position of the resample of each row; shape (rows,).
        hs: Position of the HS of each row; shape (rows,).
        times: Number of times that the HS is drawn; shape (rows,).
    """

    def __init__(self, of_hs: Floats, of_cns: Ints, relevances: Ints) -> None:
        self.resample, self.hs = np.nonzero(of_hs)
        self.times = of_hs[self.resample, self.hs]
        self._size = len(of_hs)
        # The last column is for the padding of rankings, which is never drawn.
        self._of_cns = np.pad(of_cns, ((0, 0), (0, 1)))
        self._relevances = relevances
        self._at_least = self._levels(of_cns)

    def _levels(self, of_cns: Ints) -> dict[int, Ints]:
        """Returns, for each relevance of a positive, the number of copies with at least that; shape (rows,)."""
        levels = [level for level in np.unique(self._relevances) if level > 0]
        # BLAS multiplies floats only; small whole numbers are exact as floats.
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
            ranking: Positions of the ranked CNs, shape (HS, longest ranking).
            gone: Whether the system failed for each HS, shape (HS,).
            rule: Metrics and conventions.
            depth: Largest cutoff of the metrics.

        Returns:
            The means, shape (resamples, metrics).
        """
        failed = gone[self.hs]
        n_positive = next(iter(self._at_least.values()), np.zeros(len(failed), dtype=np.int64))
        n_corpus = self._relevances.shape[1]
        ranked = _CountedRankings((), self._gains(ranking, depth), self._ideal(depth), n_corpus, failed, n_positive)
        values = own_values(ranked, rule)
        counted = ~failed & ((ranked.n_positive > 0) | rule.all_queries)
        times = self.times * counted
        n_counted = self._sum_rows(times)
        found = np.full((self._size, len(rule.metrics)), np.nan)
        for column, metric in enumerate(rule.metrics):
            if metric in values:
                found[:, column] = safe_divide(self._sum_rows(times * values[metric]), n_counted)
        return found

    def _sum_rows(self, values: Floats) -> Floats:
        """Returns sums over the rows of each resample."""
        return np.bincount(self.resample, weights=values, minlength=self._size).astype(np.float64)

    def _gains(self, ranking: Ints, depth: int) -> Ints:
        """Returns the judged relevance at each rank, with every CN repeated as often as it is drawn.

        A CN is drawn once on average, so the first `3 * depth + 10` CNs of a ranking nearly always suffice.

        Args:
            ranking: Positions in the catalogue, padded with -1; shape (HS, longest ranking).
            depth: Number of ranks to return.

        Returns:
            The relevances, shape (rows, depth).
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
        # `every` concatenates the copies of all rows; `first` is the position of each row's first copy.
        every = np.append(np.repeat(gains[self.hs, :seen].ravel(), copies.ravel()), NOTHING)
        first = np.cumsum(n_copies) - n_copies
        ranks = np.arange(depth)
        return every[np.where(ranks < n_copies[:, None], first[:, None] + ranks, -1)]
