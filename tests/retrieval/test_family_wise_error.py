"""The simulation of family-wise error: its metrics are those of `bench`, and its rates are the documented ones."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.scoring.retrieval.evaluation import ALL_METRICS, Rule, evaluate, metric_names

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "family_wise_error.py"))
K, CATALOGUE, HS = SCRIPT["K"], SCRIPT["CATALOGUE"], SCRIPT["HS"]


def test_metrics_of_the_simulation_are_those_of_bench() -> None:
    relevance, positives = SCRIPT["world"](np.random.default_rng(3), 4)
    values = SCRIPT["metric_values"](relevance, positives.sum(axis=-1).astype(np.float64))
    assert metric_names(ALL_METRICS, K) == SCRIPT["METRICS"]
    queries = [f"q{row}" for row in range(HS)]
    for tier in range(4):
        # The first ten CNs are positives or others; which of either does not matter.
        qrels = {
            query: {f"p{i}": 1 for i in range(n)} for query, n in zip(queries, positives[tier].sum(1), strict=True)
        }
        for system in (0, 7):
            runs = {}
            for row, query in enumerate(queries):
                found = relevance[tier, system, row]
                right = found.cumsum().astype(int) - 1
                runs[query] = [f"p{right[i]}" if found[i] else f"n{i}" for i in range(K)]
            oracle = evaluate(runs, qrels, queries, n_corpus=CATALOGUE, k=K, rule=Rule(SCRIPT["METRICS"]))
            for place, metric in enumerate(SCRIPT["METRICS"]):
                np.testing.assert_allclose(values[tier, place, system], oracle.values[metric], atol=1e-12)


def test_worlds_have_nested_tiers_and_the_smaller_cover_fewer_hs() -> None:
    _, positives = SCRIPT["world"](np.random.default_rng(0), 0)
    assert (positives[:-1] <= positives[1:]).all()
    covered = positives.any(axis=-1).sum(axis=-1)
    assert covered[0] < covered[2] <= HS


def test_a_few_worlds() -> None:
    # 40 worlds: more than 6 errors have a probability of .004 at an error rate of .05.
    none: dict[str, dict[str, float]] = SCRIPT["simulate"](40, 199, 0, seed=1)
    assert none["primary, max-T"]["fwer"] <= 6 / 40
    assert none["exploratory, max-T"]["fwer"] <= 6 / 40
    assert none["exploratory, uncorrected"]["fwer"] > 0.8
    assert "power" not in none["primary, max-T"]


def _rates(better: int) -> tuple[dict[str, Any], float, float]:
    low, high = SCRIPT["limits"](1_000)
    assert (low, high) == (0.037, 0.064)
    return SCRIPT["simulate"](1_000, 999, better), low, high


@pytest.mark.long
def test_family_wise_error_without_a_difference_is_that_of_the_level() -> None:
    rates, low, high = _rates(0)
    assert low <= rates["primary, max-T"]["fwer"] <= high
    assert low <= rates["exploratory, max-T"]["fwer"] <= high


@pytest.mark.long
def test_family_wise_error_among_true_nulls_and_power_where_half_of_the_systems_are_better() -> None:
    rates, _, high = _rates(4)
    for family in ("primary", "exploratory"):
        found = rates[f"{family}, max-T"]
        assert found["fwer"] <= high
        for other in ("Holm", "Holm, all tests"):
            assert found["power"] > rates[f"{family}, {other}"]["power"]
            assert found["any"] >= rates[f"{family}, {other}"]["any"]
