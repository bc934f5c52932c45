"""Removal of positives against all subsets."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from fcconan.retrieval.benchmark_settings import BenchmarkSettings
from fcconan.retrieval.collections import Collection
from fcconan.retrieval.sparsity import FRACTIONS, study_broadest, study_sparsity
from fcconan.scoring.retrieval.evaluation import TABLE_4, Rule, chance_levels

Floats = npt.NDArray[np.float64]
Runs = dict[str, dict[str, list[str]]]
Judgements = dict[str, dict[str, int]]

# Ten CNs, two HS with three positives and one. `good` finds all of them, `bad` the one of r and the last of q.
RUNS: Runs = {
    "good": {"q": ["a", "b", "c", "x"], "r": ["a", "x", "y", "z"]},
    "bad": {"q": ["x", "y", "z", "c"], "r": ["x", "a", "y", "z"]},
    "none": {"q": ["x", "y", "z", "w"], "r": ["x", "y", "z", "w"]},
}
QRELS: Judgements = {"q": {"a": 1, "b": 1, "c": 1, "x": 0}, "r": {"a": 1, "y": 0}}
QUERIES = ["q", "r"]
N_CORPUS = 10
SEEDS = 1_500


def _study(runs: Runs, rule: Rule, **options: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"n_corpus": N_CORPUS, "k": 4, "seeds": SEEDS} | options
    return study_sparsity(runs, QRELS, QUERIES, rule=rule, **settings)


def _reciprocal_rank(ranking: Sequence[str], positives: set[str]) -> float:
    return next((1 / rank for rank, key in enumerate(ranking, start=1) if key in positives), 0.0)


def _subsets(kept: int) -> list[dict[str, set[str]]]:
    """Returns all equally likely subsets of the positives."""
    pairs = [(query, key) for query, row in QRELS.items() for key, value in row.items() if value > 0]
    return [
        {query: {key for asked, key in subset if asked == query} for query in QUERIES}
        for subset in itertools.combinations(pairs, kept)
    ]


def _mrr(runs: Mapping[str, Mapping[str, Sequence[str]]], positives: Mapping[str, set[str]], every: bool) -> Floats:
    counted = [query for query in QUERIES if every or positives[query]]
    return np.array(
        [np.mean([_reciprocal_rank(run[query], positives[query]) for query in counted]) for run in runs.values()]
    )


@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize(("fraction", "kept"), [(0.75, 3), (0.5, 2), (0.25, 1)])
def test_scores_are_means_over_all_subsets_of_positives(every: bool, fraction: float, kept: int) -> None:
    found = _study(RUNS, Rule(("mrr@4",), all_queries=every), fractions=[fraction])["fractions"][0]
    subsets = _subsets(kept)
    exact = np.array([_mrr(RUNS, subset, every) for subset in subsets])
    assert found["positives"] == kept
    remaining = [sum(bool(keys) for keys in subset.values()) for subset in subsets]
    assert abs(found["queries_with_positive"] - np.mean(remaining)) <= 4.5 * np.std(remaining) / math.sqrt(SEEDS)
    for column, name in enumerate(RUNS):
        figures = found["metrics"]["mrr@4"]["systems"][name]
        spread = exact[:, column].std()
        assert abs(figures["mean"] - exact[:, column].mean()) <= 4.5 * spread / math.sqrt(SEEDS) + 1e-9
        assert figures["sd"] == pytest.approx(spread, rel=0.08, abs=1e-9)
        # Every outcome has a share of 1/6 or more, so the percentiles are the outermost ones.
        assert figures["low"] == pytest.approx(exact[:, column].min(), abs=1e-9)
        assert figures["high"] == pytest.approx(exact[:, column].max(), abs=1e-9)


@pytest.mark.parametrize("kept", [1, 2, 3])
def test_agreement_of_orders_is_that_of_all_ways_to_keep_positives(kept: int) -> None:
    # Under all labels: good (1 + 1)/2, bad (1/4 + 1/2)/2, none 0.
    full = _mrr(RUNS, _subsets(4)[0], True)
    assert full.tolist() == [1, 3 / 8, 0]
    exact = [stats.kendalltau(full, _mrr(RUNS, subset, True)).statistic for subset in _subsets(kept)]
    found = _study(RUNS, Rule(("mrr@4",), all_queries=True), fractions=[kept / 4])["fractions"][0]
    tau = found["metrics"]["mrr@4"]["tau"]
    assert abs(tau["mean"] - np.mean(exact)) <= 4.5 * float(np.std(exact)) / math.sqrt(SEEDS) + 1e-9
    assert (tau["low"], tau["high"]) == pytest.approx((min(exact), max(exact)), abs=1e-9)
    assert tau["without_order"] == 0


def test_removals_after_which_all_systems_are_equal_have_no_order() -> None:
    # Both find a of r at the same rank and neither finds b or c of q; only one finds a of q.
    runs = {"one": {"q": ["a"], "r": ["a"]}, "two": {"q": ["x"], "r": ["a"]}}
    found = _study(runs, Rule(("mrr@4",), all_queries=True), fractions=[0.25])["fractions"][0]
    tau = found["metrics"]["mrr@4"]["tau"]
    # One of the four positives is kept; unless it is a of q, there is no order.
    assert abs(tau["without_order"] / SEEDS - 3 / 4) < 4.5 * math.sqrt(3 / 16 / SEEDS)
    assert (tau["mean"], tau["sd"], tau["low"], tau["high"]) == (1.0, 0.0, 1.0, 1.0)


def test_chance_is_that_of_the_positives_that_are_left() -> None:
    # One positive of ten CNs is left, in one of two HS: the first CN is right with 1/10, the other HS counts as 0.
    for every, level in ((True, 1 / 20), (False, 1 / 10)):
        rule = Rule(("hit_rate@1",), all_queries=every)
        found = _study(RUNS, rule, fractions=[0.25], seeds=20)["fractions"][0]
        assert found["metrics"]["hit_rate@1"]["chance"] == pytest.approx(level, abs=1e-9)
        assert found["queries_with_positive"] == 1.0


def test_a_removed_positive_is_removed_for_every_system() -> None:
    # The systems share what they find, so that any other removal would tell them apart.
    runs = {"one": {"q": ["a", "x"], "r": ["y"]}, "two": {"q": ["a", "z"], "r": ["z"]}}
    found = _study(runs, Rule(("mrr@4", "recall@4"), all_queries=True), seeds=50)
    for entry in found["fractions"]:
        for figures in entry["metrics"].values():
            assert figures["systems"]["one"] == figures["systems"]["two"]
    assert found["fractions"][2]["metrics"]["mrr@4"]["systems"]["one"]["sd"] > 0


def _large() -> tuple[Runs, Judgements, list[str]]:
    """As many HS and CNs as FC-CONAN has, with graded positives, and three systems of rising quality."""
    generator = np.random.default_rng(5)
    corpus = [f"cn-{number}" for number in range(130)]
    queries = [f"hs-{number}" for number in range(45)]
    labels = generator.integers(1, 3, (45, 130)) * (generator.random((45, 130)) < 0.2)
    qrels = {query: dict(zip(corpus, map(int, row), strict=True)) for query, row in zip(queries, labels, strict=True)}
    runs: Runs = {}
    for quality in (0.0, 0.2, 0.6):
        order = np.argsort(-(quality * labels + generator.random((45, 130))), axis=1)
        runs[f"s{quality}"] = {
            query: [corpus[index] for index in row[:50]] for query, row in zip(queries, order, strict=True)
        }
    return runs, qrels, queries


def test_precision_falls_with_the_share_of_positives_that_is_kept() -> None:
    # Every positive stays with the same probability, so the expected precision is the full one times the share; so is
    # its chance level, without any spread.
    runs, qrels, queries = _large()
    rule = Rule(("precision@10", "recall@10"), all_queries=True)
    found = study_sparsity(runs, qrels, queries, n_corpus=130, k=10, rule=rule, seeds=100)["fractions"]
    assert [entry["fraction"] for entry in found] == list(FRACTIONS)
    full = found[0]["metrics"]["precision@10"]
    positives = sum(value > 0 for row in qrels.values() for value in row.values())
    assert full["chance"] == pytest.approx(positives / (45 * 130), abs=1e-9)
    for entry in found[1:]:
        share = entry["positives"] / positives
        assert entry["positives"] == round(entry["fraction"] * positives)
        level = entry["metrics"]["precision@10"]
        assert level["chance"] == pytest.approx(share * full["chance"], abs=1e-9)
        for name in runs:
            drawn = level["systems"][name]
            assert drawn["sd"] > 0
            assert abs(drawn["mean"] - share * full["systems"][name]["mean"]) < 4.5 * drawn["sd"] / math.sqrt(100)


def test_the_metrics_of_table_4_are_lower_bounds_if_queries_without_a_positive_count_as_0() -> None:
    # The paper's claim.
    runs, qrels, queries = _large()
    kept = study_sparsity(runs, qrels, queries, n_corpus=130, k=10, rule=Rule(TABLE_4, all_queries=True), seeds=20)
    for metric in TABLE_4:
        means = [entry["metrics"][metric]["systems"]["s0.6"]["mean"] for entry in kept["fractions"]]
        assert means == sorted(means, reverse=True)
        assert means[-1] < means[0] / 3


def test_recall_is_no_lower_bound_if_queries_without_a_positive_are_left_out() -> None:
    # Where every HS has as many positives, those that are left are as likely among the first ten as all are: the
    # expected recall stays. Counted as 0, the HS without a positive pull it down.
    queries = [f"hs-{number}" for number in range(24)]
    qrels = {query: dict.fromkeys("abcdef", 1) for query in queries}
    runs: Runs = {"one": {query: list("abcdef"[: number % 6]) for number, query in enumerate(queries)}}
    for every in (True, False):
        rule = Rule(("recall@10",), all_queries=every)
        found = study_sparsity(runs, qrels, queries, n_corpus=20, k=10, rule=rule, seeds=400)["fractions"]
        full = found[0]["metrics"]["recall@10"]["systems"]["one"]["mean"]
        assert full == pytest.approx(2.5 / 6, abs=1e-9)  # 0 to 5 of six
        for entry in found[1:]:
            drawn = entry["metrics"]["recall@10"]["systems"]["one"]
            remaining = entry["queries_with_positive"] / len(queries) if every else 1.0
            assert abs(drawn["mean"] - full * remaining) < 4.5 * drawn["sd"] / math.sqrt(400)
        assert found[-1]["queries_with_positive"] < 4


def test_all_labels_are_looked_at_once_and_agree_with_themselves() -> None:
    found = _study(RUNS, Rule(("mrr@4", "map@4")), fractions=[1.0])["fractions"][0]
    mrr = found["metrics"]["mrr@4"]
    assert mrr["systems"]["bad"] == {"mean": 3 / 8, "sd": 0.0, "low": 3 / 8, "high": 3 / 8}
    assert mrr["tau"] == {"mean": 1.0, "sd": 0.0, "low": 1.0, "high": 1.0, "without_order": 0}
    # q: 1/4 at rank 4, over three positives; r: 1/2.
    assert found["metrics"]["map@4"]["systems"]["bad"]["mean"] == pytest.approx((1 / 12 + 1 / 2) / 2, abs=1e-9)
    assert found["queries_with_positive"] == 2


def test_the_capped_form_of_map_is_taken_if_the_rule_says_so() -> None:
    # good at 2: q finds two of three, (1 + 1)/3 or over min(2, 3); r finds its only one.
    for capped, expected in ((False, (2 / 3 + 1) / 2), (True, 1.0)):
        found = _study(RUNS, Rule(("map@2",), capped=capped), fractions=[1.0])["fractions"][0]
        assert found["metrics"]["map@2"]["systems"]["good"]["mean"] == pytest.approx(expected, abs=1e-9)


def test_one_positive_is_always_kept() -> None:
    found = _study(RUNS, Rule(("mrr@4",)), fractions=[0.02, 0.0], seeds=3)["fractions"]
    assert [entry["positives"] for entry in found] == [1, 1]


def test_failed_queries_are_left_out_of_the_means_of_their_system() -> None:
    runs = {"good": RUNS["good"], "bad": {"q": RUNS["bad"]["q"]}}
    for every in (True, False):
        rule = Rule(("mrr@4",), all_queries=every)
        found = _study(runs, rule, failed={"bad": ["r"]}, fractions=[1.0])["fractions"][0]
        assert found["metrics"]["mrr@4"]["systems"]["bad"]["mean"] == 1 / 4  # q only
        assert found["metrics"]["mrr@4"]["systems"]["good"]["mean"] == 1.0
    # A removal that leaves a positive to the failed query only has no figure, and the others have theirs.
    found = _study(runs, Rule(("mrr@4",)), failed={"bad": ["r"]}, fractions=[0.25])["fractions"][0]
    tau = found["metrics"]["mrr@4"]["tau"]
    assert abs(tau["without_order"] / SEEDS - 1 / 4) < 4.5 * math.sqrt(3 / 16 / SEEDS)
    # c is the one of three that bad finds, at rank 4.
    assert abs(found["metrics"]["mrr@4"]["systems"]["bad"]["mean"] - 1 / 12) < 4.5 * (1 / 4) / math.sqrt(SEEDS / 4)


def test_without_positives_and_with_one_system_there_is_no_score_to_compare() -> None:
    nothing = {"mean": None, "sd": None, "low": None, "high": None}
    found = study_sparsity(RUNS, {"q": {"a": 0}}, QUERIES, n_corpus=10, k=4, rule=Rule(("mrr@4",)), seeds=2)
    for entry in found["fractions"]:
        assert (entry["positives"], entry["queries_with_positive"]) == (0, 0.0)
        assert entry["metrics"]["mrr@4"]["systems"] == dict.fromkeys(RUNS, nothing)
        assert entry["metrics"]["mrr@4"]["chance"] is None
    alone = _study({"good": RUNS["good"]}, Rule(("mrr@4",)), fractions=[0.5], seeds=7)["fractions"][0]
    assert alone["metrics"]["mrr@4"]["tau"] == nothing | {"without_order": 7}


def test_metrics_without_a_cutoff_have_that_of_the_study() -> None:
    # bad at 1 finds nothing, at 2 only a of r at rank 2, at 4 also c of q at rank 4.
    for k, expected in ((1, 0.0), (2, 1 / 4), (4, 3 / 8)):
        found = _study(RUNS, Rule(("mrr",)), k=k, fractions=[0.25, 1.0], seeds=3)["fractions"]
        assert found[1]["metrics"]["mrr"]["systems"]["bad"]["mean"] == expected
        # One positive of ten CNs is left, in one HS that counts.
        assert found[0]["metrics"]["mrr"]["chance"] == pytest.approx(sum(1 / r for r in range(1, k + 1)) / 10, abs=1e-9)


def test_chance_follows_the_rule() -> None:
    levels = []
    for capped in (True, False):
        rule = Rule(("map@2",), capped=capped, all_queries=True)
        found = _study(RUNS, rule, k=2, fractions=[1.0])["fractions"][0]["metrics"]["map@2"]["chance"]
        expected = chance_levels(QRELS, QUERIES, n_corpus=N_CORPUS, rule=rule)["map@2"].mean()
        assert found == pytest.approx(expected, abs=1e-9)
        levels.append(found)
    assert levels[0] > levels[1]  # q has more positives than the cutoff


def test_without_systems_there_is_chance_only() -> None:
    found = _study({}, Rule(("hit_rate@1",)), fractions=[1.0])["fractions"][0]
    nothing = {"mean": None, "sd": None, "low": None, "high": None, "without_order": 1}
    # Three of ten CNs are right for q, one for r.
    chance = pytest.approx((3 / 10 + 1 / 10) / 2, abs=1e-9)
    assert found["metrics"]["hit_rate@1"] == {"systems": {}, "chance": chance, "tau": nothing}
    assert found["queries_with_positive"] == 2


def test_metrics_of_ranx_only_are_left_out() -> None:
    found = _study(RUNS, Rule(("mrr@4", "bpref")), fractions=[0.5], seeds=2)
    assert list(found["fractions"][0]["metrics"]) == ["mrr@4"]


def test_same_seed_same_bytes() -> None:
    def text(seed: int) -> str:
        return json.dumps(_study(RUNS, Rule(TABLE_4), seed=seed, seeds=20), allow_nan=False)

    assert text(1) == text(1)
    assert text(1).replace('"seed": 1', "") != text(2).replace('"seed": 2', "")


def test_what_the_study_did_is_said() -> None:
    found = _study(RUNS, Rule(("mrr@4",), all_queries=True), seeds=4, seed=9)
    assert (found["seeds"], found["seed"], found["without_positive"]) == (4, 9, "count as 0")
    assert _study(RUNS, Rule(("mrr@4",)), seeds=2)["without_positive"] == "left out"


# On a benchmark


def test_the_broadest_partition_of_a_benchmark_is_studied() -> None:
    corpus = dict.fromkeys("abcxyzw123", "")
    partitions = {"narrow": lambda: {"q": {"a": 1}}, "broad": lambda: QRELS}
    collection = Collection("invented", "Invented", "0", dict.fromkeys(QUERIES, ""), corpus, (), partitions)
    details = {
        "failed": {"bad": ["r"]},
        "deep_runs": {name: RUNS[name] for name in ("good", "bad")},
        "labels": {"narrow": {"q": {"a": 1}}, "broad": QRELS},
    }
    settings = BenchmarkSettings("sound", ("mrr@4",), k=4, seed=3).resolve(collection)
    found = study_broadest(collection, details, settings, seeds=5)
    assert (found["partition"], found["seeds"], found["seed"]) == ("broad", 5, 3)
    systems = found["fractions"][0]["metrics"]["mrr@4"]["systems"]
    assert {name: figures["mean"] for name, figures in systems.items()} == {"good": 1.0, "bad": 0.25}
