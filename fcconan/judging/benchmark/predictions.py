"""Ratings of the raters of a suite. Learning raters are cross-fitted on common folds, from clean rows only."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fcconan.data import UNKNOWN
from fcconan.judging.benchmark.rated_rows import BenchmarkRows
from fcconan.judging.benchmark.suites import JudgeSuite, LexicalRater, TrainedRater
from fcconan.judging.learned.cross_fitting import cross_fit
from fcconan.judging.learned.features import EMBEDDING, RATINGS, SURFACE, Features, compute_features, surface_features
from fcconan.judging.learned.folds import fold_numbers
from fcconan.judging.learned.rated_texts import Floats
from fcconan.judging.learned.regression import FEWEST, Flags, Space, fit_space
from fcconan.judging.lexical import LexicalJudge
from fcconan.judging.tasks import load_task
from fcconan.retrieval import Encoder

TRAINED = "{}, trained"  # name of a released rater after training
PRECISION = 9  # decimals, so that equal features have equal predictions for any order of summation
Value = TypeVar("Value")
_LENGTH = slice(0, 3)  # of the surface features: characters, words, sentences


@dataclass(frozen=True, eq=False)
class RaterValues:
    """Ratings of the benchmark's rows by a rater.

    Attributes:
        name: Name of the rater.
        kind: `model`, `metric`, `lexical`, `learned`, `trained` (a released rater after training) or `control`.
        values: Ratings, shape (n, m); nan is missing.
    """

    name: str
    kind: str
    values: Floats


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """Predictions of a rater that learned from a subset of the rows.

    Attributes:
        rater: Name of the rater.
        labels: Mean number of rated replies in the training of a fold.
        seed: Number of the random subset.
        values: Predictions, shape (n, m).
    """

    rater: str
    labels: int
    seed: int
    values: Floats


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of a rater for the rows of a held-out system or round.

    Attributes:
        rater: Name of the rater.
        by: `system` or `round`.
        name: Name of the system or round.
        values: Predictions, shape (n, m); nan for other rows.
    """

    rater: str
    by: str
    name: str
    values: Floats


