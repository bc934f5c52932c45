"""The benchmark as a whole: both protocols on the demo dataset, against independent computations."""

import importlib
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from fcconan.errors import InputError
from fcconan.models.client import EndpointError
from fcconan.retrieval.benchmark import bench
from fcconan.retrieval.benchmark_settings import BenchmarkSettings
from fcconan.retrieval.collections import Collection, load_collection
from fcconan.retrieval.lexical import BM25, Random, TfIdf
from fcconan.retrieval.run_cache import RunCache
from fcconan.retrieval.suites import SystemFactory, load_suite
from fcconan.retrieval.systems import Rankings, Retriever, TrainingPair
from fcconan.scoring.retrieval.evaluation import Ranking

pytestmark = pytest.mark.slow

TIERS = ("diamond", "gold", "silver", "bronze")


class Constant:
    """Gives every CN the same score."""

    name = "constant"

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, Ranking]:
        return {query: [(key, 1.0) for key in corpus] for query in queries}


class Fails:
    """Raises on some queries."""

    name = "fails"

    def __init__(self, on: set[str]) -> None:
        self.on = on

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, Ranking]:
        if self.on & set(queries):
            raise RuntimeError("the abacus\nbroke")
        return BM25().rank(queries, corpus, k)


@pytest.fixture(scope="module")
def collection(demo: Path) -> Collection:
    return load_collection(str(demo))


