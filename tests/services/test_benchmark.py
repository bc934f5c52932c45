"""`fcconan.bench`: the same as the command, own systems and ranx, suites, dry runs and limits of cost."""

import json
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import fcconan
from fcconan.building.releases import table_path
from fcconan.retrieval import load_suite
from fcconan.services import BenchOptions, BenchResult, bench
from tests.conftest import RunCli
from tests.models.server import KEY, Action, Server, completion, embeddings
from tests.retrieval.tiny import tiny_encoder

FEW = {"resamples": 100, "cache": False}


class Shortest:
    """Ranks the shortest CNs first."""

    name = "shortest"

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, list[tuple[str, float]]]:
        ranked = sorted(corpus, key=lambda key: len(corpus[key]))[:k]
        return {query: [(key, -float(len(corpus[key]))) for key in ranked] for query in queries}


@pytest.fixture
def leaking(demo: Path, tmp_path: Path) -> Path:
    """The demo with two more training pairs, of an evaluated HS."""
    folder = Path(shutil.copytree(demo, tmp_path / "leaking"))
    path = folder / table_path("train", "train")
    query = pq.read_table(folder / table_path("queries", "test"))["text"][0].as_py()
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows += [
        {**rows[0], "hate_speech": query, "counter_narrative": f"The abacus says {what}."} for what in ("no", "so")
    ]
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    return folder


