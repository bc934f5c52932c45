"""Bradley-Terry strengths of systems from counts of wins.

The model (Bradley and Terry, 1952): system i beats j with the probability 1 / (1 + exp(s_j - s_i)); a tie is half a win
for each. A normal prior with variance 100 keeps the strength of a system that wins or loses everything finite and
barely changes others. (evalica has no prior and fits one resample per call.)
"""

import numpy as np

from fcconan.scoring.arrays import Flags, Floats

PRECISION = 0.01  # of the prior
SMALL = 1e-9  # largest change of a log odds in the last step, whose error is the square of this


def strengths(wins: Floats) -> Floats:
    """Fits strengths by Newton's method, many tournaments at once.

    A step that changes a log odds by d is multiplied by log(1 + d) / d, which cannot overshoot (Sun and Tran-Dinh,
    2019).

    Args:
        wins: Number of wins of i over j, a tie being half a win for both; shape (..., systems, systems).

    Returns:
        Strengths in log odds, shape (..., systems), of mean 0; nan where the comparisons do not connect all systems.
    """
    from scipy.special import expit

    games, found = wins + wins.swapaxes(-1, -2), np.zeros(wins.shape[:-1])
    points, identity = wins.sum(axis=-1), np.eye(wins.shape[-1])
    change = np.inf
    while np.max(change, initial=0.0) > SMALL:
        expected = games * (chance := expit(found[..., :, None] - found[..., None, :]))
        weights = expected * (1 - chance)
        gradient = points - expected.sum(axis=-1) - PRECISION * found
        hessian = (weights.sum(axis=-1) + PRECISION)[..., None] * identity - weights
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        change = np.ptp(step, axis=-1)
        found += step * (np.log1p(change) / np.maximum(change, SMALL**2))[..., None]
    return np.where(connected(games)[..., None], found - found.mean(axis=-1, keepdims=True), np.nan)


def connected(games: Floats) -> Flags:
    """Returns whether comparisons connect all systems; shape (..., systems, systems) to (...)."""
    reached = np.minimum(games + np.eye(games.shape[-1]), 1.0) > 0
    for _ in range(games.shape[-1].bit_length()):
        reached = reached @ reached
    return np.asarray(reached.all(axis=(-1, -2)))
