"""Ratings by a learned rater, in the columns of a Rating, with prediction intervals."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np

from fcconan.data import LEARNED, Columns, cell_number, message_codes, reply_metadata
from fcconan.errors import InputError
from fcconan.judging.learned.features import RATINGS, Features, compute_features
from fcconan.judging.learned.rated_texts import Floats
from fcconan.judging.learned.rater import LearnedRater
from fcconan.judging.learned.training_texts import IN_SAMPLE
from fcconan.judging.tasks import Task
from fcconan.retrieval import Encoder

Row = dict[str, Any]
LEARNED_COLUMNS: Columns = LEARNED.kinds
BATCH = 2_000  # number of replies with features in memory at a time


class FeatureRatings:
    """Ratings of other judges as features.

    Args:
        rows: Rows of ratings.
        columns: Raters and aspects, in order; None for all raters except people, in the order of the rows.

    Attributes:
        columns: Raters and aspects, in order.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, str]] | None = None) -> None:
        self._values: dict[tuple[str, str], dict[str, float]] = {each: {} for each in columns or ()}
        for row in rows:
            key = (str(row["rater"]), str(row["aspect"]))
            if (key not in self._values and columns is not None) or row.get("rater_kind") in (None, "human"):
                continue
            value = cell_number(row.get("value"))
            if value is not None and np.isfinite(value):
                self._values.setdefault(key, {})[str(row["reply_id"])] = value
        self.columns = tuple(self._values)

    def values(self, reply_ids: Sequence[str]) -> Floats:
        """Returns the ratings of replies, shape (n, columns); nan is missing."""
        found = [[self._values[each].get(reply, np.nan) for each in self.columns] for reply in reply_ids]
        return np.array(found, dtype=np.float64).reshape(len(reply_ids), len(self.columns))

    def check(self, reply_ids: Sequence[str]) -> None:
        """Checks that each rater rated some of the replies.

        Raises:
            InputError: A rater has no rating of these replies.
        """
        for rater, aspect in self.columns:
            if not self._values[rater, aspect].keys() & set(reply_ids):
                raise InputError(
                    f"found no ratings of {aspect} by {rater} of these replies, which are features of the rater: give "
                    "them with --features-from RATINGS"
                )


class LearnedJudge:
    """Judge that rates replies with a learned rater.

    Training replies, and other replies to their messages, are rated by models that did not see them.

    Args:
        rater: The rater.
        task: Task; ratings of aspects that the rater did not learn are missing.
        encoder: Encoder of the rater; None without one.
        ratings: Ratings of other judges as features; None without them.

    Attributes:
        name: Name of the rater.
        configuration: All settings that change the ratings.
        in_sample: Number of replies so far whose message or text was in the training of each model.
        unlike: Number of replies so far that are unlike the training data.

    Raises:
        InputError: The task and the rater have no common aspect, or different scales.
    """

    def __init__(
        self, rater: LearnedRater, task: Task, encoder: Encoder | None, ratings: FeatureRatings | None = None
    ) -> None:
        self.rater, self.task, self.name = rater, task, rater.name
        self._encoder, self._ratings = encoder, ratings
        self._check_task()
        self.in_sample = self.unlike = 0
        self.configuration: dict[str, Any] = {"kind": "learned", "task": task.name, "rater": dict(rater.about)}

    def _check_task(self) -> None:
        own = {aspect.name: aspect for aspect in self.rater.aspects}
        shared = [aspect for aspect in self.task.aspects if aspect.name in own]
        if not shared:
            raise InputError(
                f"the rater {self.name} rates {', '.join(own)}, and the task {self.task.name} has none of these "
                "aspects: choose another --task"
            )
        for aspect in shared:
            learned = own[aspect.name]
            if (learned.low, learned.high, learned.higher_is_better) != (*aspect.scale, aspect.higher_is_better):
                raise InputError(
                    f"the rater {self.name} has the scale {learned.low:g} to {learned.high:g} of {aspect.name}, the "
                    f"task {self.task.name} {aspect.low} to {aspect.high}, or the other direction: choose the task of "
                    "its training"
                )

    def rate(self, replies: Iterable[Row]) -> Iterator[list[Row]]:
        """Yields the ratings of each reply: a row for each aspect of the task.

        Args:
            replies: Rows with `reply_id`, `hate_speech` and `text`.

        Raises:
            InputError: A rater whose ratings are features has no rating of these replies.
        """
        if self._ratings is not None:
            replies = list(replies)
            self._ratings.check([str(row["reply_id"]) for row in replies])
        remaining = iter(replies)
        while batch := list(islice(remaining, BATCH)):
            yield from self._rate(batch)

    def _rate(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        messages, texts = [row["hate_speech"] or "" for row in rows], [row["text"] or "" for row in rows]
        extra = None if self._ratings is None else self._ratings.values([str(row["reply_id"]) for row in rows])
        features = compute_features(messages, texts, self._encoder, extra)
        seen = [
            self.rater.texts.model_for(message, text, message_codes(row))
            for message, text, row in zip(messages, texts, rows, strict=True)
        ]
        for ratings in learned_ratings(self.rater, self.task.aspects, rows, features, seen):
            if ratings[0]["unlike_training"] is not None:
                self.in_sample += ratings[0]["provenance"] == IN_SAMPLE
                self.unlike += ratings[0]["unlike_training"]
            yield ratings


class _Scale(Protocol):
    """Aspect of a task or a rater."""

    @property
    def name(self) -> str: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    @property
    def higher_is_better(self) -> bool: ...


def learned_ratings(
    rater: LearnedRater,
    aspects: Sequence[_Scale],
    rows: Sequence[Row],
    features: Features,
    seen: Sequence[tuple[int | None, str]],
) -> Iterator[list[Row]]:
    """Yields the ratings of each reply, in the columns of `LEARNED`.

    Args:
        rater: The rater.
        aspects: Aspects to rate; ratings of aspects that the rater did not learn are missing.
        rows: Replies; length n.
        features: Features of the replies.
        seen: Model and provenance of each reply, as returned by `TrainingTexts.model_for`.
    """
    place = {aspect.name: at for at, aspect in enumerate(rater.aspects)}
    predicted = rater.predict(features, [fold for fold, _ in seen])
    judged = features.blocks.get(RATINGS)
    for at, (row, (_, mark)) in enumerate(zip(rows, seen, strict=True)):
        reason = "empty_reply" if not (row["text"] or "").strip() else None
        if reason is None and judged is not None and np.isnan(judged[at]).all():
            reason = "no_features"
        found = []
        for aspect in aspects:
            column = place.get(aspect.name)
            value, low, high = (
                math.nan if column is None else float(each[at, column])
                for each in (predicted.values, predicted.low, predicted.high)
            )
            missing = reason
            if missing is None and math.isnan(value):
                missing = "not_measured" if column is None else "too_few_ratings"
            found.append(
                {
                    "reply_id": row["reply_id"],
                    "rater": rater.name,
                    "rater_kind": "model",
                    "aspect": aspect.name,
                    "value": None if missing else value,
                    "low": float(aspect.low),
                    "high": float(aspect.high),
                    "higher_is_better": aspect.higher_is_better,
                    "reason": missing,
                    "interval_low": None if missing or math.isnan(low) else low,
                    "interval_high": None if missing or math.isnan(high) else high,
                    "unlike_training": None if reason else bool(predicted.unlike_training[at]),
                    "provenance": mark,
                    **reply_metadata(row),
                }
            )
        yield found
