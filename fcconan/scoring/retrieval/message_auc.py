"""The message-specific score: whether a system distinguishes the messages that a CN answers from other messages.

A ranking metric compares the CNs of one HS, so a system that prefers good CNs for every HS scores well without reading
the HS. This score compares the HS of one CN: it is the probability that an HS that the CN answers has a higher score
than an HS that it does not answer. This is the area under the ROC curve (AUC; Hanley and McNeil, 1982) within a CN. It
is .5 by chance, and for all scores that depend on the CN alone.

Limits: Only judged pairs count, and only CNs with HS of both labels. A system's scores must be comparable between
messages, as cosines and probabilities are; ranks and scores that are scaled for each query lose information. A score
that depends on the message alone may differ from .5 if some messages have more positive CNs than others. The labels are
assumed to be correct.
"""

from dataclasses import dataclass, field

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.retrieval.two_way import two_way_draws
from fcconan.scoring.intervals import percentile_interval, safe_divide


@dataclass(frozen=True)
class MessageAUC:
    """The message-specific score of a system.

    Attributes:
        value: Share of all comparable pairs of HS in which the positive HS has the higher score; a tie counts one
            half. nan without a pair.
        low: Lower end of the bootstrap interval over HS and CNs; nan if fewer than two CNs have a pair.
        high: Upper end of the interval.
        by_cn: Mean of the shares within CNs, with equal weights for all CNs.
        n_cns: Number of CNs with a pair.
        n_pairs: Number of pairs.
        resampled: Value in each resample, shape (resamples,); nan for a resample without a pair, and for all resamples
            without an interval.
    """

    value: float
    low: float
    high: float
    by_cn: float
    n_cns: int
    n_pairs: int
    resampled: Floats = field(repr=False, compare=False)


def message_auc(
    scores: Floats, labels: Floats, *, folds: Ints | None = None, resamples: int, confidence: float, seed: int
) -> MessageAUC:
    """Computes the message-specific score, with an interval over HS and CNs (`two_way`).

    In a resample, the weight of a pair is the product of the numbers of times that its CN, its positive HS and its
    negative HS are drawn.

    Args:
        scores: Scores of one system, shape (HS, CNs) or (repeats, HS, CNs). Pairs with nan, such as those of an HS for
            which the system failed, are left out. Use -inf for CNs that are missing from a ranking; two scores of -inf
            are a tie.
        labels: 1 if appropriate, 0 if not, nan if unjudged; shape (HS, CNs).
        folds: Fold of each HS, shape (repeats, HS), for systems that learn from the labels of other HS. Only HS of
            one fold are compared: leaving out an HS's own label lowers the scores of positive HS, so held-out scores
            are comparable only within one model. To compare two systems, give both the same folds. None to compare all
            HS.
        resamples: Number of resamples.
        confidence: Confidence level of the intervals.
        seed: Seed of the bootstrap. All systems and partitions with the same HS and CNs share the resamples.

    Returns:
        The score. With several repeats, each pair's result is the mean over the repeats in which it is comparable.

    Raises:
        InputError: The shapes differ, or a label is neither 0 nor 1.

    Examples:
        >>> scores = np.array([[0.9, 0.2], [0.4, 0.2], [0.1, 0.7]])  # three HS, two CNs
        >>> labels = np.array([[1, 1], [0, 0], [1, np.nan]])
        >>> found = message_auc(scores, labels, resamples=10, confidence=0.95, seed=0)
        >>> found.value, found.by_cn, found.n_cns, found.n_pairs
        (0.5, 0.5, 2, 3)
    """
    scores, folds = _check_inputs(scores, labels, folds)
    n_hs, n_cns = labels.shape
    right, total = np.zeros(n_cns), np.zeros(n_cns)
    compared = []
    for cn in range(n_cns):
        positive, negative = np.flatnonzero(labels[:, cn] == 1), np.flatnonzero(labels[:, cn] == 0)
        if len(positive) == 0 or len(negative) == 0:
            continue
        share, there = _compare_pairs(scores[:, :, cn], folds, positive, negative)
        right[cn], total[cn] = share.sum(), there.sum()
        if total[cn]:
            compared.append((cn, positive, negative, share, there))
    resampled = np.full(resamples, np.nan)
    start = 0
    for of_hs, of_cns in two_way_draws(n_hs, n_cns, resamples, seed):
        above, below = np.zeros(len(of_hs)), np.zeros(len(of_hs))
        for cn, positive, negative, share, there in compared:
            above += of_cns[:, cn] * _sum_pairs(of_hs[:, positive], share, of_hs[:, negative])
            below += of_cns[:, cn] * _sum_pairs(of_hs[:, positive], there, of_hs[:, negative])
        resampled[start : start + len(of_hs)] = safe_divide(above, below)
        start += len(of_hs)
    if len(compared) < 2:  # all resamples of one CN are of the same CN
        resampled[:] = np.nan
    low, high = percentile_interval(resampled, confidence)
    there_at_all = total > 0
    return MessageAUC(
        value=float(safe_divide(right.sum(), total.sum())),
        low=float(low),
        high=float(high),
        by_cn=float(safe_divide(safe_divide(right, total)[there_at_all].sum(), there_at_all.sum())),
        n_cns=len(compared),
        n_pairs=int(total.sum()),
        resampled=resampled,
    )


