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

from fcconan.scoring.arrays import Flags, Floats, Ints
from fcconan.scoring.significance.intervals import CHUNK, draws, safe_divide

REGULARISATION = 0.01
LIMIT = 200  # steps; a fit takes about 5 to 20
NEAR = 0.3  # largest change of a log odds for an undamped step
CLOSE = 0.005  # SMALL for resamples of length-controlled strengths
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


@dataclass(frozen=True)
class LengthControlled:
    """Strengths at equal length, and the effect of length.

    Attributes:
        strengths: Strengths at equal length, shape (systems,); their mean is 0.
        weight: Log odds that a much longer reply gains; None if replies never differ in length.
        scale: Standard deviation of the differences in length, in the unit of the lengths.
        draws: Resampled strengths and, in the last column, weights; shape (resamples, systems + 1), nan for resamples
            that do not connect the systems.
    """

    strengths: Floats
    weight: float | None
    scale: float
    draws: Floats


def length_controlled(
    first: Ints,
    second: Ints,
    outcome: Floats,
    difference: Floats,
    items: Ints,
    *,
    systems: int,
    regularisation: float = REGULARISATION,
    resamples: int = 10_000,
    seed: int = 0,
) -> LengthControlled:
    """Fits strengths together with the effect of the replies' lengths, similar to AlpacaEval 2.

    The model is a logistic regression: log odds = s_first - s_second + weight * tanh(difference / scale). Both orders
    of a comparison are equivalent, so the mean difference is 0 and its standard deviation, `scale`, is the root mean
    square. Strengths are log odds for replies of equal length (Dubois et al., 2024, "Length-Controlled AlpacaEval",
    without its term for the difficulty of an item). Weight and strengths have the same regularisation.

    The model is fitted again for each resample of the items, with the same scale.

    Args:
        first: Positions of the first systems, shape (comparisons,).
        second: Positions of the second systems, shape (comparisons,).
        outcome: 1 if the first system won, 0 if the second won, 0.5 for a tie; shape (comparisons,).
        difference: Length of the first reply minus that of the second, shape (comparisons,).
        items: Positions of the items, from 0 and without gaps; shape (comparisons,).
        systems: Number of systems.
        regularisation: See `strengths`.
        resamples: Number of resamples of the items.
        seed: Seed of the bootstrap.

    Returns:
        The estimate and its resamples.
    """
    order = np.argsort(items, kind="stable")
    first, second, items = first[order], second[order], items[order]
    outcome, difference = outcome[order], difference[order]
    scale = float(np.sqrt(np.mean(difference**2))) if len(difference) else 0.0
    rows = np.arange(len(first))
    design = np.zeros((len(first), systems + 1))
    design[rows, first] += 1.0
    design[rows, second] -= 1.0
    design[:, systems] = np.tanh(difference / scale) if scale > 0 else 0.0
    together = np.append(np.ones(systems), 0.0)[:, None] * np.append(np.ones(systems), 0.0)
    penalty = regularisation * np.eye(systems + 1) + together * len(first) / systems**2
    size = max(1, CHUNK // len(design))
    model = _LengthModel(design, outcome, penalty, regularisation)
    found = model.fit(np.ones((1, len(first))), np.zeros(systems + 1), SMALL)[0]
    drawn = np.concatenate(
        [
            np.zeros((0, systems + 1)),
            *(
                model.fit(weights[start : start + size][:, items], found, CLOSE)
                for weights in draws(int(items.max()) + 1, resamples, seed)
                for start in range(0, len(weights), size)
            ),
        ]
    )
    for fit in (found[None], drawn):
        fit[:, :systems] -= fit[:, :systems].mean(axis=1, keepdims=True)
    drawn[~connected(_resample_sums(_count_comparisons(first, second, items, systems), resamples, seed))] = np.nan
    return LengthControlled(found[:systems], float(found[systems]) if scale > 0 else None, scale, drawn)


def _count_comparisons(first: Ints, second: Ints, items: Ints, systems: int) -> Floats:
    """Counts the comparisons of each pair on each item; shape (items, systems, systems)."""
    games = np.zeros((int(items.max(initial=-1)) + 1, systems, systems))
    np.add.at(games, (items, first, second), 1.0)
    return games


class _LengthModel:
    """The logistic regression of `length_controlled`, for many weightings of the comparisons at once.

    Args:
        design: Design matrix, shape (comparisons, systems + 1): 1 for the first and -1 for the second system of a
            comparison, and in the last column tanh(difference / scale).
        outcome: See `length_controlled`.
        penalty: Constant part of the second derivatives, shape (systems + 1, systems + 1).
        regularisation: See `strengths`.
    """

    def __init__(self, design: Floats, outcome: Floats, penalty: Floats, regularisation: float) -> None:
        self.systems = design.shape[1] - 1
        # Comparisons of a pair of systems differ only in the last column, so they are summed.
        self.pairs, pair = np.unique(design[:, : self.systems], axis=0, return_inverse=True)
        self.order = np.argsort(pair.ravel(), kind="stable")
        self.starts = np.flatnonzero(np.diff(pair.ravel()[self.order], prepend=-1))
        self.squares = (self.pairs[:, :, None] * self.pairs[:, None, :]).reshape(len(self.pairs), -1)
        self.design, self.outcome = design[self.order], outcome[self.order]
        self.length = self.design[:, self.systems]
        self.penalty, self.regularisation = penalty, regularisation

    def fit(self, weights: Floats, start: Floats, tolerance: float) -> Floats:
        """Fits weighted comparisons.

        Args:
            weights: Weights of the comparisons, shape (fits, comparisons).
            start: Initial strengths and weight of length, shape (systems + 1,).
            tolerance: Largest change of a log odds in the last step.

        Returns:
            Strengths and, in the last column, the weight of length; shape (fits, systems + 1).
        """
        weights = weights[:, self.order]
        fits, moving = np.tile(start, (len(weights), 1)), np.arange(len(weights))
        for _ in range(LIMIT):
            step = self._step(fits[moving], weights[moving])
            # Upper bound of the change of a log odds, because tanh is at most 1.
            change = np.ptp(step[:, : self.systems], axis=1) + np.abs(step[:, self.systems])
            # Near the solution, full steps converge quadratically.
            fits[moving] += step * np.where(change < NEAR, 1.0, _damping(change))[:, None]
            moving = moving[change > tolerance]
            if not len(moving):
                return fits
        raise ArithmeticError(f"length-controlled strengths: no convergence in {LIMIT} steps")

    def _step(self, fits: Floats, weights: Floats) -> Floats:
        last = self.systems
        probability = 0.5 + 0.5 * np.tanh(fits @ (self.design.T / 2))  # the logistic function, in fewer passes
        spread, residual = weights * probability, weights * self.outcome
        residual -= spread
        spread *= 1 - probability
        gradient = -self.regularisation * fits
        gradient[:, :last] += np.add.reduceat(residual, self.starts, axis=1) @ self.pairs
        gradient[:, last] += residual @ self.length
        hessian = np.tile(self.penalty, (len(fits), 1, 1))
        within = np.add.reduceat(spread, self.starts, axis=1) @ self.squares
        hessian[:, :last, :last] += within.reshape(len(fits), last, last)
        across = np.add.reduceat(spread * self.length, self.starts, axis=1) @ self.pairs
        hessian[:, :last, last] += across
        hessian[:, last, :last] += across
        hessian[:, last, last] += spread @ self.length**2
        return np.asarray(np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0], dtype=np.float64)
