"""Commands with real models: Qwen2.5-Coder 1.5B behind llama-cpp-python's server, Gemma 3 270M and MPNet here.

Not a failed request is allowed; what a small model does with a prompt is not this package's fault, so that the tests
state how many answers were read when they were written, and expect as many.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from transformers import AutoTokenizer

from tests.models_real.conftest import QWEN, Fcconan, ModelServer

pytestmark = pytest.mark.models

N = 3  # items
PATIENT = ("--timeout", "1000")  # the server answers one request at a time
MODES = {"structured": PATIENT, "free": (*PATIENT, "--no-structured-output")}
REFUSED = f"{QWEN} refuses response_format"
STEPS = ["Name the claim of the message.", "Say whether the reply answers this claim.", "Give 5 if it does, 1 if not."]
CHAT = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


@pytest.fixture
def replies(demo: Path, tmp_path: Path) -> Path:
    """Three messages of the demo with two replies to each; a reference is also the background."""
    rows = pd.read_parquet(demo / "replies")
    rows = rows[rows["system"].isin(["simulated-matched", "simulated-hostile"])].sort_values(["item_id", "system"])
    rows["background"] = rows["references"].str[0]
    rows.head(2 * N).to_json(tmp_path / "replies.jsonl", orient="records", lines=True)
    return tmp_path / "replies.jsonl"


@pytest.fixture
def catalogue(demo: Path, tmp_path: Path) -> Path:
    """Three messages and ten CNs of the demo, as BEIR has them."""
    tables = {name: pd.read_parquet(demo / name) for name in ("queries", "corpus", "qrels")}
    positive = tables["qrels"][tables["qrels"]["score"] > 0]
    queries = tables["queries"][tables["queries"]["_id"].isin(positive["query-id"])].head(N)
    right = positive[positive["query-id"].isin(queries["_id"])].drop_duplicates("query-id")["corpus-id"]
    others = tables["corpus"][~tables["corpus"]["_id"].isin(right)]
    corpus = pd.concat([tables["corpus"][tables["corpus"]["_id"].isin(right)], others]).head(10)
    pairs = tables["qrels"].merge(queries[["_id"]], left_on="query-id", right_on="_id").drop(columns="_id")
    pairs = pairs[pairs["corpus-id"].isin(corpus["_id"])]
    folder = tmp_path / "catalogue"
    (folder / "qrels").mkdir(parents=True)
    queries.to_json(folder / "queries.jsonl", orient="records", lines=True)
    corpus.to_json(folder / "corpus.jsonl", orient="records", lines=True)
    pairs.to_csv(folder / "qrels" / "test.tsv", sep="\t", index=False)
    return folder


def asked(result: dict[str, Any]) -> int:
    """Number of requests and stored answers, all of which the model gave."""
    (usage,) = result["tables"]["usage"]
    assert (usage["model"], usage["reported"]) == (QWEN, QWEN)
    return int(usage["requests"] + usage["stored"])


def check_notes(result: dict[str, Any], mode: str, *, schema: bool) -> None:
    """A refused field is noted once, and no request failed."""
    assert not [note for note in result["notes"] if "without an answer" in note]
    (usage,) = result["tables"]["usage"]
    refused = schema and mode == "structured" and usage["requests"] > 0
    assert sum(note.startswith(REFUSED) for note in result["notes"]) == refused


# Rating method -> further options, whether it asks for JSON, and the numbers of requests and of ratings that are read.
METHODS: dict[str, tuple[tuple[str, ...], bool, int, int]] = {
    "direct": ((), True, 3, 3),
    "rubric": ((), True, 3, 3),
    "g-eval": (("--samples", "5"), False, 15, 3),
    "g-eval by log-probabilities": (("--logprobs",), False, 3, 3),
    "auto-cseval": (("--steps", "steps.yaml"), True, 3, 3),
    "prometheus": ((), False, 3, 3),
    "grounded": ((), True, 3, 10),  # 15 or 10 were read: the server's answers at temperature 0 differ between runs
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", METHODS)
def test_rate(method: str, mode: str, replies: Path, fcconan: Fcconan) -> None:
    more, schema, requests, read = METHODS[method]
    known = {"aspect": "relevance", "low": 1, "high": 5, "steps": STEPS, "signature": "by hand"}
    (replies.parent / "steps.yaml").write_text(yaml.safe_dump(known), encoding="utf-8")
    task = ("--task", "grounded") if method == "grounded" else ("--task", "cseval", "--aspect", "relevance")
    chosen = ("--rating-method", method.split()[0], *more, "--model", QWEN, "--limit", N)
    result = fcconan("judge", "rate", replies, *task, *chosen, *MODES[mode], "--out", "ratings.csv")
    rows = pd.read_csv(replies.parent / "ratings.csv")
    assert len(rows) == N * (5 if method == "grounded" else 1)
    assert rows["value"].dropna().between(1, 5).all()
    assert rows["value"].notna().sum() >= read, rows["reason"].value_counts()
    assert rows["value"].isna().sum() == rows["reason"].notna().sum()
    assert asked(result) >= requests
    check_notes(result, mode, schema=schema)
    if method == "g-eval by log-probabilities":
        assert (rows["value"] % 1 > 0).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("form", "read"), [("choice", 3), ("judgelm", 1)])
def test_compare_in_both_orders(form: str, read: int, mode: str, replies: Path, fcconan: Fcconan) -> None:
    chosen = ("--comparison-format", form, "--model", QWEN)
    result = fcconan("judge", "compare", replies, *chosen, *MODES[mode], "--out", "comparisons.csv")
    rows = pd.read_csv(replies.parent / "comparisons.csv")
    assert len(rows) == N
    verdicts = rows[rows["verdict"] != "invalid"]
    assert len(verdicts) >= read, rows.to_string()
    assert verdicts["verdict"].isin(["a", "b", "tie"]).all()
    both = verdicts.dropna(subset=["verdict_ab", "verdict_ba"])
    assert (both["flipped"].astype(bool) == (both["verdict_ab"] != both["verdict_ba"])).all()
    assert asked(result) >= 2 * N
    check_notes(result, mode, schema=form == "choice")


def test_generate(replies: Path, fcconan: Fcconan) -> None:
    matched = ("--filter.system", "simulated-matched")
    result = fcconan("generate", replies, *matched, "--model", QWEN, "--limit", N, *PATIENT, "--out", "generated.csv")
    rows = pd.read_csv(replies.parent / "generated.csv")
    assert rows["text"].str.split().str.len().ge(5).tolist() == [True] * N
    assert asked(result) == N
    check_notes(result, "free", schema=False)


@pytest.mark.parametrize("mode", MODES)
def test_bench_with_zero_shot_ranking_and_re_ranking(
    mode: str, catalogue: Path, tmp_path: Path, fcconan: Fcconan
) -> None:
    chat = {"model": QWEN, "max_tokens": 100}
    systems = {
        "chosen": {"kind": "zero-shot", "n": 5, **chat},
        "re-ranked": {"kind": "rerank", "first_stage": "bm25", "top": 5, **chat},
    }
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump({"systems": systems}), encoding="utf-8")
    named = [word for name in ("bm25", *systems) for word in ("--system", name)]
    result = fcconan("bench", catalogue, "--suite", "suite.yaml", *named, "--resamples", 100, *MODES[mode])
    tables = {name: pd.DataFrame(rows) for name, rows in result["tables"].items()}
    assert tables["failures"].empty, tables["failures"].to_string()
    assert tables["systems"].set_index("system")["n"].loc[["bm25", *systems]].tolist() == [N] * 3
    assert asked(result) == 2 * N
    check_notes(result, mode, schema=True)


def test_a_killed_server_costs_the_requests_in_flight_only(
    replies: Path, fcconan: Fcconan, server: ModelServer, environment: dict[str, str], tmp_path: Path
) -> None:
    environment["FCCONAN_CACHE"] = str(tmp_path / "answers")
    words = ["judge", "rate", replies, "--task", "cseval", "--rating-method", "direct", "--model", QWEN]
    words += ["--concurrency", "2", *MODES["free"], "--out", "ratings.csv"]
    before = server.answered
    command = [sys.executable, "-m", "fcconan", *map(str, words), "--force"]
    run = subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    while server.answered - before < 8 and run.poll() is None:
        time.sleep(0.05)
    server.kill()
    out, _ = run.communicate(timeout=600)
    stopped = server.answered - before
    assert 8 <= stopped < 24
    assert b"the same command asks them again" in out
    server.start()
    continued = fcconan(*words)
    assert continued["tables"]["usage"][0]["stored"] >= stopped - 2
    assert server.answered - before <= 24 + 2
    rows = (tmp_path / "ratings.csv").read_bytes()
    assert pd.read_csv(tmp_path / "ratings.csv")["reason"].isna().all()
    again = fcconan(*words)
    assert again["tables"]["usage"][0]["requests"] == 0
    assert (tmp_path / "ratings.csv").read_bytes() == rows


def test_gemma_from_a_folder_writes_and_weighs_grades(models: Path, replies: Path, fcconan: Fcconan) -> None:
    folder = models / "gemma"
    named = ("--prompt-format", "dialogpt", "--prompt", "message", "--decoding", "one-line", "--out", "generated.csv")
    fcconan("generate", replies, "--filter.system", "simulated-matched", "--model", f"local:{folder}", *named)
    rows = pd.read_csv(replies.parent / "generated.csv")
    assert len(rows) == N
    assert rows["text"].notna().any()
    assert set(rows["reason"].dropna()) <= {"empty", "truncated"}  # it is not trained to answer
    # A base model has no chat template; this one shows each role by its name.
    chat = replies.parent / "gemma"
    chat.mkdir()
    for path in folder.iterdir():
        (chat / path.name).symlink_to(path)
    (chat / "chat_template.jinja").write_text(CHAT, encoding="utf-8")
    # It repeats a line of the rubric, as in `1: The reply has another subject`. Here the colon ends an answer.
    colon = AutoTokenizer.from_pretrained(folder).convert_tokens_to_ids(":")
    (chat / "generation_config.json").unlink()
    (chat / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, colon]}), encoding="utf-8")
    task = ("--task", "cseval", "--aspect", "relevance", "--rating-method", "g-eval", "--logprobs", "--limit", N)
    fcconan("judge", "rate", replies, *task, "--model", "local:gemma", "--out", "ratings.csv")
    rows = pd.read_csv(replies.parent / "ratings.csv")
    assert (rows["value"].between(1, 5) & (rows["value"] % 1 > 0)).sum() == N, rows.to_string()


def test_ten_steps_of_adapters_lower_the_perplexity_of_gemma(models: Path, demo: Path, fcconan: Fcconan) -> None:
    chosen = ("--model", models / "gemma", "--prompt-format", "dialogpt", "--prompt", "message", "--out", "tuned")
    steps = ("--learning-rate", 1e-4, "--epochs", 1, "--max-steps", 10, "--batch-size", 4)
    runs = pd.DataFrame(fcconan("finetune", demo, *chosen, *steps)["tables"]["runs"])
    assert runs["step"].max() == 10
    assert runs["perplexity"].iloc[-1] < runs["perplexity"].iloc[0]


def test_mpnet_reproduces_the_best_row_of_the_paper(models: Path, mirror: Path, fcconan: Fcconan) -> None:
    """Table 4 of FC-CONAN prints .3283, .1836, .4904 and 38.425: it rounds before it averages."""
    (folder,) = (path.parent for path in (models / "mpnet").rglob("modules.json"))
    values = pd.DataFrame(fcconan("reproduce", "fc-conan", f"--model.sbert-mpnet={folder}")["tables"]["values"])
    row = values[(values["table"] == "Table 4") & (values["row"] == "sbert-mpnet")]
    assert row["column"].tolist() == ["avg", "min", "max", "cv"]
    assert row["status"].tolist() == ["exact"] * 4
    assert row["recomputed"].tolist() == pytest.approx([0.3283, 0.1836, 0.4904, 38.425], abs=6e-5)
