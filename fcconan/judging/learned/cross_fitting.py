"""Predictions for replies whose message was held out, and the rater that is fitted to all of them.

    features = features_of(table.messages, table.texts, SentenceEncoder(MINILM))
    folds = fold_numbers(table, by="group", folds=10, seed=0)
    predicted = cross_fit(table, features, folds=folds, seed=0)                       # shape (n, aspects)
    predicted = cross_fit(table, features, folds=folds, seed=0, usable=first_200)     # learns from these rows only
    fitted = fit(table, features, folds=folds, seed=0)          # models of all folds, and one of all rows

Predictions are not clipped to the scale. Ratings of a row never change the predictions of its own fold: kernel, penalty
and coefficients are chosen on the other folds, and the space of features follows from texts alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fcconan.judging.learned.features import Features
from fcconan.judging.learned.rated_texts import Floats, Ints, RatedTexts
from fcconan.judging.learned.regression import Flags, Learner, Models, Space, fit_space

Progress = Callable[[int, int | None], None]


def _silent(done: int, total: int | None) -> None:
    pass


@dataclass(frozen=True, eq=False)
class FittedModels:
    """The models of a table.

    Attributes:
        space: The space of features.
        of_folds: A model for each fold, fitted to the other folds.
        of_all: The model of all rows.
        points: The points of the rows, shape (n, k).
        predicted: Prediction of each row by the model of its fold, shape (n, m).
    """

    space: Space
    of_folds: tuple[Models, ...]
    of_all: Models
    points: Floats
    predicted: Floats


def cross_fit(
    table: RatedTexts,
    features: Features,
    *,
    folds: Ints,
    seed: int = 0,
    usable: Flags | None = None,
    space: Space | None = None,
    progress: Progress = _silent,
) -> Floats:
    """Returns predictions for each row by a model that was fitted to the other folds, shape (n, m).

    Args:
        table: The rated texts.
        features: Their features.
        folds: Fold of each row, shape (n,).
        seed: Seed of landmarks and of the inner folds.
        usable: Rows whose ratings may be learned from; None for all. All rows get a prediction.
        space: The space of the features; None makes it of all rows.
        progress: Receives the numbers of finished and of all fits.

    Returns:
        Predictions; nan where a fold leaves fewer than 10 ratings of the aspect.
    """
    with threadpool_limits(1, user_api="blas"):  # as in `fit`
        space = space or fit_space(features, seed=seed)
        points = space.points(features)
        learner = Learner(space, points, table.ratings, table.groups, seed=seed)
        return _fit_folds(learner, space, points, folds, usable, progress, 0)[1]


def fit(
    table: RatedTexts, features: Features, *, folds: Ints, seed: int = 0, progress: Progress = _silent
) -> FittedModels:
    """Fits a model to the other folds of each fold, and one to all rows.

    Args:
        table: The rated texts.
        features: Their features.
        folds: Fold of each row, shape (n,).
        seed: Seed of landmarks and of the inner folds.
        progress: Receives the numbers of finished and of all fits.
    """
    # On small matrices, threads of linear algebra mostly wait; and sums do not depend on how many there are.
    with threadpool_limits(1, user_api="blas"):
        space = fit_space(features, seed=seed)
        points = space.points(features)
        learner = Learner(space, points, table.ratings, table.groups, seed=seed)
        models, predicted = _fit_folds(learner, space, points, folds, None, progress, 1)
        of_all = learner.fit(np.ones(len(table), dtype=np.bool_))
    progress(len(models) + 1, len(models) + 1)
    return FittedModels(space, tuple(models), of_all, points, predicted)


def _fit_folds(
    learner: Learner, space: Space, points: Floats, folds: Ints, usable: Flags | None, progress: Progress, further: int
) -> tuple[list[Models], Floats]:
    total = int(folds.max()) + 1
    predicted: Floats | None = None
    models = []
    for fold in range(total):
        progress(fold, total + further)
        held = folds == fold
        models.append(learner.fit(~held if usable is None else ~held & usable))
        found = models[-1].predict(space, points[held])
        predicted = np.full((len(points), found.shape[1]), np.nan) if predicted is None else predicted
        predicted[held] = found
    progress(total, total + further)
    assert predicted is not None  # there are two folds or more
    return models, predicted
