"""The model of a queue: likely positives, learned from the labels so far; and the selection of a batch.

A Gaussian process over rows and columns (HS and CNs of pairs), for labels of 0 and 1. With r and c the row and column
of a unit, s its scores, K the likeness of texts, and I 1 for the same row or column and 0 for others, the covariance of
two units is

    SMOOTH (1 + I(r, r') + K(r, r')) K(c, c')
    + OWN (I(r, r') + I(c, c') + K(r, r') I(c, c') + s s')
    + CONSTANT

so that a row or column with many positives, a CN near to one that fitted, and an HS near to another one all count, each
as much as the labels bear out. All terms but that of the scores are products of a matrix over rows and one over
columns: no matrix over units is ever made, and the equations are solved by conjugate gradients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

# Set with FC-CONAN's labels in view: the first three by their likelihood and rounded, noise and sharpness by what
# replays cost. No part of it was kept aside; `benchmarks/queue_savings.py --part held-out` fits all four to some HS and
# replays the others, next to these.
CONSTANT, SMOOTH, OWN, NOISE = 0.01, 0.03, 0.01, 0.05
SHARPNESS = 2.0  # of the likeness of texts
SCORE_PRIOR = 0.1  # how much one standard deviation of the scores is taken to mean before anything is known
TOLERANCE = 1e-4
MOST_STEPS = 500


@dataclass(frozen=True)
class Problem:
    """What is known of the units before anybody judges them.

    Attributes:
        rows: Of every unit, such as its HS, from 0; shape (units,).
        columns: Of every unit, such as its CN, from 0; shape (units,).
        row_likeness: Of texts, from 0 to 1; shape (rows, rows).
        column_likeness: Of texts, from 0 to 1; shape (columns, columns).
        scores: Standardised, higher for likelier positives; shape (units, scores).
    """

    rows: Places
    columns: Places
    row_likeness: Floats
    column_likeness: Floats
    scores: Floats


def likeness(vectors: Any) -> Floats:
    """Returns how like texts are by their vectors: exp(-2 (1 - cosine)), the vectors being centred.

    Args:
        vectors: Shape (texts, dimensions); of texts without words all zero.

    Returns:
        Shape (texts, texts); 1 on the diagonal.
    """
    centred = np.asarray(vectors, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 1e-9)
    found: Floats = np.exp(-SHARPNESS * (1 - unit @ unit.T))
    np.fill_diagonal(found, 1.0)
    return found


def standardised(scores: Sequence[Floats], n_units: int) -> Floats:
    """Returns scores with mean 0 and deviation 1, those that are missing (nan) at the mean.

    Args:
        scores: One array of shape (units,) for each scorer.
        n_units: Number of units.

    Returns:
        Shape (units, scorers).
    """
    found = np.zeros((n_units, len(scores)))
    for place, values in enumerate(scores):
        known = np.isfinite(values)
        if known.any() and (deviation := values[known].std()) > 0:
            found[known, place] = (values[known] - values[known].mean()) / deviation
    return found


def before_learning(problem: Problem, labels: Floats) -> Floats:
    """Returns the mean of the process: the share of positives, moved by the scores.

    Args:
        problem: The units.
        labels: As in `predict`; shape (units,).

    Returns:
        Shape (units,).
    """
    prior: Floats = SCORE_PRIOR * problem.scores.mean(axis=1) if problem.scores.shape[1] else np.zeros(len(labels))
    known = np.isfinite(labels)
    # As if one more positive and five more negatives were known: a batch may hold only one kind.
    found: Floats = (labels[known].sum() + 1) / (known.sum() + 6) + prior
    return found


def predict(problem: Problem, labels: Floats, weights: Sequence[float] = (CONSTANT, SMOOTH, OWN, NOISE)) -> Floats:
    """Returns the expected label of every unit.

    Args:
        problem: The units.
        labels: Share of raters who said positive; nan for units that are not judged, of which nothing else is used.
            Shape (units,).
        weights: Of the terms of the covariance, and the variance of a label.

    Returns:
        Shape (units,); about 0 to 1, but not held there, so that an order is left among the surest.
    """
    from scipy.sparse.linalg import LinearOperator, cg

    constant, smooth, own, noise = weights
    first = before_learning(problem, labels)
    known = np.flatnonzero(np.isfinite(labels))
    if not len(known):
        return first
    where = problem.rows[known], problem.columns[known]
    scores = problem.scores[known]
    cell = where[0] * len(problem.column_likeness) + where[1]

    def over_grid(vector: Floats) -> Floats:
        """The covariance with every cell of the grid, of what the vector stands for, but for the scores."""
        shape = len(problem.row_likeness), len(problem.column_likeness)
        grid = np.bincount(cell, vector, minlength=shape[0] * shape[1]).reshape(shape)
        alike = problem.row_likeness @ grid
        of_columns = grid.sum(axis=0)
        found: Floats = smooth * (alike + grid + of_columns) @ problem.column_likeness
        found += own * (alike + of_columns + grid.sum(axis=1, keepdims=True)) + constant * vector.sum()
        return found

    def covariance(vector: Floats) -> Floats:
        found: Floats = over_grid(vector)[where] + own * (scores @ (scores.T @ vector)) + noise * vector
        return found

    operator = LinearOperator((len(known), len(known)), matvec=covariance, dtype=np.float64)
    solved, _ = cg(operator, labels[known] - first[known], rtol=TOLERANCE, maxiter=MOST_STEPS)
    expected = over_grid(solved)[problem.rows, problem.columns]
    found: Floats = first + expected + own * (problem.scores @ (scores.T @ solved))
    return found


RANDOM_SHARE = 0.2
# Of the probability of a draw, this much is in proportion to the uncertainty and the rest even. Positives are then
# drawn oftener, which costs less and says more; the even rest bounds the weight of those that the model overlooks.
BY_UNCERTAINTY = 0.8
LEAST, MOST = 0.01, 0.5  # expected labels are taken to be between these where chances are worked out


@dataclass(frozen=True)
class Choice:
    """The units of a batch, as places among all units.

    Attributes:
        drawn: Those taken by chance, in the order of the draws.
        probabilities: Of every draw, among what was left then.
        smallest: A lower bound of the probabilities of all that was left then.
        likely: Those expected to be positive, the likeliest first.
    """

    drawn: list[int]
    probabilities: list[float]
    smallest: list[float]
    likely: list[int]


def chances(expected: Floats) -> Floats:
    """Returns the probabilities of the first draw: mostly by the standard deviation of a label, partly even.

    A draw in proportion to the standard deviation sqrt(p (1 - p)) of the label gives the estimate of a total with the
    least variance.

    Args:
        expected: Expected labels of the units that are left; shape (units,).

    Returns:
        Shape (units,); they add up to 1.
    """
    bounded = np.clip(expected, LEAST, MOST)
    deviation = np.sqrt(bounded * (1 - bounded))
    found: Floats = (1 - BY_UNCERTAINTY) / len(expected) + BY_UNCERTAINTY * deviation / deviation.sum()
    return found


def choose(
    expected: Floats, left: npt.NDArray[np.bool_], *, size: int, random_share: float, generator: np.random.Generator
) -> Choice:
    """Chooses the next batch.

    Args:
        expected: Expected labels; shape (units,).
        left: Whether a unit may be chosen; shape (units,).
        size: Units in the batch; fewer if fewer are left.
        random_share: The part of them that is drawn by chance, rounded up.
        generator: Of the draws.
    """
    places: Places = np.flatnonzero(left)
    size = min(size, len(places))
    n_drawn = min(int(np.ceil(round(size * random_share, 9))), size)
    there = np.ones(len(places), dtype=bool)
    drawn, probabilities, smallest = [], [], []
    if n_drawn:
        even = chances(expected[places])
        least = float(even.min())
        for _ in range(n_drawn):
            among = np.where(there, even, 0.0)
            place = int(generator.choice(len(places), p=among / among.sum()))
            rest = float(among.sum())
            drawn.append(int(places[place]))
            probabilities.append(float(even[place]) / rest)
            smallest.append(least / rest)
            there[place] = False
    others = places[there]
    # Rounded, so that the last bits of a sum, which machines differ in, decide nothing.
    order = np.argsort(-np.round(expected[others], 6), kind="stable")[: size - n_drawn]
    return Choice(drawn, probabilities, smallest, [int(place) for place in others[order]])


def shuffled(units: Sequence[str], generator: np.random.Generator) -> list[str]:
    """Returns units in a random order, so that raters cannot tell likely from drawn ones."""
    return [units[place] for place in generator.permutation(len(units))]