def run(collection: Collection, *systems: Retriever, **settings: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    chosen = BenchmarkSettings(**{"resamples": 200, **settings}).resolve(collection)
    return bench(collection, systems, chosen)


def test_sound_scores_follow_from_the_rankings_and_labels(collection: Collection) -> None:
    result, details = run(collection, BM25())
    for tier in TIERS:
        qrels = collection.qrels(tier)
        by_metric: dict[str, list[float]] = {"hit_rate@10": [], "mrr@10": [], "precision@10": [], "recall@10": []}
        judged = []
        for query in collection.queries:
            top = details["runs"]["bm25"][query][:10]
            labels = [qrels.get(query, {}).get(key) for key in top]
            judged.append(sum(label is not None for label in labels) / len(top))
            positives = sum(value > 0 for value in qrels.get(query, {}).values())
            if not positives:
                continue
            hits = [rank for rank, label in enumerate(labels, start=1) if label]
            by_metric["hit_rate@10"].append(float(bool(hits)))
            by_metric["mrr@10"].append(1 / hits[0] if hits else 0.0)
            by_metric["precision@10"].append(len(hits) / 10)
            by_metric["recall@10"].append(len(hits) / positives)
        figures = result["systems"]["bm25"]["partitions"][tier]
        for metric, values in by_metric.items():
            assert figures[metric] == pytest.approx(np.mean(values), abs=1e-9)
        assert figures["judged@10"] == pytest.approx(np.mean(judged), abs=1e-9)
        assert figures["n_queries"] == len(by_metric["mrr@10"])
        assert figures["n_queries"] + figures["n_without_positive"] == len(collection.queries)


def test_the_paper_protocol_counts_all_queries_and_takes_the_pool(collection: Collection) -> None:
    pool = collection.pool()
    positive = {key for judged in collection.qrels("bronze").values() for key, value in judged.items() if value}
    assert set(pool.corpus) == positive
    assert list(pool.corpus) == [key for key in collection.corpus if key in positive]
    result, details = run(pool, TfIdf(), protocol="paper")
    for tier in TIERS:
        values = details["per_query"]["tfidf"][tier]["mrr@10"]
        assert len(values) == len(collection.queries)
        assert None not in values.values()
        assert result["systems"]["tfidf"]["partitions"][tier]["mrr@10"] == pytest.approx(np.mean([*values.values()]))
    figures = np.array(
        [[result["systems"]["tfidf"]["partitions"][t][m] for m in result["settings"]["metrics"]] for t in TIERS]
    )
    summary = result["systems"]["tfidf"]["summary"]
    assert summary["avg"] == pytest.approx(figures.mean(axis=0).mean(), abs=1e-9)
    assert summary["min"] == pytest.approx(figures.min(axis=0).mean(), abs=1e-9)
    assert summary["max"] == pytest.approx(figures.max(axis=0).mean(), abs=1e-9)
    assert summary["cv"] == pytest.approx((100 * figures.std(axis=0) / figures.mean(axis=0)).mean(), abs=1e-7)


def test_a_constant_scorer_and_random_are_at_chance(collection: Collection) -> None:
    alone = replace(collection, partitions={"bronze": collection.partitions["bronze"]})
    levels: dict[str, list[float]] = {}
    for seed in range(40):
        result, _ = run(alone, Constant(), seed=seed, resamples=100)
        for metric, value in result["systems"]["constant"]["partitions"]["bronze"].items():
            if metric in result["settings"]["metrics"]:
                levels.setdefault(metric, []).append(value)
    chance = result["chance"]["partitions"]["bronze"]
    for metric, values in levels.items():
        assert abs(np.mean(values) - chance[metric]) < 4 * np.std(values, ddof=1) / np.sqrt(len(values))
    result, _ = run(alone, Random(seeds=200))
    figures, spread = (result["systems"]["random"][key]["bronze"] for key in ("partitions", "spread"))
    for metric in result["settings"]["metrics"]:
        assert abs(figures[metric] - chance[metric]) < 4 * spread[metric] / np.sqrt(200)


def test_a_system_that_raises_on_one_query_is_reported_and_the_others_finish(collection: Collection) -> None:
    bad = list(collection.queries)[3]
    result, details = run(collection, Fails({bad}), BM25())
    system = result["systems"]["fails"]
    assert system["failures"] == {bad: "RuntimeError: the abacus broke"}
    assert system["partitions"]["bronze"]["n_failed"] == 1
    assert (
        system["partitions"]["bronze"]["n_queries"]
        == result["systems"]["bm25"]["partitions"]["bronze"]["n_queries"] - 1
    )
    values = details["per_query"]["fails"]["bronze"]["ndcg@10"]
    assert values.pop(bad) is None
    whole = details["per_query"]["bm25"]["bronze"]["ndcg@10"]
    assert values == {query: value for query, value in whole.items() if query != bad}
    kept = [value for value in values.values() if value is not None]
    assert system["partitions"]["bronze"]["ndcg@10"] == pytest.approx(np.mean(kept), abs=1e-9)
    assert system["failures_as_zero"]["bronze"]["ndcg@10"] == pytest.approx(sum(kept) / (len(kept) + 1), abs=1e-9)
    differences = [row for row in result["comparisons"] if row["metric"] == "ndcg@10"]
    assert all(row["difference"] == 0 and row["p"] == 1 for row in differences)
    assert result["notes"][1:-1] == [
        "fails failed on 1 of 24 HS; its scores leave them out, 'failures as zero' counts them as 0."
    ]
    assert result["notes"][-1].startswith("Primary comparison: ndcg@10 on silver")
    assert result["failed"] == {}
    assert result["problems"] == {"fails": "failed on 1 of 24 HS: RuntimeError: the abacus broke"}


def test_a_system_that_always_fails_leaves_the_others(collection: Collection) -> None:
    result, _ = run(collection, Fails(set(collection.queries)), BM25())
    assert result["failed"] == {"fails": "RuntimeError: the abacus broke"}
    assert result["problems"] == {"fails": "failed on 24 of 24 HS; the first: RuntimeError: the abacus broke"}
    assert list(result["systems"]) == ["bm25"]
    alone, details = run(collection, Fails(set(collection.queries)))
    assert (alone["systems"], alone["comparisons"], alone["order_agreement"]) == ({}, [], [])
    assert alone["failed"] == {"fails": "RuntimeError: the abacus broke"}
    assert alone["problems"] == result["problems"]
    assert alone["partitions"] == result["partitions"]
    assert alone["chance"] == result["chance"]
    assert details["runs"] == {}


class Says:
    """Returns given rankings under the name `says`."""

    name = "says"

    def __init__(self, rankings: Mapping[str, list[tuple[str, float]]], **extras: Any) -> None:
        self.rankings, self.extras = rankings, extras

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        return Rankings(self.rankings, **self.extras)


def test_failures_are_explained_where_a_system_can(collection: Collection) -> None:
    queries = list(collection.queries)
    ranked = {query: [(key, 1.0) for key in collection.corpus] for query in queries[2:]}
    failures = dict.fromkeys(queries[:2], "rate_limited")
    result, _ = run(collection, Says(ranked, failures=failures, explained={queries[0]: "the endpoint is tired: wait"}))
    assert result["problems"] == {"says": "failed on 2 of 24 HS; the first: the endpoint is tired: wait"}
    assert result["systems"]["says"]["failures"] == failures  # programs read the codes


def test_failures_name_the_messages_that_they_quote(collection: Collection) -> None:
    (first, text), second = next(iter(collection.queries.items())), list(collection.queries)[1]
    ranked = {query: [(key, 1.0) for key in collection.corpus] for query in list(collection.queries)[2:]}
    quoting = Says(
        ranked,
        failures={first: f"cannot read\n{text!r}: shorten it", second: "too_long"},
        explained={first: f"refused: {text[:50]}"},
    )
    result, _ = run(collection, quoting)
    said = result["systems"]["says"]["failures"]
    assert list(said.values()) == [f"cannot read {text!r}"[:13] + f"{first} …", "too_long"]
    assert result["problems"] == {"says": f"failed on 2 of 24 HS; the first: refused: {first} …"}


def test_a_refusal_by_an_endpoint_stops_one_system_and_the_others_finish(collection: Collection) -> None:
    class Refused(Constant):
        name = "refused"

        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, Ranking]:
            raise EndpointError("no key for nowhere: set ONE")

    result, _ = run(collection, Refused(), BM25())
    assert list(result["systems"]) == ["bm25"]
    assert result["failed"] == {"refused": "no key for nowhere: set ONE"}
    assert result["problems"] == {"refused": "failed: no key for nowhere: set ONE"}


