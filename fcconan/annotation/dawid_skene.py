"""Labels from the votes of raters of whom each errs in a way of their own (Dawid and Skene 1979).

A unit has one right label, drawn with the labels' shares; a rater who sees a unit with the label k says l with a
probability that depends on the rater, k and l alone. Shares, the raters' confusion matrices and the probability of each
label of each unit are found together by expectation and maximisation (EM). Beside a majority, the method counts a vote
for as much as the rater's other votes are worth, and turns round what somebody reliably says the wrong way.

What raters say may be more than what can be right: `not_sure` is an answer with probabilities of its own, and no label.

EM climbs to the nearest summit. It starts from the shares of the votes on each unit, so it is deterministic, and starts
near the labelling that most raters mean. A solution stays as likely when labels change places in it; the one is taken
in which what raters say agrees most with what is said to be right.

The method needs units that several raters judged. Where one judged each, nothing tells an error from a label, and it
may well give all units the same one.

This is our own: crowd-kit (1.4.2, kept up) has the method too, but needs `transformers`, has no answers beside the
labels, and no smoothing that would keep a rater with few votes from a probability of 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
SMOOTHING = 1.0
TOLERANCE = 1e-6
ITERATIONS = 2_000


@dataclass(frozen=True)
class DawidSkene:
    """What the method found.

    Attributes:
        posteriors: Unit -> label -> probability that the label is right; labels in their order, summing to 1.
        confusion: Rater -> right label -> what they say -> probability, summing to 1 over what they say.
        shares: Label -> its share of the units.
        iterations: How many were made.
        converged: Whether no posterior changed by more than the tolerance in the last one.
        log_posterior: The logarithm of the probability of votes and (up to a constant) parameters, natural.
        relabelled: Whether labels changed places in the end.
    """

    posteriors: dict[str, dict[str, float]]
    confusion: dict[str, dict[str, dict[str, float]]]
    shares: dict[str, float]
    iterations: int
    converged: bool
    log_posterior: float
    relabelled: bool

    def label(self, unit: str, *, at_least: float = 0.0) -> str | None:
        """Returns the most probable label of a unit; None if it is less probable than asked for, or not the only one.

        Args:
            unit: A unit with a vote.
            at_least: The least probability.
        """
        found = self.posteriors[unit]
        best = max(found.values())
        names = [name for name, probability in found.items() if best - probability < 1e-9]
        return names[0] if len(names) == 1 and best >= at_least else None


def posterior_labels(
    votes: Mapping[str, Mapping[str, str]],
    labels: Sequence[str],
    *,
    smoothing: float = SMOOTHING,
    tolerance: float = TOLERANCE,
    iterations: int = ITERATIONS,
) -> DawidSkene:
    """Finds labels, confusion matrices and shares.

    Args:
        votes: Unit -> rater -> what they said; whoever did not judge or skipped a unit is missing there.
        labels: What can be right, two or more; votes may say more, such as `not_sure`.
        smoothing: The votes that are added to every cell of every confusion matrix, and to the count of every label.
        tolerance: The iterations end when no posterior changes by more than this.
        iterations: Their largest number; 0 leaves the start: the shares of the votes.

    Raises:
        InputError: There are no votes, or fewer than two labels.
        ValueError: The smoothing is negative.
    """
    if len(set(labels)) < 2 or len(set(labels)) < len(labels):
        raise InputError(f"found the labels {', '.join(labels) or 'none'}: give two or more different ones")
    if smoothing < 0:
        raise ValueError(f"smoothing is {smoothing}, expected 0 or more")
    units = [unit for unit, given in votes.items() if given]
    if not units:
        raise InputError("there are no votes: import some first")
    raters = list(dict.fromkeys(rater for unit in units for rater in votes[unit]))
    said = list(dict.fromkeys([*labels, *sorted({vote for unit in units for vote in votes[unit].values()})]))
    places = ({name: at for at, name in enumerate(names)} for names in (raters, said))
    of_rater, of_said = places
    rows = [
        (at, of_rater[rater], of_said[vote]) for at, unit in enumerate(units) for rater, vote in votes[unit].items()
    ]
    ballots = Ballots(np.array(rows, np.int64), len(units), len(raters), len(said))
    fit = fit_ballots(ballots, len(labels), smoothing=smoothing, tolerance=tolerance, iterations=iterations)
    return DawidSkene(
        {unit: dict(zip(labels, row, strict=True)) for unit, row in zip(units, fit.posteriors.tolist(), strict=True)},
        {
            rater: {label: dict(zip(said, row, strict=True)) for label, row in zip(labels, matrix, strict=True)}
            for rater, matrix in zip(raters, fit.confusion.tolist(), strict=True)
        },
        dict(zip(labels, fit.shares.tolist(), strict=True)),
        fit.iterations,
        fit.converged,
        fit.log_posterior,
        fit.relabelled,
    )


@dataclass(frozen=True)
class Ballots:
    """Votes as numbers.

    Attributes:
        rows: Unit, rater and what was said, from 0; shape (votes, 3).
        units: How many there are; each has a vote.
        raters: How many there are.
        said: How many different things can be said, what can be right first.
    """

    rows: Integers
    units: int
    raters: int
    said: int


@dataclass(frozen=True)
class Fit:
    """`DawidSkene` as arrays.

    Attributes:
        posteriors: Shape (units, labels).
        confusion: Shape (raters, labels, said).
        shares: Shape (labels,).
        iterations: See `DawidSkene`.
        converged: See `DawidSkene`.
        log_posterior: See `DawidSkene`.
        relabelled: See `DawidSkene`.
    """

    posteriors: Floats
    confusion: Floats
    shares: Floats
    iterations: int
    converged: bool
    log_posterior: float
    relabelled: bool


def fit_ballots(
    ballots: Ballots,
    labels: int,
    *,
    smoothing: float = SMOOTHING,
    tolerance: float = TOLERANCE,
    iterations: int = ITERATIONS,
) -> Fit:
    """Does what `posterior_labels` does, with numbers for names.

    Args:
        ballots: The votes.
        labels: How many labels there are: the first ones of what can be said.
        smoothing: See `posterior_labels`.
        tolerance: See `posterior_labels`.
        iterations: See `posterior_labels`.
    """
    posteriors = _start(ballots, labels)
    made, converged = 0, False
    shares, confusion = _maximised(ballots, posteriors, smoothing)
    while made < iterations and not converged:
        found, _ = _expected(ballots, shares, confusion)
        converged = bool(np.abs(found - posteriors).max() <= tolerance)
        posteriors = found
        shares, confusion = _maximised(ballots, posteriors, smoothing)
        made += 1
    order = _most_alike(ballots, posteriors)
    posteriors, shares, confusion = posteriors[:, order], shares[order], confusion[:, order]
    _, likelihood = _expected(ballots, shares, confusion)
    prior = smoothing * (_log(shares).sum() + _log(confusion).sum()) if smoothing else 0.0
    relabelled = bool((order != np.arange(labels)).any())
    return Fit(posteriors, confusion, shares, made, converged, float(likelihood + prior), relabelled)


def _start(ballots: Ballots, labels: int) -> Floats:
    """The shares of the votes for each label on each unit; of units without one, the labels' shares of all votes."""
    counts = np.zeros((ballots.units, ballots.said))
    np.add.at(counts, (ballots.rows[:, 0], ballots.rows[:, 2]), 1.0)
    counts = counts[:, :labels]
    total = counts.sum(axis=0)
    overall = total / total.sum() if total.sum() else np.full(labels, 1 / labels)
    given = counts.sum(axis=1, keepdims=True)
    return np.where(given > 0, counts / np.maximum(given, 1.0), overall)


