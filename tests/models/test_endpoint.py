import threading
from pathlib import Path
from typing import Any

import pytest

from fcconan.models.client import Client
from fcconan.models.endpoint import EndpointModel
from fcconan.models.requests import ChatRequest, ChatResponse, Sampling
from tests.models.server import Action, Server, completion, error, says, use_key, without_schema

SCHEMA = {"title": "rating", "type": "object", "properties": {"value": {"type": "integer"}}}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)


def model(
    server: Server, folder: Path, *, concurrency: int = 4, requests_per_minute: float | None = None, **options: Any
) -> EndpointModel:
    client = Client(
        journal=folder / "journal.jsonl",
        base_url=server.url,
        timeout=5,
        retries=1,
        backoff=0.01,
        concurrency=concurrency,
        requests_per_minute=requests_per_minute,
    )
    return EndpointModel(client, "m", **options)


def call(text: str = "Ombrey", sampling: Sampling = Sampling(), schema: Any = None, sample: int = 0) -> ChatRequest:  # noqa: B008
    return ChatRequest([{"role": "user", "content": text}], sampling, schema, sample)


def calls(number: int) -> list[ChatRequest]:
    return [call(f"text {each}", schema=SCHEMA) for each in range(number)]


def said(text: str, **more: Any) -> ChatResponse:
    return ChatResponse(text, model="m-stub", prompt_tokens=7, completion_tokens=3, **more)