def test_what_a_run_leaves_out_is_said(collection: Collection) -> None:
    queries, corpus = list(collection.queries), list(collection.corpus)
    lengths = dict.fromkeys(queries, 60) | {queries[0]: 0, queries[1]: 9, queries[2]: 10, queries[3]: 19}
    ranked = {query: [(key, -float(i)) for i, key in enumerate(corpus[:n])] for query, n in lengths.items()}
    del ranked[queries[4]]
    empty = "says ranked nothing for 2 of 24 HS, which count as 0."

    def said(*metrics: str, **extras: Any) -> list[str]:
        result, _ = run(collection, Says(ranked, **extras), metrics=metrics)
        notes: list[str] = result["notes"][1:]
        return notes

    assert said() == [
        empty,
        "says ranked fewer than 10 CNs for 1 of 24 HS; missing CNs count as not found.",
    ]
    assert said("ndcg@20", "mrr@5") == [  # as deep as the figures look
        empty,
        "says ranked fewer than 20 CNs for 3 of 24 HS; missing CNs count as not found.",
    ]
    assert said(diagnostics={"kept_first_stage_order": 3})[2:] == [
        "says: 3 calls failed or could not be read; their candidates remain in the order of the first stage."
    ]
    assert said(failures={queries[4]: "x"})[:2] == [
        "says failed on 1 of 24 HS; its scores leave them out, 'failures as zero' counts them as 0.",
        "says ranked nothing for 1 of 24 HS, which count as 0.",
    ]
    whole, _ = run(collection, BM25())
    assert len(whole["notes"]) == 1


def test_means_over_seeds_and_the_one_run_that_is_written_are_told_apart(collection: Collection) -> None:
    result, details = run(collection, Random(seeds=3))
    assert result["notes"][1:] == [
        "random: scores are means over 3 seeds; the run file and the rankings in a report are those of the first seed."
    ]
    first = Random(seed=0).rank(collection.queries, collection.corpus, 60)
    assert details["scores"]["random"] == dict(first)


def test_a_run_of_the_full_catalogue_is_told_what_the_paper_s_pool_is(collection: Collection) -> None:
    pool = collection.pool()
    outside = next(key for key in collection.corpus if key not in pool.corpus)
    query = next(iter(collection.queries))
    with pytest.raises(InputError) as caught:
        run(pool, Says({query: [(outside, 1.0)]}), protocol="paper")
    assert str(caught.value) == (
        f"the run of 'says', query {query!r}: {outside!r} is not in the catalogue (under protocol paper, the CNs "
        "with a positive in Bronze): rank ids of the catalogue only"
    )


