"""The client and `fcconan judge` against one `transformers serve`, and against the same models without a server."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fcconan.models.answers.store import AnswerStore
from fcconan.models.client import Client

from fcconan.data.files import read_rows
from fcconan.models import LocalModel
from fcconan.models.requests import ChatRequest, Sampling
from tests.cli.judging import fcconan
from tests.models.serve import transformers_serve
from tests.models.tiny_chat import TEXTS, model_that_says, tiny_chat
from tests.test_local_models import Kept

pytestmark = pytest.mark.long

PATH = "/chat/completions"
# Every answer is one to whatever is asked: a grade, a choice, and two steps.
SAYS = [f"1. relevance: {grade}\n2. better: {better}" for grade, better in zip((1, 5, 2, 4, 3), "abaab", strict=True)]
GRADES = {1.0, 2.0, 3.0, 4.0, 5.0}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Its address and its log."""
    folder = tmp_path_factory.mktemp("serve")
    with transformers_serve(folder) as address:
        yield address, folder / "serve.log"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-this-test")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def requests_in(log: Path) -> int:
    return log.read_text(encoding="utf-8").count(f"POST /v1{PATH}")


def body(model: Path, text: str, **settings: Any) -> dict[str, Any]:
    return {"model": str(model), "messages": [{"role": "user", "content": text}], "max_tokens": 30} | settings


def test_greedy_answers_are_those_of_the_model_without_a_server(
    tiny: Path, server: tuple[str, Path], tmp_path: Path
) -> None:
    address, log = server
    before = requests_in(log)
    client = Client(journal=tmp_path / "served", base_url=address, concurrency=4)
    answers = client.send_all(PATH, [body(tiny, text, temperature=0) for text in TEXTS])
    calls = [ChatRequest([{"role": "user", "content": text}], Sampling(max_tokens=30)) for text in TEXTS]
    kept = Kept()
    replies = list(LocalModel(str(tiny), kept).replies(calls))
    own = [*kept.values()]
    for answer, response in zip(answers, own, strict=True):
        served = answer.body or {}
        for part in ("message", "finish_reason"):
            assert served["choices"][0][part] == response["choices"][0][part]
        assert {name: served["usage"][name] for name in response["usage"]} == response["usage"]
    assert {reply.reason for reply in replies} == {None, "truncated"}
    assert requests_in(log) - before == len(TEXTS)


def test_a_second_run_sends_nothing(tiny: Path, server: tuple[str, Path], tmp_path: Path) -> None:
    address, log = server
    bodies = [body(tiny, text, temperature=1.0, seed=1, max_tokens=5) for text in TEXTS[:3]]
    first = Client(journal=tmp_path / "journal", base_url=address).send_all(PATH, bodies)
    sent = requests_in(log)
    assert [answer.reason for answer in first] == [None] * 3
    assert Client(journal=tmp_path / "journal", base_url=address).send_all(PATH, bodies) == first
    assert requests_in(log) == sent


def test_what_the_server_refuses_is_a_failure(tiny: Path, server: tuple[str, Path], tmp_path: Path) -> None:
    address, _ = server
    client = Client(journal=tmp_path / "journal", base_url=address, retries=0)
    wrong = [body(tiny, TEXTS[0], colour="red"), body(tmp_path / "nowhere", TEXTS[0])]
    answers = client.send_all(PATH, wrong)
    assert [(answer.body, answer.reason) for answer in answers] == [(None, "bad_request"), (None, "server_error")]
    assert len(AnswerStore(tmp_path / "journal")) == 0


def test_it_takes_a_schema_and_log_probabilities_and_heeds_neither(
    tiny: Path, server: tuple[str, Path], tmp_path: Path
) -> None:
    """So that a status of 200 does not show that an endpoint has done what it was asked for."""
    address, _ = server
    schema = {"name": "grade", "strict": True, "schema": {"type": "object"}}
    plain = body(tiny, TEXTS[1], temperature=0, max_tokens=8)
    asked = plain | {
        "response_format": {"type": "json_schema", "json_schema": schema},
        "logprobs": True,
        "top_logprobs": 2,
    }
    one, other = Client(journal=tmp_path / "journal", base_url=address).send_all(PATH, [plain, asked])
    assert one.body is not None and other.body is not None
    assert other.body["choices"] == one.body["choices"]
    assert "logprobs" not in other.body["choices"][0]
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(other.body["choices"][0]["message"]["content"])


def test_its_stop_strings_are_left_in_the_text(tiny: Path, server: tuple[str, Path], tmp_path: Path) -> None:
    address, _ = server
    client = Client(journal=tmp_path / "journal", base_url=address)
    whole, cut = client.send_all(
        PATH, [body(tiny, TEXTS[0], temperature=0), body(tiny, TEXTS[0], temperature=0, stop=["dar"])]
    )
    assert whole.body is not None and cut.body is not None
    text, short = (each["choices"][0]["message"]["content"] for each in (whole.body, cut.body))
    assert "dar" in short and len(short) < len(text) and text.startswith(short)
    sampling = Sampling(max_tokens=30, stop=("dar",))
    call = ChatRequest([{"role": "user", "content": TEXTS[0]}], sampling)
    reply = next(LocalModel(str(tiny), Kept()).replies([call]))
    assert reply.text == text.split("dar")[0]