def message_auc_difference(a: MessageAUC, b: MessageAUC, *, confidence: float) -> tuple[float, float, float]:
    """Returns the difference a - b of two systems and its paired bootstrap interval over HS and CNs.

    Args:
        a: Score of the first system.
        b: Score of the second system on the same HS and CNs, with the same seed and number of resamples.
        confidence: Confidence level of the interval.

    Returns:
        The difference, and the lower and upper end of its interval; nan if one of the systems has none.
    """
    low, high = percentile_interval(a.resampled - b.resampled, confidence)
    return a.value - b.value, float(low), float(high)


def _check_inputs(scores: Floats, labels: Floats, folds: Ints | None) -> tuple[Floats, Ints]:
    """Returns scores of shape (repeats, HS, CNs), and folds; without folds, all HS are in one."""
    if scores.ndim == 2:
        scores = scores[None]
    if folds is None:
        folds = np.zeros(scores.shape[:2], dtype=np.int64)
    if scores.ndim != 3 or scores.shape[1:] != labels.shape or folds.shape != scores.shape[:2]:
        raise InputError(
            f"scores have the shape {scores.shape}, labels {labels.shape} and folds {folds.shape}: give (repeats, HS, "
            "CNs), (HS, CNs) and (repeats, HS)"
        )
    if not np.isin(labels[~np.isnan(labels)], (0, 1)).all():
        raise InputError("labels have values other than 0 and 1: give 1, 0, or nan for an unjudged pair")
    return scores, folds


def _compare_pairs(scores: Floats, folds: Ints, positive: Ints, negative: Ints) -> tuple[Floats, Floats]:
    """Compares the HS of one CN.

    Args:
        scores: Shape (repeats, HS).
        folds: Folds, the same shape.
        positive: Positions of the positive HS.
        negative: Positions of the negative HS.

    Returns:
        Share of repeats in which the positive HS has the higher score, 0 for pairs that are not comparable; and 1 for
        comparable pairs, otherwise 0. Shapes (positive, negative).
    """
    right, total = np.zeros((len(positive), len(negative))), np.zeros((len(positive), len(negative)))
    for of_repeat, fold in zip(scores, folds, strict=True):
        above, below = of_repeat[positive][:, None], of_repeat[negative]
        there = (fold[positive][:, None] == fold[negative]) & ~np.isnan(above) & ~np.isnan(below)
        right += there * ((above > below) + (above == below) / 2)
        total += there
    return np.divide(right, total, out=np.zeros_like(right), where=total > 0), (total > 0).astype(np.float64)


def _sum_pairs(of_positive: Floats, values: Floats, of_negative: Floats) -> Floats:
    """Returns sums over pairs, weighted by the numbers of times that both HS are drawn.

    Args:
        of_positive: Number of times that each positive HS is drawn; shape (resamples, positive).
        values: Values of the pairs, shape (positive, negative).
        of_negative: Number of times that each negative HS is drawn; shape (resamples, negative).

    Returns:
        Shape (resamples,).
    """
    if values.shape[0] > values.shape[1]:
        values, of_positive, of_negative = values.T, of_negative, of_positive
    # The product runs over the larger side, so it needs no more memory than the draws of the smaller side.
    return np.asarray(np.einsum("rp,rp->r", of_positive, of_negative @ values.T))