def test_comparisons_are_those_of_scipy(collection: Collection) -> None:
    result, details = run(collection, BM25(), TfIdf(), metrics=("ndcg@10",), resamples=20_000)
    rows = result["comparisons"]
    for row in rows:
        a, b = (
            np.array(
                [v for v in details["per_query"][row[side]][row["partition"]]["ndcg@10"].values() if v is not None]
            )
            for side in "ab"
        )
        assert row["difference"] == pytest.approx((a - b).mean(), abs=1e-9)
        reference = stats.permutation_test(
            (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=20_000, rng=1
        )
        assert row["p"] == pytest.approx(reference.pvalue, abs=0.02)


def test_the_same_call_gives_the_same_bytes_and_another_seed_other_intervals(collection: Collection) -> None:
    first, second = (json.dumps(run(collection, BM25(), TfIdf())[0]) for _ in range(2))
    assert first == second
    other, _ = run(collection, BM25(), TfIdf(), seed=1)
    assert other["systems"]["bm25"]["intervals"] != json.loads(first)["systems"]["bm25"]["intervals"]
    assert other["signature"] != json.loads(first)["signature"]
    wider = run(collection, BM25(), TfIdf(), confidence=0.99)[0]["signature"]
    assert wider == json.loads(first)["signature"].replace("confidence:0.95", "confidence:0.99")
    assert "|bootstrap:200-by-hs|orders:200-by-hs|labels:200-by-hs-and-cn|confidence:0.99|" in wider


def test_one_hs_has_scores_and_no_interval(collection: Collection) -> None:
    key = next(iter(collection.queries))
    labels = collection.qrels("gold")
    key = next(query for query, row in labels.items() if any(row.values()))
    partitions = {"gold": lambda: {key: labels[key]}}
    alone = replace(collection, queries={key: collection.queries[key]}, partitions=partitions)
    result, _ = run(alone, BM25(), TfIdf())
    for system in result["systems"].values():
        assert {tuple(ends) for part in system["intervals"].values() for ends in part.values()} == {(None, None)}
        assert set(map(tuple, system["summary_intervals"].values())) == {(None, None)}
        assert 0 <= system["partitions"]["gold"]["ndcg@10"] <= 1
    assert {(row["low"], row["high"]) for row in result["comparisons"]} == {(None, None)}


def test_finished_runs_are_kept_with_their_configuration_and_reused(collection: Collection, tmp_path: Path) -> None:
    calls = []

    class Counted(BM25):
        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
            calls.append(len(queries))
            return super().rank(queries, corpus, k)

    settings = BenchmarkSettings(resamples=100).resolve(collection)
    kept = RunCache(tmp_path)
    first, _ = bench(collection, [Counted()], settings, cache=kept)
    second, _ = bench(collection, [Counted()], settings, cache=kept)
    assert first == second
    assert calls == [24]
    (file,) = tmp_path.glob("bm25-*.json")
    assert json.loads(file.read_text())["inputs"]["configuration"]["k1"] == 1.5
    bench(collection, [Counted(k1=1.2)], settings, cache=kept)
    assert calls == [24, 24]


def test_a_change_of_the_file_of_an_own_class_ranks_again(
    collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    source = "class Mine:\n    name, configuration = 'mine', {'version': 1}\n\n"
    source += "    def rank(self, queries, corpus, k):\n"
    source += "        return {query: [(key, SIGN * len(corpus[key])) for key in corpus] for query in queries}\n"
    settings = BenchmarkSettings(resamples=100).resolve(collection)
    scores = []
    for sign in (1, -1, 1):
        (tmp_path / "mine_of_user.py").write_text(f"SIGN = {sign}\n{source}")
        monkeypatch.delitem(sys.modules, "mine_of_user", raising=False)
        sys.path_importer_cache.clear()
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        system = importlib.import_module("mine_of_user").Mine()
        result, _ = bench(collection, [system], settings, cache=RunCache(tmp_path / "cache"))
        scores.append(result["systems"]["mine"]["partitions"]["silver"]["ndcg@10"])
    monkeypatch.delitem(sys.modules, "mine_of_user")
    assert scores[0] == scores[2] != scores[1]
    assert len(list((tmp_path / "cache").glob("mine-*.json"))) == 2


def test_a_class_without_a_file_is_not_cached(collection: Collection, tmp_path: Path) -> None:
    class Typed(BM25):
        __module__ = "__main__"

    settings = BenchmarkSettings(resamples=100).resolve(collection)
    bench(collection, [Typed()], settings, cache=RunCache(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_distances_in_place_of_scores_are_noted(collection: Collection) -> None:
    class Distances(BM25):
        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
            found = super().rank(queries, corpus, k)
            return Rankings({query: [(key, -score) for key, score in ranking] for query, ranking in found.items()})

    result, _ = run(collection, Distances())
    assert result["notes"][1:] == [
        "bm25: in 24 of 24 rankings the first CN has a lower score than the last. CNs are ranked by score, highest "
        "first: return similarities, not distances."
    ]


@pytest.mark.long
def test_no_system_and_no_tuning_reads_an_evaluation_label(demo: Path, tmp_path: Path) -> None:
    """Runs are the same when every label is another, and no file of labels is opened before scoring."""
    flipped = tmp_path / "flipped"
    shutil.copytree(demo, flipped)
    for path in flipped.glob("*qrels/*.parquet"):
        table = pq.read_table(path)
        scores = pa.array([1 - value for value in table["score"].to_pylist()], pa.int32())
        pq.write_table(table.set_column(table.schema.get_field_index("score"), "score", scores), path)
    names = ["random", "tfidf", "bm25", "bm25-fast", "sbert-minilm"]
    opened: list[str] = []
    watching = [True]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching[0] and event == "open" and isinstance(arguments[0], str | bytes):
            opened.append(str(arguments[0]))

    sys.addaudithook(watch)
    runs = []
    try:
        for folder in (demo, flipped):
            collection = load_collection(str(folder)).without_leakage()
            maker = SystemFactory(load_suite(), collection.train)
            systems = [maker.make(name) for name in names]
            runs.append([system.rank(collection.queries, collection.corpus, 60) for system in systems])
    finally:
        watching[0] = False
    assert runs[0] == runs[1]
    read = [path for path in opened if path.startswith((str(demo), str(flipped)))]
    assert {Path(path).parent.name for path in read} == {demo.name, "flipped", "corpus", "queries", "train"}


def test_training_pairs_that_were_left_out_are_told(collection: Collection) -> None:
    whole, _ = run(collection, BM25())
    assert (whole["dataset"]["training_pairs"], whole["dataset"]["training_pairs_left_out"]) == (44, 0)
    query = next(iter(collection.queries.values()))
    pair = TrainingPair(query.upper(), "The abacus says no such thing.")
    leaking = replace(collection, train=(*collection.train, pair))
    assert run(leaking, BM25())[0]["signature"] == whole["signature"]
    result, _ = run(leaking.without_leakage(), BM25())
    assert (result["dataset"]["training_pairs"], result["dataset"]["training_pairs_left_out"]) == (44, 1)
    assert result["notes"][1:] == [
        "1 of 45 training pairs were left out: their HS equals or paraphrases an evaluated HS, or their CN answers "
        "such an HS."
    ]
    assert result["signature"] == f"{whole['signature']}|training:44-without-1-kin"


def test_settings_out_of_range(collection: Collection) -> None:
    for bad, message in (
        ({"k": 61}, "the cutoff is 61: give 1 to 60"),
        ({"k": 0}, "the cutoff is 0: give 1 to 60"),
        ({"metrics": ("ndcg@0",)}, "cutoff '0': give a positive whole number"),
        ({"metrics": ("mrr", "ndcg@1000")}, "the cutoff is 1000: give 1 to 60, the size of the catalogue"),
        ({"metrics": ("ndcg@61",)}, "the cutoff is 61: give 1 to 60, the size of the catalogue"),
    ):
        with pytest.raises(InputError, match=message):
            BenchmarkSettings(**bad).resolve(collection)
    few = replace(collection, corpus=dict(list(collection.corpus.items())[:8]))
    message = "the cutoff is 10: give 1 to 8, the size of the catalogue; this is a default metric, so name metrics"
    with pytest.raises(InputError, match=message):
        BenchmarkSettings(k=3).resolve(few)
    assert BenchmarkSettings(metrics=("ndcg@60", "bpref")).resolve(collection).metrics == ("ndcg@60", "bpref")
    assert BenchmarkSettings().resolve(collection).depth == 60
    assert BenchmarkSettings(depth=20).resolve(collection).depth == 20
    assert BenchmarkSettings(depth=3).resolve(collection).depth == 10
    assert BenchmarkSettings(depth=3, metrics=("mrr@40",)).resolve(collection).depth == 40
    with pytest.raises(
        InputError, match=r"two systems are called 'bm25': .* the name of a run is the sixth column of its file$"
    ):
        run(collection, BM25(), BM25())
    with pytest.raises(InputError, match="the system name 'my bm25' is empty or has white space"):
        run(collection, BM25("my bm25"))