# From the command line


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_that_says(tmp_path_factory.mktemp("model") / "tiny", SAYS, context=8192)


@pytest.fixture
def replies(demo: Path) -> Path:
    """Two replies to every message of the demo."""
    every = list(read_rows(next((demo / "replies").glob("*.parquet"))))
    systems = sorted({row["system"] for row in every})[:2]
    columns = ["reply_id", "item_id", "hs_id", "hate_speech", "text", "system"]
    with Path("replies.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([row[name] for name in columns] for row in every if row["system"] in systems)
    return Path("replies.csv")


def judged(verb: str, file: Path, model: object, *options: object, status: int = 0) -> list[dict[str, Any]]:
    done = fcconan(
        "judge", verb, file, "--model", model, "--response-cache", "journal", "--out", "out.parquet", *options
    )
    assert (done.status, done.stderr) == (status, "")
    return list(read_rows(Path("out.parquet")))


def test_rate_reads_its_grades_which_are_those_of_the_model_without_a_server(
    model: Path, server: tuple[str, Path], replies: Path
) -> None:
    address, log = server
    before = requests_in(log)
    asked = ("--task", "cseval", "--aspect", "relevance", "--limit", 24)
    served = judged("rate", replies, model, "--base-url", address, *asked)
    assert [row["reason"] for row in served] == [None] * 24
    assert {row["value"] for row in served} <= GRADES
    assert requests_in(log) - before == 24
    again = judged("rate", replies, model, "--base-url", address, *asked)
    assert again == served
    assert requests_in(log) - before == 24
    own = judged("rate", replies, f"local:{model}", "--device", "cpu", *asked, "--force")
    assert [row["value"] for row in own] == [row["value"] for row in served]


def test_compare_reads_its_choices(model: Path, server: tuple[str, Path], replies: Path) -> None:
    address, log = server
    before = requests_in(log)
    served = judged("compare", replies, model, "--base-url", address, "--pairs", 12, "--json", "out.json")
    assert [row["reason"] for row in served] == [None] * 12
    assert {row["verdict_ab"] for row in served} <= {"a", "b"}
    assert all((row["verdict_ab"] == row["verdict_ba"]) is not row["flipped"] for row in served)
    assert requests_in(log) - before == 24
    counts = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert counts["verdicts"] == dict(Counter(row["verdict"] for row in served))
    own = judged("compare", replies, f"local:{model}", "--device", "cpu", "--pairs", 12, "--force")
    assert [row["verdict"] for row in own] == [row["verdict"] for row in served]


def test_calibrate_returns_steps_that_it_drafted(
    model: Path, server: tuple[str, Path], demo: Path, replies: Path
) -> None:
    address, log = server
    ratings = next((demo / "ratings").glob("*.parquet"))
    asked = (
        "--aspect",
        "relevance",
        "--ratings",
        ratings,
        "--draft-examples",
        3,
        "--trials",
        3,
        "--beam",
        1,
        "--refinement-examples",
        2,
    )
    shared = ("--model", model, "--base-url", address, "--response-cache", "journal", "--resamples", 100)
    done = fcconan("judge", "calibrate", replies, *asked, *shared, "--out", "steps.yaml", "--json", "out.json")
    assert (done.status, done.stderr) == (0, "")
    steps = yaml.safe_load(Path("steps.yaml").read_text(encoding="utf-8"))
    assert (steps["aspect"], steps["low"], steps["high"]) == ("relevance", 1, 5)
    assert steps["steps"] in [[line[3:] for line in each.splitlines()] for each in SAYS]
    lines = Path("steps.log.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    candidates = [record for record in records if record["record"] == "candidate"]
    assert [each["phase"] for each in candidates[:3]] == ["draft"] * 3
    assert {each["status"] for each in candidates} <= {"usable", "duplicate", "undefined"}
    result = json.loads(Path("out.json").read_text(encoding="utf-8"))
    parts = result["parts"]
    assert (parts["draft"]["items"], parts["select"]["items"], parts["report"]["items"]) == (5, 9, 10)
    assert result["report"]["n"] + result["report"]["n_missing"] == parts["report"]["examples"] == 20

    sent, first = requests_in(log), Path("steps.log.jsonl").read_bytes()
    assert sent > 3
    assert fcconan("judge", "calibrate", replies, *asked, *shared, "--out", "steps.yaml").status == 0
    assert requests_in(log) == sent
    assert Path("steps.log.jsonl").read_bytes() == first
    given = ("--base-url", address, "--task", "cseval", "--rating-method", "auto-cseval", "--steps", "steps.yaml")
    rated = judged("rate", replies, model, *given, "--aspect", "relevance", "--limit", 4)
    assert [(row["rater"].rpartition(":")[2], row["reason"]) for row in rated] == [("auto-cseval", None)] * 4


def test_what_a_model_cannot_read_at_once_is_too_long(tmp_path: Path, replies: Path) -> None:
    small = tiny_chat(tmp_path / "small", context=512)
    asked = ("--task", "cseval", "--aspect", "relevance", "--limit", 2)
    rated = judged("rate", replies, f"local:{small}", "--device", "cpu", *asked, status=1)
    assert [(row["value"], row["reason"]) for row in rated] == [(None, "too_long")] * 2
