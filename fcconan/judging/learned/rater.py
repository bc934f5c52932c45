"""A rater that learned from people's ratings: values, intervals, and a flag for replies unlike its training data.

The half-width of an interval is the conformal quantile of the absolute out-of-fold errors (jackknife with folds, Barber
et al. 2021): the ceil((n + 1) * confidence)-th smallest of n. It holds for replies like the training data.
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
UNLIKE = 0.99  # quantile of the training data above which a reply is unlike them
SMALLEST = 1e-12  # variance
_DIRECTIONS = 32  # principal components whose variance counts for this


@dataclass(frozen=True, eq=False)
class NoveltyDetector:
    """How far a reply is from the training data.

    The score is the mean of the squared coordinates along the first principal components, each over its variance, plus
    the squared length of the rest over its mean: about 2 for replies like the training data.

    Attributes:
        variances: Variance along each of the first components, shape (h,).
        rest: Mean squared length of the rest.
        threshold: The score above which a reply is unlike the training data.
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
    """Returns the novelty of replies, with a threshold from scores of rows that were held out."""
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
    """Returns the conformal quantile of absolute errors; nan where there are too few for the confidence.

    >>> half_width(np.arange(1.0, 20.0))
    18.0
    """
    known = np.sort(np.abs(errors[~np.isnan(errors)]))
    rank = math.ceil((len(known) + 1) * confidence)
    return float(known[rank - 1]) if 1 <= rank <= len(known) else math.nan


def coverage(errors: Floats, folds: Ints, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """Returns in how many rows the interval holds the rating, with the half-width of the other folds; and of how many.

    Args:
        errors: Out-of-fold errors, shape (n,); nan is missing.
        folds: Fold of each row, shape (n,).
        confidence: That of the intervals.
    """
    covered = total = 0
    for fold in np.unique(folds):
        own, width = errors[folds == fold], half_width(errors[folds != fold], confidence)
        own = own[~np.isnan(own)] if not math.isnan(width) else own[:0]
        covered, total = covered + int((np.abs(own) <= width).sum()), total + len(own)
    return covered, total


@dataclass(frozen=True, eq=False)
class Predictions:
    """Values of n replies and m aspects.

    Attributes:
        values: Within the scales, shape (n, m); nan for an aspect with too few ratings.
        low: Lower end of the interval, shape (n, m).
        high: Upper end.
        unlike_training: Whether the reply is unlike the training data, shape (n,).
    """

    values: Floats
    low: Floats
    high: Floats
    unlike_training: Flags


@dataclass(frozen=True, eq=False)
class LearnedRater:
    """A rater that learned from people's ratings.

    Attributes:
        name: Its name in ratings.
        aspects: What it rates; length m.
        space: The space of its features.
        models: The models of the folds, and last the model of all rows.
        half_widths: Half-width of the interval of each aspect, shape (m,).
        novelty: How far replies are from the training data.
        texts: Hashes of the training texts.
        encoder: Name and configuration of the encoder; None for none.
        features_from: Raters and aspects whose ratings are features.
        about: What it was trained on and how well it does, as in `rater.json`.
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
        """Returns values of replies.

        Args:
            features: Those of n replies.
            folds: The fold whose model rates each reply; None for the model of all rows.

        Raises:
            InputError: The features are others than in the training.
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
    """Returns the rater of fitted models.

    Args:
        name: Its name in ratings.
        table: What it learned from.
        features: Their features.
        fitted: The models.
        folds: Fold of each row, shape (n,).
        texts: Hashes of the training texts.
        encoder: Name and configuration of the encoder; None for none.
        features_from: Raters and aspects whose ratings are features.
        about: What is to be said of it.
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
