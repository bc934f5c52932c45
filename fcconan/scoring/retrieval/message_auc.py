"""The message-specific score: does a system distinguish messages that a CN answers from others?

A ranking metric compares the CNs of one HS, so that a system which only knows good CNs scores well without reading the
HS. Here the HS of one CN are compared: how probable it is that an HS which the CN answers has a higher score than one
which it does not answer. That is the area under the ROC curve (AUC; Hanley and McNeil, 1982) within a CN, over
messages. Any score that depends on the CN alone has .5, and so has chance.

Limits. Only judged pairs count, and only CNs with HS of both labels. A system's scores must compare between messages:
cosines and probabilities do; with ranks, or scores that are scaled for each query, part of what the system knows is
lost. A score that depends on the message alone may differ from .5, if some messages have more positive CNs than others.
The labels are taken as they are.
"""

from dataclasses import dataclass, field

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats, Ints
from fcconan.scoring.retrieval.two_way import two_way_draws
from fcconan.scoring.significance.intervals import divided, percentile_interval


@dataclass(frozen=True)
class MessageAUC:
    """The message-specific score of a system.

    Attributes:
        value: Share of all comparable pairs of HS in which the positive one has the higher score, ties one half; nan
            without a pair.
        low: Lower end of the bootstrap interval over HS and CNs; nan if fewer than two CNs have a pair.
        high: Its upper end.
        by_cn: Mean over CNs of the share within each, so that CNs with many pairs count no more than others.
        n_cns: How many CNs have a pair.
        n_pairs: How many pairs there are.
        resampled: The value in every resample; shape (resamples,); nan in one without a pair, and throughout if there
            is no interval.
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

    In a resample, a pair counts as often as its CN, its positive HS and its negative HS are drawn, multiplied.

    Args:
        scores: Scores of one system, shape (HS, CNs) or (repeats, HS, CNs). nan where it gave no score, as for an HS
            on which it failed: such a pair is left out. A CN that is missing from a ranking is below all ranked
            ones: -inf. Two scores of -inf are a tie.
        labels: 1 appropriate, 0 not, nan unjudged; shape (HS, CNs).
        folds: Shape (repeats, HS), for systems that learn from the labels of other HS: in each repeat, only HS of one
            fold are compared. Without an HS's own label, the scores of exactly the positive HS are lower, so that
            held-out scores compare only where they come from one model. To compare systems on the same pairs, give
            both the same folds. By default all HS are compared.
        resamples: Number of resamples.
        confidence: Confidence level of the intervals.
        seed: Decides the draws, which are the same for all systems and partitions of the same HS and CNs.

    Returns:
        The score. Which of two HS is higher is averaged over the repeats in which they can be compared.

    Raises:
        InputError: Shapes do not fit, or a label is neither 0 nor 1.

    Examples:
        >>> scores = np.array([[0.9, 0.2], [0.4, 0.2], [0.1, 0.7]])  # three HS, two CNs
        >>> labels = np.array([[1, 1], [0, 0], [1, np.nan]])
        >>> found = message_auc(scores, labels, resamples=10, confidence=0.95, seed=0)
        >>> found.value, found.by_cn, found.n_cns, found.n_pairs
        (0.5, 0.5, 2, 3)
    """
    scores, folds = _checked(scores, labels, folds)
    n_hs, n_cns = labels.shape
    right, total = np.zeros(n_cns), np.zeros(n_cns)
    compared = []
    for cn in range(n_cns):
        positive, negative = np.flatnonzero(labels[:, cn] == 1), np.flatnonzero(labels[:, cn] == 0)
        if len(positive) == 0 or len(negative) == 0:
            continue
        share, there = _shares(scores[:, :, cn], folds, positive, negative)
        right[cn], total[cn] = share.sum(), there.sum()
        if total[cn]:
            compared.append((cn, positive, negative, share, there))
    resampled = np.full(resamples, np.nan)
    start = 0
    for of_hs, of_cns in two_way_draws(n_hs, n_cns, resamples, seed):
        above, below = np.zeros(len(of_hs)), np.zeros(len(of_hs))
        for cn, positive, negative, share, there in compared:
            above += of_cns[:, cn] * _weighted(of_hs[:, positive], share, of_hs[:, negative])
            below += of_cns[:, cn] * _weighted(of_hs[:, positive], there, of_hs[:, negative])
        resampled[start : start + len(of_hs)] = divided(above, below)
        start += len(of_hs)
    if len(compared) < 2:  # all resamples of one CN are of the same CN
        resampled[:] = np.nan
    low, high = percentile_interval(resampled, confidence)
    there_at_all = total > 0
    return MessageAUC(
        value=float(divided(right.sum(), total.sum())),
        low=float(low),
        high=float(high),
        by_cn=float(divided(divided(right, total)[there_at_all].sum(), there_at_all.sum())),
        n_cns=len(compared),
        n_pairs=int(total.sum()),
        resampled=resampled,
    )


def message_auc_difference(a: MessageAUC, b: MessageAUC, *, confidence: float) -> tuple[float, float, float]:
    """Returns the difference a - b of two systems and its interval over HS and CNs, from the draws that they share.

    Args:
        a: Score of a system.
        b: Score of another one on the same HS and CNs, with the same seed and resamples.
        confidence: Confidence level of the intervals.

    Returns:
        The difference, and the ends of its interval; nan where one of the two has none.
    """
    low, high = percentile_interval(a.resampled - b.resampled, confidence)
    return a.value - b.value, float(low), float(high)


def _checked(scores: Floats, labels: Floats, folds: Ints | None) -> tuple[Floats, Ints]:
    """Returns scores of shape (repeats, HS, CNs), and folds, all the same where none are given."""
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
        raise InputError("labels hold numbers other than 0 and 1: give 1, 0, or nan for an unjudged pair")
    return scores, folds


def _shares(scores: Floats, folds: Ints, positive: Ints, negative: Ints) -> tuple[Floats, Floats]:
    """Compares the HS of one CN.

    Args:
        scores: Shape (repeats, HS).
        folds: The same shape.
        positive: Places of the positive HS.
        negative: Places of the negative HS.

    Returns:
        The share of repeats in which the positive HS is higher, 0 where they cannot be compared; and 1 where they can.
        Shapes (positive, negative).
    """
    right, total = np.zeros((len(positive), len(negative))), np.zeros((len(positive), len(negative)))
    for of_repeat, fold in zip(scores, folds, strict=True):
        above, below = of_repeat[positive][:, None], of_repeat[negative]
        there = (fold[positive][:, None] == fold[negative]) & ~np.isnan(above) & ~np.isnan(below)
        right += there * ((above > below) + (above == below) / 2)
        total += there
    return np.divide(right, total, out=np.zeros_like(right), where=total > 0), (total > 0).astype(np.float64)


def _weighted(of_positive: Floats, values: Floats, of_negative: Floats) -> Floats:
    """Returns sums over pairs, weighted by how often both HS are drawn.

    Args:
        of_positive: How often the positive HS are drawn; shape (resamples, positive).
        values: Shape (positive, negative).
        of_negative: How often the negative HS are drawn; shape (resamples, negative).

    Returns:
        Shape (resamples,).
    """
    if values.shape[0] > values.shape[1]:
        values, of_positive, of_negative = values.T, of_negative, of_positive
    # The product runs over the larger side, so it needs no more memory than the draws of the smaller side.
    return np.asarray(np.einsum("rp,rp->r", of_positive, of_negative @ values.T))
