"""Every metric against ranx, trec_eval and figures by hand; chance levels against enumeration.

Where the definitions differ, the comparison is made where they agree:

- MRR: trec_eval's `recip_rank` has no cutoff, so it is given the first k of every ranking.
- MAP: ranx and trec_eval divide by all positives; the capped form of FC-CONAN's Table 4 is in neither, and is compared
  with theirs times positives over min(k, positives).
- F1 at k is not in trec_eval (its `set_F` has no cutoff); accuracy is in neither, and is compared with counts over the
  catalogue.
- trec_eval leaves out a query that the run does not have, and ranx raises: here both mean 0 in every metric.
"""

import itertools
import math
import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, strategies as st

from fcconan.errors import InputError
from fcconan.scoring.retrieval.evaluation import Rule, evaluate
from fcconan.scoring.retrieval.metrics import (
    NOTHING,
    PAPER_METRICS,
    RETRIEVAL_METRICS,
    UNJUDGED,
    Ranked,
    chance,
    judged,
    parse_metric,
    sort_run,
    tie_by_corpus,
    tie_by_hash,
    to_gains,
)

Rankings = dict[str, list[tuple[str, float]]]
Judgements = dict[str, dict[str, int]]
Floats = npt.NDArray[np.float64]

CORPUS = {f"cn-{number:02}": "" for number in range(40)}
CUTOFFS = (1, 3, 10, 25)
DEPTH = max(CUTOFFS)


def _random_case(seed: int, *, graded: bool) -> tuple[Rankings, Judgements]:
    """Rankings with ties, short, empty and missing ones; judgements with gaps, and queries without a positive."""
    generator = random.Random(seed)
    rankings: Rankings = {}
    qrels: Judgements = {}
    for number in range(120):
        query = f"hs-{seed}-{graded}-{number:03}"
        keys = generator.sample(list(CORPUS), generator.choice([0, 4, 12, 40]))
        values = [0] if number % 10 == 0 else [0, 0, 0, 1, 2, 3] if graded else [0, 0, 1]
        qrels[query] = {key: generator.choice(values) for key in keys}
        if number % 7 == 0:
            continue  # missing from the run
        length = generator.choice([0, 2, 9, 10, 25, 40])
        ranked = generator.sample(list(CORPUS), length)
        rankings[query] = [(key, generator.choice([0.0, 0.25, 0.5, 1.0])) for key in ranked]
    return rankings, qrels


def _cases() -> tuple[dict[str, list[str]], Judgements]:
    """All random cases in one, so that ranx is called once; the rankings are ordered by our tie rule."""
    ordered: dict[str, list[str]] = {}
    qrels: Judgements = {}
    for seed, graded in itertools.product(range(3), (False, True)):
        rankings, judgements = _random_case(seed, graded=graded)
        ordered |= sort_run(rankings, tie_by_hash(seed))
        qrels |= judgements
    return ordered, qrels


def _ours(ordered: Mapping[str, Sequence[str]], qrels: Judgements) -> Ranked:
    return to_gains(ordered, qrels, list(qrels), len(CORPUS), depth=DEPTH)


def _falling(keys: Sequence[str]) -> dict[str, float]:
    return {key: float(len(keys) - rank) for rank, key in enumerate(keys)}


def test_random_cases_hold_what_they_should() -> None:
    ordered, qrels = _cases()
    ranked = _ours(ordered, qrels)
    lengths = [len(ordered.get(query, ())) for query in qrels]
    assert len(qrels) == 720
    assert {query for query in qrels if query not in ordered}
    assert {0, 2, 9, 10, 40} <= set(lengths)
    assert (ranked.n_positive == 0).any()
    assert (ranked.n_positive > DEPTH).any()
    assert (ranked.gains == UNJUDGED).any()
    assert set(np.unique(ranked.gains)) == {NOTHING, UNJUDGED, 0, 1, 2, 3}


def test_every_metric_equals_ranx() -> None:
    # One test, not one a metric: ranx compiles for a minute, in every process that a test of it runs in.
    ordered, qrels = _cases()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba's
        from ranx import Qrels, Run, evaluate  # type: ignore[import-untyped, unused-ignore]

        # ranx raises for a query without a ranking, and for one without judgements: it gets a CN that nobody knows.
        run = Run({query: _falling(ordered.get(query) or ["unknown"]) for query in qrels}, name="run")
        judgements = Qrels({query: judged or {"unknown-2": 0} for query, judged in qrels.items()})
        names = [f"{name}@{cutoff}" for name in RETRIEVAL_METRICS if name != "accuracy" for cutoff in CUTOFFS]
        oracle: dict[str, Any] = evaluate(judgements, run, names, return_mean=False)
    ranked = _ours(ordered, qrels)
    for name in names:
        metric, cutoff = parse_metric(name, 10)
        values = RETRIEVAL_METRICS[metric](ranked, cutoff)
        assert values.std() > 0.05
        np.testing.assert_allclose(values, oracle[name], rtol=0, atol=1e-9, err_msg=name)


