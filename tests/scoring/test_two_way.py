"""The bootstrap over HS and CNs against copies of ids, ranked and scored by `evaluate`."""

import math
import warnings
from collections.abc import Sequence

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.scoring import Floats, Rule, bootstrap_means, evaluate, two_way_means
from fcconan.scoring.arrays import Qrels
from fcconan.scoring.retrieval import two_way
from fcconan.scoring.retrieval.two_way import two_way_draws
from fcconan.scoring.intervals import draws

QUERIES = [f"hs-{number}" for number in range(7)]
CORPUS = [f"cn-{number:02}" for number in range(12)]
METRICS = (
    "hit_rate@3",
    "mrr@3",
    "ndcg@3",
    "map@3",
    "precision@3",
    "recall@3",
    "f1@3",
    "accuracy@3",
    "ndcg@40",
    "map@1",
)
Order = dict[str, list[str]]


def _case(*, most: int = 1) -> tuple[list[Order], dict[str, dict[str, int]]]:
    """Whole, short, empty and missing rankings; graded labels with gaps, an HS without a positive."""
    generator = np.random.default_rng(3)
    qrels = {
        query: {key: int(generator.integers(-2, most + 1)) for key in CORPUS if generator.random() < 0.7}
        for query in QUERIES
    }
    qrels["hs-4"] = {"cn-01": 0, "cn-02": 0}
    whole = {query: [str(key) for key in generator.permutation(CORPUS)] for query in QUERIES}
    short = {query: ranking[: 2 * place] for place, (query, ranking) in enumerate(whole.items()) if query != "hs-3"}
    return [whole, short], qrels


def _by_copies(
    order: Order, qrels: Qrels, of_hs: Floats, of_cns: Floats, rule: Rule, failed: Sequence[str] = ()
) -> list[float]:
    """Scores one resample: every copy of an HS and of a CN is a query and a document of its own."""

    def copies(keys: Sequence[str]) -> list[str]:
        return [f"{key}#{copy}" for key in keys for copy in range(int(of_cns[CORPUS.index(key)]))]

    queries, orders, labels, gone = [], {}, {}, []
    for query, times in zip(QUERIES, of_hs, strict=True):
        for copy in range(int(times)):
            queries.append(name := f"{query}#{copy}")
            orders[name] = copies(order.get(query, []))
            labels[name] = {copied: value for key, value in qrels[query].items() for copied in copies([key])}
            gone += [name] if query in failed else []
    found = evaluate(orders, labels, queries, n_corpus=len(CORPUS), k=3, rule=rule, failed=gone)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of no query
        return [float(np.nanmean(found.values[metric])) for metric in rule.metrics]


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("rule", [Rule(METRICS, brackets=False), Rule(METRICS, capped=True, all_queries=True)])
def test_a_resample_is_what_copied_hs_and_cns_give(rule: Rule, most: int) -> None:
    orders, qrels = _case(most=most)
    failed: list[list[str]] = [[], ["hs-1", "hs-6"]]
    found = two_way_means(orders, qrels, QUERIES, CORPUS, rule=rule, k=3, resamples=60, seed=5, failed=failed)
    assert found.shape == (60, 2, len(METRICS))
    ((of_hs, of_cns),) = two_way_draws(len(QUERIES), len(CORPUS), 60, 5)
    for draw in range(60):
        for system, order in enumerate(orders):
            expected = _by_copies(order, qrels, of_hs[draw], of_cns[draw], rule, failed[system])
            np.testing.assert_allclose(found[draw, system], expected, rtol=0, atol=1e-12)


def test_resamples_do_not_depend_on_how_many_are_computed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    orders, qrels = _case()
    rule = Rule(METRICS)
    whole = two_way_means(orders, qrels, QUERIES, CORPUS, rule=rule, k=3, resamples=80, seed=1)
    for size in (1, 5 * 19, 1400):  # of the last, 73 resamples are drawn at once, and 3 computed
        monkeypatch.setattr(two_way, "CHUNK", size)
        parts = two_way_means(orders, qrels, QUERIES, CORPUS, rule=rule, k=3, resamples=80, seed=1)
        np.testing.assert_allclose(parts, whole, rtol=1e-12)
    assert not np.array_equal(
        whole, two_way_means(orders, qrels, QUERIES, CORPUS, rule=rule, k=3, resamples=80, seed=2)
    )