@pytest.mark.parametrize(("protocol", "pairs"), [("sound", 44), ("paper", 46)])
def test_a_protocol_means_the_same_from_python(
    leaking: Path, tmp_path: Path, run_cli: RunCli, protocol: Any, pairs: int
) -> None:
    names = ("tfidf", "bm25")
    found = fcconan.bench(leaking, fcconan.BenchOptions(system=names, protocol=protocol, **FEW))
    words = [word for name in names for word in ("--system", name)]
    done = run_cli(
        "bench",
        leaking,
        *words,
        "--protocol",
        protocol,
        "--resamples",
        100,
        "--no-cache",
        "--json",
        tmp_path / "r.json",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert found.to_dict() == json.loads((tmp_path / "r.json").read_text())
    assert found.data["dataset"]["training_pairs"] == pairs
    assert ("44-without-2-kin" in found.signature) == (protocol == "sound")


def test_own_systems_are_objects_classes_and_functions_of_the_training_pairs(leaking: Path) -> None:
    seen: list[int] = []

    def learned(train: Sequence[Any]) -> Any:
        seen.append(len(train))
        system = Shortest()
        system.name = "learned"
        return system

    other = Shortest()
    other.name = "other"
    found = bench(leaking, BenchOptions(**FEW), systems=[Shortest, other, learned])
    assert seen == [44]  # the two leaking pairs are removed before any system learns
    assert list(found.data["systems"]) == ["shortest", "other", "learned"]
    assert found.own == {"shortest", "other", "learned"}
    both = bench(leaking, BenchOptions(system="bm25", **FEW), systems=[Shortest()])
    assert list(both.data["systems"]) == ["bm25", "shortest"]
    with pytest.raises(fcconan.InputError, match="a system has a name"):
        bench(leaking, BenchOptions(**FEW), systems=["bm25"])


def test_the_leaderboard_is_the_main_table(demo: Path) -> None:
    found = bench(demo, BenchOptions(system=("tfidf", "bm25"), **FEW))
    frame = found.to_frame()
    assert frame["system"].tolist() == ["bm25", "tfidf"]
    systems = found.data["systems"]
    assert frame["average"].tolist() == [systems[name]["summary"]["avg"] for name in ("bm25", "tfidf")]
    silver = [systems[name]["partitions"]["silver"]["ndcg@10"] for name in ("bm25", "tfidf")]
    assert frame["ndcg@10@silver"].tolist() == silver
    ends = systems["bm25"]["intervals"]["silver"]["ndcg@10"]
    assert [frame["ndcg@10@silver_low"][0], frame["ndcg@10@silver_high"][0]] == ends
    assert repr(found) == f"BenchResult(2 rows, signature={found.signature!r})"
    scores = found.scores()
    assert len(scores) == 2 * 4 * (8 + 1)  # the metrics, and the message AUC
    one = scores[(scores.system == "tfidf") & (scores.partition == "gold") & (scores.metric == "mrr@10")]
    assert one["value"].tolist() == [systems["tfidf"]["partitions"]["gold"]["mrr@10"]]


def test_the_primary_comparison_of_averages_is_in_the_leaderboard(demo: Path) -> None:
    options: dict[str, Any] = {"system": ("tfidf", "bm25"), "protocol": "paper", **FEW}
    whole = bench(demo, BenchOptions(primary="average@all", **options)).rows()
    assert [row["average@all"] for row in whole] == pytest.approx([row["average"] for row in whole], abs=1e-9)
    gold = bench(demo, BenchOptions(primary="average@gold", **options))
    four = [
        gold.data["systems"]["bm25"]["partitions"]["gold"][f"{name}@10"] for name in ("hit_rate", "mrr", "ndcg", "map")
    ]
    row = next(row for row in gold.rows() if row["system"] == "bm25")
    assert row["average@gold"] == pytest.approx(sum(four) / 4, abs=1e-9)


PYTREC = {"hit_rate@10": "success_10", "mrr@10": "recip_rank", "ndcg@10": "ndcg_cut_10", "map@10": "map_cut_10"}
PYTREC |= {"precision@10": "P_10", "recall@10": "recall_10"}


def test_every_run_of_the_demo_is_scored_a_second_time_with_ranx_and_pytrec_eval(demo: Path) -> None:
    import pytrec_eval

    names = ("tfidf", "bm25", "bm25-fast", "sbert-minilm")
    found = bench(demo, BenchOptions(system=names, **FEW))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import evaluate

        qrels, runs = found.to_ranx()
        assert (list(qrels), set(runs)) == (["diamond", "gold", "silver", "bronze"], set(names))
        compared = 0
        for partition, judged in qrels.items():
            for system in names:
                figures = found.data["systems"][system]["partitions"][partition]
                second = evaluate(judged, runs[system], [*PYTREC, "f1@10"], make_comparable=True)
                for metric, value in second.items():
                    assert figures[metric] == pytest.approx(float(value), abs=1e-9), (system, partition, metric)
                cut = {
                    query: {key: float(score) for key, score in sorted(row.items(), key=lambda each: -each[1])[:10]}
                    for query, row in runs[system].to_dict().items()
                }
                rows = {
                    query: {key: int(value) for key, value in row.items()} for query, row in judged.to_dict().items()
                }
                third = pytrec_eval.RelevanceEvaluator(rows, set(PYTREC.values())).evaluate(cut)
                for metric, name in PYTREC.items():
                    value = sum(row[name] for row in third.values()) / len(rows)
                    assert figures[metric] == pytest.approx(value, abs=1e-9), (system, partition, metric)
                    compared += 1
    assert compared == 4 * 4 * 6


def test_ranx_runs_and_judgements_are_accepted(demo: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import Run

        first = bench(demo, BenchOptions(system="tfidf", **FEW))
        data = first.to_ranx()
        run = data.runs["tfidf"]
        mapping = {query: dict(row) for query, row in first.details["labels"]["gold"].items()}
        options = BenchOptions(partition=("gold", "mine", "same"), **FEW)
        again = bench(demo, options, systems=[run], qrels={"mine": data.qrels["gold"], "same": mapping})
        tables = again.data["systems"]["tfidf"]["partitions"]
        assert tables["gold"]["ndcg@10"] == tables["same"]["ndcg@10"] == tables["mine"]["ndcg@10"]
        assert tables["gold"] == first.data["systems"]["tfidf"]["partitions"]["gold"]
        with pytest.raises(fcconan.InputError, match=r"a run of ranx has no name"):
            bench(demo, BenchOptions(**FEW), systems=[Run({"q": {"c": 1.0}})])
        with pytest.raises(fcconan.InputError, match=r"found judgements of type list; expected ranx\.Qrels"):
            bench(demo, BenchOptions(**FEW), systems=[run], qrels={"mine": []})


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.yaml"
    systems = {
        "bm25": {"kind": "bm25", "k1": 0.9},
        "mine": {"kind": "bm25", "lowercase": True},
        "paid": {"kind": "zero-shot"},
    }
    path.write_text(yaml.safe_dump({"name": "own", "primary": "mrr@10@gold", "systems": systems}))
    return path


def test_a_suite_adds_systems_to_those_of_the_package(demo: Path, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fcconan.services import benchmark

    found = bench(demo, BenchOptions(suite=suite, system=("tfidf", "mine", "bm25"), **FEW))
    assert set(found.data["systems"]) == {"tfidf", "mine", "bm25"}
    assert found.data["systems"]["bm25"]["configuration"]["k1"] == 0.9  # their own takes the place of ours
    assert found.data["settings"]["primary"] == "mrr@10@gold"
    monkeypatch.setattr(benchmark, "offline_systems", lambda protocol: ["tfidf", "bm25"])
    assert set(bench(demo, BenchOptions(suite=suite, **FEW)).data["systems"]) == {"tfidf", "bm25", "mine"}  # none paid


def test_an_encoder_may_be_named(demo: Path, tmp_path: Path) -> None:
    model = tiny_encoder(tmp_path / "tiny").rename(tmp_path / "model")
    shutil.copytree(model, tmp_path / "a=b")
    options = BenchOptions(encoder=(f"mine={model}", str(model), str(tmp_path / "a=b")), **FEW)
    systems = bench(demo, options).data["systems"]
    assert list(systems) == ["mine", "model", "a=b"]
    assert systems["mine"]["partitions"] == systems["model"]["partitions"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as made:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", made.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield made


def prices(folder: Path, **models: tuple[float, float]) -> Path:
    path = folder / "prices.yaml"
    names = {"gpt": "gpt-4o-2024-08-06", "embedding": "text-embedding-3-large"}
    path.write_text(
        yaml.safe_dump({names[name]: {"input": each[0], "output": each[1]} for name, each in models.items()})
    )
    return path


def test_a_dry_run_counts_the_requests_that_a_run_sends(server: Server, demo: Path, tmp_path: Path) -> None:
    names = ("bm25", "gpt-4o", "rr25-1")
    common: dict[str, Any] = {
        "system": names,
        "cache_dir": tmp_path / "runs",
        "resamples": 100,
        "prices": prices(tmp_path, gpt=(2.5, 10), embedding=(0.13, 0)),
        "max_cost": 100.0,
    }
    dry = bench(demo, BenchOptions(dry_run=True, **common))
    assert (server.requests, (tmp_path / "runs").exists()) == ([], False)
    rows = {row["model"]: row for row in dry.rows()}
    # 24 HS zero-shot, two windows for each of 25 CNs; 60 CNs and 24 HS in batches of 64.
    assert {name: row["to_send"] for name, row in rows.items()} == {
        "gpt-4o-2024-08-06": 24 + 48,
        "text-embedding-3-large": 2,
    }
    gpt = rows["gpt-4o-2024-08-06"]
    assert gpt["completion_tokens_at_most"] == 72 * 4096
    assert gpt["cost_about"] == pytest.approx((gpt["prompt_tokens_about"] * 2.5 + 72 * 4096 * 10) / 1e6, abs=1e-6)
    assert dry.is_dry_run
    assert dry.to_frame()["model"].tolist() == list(rows)
    done = bench(demo, BenchOptions(**common))
    assert len(server.bodies) == 24 + 48 + 2
    sent = {row["model"]: row["requests"] for row in done.used}
    assert sent == {name: row["to_send"] for name, row in rows.items()}
    again = bench(demo, BenchOptions(dry_run=True, **common))
    assert (again.rows(), again.data["cached_runs"]) == ([], ["gpt-4o", "rr25-1"])
    uncached = bench(demo, BenchOptions(dry_run=True, cache=False, **common))
    assert [(row["to_send"], row["answered_already"]) for row in uncached.rows()] == [(0, 72), (0, 2)]


def test_stored_responses_without_a_limit_serve_runs_with_one(server: Server, demo: Path, tmp_path: Path) -> None:
    common: dict[str, Any] = {"system": "gpt-4o", "cache_dir": tmp_path / "runs", "resamples": 100, "cache": False}
    bench(demo, BenchOptions(**common))
    assert {body.get("max_tokens") for body in server.bodies} == {None}
    limited = {"prices": prices(tmp_path, gpt=(2.5, 10)), "max_cost": 1.0}
    bench(demo, BenchOptions(**common, **limited))
    assert len(server.bodies) == 24
    bench(demo, BenchOptions(**common, **limited, fresh=True))
    assert [body.get("max_tokens") for body in server.bodies[24:]] == [4096] * 24


def test_a_run_stops_before_it_costs_more(server: Server, demo: Path, tmp_path: Path) -> None:
    def charged(body: dict[str, Any], number: int) -> Action:
        if "input" in body:
            return Action(body=embeddings(body))
        answer = completion(body, json.dumps({"ranking": ["c1"]}))
        return Action(body={**answer, "usage": {"prompt_tokens": 1000, "completion_tokens": 100}})

    server.behaviour = charged
    # A response costs 1.1; 4096 tokens and the prompt may cost more than 40, so that only some fit below 50.
    table = prices(tmp_path, gpt=(1000, 10_000), embedding=(0, 0))
    options = BenchOptions(
        system=("gpt-4o", "bm25"), cache_dir=tmp_path / "runs", resamples=100, prices=table, max_cost=60, concurrency=1
    )
    found = bench(demo, options)
    assert list(found.data["failed"]) == ["gpt-4o"]
    assert "the limit of cost is reached" in found.data["problems"]["gpt-4o"]
    (used,) = found.used
    assert 0 < used["requests"] < 24
    assert used["cost"] == pytest.approx(used["requests"] * 2.0, abs=1e-6)  # 1000 x 1000 + 100 x 10000, in millionths
    assert used["cost"] <= 60


def test_the_form_of_requests_is_that_of_the_options_and_the_suite(server: Server, demo: Path, tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(yaml.safe_dump({"name": "s", "systems": {"short": {"kind": "zero-shot", "max_tokens": 200}}}))
    options = BenchOptions(
        suite=path, system="short", structured_output=False, request_field=("reasoning_effort=low",), **FEW,
        response_cache=tmp_path / "answers.sqlite",
    )  # fmt: skip
    found = bench(demo, options)
    for body in server.bodies:
        assert "response_format" not in body
        assert (body["max_tokens"], body["reasoning_effort"]) == (200, "low")
    told = found.data["systems"]["short"]["configuration"]
    assert (told["max_tokens"], told["structured"], told["reasoning_effort"]) == (200, False, "low")


def test_progress_has_a_callback(server: Server, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fcconan.services import endpoint_clients

    monkeypatch.setattr(endpoint_clients, "_PAUSE", 0.0)
    lines: list[str] = []
    options = BenchOptions(system=("bm25", "gpt-4o"), cache_dir=tmp_path / "runs", resamples=100)
    bench(demo, options, progress=lines.append)
    assert lines[0] == "bm25: ranking 60 CNs for 24 HS"
    assert lines[-1] == "scoring"
    assert [line for line in lines if "responses" in line] == [
        f"gpt-4o-2024-08-06: {n} responses" for n in range(1, 25)
    ]


def test_the_answer_comes_first_and_all_tables_with_verbose(demo: Path, run_cli: RunCli) -> None:
    command = ("bench", demo, "--system", "bm25", "--system", "tfidf", "--resamples", 100, "--no-cache")
    short, long = (run_cli(*command, *more).stdout for more in ((), ("--verbose",)))
    assert short.splitlines()[0].startswith("fcconan demo, protocol sound: average of Hit ratio@10, MRR@10, ")
    assert short.count("┏") == 3  # the leaderboard, judged pairs and messages, and the primary comparison
    assert long.count("┏") > 5
    leaderboard, both = short.split("NDCG@10 on silver: all CNs and judged pairs only")
    assert long.startswith(leaderboard)
    assert both[: both.index("Primary comparison")] in long
    assert short.splitlines()[-1].startswith("Signature: fcconan:")


def test_a_system_is_completed_by_the_shell() -> None:
    from fcconan.oldcli.bench import COMMAND

    (parameter,) = [each for each in COMMAND.parameters.found if each.name == "system"]
    complete = parameter.annotation.__metadata__[0].autocompletion
    assert complete("bm25") == ["bm25", "bm25-fast"]
    assert complete("") == list(load_suite().systems)


def test_a_single_name_is_a_list_of_one() -> None:
    assert BenchOptions(system="bm25").system == ("bm25",)
    assert BenchOptions(run="mine.trec").run == (Path("mine.trec"),)


def test_results_of_systems_of_this_package_are_not_own(demo: Path) -> None:
    found = bench(demo, BenchOptions(system="bm25", **FEW))
    assert isinstance(found, BenchResult)
    assert found.own == frozenset()
