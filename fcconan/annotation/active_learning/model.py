"""The active learning model: expected labels from the labels so far, and the selection of a batch.

The model is a Gaussian process over rows and columns (HS and CNs of pairs), for labels 0 and 1. Let r and c be the row
and column of a unit, s its scores, K the similarity of texts, and I 1 for the same row or column and 0 otherwise. The
covariance of two units is

    SMOOTH (1 + I(r, r') + K(r, r')) K(c, c')
    + OWN (I(r, r') + I(c, c') + K(r, r') I(c, c') + s s')
    + CONSTANT

It models rows and columns with many positives, CNs similar to a positive one, and similar HS. All terms except that of
the scores are products of a matrix over rows and a matrix over columns. No matrix over units is needed: the equations
are solved by conjugate gradients.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

# Tuned on FC-CONAN's labels, without a held-out part: the first three by likelihood, noise and sharpness by the cost
# of replays. `benchmarks/queue_savings.py --part held-out` fits all four on some HS and replays the others.
CONSTANT, SMOOTH, OWN, NOISE = 0.01, 0.03, 0.01, 0.05
SHARPNESS = 2.0  # decay of the similarity of texts
SCORE_PRIOR = 0.1  # prior effect of one standard deviation of the scores on the expected label
TOLERANCE = 1e-4
MOST_STEPS = 500


@dataclass(frozen=True)
class Problem:
    """The features of the units.

    Attributes:
        rows: Row of every unit, such as its HS, from 0; shape (units,).
        columns: Column of every unit, such as its CN, from 0; shape (units,).
        row_likeness: Similarities of the rows' texts, from 0 to 1; shape (rows, rows).
        column_likeness: Similarities of the columns' texts, from 0 to 1; shape (columns, columns).
        scores: Standardised scores, higher for likelier positives; shape (units, scorers).
    """

    rows: Places
    columns: Places
    row_likeness: Floats
    column_likeness: Floats
    scores: Floats


def likeness(vectors: Any) -> Floats:
    """Returns similarities of centred vectors: exp(-2 (1 - cosine)).

    Args:
        vectors: Vectors of texts; zero for texts without words. Shape (texts, dimensions).

    Returns:
        Similarities, 1 on the diagonal; shape (texts, texts).
    """
    centred = np.asarray(vectors, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 1e-9)
    found: Floats = np.exp(-SHARPNESS * (1 - unit @ unit.T))
    np.fill_diagonal(found, 1.0)
    return found


def standardised(scores: Sequence[Floats], n_units: int) -> Floats:
    """Returns scores with mean 0 and standard deviation 1; missing scores (nan) get the mean.

    Args:
        scores: Scores of each scorer; shape (units,) each.
        n_units: Number of units.

    Returns:
        Standardised scores; shape (units, scorers).
    """
    found = np.zeros((n_units, len(scores)))
    for place, values in enumerate(scores):
        known = np.isfinite(values)
        if known.any() and (deviation := values[known].std()) > 0:
            found[known, place] = (values[known] - values[known].mean()) / deviation
    return found


def before_learning(problem: Problem, labels: Floats) -> Floats:
    """Returns the prior mean: the share of positives, shifted by the scores.

    Args:
        problem: Features of the units.
        labels: Labels as for `predict`; shape (units,).

    Returns:
        Prior means; shape (units,).
    """
    prior: Floats = SCORE_PRIOR * problem.scores.mean(axis=1) if problem.scores.shape[1] else np.zeros(len(labels))
    known = np.isfinite(labels)
    # Pseudo-counts of one positive and five negatives: a batch may consist of one kind only.
    found: Floats = (labels[known].sum() + 1) / (known.sum() + 6) + prior
    return found


def predict(problem: Problem, labels: Floats, weights: Sequence[float] = (CONSTANT, SMOOTH, OWN, NOISE)) -> Floats:
    """Returns the expected label of every unit.

    Args:
        problem: Features of the units.
        labels: Share of positive answers; nan for units without answers. Shape (units,).
        weights: Weights of the three terms of the covariance, and variance of a label.

    Returns:
        Expected labels; shape (units,). Values outside 0 to 1 are not clipped, which retains the order of certain
        units.
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
        """Returns the covariance of weighted units with every cell of the grid, without the term of the scores."""
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
# Share of a draw's probability that is proportional to the uncertainty. It makes draws cheaper and more informative;
# the uniform rest bounds the weights of positives that the model misses.
BY_UNCERTAINTY = 0.8
LEAST, MOST = 0.01, 0.5  # bounds of expected labels in `chances`
# The next three values were tuned on FC-CONAN's labels. `benchmarks/queue_savings.py --part held-out` chooses EXPLORE
# on some HS and replays the others; values of COST from 0.05 to 0.1 save about the same.
EXPLORE = 0.2  # bonus of a unit in a column without answers
COST = 0.1  # cost of a draw, in positives, at which draws have the requested random share
MOST_DRAWN = 0.5  # maximum share of draws in a batch, unless a larger random share is requested


