"""`fcconan.bench` and its kernels: values of other libraries, by enumeration and by hand, and users' mistakes."""

import hashlib
import io
import itertools
import json
import math
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import pytrec_eval  # type: ignore[import-untyped, unused-ignore]
from scipy import stats
from sklearn.metrics import roc_auc_score

from fcconan import Bootstrap, Endpoint, InputError, Result, bench
from fcconan.scoring import chance_levels, evaluate, message_auc, metric_names, sign_flips
from tests.models.server import KEY, Server

NONE, FEW = Bootstrap(resamples=0), Bootstrap(resamples=500)
HS, CNS = 6, 9
Runs = dict[str, dict[str, float]]


class Scorer:
    """A system with the scores of a function of HS and CN ids."""

    def __init__(self, name: str, score: Callable[[str, str], float]) -> None:
        self.name, self.score = name, score

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, list[tuple[str, float]]]:
        found = {query: [(key, self.score(query, key)) for key in corpus] for query in queries}
        return {query: sorted(each, key=lambda entry: -entry[1])[:k] for query, each in found.items()}


def pairs(seed: int = 0, positive: float = 0.4, judged: float = 0.7) -> list[dict[str, Any]]:
    """Judged pairs of HS and CNs about Elves; every text occurs, and each HS has a positive."""
    generator = np.random.default_rng(seed)
    rows = []
    for hs, cn in itertools.product(range(HS), range(CNS)):
        is_positive = generator.random() < positive or cn == hs
        if generator.random() < judged or cn == hs or hs == 0:
            label = "appropriate" if is_positive else "not_appropriate"
            texts = {"hate_speech": f"Elves take {hs} of our jobs.", "counter_narrative": f"They share {cn} songs."}
            rows.append({"hs_id": f"h{hs}", "cn_id": f"c{cn}", **texts, "label": label})
    return rows


def qrels_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["hs_id"], {})[row["cn_id"]] = int(row["label"] == "appropriate")
    return found


def run(seed: int) -> Runs:
    scores = np.random.default_rng(seed).permutation(HS * CNS).reshape(HS, CNS)
    return {f"h{hs}": {f"c{cn}": float(scores[hs, cn]) for cn in range(CNS)} for hs in range(HS)}


def system(name: str, seed: int) -> Scorer:
    scores = run(seed)
    return Scorer(name, lambda query, key: scores[query][key])


def scores(result: Result, table: str = "scores", of: str | None = None) -> dict[Any, float]:
    frame = result.to_frame(table)
    frame = frame if of is None else frame[frame["system"] == of]
    keys = [key for key in ("system", "partition", "metric") if of is None or key != "system"]
    return dict(zip(frame[keys].itertuples(index=False, name=None), frame["value"], strict=True))


# Values


