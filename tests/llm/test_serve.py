"""The client against `transformers serve`, and its answers against those of the same model without a server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcconan.llm.call import Call, Sampling
from fcconan.llm.client import Client
from fcconan.llm.journal import Journal
from fcconan.llm.local import LocalModel
from tests.llm.serve import transformers_serve
from tests.llm.tiny_chat import TEXTS, tiny_chat

PATH = "/chat/completions"


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
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-this-test")


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
    calls = [Call([{"role": "user", "content": text}], Sampling(max_tokens=30)) for text in TEXTS]
    replies = list(LocalModel(tiny, journal=tmp_path / "local", device="cpu").replies(calls))
    own = [record["response"] for record in Journal(tmp_path / "local").records()]
    for answer, response in zip(answers, own, strict=True):
        served = answer.body or {}
        for part in ("message", "finish_reason"):
            assert served["choices"][0][part] == response["choices"][0][part]
        assert served["usage"] == response["usage"]
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
    assert len(Journal(tmp_path / "journal")) == 0


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
    call = Call([{"role": "user", "content": TEXTS[0]}], sampling)
    reply = next(LocalModel(tiny, journal=tmp_path / "local", device="cpu").replies([call]))
    assert reply.text == text.split("dar")[0]