@dataclass(frozen=True)
class Choice:
    """A batch of units, as positions among all units.

    Attributes:
        drawn: Units drawn at random, in the order of the draws.
        probabilities: Probability of each draw among the remaining units.
        smallest: Lower bound of the probabilities of all remaining units at each draw.
        likely: Other units, the most promising first.
    """

    drawn: list[int]
    probabilities: list[float]
    smallest: list[float]
    likely: list[int]


def chances(expected: Floats) -> Floats:
    """Returns the probabilities of the first draw: mostly proportional to the standard deviation of a label, partly
    uniform.

    Draws proportional to the standard deviation sqrt(p (1 - p)) of the label minimise the variance of the estimated
    total.

    Args:
        expected: Expected labels of the remaining units; shape (units,).

    Returns:
        Probabilities with the sum 1; shape (units,).
    """
    bounded = np.clip(expected, LEAST, MOST)
    deviation = np.sqrt(bounded * (1 - bounded))
    found: Floats = (1 - BY_UNCERTAINTY) / len(expected) + BY_UNCERTAINTY * deviation / deviation.sum()
    return found


def promising(expected: Floats, columns: Places, given_out: Places, *, explore: float = EXPLORE) -> Places:
    """Orders the remaining units by their value as likely positives.

    The value of a unit is expected + explore / sqrt(1 + n). n is the number of units of its column that were assigned
    before, or remain and are likelier. Like an upper confidence bound, this finds popular columns early, and spreads a
    batch over columns with few answers.

    Args:
        expected: Expected labels of the remaining units; shape (units,).
        columns: Columns of these units; shape (units,).
        given_out: Number of units assigned before, by column; shape (columns,).
        explore: Weight of exploration; 0 orders by the expected label alone.

    Returns:
        Positions, the best first; ties in the order of the units. Shape (units,).
    """
    by_column = np.lexsort((-expected, columns))
    starts = np.searchsorted(columns[by_column], np.arange(len(given_out)))
    likelier = np.empty(len(expected))
    likelier[by_column] = np.arange(len(expected)) - starts[columns[by_column]]
    worth = expected + explore / np.sqrt(1 + given_out[columns] + likelier)
    found: Places = np.argsort(-np.round(worth, 6), kind="stable")
    return found


def drawn_share(random_share: float, cost: float) -> float:
    """Returns the share of a batch that is drawn at random; it decreases with the cost of a draw in positives.

    It is `random_share` ** (cost / COST), at most MOST_DRAWN or `random_share`. Draws are few while there are many
    likely
    positives. They become more frequent when likely positives run out; then they are more informative and narrow the
    interval of the recall.

    Args:
        random_share: Share of draws if a draw costs COST; 0 for no draws, 1 for draws only.
        cost: Difference between the mean expected labels of likely units and of draws.
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
        left: Whether each unit may be chosen; shape (units,).
        columns: Column of each unit, from 0; shape (units,).
        size: Number of units in the batch; fewer if fewer remain.
        random_share: Share of units drawn at random, as for `drawn_share`; rounded up.
        generator: Source of randomness.
        explore: Weight of exploration, as for `promising`.
    """
    places: Places = np.flatnonzero(left)
    size = min(size, len(places))
    if not size:
        return Choice([], [], [], [])
    # Rounded, so that floating-point differences between machines do not change the choice.
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
    """Returns units in random order, so that raters cannot distinguish likely units from random ones."""
    return [units[place] for place in generator.permutation(len(units))]
