"""Models and commands behind a server that behaves as llama-cpp-python's, see `make check-models`."""

import json
from pathlib import Path

import pandas as pd
import pytest

from fcconan import Endpoint
from fcconan.models import ChatRequest, ChatResponse, Sampling, model_notes, open_model, usage_table
from tests.cli.judging import fcconan
from tests.models.server import Server, use_key
from tests.models.strict_server import llama_cpp

ASKED = [{"role": "user", "content": "How kind is the reply of the Tarn to the Velmari, from 1 to 5?"}]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)


def answers(server: Server, *calls: ChatRequest) -> tuple[list[ChatResponse], tuple[str, ...], list[int]]:
    """The answers, the notes, and the numbers of requests and of stored answers."""
    model = open_model("qwen", Endpoint(base_url=server.url, concurrency=1))
    return [*model.replies(calls)], model_notes([model]), usage_table([model])[["requests", "stored"]].iloc[0].to_list()


def test_log_probabilities_are_those_of_the_server() -> None:
    with Server(llama_cpp("4")) as server:
        (reply,), notes, _ = answers(server, ChatRequest(ASKED, Sampling(max_tokens=1, top_logprobs=3)))
    assert reply.logprobs is not None
    assert [(each.token, each.logprobs) for each in reply.logprobs] == [("4", {"4": -0.5, "3": -1.5, "2": -2.5})]
    assert notes == ()


def test_what_it_cannot_read_at_once_is_too_long_and_what_it_cuts_is_truncated() -> None:
    long = ChatRequest([{"role": "user", "content": "word " * 60}], Sampling(max_tokens=8))
    with Server(llama_cpp("four of five", context=50)) as server:
        found, notes, used = answers(server, long, ChatRequest(ASKED, Sampling(max_tokens=2)))
    assert [each.reason for each in found] == ["too_long", "truncated"]
    assert "maximum context length is 50 tokens" in found[0].detail and found[1].cut == "four of"
    assert len(notes) == 1 and "too_long 1" in notes[0]
    assert used == [1, 0]


SAYS = json.dumps({"relevance": 4, "better": "a", "ranking": ["p2", "p1"]})  # to all commands


@pytest.mark.parametrize(
    ("command", "table"),
    [
        ("judge rate replies.jsonl --model qwen --task cseval --aspect relevance", "ratings"),
        ("judge compare replies.jsonl --model qwen", "comparisons"),
        ("generate replies.jsonl --model qwen", "replies"),
        ("bench DEMO --system bm25 --system best --suite suite.yaml --resamples 0", "scores"),
    ],
)
def test_commands_give_the_same_rows_with_and_without_structured_output(
    command: str, table: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pd.read_parquet(demo / "replies").sort_values(["item_id", "system"])
    rows = rows[rows["system"].isin(["simulated-matched", "simulated-hostile"])].head(6)
    rows.to_json("replies.jsonl", orient="records", lines=True)
    best = {"kind": "rerank", "first_stage": "bm25", "top": 2, "model": "qwen"}
    Path("suite.yaml").write_text(json.dumps({"systems": {"best": best}}))
    results = []
    with Server(llama_cpp(SAYS)) as server:
        for form in ((), ("--no-structured-output",)):
            words = command.replace("DEMO", str(demo)).split()
            done = fcconan(*words, *form, "--base-url", server.url, "--concurrency", 1, "--json", "out.json", "--force")
            assert done.status == 0, done.stderr
            results.append(json.loads(Path("out.json").read_text()))
    with_schema, without = results
    assert with_schema["tables"][table] == without["tables"][table] != []
    assert {row.get("reason") for row in with_schema["tables"][table]} == {None}
    refused = sum(note.startswith("qwen refuses response_format") for note in with_schema["notes"])
    assert refused == (not command.startswith("generate"))  # which asks for text
    assert "response_format" not in str(without["notes"])
