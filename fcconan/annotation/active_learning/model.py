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
# The three that follow were set with FC-CONAN's labels in view. `benchmarks/queue_savings.py --part held-out` chooses
# EXPLORE on some HS and replays the others; COST from 0.05 to 0.1 saves about as much.
EXPLORE = 0.2  # added to the expected label of a unit in a column of which nothing is known
COST = 0.1  # positives that a draw costs where the random share is what was asked for
MOST_DRAWN = 0.5  # of a batch, unless a larger random share was asked for


@dataclass(frozen=True)
class Choice:
    """The units of a batch, as places among all units.

    Attributes:
        drawn: Those taken by chance, in the order of the draws.
        probabilities: Of every draw, among what was left then.
        smallest: A lower bound of the probabilities of all that was left then.
        likely: The others, the most promising first.
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


def promising(expected: Floats, columns: Places, given_out: Places, *, explore: float = EXPLORE) -> Places:
    """Returns the units that are left in the order in which they are worth a judgement as likely positives.

    A unit has the worth expected + explore / sqrt(1 + n): n is the number of units of its column that were given out
    before, or are left and likelier. Popular columns are so found early, as by an upper confidence bound, and a batch
    is spread over columns as long as little is known of them.

    Args:
        expected: Expected labels of the units that are left; shape (units,).
        columns: Their columns; shape (units,).
        given_out: Units given out before, of every column; shape (columns,).
        explore: The weight of what is unknown; 0 orders by the expected label alone.

    Returns:
        Places, the best first; ties in the order of the units. Shape (units,).
    """
    by_column = np.lexsort((-expected, columns))
    starts = np.searchsorted(columns[by_column], np.arange(len(given_out)))
    likelier = np.empty(len(expected))
    likelier[by_column] = np.arange(len(expected)) - starts[columns[by_column]]
    worth = expected + explore / np.sqrt(1 + given_out[columns] + likelier)
    found: Places = np.argsort(-np.round(worth, 6), kind="stable")
    return found


def drawn_share(random_share: float, cost: float) -> float:
    """Returns the part of a batch that is drawn by chance: the larger, the fewer positives a draw costs.

    It is `random_share` ** (cost / COST), at most MOST_DRAWN or `random_share`. While likely positives abound draws are
    few; they come when likely units run out, say as much then, and narrow the interval where work may stop.

    Args:
        random_share: The part where a draw costs COST; 0 for no draws, 1 for draws only.
        cost: By how much the mean expected label of likely units is above that of draws.
    """
    if not random_share:
        return 0.0
    found: float = min(max(random_share, MOST_DRAWN), random_share ** (cost / COST))
    return found


def choose(
    expected: Floats,
    left: npt.NDArray[np.bool_],
    columns: Places,
    *,
    size: int,
    random_share: float,
    generator: np.random.Generator,
    explore: float = EXPLORE,
) -> Choice:
    """Chooses the next batch.

    Args:
        expected: Expected labels; shape (units,).
        left: Whether a unit may be chosen; shape (units,).
        columns: Of the units, from 0; shape (units,).
        size: Units in the batch; fewer if fewer are left.
        random_share: The part of them that is drawn by chance, as `drawn_share` takes it; rounded up.
        generator: Of the draws.
        explore: As in `promising`.
    """
    places: Places = np.flatnonzero(left)
    size = min(size, len(places))
    if not size:
        return Choice([], [], [], [])
    # Rounded, so that the last bits of a sum, which machines differ in, decide nothing.
    known = np.round(expected[places], 6)
    given_out = np.bincount(columns[~left], minlength=int(columns.max()) + 1)
    order = promising(known, columns[places], given_out, explore=explore)
    even = chances(known)
    held = np.clip(known, 0, 1)
    share = drawn_share(random_share, float(held[order[:size]].mean() - even @ held))
    n_drawn = min(int(np.ceil(round(size * share, 9))), size)
    there = np.ones(len(places), dtype=bool)
    drawn, probabilities, smallest = [], [], []
    least = float(even.min())
    for _ in range(n_drawn):
        among = np.where(there, even, 0.0)
        rest = float(among.sum())
        place = int(generator.choice(len(places), p=among / rest))
        drawn.append(int(places[place]))
        probabilities.append(float(even[place]) / rest)
        smallest.append(least / rest)
        there[place] = False
    likely = places[order[there[order]]][: size - n_drawn]
    return Choice(drawn, probabilities, smallest, [int(place) for place in likely])


def shuffled(units: Sequence[str], generator: np.random.Generator) -> list[str]:
    """Returns units in a random order, so that raters cannot tell likely from drawn ones."""
    return [units[place] for place in generator.permutation(len(units))]
