"""Rows of the judge benchmark: rated texts with their systems, and ratings by people and released raters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fcconan.data import leakage_groups
from fcconan.errors import InputError
from fcconan.judging.learned.rated_texts import Floats, RatedAspect, RatedTexts, make_rated_texts
from fcconan.judging.learned.regression import Flags
from fcconan.scoring import HUMAN, WHOLE_REPLY, Ratings

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class ReleasedRater:
    """Released ratings of a model or metric.

    Attributes:
        kind: `model` or `metric`.
        values: Ratings by aspect, shape (n, m); nan is missing. A rating of the whole reply counts for each aspect,
            with reversed sign if the aspect has the opposite direction.
        features: Ratings as features of learned raters, shape (n, number of ratings of a reply).
    """

    kind: str
    values: Floats
    features: Floats


@dataclass(frozen=True, eq=False)
class BenchmarkRows:
    """Rows of the benchmark.

    Attributes:
        table: Rated texts, n rows and m aspects.
        clean: Whether each row is clean; the others are doubtful. Shape (n,).
        messages: Id of the HS of each row; length n.
        annotators: Ratings by each person, shape (people, m, n); None if only their mean is known.
        released: Name -> ratings of a released model or metric.
    """

    table: RatedTexts
    clean: Flags
    messages: Sequence[str]
    annotators: Floats | None
    released: Mapping[str, ReleasedRater]


def benchmark_rows(
    replies: Sequence[Row],
    rated: Ratings,
    *,
    clean: int | None = None,
    people: Ratings | None = None,
    codes: Sequence[Sequence[str]] = (),
) -> BenchmarkRows:
    """Returns the rows with a text and a rating by people.

    Args:
        replies: Rows of replies in the order of the dataset.
        rated: Ratings by people, models and metrics.
        clean: Number of clean replies at the beginning; None for all.
        people: Ratings by each person, if `rated` contains only their mean.
        codes: Upstream codes of the HS of each reply.

    Raises:
        InputError: People rated fewer than two replies, or the scale is unknown.
    """
    aspects = [
        RatedAspect(name, *scale, rated.higher_is_better(name, raters))
        for name in rated.aspects()
        if (scale := rated.scale(name, raters := rated.people(name)[0])) is not None
    ]
    if not aspects:
        raise InputError("the ratings by people have no scale: give columns low and high with the end grades")
    scores = rated.table(aspects=[aspect.name for aspect in aspects])
    position = {reply: at for at, reply in enumerate(rated.replies)}
    there = [
        at
        for at, row in enumerate(replies)
        if (row.get("text") or "").strip()
        and (place := position.get(row["reply_id"])) is not None
        and np.isfinite(scores.human_values[:, place]).any()
    ]
    if len(there) < 2:
        raise InputError(f"found {len(there)} replies with a text and a rating by people, expected two or more")
    used = [replies[at] for at in there]
    places = [position[row["reply_id"]] for row in used]
    groups = leakage_groups(
        [row.get("hate_speech") or "" for row in used], [codes[at] for at in there] if codes else ()
    )
    return BenchmarkRows(
        table=make_rated_texts(used, aspects, scores.human_values[:, places].T, groups),
        clean=np.array([clean is None or at < clean for at in there]),
        messages=[str(row.get("hs_id") or row.get("hate_speech") or row["reply_id"]) for row in used],
        annotators=_annotators(rated if people is None else people, aspects, [row["reply_id"] for row in used]),
        released=_released(rated, aspects, places),
    )


def _annotators(rated: Ratings, aspects: Sequence[RatedAspect], replies: Sequence[str]) -> Floats | None:
    names = rated.raters((HUMAN,))
    if len(names) < 2:
        return None
    position = {reply: at for at, reply in enumerate(rated.replies)}
    places = np.array([position.get(reply, -1) for reply in replies])
    found = np.full((len(names), len(aspects), len(replies)), np.nan)
    for column, aspect in enumerate(aspects):
        own, values = rated.people(aspect.name)
        for name, row in zip(own, values, strict=True):
            found[names.index(name), column, places >= 0] = row[places[places >= 0]]
    return found


def _released(rated: Ratings, aspects: Sequence[RatedAspect], places: Sequence[int]) -> dict[str, ReleasedRater]:
    scores = rated.table(aspects=[aspect.name for aspect in aspects])
    names = [aspect.name for aspect in aspects]
    models = rated.raters(("model",))
    found: dict[str, ReleasedRater] = {}
    for name in dict.fromkeys(scores.metrics):
        own = [at for at, metric in enumerate(scores.metrics) if metric == name]
        features = scores.metric_values[np.ix_(own, places)].T
        values = np.full((len(places), len(aspects)), np.nan)
        for column, at in enumerate(own):
            about = scores.aspect_of[at]
            if about is None:
                signs = [
                    1.0 if aspect.higher_is_better == _higher_is_better(rated, name) else -1.0 for aspect in aspects
                ]
                values = features[:, [column]] * np.array(signs)
            else:
                values[:, names.index(about)] = features[:, column]
        found[name] = ReleasedRater("model" if name in models else "metric", values, features)
    return found


def _higher_is_better(rated: Ratings, metric: str) -> bool:
    """Returns whether high values of a metric for whole replies are better."""
    name, _, aspect = (metric, "", "") if metric in rated.raters() else metric.rpartition(":")
    return all(rated.higher_is_better(each, [name]) for each in ([aspect] if aspect else WHOLE_REPLY))
