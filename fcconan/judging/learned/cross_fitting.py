"""Cross-fitting: out-of-fold predictions, and models of the folds and of all rows.

    features = features_of(table.messages, table.texts, SentenceEncoder(MINILM))
    folds = fold_numbers(table, by="group", folds=10, seed=0)
    predicted = cross_fit(table, features, folds=folds, seed=0)                       # shape (n, aspects)
    predicted = cross_fit(table, features, folds=folds, seed=0, usable=first_200)     # training on these rows only
    fitted = fit(table, features, folds=folds, seed=0)          # models of all folds, and one of all rows

Predictions are not clipped to the scale. They do not depend on ratings of their own fold: kernel, penalty and
coefficients are chosen on the other folds, and the space of features depends on texts only.
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
    """Fitted models of a table.

    Attributes:
        space: Space of the features.
        of_folds: Model of each fold, fitted to the other folds.
        of_all: Model of all rows.
        points: Points of the rows, shape (n, k).
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
    """Predicts each row by a model that is fitted to the other folds.

    Args:
        table: Rated texts.
        features: Features of the rows.
        folds: Fold of each row, shape (n,).
        seed: Seed of landmarks and of the inner folds.
        usable: Whether the ratings of each row are used in the training; None for all. All rows have predictions.
        space: Space of the features; None fits it to all rows.
        progress: Function that receives the numbers of finished and of all fits.

    Returns:
        Predictions, shape (n, m); nan if fewer than 10 ratings of the aspect remain for the training.
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
        table: Rated texts.
        features: Features of the rows.
        folds: Fold of each row, shape (n,).
        seed: Seed of landmarks and of the inner folds.
        progress: Function that receives the numbers of finished and of all fits.
    """
    # Matrices are small, and with one thread sums do not depend on the number of cores.
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
