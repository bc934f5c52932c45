"""The queue on FC-CONAN's labels: what it saves, and that it is sure of no more than is so."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.queue_replay import needed, needed_at_random, replay
from fcconan.annotation import Problem, likeness, standardised
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream
SEEDS = 3


def pairs(folder: Path, vectors_of: Callable[[list[str]], Any]) -> tuple[Problem, Any]:
    """Bronze with the similarity of HS and CN as the only score."""
    rows = pd.read_parquet(folder / "bronze").to_dict("records")
    queries = {row["hs_id"]: row["hate_speech"] for row in rows}
    corpus = {row["cn_id"]: row["counter_narrative"] for row in rows}
    hs = np.array([list(queries).index(row["hs_id"]) for row in rows])
    cn = np.array([list(corpus).index(row["cn_id"]) for row in rows])
    vectors = vectors_of([*queries.values(), *corpus.values()])
    first, second = vectors[: len(queries)], vectors[len(queries) :]
    scores = standardised((first @ second.T)[hs, cn])
    positive = np.array([row["label"] == "appropriate" for row in rows])
    return Problem(hs, cn, likeness(first), likeness(second), scores), positive


@pytest.mark.long
def test_half_of_the_judgements_find_nine_positives_in_ten(release: Release) -> None:
    from fcconan.retrieval import DOCUMENT, SentenceEncoder

    encoder = SentenceEncoder()
    problem, positive = pairs(release("fc-conan"), lambda texts: encoder.encode(texts, role=DOCUMENT))
    assert (len(positive), int(positive.sum())) == (3997, 702)
    random = needed_at_random(3997, 702, 0.9)
    assert random == pytest.approx(632 * 3998 / 703)
    by_score: dict[str, Any] = {"model": lambda problem, _: problem.scores[:, 0], "explore": 0.0}
    alone = replay(problem, positive, random_share=0.0, until=0.9, **by_score)
    assert 1 - needed(alone.order, positive, 0.9) / random == pytest.approx(0.09, abs=0.01)
    for share, least in ((0.0, 0.57), (0.1, 0.56), (0.2, 0.55)):
        runs = [replay(problem, positive, random_share=share, seed=seed, until=0.9) for seed in range(SEEDS)]
        saved = [1 - needed(run.order, positive, 0.9) / random for run in runs]
        assert np.mean(saved) > least, (share, saved)


def test_the_queue_stops_when_eight_in_ten_are_found(release: Release) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(sublinear_tf=True)
    problem, positive = pairs(release("fc-conan"), lambda texts: vectors.fit_transform(texts).toarray())
    played = replay(problem, positive, estimates=True)
    wrong = [each for each in played.estimates if not each["low"] <= 702 - each["found"] <= each["high"]]
    assert wrong == []
    stop = next(each for each in played.estimates if each["recall_low"] >= 0.8)
    assert stop["found"] >= 0.8 * 702
    assert 3997 - stop["left"] < 3000
