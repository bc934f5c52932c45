"""Learned rater: ratings, prediction intervals, and a flag for replies unlike the training data.

The half-width of an interval is the conformal quantile of the absolute out-of-fold errors (jackknife with folds, Barber
et al. 2021): the ceil((n + 1) * confidence)-th smallest of n. It is valid for replies like the training data.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcconan.judging.learned.cross_fitting import FittedModels
from fcconan.judging.learned.features import Features
from fcconan.judging.learned.rated_texts import Floats, Ints, RatedAspect, RatedTexts
from fcconan.judging.learned.regression import Flags, Models, Space
from fcconan.judging.learned.training_texts import TrainingTexts

CONFIDENCE = 0.9
UNLIKE = 0.99  # quantile of the scores of the training data above which a reply is unlike them
SMALLEST = 1e-12  # smallest variance
_DIRECTIONS = 32  # number of principal components in the score


@dataclass(frozen=True, eq=False)
class NoveltyDetector:
    """Detector of replies unlike the training data.

    The score of a reply is the mean of its squared coordinates along the first principal components, each over its
    variance, plus the squared length of the residual over its mean. It is about 2 for replies like the training data.

    Attributes:
        variances: Variance along each of the first components, shape (h,).
        rest: Mean squared length of the residual.
        threshold: Score above which a reply is unlike the training data.
    """

    variances: Floats
    rest: float
    threshold: float

    def scores(self, scaled: Floats, points: Floats) -> Floats:
        """Returns the score of each reply, shape (n,).

        Args:
            scaled: Standardised features, shape (n, p).
            points: Points of the replies, shape (n, k).
        """
        first, rest = _parts(scaled, points, len(self.variances))
        return np.asarray((first / self.variances).mean(axis=1) + rest / self.rest)


def _parts(scaled: Floats, points: Floats, directions: int) -> tuple[Floats, Floats]:
    first = points[:, :directions] ** 2
    return first, np.maximum((scaled**2).sum(axis=1) - first.sum(axis=1), 0.0)


def fit_novelty_detector(scaled: Floats, points: Floats, folds: Ints) -> NoveltyDetector:
    """Fits a detector, whose threshold is a quantile of the scores of held-out rows."""
    directions = max(1, min(_DIRECTIONS, len(points) // 10, points.shape[1]))
    first, rest = _parts(scaled, points, directions)

    def fitted(rows: Flags, threshold: float) -> NoveltyDetector:
        return NoveltyDetector(
            np.maximum(first[rows].mean(axis=0), SMALLEST), max(float(rest[rows].mean()), SMALLEST), threshold
        )

    scores = np.zeros(len(points))
    for fold in np.unique(folds):
        held = folds == fold
        scores[held] = fitted(~held, 0.0).scores(scaled[held], points[held])
    return fitted(np.ones(len(points), dtype=np.bool_), float(np.quantile(scores, UNLIKE)))


def half_width(errors: Floats, confidence: float = CONFIDENCE) -> float:
    """Returns the conformal quantile of absolute errors; nan if there are too few for the confidence level.

    >>> half_width(np.arange(1.0, 20.0))
    18.0
    """
    known = np.sort(np.abs(errors[~np.isnan(errors)]))
    rank = math.ceil((len(known) + 1) * confidence)
    return float(known[rank - 1]) if 1 <= rank <= len(known) else math.nan


def coverage(errors: Floats, folds: Ints, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Returns the numbers of covered ratings and of all ratings, for intervals with the half-width of the other folds.

    Args:
        errors: Out-of-fold errors, shape (n,); nan is missing.
        folds: Fold of each row, shape (n,).
        confidence: Confidence level of the intervals.
    """
    covered = total = 0
    for fold in np.unique(folds):
        own, width = errors[folds == fold], half_width(errors[folds != fold], confidence)
        own = own[~np.isnan(own)] if not math.isnan(width) else own[:0]
        covered, total = covered + int((np.abs(own) <= width).sum()), total + len(own)
    return covered, total


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions for n replies and m aspects.

    Attributes:
        values: Ratings within the scales, shape (n, m); nan for an aspect with too few ratings in the training.
        low: Lower end of the prediction interval, shape (n, m).
        high: Upper end of the prediction interval, shape (n, m).
        unlike_training: Whether each reply is unlike the training data, shape (n,).
    """

    values: Floats
    low: Floats
    high: Floats
    unlike_training: Flags


@dataclass(frozen=True, eq=False)
class LearnedRater:
    """Rater that learned from people's ratings.

    Attributes:
        name: Name of the rater in ratings.
        aspects: Rated aspects; length m.
        space: Space of the features.
        models: Models of the folds, followed by the model of all rows.
        half_widths: Half-width of the interval of each aspect, shape (m,).
        novelty: Detector of replies unlike the training data.
        texts: Hashes of the training texts.
        encoder: Name and configuration of the encoder; None without one.
        features_from: Raters and aspects whose ratings are features.
        about: Description of the training data and results, as in `rater.json`.
    """

    name: str
    aspects: Sequence[RatedAspect]
    space: Space
    models: Sequence[Models]
    half_widths: Floats
    novelty: NoveltyDetector
    texts: TrainingTexts
    encoder: Mapping[str, Any] | None
    features_from: Sequence[tuple[str, str]]
    about: Mapping[str, Any]

    def predict(self, features: Features, folds: Sequence[int | None]) -> Predictions:
        """Predicts ratings of replies.

        Args:
            features: Features of n replies.
            folds: Fold whose model rates each reply; None for the model of all rows.

        Raises:
            InputError: The features differ from those of the training.
        """
        scaled = self.space.scaled(features)
        points = scaled @ self.space.components
        chosen = np.array([len(self.models) - 1 if fold is None else fold for fold in folds], dtype=np.int64)
        values = np.full((len(points), len(self.aspects)), np.nan)
        for model in np.unique(chosen):
            rows = chosen == model
            values[rows] = self.models[model].predict(self.space, points[rows])
        lowest, highest = (np.array([getattr(each, end) for each in self.aspects]) for end in ("low", "high"))
        return Predictions(
            np.clip(values, lowest, highest),
            np.clip(values - self.half_widths, lowest, highest),
            np.clip(values + self.half_widths, lowest, highest),
            self.novelty.scores(scaled, points) > self.novelty.threshold,
        )


def build_rater(
    name: str,
    table: RatedTexts,
    features: Features,
    fitted: FittedModels,
    folds: Ints,
    texts: TrainingTexts,
    *,
    encoder: Mapping[str, Any] | None,
    features_from: Sequence[tuple[str, str]] = (),
    about: Mapping[str, Any] | None = None,
) -> LearnedRater:
    """Builds a rater from fitted models.

    Args:
        name: Name of the rater in ratings.
        table: Training data.
        features: Features of the training data.
        fitted: Fitted models.
        folds: Fold of each row, shape (n,).
        texts: Hashes of the training texts.
        encoder: Name and configuration of the encoder; None without one.
        features_from: Raters and aspects whose ratings are features.
        about: Description of the training data and results.
    """
    errors = table.ratings - fitted.predicted
    return LearnedRater(
        name,
        tuple(table.aspects),
        fitted.space,
        (*fitted.of_folds, fitted.of_all),
        np.array([half_width(errors[:, at]) for at in range(errors.shape[1])]),
        fit_novelty_detector(fitted.space.scaled(features), fitted.points, folds),
        texts,
        encoder,
        tuple(features_from),
        dict(about or {}),
    )