def _maximised(ballots: Ballots, posteriors: Floats, smoothing: float) -> tuple[Floats, Floats]:
    labels = posteriors.shape[1]
    cell = ballots.rows[:, 1] * ballots.said + ballots.rows[:, 2]
    size = ballots.raters * ballots.said
    weights = posteriors[ballots.rows[:, 0]]
    by_cell = np.stack([np.bincount(cell, weights[:, each], minlength=size) for each in range(labels)], axis=1)
    counts = by_cell.reshape(ballots.raters, ballots.said, labels).swapaxes(1, 2) + smoothing
    total = counts.sum(axis=2, keepdims=True)
    # A rater who never met a label, without smoothing: nothing is known of what they would say.
    confusion: Floats = np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1 / ballots.said)
    shares = posteriors.sum(axis=0) + smoothing
    return shares / shares.sum(), confusion


def _expected(ballots: Ballots, shares: Floats, confusion: Floats) -> tuple[Floats, float]:
    """Posteriors and log-likelihood, in logarithms: the product over many raters would vanish."""
    joint = np.tile(_log(shares), (ballots.units, 1))
    said = _log(confusion)[ballots.rows[:, 1], :, ballots.rows[:, 2]]
    for each in range(joint.shape[1]):
        joint[:, each] += np.bincount(ballots.rows[:, 0], said[:, each], minlength=ballots.units)
    highest = joint.max(axis=1, keepdims=True)
    scaled = np.exp(joint - highest)
    total = scaled.sum(axis=1, keepdims=True)
    return scaled / total, float((highest + np.log(total)).sum())


def _log(values: Floats) -> Floats:
    return np.log(np.maximum(values, 1e-300))


def _most_alike(ballots: Ballots, posteriors: Floats) -> Integers:
    """The order of the labels in which most votes say what is right."""
    from scipy.optimize import linear_sum_assignment

    labels = posteriors.shape[1]
    found_and_said = np.zeros((ballots.said, labels))
    np.add.at(found_and_said, ballots.rows[:, 2], posteriors[ballots.rows[:, 0]])
    alike = found_and_said[:labels].T  # what is said to be right, what was said
    if np.trace(alike) >= alike[linear_sum_assignment(alike, maximize=True)].sum() - 1e-9:
        return np.arange(labels, dtype=np.int64)
    found, meant = linear_sum_assignment(alike, maximize=True)
    return np.asarray(found[np.argsort(meant)], np.int64)
