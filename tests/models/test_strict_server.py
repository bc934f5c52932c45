"""Models behind a server that behaves as llama-cpp-python's, see `make check-models`."""

import pytest

from fcconan import Endpoint
from fcconan.models import ChatRequest, ChatResponse, Sampling, model_notes, open_model, usage_table
from tests.models.server import Server, use_key
from tests.models.strict_server import llama_cpp

SCHEMA = {"title": "grade", "type": "object", "properties": {"kind": {"type": "integer"}}, "required": ["kind"]}
ASKED = [{"role": "user", "content": "How kind is the reply of the Tarn to the Velmari, from 1 to 5?"}]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)


def answers(server: Server, *calls: ChatRequest) -> tuple[list[ChatResponse], tuple[str, ...], list[int]]:
    """The answers, the notes, and the numbers of requests and of stored answers."""
    model = open_model("qwen", Endpoint(base_url=server.url, concurrency=1))
    found = [*model.replies(calls)]
    return found, model_notes([model]), usage_table([model])[["requests", "stored"]].iloc[0].to_list()


def test_a_schema_that_is_refused_with_status_500_is_left_out_with_one_note() -> None:
    calls = [ChatRequest(ASKED, Sampling(max_tokens=8), SCHEMA, sample=number) for number in range(3)]
    with Server(llama_cpp("kind: 4")) as server:
        found, notes, used = answers(server, *calls)
        assert [(each.text, each.reason, each.model) for each in found] == [("kind: 4", None, "qwen")] * 3
        assert ["response_format" in body for body in server.bodies] == [True, False, False, False]
        assert len(notes) == 1
        assert "qwen refuses response_format" in notes[0] and "Input should be 'text' or 'json_object'" in notes[0]
        assert used == [3, 0]
        assert answers(server, *calls) == (found, (), [0, 3])


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