def echo(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def schemas(server: Server) -> list[bool]:
    return ["response_format" in each for each in server.bodies]


def test_settings_become_fields_and_none_is_left_to_the_endpoint(tmp_path: Path) -> None:
    whole = Sampling(0.5, 9, 0.8, ("\n", "###"), 3, 5)
    nothing = Sampling(None, None, None, (), None)
    with Server(says("3")) as server:
        asked = [call(), call(sampling=whole), call(sampling=nothing)]
        list(model(server, tmp_path, concurrency=1, further={"reasoning_effort": "low"}).replies(asked))
        rest = {"model": "m", "reasoning_effort": "low", "messages": [{"role": "user", "content": "Ombrey"}]}
        assert server.bodies == [
            {**rest, "temperature": 0.0, "max_tokens": 512, "seed": 0},
            {
                **rest,
                "temperature": 0.5,
                "max_tokens": 9,
                "top_p": 0.8,
                "stop": ["\n", "###"],
                "seed": 3,
                "logprobs": True,
                "top_logprobs": 5,
            },
            rest,
        ]


def test_the_likeliest_tokens_are_counted_only_where_they_shall_be(tmp_path: Path) -> None:
    with Server(says("3")) as server:
        asked = [call(), call(sampling=Sampling(top_k=40))]
        list(model(server, tmp_path, concurrency=1).replies(asked))
        usual = {"model": "m", "temperature": 0.0, "max_tokens": 512, "seed": 0, "messages": asked[0].messages}
        assert server.bodies == [usual, {**usual, "top_k": 40}]


def test_a_schema_is_sent_where_it_is_taken(tmp_path: Path) -> None:
    with Server(says(echo)) as server:
        replies = list(model(server, tmp_path, concurrency=8).replies(calls(20)))
        assert replies == [said(f"text {each}", structured=True) for each in range(20)]
        assert [each["response_format"] for each in server.bodies] == [
            {
                "type": "json_schema",
                "json_schema": {
                    "name": "rating",
                    "strict": True,
                    "schema": {"type": "object", "properties": {"value": {"type": "integer"}}},
                },
            }
        ] * 20


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize(("concurrency", "per_minute", "refused"), [(1, None, 1), (8, None, 8), (8, 6000, 1)])
def test_the_first_calls_find_out_that_a_schema_is_refused_and_all_are_answered(
    tmp_path: Path, status: int, concurrency: int, per_minute: float | None, refused: int
) -> None:
    """As many as go at once, or one where each takes a turn; later ones wait until one of them is answered."""
    together = threading.Barrier(refused)

    def behaviour(body: dict[str, Any], number: int) -> Action:
        if number < refused:
            together.wait(20)
        return error(status) if "response_format" in body else says(echo)(body, number)

    with Server(behaviour) as server:
        one = model(server, tmp_path, concurrency=concurrency, requests_per_minute=per_minute)
        replies = list(one.replies(calls(20)))
        assert replies == [said(f"text {each}") for each in range(20)]
        assert (schemas(server).count(True), len(server.requests)) == (refused, 20 + refused)
        assert list(one.replies(calls(22)))[20:] == [said("text 20"), said("text 21")]
        assert (schemas(server).count(True), len(server.requests)) == (refused, 22 + refused)
    assert not together.broken


def test_both_forms_are_found_again_without_a_request(tmp_path: Path) -> None:
    with Server(says(echo)) as server:
        with_schema = list(model(server, tmp_path).replies(calls(3)))
        server.behaviour = lambda body, number: (
            without_schema(body, number) if number == 3 else says(echo)(body, number)
        )
        both = list(model(server, tmp_path, concurrency=1).replies(calls(6)))
        assert both == [*with_schema, *(said(f"text {each}") for each in (3, 4, 5))]
        assert len(server.requests) == 3 + 1 + 3
        assert list(model(server, tmp_path).replies(calls(6))) == both
        plain = model(server, tmp_path, structured=False)
        assert [plain.known(each) for each in calls(6)] == [None, None, None, *both[3:]]
        assert len(server.requests) == 7


def test_a_call_that_is_refused_for_itself_says_nothing_about_schemas(tmp_path: Path) -> None:
    def behaviour(body: dict[str, Any], number: int) -> Action:
        return error(400) if "text 0" in echo(body) else says(echo)(body, number)

    with Server(behaviour) as server:
        replies = list(model(server, tmp_path).replies(calls(3)))
        assert [(each.reason, each.structured) for each in replies] == [
            ("bad_request", False),
            (None, True),
            (None, True),
        ]
        assert sorted(schemas(server)) == [False, True, True, True]


def test_a_schema_that_is_refused_for_one_call_is_sent_with_later_ones(tmp_path: Path) -> None:
    def behaviour(body: dict[str, Any], number: int) -> Action:
        return error(400) if "text 1" in echo(body) and "response_format" in body else says(echo)(body, number)

    with Server(behaviour) as server:
        one = model(server, tmp_path, concurrency=1)
        replies = list(one.replies(calls(2))) + list(one.replies(calls(4)[2:]))
        assert [each.structured for each in replies] == [True, False, True, True]
        assert schemas(server).count(False) == 1


def test_a_schema_is_tried_again_after_a_fault_that_passes(tmp_path: Path) -> None:
    with Server(lambda body, number: error(503) if number < 2 else says(echo)(body, number)) as server:
        replies = list(model(server, tmp_path, concurrency=1).replies(calls(2)))
        assert [(each.reason, each.structured) for each in replies] == [("server_error", False), (None, True)]
        assert schemas(server) == [True, True, True]


def test_without_structure_no_schema_is_sent(tmp_path: Path) -> None:
    with Server(says(echo)) as server:
        assert list(model(server, tmp_path, structured=False).replies(calls(2))) == [said("text 0"), said("text 1")]
        assert schemas(server) == [False, False]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3\n\nNext item", said("3")),
        ("3 END rest\n\n", said("3 ")),
        ("3", said("3")),
        ("END 3", ChatResponse(reason="empty", model="m-stub", prompt_tokens=7, completion_tokens=3)),
    ],
)
def test_an_answer_ends_at_the_first_stop_string(tmp_path: Path, text: str, expected: ChatResponse) -> None:
    with Server(says(text)) as server:
        asked = call(sampling=Sampling(stop=("END", "\n\n")))
        one = model(server, tmp_path)
        assert list(one.replies([asked])) == [expected] == [one.known(asked)]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"finish_reason": "length"}, {"reason": "truncated", "cut": "3"}),
        ({"finish_reason": "content_filter"}, {"reason": "filtered"}),
        ({"refusal": "I would rather not."}, {"reason": "refused"}),
    ],
)
def test_what_is_no_whole_answer_has_a_reason_in_this_run_and_the_next(
    tmp_path: Path, choice: dict[str, Any], expected: dict[str, Any]
) -> None:
    reply = ChatResponse(model="m-stub", prompt_tokens=7, completion_tokens=3, **expected)
    with Server(says("3", **choice)) as server:
        assert list(model(server, tmp_path).replies([call()])) == [reply]
        assert list(model(server, tmp_path).replies([call()])) == [reply]
        assert len(server.requests) == 1


def test_a_body_without_a_message_is_asked_again(tmp_path: Path) -> None:
    def behaviour(body: dict[str, Any], number: int) -> Action:
        return Action(body={"choices": []}) if number < 3 else Action(body=completion(body, "3"))

    with Server(behaviour) as server:
        replies = list(model(server, tmp_path, concurrency=1).replies([call("a"), call("b")]))
        assert replies == [ChatResponse(reason="bad_body", detail="no choices"), said("3")]
        assert len(server.requests) == 4


