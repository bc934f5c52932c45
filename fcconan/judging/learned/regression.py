"""Kernel ridge regression on landmarks, from features to ratings.

Features are standardised, projected to their principal components, and compared with landmarks by a Gaussian kernel
(Nyström method, Williams and Seeger 2000). Ratings are a ridge regression on these kernel features. Landmarks are
samples of a normal distribution with the covariance of the training features, not training rows, so that a saved rater
contains no vector of a text. Components and landmarks do not depend on ratings.

    space = fit_space(features, seed=0)
    points = space.points(features)
    models = Learner(space, points, ratings, groups, seed=0).fit(rows)
    models.predict(space, points)      # shape (n, aspects)
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fcconan.data import balanced_folds
from fcconan.errors import InputError
from fcconan.judging.learned.features import EMBEDDING, RATINGS, SURFACE, Features
from fcconan.judging.learned.rated_texts import Floats, Ints, RatedTexts

COMPONENTS = 256  # principal components
LANDMARKS = 500  # or twice the replies, if that is less
GAMMAS = (0.15, 0.6)  # parameters of the kernel exp(-gamma * squared distance); a point's mean square is about 1
ALPHAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # penalties of the ridge regression
INNER_FOLDS = 5
FEWEST = 10  # smallest number of ratings for the model of an aspect
_WEIGHTS = {EMBEDDING: 1.0, SURFACE: 0.5, RATINGS: 1.0}  # root of the share of a block in the squared distance
_JITTER = 1e-9  # smallest eigenvalue of the landmarks' kernel that counts
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Space:
    """Space of replies: principal components of features, with landmarks.

    Attributes:
        widths: Block of features -> its width, in order; they add up to p.
        centre: Mean of each feature, shape (p,).
        scale: Factor of each feature, shape (p,).
        components: Principal components, shape (p, k).
        landmarks: Landmarks of the kernel, shape (landmarks, k).
    """

    widths: dict[str, int]
    centre: Floats
    scale: Floats
    components: Floats
    landmarks: Floats

    def points(self, features: Features) -> Floats:
        """Returns the points of replies, shape (n, k); missing features are replaced by their means.

        Raises:
            InputError: The features differ from those of the training.
        """
        return self.scaled(features) @ self.components

    def scaled(self, features: Features) -> Floats:
        """Returns the standardised features of replies, shape (n, p).

        Raises:
            InputError: The features differ from those of the training.
        """
        if features.widths != self.widths:
            raise InputError(f"found features {features.widths}, expected those of the training, {self.widths}")
        return np.nan_to_num((_concatenate(features) - self.centre) * self.scale)

    def kernel(self, points: Floats, gamma: float) -> Floats:
        """Returns exp(-gamma * squared distance) of points and landmarks, shape (n, landmarks)."""
        return _kernel(points, self.landmarks, gamma)

    def whitening(self, gamma: float) -> Floats:
        """Returns the inverse root of the landmarks' kernel, shape (landmarks, landmarks)."""
        values, vectors = np.linalg.eigh(_kernel(self.landmarks, self.landmarks, gamma))
        return np.asarray(vectors / np.sqrt(np.maximum(values, _JITTER)) @ vectors.T)


@dataclass(frozen=True, eq=False)
class Models:
    """A regression for each of m aspects: intercept + kernel(point, landmarks) @ coefficients.

    Attributes:
        gammas: Kernel parameter of each aspect, shape (m,).
        alphas: Penalty of each aspect, shape (m,).
        intercepts: Shape (m,); nan for an aspect with too few ratings.
        coefficients: Shape (m, landmarks).
        counts: Number of ratings in the training of each aspect, shape (m,).
    """

    gammas: Floats
    alphas: Floats
    intercepts: Floats
    coefficients: Floats
    counts: Ints

    def predict(self, space: Space, points: Floats) -> Floats:
        """Returns the prediction of each aspect, shape (n, m)."""
        found = np.full((len(points), len(self.gammas)), np.nan)
        for gamma in np.unique(self.gammas):
            own = self.gammas == gamma
            found[:, own] = space.kernel(points, float(gamma)) @ self.coefficients[own].T + self.intercepts[own]
        return found


