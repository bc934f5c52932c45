"""Commands and `transformers serve` with a tiny model: the rows are those of the same model without a server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcconan import Endpoint
from fcconan.models import ChatRequest, Sampling, open_model
from tests.cli.judging import fcconan
from tests.models.serve import transformers_serve
from tests.models.server import use_key
from tests.models.tiny_chat import TEXTS, model_that_says, tiny_chat

pytestmark = pytest.mark.long

# Every answer is one to all commands: a grade, a choice, and a ranking.
CHOICES = zip((1, 5, 2, 4, 3), "abaab", (["p2", "p1"], ["p3", "p2"], ["p1"], ["p3"], ["p2", "p3"]), strict=True)
SAYS = [json.dumps({"relevance": grade, "better": better, "ranking": best}) for grade, better, best in CHOICES]
NAMES = ("rater", "model", "system", "generator", "revision", "reply_id")  # what the name of the model changes
SENT = "POST /v1/chat/completions"
Rows = list[dict[str, Any]]
Run = Callable[..., dict[str, Rows]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Its address and its log."""
    folder = tmp_path_factory.mktemp("serve")
    with transformers_serve(folder) as address:
        yield address, folder / "serve.log"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_that_says(tmp_path_factory.mktemp("model") / "tiny", SAYS, context=8192)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: Path) -> None:
    """A folder with two replies to each of six messages."""
    monkeypatch.chdir(tmp_path)
    use_key(monkeypatch)
    rows = pd.read_parquet(demo / "replies").sort_values(["item_id", "system"])
    systems = sorted(set(rows["system"]))[:2]
    rows[rows["system"].isin(systems)].head(12).to_json("replies.jsonl", orient="records", lines=True)


@pytest.fixture
def both(server: tuple[str, Path], tiny: Path) -> Run:
    """Runs a command with the served model, again from the store, and with the same model here; returns the tables."""

    def tables(words: tuple[object, ...], model: object, *more: object) -> dict[str, Rows]:
        best = {"kind": "rerank", "first_stage": "bm25", "top": 3, "model": str(model)}
        Path("suite.yaml").write_text(json.dumps({"systems": {"best": best}}))  # JSON is YAML
        which = () if words[0] == "bench" else ("--model", model)
        done = fcconan(*words, *which, *more, "--json", "out.json", "--force")
        assert done.status == 0, done.stderr
        found: dict[str, Rows] = json.loads(Path("out.json").read_text())["tables"]
        return found

    def run(requests: int, *words: object) -> dict[str, Rows]:
        address, log = server
        before = log.read_text().count(SENT)
        served, again = (tables(words, tiny, "--base-url", address) for _ in range(2))
        assert log.read_text().count(SENT) - before == requests
        here = tables(words, f"local:{tiny}")
        for name in served.keys() - {"usage"}:
            assert again[name] == served[name]
            own, theirs = (
                [{k: row[k] for k in row if k not in NAMES} for row in each[name]] for each in (here, served)
            )
            assert own == theirs
        return served

    return run


def test_rate(both: Run) -> None:
    found = both(12, "judge", "rate", "replies.jsonl", "--task", "cseval", "--aspect", "relevance")["ratings"]
    assert len(found) == 12 and {row["reason"] for row in found} == {None}
    assert len({row["value"] for row in found} & {1.0, 2.0, 3.0, 4.0, 5.0}) > 1


def test_compare(both: Run) -> None:
    found = both(12, "judge", "compare", "replies.jsonl")["comparisons"]
    assert len(found) == 6 and {row["reason"] for row in found} == {None}
    assert {row["verdict_ab"] for row in found} <= {"a", "b"}
    assert all((row["verdict_ab"] == row["verdict_ba"]) is not row["flipped"] for row in found)


def test_generate(both: Run) -> None:
    found = both(6, "generate", "replies.jsonl", "--filter.system", "simulated-hostile")["replies"]
    assert {row["text"] for row in found} <= {*SAYS}


def test_bench_with_a_re_ranker(both: Run, demo: Path) -> None:
    found = both(24, "bench", demo, "--suite", "suite.yaml", "--system", "bm25", "--system", "best", "--resamples", 0)
    assert found["failures"] == []
    values = {name: [row["value"] for row in found["scores"] if row["system"] == name] for name in ("bm25", "best")}
    assert values["bm25"] != values["best"]


def test_greedy_answers_are_those_of_the_model_without_a_server(server: tuple[str, Path], tmp_path: Path) -> None:
    """Also where it is cut off, and where a stop string ends it, which `transformers serve` leaves in the text."""
    babble = tiny_chat(tmp_path / "babble")
    calls = [
        ChatRequest([{"role": "user", "content": text}], Sampling(max_tokens=30, stop=stop))
        for text in TEXTS
        for stop in ((), ("a",))
    ]
    served = open_model(str(babble), Endpoint(base_url=server[0], concurrency=4)).replies(calls)
    here = open_model(f"local:{babble}", Endpoint()).replies(calls)
    found = [(each.text, each.reason, each.cut) for each in served]
    assert found == [(each.text, each.reason, each.cut) for each in here]
    assert {reason for _, reason, _ in found} == {None, "truncated"}
