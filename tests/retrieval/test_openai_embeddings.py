import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.models.client import Client, EndpointError
from fcconan.retrieval.openai_embeddings import OpenAIEncoder, RefusedTextError
from tests.models.server import DIMENSIONS, Action, Server, always, bag, embeddings, error, first, use_key

TEXTS = ["Ombrey bakers bake", "Tessok sing", "Velmari plant trees", "Dravene", "Quillish boats float"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    use_key(monkeypatch)
    with Server() as running:
        yield running


def encoder(server: Server, folder: Path, **options: Any) -> OpenAIEncoder:
    client = Client(journal=folder / "journal.jsonl", base_url=server.url, retries=1, backoff=0.01, timeout=5)
    return OpenAIEncoder("embed", client=client, **options)


def expected(texts: list[str]) -> Any:
    vectors = np.array([bag(text) for text in texts])
    return vectors / np.sqrt((vectors**2).sum(axis=1))[:, None]


def test_vectors_are_of_length_1_and_in_the_order_of_the_texts(server: Server, tmp_path: Path) -> None:
    found = encoder(server, tmp_path, batch_size=2).encode(TEXTS, role="document")
    assert (str(found.dtype), found.shape) == ("float32", (5, DIMENSIONS))
    np.testing.assert_allclose(found, expected(TEXTS), atol=1e-6)
    assert sorted(len(body["input"]) for body in server.bodies) == [1, 2, 2]


def test_the_same_texts_are_sent_once(server: Server, tmp_path: Path) -> None:
    one = encoder(server, tmp_path).encode(TEXTS, role="document")
    two = encoder(server, tmp_path).encode(TEXTS, role="document")
    assert (len(server.requests), one.tolist()) == (1, two.tolist())


def test_no_texts_need_no_request(server: Server, tmp_path: Path) -> None:
    assert encoder(server, tmp_path, dimensions=3).encode([], role="query").shape == (0, 3)
    assert server.requests == []


def test_shorter_vectors_are_asked_for_and_checked(server: Server, tmp_path: Path) -> None:
    assert encoder(server, tmp_path, dimensions=8).encode(TEXTS, role="query").shape == (5, 8)
    assert server.bodies == [{"model": "embed", "input": TEXTS, "encoding_format": "float", "dimensions": 8}]
    server.behaviour = lambda body, number: Action(body=embeddings({**body, "dimensions": 9}))
    with pytest.raises(EndpointError, match="expected 5 vectors, indexed from 0, of 8 finite numbers"):
        encoder(server, tmp_path / "other", dimensions=8).encode(TEXTS, role="query")


def _changed(change: str) -> Any:
    def behaviour(body: dict[str, Any], number: int) -> Action:
        response = embeddings(body)
        data = response["data"]
        if change == "fewer":
            data.pop()
        elif change == "more":
            data.append(dict(data[0]))
        elif change == "index":
            data[0]["index"] = data[1]["index"]
        elif change == "no index":
            del data[0]["index"]
        elif change == "lengths":
            data[0]["embedding"].append(1.0)
        elif change == "nan":
            data[0]["embedding"][0] = float("nan")
        elif change == "zero":
            data[0]["embedding"] = [0.0] * DIMENSIONS
        elif change == "words":
            data[0]["embedding"] = "AAAA"
        elif change == "number in words":
            data[0]["embedding"][0] = "1"
        elif change == "huge":
            data[0]["embedding"] = [1e200] * DIMENSIONS
        elif change == "none":
            response["data"] = None
        return Action(body=response)

    return behaviour


@pytest.mark.parametrize(
    "change",
    [
        "fewer",
        "more",
        "index",
        "no index",
        "lengths",
        "nan",  # it reads as null, as it would from the journal
        "huge",
        "number in words",
        "zero",
        "words",
        "none",
    ],
)
def test_wrong_vectors_are_asked_again_never_used_and_never_kept(server: Server, tmp_path: Path, change: str) -> None:
    server.behaviour = _changed(change)
    with pytest.raises(EndpointError, match="bad_body: expected 5 vectors, indexed from 0, of finite numbers"):
        encoder(server, tmp_path).encode(TEXTS, role="document")
    assert len(server.requests) == 2
    server.behaviour = always(Action())
    np.testing.assert_allclose(encoder(server, tmp_path).encode(TEXTS, role="document"), expected(TEXTS), atol=1e-6)


def test_a_passing_fault_does_no_harm(server: Server, tmp_path: Path) -> None:
    server.behaviour = first(1, error(500))
    np.testing.assert_allclose(encoder(server, tmp_path).encode(TEXTS, role="document"), expected(TEXTS), atol=1e-6)


def test_batches_of_different_lengths_are_an_error(server: Server, tmp_path: Path) -> None:
    server.behaviour = lambda body, number: Action(
        body=embeddings({**body, "dimensions": 5 if TEXTS[0] in body["input"] else 6})
    )
    with pytest.raises(EndpointError, match=r"vectors of \[5, 6\] dimensions"):
        encoder(server, tmp_path, batch_size=3).encode(TEXTS, role="document")


def test_a_refused_query_is_no_reason_to_stop_but_a_refused_catalogue_is(server: Server, tmp_path: Path) -> None:
    server.behaviour = always(error(400))
    with pytest.raises(RefusedTextError):
        encoder(server, tmp_path).encode(TEXTS, role="query")
    with pytest.raises(EndpointError, match="bad_request"):
        encoder(server, tmp_path).encode(TEXTS, role="document")


def test_the_configuration_needs_neither_key_nor_extra_nor_call(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setitem(sys.modules, "openai", None)
    assert encoder(server, tmp_path).configuration == {
        "kind": "openai-embeddings",
        "endpoint": server.url,
        "model": "embed",
        "dimensions": None,
        "batch_size": 64,
    }
    assert server.requests == []


def test_no_key_stops_the_system_and_is_none_needed_for_what_is_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = encoder(server, tmp_path).encode(TEXTS, role="query").tolist()
    monkeypatch.delenv("OPENAI_API_KEY")
    assert encoder(server, tmp_path).encode(TEXTS, role="query").tolist() == before
    with pytest.raises(EndpointError, match=r"^no key for http://127.0.0.1:\d+/v1: set OPENAI_API_KEY"):
        encoder(server, tmp_path).encode(["another"], role="query")