TREC_EVAL = {
    "hit_rate": "success",
    "ndcg": "ndcg_cut",
    "map": "map_cut",
    "precision": "P",
    "recall": "recall",
    "mrr": "recip_rank",
}


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("metric", TREC_EVAL)
def test_every_metric_equals_trec_eval(metric: str, cutoff: int) -> None:
    import pytrec_eval  # type: ignore[import-untyped, unused-ignore]

    ordered, qrels = _cases()
    measure = TREC_EVAL[metric]
    asked, field = (measure, measure) if metric == "mrr" else (f"{measure}.{cutoff}", f"{measure}_{cutoff}")
    run = {query: _falling(keys[:cutoff] if metric == "mrr" else keys) for query, keys in ordered.items() if keys}
    found = pytrec_eval.RelevanceEvaluator(qrels, {asked}).evaluate(run)
    values = RETRIEVAL_METRICS[metric](_ours(ordered, qrels), cutoff)
    np.testing.assert_allclose(
        values, [found[query][field] if query in found else 0.0 for query in qrels], rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_capped_average_precision_is_average_precision_over_the_smaller_number(cutoff: int) -> None:
    ranked = _ours(*_cases())
    positives = ranked.n_positive
    factor = positives / np.maximum(np.minimum(positives, cutoff), 1)
    np.testing.assert_allclose(
        PAPER_METRICS["map"](ranked, cutoff), RETRIEVAL_METRICS["map"](ranked, cutoff) * factor, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("cutoff", CUTOFFS)
def test_accuracy_counts_right_decisions_over_the_catalogue(cutoff: int) -> None:
    ordered, qrels = _cases()
    expected = []
    for query, values in qrels.items():
        chosen = set(ordered.get(query, ())[:cutoff])
        expected.append(sum((key in chosen) == (values.get(key, 0) > 0) for key in CORPUS) / len(CORPUS))
    np.testing.assert_allclose(
        RETRIEVAL_METRICS["accuracy"](_ours(ordered, qrels), cutoff), expected, rtol=0, atol=1e-12
    )


# By hand

# A catalogue of eight, five of them ranked: a is judged wrong, b is right (2), c is not judged, d is right (1), e is
# wrong; f is right (1) and not returned.
SMALL = to_gains({"q": ["a", "b", "c", "d", "e"]}, {"q": {"a": 0, "b": 2, "d": 1, "e": 0, "f": 1}}, ["q"], 8, depth=5)
IDEAL_4 = 2 + 1 / math.log2(3) + 1 / 2  # relevances 2, 1, 1
IDEAL_2 = 2 + 1 / math.log2(3)


@pytest.mark.parametrize(
    ("name", "k", "expected"),
    [
        ("hit_rate", 1, 0.0),
        ("hit_rate", 2, 1.0),
        ("mrr", 1, 0.0),
        ("mrr", 4, 1 / 2),
        ("precision", 4, 2 / 4),
        ("precision", 10, 2 / 10),  # five are returned, ten were asked for
        ("recall", 4, 2 / 3),
        ("f1", 4, 4 / 7),  # 2 * 1/2 * 2/3 / (1/2 + 2/3)
        ("accuracy", 4, 5 / 8),  # wrong: a and c are returned, f is not
        ("accuracy", 10, 4 / 8),  # and e is returned
        ("ndcg", 4, (2 / math.log2(3) + 1 / math.log2(5)) / IDEAL_4),
        ("ndcg", 2, (2 / math.log2(3)) / IDEAL_2),
        ("map", 4, (1 / 2 + 2 / 4) / 3),
        ("map", 2, (1 / 2) / 3),
    ],
)
def test_metrics_by_hand(name: str, k: int, expected: float) -> None:
    assert RETRIEVAL_METRICS[name](SMALL, k).tolist() == [pytest.approx(expected, abs=1e-15)]


def test_paper_divides_average_precision_by_the_cutoff_if_there_are_more_positives() -> None:
    assert PAPER_METRICS["map"](SMALL, 2).tolist() == [pytest.approx((1 / 2) / 2, abs=1e-15)]
    assert PAPER_METRICS["map"](SMALL, 4).tolist() == [pytest.approx((1 / 2 + 2 / 4) / 3, abs=1e-15)]
    assert {name for name in RETRIEVAL_METRICS if PAPER_METRICS[name] is not RETRIEVAL_METRICS[name]} == {"map"}


def test_judged_by_hand() -> None:
    assert judged(SMALL, 4).tolist() == [3 / 4]
    assert judged(SMALL, 10).tolist() == [4 / 5]
    assert judged(to_gains({}, {}, ["q"], 8, depth=5), 4).tolist() == [0.0]


def test_unjudged_taken_as_right_by_hand() -> None:
    # Among the first four only c is not judged: the gains are 0 2 1 1 0, the positives b, d, f and c.
    right = SMALL.with_unjudged_right(4)
    assert right.gains.tolist() == [[0, 2, 1, 1, 0]]
    assert right.relevances[right.relevances > 0].tolist() == [2, 1, 1, 1]
    assert SMALL.gains.tolist() == [[0, 2, UNJUDGED, 1, 0]]
    expected = {
        "hit_rate": 1.0,
        "mrr": 1 / 2,
        "precision": 3 / 4,
        "recall": 3 / 4,
        "f1": 3 / 4,
        "accuracy": 6 / 8,  # a is returned, f is not
        "ndcg": (2 / math.log2(3) + 1 / 2 + 1 / math.log2(5)) / (IDEAL_4 + 1 / math.log2(5)),
        "map": (1 / 2 + 2 / 3 + 3 / 4) / 4,
    }
    assert {name: float(metric(right, 4)[0]) for name, metric in RETRIEVAL_METRICS.items()} == pytest.approx(
        expected, abs=1e-15
    )


def test_unjudged_past_the_cutoff_stay_unjudged() -> None:
    ranked = to_gains(
        {"q": ["a", "b", "c"], "r": ["a"]}, {"q": {"b": 1}, "r": {"a": 1}}, ["q", "r"], 5, depth=4, failed=["r"]
    )
    right = ranked.with_unjudged_right(2)
    assert right.gains.tolist() == [[1, 1, UNJUDGED, NOTHING], [1, NOTHING, NOTHING, NOTHING]]
    assert right.n_positive.tolist() == [2, 1]
    assert right.failed.tolist() == [False, True]


def test_what_is_ranked_is_seen_through_the_judgements() -> None:
    ranked = to_gains(
        {"q": ["c", "a", "b"], "other": ["a"]},
        {"q": {"a": 2, "c": 0, "z": 3}},
        ["p", "q"],
        9,
        depth=2,
        failed=["p"],
    )
    assert ranked.query_ids == ("p", "q")
    assert ranked.gains.tolist() == [[NOTHING, NOTHING], [0, 2]]
    assert ranked.relevances.tolist() == [[0, 0], [3, 2]]
    assert ranked.n_positive.tolist() == [0, 2]
    assert ranked.failed.tolist() == [True, False]
    assert ranked.top(3).tolist() == [[NOTHING] * 3, [0, 2, NOTHING]]


def test_a_negative_judgement_is_judged_and_wrong() -> None:
    # TREC marks junk with -1 or -2; neither is unjudged, and neither is the end of the ranking.
    ranked = to_gains({"q": ["a", "b", "c"]}, {"q": {"a": -1, "b": -2, "c": 1}}, ["q"], 4, depth=3)
    assert judged(ranked, 3).tolist() == [1.0]
    assert RETRIEVAL_METRICS["accuracy"](ranked, 3).tolist() == [2 / 4]
    assert RETRIEVAL_METRICS["ndcg"](ranked, 3).tolist() == [1 / 2]
    assert ranked.with_unjudged_right(3).n_positive.tolist() == [1]


def test_without_queries_there_are_no_values() -> None:
    empty = to_gains({}, {}, [], 5, depth=3)
    assert {name: metric(empty, 3).shape for name, metric in RETRIEVAL_METRICS.items()} == dict.fromkeys(
        RETRIEVAL_METRICS, (0,)
    )
    assert empty.with_unjudged_right(3).gains.shape == (0, 3)


# Ties


def test_without_ties_the_rule_is_not_asked() -> None:
    assert sort_run({"q": [("a", 1.0), ("c", 3.0), ("b", 2.0)]}, tie_by_corpus({})) == {"q": ["c", "b", "a"]}


def test_ties_are_broken_by_the_rule_and_only_ties() -> None:
    # b and c are tied; the key puts c first. The order in which the system returned them does not matter.
    def backwards(query: str, key: str) -> int:
        return -ord(key)

    for permutation in itertools.permutations([("a", 2.0), ("b", 1.0), ("c", 1.0), ("d", 0.5)]):
        assert sort_run({"q": permutation}, backwards) == {"q": ["a", "c", "b", "d"]}


@given(st.lists(st.sampled_from([0.0, -0.0, 0.5, 1.0, 7.25]), max_size=12), st.integers(0, 3))
def test_order_is_that_of_scores_then_of_the_hash(scores: list[float], seed: int) -> None:
    ranking = [(f"cn-{number}", score) for number, score in enumerate(scores)]
    keys = sort_run({"q": ranking}, tie_by_hash(seed))["q"]
    assert sorted(keys) == sorted(key for key, _ in ranking)
    score_of = dict(ranking)
    for before, after in itertools.pairwise(keys):
        assert score_of[before] >= score_of[after]
        if score_of[before] == score_of[after]:
            assert tie_by_hash(seed)("q", before) < tie_by_hash(seed)("q", after)


def test_adding_a_cn_does_not_move_other_tied_ones() -> None:
    rule = tie_by_hash(0)
    few = [(f"cn-{number}", 1.0) for number in range(20)]
    more = sort_run({"q": [("new", 1.0), *few]}, rule)["q"]
    assert [key for key in more if key != "new"] == sort_run({"q": few}, rule)["q"]


def test_tied_order_differs_between_queries_and_seeds() -> None:
    tied = [(f"cn-{number}", 1.0) for number in range(20)]
    by_query = sort_run({"p": tied, "q": tied}, tie_by_hash(0))
    assert by_query["p"] != by_query["q"]
    assert sort_run({"p": tied}, tie_by_hash(1))["p"] != by_query["p"]


def test_the_rule_of_the_paper_keeps_the_order_of_the_catalogue() -> None:
    rule = tie_by_corpus({"c": "", "a": "", "b": ""})
    assert sort_run({"q": [("a", 1.0), ("b", 1.0), ("c", 1.0)]}, rule) == {"q": ["c", "a", "b"]}


# Chance


def _all_orders(relevances: Sequence[int]) -> Ranked:
    """Every order of a small catalogue, as if each were a query."""
    gains = np.array(list(itertools.permutations(relevances)), dtype=np.int64)
    positive = sorted((value for value in relevances if value > 0), reverse=True)
    return Ranked(
        tuple(str(row) for row in range(len(gains))),
        gains,
        np.broadcast_to(np.array(positive, dtype=np.int64), (len(gains), len(positive))),
        len(relevances),
        np.zeros(len(gains), dtype=np.bool_),
    )


@pytest.mark.parametrize("k", [1, 2, 4, 6, 8])
@pytest.mark.parametrize(
    "relevances",
    [[0] * 6, [1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1] * 6, [3, 1, 0, 0, 0], [2, 2, 1, 1, 0, 0]],
    ids=str,
)
def test_chance_is_the_mean_over_all_orders(relevances: list[int], k: int) -> None:
    ranked = _all_orders(relevances)
    for metrics, capped in ((RETRIEVAL_METRICS, False), (PAPER_METRICS, True)):
        for name, metric in metrics.items():
            level = chance(ranked, name, k, capped=capped)
            assert level.shape == (len(ranked.query_ids),)
            assert np.ptp(level) == 0
            assert level[0] == pytest.approx(metric(ranked, k).mean(), abs=1e-12), name


def test_chance_by_hand() -> None:
    # Four CNs, two right, the first two are returned: none of the two is right in 2/4 * 1/3 = 1/6 of the orders.
    ranked = to_gains({}, {"q": {"a": 1, "b": 1}}, ["q"], 4, depth=2)
    first = 1 / 2
    second = (1 / 2) * (2 / 3)  # the first is wrong, the second is right
    expected = {
        "hit_rate": 5 / 6,
        "mrr": first + second / 2,
        "precision": 1 / 2,
        "recall": 1 / 2,
        "f1": 1 / 2,  # 2 * right / (2 + 2), and one of two is right on average
        "accuracy": 1 / 2,
        "ndcg": 1 / 2,
        "map": (1 / 2 + (1 / 2) * (1 + 1 / 3) / 2) / 2,
    }
    found = {name: float(chance(ranked, name, 2)[0]) for name in RETRIEVAL_METRICS}
    assert found == pytest.approx(expected, abs=1e-15)
    # At 1, either of the two is first in half of the orders; by default that is divided by both.
    assert [float(chance(ranked, "map", 1)[0]), float(chance(ranked, "map", 1, capped=True)[0])] == [1 / 4, 1 / 2]


@pytest.mark.long
def test_chance_agrees_with_simulation_at_the_size_of_fc_conan() -> None:
    # 130 CNs, 23 right, 20 000 random orders: within 4.5 standard errors in each of nine figures.
    draws = 20_000
    generator = np.random.default_rng(12)
    relevances = np.array([1] * 23 + [0] * 107, dtype=np.int64)
    gains = generator.permuted(np.broadcast_to(relevances, (draws, 130)), axis=1)
    positive = np.ones((draws, 23), dtype=np.int64)
    ranked = Ranked(tuple(map(str, range(draws))), gains, positive, 130, np.zeros(draws, dtype=np.bool_))
    for metrics, capped in ((RETRIEVAL_METRICS, False), (PAPER_METRICS, True)):
        for name, metric in metrics.items():
            values = metric(ranked, 10)
            error = values.std() / math.sqrt(draws)
            assert error > 0
            assert abs(values.mean() - chance(ranked, name, 10, capped=capped)[0]) < 4.5 * error, name


def test_chance_without_a_closed_form_is_missing() -> None:
    assert np.isnan(chance(SMALL, "bpref", 10)).all()


def _constant(tie: Callable[[int], Any]) -> tuple[Ranked, int]:
    """A scorer that gives every CN the same score, for 25 queries whose positives head the catalogue, and 60 seeds."""
    corpus = {f"cn-{number:02}": "" for number in range(30)}
    keys = list(corpus)
    ordered: dict[str, list[str]] = {}
    qrels: Judgements = {}
    for seed in range(60):
        for number in range(25):
            query = f"{seed}-{number}"
            tied = [(key, 1.0) for key in keys]
            ordered |= sort_run({query: tied}, tie(seed))
            qrels[query] = {key: int(position < 1 + number % 6) for position, key in enumerate(keys)}
    return to_gains(ordered, qrels, list(qrels), len(corpus), depth=10), 60 * 25


def test_a_constant_scorer_is_at_chance_level_in_every_metric() -> None:
    ranked, count = _constant(tie_by_hash)
    for metrics, capped in ((RETRIEVAL_METRICS, False), (PAPER_METRICS, True)):
        for name, metric in metrics.items():
            surplus = metric(ranked, 10) - chance(ranked, name, 10, capped=capped)
            error = surplus.std(ddof=1) / math.sqrt(count)
            assert 0 < error < 0.02
            assert abs(surplus.mean()) < 4 * error, name


def test_in_the_order_of_the_catalogue_a_constant_scorer_would_look_perfect() -> None:
    corpus = {f"cn-{number:02}": "" for number in range(30)}
    ranked, _ = _constant(lambda seed: tie_by_corpus(corpus))
    assert RETRIEVAL_METRICS["mrr"](ranked, 10).tolist() == [1.0] * len(ranked.query_ids)


# Names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@5", ("ndcg", 5)),
        ("NDCG", ("ndcg", 10)),
        (" hit_ratio@3 ", ("hit_rate", 3)),
        ("hits", ("hits", 10)),
        ("ap@100", ("map", 100)),
        ("reciprocal_rank", ("mrr", 10)),
        ("rr@5", ("mrr", 5)),
        ("bpref", ("bpref", 10)),
    ],
)
def test_metric_names(text: str, expected: tuple[str, int]) -> None:
    assert parse_metric(text, 10) == expected


@pytest.mark.parametrize("text", ["ndcg@0", "ndcg@-1", "ndcg@ten", "ndcg@1.5", "ndcg@", "ndcg@5@5"])
def test_a_cutoff_that_is_no_positive_number_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="give a positive whole number") as caught:
        parse_metric(text, 10)
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_queries_that_do_not_count_have_no_bracket_either() -> None:
    ordered = {query: ["a", "b"] for query in ("counts", "none", "failed")}
    qrels = {"counts": {"a": 1}, "none": {"a": 0}, "failed": {"a": 1}}
    found = evaluate(ordered, qrels, list(qrels), n_corpus=3, k=2, rule=Rule(("precision@2",)), failed=["failed"])
    assert found.values["precision@2"] == pytest.approx([0.5, np.nan, np.nan], nan_ok=True)
    assert found.unjudged_right["precision@2"] == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)
