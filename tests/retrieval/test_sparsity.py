"""Removal of positives against all subsets; sample sizes against values by hand and simulation."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from fcconan.errors import InputError
from fcconan.retrieval.benchmark_settings import BenchmarkSettings
from fcconan.retrieval.collections import Collection
from fcconan.retrieval.sample_size import LARGEST, compute_sample_size, mean_pool_size, plan_judgements
from fcconan.retrieval.sparsity import FRACTIONS, study_broadest, study_sparsity
from fcconan.scoring.retrieval.evaluation import TABLE_4, Rule, chance_levels
from fcconan.scoring.significance.intervals import bootstrap_means, percentile_interval

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


def _benchmark(
    per_query: Mapping[str, Mapping[str, float | None]], failed: Mapping[str, Sequence[str]] | None = None
) -> tuple[Collection, dict[str, Any]]:
    """A collection with a narrow and a broad partition, and the details of a benchmark of `RUNS` on it."""
    corpus = dict.fromkeys("abcxyzw123", "")
    partitions = {"narrow": lambda: {"q": {"a": 1}}, "broad": lambda: QRELS}
    collection = Collection("invented", "Invented", "0", dict.fromkeys(QUERIES, ""), corpus, (), partitions)
    details = {
        "failed": dict(failed or {}),
        "deep_runs": {name: RUNS[name] for name in per_query},
        "runs": {name: {query: keys[:2] for query, keys in RUNS[name].items()} for name in per_query},
        "labels": {"narrow": {"q": {"a": 1}}, "broad": QRELS},
        "per_query": {
            name: {"narrow": {"mrr@4": {"q": 0.0, "r": None}}, "broad": {"mrr@4": values}}
            for name, values in per_query.items()
        },
    }
    return collection, details


def test_the_broadest_partition_of_a_benchmark_is_studied() -> None:
    collection, details = _benchmark({"good": {"q": 1.0, "r": 1.0}, "bad": {"q": 0.25, "r": None}}, {"bad": ["r"]})
    settings = BenchmarkSettings("sound", ("mrr@4",), k=4, seed=3).resolve(collection)
    found = study_broadest(collection, details, settings, seeds=5)
    assert (found["partition"], found["seeds"], found["seed"]) == ("broad", 5, 3)
    systems = found["fractions"][0]["metrics"]["mrr@4"]["systems"]
    assert {name: figures["mean"] for name, figures in systems.items()} == {"good": 1.0, "bad": 0.25}


# Plans


def _with_deviation(deviation: float, count: int) -> Floats:
    values = np.array([0.0, 1.0] * (count // 2))
    return np.asarray((values - 0.5) * deviation / values.std(ddof=1) + 0.5)


@pytest.mark.parametrize(
    ("half_width", "confidence", "n_queries"),
    [
        # Deviation 1/2. By the normal distribution 96.04 HS; t(97) = 1.98472 gives .10024, t(98) = 1.98447 .09973.
        (0.1, 0.95, 99),
        # By the normal distribution 15.4; t(16) = 2.11991 gives .25707, t(17) = 2.10982 gives .24864.
        (0.25, 0.95, 18),
        # t(1) = 6.31375 gives 2.232, t(2) = 2.91999 gives .8429, t(3) = 2.35336 gives .58834.
        (0.6, 0.9, 4),
        (3.0, 0.9, 2),
    ],
)
def test_plan_by_hand(half_width: float, confidence: float, n_queries: int) -> None:
    found = compute_sample_size(_with_deviation(0.5, 40), half_width, confidence=confidence, judged_per_query=130)
    assert found.deviation == pytest.approx(0.5, abs=1e-12)
    assert (found.n_queries, found.n_pairs) == (n_queries, n_queries * 130)


def test_half_width_of_now_by_hand() -> None:
    # t(39) at 97.5 % is 2.02269; times .5 / sqrt(40).
    found = compute_sample_size(_with_deviation(0.5, 40), 0.1, judged_per_query=1)
    assert found.n_now == 40
    assert found.half_width_now == pytest.approx(2.02269 * 0.5 / math.sqrt(40), abs=1e-6)


def test_the_interval_of_now_needs_the_queries_of_now() -> None:
    for count in (4, 10, 46):
        now = compute_sample_size(_with_deviation(0.3, count), 1.0, judged_per_query=1).half_width_now
        assert compute_sample_size(_with_deviation(0.3, count), now, judged_per_query=1).n_queries == count
        assert (
            compute_sample_size(_with_deviation(0.3, count), now * (1 - 1e-6), judged_per_query=1).n_queries
            == count + 1
        )


def test_pairs_of_a_pool_are_rounded_up() -> None:
    assert (
        compute_sample_size(_with_deviation(0.5, 40), 0.1, judged_per_query=12.5).n_pairs == 1_238
    )  # 99 * 12.5 = 1237.5


def test_missing_values_are_left_out_of_a_plan() -> None:
    values = np.insert(_with_deviation(0.5, 40), [0, 7, 7], math.nan)
    assert compute_sample_size(values, 0.1, judged_per_query=130) == compute_sample_size(
        _with_deviation(0.5, 40), 0.1, judged_per_query=130
    )


def test_values_that_do_not_differ_need_two_queries() -> None:
    found = compute_sample_size(np.full(9, 0.25), 0.01, judged_per_query=3)
    assert (found.n_queries, found.n_pairs, found.half_width_now) == (2, 6, 0.0)


@pytest.mark.parametrize(
    ("values", "half_width", "message"),
    [
        ([0.5, math.nan], 0.1, "1 HS have a score: a sample size needs scores of 2 or more HS"),
        ([0.0, 1.0], 1e-6, f"needs more than {LARGEST} HS: give a wider one"),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused(values: list[float], half_width: float, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        compute_sample_size(np.array(values), half_width, judged_per_query=1)
    assert "\n" not in str(caught.value)


def test_a_plan_gives_the_interval_that_was_asked_for() -> None:
    # Reciprocal ranks, as a mixture: 0, 1, and something between. From a pilot as large as the population the plan is
    # exact; 4000 samples of the planned size then have the half width on average, and cover the mean at about 95 %.
    generator = np.random.default_rng(17)
    ranks = generator.choice([0.0, 0.1, 0.2, 1 / 3, 0.5, 1.0], size=200_000, p=[0.25, 0.1, 0.1, 0.1, 0.15, 0.3])
    found = compute_sample_size(ranks, 0.08, judged_per_query=130)
    assert 80 < found.n_queries < 120
    samples = generator.choice(ranks, size=(4_000, found.n_queries))
    widths = stats.t.ppf(0.975, found.n_queries - 1) * samples.std(axis=1, ddof=1) / math.sqrt(found.n_queries)
    assert widths.mean() == pytest.approx(0.08, rel=0.02)
    covered = np.abs(samples.mean(axis=1) - ranks.mean()) <= widths
    assert abs(covered.mean() - 0.95) < 0.005 + 4 * math.sqrt(0.95 * 0.05 / 4_000)
    # The bootstrap interval, which `fcconan bench` prints, is as wide, up to the t quantile's surplus.
    low, high = percentile_interval(bootstrap_means(samples[:300], resamples=2_000, seed=0))
    assert ((high - low) / 2).mean() == pytest.approx(0.08, rel=0.04)


def test_pool_size_by_hand() -> None:
    # First two of q: a b, x y, x y: 4 different; of r: a x, x a, x y: 3.
    assert mean_pool_size(RUNS, QUERIES, 2) == 3.5
    assert mean_pool_size({"one": {"q": ["a"]}}, QUERIES, 2) == 0.5
    assert mean_pool_size(RUNS, [], 2) == 0.0


def test_plan_of_a_benchmark_is_for_the_system_that_varies_most() -> None:
    # Deviations: good 0, bad sqrt(.02) = .1414, none sqrt(.5) = .7071, all over two HS. For plus or minus .5 and
    # .7071, n = 10: t(9) = 2.26216 gives .50583; n = 11: t(10) = 2.22814 gives .47504.
    collection, details = _benchmark(
        {"good": {"q": 1.0, "r": 1.0}, "bad": {"q": 0.2, "r": 0.4}, "none": {"q": 0.0, "r": 1.0}}
    )
    settings = BenchmarkSettings("sound", ("mrr@4",), k=2).resolve(collection)
    found = plan_judgements(collection, details, settings, half_width=0.5)
    assert (found["partition"], found["half_width"], found["confidence"]) == ("broad", 0.5, 0.95)
    assert found["judged_per_query"] == {"exhaustive": 10, "pooled": 3.5}
    assert found["rows"] == [
        {
            "metric": "mrr@4",
            "system": "none",
            "deviation": pytest.approx(math.sqrt(0.5), abs=1e-9),
            "n_now": 2,
            "half_width_now": pytest.approx(12.7062047 * 0.5, abs=1e-6),  # t(1) times sqrt(.5) / sqrt(2)
            "n_queries": 11,
            "pairs_exhaustive": 110,
            "pairs_pooled": 39,  # 38.5, rounded up
        }
    ]


def test_the_system_that_varies_most_need_not_be_the_last() -> None:
    collection, details = _benchmark({"good": {"q": 0.3, "r": 0.4}, "bad": {"q": 0.0, "r": 1.0}, "none": {"q": 0.2}})
    settings = BenchmarkSettings("sound", ("mrr@4",), k=2).resolve(collection)
    assert [row["system"] for row in plan_judgements(collection, details, settings, half_width=0.5)["rows"]] == ["bad"]
    # t(1) at 95 % is 6.31375. A metric without a plan does not end the list.
    settings = BenchmarkSettings("sound", ("hit_rate@4", "mrr@4"), k=2, confidence=0.9).resolve(collection)
    for parts in details["per_query"].values():
        parts["broad"]["hit_rate@4"] = {"q": 1.0}
    (row,) = plan_judgements(collection, details, settings, half_width=0.5)["rows"]
    assert row["half_width_now"] == pytest.approx(6.31375 * 0.5, abs=1e-5)


def test_a_metric_with_one_score_has_no_sample_size() -> None:
    collection, details = _benchmark({"bad": {"q": 0.25, "r": None}})
    settings = BenchmarkSettings("sound", ("mrr@4",), k=2).resolve(collection)
    assert plan_judgements(collection, details, settings, half_width=0.5)["rows"] == []