def check_number_of_ratings(table: RatedTexts) -> None:
    """Checks that at least one aspect has enough ratings for a model.

    Raises:
        InputError: Each aspect has too few ratings, or ratings of one leakage group only.
    """
    rated = [table.groups[~np.isnan(column)] for column in table.ratings.T]
    enough = [groups for groups in rated if len(groups) >= FEWEST]
    if not enough:
        found = ", ".join(f"{aspect.name} {len(groups)}" for aspect, groups in zip(table.aspects, rated, strict=True))
        raise InputError(
            f"found too few replies with a rating by people ({found}), expected {FEWEST} or more of one aspect: give "
            "more rated replies, or a higher --limit"
        )
    if all(len(np.unique(groups)) < 2 for groups in enough):
        raise InputError(
            "found ratings of replies to one HS or its near-duplicates, expected two or more different HS: give more "
            "replies"
        )


def fit_space(features: Features, *, seed: int = 0) -> Space:
    """Fits the space of features.

    Args:
        features: Features of all replies.
        seed: Seed of the landmarks.

    Raises:
        InputError: There are fewer than two replies.
    """
    if len(features) < 2:
        raise InputError(f"found {len(features)} replies to learn from, expected two or more")
    values = _concatenate(features)
    known = ~np.isnan(values)
    number = np.maximum(known.sum(axis=0), 1)
    centre = np.where(known, values, 0.0).sum(axis=0) / number
    spread = np.sqrt(np.where(known, (values - centre) ** 2, 0.0).sum(axis=0) / number)
    shares = {name: _WEIGHTS[name] ** 2 for name in features.widths}
    weights = [
        np.full(width, np.sqrt(shares[name] / sum(shares.values()) / width)) for name, width in features.widths.items()
    ]
    scale = np.where(spread > 1e-9, np.concatenate(weights) / np.maximum(spread, 1e-9), 0.0)
    space = Space(features.widths, centre, scale, np.zeros((len(centre), 0)), np.zeros((0, 0)))
    scaled = space.scaled(features)
    components, deviations = _principal(scaled)
    drawn = np.random.default_rng(seed).standard_normal((min(LANDMARKS, 2 * len(features)), components.shape[1]))
    return replace(space, components=components, landmarks=drawn * deviations)


def _principal(scaled: Floats) -> tuple[Floats, Floats]:
    """Returns the principal components of centred rows, shape (p, k), and the standard deviation along each."""
    from scipy.linalg import eigh

    rows, width = scaled.shape
    wide = rows < width
    square = scaled @ scaled.T if wide else scaled.T @ scaled
    most = min(COMPONENTS, len(square))
    values, vectors = eigh(square, subset_by_index=[len(square) - most, len(square) - 1])
    used = values > 1e-10 * max(values.max(), 1e-300)
    values, vectors = values[used][::-1], vectors[:, used][:, ::-1]
    components = scaled.T @ vectors / np.sqrt(values) if wide else vectors
    return np.ascontiguousarray(components), np.sqrt(values / rows)


def _concatenate(features: Features) -> Floats:
    return np.concatenate(list(features.blocks.values()), axis=1)


def _kernel(points: Floats, landmarks: Floats, gamma: float) -> Floats:
    squares = (points**2).sum(axis=1)[:, None] + (landmarks**2).sum(axis=1) - 2 * points @ landmarks.T
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))


