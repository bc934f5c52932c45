"""`fcconan bench` as a user runs it: all systems end to end, files in and out, and everything that may be wrong."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

import fcconan
from fcconan.models.answers.store import AnswerStore
from fcconan.retrieval.suites import load_suite
from fcconan.scoring.retrieval.metrics import ranx_values
from tests.conftest import RunCli
from tests.models.server import KEY, Action, Server, always, error, says
from tests.retrieval.tiny import tiny_encoder

pytestmark = pytest.mark.slow

TWELVE = (
    "random", "tfidf", "bm25", "sbert-minilm", "sbert-mpnet", "sbert-roberta-large", "text-embedding-3-large", "gpt-4o",
    "rr25-1", "rr50-1", "rr25-2", "rr50-2",
)  # fmt: skip
QUICK = ("--resamples", "200")


@pytest.fixture(scope="module")
def tiny_suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite of the package, with its local models replaced by a tiny one."""
    folder = tmp_path_factory.mktemp("suite")
    model = str(tiny_encoder(folder / "tiny"))
    data = load_suite().model_dump(exclude_defaults=True)
    for name, system in data["systems"].items():
        if system["kind"] == "dense" and "endpoint" not in system["encoder"]:
            system["encoder"] = {"model": model}
        if name == "random":
            system["seeds"] = 5
    path = folder / "suite.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def endpoint(server: Server) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "NO_PROXY": "127.0.0.1"}


