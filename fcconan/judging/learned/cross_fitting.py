"""Cross-fitting: out-of-fold predictions, and models of the folds and of all rows.

    features = features_of(table.messages, table.texts, SentenceEncoder(MINILM))
    folds = fold_numbers(table, by="group", folds=10, seed=0)
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
from fcconan.judging.learned.regression import Learner, Models, Space, fit_space

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
    total = int(folds.max()) + 2
    # Matrices are small, and with one thread sums do not depend on the number of cores.
    with threadpool_limits(1, user_api="blas"):
        space = fit_space(features, seed=seed)
        points = space.points(features)
        learner = Learner(space, points, table.ratings, table.groups, seed=seed)
        predicted = np.full(table.ratings.shape, np.nan)
        models = []
        for fold in range(total - 1):
            progress(fold, total)
            held = folds == fold
            models.append(learner.fit(~held))
            predicted[held] = models[-1].predict(space, points[held])
        progress(total - 1, total)
        of_all = learner.fit(np.ones(len(table), dtype=np.bool_))
    progress(total, total)
    return FittedModels(space, tuple(models), of_all, points, predicted)