@pytest.mark.parametrize("seed", range(3))
def test_metrics_are_those_of_ranx_and_pytrec_eval_on_graded_judgements(seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import Qrels, Run, evaluate as by_ranx
    rows = pairs(seed)
    graded = {
        query: {key: 3 * value - (key == "c1") for key, value in row.items()} for query, row in qrels_of(rows).items()
    }
    mine = Run(run(seed + 10), name="mine")
    metrics = ["ndcg@5", "map@5", "mrr@5", "precision@5", "recall@5", "f1@5", "hit_rate@5", "dcg@5", "r-precision"]
    metrics += ["ndcg@9", "map@9", "mrr@9"]
    found = bench(rows, system=[mine], metric=(*metrics,), qrels={"graded": Qrels(graded)}, bootstrap=NONE)
    own = {metric: value for (part, metric), value in scores(found, of="mine").items() if part == "graded"}
    clipped = {query: {key: max(value, 0) for key, value in row.items()} for query, row in graded.items()}
    expected = by_ranx(Qrels(clipped), mine, metrics)
    assert own == pytest.approx(expected | {"judged@10": own["judged@10"]}, abs=1e-10)
    names = {"ndcg_cut_5": "ndcg@5", "map_cut_5": "map@5", "P_5": "precision@5", "recall_5": "recall@5"}
    names |= {"recip_rank": "mrr@9", "ndcg_cut_9": "ndcg@9", "map": "map@9"}
    measures = {"ndcg_cut.5,9", "map_cut.5", "P.5", "recall.5", "recip_rank", "map"}
    each = pytrec_eval.RelevanceEvaluator(graded, measures).evaluate(run(seed + 10))
    for theirs, ours in names.items():
        assert own[ours] == pytest.approx(np.mean([row[theirs] for row in each.values()]), abs=1e-10), ours


def test_scores_on_judged_pairs_are_those_of_runs_without_unjudged_cns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import Qrels, Run, evaluate as by_ranx
    rows, whole = pairs(4), run(4)
    qrels = qrels_of(rows)
    found = scores(bench(rows, system=[system("mine", 4)], bootstrap=NONE), "judged_only", "mine")
    left = Run(
        {query: {key: value for key, value in row.items() if key in qrels[query]} for query, row in whole.items()}
    )
    metrics = ["ndcg@10", "map@10", "mrr@10", "precision@10", "recall@10", "f1@10", "hit_rate@10"]
    assert found == pytest.approx({("test", key): value for key, value in by_ranx(Qrels(qrels), left, metrics).items()})


@pytest.mark.parametrize(("paper", "judged"), [(False, False), (True, False), (False, True)])
def test_chance_levels_are_means_over_all_orders(paper: bool, judged: bool) -> None:
    labels = np.array([[2, 0, math.nan, 1, 0], [0, math.nan, 0, 0, 0], [1, 1, 1, 1, 1], [math.nan, 3, 0, 1, 1.0]])
    metrics = metric_names(f"{name}@{k}" for name in ("hit_rate", "mrr", "ndcg", "map", "recall", "f1") for k in (2, 7))
    metrics += () if judged else metric_names(["accuracy@2", "precision@2"])
    none = np.zeros(len(labels), dtype=bool)
    orders = [np.tile(order, (4, 1)) for order in itertools.permutations(range(5))]
    each = [evaluate(order, labels, metrics, none, paper=paper, judged=judged) for order in orders]
    for metric, level in chance_levels(labels, metrics, paper=paper, judged=judged).items():
        np.testing.assert_allclose(level, np.mean([one[metric] for one in each], axis=0), atol=1e-12, err_msg=metric)


def test_protocol_paper_by_hand(demo: Path) -> None:
    """Catalogue: CNs with a positive in Bronze. All HS count, ties are in its order, MAP divides by min(10, n)."""
    judged = pd.read_parquet(demo / "qrels")
    positive = judged[judged["score"] > 0]
    corpus = [key for key in pd.read_parquet(demo / "corpus")["_id"] if key in {*positive["corpus-id"]}]
    found = bench(demo, system=[Scorer("flat", lambda *_: 1.0)], protocol="paper", bootstrap=NONE)
    maps, tiers = [], found.to_frame("tiers").query("system == 'flat'").set_index("statistic")["value"]
    for query in pd.read_parquet(demo / "queries")["_id"]:
        wanted = {*positive[positive["query-id"] == query]["corpus-id"]}
        hits = [rank for rank, key in enumerate(corpus[:10], start=1) if key in wanted]
        maps.append(sum((at + 1) / rank for at, rank in enumerate(hits)) / min(10, len(wanted)) if wanted else 0.0)
    own = scores(found, of="flat")
    assert own["bronze", "map@10"] == pytest.approx(np.mean(maps), abs=1e-12)
    parts = ("diamond", "gold", "silver", "bronze")
    table = np.array([[own[part, f"{name}@10"] for name in ("hit_rate", "mrr", "ndcg", "map")] for part in parts])
    means = [table.mean(), table.min(axis=0).mean(), table.max(axis=0).mean()]
    means.append((100 * table.std(axis=0) / table.mean(axis=0)).mean())
    assert tiers[["avg", "min", "max", "cv"]].tolist() == pytest.approx(means)
    assert own["silver", "average"] == pytest.approx(table[2].mean()) and own["all", "average"] == pytest.approx(
        means[0]
    )


def test_ties_are_in_the_order_of_their_hashes_and_chance_is_the_mean_over_seeds() -> None:
    rows = pairs(1)
    qrels, flat = qrels_of(rows), Scorer("flat", lambda *_: 0.5)
    seeds = [bench(rows, system=[flat], metric=("mrr",), bootstrap=Bootstrap(0, seed=seed)) for seed in range(200)]
    first = []
    for query, row in qrels.items():
        order = sorted(
            (f"c{cn}" for cn in range(CNS)), key=lambda key: hashlib.sha256(f"7\n{query}\n{key}".encode()).digest()
        )
        first.append(1 / next(rank for rank, key in enumerate(order, start=1) if row.get(key)))
    assert scores(seeds[7])["flat", "test", "mrr@10"] == pytest.approx(np.mean(first))
    values = [scores(each)["flat", "test", "mrr@10"] for each in seeds]
    chance = scores(seeds[0])["chance", "test", "mrr@10"]
    assert abs(np.mean(values) - chance) < 4 * np.std(values) / math.sqrt(200)


def test_intervals_are_those_of_scipy_and_tests_those_of_sign_flips() -> None:
    rows, mine = pairs(2, judged=1), [system(name, seed) for name, seed in (("a", 1), ("b", 2), ("c", 3))]
    bootstrap = Bootstrap(resamples=20_000)
    found = bench(rows, system=mine, primary="map@10@test", baseline=("b", "c"), bootstrap=bootstrap)
    values = pd.read_csv(io.StringIO(found.files["values.csv"]()))
    of = {name: each["value"].to_numpy() for name, each in values[values["metric"] == "map@10"].groupby("system")}
    how: Any = {"n_resamples": 20_000, "method": "percentile", "rng": 1}
    low, high = stats.bootstrap((of["a"],), np.mean, **how).confidence_interval
    row = found.to_frame().set_index("system").loc["a"]
    assert [row["low"], row["high"]] == pytest.approx([low, high], abs=0.03 * (high - low))
    tested = found.to_frame("differences").dropna(subset="p")
    assert tested[["a", "b"]].to_numpy().tolist() == [["a", "b"], ["a", "c"]]
    assert {*tested["metric"]} == {"map@10"}
    p, adjusted = sign_flips(np.stack([of["a"] - of["b"], of["a"] - of["c"]]), bootstrap)
    assert tested["p"].tolist() == pytest.approx(p) and tested["p_adjusted"].tolist() == pytest.approx(adjusted)
    assert tested["difference"].tolist() == pytest.approx([of["a"].mean() - of[name].mean() for name in "bc"])


def test_an_oracle_differs_from_random_among_eight_systems(demo: Path) -> None:
    silver = pd.read_parquet(demo / "silver-qrels").set_index(["query-id", "corpus-id"])["score"].to_dict()
    oracle = Scorer("oracle", lambda query, key: silver.get((query, key), 0))

    def by_hash(name: str) -> Scorer:
        return Scorer(name, lambda *ids: int(hashlib.sha256("".join((name, *ids)).encode()).hexdigest()[:8], 16))

    noise = [by_hash(f"noise{n}") for n in range(4)]
    found = bench(demo, system=[oracle, "random", "tfidf", "bm25", *noise])
    tested = found.to_frame("differences").dropna(subset="p")
    assert len(tested) == 28 and {*tested["partition"]} == {"silver"} and {*tested["metric"]} == {"ndcg@10"}
    pair = tested[(tested["a"] == "oracle") & (tested["b"] == "random")]
    assert pair["p_adjusted"].item() <= 0.001


def test_references_are_last_in_no_test_and_no_baseline(demo: Path) -> None:
    found = bench(demo, system=["longest", "bm25", "popularity", "tfidf"], bootstrap=FEW)
    assert [*found.to_frame()["system"].unique()][:2] == ["bm25", "tfidf"]
    assert {*found.references} == {"longest", "popularity", "chance"} and found.to_frame()["system"].iloc[
        -1
    ] == "chance"
    differences = found.to_frame("differences")
    assert differences.dropna(subset="p")[["a", "b"]].to_numpy().tolist() == [["bm25", "tfidf"]]
    assert differences["low"].notna().all() and len(differences) == 6 * 32
    auc = found.to_frame("message_auc").set_index("system").loc["popularity"]
    assert (auc["value"] == 0.5).all() and (auc["low"] == 0.5).all()
    with pytest.raises(InputError, match="popularity, which ignores the message"):
        bench(demo, system=["bm25", "popularity"], baseline=("popularity",))


# Message AUC


def test_message_auc_is_that_of_scikit_learn_within_cns() -> None:
    rows = pairs(3, judged=0.9)
    qrels, of = qrels_of(rows), run(5)
    right = total = 0.0
    for cn in (f"c{n}" for n in range(CNS)):
        labels = [row[cn] for row in qrels.values() if cn in row]
        own = [of[query][cn] for query, row in qrels.items() if cn in row]
        n = sum(labels) * (len(labels) - sum(labels))
        if n:
            right, total = right + n * roc_auc_score(labels, own), total + n
    found = bench(rows, system=[system("a", 5), system("b", 6)], baseline=("b",), bootstrap=FEW).to_frame("message_auc")
    assert found.loc[0, ["system", "value", "n_pairs"]].tolist() == ["a", pytest.approx(right / total), total]
    (against,) = found[found["baseline"] == "b"].to_dict("records")
    values = found[found["baseline"].isna()].set_index("system")["value"]
    assert against["value"] == pytest.approx(values["a"] - values["b"]) and against["low"] < against["high"]


def test_message_auc_intervals_are_those_of_a_loop_over_hs_and_cns() -> None:
    generator = np.random.default_rng(0)
    labels = generator.choice([0, 1, math.nan], size=(7, 8), p=[0.5, 0.3, 0.2])
    own, folds = generator.integers(0, 4, size=(7, 8)).astype(float), np.array([0, 0, 0, 0, 1, 1, 1])
    value, n, drawn = message_auc(own, labels, folds, resamples=4_000, seed=1)

    def by_loop(hs: Sequence[int], cns: Sequence[int]) -> tuple[float, int]:
        right, pairs = 0.0, 0
        for cn, i, j in itertools.product(cns, hs, hs):
            if labels[i, cn] == 1 and labels[j, cn] == 0 and folds[i] == folds[j]:
                right += (own[i, cn] > own[j, cn]) + (own[i, cn] == own[j, cn]) / 2
                pairs += 1
        return right / pairs if pairs else math.nan, pairs

    assert (value, n) == pytest.approx(by_loop(range(7), range(8)))
    loop = [
        by_loop(generator.integers(7, size=7).tolist(), generator.integers(8, size=8).tolist())[0] for _ in range(1_500)
    ]
    for share in (0.1, 0.5, 0.9):  # the standard error of a quantile of 1,500 draws is about .03 of their range
        assert np.nanquantile(drawn, share) == pytest.approx(np.nanquantile(loop, share), abs=0.06)


# Tables


def test_orders_and_sparser_labels(demo: Path) -> None:
    found = bench(demo, system=["bm25", "tfidf", "longest"], sparsity=True, bootstrap=FEW)
    names, own = ["bm25", "tfidf", "longest"], scores(found)
    for _, row in found.to_frame("orders").iterrows():
        each = [[round(own[name, row[part], row["metric"]], 10) for name in names] for part in ("a", "b")]
        assert row["value"] == pytest.approx(stats.kendalltau(*each).statistic, nan_ok=True)
    sparse = found.to_frame("sparsity").set_index(["system", "metric", "fraction"])
    assert sparse.loc[("bm25", "ndcg@10", 1.0), "value"] == pytest.approx(own["bm25", "bronze", "ndcg@10"])
    assert sparse.loc[("tau", "ndcg@10", 1.0), "value"] == pytest.approx(1)
    # Precision is proportional to the positives that stay, in the mean over all HS.
    half = sparse.loc[("chance", "precision@10", 0.5)]
    assert half["positives"] == round(sparse.loc[("chance", "precision@10", 1.0), "positives"] / 2)
    assert half["low"] <= half["value"] <= half["high"] and half["value"] < own["chance", "bronze", "precision@10"]


def test_the_default_primary_partition_is_the_largest_confirmed_one(demo: Path, tmp_path: Path) -> None:
    first, queries = pd.read_parquet(demo / "corpus")["_id"].iloc[0], pd.read_parquet(demo / "queries")["_id"]
    (tmp_path / "own.qrels").write_text("".join(f"{key} 0 {first} 1\n" for key in queries))
    more: Any = {"system": ["longest"], "bootstrap": NONE, "metric": ("mrr", "ndcg@5", "ndcg@10")}
    for options, primary in (
        ({}, "ndcg@5@silver"),
        ({"partition": ("diamond", "gold")}, "ndcg@5@gold"),
        ({"partition": ("own",), "qrels": {"own": tmp_path / "own.qrels"}}, "ndcg@5@own"),
        ({"primary": "mrr@10@bronze"}, "mrr@10@bronze"),
        ({"primary": "average@all", "protocol": "paper"}, "average@all"),
    ):
        assert bench(demo, **more | options).identity["primary"] == primary


def test_a_report_has_values_and_runs_that_are_read_again(demo: Path, tmp_path: Path) -> None:
    found = bench(demo, system=["bm25", "popularity"], protocol="paper", bootstrap=FEW)
    page = found.to_html(tmp_path / "report").read_text(encoding="utf-8")
    assert page.count("<figure") == 6 and 'class="reference"' in page and "Figure 1" in page
    again = bench(demo, run=(tmp_path / "report" / "runs" / "bm25.trec",), protocol="paper", bootstrap=FEW)
    both = [scores(each, of="bm25") for each in (found, again)]
    assert both[0] == pytest.approx(both[1])
    values = pd.read_csv(tmp_path / "report" / "values.csv")
    means = values.groupby(["system", "partition", "metric"])["value"].mean()
    assert {key: means[("bm25", *key)] for key in both[0]} == pytest.approx(both[0])
    assert (tmp_path / "report" / "runs" / "popularity-silver.trec").exists()  # its rankings depend on the partition
    text = found.to_latex()
    assert "ndcg@10 on demo" in text and text.index("bm25") < text.index("popularity") < text.index("chance")


def test_a_run_of_a_report_is_in_the_order_that_is_scored(tmp_path: Path) -> None:
    found = bench(pairs(), system=Scorer("own/tied", lambda query, key: int(key[-1]) % 2), bootstrap=FEW)
    found.to_html(tmp_path)
    for name in ("runs/old.trec", "mine.trec"):
        (tmp_path / name).write_text("a run")
    found.to_html(tmp_path)
    assert (tmp_path / "mine.trec").exists()
    (file,) = (tmp_path / "runs").iterdir()
    ranked = pd.read_csv(file, sep=" ", names=["query", "q0", "key", "rank", "score", "name"])
    assert file.name == "own%2Ftied.trec" and ranked["score"].isin([0, 1]).all()
    labels = pd.Series({(row["hs_id"], row["cn_id"]): row["label"] == "appropriate" for row in pairs()})
    first = {query: own["key"].tolist() for query, own in ranked.sort_values("rank").groupby("query")}
    ranks = [
        next(rank for rank, key in enumerate(keys, 1) if labels.get((query, key))) for query, keys in first.items()
    ]
    assert scores(found)["own/tied", "test", "mrr@10"] == pytest.approx(np.mean([1 / rank for rank in ranks]))


def test_bpref_of_an_hs_after_one_without_a_positive() -> None:
    """ranx gives 0 for it; by definition, a positive before all negatives scores 1."""
    texts = {name: {"counter_narrative": f"They share {name} songs."} for name in "xyz"}
    labels = {"Elves": ("not_appropriate",) * 3, "Orcs": ("appropriate", "not_appropriate", "not_appropriate")}
    rows = [
        {"hs_id": hs, "cn_id": name, "hate_speech": f"{hs} take all.", **texts[name], "label": label}
        for hs, own in labels.items()
        for name, label in zip("xyz", own, strict=True)
    ]
    found = bench(rows, system=Scorer("own", lambda query, key: -ord(key)), metric=("bpref",), bootstrap=NONE)
    assert scores(found)["own", "test", "bpref"] == 1.0


# Systems and data


def test_own_systems_are_run_every_time_and_get_training_pairs(demo: Path) -> None:
    lengths = []

    def make(train: Any) -> Scorer:
        lengths.append(len(train))
        return Scorer("own", lambda query, key: -len(lengths) * int(key[-1:], 16))

    one, two = (
        scores(bench(demo, system=make, metric=("ndcg",), bootstrap=NONE))["own", "silver", "ndcg@10"] for _ in "ab"
    )
    assert lengths[0] == lengths[1] > 0 and one == two
    flipped = Scorer("own", lambda query, key: int(key[-1:], 16))
    assert scores(bench(demo, system=flipped, metric=("ndcg",), bootstrap=NONE))["own", "silver", "ndcg@10"] != one


def test_the_code_of_an_own_system_is_in_the_signature(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    signatures = []
    for number, sign in enumerate("+-"):
        rank = f"return {{query: [(key, {sign}len(key)) for key in corpus] for query in queries}}"
        text = f'class Lead:\n    name = "lead"\n    def rank(self, queries, corpus, k):\n        {rank}\n'
        (tmp_path / f"lead{number}.py").write_text(text)
        signatures.append(bench(pairs(), system=[f"lead{number}:Lead"], bootstrap=NONE).signature)
    assert signatures[0] != signatures[1] and "systems:lead@" in signatures[0]


def test_failures_are_missing_values_with_a_reason() -> None:
    rows = pairs()

    class Frail(Scorer):
        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Any:
            if "h2" in queries:
                raise ValueError("no idea")
            return super().rank(queries, corpus, 4)

    found = bench(rows, system=[Frail("frail", lambda query, key: -int(key[1:])), system("a", 1)], bootstrap=FEW)
    row = found.to_frame().set_index("system").loc["frail"]
    assert [row["n"], row["n_failed"], row["reason"]] == [5, 1, "ValueError: no idea"]
    assert found.to_frame("failures").to_numpy().tolist() == [["frail", "h2", "ValueError: no idea"]]
    assert "frail failed on 1 of 6 HS, which its scores leave out: ValueError: no idea" in found.notes
    assert "frail ranks fewer than 10 CNs for 5 of 6 HS; others count as not found." in found.notes
    assert json.loads(found.to_json())["tables"]["failures"][0]["query"] == "h2"
    values = pd.read_csv(io.StringIO(found.files["values.csv"]())).set_index(["system", "metric", "hs_id"])["value"]
    assert math.isnan(values["frail", "ndcg@10", "h2"]) and values["a", "ndcg@10", "h2"] > 0
    with pytest.raises(InputError, match="no system ranks any HS; none: RuntimeError: never"):

        class Broken(Scorer):
            def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Any:
                raise RuntimeError("never")

        bench(rows, system=[Broken("none", lambda *_: 0.0)])


def test_a_beir_folder_and_one_as_on_the_hub_are_read_as_pairs(tmp_path: Path) -> None:
    rows = pairs()
    texts = {
        "queries": {row["hs_id"]: row["hate_speech"] for row in rows},
        "corpus": {row["cn_id"]: row["counter_narrative"] for row in rows},
    }
    qrels: list[Any] = [("query-id", "corpus-id", "score")]
    qrels += [(query, key, value) for query, row in qrels_of(rows).items() for key, value in row.items()]
    beir, hub = tmp_path / "beir", tmp_path / "hub"
    (beir / "qrels").mkdir(parents=True)
    (beir / "qrels" / "test.tsv").write_text("".join("\t".join(map(str, row)) + "\n" for row in qrels))
    for name, each in texts.items():
        lines = [json.dumps({"_id": key, "title": "", "text": text}) + "\n" for key, text in each.items()]
        (beir / f"{name}.jsonl").write_text("".join(lines))
        (hub / name).mkdir(parents=True)
        (hub / name / "test.jsonl").write_text("".join(lines))
    (hub / "qrels").mkdir()
    pd.DataFrame(qrels[1:], columns=qrels[0]).to_json(hub / "qrels" / "test.jsonl", orient="records", lines=True)
    configs = "".join(
        f"- config_name: {name}\n  data_files: {name}/*.jsonl\n" for name in ("queries", "corpus", "qrels")
    )
    (hub / "README.md").write_text(f"---\nconfigs:\n{configs}---\n")
    of_pairs, *others = (scores(bench(source, system=["tfidf"], bootstrap=NONE)) for source in (rows, beir, hub))
    assert all(other == pytest.approx(of_pairs, nan_ok=True) for other in others)


def test_training_pairs_of_evaluated_messages_in_other_words_are_left_out(demo: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(demo, tmp_path / "demo")
    (file,) = (folder / "train").glob("train-*.parquet")
    train, text = pd.read_parquet(file), pd.read_parquet(folder / "queries")["text"].iloc[0]
    counts: list[int] = []

    def make(train: Sequence[Any]) -> Scorer:
        counts.append(len(train))
        return Scorer("own", lambda *_: 0.0)

    bench(folder, system=make, bootstrap=NONE)
    train.loc[0, "hate_speech"] = f"{text.upper()}!"
    train.to_parquet(file)
    found = bench(folder, system=make, bootstrap=NONE)
    assert counts[1] < counts[0] and f"{counts[1]}-without" in found.signature


def test_answers_of_an_endpoint_are_stored_unless_they_should_not(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "suite.yaml").write_text("systems:\n  far: {kind: dense, encoder: {endpoint: openai, model: stub}}\n")
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as server:
        sent = []
        for cache in (True, True, False):
            endpoint = Endpoint(base_url=server.url, cache=cache)
            bench(demo, system=["far"], suite=tmp_path / "suite.yaml", endpoint=endpoint, bootstrap=NONE)
            sent.append(len(server.bodies))
    assert sent[0] == sent[1] > 0 and sent[2] == 2 * sent[0]


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"system": ["bm25", "bm25"]}, "two systems called bm25"),
    ({"system": ["bm52"]}, "unknown system 'bm52'.*bm25"),
    ({"metric": ("ngdc",)}, "unknown metric 'ngdc'.*ndcg"),
    ({"metric": ("ndcg@0",)}, "cutoff '0'"),
    ({"partition": ("silber",)}, "unknown partition 'silber'.*silver"),
    ({"primary": "ndcg@10@silber"}, "unknown primary comparison"),
    ({"baseline": ("bm52",)}, "unknown baseline system 'bm52'"),
    ({"qrels": {"own": {"nobody": {"nothing": 1}}}}, "own judges nobody, which is not in demo"),
    ({"baseline": ("bm25",)}, "no system but the baseline bm25"),
    ({"depth": 5}, "depth 5, expected 10 or more"),
    ({"qrels": {"own": {"h0": {"c0": 0.5}}}}, "relevance 0.5, expected whole numbers"),
    ({"system": [Scorer("my own", lambda query, key: 0)]}, "system name 'my own', expected one word"),
    ({"system": ["supervised"]}, "protocol sound does not allow"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_mistakes(demo: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        given: dict[str, Any] = {"system": ["bm25"], "bootstrap": NONE}
        bench(demo, **given | options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [{**rows[0], "label": "good"}], "'label': 'good'.*not_appropriate"),
        (lambda rows: [{key: value for key, value in rows[0].items() if key != "label"}], "no column label"),
        (lambda rows: [*rows, {**rows[0], "hate_speech": "Orcs sing."}], "several texts of h0"),
        (lambda rows: [*rows, {**rows[0], "label": "not_appropriate"}], "two labels of h0 and c0"),
        (lambda rows: "nowhere", "no dataset at nowhere"),
    ],
)
def test_mistakes_in_the_data(change: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        bench(change(pairs()), system=["bm25"])


def test_a_score_takes_few_modules_and_no_heavy_library(demo: Path) -> None:
    script = (
        "import inspect, sys, fcconan\n"
        "seen = set()\n"
        "def profile(frame, *_):\n"
        "    code = frame.f_code\n"
        "    if code.co_flags & inspect.CO_OPTIMIZED and '/fcconan/' in code.co_filename: seen.add(code.co_filename)\n"
        "bench = fcconan.bench\n"
        "sys.setprofile(profile)\n"
        f"bench({str(demo)!r}, system=['bm25'])\n"
        "sys.setprofile(None)\n"
        "print(len(seen), sorted({'torch', 'ranx', 'numba', 'matplotlib', 'sklearn'} & {*sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    number, _, heavy = done.stdout.strip().partition(" ")
    assert int(number) <= 20 and heavy == "[]"
