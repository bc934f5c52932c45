"""Pair propagation, by hand on vectors in the plane; only training pairs determine its choices."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.retrieval.dense import Vectors
from fcconan.retrieval.propagation import PairPropagation, blend_similarities, mean_metrics
from fcconan.retrieval.systems import TrainingPair


class Plane:
    """An encoder of texts such as `30`: the unit vector at 30 degrees."""

    name = "plane"
    configuration: dict[str, Any] = {"model": "plane"}  # noqa: RUF012

    def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
        angles = np.radians([float(text.split()[0]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def unit(*degrees: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_scores_by_hand() -> None:
    # One query at 0, catalogue at 0 and 90. Direct: 1 and 0, z-scores 1 and -1.
    # Known HS at 0 and 90, their CNs at 90 and 0. With temperature 1 the weights are e and 1 over e + 1: the bridge is
    # (1, e) / (1 + e), so propagated similarity is 1 / (1 + e) and e / (1 + e), z-scores -1 and 1. The sum is 0 and 0.
    scores = blend_similarities(unit(0), unit(0, 90), unit(0, 90), unit(90, 0), 1.0)
    assert scores == pytest.approx(np.zeros((1, 2)), abs=1e-12)
    # A third CN at 45: direct 1, 0, .7071; propagated .2689, .7311, .7071.
    scores = blend_similarities(unit(0), unit(0, 90, 45), unit(0, 90), unit(90, 0), 1.0)
    direct = np.array([1, 0, np.sqrt(0.5)])
    e = math.e
    propagated = np.array([1 / (1 + e), e / (1 + e), np.sqrt(0.5)])
    expected = (direct - direct.mean()) / direct.std() + (propagated - propagated.mean()) / propagated.std()
    assert scores[0] == pytest.approx(expected, abs=1e-12)
    assert int(scores[0].argmax()) == 2


def test_a_tiny_temperature_takes_the_nearest_known_message_and_does_not_overflow() -> None:
    scores = blend_similarities(unit(10), unit(0, 90, 180), unit(0, 90), unit(90, 180), 1e-6)
    nearest = unit(90) @ unit(0, 90, 180).T
    direct = unit(10) @ unit(0, 90, 180).T
    expected = (direct - direct.mean()) / direct.std() + (nearest - nearest.mean()) / nearest.std()
    assert scores == pytest.approx(expected, abs=1e-9)


def test_the_bridge_leads_where_direct_similarity_does_not() -> None:
    train = [TrainingPair("0 known", "100 known"), TrainingPair("180 other", "270 other")]
    queries, corpus = {"q": "2 asked"}, {"near": "60", "bridged": "101", "far": "280"}
    system = PairPropagation(encoder=Plane(), train=train, temperature=0.05)
    found = system.rank(queries, corpus, 3)
    assert [key for key, _ in found["q"]] == ["near", "bridged", "far"]
    assert found.resolved["temperature"] == 0.05
    direct = Plane().encode(["2"], role="query") @ Plane().encode(list(corpus.values()), role="document").T
    assert [round(float(value), 4) for value in direct[0]] == [0.5299, -0.1564, 0.1392]  # far is nearer than bridged


def test_the_temperature_is_chosen_in_folds_of_training_pairs_only() -> None:
    generator = np.random.default_rng(4)
    train = [
        TrainingPair(f"{angle:.3f} hs {index}", f"{angle + 20 + generator.normal(0, 5):.3f} cn {index}")
        for index, angle in enumerate(generator.uniform(0, 360, 60))
    ]
    seen: list[str] = []

    class Watched(Plane):
        def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
            seen.extend(texts)
            return super().encode(texts, role=role)

    system = PairPropagation(encoder=Watched(), train=train, temperatures=(0.001, 0.01, 0.1, 1.0), folds=3, repeats=2)
    found = system.rank({"q": "5 asked"}, {"a": "25", "b": "200"}, 2)
    figures = found.resolved["cross_validation"]["mean_of_hit_rate_mrr_ndcg_map_at_10"]
    means = {key: value for key, value in figures.items() if key.startswith("temperature")}
    assert f"temperature {found.resolved['temperature']}" == max(means, key=lambda key: means[key])
    assert set(seen) == {text for pair in train for text in pair} | {"5 asked", "25", "200"}
    again = PairPropagation(encoder=Plane(), train=train, temperatures=(0.001, 0.01, 0.1, 1.0), folds=3, repeats=2)
    assert again.rank({"q": "5 asked"}, {"a": "25", "b": "200"}, 2) == found


def test_mean_metrics_by_hand() -> None:
    # Two CNs, the appropriate one second: hit ratio 1, MRR 1/2, NDCG 1 / log2(3), MAP 1/2.
    values = mean_metrics(np.array([[2.0, 1.0]]), np.array([[0.0, 1.0]]))
    assert values == pytest.approx([(1 + 0.5 + 1 / np.log2(3) + 0.5) / 4], abs=1e-12)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="needs training pairs, but the dataset has none"):
        PairPropagation(encoder=Plane(), train=[])