def test_samples_are_asked_apart_and_variables_are_not_sent(tmp_path: Path) -> None:
    with Server(lambda body, number: says(str(number))(body, number)) as server:
        one = model(server, tmp_path, concurrency=1)
        messages = [{"role": "user", "content": "Ombrey"}]
        asked = [ChatRequest(messages, sample=sample, variables={"x": str(sample)}) for sample in (0, 1, 0)]
        assert [each.text for each in one.replies(asked)] == ["0", "1", "0"]
        assert server.bodies[0] == server.bodies[1]
        assert one.known(ChatRequest(messages, sample=2)) is None


REFUSED = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def limits(server: Server) -> list[bool]:
    return ["max_completion_tokens" in each for each in server.bodies]


def with_newer_limit(body: dict[str, Any], number: int) -> Action:
    return Action(400, {"error": {"message": REFUSED}}) if "max_tokens" in body else says(echo)(body, number)


@pytest.mark.parametrize("schema", [SCHEMA, None])
def test_the_first_calls_find_out_that_the_longest_answer_goes_by_its_newer_name(tmp_path: Path, schema: Any) -> None:
    together = threading.Barrier(8)

    def behaviour(body: dict[str, Any], number: int) -> Action:
        if number < 8:
            together.wait(20)
        return with_newer_limit(body, number)

    asked = [call(f"text {each}", schema=schema) for each in range(20)]
    expected = [said(f"text {each}", structured=schema is not None) for each in range(20)]
    with Server(behaviour) as server:
        one = model(server, tmp_path, concurrency=8)
        assert list(one.replies(asked)) == expected
        assert (limits(server).count(False), len(server.requests)) == (8, 28)
        assert {each["max_completion_tokens"] for each in server.bodies[8:]} == {512}
        assert one.body(asked[0])["max_completion_tokens"] == 512
        assert list(model(server, tmp_path).replies(asked)) == expected
        assert len(server.requests) == 28


def test_answers_under_the_older_name_are_found_again(tmp_path: Path) -> None:
    with Server(says(echo)) as server:
        first = list(model(server, tmp_path).replies(calls(3)))
        server.behaviour = with_newer_limit
        assert list(model(server, tmp_path, concurrency=1).replies([*calls(5)[3:], *calls(3)]))[2:] == first
        assert list(model(server, tmp_path).replies(calls(5)))[:3] == first
        assert (len(server.requests), limits(server)) == (6, [False] * 4 + [True] * 2)


def test_neither_a_schema_nor_the_older_name_may_be_taken(tmp_path: Path) -> None:
    def behaviour(body: dict[str, Any], number: int) -> Action:
        return error(400) if "response_format" in body else with_newer_limit(body, number)

    with Server(behaviour) as server:
        replies = list(model(server, tmp_path, concurrency=1).replies(calls(5)))
        assert replies == [said(f"text {each}") for each in range(5)]
        assert (schemas(server).count(True), limits(server).count(False)) == (1, 2)


def test_a_name_that_was_found_to_be_taken_is_used_when_the_schema_is_refused(tmp_path: Path) -> None:
    def behaviour(body: dict[str, Any], number: int) -> Action:
        refused = "max_completion_tokens" in body and "response_format" in body
        return error(400) if refused else with_newer_limit(body, number)

    with Server(behaviour) as server:
        replies = list(model(server, tmp_path, concurrency=1).replies(calls(5)))
        assert replies == [said(f"text {each}") for each in range(5)]
        assert (schemas(server).count(True), limits(server).count(False), len(server.requests)) == (2, 1, 7)


def test_a_refusal_under_both_names_teaches_nothing(tmp_path: Path) -> None:
    with Server(lambda body, number: Action(400, {"error": {"message": REFUSED}})) as server:
        one = model(server, tmp_path, concurrency=1)
        assert [each.reason for each in one.replies([call("a")])] == ["bad_request"]
        server.behaviour = says(echo)
        assert [each.text for each in one.replies([call("b")])] == ["b"]
        assert limits(server) == [False, True, False]


def test_what_is_too_long_is_sent_once(tmp_path: Path) -> None:
    refusal = {"error": {"message": "'max_tokens' or 'max_completion_tokens': the context length is 4096."}}
    with Server(lambda body, number: Action(400, refusal)) as server:
        assert [each.reason for each in model(server, tmp_path).replies(calls(1))] == ["too_long"]
        assert len(server.requests) == 1


def test_a_choice_that_is_an_error_is_not_kept(tmp_path: Path) -> None:
    def behaviour(body: dict[str, Any], number: int) -> Action:
        return Action(body=completion(body, "3", finish_reason="error" if number < 2 else "stop"))

    with Server(behaviour) as server:
        one = model(server, tmp_path)
        assert [each.reason for each in one.replies([call()])] == ["bad_body"]
        assert [each.text for each in one.replies([call()])] == ["3"]
