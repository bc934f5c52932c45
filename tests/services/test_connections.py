"""Connections to models from the options of a service."""

from pathlib import Path
from typing import Any

import pytest
from fcconan.models.dry_run import UnaskedModel

from fcconan.errors import InputError
from fcconan.models.endpoint import EndpointModel
from fcconan.models.requests import ChatRequest, Sampling
from fcconan.services import RateOptions
from fcconan.services.connections import Connection, connected
from fcconan.services.options import Endpoint

URL = "http://127.0.0.1:9/v1"


def _connection(folder: Path, **options: Any) -> Connection:
    return Connection(Endpoint(base_url=URL, response_cache=folder / "answers", **options))


def test_the_null_model_answers_nothing() -> None:
    with pytest.raises(NotImplementedError):
        UnaskedModel().replies([])


def test_fields_of_a_request_are_put_in_and_left_out(tmp_path: Path) -> None:
    fields = ("temperature=", "seed=", "reasoning_effort=low", "top_k=3", 'stop=["x"]')
    model = _connection(tmp_path, request_field=fields).open("m")
    assert isinstance(model, EndpointModel)
    body = model.body(ChatRequest([{"role": "user", "content": "x"}], Sampling(temperature=0.0, max_tokens=5, seed=1)))
    assert body == {
        "model": "m",
        "max_tokens": 5,
        "reasoning_effort": "low",
        "top_k": 3,
        "stop": ["x"],
        "messages": [{"role": "user", "content": "x"}],
    }
    assert model.configuration["temperature"] is None


@pytest.mark.parametrize("given", ["temperature", "=1", "messages=1", "response_format="])
def test_a_wrong_field_of_a_request_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(InputError, match="give NAME=VALUE, each name once and none of model, messages"):
        _connection(tmp_path, request_field=(given,)).open("m")


def test_models_share_the_limits_of_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-this-test")
    names = ["one", "replay:a.csv", "two", "three"]
    connection = _connection(tmp_path, concurrency=8, requests_per_minute=300.0)
    opened: list[Any] = [connection.open(name, sharing=names) for name in names if ":" not in name]
    assert [each.client.concurrency for each in opened] == [3, 3, 2]
    assert [each.client.gap for each in opened] == [0.6] * 3  # seconds; 0.2 for all
    alone: Any = connection.open("one")
    assert (alone.client.concurrency, alone.client.gap) == (8, 0.2)
    few: list[Any] = [_connection(tmp_path, concurrency=1).open(name, sharing=names) for name in names[2:]]
    assert [each.client.concurrency for each in few] == [1, 1]


@pytest.mark.parametrize("model", ["m", "replay:outputs.jsonl"])
def test_a_limit_of_cost_needs_prices_before_anything_is_read(tmp_path: Path, model: str) -> None:
    options = RateOptions(model=model, max_cost=1.0, base_url=URL, response_cache=tmp_path / "answers")
    with (
        pytest.raises(InputError, match=r"^--max-cost needs --prices FILE, with the price of the model$"),
        connected("rate", {}, options),
    ):
        raise AssertionError("the run has begun")