class JudgePredictions:
    """Ratings and predictions of the raters of a suite.

    Args:
        rows: Rows of the benchmark.
        suite: Suite of raters.
        encoder: Function that returns an encoder by name; called once for each name.
        seed: Seed of folds, landmarks, permutations and subsets.
        progress: Function that receives a line about each finished part.
    """

    def __init__(
        self,
        rows: BenchmarkRows,
        suite: JudgeSuite,
        *,
        encoder: Callable[[str], Encoder],
        seed: int = 0,
        progress: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._rows, self._suite, self._encoder = rows, suite, encoder
        self._seed, self._progress = seed, progress
        self.folds = fold_numbers(rows.table, by="group", folds=suite.folds, seed=seed)
        self._pairs: dict[str, Floats] = {}
        self._spaces: dict[str, tuple[Features, Space]] = {}
        self._of_all_labels: dict[str, Floats] = {}
        self._lock = Lock()
        self._order = list(suite.raters)
        self.left_out = {
            name: lacking[0]
            for name, config in suite.raters.items()
            if isinstance(config, TrainedRater)
            and (lacking := [each for each in config.ratings if each not in rows.released])
        }

    def every_rater(self) -> list[RaterValues]:
        """Returns released raters, those of the suite, and released raters after training."""
        found = [RaterValues(name, released.kind, released.values) for name, released in self._rows.released.items()]
        tasks: list[Callable[[], RaterValues]] = []
        for name, config in self._suite.raters.items():
            if isinstance(config, LexicalRater):
                found.append(RaterValues(name, config.kind, self._lexical(config)))
            elif name not in self.left_out:
                tasks.append(partial(self._judged, name, config.kind, config))
        wanted = self._suite.train_released
        for name in self._rows.released if wanted == "all" else wanted:
            if name in self._rows.released:
                config = TrainedRater(kind="learned", parts=["surface"], ratings=[name])
                tasks.append(partial(self._judged, TRAINED.format(name), "trained", config))
        found += self._in_parallel("raters", tasks)
        self._of_all_labels = {each.name: each.values for each in found}
        return found

    def label_curve(self) -> list[CurvePoint]:
        """Returns predictions after training on nested random subsets of the clean rows.

        The last point of each rater is for all clean rows.
        """
        curve = self._suite.curve
        share = 1 - 1 / (int(self.folds.max()) + 1)  # share of rows in the training of a fold
        tasks: list[Callable[[], CurvePoint]] = []
        whole: list[CurvePoint] = []
        for name, config in self._trained(curve.raters if curve is not None else ()):
            known = np.flatnonzero(self._usable(config))
            for labels in curve.labels if curve is not None else ():
                size = round(labels / share)
                for seed in range(curve.seeds if curve is not None and size < len(known) else 0):
                    drawn = np.random.default_rng([self._seed, seed]).permutation(known)[:size]
                    usable = np.isin(np.arange(len(self._rows.clean)), drawn)
                    tasks.append(partial(self._curve_point, name, config, labels, seed, usable))
            whole.append(CurvePoint(name, round(share * len(known)), 0, self._of_all_labels[name]))
        return sorted(
            [*self._in_parallel("subsets of the label curve", tasks), *whole],
            key=lambda point: (self._order.index(point.rater), point.labels),
        )

    def held_out(self) -> list[HeldOut]:
        """Returns predictions for each system and round by models trained without it and the group of the message."""
        tasks: list[Callable[[], HeldOut]] = []
        for name, config in self._trained(self._suite.transfer):
            usable = self._usable(config)
            for by, keys in (("system", self._rows.table.systems), ("round", self._rows.table.rounds)):
                for key in [key for key in dict.fromkeys(keys) if by == "system" or key != UNKNOWN]:
                    own = np.array([each == key for each in keys])
                    if min((usable & own).sum(), (usable & ~own).sum()) >= 2 * FEWEST:
                        tasks.append(partial(self._without, name, config, by, key, own))
        return self._in_parallel("held-out systems and rounds", tasks)

    def _trained(self, names: Iterable[str]) -> list[tuple[str, TrainedRater]]:
        found = [(name, self._suite.raters[name]) for name in names if name not in self.left_out]
        return [(name, config) for name, config in found if isinstance(config, TrainedRater)]

    def _judged(self, name: str, kind: str, config: TrainedRater) -> RaterValues:
        return RaterValues(name, kind, self.cross_fitted(name, config))

    def _curve_point(self, name: str, config: TrainedRater, labels: int, seed: int, usable: Flags) -> CurvePoint:
        return CurvePoint(name, labels, seed, self.cross_fitted(name, config, usable))

    def _without(self, name: str, config: TrainedRater, by: str, key: str, own: Flags) -> HeldOut:
        usable = self._usable(config)
        values = self.cross_fitted(name, config, usable & ~own)
        values[~(usable & own)] = np.nan
        return HeldOut(name, by, key, values)

    def _in_parallel(self, what: str, tasks: Sequence[Callable[[], Value]]) -> list[Value]:
        """Runs tasks on all cores with one BLAS thread each, and returns their results in order."""
        found = []
        with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as threads:
            for result in threads.map(lambda task: task(), tasks):
                found.append(result)
                self._progress(f"{len(found)} of {len(tasks)} {what}")
        return found

    def cross_fitted(self, name: str, config: TrainedRater, usable: Flags | None = None) -> Floats:
        """Returns out-of-fold predictions, shape (n, m); nan without the ratings that are its features.

        Args:
            name: Name of the rater.
            config: Configuration of the rater.
            usable: Rows of the training; None for all clean rows with its features.
        """
        there, table = self._rated(config), self._rows.table
        usable = self._usable(config) if usable is None else usable
        places = np.flatnonzero(usable)
        shuffled = np.random.default_rng(self._seed).permutation(places) if config.permuted else places
        ratings = table.ratings.copy()
        ratings[places] = ratings[shuffled]
        table = replace(table, ratings=ratings)
        features, space = self._prepared(name, config)
        found = np.full(table.ratings.shape, np.nan)
        predicted = cross_fit(
            table.take(there),
            features,
            folds=self.folds[there],
            seed=self._seed,
            usable=usable[there],
            space=space,
        )
        found[there] = np.round(predicted, PRECISION)
        found[shuffled] = found[places]  # moves predictions to the rows of the shuffled ratings
        return found

    def _prepared(self, name: str, config: TrainedRater) -> tuple[Features, Space]:
        """Returns the features of the rows that a rater can rate, and their space; both are cached."""
        with self._lock:
            if name not in self._spaces:
                features = self._features(config).take(self._rated(config))
                self._spaces[name] = features, fit_space(features, seed=self._seed)
            return self._spaces[name]

    def _rated(self, config: TrainedRater) -> Flags:
        """Returns whether each row has the ratings that are features."""
        found = np.ones(len(self._rows.clean), dtype=np.bool_)
        for name in config.ratings:
            found &= np.isfinite(self._rows.released[name].features).any(axis=1)
        return found

    def _usable(self, config: TrainedRater) -> Flags:
        return self._rows.clean & self._rated(config)

    def _features(self, config: TrainedRater) -> Features:
        table, blocks = self._rows.table, {}
        if embedded := [part for part in config.parts if part in ("message", "reply", "pair")]:
            if config.encoder not in self._pairs:
                self._progress(f"Encoding texts with {config.encoder}")
                features = compute_features(table.messages, table.texts, self._encoder(config.encoder))
                self._pairs[config.encoder] = features.blocks[EMBEDDING]
            vectors = self._pairs[config.encoder]
            width = vectors.shape[1] // 4  # message, reply, product, difference
            places = {"message": slice(0, width), "reply": slice(width, 2 * width), "pair": slice(0, 4 * width)}
            blocks[EMBEDDING] = np.concatenate([vectors[:, places[part]] for part in embedded], axis=1)
        if counted := [part for part in config.parts if part in ("length", "surface")]:
            values = surface_features(table.messages, table.texts)
            blocks[SURFACE] = values if "surface" in counted else values[:, _LENGTH]
        if config.ratings:
            blocks[RATINGS] = np.concatenate([self._rows.released[name].features for name in config.ratings], axis=1)
        return Features(blocks)

    def _lexical(self, config: LexicalRater) -> Floats:
        table = self._rows.table
        rows = [
            {"reply_id": reply, "hate_speech": message, "text": text}
            for reply, message, text in zip(table.reply_ids, table.messages, table.texts, strict=True)
        ]
        names = [aspect.name for aspect in table.aspects]
        found = np.full(table.ratings.shape, np.nan)
        for place, ratings in enumerate(LexicalJudge(load_task(config.task)).rate(rows)):
            for rating in ratings:
                if rating["aspect"] in names and rating["value"] is not None:
                    found[place, names.index(rating["aspect"])] = rating["value"]
        return found
