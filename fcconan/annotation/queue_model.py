"""The active learning model: expected labels from the labels so far, and the choice of a batch.

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
from typing import Any, NamedTuple

import numpy as np

from fcconan.scoring import Flags, Floats, Ints

# Tuned on FC-CONAN's labels, without a held-out part: the first three by likelihood, the next two by the cost of
# replays. `benchmarks/queue_savings.py --part held-out` fits the first four on some HS and replays the others.
CONSTANT, SMOOTH, OWN, NOISE = 0.01, 0.03, 0.01, 0.05
SHARPNESS = 2.0  # decay of the similarity of texts
SCORE_PRIOR = 0.1  # prior effect of one standard deviation of the scores on the expected label
RANDOM_SHARE = 0.2
# Share of a draw's probability that is proportional to the uncertainty. It makes draws cheaper and more informative;
# the uniform rest bounds the weights of positives that the model misses.
BY_UNCERTAINTY = 0.8
LEAST, MOST = 0.01, 0.5  # bounds of expected labels in the probabilities of draws
# Tuned on FC-CONAN's labels. `benchmarks/queue_savings.py --part held-out` chooses EXPLORE on some HS and replays the
# others; values of COST from 0.05 to 0.1 save about the same.
EXPLORE = 0.2  # bonus of a unit in a column without answers
COST = 0.1  # cost of a draw, in positives, at which draws have the requested random share
MOST_DRAWN = 0.5  # largest share of draws in a batch, unless a larger random share is requested


class Problem(NamedTuple):
    """The features of the units.

    Attributes:
        rows: Row of every unit, such as its HS, from 0; shape (units,).
        columns: Column of every unit, such as its CN, from 0; shape (units,).
        row_likeness: Similarities of the rows' texts, from 0 to 1; shape (rows, rows).
        column_likeness: Similarities of the columns' texts, from 0 to 1; shape (columns, columns).
        scores: Standardised scores, higher for likelier positives; shape (units, scorers).
    """

    rows: Ints
    columns: Ints
    row_likeness: Floats
    column_likeness: Floats
    scores: Floats


def likeness(vectors: Any) -> Floats:
    """Returns similarities of centred vectors of texts: exp(-2 (1 - cosine)), and 1 on the diagonal."""
    centred = np.asarray(vectors, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > 1e-9)
    found: Floats = np.exp(-SHARPNESS * (1 - unit @ unit.T))
    np.fill_diagonal(found, 1.0)
    return found


def standardised(scores: Any) -> Floats:
    """Returns scores with mean 0 and standard deviation 1; missing ones (nan) get the mean. Shape (units, scorers)."""
    import pandas as pd

    frame = pd.DataFrame(scores)
    found: Floats = ((frame - frame.mean()) / frame.std(ddof=0)).fillna(0.0).to_numpy()
    return found


def before_learning(problem: Problem, labels: Floats) -> Floats:
    """Returns the prior mean: the share of positives, shifted by the scores. Labels are those of `predict`."""
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
    shape = len(problem.row_likeness), len(problem.column_likeness)

    def over_grid(vector: Floats) -> Floats:
        """Returns the covariance of weighted units with every cell of the grid, without the term of the scores."""
        grid = np.zeros(shape)
        np.add.at(grid, where, vector)
        alike, of_columns = problem.row_likeness @ grid, grid.sum(axis=0)
        found: Floats = smooth * (alike + grid + of_columns) @ problem.column_likeness
        found += own * (alike + of_columns + grid.sum(axis=1, keepdims=True)) + constant * vector.sum()
        return found

    def covariance(vector: Floats) -> Floats:
        found: Floats = over_grid(vector)[where] + own * (scores @ (scores.T @ vector)) + noise * vector
        return found

    operator = LinearOperator((len(known), len(known)), matvec=covariance, dtype=np.float64)
    solved, _ = cg(operator, labels[known] - first[known], rtol=1e-4, maxiter=500)
    expected = over_grid(solved)[problem.rows, problem.columns]
    found: Floats = first + expected + own * (problem.scores @ (scores.T @ solved))
    return found


def choose(
    expected: Floats,
    left: Flags,
    columns: Ints,
    *,
    size: int,
    random_share: float,
    generator: np.random.Generator,
    explore: float = EXPLORE,
) -> dict[str, list[Any]]:
    """Chooses the next batch: units drawn at random, and the most promising ones of the rest.

    A draw has a probability that is mostly proportional to the standard deviation sqrt(p (1 - p)) of the label, which
    minimises the variance of the estimated total, and partly uniform. The share of draws is random_share ** (cost /
    COST), rounded up and at most MOST_DRAWN or random_share; the cost is the difference between the mean expected
    labels of likely units and of draws. Draws are few while there are many likely positives. They become more frequent
    when likely positives run out; then they are more informative and narrow the interval of the recall.

    The value of another unit is expected + explore / sqrt(1 + n). n is the number of units of its column that were
    assigned before, or remain and are likelier. Like an upper confidence bound, this finds popular columns early, and
    spreads a batch over columns with few answers.

    Args:
        expected: Expected labels; shape (units,).
        left: Whether each unit may be chosen; shape (units,).
        columns: Column of each unit, from 0; shape (units,).
        size: Number of units in the batch; fewer if fewer remain.
        random_share: Share of draws, if a draw costs COST; 0 for no draws, 1 for draws only.
        generator: Source of randomness.
        explore: Weight of exploration; 0 orders by the expected label alone.

    Returns:
        Positions among all units: `drawn`, in the order of the draws, and `likely`, the most promising first. Of each
        draw `probabilities` has its probability, and `smallest` the lower bound of those of all remaining units.
    """
    places: Ints = np.flatnonzero(left)
    size = min(size, len(places))
    if not size:
        return {"drawn": [], "probabilities": [], "smallest": [], "likely": []}
    # Rounded, so that floating-point differences between machines do not change the choice.
    known, own = np.round(expected[places], 6), columns[places]
    given_out = np.bincount(columns[~left], minlength=int(columns.max()) + 1)
    by_column = np.lexsort((-known, own))
    likelier = np.empty(len(known))
    likelier[by_column] = np.arange(len(known)) - np.searchsorted(own[by_column], own[by_column])
    order = np.argsort(-np.round(known + explore / np.sqrt(1 + given_out[own] + likelier), 6), kind="stable")
    bounded = np.clip(known, LEAST, MOST)
    deviation = np.sqrt(bounded * (1 - bounded))
    even = (1 - BY_UNCERTAINTY) / len(known) + BY_UNCERTAINTY * deviation / deviation.sum()
    held = np.clip(known, 0, 1)
    cost = held[order[:size]].mean() - even @ held
    share = min(max(random_share, MOST_DRAWN), random_share ** (cost / COST)) if random_share else 0.0
    among, drawn, probabilities, smallest = even.copy(), [], [], []
    for _ in range(min(int(np.ceil(round(size * share, 9))), size)):
        rest = among.sum()
        place = int(generator.choice(len(places), p=among / rest))
        drawn.append(place)
        probabilities.append(float(even[place] / rest))
        smallest.append(float(even.min() / rest))
        among[place] = 0.0
    likely = order[among[order] > 0][: size - len(drawn)]
    return {
        "drawn": places[drawn].tolist(),
        "probabilities": probabilities,
        "smallest": smallest,
        "likely": places[likely].tolist(),
    }