def test_hs_are_drawn_as_by_the_bootstrap_over_hs_and_cns_apart_from_them() -> None:
    ((of_hs, of_cns),) = two_way_draws(9, 9, 40, 7)
    np.testing.assert_array_equal(of_hs, next(draws(9, 40, 7)))
    assert (of_hs.sum(axis=1) == 9).all() and (of_cns.sum(axis=1) == 9).all()
    assert not np.array_equal(of_hs, of_cns)


def test_a_ranking_of_equal_cns_varies_over_hs_only() -> None:
    """Where all CNs of an HS have one label, their resamples change nothing: what is left is the bootstrap over HS."""
    qrels = {query: dict.fromkeys(CORPUS, place % 2) for place, query in enumerate(QUERIES)}
    rule = Rule(("precision@3",), all_queries=True)
    found = two_way_means(
        [dict.fromkeys(QUERIES, CORPUS)], qrels, QUERIES, CORPUS, rule=rule, k=3, resamples=30, seed=2
    )
    values = np.array([[place % 2 for place in range(len(QUERIES))]], dtype=np.float64)
    np.testing.assert_allclose(found[:, 0, 0], bootstrap_means(values, resamples=30, seed=2)[:, 0])


def test_short_looks_into_a_ranking_go_on_until_they_hold_enough_copies() -> None:
    """Of 400 CNs, the ranking begins with those that are drawn least: the first places hold none."""
    corpus = [f"cn-{number:03}" for number in range(400)]
    ((_, of_cns),) = two_way_draws(1, 400, 1, 0)
    order = [corpus[place] for place in np.argsort(of_cns[0], kind="stable")]
    n_gone = int((of_cns[0] == 0).sum())
    assert n_gone > 100
    qrels = {"hs": {order[n_gone]: 1}}  # the first that is drawn
    found = two_way_means([{"hs": order}], qrels, ["hs"], corpus, rule=Rule(("mrr@1",)), k=1, resamples=1, seed=0)
    assert found[0, 0, 0] == 1.0


def test_what_has_no_value_is_nan() -> None:
    orders, qrels = _case()
    rule = Rule(("bpref", "ndcg@3"))
    found = two_way_means(orders, qrels, QUERIES, CORPUS, rule=rule, k=3, resamples=4, seed=0)
    assert np.isnan(found[..., 0]).all() and np.isfinite(found[..., 1]).all()
    without = two_way_means(orders, {}, QUERIES, CORPUS, rule=rule, k=3, resamples=4, seed=0)
    assert np.isnan(without).all()
    assert np.isnan(two_way_means([{}], {}, [], CORPUS, rule=rule, k=3, resamples=4, seed=0)).all()
    nothing = two_way_means([{}], qrels, QUERIES, CORPUS, rule=Rule(("ndcg@3",)), k=3, resamples=4, seed=0)
    assert (nothing == 0.0).all()


def test_one_draw_by_hand() -> None:
    """Two HS, three CNs, one draw: the copies of `b` push `c` to rank 3."""
    ((of_hs, of_cns),) = two_way_draws(2, 3, 1, 8)
    order = ["a", "b", "c"]
    n_a, n_b, n_c = (int(count) for count in of_cns[0])
    qrels = {"x": {"c": 1}, "y": {"a": 1}}
    found = two_way_means(
        [{"x": order, "y": order}], qrels, ["x", "y"], order, rule=Rule(("mrr@3",)), k=3, resamples=1, seed=8
    )
    of_x = (of_hs[0, 0] if n_c else 0, 1 / (1 + n_a + n_b))
    of_y = (of_hs[0, 1] if n_a else 0, 1.0)
    counted = of_x[0] + of_y[0]
    expected = (of_x[0] * of_x[1] + of_y[0] * of_y[1]) / counted if counted else math.nan
    assert found[0, 0, 0] == pytest.approx(expected, nan_ok=True)


def test_an_id_outside_the_catalogue_is_refused() -> None:
    with pytest.raises(InputError, match=r"the ranking for 'hs-0' has 'cn-x', which is not in the catalogue: rank ids"):
        two_way_means([{"hs-0": ["cn-x"]}], {}, QUERIES, CORPUS, rule=Rule(), k=3, resamples=1, seed=0)
