"""What the raters of a suite give the rows; those that learn are cross-fitted on the same folds, on clean rows only."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fcconan.data import UNKNOWN
from fcconan.judging.benchmark.rated_rows import BenchmarkRows
from fcconan.judging.benchmark.suites import JudgeSuite, LexicalRater, TrainedRater
from fcconan.judging.learned.cross_fitting import cross_fit
from fcconan.judging.learned.features import EMBEDDING, RATINGS, SURFACE, Features, features_of, surface_features
from fcconan.judging.learned.folds import fold_numbers
from fcconan.judging.learned.rated_texts import Floats
from fcconan.judging.learned.regression import FEWEST, Flags, Space, fit_space
from fcconan.judging.lexical import LexicalJudge
from fcconan.judging.tasks import load_task
from fcconan.retrieval import Encoder

TRAINED = "{}, trained"  # name of a released rater after training
PRECISION = 9  # digits after the point: equal features have equal predictions, whatever the order of sums
_LENGTH = slice(0, 3)  # of the surface features: characters, words, sentences


@dataclass(frozen=True, eq=False)
class Judged:
    """What a rater gives the rows.

    Attributes:
        name: The rater.
        kind: `model`, `metric`, `lexical`, `learned`, `trained` (a released rater after training) or `control`.
        values: Shape (n, m); nan is missing.
    """

    name: str
    kind: str
    values: Floats


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """What a rater gives the rows after learning from some of them.

    Attributes:
        rater: The rater.
        labels: Rated replies that a fold's model learned from, on average.
        seed: Number of the random subset.
        values: Shape (n, m).
    """

    rater: str
    labels: int
    seed: int
    values: Floats


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a rater gives the rows of a system, or of a round, from which it never learned.

    Attributes:
        rater: The rater.
        by: `system` or `round`.
        name: What was held out.
        values: Shape (n, m); nan for other rows.
    """

    rater: str
    by: str
    name: str
    values: Floats


class JudgePredictions:
    """Makes predictions of the raters of a suite.

    Args:
        rows: The rows.
        suite: The suite.
        encoder: Returns an encoder by name; each is asked for once.
        seed: Seed of folds, landmarks, permutations and subsets.
        progress: Receives a line before each rater.
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
        self._prepared: dict[str, tuple[Features, Space]] = {}
        self.left_out = {
            name: lacking[0]
            for name, config in suite.raters.items()
            if isinstance(config, TrainedRater)
            and (lacking := [each for each in config.ratings if each not in rows.released])
        }

    def every_rater(self) -> Iterator[Judged]:
        """Yields released raters, those of the suite, and released raters after training."""
        for name, released in self._rows.released.items():
            yield Judged(name, released.kind, released.values)
        for name, config in self._suite.raters.items():
            if name in self.left_out:
                continue
            self._progress(f"Rater {name}")
            if isinstance(config, LexicalRater):
                yield Judged(name, config.kind, self._lexical(config))
            else:
                yield Judged(name, config.kind, self.cross_fitted(name, config))
        wanted = self._suite.train_released
        for name in self._rows.released:
            if wanted == "all" or name in wanted:
                self._progress(f"Rater {TRAINED.format(name)}")
                config = TrainedRater(kind="learned", parts=["surface"], ratings=[name])
                yield Judged(TRAINED.format(name), "trained", self.cross_fitted(TRAINED.format(name), config))

    def label_curve(self) -> Iterator[CurvePoint]:
        """Yields predictions after learning from random subsets of the clean rows; smaller ones are in larger ones."""
        curve = self._suite.curve
        share = 1 - 1 / (int(self.folds.max()) + 1)  # of the rows that a fold's model learns from
        for name in curve.raters if curve is not None else ():
            config = self._suite.raters[name]
            if curve is None or name in self.left_out or not isinstance(config, TrainedRater):
                continue
            known = np.flatnonzero(self._usable(config))
            for labels in curve.labels:
                if (size := round(labels / share)) >= len(known):
                    break
                self._progress(f"Label curve of {name}: {labels} labels")
                for seed in range(curve.seeds):
                    drawn = np.random.default_rng([self._seed, seed]).permutation(known)[:size]
                    usable = np.isin(np.arange(len(self._rows.clean)), drawn)
                    yield CurvePoint(name, labels, seed, self.cross_fitted(name, config, usable))
            yield CurvePoint(name, round(share * len(known)), 0, self.cross_fitted(name, config))

    def held_out(self) -> Iterator[HeldOut]:
        """Yields predictions for each system and round by models that saw neither it nor the message's group."""
        for name in self._suite.transfer:
            config = self._suite.raters[name]
            if name in self.left_out or not isinstance(config, TrainedRater):
                continue
            for by, keys in (("system", self._rows.table.systems), ("round", self._rows.table.rounds)):
                named = np.array(keys)
                usable = self._usable(config)
                known = [key for key in dict.fromkeys(keys) if by == "system" or key != UNKNOWN]
                for key in known:
                    own, rest = usable & (named == key), usable & (named != key)
                    if min(own.sum(), rest.sum()) < 2 * FEWEST:
                        continue
                    self._progress(f"{name} without the {by} {key}")
                    values = self.cross_fitted(name, config, rest)
                    values[~own] = np.nan
                    yield HeldOut(name, by, key, values)

    def cross_fitted(self, name: str, config: TrainedRater, usable: Flags | None = None) -> Floats:
        """Returns out-of-fold predictions, shape (n, m); nan where the raters whose ratings it needs have none.

        Args:
            name: Name of the rater.
            config: Its configuration.
            usable: Rows whose ratings it learns from; None for all clean rows that it can learn from.
        """
        there, table = self._rated(config), self._rows.table
        usable = self._usable(config) if usable is None else usable
        if config.permuted:
            places = np.flatnonzero(usable)
            ratings = table.ratings.copy()
            ratings[places] = ratings[np.random.default_rng(self._seed).permutation(places)]
            table = replace(table, ratings=ratings)
        if name not in self._prepared:
            features = self._features(config).take(there)
            self._prepared[name] = features, fit_space(features, seed=self._seed)
        features, space = self._prepared[name]
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
        return found

    def _rated(self, config: TrainedRater) -> Flags:
        """Returns whether each of the raters whose ratings are features rated a row."""
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
                features = features_of(table.messages, table.texts, self._encoder(config.encoder))
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