class Learner:
    """Fits models to parts of the ratings; the kernel features of all replies are computed once.

    Args:
        space: Space of the features.
        points: Points of the replies, shape (n, k).
        ratings: Mean ratings, shape (n, m); nan is missing.
        groups: Leakage group of each reply, shape (n,).
        seed: Seed of the inner folds.
    """

    def __init__(self, space: Space, points: Floats, ratings: Floats, groups: Ints, *, seed: int = 0) -> None:
        self._ratings, self._groups, self._seed = ratings, groups, seed
        self._width = len(space.landmarks)
        self._whitenings = {gamma: space.whitening(gamma) for gamma in GAMMAS}
        self._mapped = {gamma: space.kernel(points, gamma) @ each for gamma, each in self._whitenings.items()}

    def fit(self, rows: Flags) -> Models:
        """Fits a model for each aspect; kernel and penalty are chosen by cross-validation over groups.

        Args:
            rows: Whether the ratings of each reply are used, shape (n,).
        """
        aspects = self._ratings.shape[1]
        found = Models(
            gammas=np.full(aspects, GAMMAS[0]),
            alphas=np.full(aspects, ALPHAS[-1]),
            intercepts=np.full(aspects, np.nan),
            coefficients=np.zeros((aspects, self._width)),
            counts=np.zeros(aspects, dtype=np.int64),
        )
        patterns: dict[bytes, list[int]] = {}
        for aspect in range(aspects):  # aspects with ratings of the same replies share their matrices
            patterns.setdefault((rows & ~np.isnan(self._ratings[:, aspect])).tobytes(), []).append(aspect)
        for pattern, columns in patterns.items():
            used = np.flatnonzero(np.frombuffer(pattern, dtype=np.bool_))
            found.counts[columns] = len(used)
            if len(used) >= FEWEST and len(np.unique(self._groups[used])) > 1:
                self._fit_columns(found, used, np.array(columns))
        return found

    def _fit_columns(self, found: Models, used: Ints, columns: Ints) -> None:
        targets = self._ratings[np.ix_(used, columns)]
        scores = self._inner_scores(used, targets)
        best = scores.reshape(-1, len(columns)).argmax(axis=0)  # the first of equal ones
        for place, column in enumerate(columns):
            gamma, alpha = GAMMAS[best[place] // len(ALPHAS)], ALPHAS[best[place] % len(ALPHAS)]
            slopes, intercepts = _ridge(self._mapped[gamma][used], targets[:, [place]], (alpha,))
            found.gammas[column], found.alphas[column] = gamma, alpha
            found.intercepts[column] = intercepts[0, 0]
            found.coefficients[column] = self._whitenings[gamma] @ slopes[0, :, 0]

    def _inner_scores(self, used: Ints, targets: Floats) -> Floats:
        """Returns Spearman's correlation of held-out predictions and ratings, shape (gammas, alphas, targets)."""
        inner = balanced_folds(self._groups[used].tolist(), INNER_FOLDS, seed=self._seed)
        predicted = np.zeros((len(GAMMAS), len(ALPHAS), *targets.shape))
        for at, gamma in enumerate(GAMMAS):
            mapped = self._mapped[gamma][used]
            for fold in range(inner.max() + 1):
                held = inner == fold
                slopes, intercepts = _ridge(mapped[~held], targets[~held], ALPHAS)
                predicted[at][:, held] = mapped[held] @ slopes + intercepts[:, None, :]
        return _rank_correlations(predicted, targets)


def _rank_correlations(predicted: Floats, targets: Floats) -> Floats:
    """Returns Spearman's correlation along the second-last axis; 0 if one side is constant."""
    from scipy.stats import rankdata

    ranks, wanted = (rankdata(each, axis=-2) for each in (predicted, targets))
    ranks, wanted = ranks - ranks.mean(axis=-2, keepdims=True), wanted - wanted.mean(axis=0)
    size = np.sqrt((ranks**2).sum(axis=-2) * (wanted**2).sum(axis=0))
    return np.asarray(np.divide((ranks * wanted).sum(axis=-2), size, out=np.zeros_like(size), where=size > 0))


def _ridge(mapped: Floats, targets: Floats, alphas: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Returns slopes, shape (alphas, width, targets), and intercepts, shape (alphas, targets), of ridge regressions."""
    centre, means = mapped.mean(axis=0), targets.mean(axis=0)
    centred = mapped - centre
    wide = len(centred) < centred.shape[1]
    values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    values = np.maximum(values, 0.0)
    right = vectors.T @ ((targets - means) if wide else centred.T @ (targets - means))
    slopes = np.stack([vectors @ (right / (values + alpha)[:, None]) for alpha in alphas])
    if wide:
        slopes = centred.T @ slopes
    return slopes, means - centre @ slopes