def beir_folder(folder: Path, *, documents: int = 40, queries: int = 12) -> Path:
    (folder / "qrels").mkdir(parents=True)
    words = "bread moon cards harvest library baker river song market bridge lamp coat".split()
    texts = {f"d{i}": " ".join(words[(i * j + i // 3) % 12] for j in range(1, 8)) for i in range(documents)}
    asked = {f"q{i}": " ".join(words[(i + j) % 12] for j in range(3)) for i in range(queries)}
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": key, "title": f"Of {key}", "text": text}) + "\n" for key, text in texts.items())
    )
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in {**asked, "other": "moon"}.items())
    )
    lines = [f"q{i}\td{(7 * i + 5 * j) % documents}\t{j % 3}\n" for i in range(queries) for j in range(6)]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return folder


@pytest.mark.long
def test_all_twelve_systems_run_end_to_end_and_a_second_run_asks_nothing(
    run_cli: RunCli, demo: Path, tiny_suite: Path, tmp_path: Path
) -> None:
    arguments = ["bench", demo, "--suite", tiny_suite, "--protocol", "paper", *QUICK, "--cache-dir", tmp_path / "runs"]
    arguments += [part for name in (*TWELVE, "bm25-fast") for part in ("--system", name)]
    with Server() as server:
        first = run_cli(
            *arguments, "--json", tmp_path / "a.json", "--report-folder", tmp_path / "report", **endpoint(server)
        )
        assert first.returncode == 0, first.stderr
        asked = len(server.bodies)
        second = run_cli(*arguments, "--json", tmp_path / "b.json", **endpoint(server))
        assert second.returncode == 0, second.stderr
        assert len(server.bodies) == asked
    result = json.loads((tmp_path / "a.json").read_text())
    assert set(result["systems"]) == {*TWELVE, "bm25-fast"}
    assert result["failed"] == {}
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    # 24 zero-shot requests; 3 batches of embeddings at most; of the 40 CNs or fewer in the pool, listwise windows of 20
    # by steps of 10: 2 for the first 25, more for the first 50, for 24 HS and two first stages.
    assert result["systems"]["gpt-4o"]["diagnostics"]["calls"]["ok"] == 24
    assert result["systems"]["rr25-1"]["diagnostics"]["calls"]["ok"] == 48
    assert result["systems"]["rr25-2"]["configuration"]["first_stage"]
    for name in TWELVE:
        for figures in result["systems"][name]["partitions"].values():
            assert 0 <= figures["ndcg@10"] <= 1
            assert figures["n_failed"] == 0
    for name in ("report.html", "report.md", "tables.tex", "results.csv", "figure-1-hit-ratio.svg", "figure-2-mrr.svg"):
        assert (tmp_path / "report" / name).stat().st_size > 500
    rows = list(csv.DictReader((tmp_path / "report" / "results.csv").read_text().splitlines()))
    assert len(rows) == 13 * 4 * (4 + 1)  # the metrics, and the message AUC
    assert {float(row["value"]) for row in rows if row["system"] == "tfidf" and row["metric"] == "mrr@10"} == {
        part["mrr@10"] for part in result["systems"]["tfidf"]["partitions"].values()
    }


def test_edited_runs_are_computed_again(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"

    def bench() -> tuple[bytes, str]:
        systems = ("--system", "tfidf", "--system", "bm25")
        done = run_cli("bench", demo, *systems, *QUICK, "--cache-dir", runs, "--json", tmp_path / "result.json")
        assert done.returncode == 0, done.stderr
        return (tmp_path / "result.json").read_bytes(), done.stderr

    first, said = bench()
    assert said == ""
    for path in runs.glob("*.json"):
        path.write_text(path.read_text().replace("0.1", "0.9"))  # still JSON, with other scores
    again, said = bench()
    assert again == first
    assert sorted(said.splitlines()) == [
        f"note: {path} is damaged or of an older version: its content is computed again"
        for path in sorted(runs.glob("*.json"))
    ]
    assert bench() == (first, "")


FAULTS: dict[str, tuple[Any, str, int]] = {
    "401": (always(error(401)), "401", 1),
    "429": (always(error(429, retry_after="0")), "rate_limited: Error code: 429", 1),
    "500": (always(error(500)), "server_error", 1),
    "hangs": (always(Action(delay=3)), "timeout", 1),
    "cut": (always(Action(cut=True)), "connection|bad_body", 1),
    "prose": (says("I would choose C1, C2 and perhaps 3."), "wrong_format", 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_endpoint_fails_its_system_and_the_others_finish(
    run_cli: RunCli, demo: Path, tmp_path: Path, fault: str
) -> None:
    behaviour, reason, status = FAULTS[fault]
    with Server(behaviour) as server:
        done = run_cli(
            "bench", demo, "--system", "gpt-4o", "--system", "bm25", *QUICK, "--cache-dir", tmp_path / "runs",
            "--json", tmp_path / "result.json", "--timeout", "0.3" if fault == "hangs" else "60",
            "--retries", "0", "--concurrency", "24",
            **endpoint(server),
        )  # fmt: skip
    assert done.returncode == status, done.stderr
    (line,) = done.stderr.splitlines()
    said = "failed" if fault == "401" else f"failed on 24 of 24 HS; the first: gpt-4o-2024-08-06 at {server.url} ("
    assert line.startswith(f"fcconan: system 'gpt-4o' {said}"), line
    assert any(part in line for part in reason.split("|")), line
    result = json.loads((tmp_path / "result.json").read_text())
    assert list(result["systems"]) == ["bm25"]
    assert list(result["failed"]) == ["gpt-4o"]


def test_a_system_that_fails_on_some_hs_is_marked_and_the_exit_code_says_so(
    run_cli: RunCli, demo: Path, tmp_path: Path
) -> None:
    texts = pq.read_table(demo / "queries" / "test-00000-of-00001.parquet")["text"].to_pylist()

    def behaviour(body: dict[str, Any], number: int) -> Action:
        return error(400) if any(text in body["messages"][-1]["content"] for text in texts[:11]) else Action()

    with Server(behaviour) as server:
        done = run_cli(
            "bench", demo, "--system", "gpt-4o", "--system", "bm25", *QUICK, "--cache-dir", tmp_path / "runs", "--json",
            tmp_path / "r.json", "--report-folder", tmp_path / "report", "--retries", "0", **endpoint(server),
        )  # fmt: skip
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("fcconan: system 'gpt-4o' failed on 11 of 24 HS; the first: gpt-4o-2024-08-06 at http://")
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["failed"] == {}
    assert Counter(result["systems"]["gpt-4o"]["failures"].values()) == {"bad_request": 11}
    table = done.stdout[: done.stdout.index("\n- ")]
    assert "gpt-4o (13 of 24 HS)" in table
    assert "bm25 (" not in table
    for name in ("report.md", "report.html"):
        assert "failed on 11 of 24 HS" in (tmp_path / "report" / name).read_text()


@pytest.mark.parametrize("system", ["gpt-4o", "text-embedding-3-large"])
def test_without_a_key_its_system_fails_as_with_a_refused_one(
    run_cli: RunCli, demo: Path, tmp_path: Path, system: str
) -> None:
    def bench(*more: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return run_cli(
            "bench", demo, "--system", system, "--system", "bm25", *QUICK, "--cache-dir", tmp_path / "runs", "--json",
            tmp_path / "r.json", *more, **environment,
        )  # fmt: skip

    with Server() as server:
        done = bench(**{**endpoint(server), "OPENAI_API_KEY": ""})
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"fcconan: system {system!r} failed: no key for {server.url}: set OPENAI_API_KEY")
        result = json.loads((tmp_path / "r.json").read_text())
        assert (list(result["systems"]), list(result["failed"]), server.requests) == (["bm25"], [system], [])
        assert bench(**endpoint(server)).returncode == 0
        kept = bench("--no-cache", **{**endpoint(server), "OPENAI_API_KEY": ""})  # its answers are in the journal
    assert (kept.returncode, kept.stderr) == (0, "")


def test_all_systems_may_fail_and_the_result_is_written(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    with Server(always(error(500))) as server:
        url = server.url
    done = run_cli(  # nobody listens there any more
        "bench", demo, "--system", "gpt-4o", *QUICK, "--cache-dir", tmp_path / "runs", "--json", tmp_path / "r.json",
        "--report-folder", tmp_path / "report", "--retries", "0", "--sparsity", OPENAI_API_KEY=KEY,
        OPENAI_BASE_URL=url, NO_PROXY="127.0.0.1",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"fcconan: system 'gpt-4o' failed on 24 of 24 HS; the first: gpt-4o-2024-08-06 at {url} (")
    assert line.endswith(
        "check the address (--base-url, OPENAI_BASE_URL) and that a server responds there, and run again: stored "
        "responses are reused"
    )
    result = json.loads((tmp_path / "r.json").read_text())
    assert (result["systems"], result["failed"]) == ({}, {"gpt-4o": "connection"})
    assert "gpt-4o (failed)" in (tmp_path / "report" / "report.md").read_text()


@pytest.mark.long
def test_a_killed_run_resumes_and_repeats_no_finished_request(demo: Path, tmp_path: Path) -> None:
    log = tmp_path / "requests"
    root = Path(__file__).parents[2]
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.models.server", str(log), "0.15"], stdout=subprocess.PIPE, text=True, cwd=root
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        environment = {**os.environ, "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": url, "NO_PROXY": "127.0.0.1"}
        command = [str(Path(sys.executable).with_name("fcconan")), "bench", str(demo), "--system", "bm25", "--system"]
        command += ["gpt-4o", *QUICK, "--cache-dir", str(tmp_path / "runs"), "--concurrency", "2"]
        command += ["--json", str(tmp_path / "result.json")]
        killed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        journal = tmp_path / "runs" / "journal.sqlite"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and len(AnswerStore(journal)) < 5:
            time.sleep(0.02)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        finished = len(AnswerStore(journal))
        assert 5 <= finished < 24
        assert not (tmp_path / "result.json").exists()
        before = len(log.read_text().splitlines())
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        assert len(log.read_text().splitlines()) - before == 24 - finished
        assert json.loads((tmp_path / "result.json").read_text())["systems"]["gpt-4o"]["failures"] == {}
    finally:
        server.terminate()
        server.communicate()


def test_a_beir_folder_gives_the_figures_of_ranx(run_cli: RunCli, tmp_path: Path) -> None:
    folder = beir_folder(tmp_path / "shaped-like-scifact")
    done = run_cli(
        "bench", folder, "--system", "bm25", "--system", "tfidf", *QUICK, "--json", tmp_path / "r.json",
        "--report-folder", tmp_path / "report", "--metric", "ndcg@10", "--metric", "map@10", "--metric", "bpref",
        "--depth", "40",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())
    assert list(result["partitions"]) == ["test"]
    qrels: dict[str, dict[str, int]] = {}
    for line in (tmp_path / "report" / "qrels" / "test.trec").read_text().splitlines():
        query, _, document, relevance = line.split()
        qrels.setdefault(query, {})[document] = int(relevance)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ranx import Qrels, Run, evaluate

        for name in ("bm25", "tfidf"):
            ranked: dict[str, dict[str, float]] = {}
            for line in (tmp_path / "report" / "runs" / f"{name}.trec").read_text().splitlines():
                query, _, document, _, score, _ = line.split()
                ranked.setdefault(query, {})[document] = float(score)
            # Ties as this package breaks them, handed to ranx as strictly decreasing scores.
            from fcconan.scoring.retrieval.metrics import sort_run, tie_by_hash

            ordered = sort_run({query: list(row.items()) for query, row in ranked.items()}, tie_by_hash(0))
            strict = {query: {key: 100.0 - i for i, key in enumerate(keys)} for query, keys in ordered.items()}
            direct = evaluate(
                Qrels(qrels), Run({query: strict[query] for query in qrels}), ["ndcg@10", "map@10", "bpref"]
            )
            figures = result["systems"][name]["partitions"]["test"]
            for metric, value in direct.items():
                assert figures[metric] == pytest.approx(float(value), abs=1e-9)
            assert ranx_values(ordered, qrels, list(qrels), ["ndcg@10"])["ndcg@10"].mean() == pytest.approx(
                figures["ndcg@10"], abs=1e-9
            )


def test_a_run_file_comes_back_as_it_went_out(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    run_cli(
        "bench", demo, "--system", "bm25", *QUICK, "--json", tmp_path / "a.json", "--report-folder", tmp_path / "report"
    )
    qrels = tmp_path / "report" / "qrels" / "gold.trec"
    done = run_cli(
        "bench", demo, "--run", tmp_path / "report" / "runs" / "bm25.trec", *QUICK, "--json", tmp_path / "b.json",
        "--qrels", f"mine={qrels}", "--partition", "mine", "--partition", "gold",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    a, b = (json.loads((tmp_path / name).read_text())["systems"]["bm25"] for name in ("a.json", "b.json"))
    assert b["partitions"]["gold"] == a["partitions"]["gold"]
    assert b["partitions"]["mine"] == a["partitions"]["gold"]


@pytest.mark.long
def test_a_system_of_ones_own(
    run_process: RunCli, run_cli: RunCli, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "class Shortest:\n"
        "    name = 'shortest'\n"
        "    def rank(self, queries, corpus, k):\n"
        "        ranked = sorted(corpus, key=lambda key: len(corpus[key]))[:k]\n"
        "        return {query: [(key, -len(corpus[key])) for key in ranked] for query in queries}\n"
        "def pairs(train):\n"
        "    assert len(train) == 44 and train[0].hate_speech and train[0].counter_narrative\n"
        "    return Shortest()\n"
        "nameless = object\n"
        "class Leaves(Shortest):\n"
        "    name = 'leaves'\n"
        "    def rank(self, queries, corpus, k):\n"
        "        raise SystemExit('no abacus')\n"
    )
    python_path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "mine", None)  # so that it is forgotten afterwards
    del sys.modules["mine"]
    for factory, run, environment in (
        ("mine:Shortest", run_process, {"PYTHONPATH": python_path}),
        ("mine:pairs", run_cli, {}),
    ):
        done = run("bench", demo, "--system", factory, *QUICK, "--json", tmp_path / "r.json", **environment)
        assert done.returncode == 0, done.stderr
        assert list(json.loads((tmp_path / "r.json").read_text())["systems"]) == ["shortest"]
    done = run_cli("bench", demo, "--system", "mine:nameless")
    assert done.returncode == 2
    assert "a system has a name (a string) and rank(queries, corpus, k)" in done.stderr
    done = run_cli(
        "bench", demo, "--system", "mine:Leaves", "--system", "bm25", *QUICK, "--json", tmp_path / "r.json",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1,
        "fcconan: system 'leaves' failed on 24 of 24 HS; the first: SystemExit: no abacus (`fcconan --debug COMMAND` "
        "shows the traceback)\n",
    )
    assert list(json.loads((tmp_path / "r.json").read_text())["systems"]) == ["bm25"]


def test_sparsity_is_printed_and_written(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    done = run_cli(
        "bench", demo, "--system", "bm25", "--system", "tfidf", *QUICK, "--sparsity", "--sparsity-seeds", "5",
        "--json", tmp_path / "r.json", "--verbose",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Sparse labels: bronze with positives removed at random (5 seeds" in done.stdout
    result = json.loads((tmp_path / "r.json").read_text())
    fractions = [entry["fraction"] for entry in result["sparsity"]["fractions"]]
    assert fractions == [1.0, 0.5, 0.2, 0.1, 0.05, 0.02]
    whole = result["sparsity"]["fractions"][0]["metrics"]["mrr@10"]["systems"]["bm25"]["mean"]
    assert whole == pytest.approx(result["systems"]["bm25"]["partitions"]["bronze"]["mrr@10"], abs=1e-9)


def trec(demo: Path, **changes: str) -> list[str]:
    queries = [row["_id"] for row in pq.read_table(demo / "queries" / "test-00000-of-00001.parquet").to_pylist()]
    corpus = [row["_id"] for row in pq.read_table(demo / "corpus" / "test-00000-of-00001.parquet").to_pylist()]
    lines = [f"{query} Q0 {key} {i + 1} {60 - i}.0 mine" for query in queries for i, key in enumerate(corpus)]
    lines[1] = changes.get("line", lines[1]).format(query=queries[0], first=corpus[0], second=corpus[1])
    return lines


BAD_RUNS = {
    "{query} Q0 cn-unknown 2 59.0 mine": "'cn-unknown' is not in the catalogue",
    "hs-unknown Q0 {second} 2 59.0 mine": "ranks query 'hs-unknown', which the dataset does not have",
    "{query} Q0 {first} 2 59.0 mine": "is ranked twice",
    "{query} Q0 {second} 2 nan mine": "line 2: the score is nan",
    "{query} Q0 {second} 2 inf mine": "line 2: the score is inf",
    "{query} Q0 {second} 2 mine": "line 2: 5 fields, expected 6",
}


@pytest.mark.parametrize("line", BAD_RUNS)
def test_a_run_that_is_not_usable_is_one_line(run_cli: RunCli, demo: Path, tmp_path: Path, line: str) -> None:
    path = tmp_path / "run.trec"
    path.write_text("\n".join(trec(demo, line=line)) + "\n")
    done = run_cli(
        "bench", demo, "--run", path, *QUICK, "--json", tmp_path / "r.json", "--report-folder", tmp_path / "report"
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert BAD_RUNS[line] in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.trec"]


def test_missing_queries_and_short_rankings_are_counted(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    lines = trec(demo)
    names = list(dict.fromkeys(line.split()[0] for line in lines))
    kept = [line for line in lines if line.split()[0] not in names[:2]]
    seen: Counter[str] = Counter()
    short = []
    for line in kept:
        query = line.split()[0]
        seen[query] += 1
        if query not in names[2:5] or seen[query] <= 4:
            short.append(line)
    (tmp_path / "run.trec").write_text("\n".join(short) + "\n")
    done = run_cli(
        "bench", demo, "--run", tmp_path / "run.trec", *QUICK, "--json", tmp_path / "r.json", "--report-folder",
        tmp_path / "report",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "r.json").read_text())["systems"]["mine"]["partitions"]["bronze"]
    assert (figures["n_empty"], figures["n_short"], figures["n_failed"]) == (2, 3, 0)
    notes = [line for line in done.stdout.splitlines() if line.startswith("- mine ")]
    assert notes == [
        "- mine ranked nothing for 2 of 24 HS, which count as 0.",
        "- mine ranked fewer than 10 CNs for 3 of 24 HS; missing CNs count as not found.",
    ]
    assert [line for line in (tmp_path / "report" / "report.md").read_text().splitlines() if line in notes] == notes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--system", "bm52"], "unknown system 'bm52': did you mean 'bm25'?"),
        (["--system", "no_such_module:x"], "cannot be imported"),
        (["--baseline", "popularity"], "the baseline popularity is not in this run of bm25: add --system popularity"),
        (["--cutoff", "61"], "the cutoff is 61: give 1 to 60, the size of the catalogue"),
        (["--metric", "ndgc@10"], "unknown metric 'ndgc': did you mean 'ndcg'? known are hit_rate, mrr"),
        (["--protocol", "sounds"], "'sounds' is not one of 'paper', 'sound'"),
        (["--partition", "platinum"], "has no partition 'platinum': it has diamond, gold, silver, bronze"),
        (["--qrels", "mine"], "Invalid value for '--qrels': found 'mine', expected NAME=FILE"),
        (["--encoder", "./nothing"], "no model folder at ./nothing"),
        (["--encoder", "mine=./nothing"], "no model folder at ./nothing"),
        (["--encoder", "mine="], "--encoder 'mine=': give MODEL or NAME=MODEL"),
        (["--max-cost", "1"], "--max-cost needs --prices FILE"),
        (["--metric", "ndcg@1000"], "the cutoff is 1000: give 1 to 60, the size of the catalogue"),
        (["--run", "none.trec"], "none.trec cannot be read (No such file or directory): check the path"),
        (["--run", "{taken}"], "taken cannot be read (Is a directory): check the path"),
        (["--system", "bad:"], "bad: is not module:factory"),
        (["--system", ":x"], ":x is not module:factory"),
        (["--confidence", "0"], "Invalid value for '--confidence': Input should be greater than or equal to 0.5"),
        (["--report-folder", "{taken}"], "holds files but no report"),
    ],
)
def test_bad_options_are_one_line(
    run_cli: RunCli, demo: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.tex").write_text("mine")
    filled = [argument.replace("{taken}", str(tmp_path / "taken")) for argument in arguments]
    if "--system" not in filled and "--encoder" not in filled:
        filled += ["--system", "bm25"]
    done = run_cli("bench", demo, *QUICK, *filled, "--json", tmp_path / "r.json", OPENAI_API_KEY="")
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert message in done.stderr
    assert not (tmp_path / "r.json").exists()


def test_datasets_that_cannot_be_benchmarked(run_cli: RunCli, demo: Path, tmp_path: Path) -> None:
    def refused(dataset: object, message: str, *arguments: str) -> None:
        done = run_cli("bench", dataset, "--system", "bm25", *QUICK, *arguments)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert message in done.stderr

    fcconan.build("demo", tmp_path / "labels", fcconan.BuildOptions(labels_only=True))
    refused(tmp_path / "nothing", "no dataset at")
    refused(tmp_path, "no dataset at")
    empty = beir_folder(tmp_path / "empty")
    (empty / "corpus.jsonl").write_text("")
    refused(empty, "which the catalogue does not have (query")
    unknown = beir_folder(tmp_path / "unknown")
    with (unknown / "qrels" / "test.tsv").open("a") as file:
        file.write("q0\tno-such-document\t1\n")
    refused(unknown, "judge 'no-such-document', which the catalogue does not have")
    refused(beir_folder(tmp_path / "paper"), "has no partition 'diamond'", "--protocol", "paper")
    refused(tmp_path / "labels", "holds labels without texts: `fcconan hydrate")


def test_nothing_heavy_is_imported_for_lexical_systems(demo: Path) -> None:
    code = (
        "import sys\nfrom fcconan.oldcli import app\n"
        f"app(['bench', {str(demo)!r}, '--system', 'bm25', '--resamples', '100'], standalone_mode=False)\n"
        "heavy = 'torch transformers sentence_transformers ranx numba datasets matplotlib aiohttp'.split()\n"
        "print('LOADED', sorted(set(heavy) & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"
