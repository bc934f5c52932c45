"""Bradley-Terry strengths of systems from counts of wins, with many fits at once for the bootstrap.

The model (Bradley and Terry, 1952): system i beats j with the probability 1 / (1 + exp(s_j - s_i)). A tie is half a win
for each. Strengths are on the scale of natural log odds, and their mean is 0. The objective to maximise is

    sum over i, j of  wins[i, j] * log(1 / (1 + exp(s_j - s_i)))  -  regularisation / 2 * sum over i of  s_i ** 2

The last term is a normal prior with variance 1 / regularisation. Without it, a system that wins or loses all its
comparisons would have an infinite strength. The default, a standard deviation of 10, barely changes other strengths.

The solver is Newton's method with the damped step of Sun and Tran-Dinh (2019) for generalised self-concordant
functions, which cannot overshoot. If a full step changes a log odds by d, it is multiplied by log(1 + d) / d.
"""

from dataclasses import dataclass

import numpy as np

from fcconan.scoring.arrays import Flags, Floats
from fcconan.scoring.significance.intervals import CHUNK, draws, safe_divide

REGULARISATION = 0.01
LIMIT = 200  # steps; a fit takes about 5 to 20
SMALL = 1e-9  # largest change of a log odds in the last step, whose error is the square of this


def strengths(wins: Floats, *, regularisation: float = REGULARISATION, start: Floats | None = None) -> Floats:
    """Fits Bradley-Terry strengths.

    Args:
        wins: Number of wins of i over j, a tie being half a win for both; shape (..., systems, systems).
        regularisation: Precision of the prior; above 0.
        start: Initial strengths, shape (systems,), which affect only the speed; None for 0.

    Returns:
        Strengths, shape (..., systems), of mean 0. They are comparable only where `connected` is true.

    Raises:
        ValueError: The regularisation is not above 0.
    """
    if not regularisation > 0:
        raise ValueError(f"the regularisation is {regularisation}, expected a number above 0")
    flat = wins.reshape(-1, *wins.shape[-2:]).astype(np.float64, copy=False)
    size = max(1, CHUNK // max(1, flat.shape[-1] ** 2))
    parts = [_newton(flat[at : at + size], regularisation, start) for at in range(0, len(flat), size)]
    return np.concatenate(parts).reshape(wins.shape[:-1]) if parts else np.zeros(wins.shape[:-1])


def _newton(wins: Floats, regularisation: float, start: Floats | None) -> Floats:
    fits, systems = wins.shape[:2]
    games, won = wins + wins.swapaxes(1, 2), wins.sum(axis=2)
    diagonal = np.arange(systems)
    games[:, diagonal, diagonal] = 0.0
    won -= np.einsum("fii->fi", wins)
    found = np.zeros((fits, systems)) if start is None else np.tile(start - start.mean(), (fits, 1))
    for _ in range(LIMIT):
        probability = _logistic(found[:, :, None] - found[:, None, :])
        hessian = games * probability
        gradient = won - hessian.sum(axis=2) - regularisation * found
        np.subtract(1, probability, out=probability)
        hessian *= probability
        total = hessian.sum(axis=2)
        # The objective barely changes if all strengths move together. Adding a constant keeps the matrix from being
        # nearly singular, and does not change the step, because the gradient is 0 in that direction.
        np.subtract(total.mean(axis=1)[:, None, None] / systems, hessian, out=hessian)
        hessian[:, diagonal, diagonal] += total + regularisation
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        step -= step.mean(axis=1, keepdims=True)
        change = np.ptp(step, axis=1)
        found += step * _damping(change)[:, None]
        if change.max(initial=0.0) <= SMALL:
            return found - found.mean(axis=1, keepdims=True)
    raise ArithmeticError(f"Bradley-Terry: no convergence in {LIMIT} steps")  # the steps above cannot fail to converge


def _logistic(odds: Floats) -> Floats:
    small = np.abs(odds)
    np.exp(np.negative(small, out=small), out=small)
    found = np.where(odds >= 0, 1.0, small)
    small += 1.0
    found /= small
    return found


def _damping(change: Floats) -> Floats:
    return np.divide(np.log1p(change), change, out=np.ones_like(change), where=change > 0)


def _reachable(beats: Flags) -> Flags:
    """Returns whether j is reached from i in any number of steps; shape (..., systems, systems)."""
    size = beats.shape[-1]
    reached = (beats | np.eye(size, dtype=bool)).astype(np.float32)
    for _ in range(max(1, (size - 1).bit_length())):
        reached = np.minimum(reached @ reached, 1.0)
    return reached > 0


def connected(wins: Floats) -> Flags:
    """Returns whether comparisons connect all systems, directly or indirectly; shape (..., systems, systems) to (...).

    Strengths of systems that are not connected cannot be compared.
    """
    return np.asarray(_reachable((wins + wins.swapaxes(-1, -2)) > 0).all(axis=(-1, -2)))


def components(wins: Floats) -> list[list[int]]:
    """Returns groups of positions of connected systems; `wins` has shape (systems, systems)."""
    return _groups(_reachable((wins + wins.T) > 0))


def separated(wins: Floats) -> list[list[int]]:
    """Returns groups of systems without a point against any earlier group, best group first.

    With more than one group, the likelihood has no maximum (Ford, 1957): distances between the groups depend on the
    regularisation alone.

    Args:
        wins: Number of wins of i over j, shape (systems, systems), for connected systems.
    """
    reached = _reachable(wins > 0)
    groups = _groups(reached & reached.T)
    return sorted(groups, key=lambda group: -int(reached[group[0]].sum()))


def _groups(same: Flags) -> list[list[int]]:
    leaders = same.argmax(axis=1) if same.size else np.zeros(0, dtype=np.int64)
    return [np.flatnonzero(leaders == leader).tolist() for leader in np.unique(leaders)]


@dataclass(frozen=True)
class TournamentScores:
    """Shares and strengths of systems, and their values in resamples of the items.

    Attributes:
        ranked: Positions of the systems with a readable verdict.
        groups: Positions of the systems of each connected group.
        separated: Result of `separated`; empty if the comparisons do not connect all systems.
        met: Number of comparisons of each pair, in the order of `itertools.combinations`; shape (pairs,).
        shares: Percentage of all points, shape (systems,); nan for a system without a readable verdict.
        strengths: Bradley-Terry strengths, shape (systems,); nan if they are not comparable.
        drawn_shares: Shares in the resamples, shape (resamples, systems).
        drawn_strengths: Strengths in the resamples, shape (resamples, systems); nan for resamples that do not connect
            the systems.
    """

    ranked: list[int]
    groups: list[list[int]]
    separated: list[list[int]]
    met: Floats
    shares: Floats
    strengths: Floats
    drawn_shares: Floats
    drawn_strengths: Floats


def score_tournament(per_item: Floats, regularisation: float, resamples: int, seed: int) -> TournamentScores:
    """Computes shares and strengths, and resamples the items.

    Args:
        per_item: Number of wins of i over j on each item, a tie being half a win for both; shape (items, systems,
            systems).
        regularisation: See `strengths`.
        resamples: Number of resamples of the items, each with all its verdicts; a single item is not resampled.
        seed: Seed of the bootstrap.
    """
    wins = per_item.sum(axis=0)
    games = wins + wins.T
    count, size = per_item.shape[:2]
    ranked = np.flatnonzero(games.any(axis=1)).tolist()
    within = wins[np.ix_(ranked, ranked)]
    groups = components(within)
    resamples = resamples if count > 1 else 0
    sums = _resample_sums(per_item, resamples, seed)
    del per_item
    found, drawn = np.full(size, np.nan), np.full((resamples, size), np.nan)
    apart: list[list[int]] = []
    if len(groups) == 1:
        estimate = strengths(within, regularisation=regularisation)
        mine = sums if len(ranked) == size else sums[:, ranked][:, :, ranked]
        resampled = strengths(mine, regularisation=regularisation, start=estimate)
        found[ranked], drawn[:, ranked] = estimate, np.where(connected(mine)[:, None], resampled, np.nan)
        apart = separated(within)
    shares, drawn_shares = (_shares(each.sum(axis=-1)) for each in (wins, sums))
    unranked = ~games.any(axis=1)
    shares[unranked], drawn_shares[:, unranked] = np.nan, np.nan
    return TournamentScores(
        ranked,
        [[ranked[i] for i in group] for group in groups],
        [[ranked[i] for i in group] for group in apart],
        games[np.triu_indices(size, k=1)],
        shares,
        found,
        drawn_shares,
        drawn,
    )


def _resample_sums(per_item: Floats, resamples: int, seed: int) -> Floats:
    """Computes sums over resampled items; shape (items, systems, systems) to (resamples, systems, systems).

    They equal the means of `bootstrap_means` times the number of items, and need less memory.
    """
    count, size = per_item.shape[:2]
    sums, done = np.zeros((resamples, size, size)), 0
    for weights in draws(count, resamples, seed):
        means = weights @ per_item.reshape(count, -1) / count
        sums[done : done + len(weights)] = (means * count).reshape(-1, size, size)
        done += len(weights)
    return sums


def _shares(points: Floats) -> Floats:
    return safe_divide(100 * points, points.sum(axis=-1, keepdims=True))
