"""Message AUC: whether a system distinguishes the HS that a CN answers from other HS.

A ranking metric compares the CNs of one HS, so a system that prefers good CNs for every HS scores well without reading
the HS. Message AUC compares the HS of one CN: the probability that an HS that the CN answers has a higher score than
one that it does not answer (the area under the ROC curve within a CN; Hanley and McNeil, 1982). It is .5 by chance, and
for all scores that depend on the CN alone.

Only judged pairs count, and only CNs with HS of both labels. Scores must be comparable between HS, as cosines and
probabilities are; ranks are not.
"""

import numpy as np

from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.intervals import chunks, draws, safe_divide

CN_STREAM = 1  # part of the seed of the draws of CNs, which separates them from those of HS


def message_auc(
    scores: Floats, labels: Floats, folds: Ints | None = None, *, resamples: int, seed: int
) -> tuple[float, int, Floats]:
    """Computes the message AUC of a system, also in resamples of HS and CNs.

    A resample draws HS and CNs with replacement, independently (the pigeonhole bootstrap; Owen, 2007). The weight of a
    pair of HS is the product of the numbers of times that its CN and both HS are drawn.

    Args:
        scores: Scores of the system, shape (HS, CNs); -inf for a CN that a ranking lacks, nan for an HS to leave out.
        labels: Above 0 for an appropriate CN, nan if unjudged; shape (HS, CNs).
        folds: Fold of each HS, shape (HS,), if held-out scores are comparable within a fold only; None to compare all.
        resamples: Number of resamples.
        seed: Seed of the resamples, which systems with the same HS and CNs share.

    Returns:
        The value (a tie counts one half), the number of pairs of HS, and the value in each resample, shape
        (resamples,); nan without a pair, and in all resamples if fewer than two CNs have one.

    Examples:
        >>> scores = np.array([[0.9, 0.2], [0.4, 0.2], [0.1, 0.7]])  # three HS, two CNs
        >>> labels = np.array([[1, 1], [0, 0], [1, np.nan]])
        >>> message_auc(scores, labels, resamples=0, seed=0)[:2]
        (0.5, 3)
    """
    folds = np.zeros(len(labels), dtype=np.int64) if folds is None else folds
    pairs = []
    for cn, (own, known) in enumerate(zip(scores.T, labels.T, strict=True)):
        first, second = (np.flatnonzero(each & ~np.isnan(own)) for each in (known > 0, known <= 0))
        above, below = own[first][:, None], own[second]
        there = (folds[first][:, None] == folds[second]).astype(np.float64)
        if there.any():
            pairs.append((cn, first, second, np.stack([there * ((above > below) + (above == below) / 2), there])))
    total = np.sum([share.sum(axis=(1, 2)) for *_, share in pairs] or np.zeros((1, 2)), axis=0)
    drawn, (n_hs, n_cns) = [], labels.shape
    generators = np.random.default_rng(seed), np.random.default_rng([seed, CN_STREAM])
    for size in chunks(n_hs + n_cns, resamples if len(pairs) > 1 else 0):
        # How often each HS and each CN is drawn, shapes (block of resamples, HS) and (block, CNs).
        of_hs, of_cns = (next(draws(n, size, own)) for n, own in zip((n_hs, n_cns), generators, strict=True))
        sums = np.zeros((2, size))
        for cn, first, second, shares in pairs:
            for place, share in enumerate(shares):
                each = np.einsum("rf,rf->r", of_hs[:, first], of_hs[:, second] @ share.T)
                sums[place] += of_cns[:, cn] * each
        drawn.append(sums)
    resampled = safe_divide(*np.concatenate(drawn, axis=1)) if drawn else np.full(resamples, np.nan)
    return float(safe_divide(*total)), int(total[1]), resampled
