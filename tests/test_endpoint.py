"""Models of OpenAI-compatible endpoints, against a server on loopback."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fcconan import Endpoint, InputError
from fcconan.models import (
    Answers,
    ChatRequest,
    EndpointError,
    EndpointModel,
    Sampling,
    model_notes,
    open_model,
    plan_requests,
    read_reply,
    usage_table,
)
from tests.models.server import KEY, Action, Behaviour, Body, Server, always, error, says, use_key

SCHEMA = {"title": "grade", "type": "object", "properties": {"grade": {"type": "integer"}}}
FAILED = "requests to m without an answer: "


def call(text: str = "The Ombrey bakers?", **given: Any) -> ChatRequest:
    return ChatRequest([{"role": "user", "content": text}], **given)


def first(times: int, action: Action) -> Behaviour:
    return lambda body, number: action if number < times else says("4")(body, number)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    use_key(monkeypatch)
    monkeypatch.setattr("fcconan.models.endpoint.PAUSES", (0.01, 0.02))
    with Server(says("4")) as running:
        yield running


@pytest.fixture
def opened(server: Server, tmp_path: Path) -> Callable[..., EndpointModel]:
    def open_one(*, read: bool = True, **given: Any) -> EndpointModel:
        endpoint = Endpoint(**{"base_url": server.url, "timeout": 5.0, **given})
        return EndpointModel("m", endpoint, Answers(tmp_path / "answers.sqlite", read=read))

    return open_one


Opened = Callable[..., EndpointModel]


def test_answers_come_in_order_and_equal_requests_are_sent_once(server: Server, opened: Opened) -> None:
    server.behaviour = lambda body, number: Action(
        delay=0.05 if body["messages"][0]["content"] == "0" else 0,
        body=says(body["messages"][0]["content"])(body, number).body,
    )
    calls = [call(str(number % 5)) for number in range(10)]
    assert [each.text for each in opened().replies(calls)] == [*"0123401234"]
    assert len(server.requests) == 5 and server.requests[0][0] == "/v1/chat/completions"
    assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {KEY}"}


def test_a_request_has_the_fields_of_its_sampling(server: Server, opened: Opened) -> None:
    sampling = Sampling(temperature=None, max_tokens=9, top_p=0.5, stop=("\n",), seed=3, top_logprobs=5, top_k=40)
    list(opened().replies([call("x", sampling=sampling, schema=SCHEMA)]))
    assert server.bodies == [
        {
            "model": "m",
            "messages": [{"role": "user", "content": "x"}],
            "max_tokens": 9,
            "top_p": 0.5,
            "stop": ["\n"],
            "seed": 3,
            "logprobs": True,
            "top_logprobs": 5,
            "top_k": 40,
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": "grade",
                    "strict": True,
                    "schema": {"type": "object", "properties": {"grade": {"type": "integer"}}},
                },
            },
        }
    ]


def test_stored_answers_are_not_asked_again(server: Server, opened: Opened) -> None:
    model = opened()
    list(model.replies([call("a"), call("b")]))
    again = opened()
    assert [each.text for each in again.replies([call("a"), call("b"), call("a", sample=1)])] == ["4"] * 3
    assert len(server.requests) == 3 and again.is_known(call("b")) and not again.is_known(call("c"))
    assert usage_table([again]).to_dict("records") == [
        {
            "model": "m",
            "reported": "m-stub",
            "requests": 1,
            "stored": 2,
            "prompt_tokens": 7,
            "completion_tokens": 3,
            "cost": None,
        }
    ]
    list(opened(read=False).replies([call("a"), call("a")]))  # --no-cache asks again, once
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (error(500), "server_error"),
        (error(429), "rate_limited"),
        (error(408), "server_error"),
        (Action(body="no JSON"), "bad_body"),
        (Action(body={"choices": []}), "bad_body"),
        (Action(body={"choices": [{"finish_reason": "error", "message": {"content": "4"}}]}), "bad_body"),
        (Action(cut=True), "connection"),
        (Action(drop=True), "connection"),
        (Action(delay=0.5), "timeout"),
    ],
)
def test_passing_faults_are_tried_again_and_not_stored(
    server: Server, opened: Opened, action: Action, reason: str
) -> None:
    server.behaviour = first(2, action)
    assert [each.text for each in opened(timeout=0.3, concurrency=1).replies([call()])] == ["4"]
    assert len(server.requests) == 3  # one, and two repetitions
    server.behaviour = lambda body, number: action if body["messages"][0]["content"] == "bad" else says("4")(body, 0)
    model = opened(timeout=0.3, concurrency=1)
    found = list(model.replies([call("good"), call("bad")]))
    assert [(each.text, each.reason) for each in found] == [("4", None), (None, reason)]
    assert model_notes([model]) == (f"{FAILED}{reason} 1; the same command asks them again",)
    assert not model.is_known(call("bad"))


def test_retry_after_holds_back_all_requests(server: Server, opened: Opened) -> None:
    server.behaviour = first(1, error(429, Retry_After="0.4"))
    assert [each.text for each in opened(concurrency=1).replies([call("a"), call("b")])] == ["4", "4"]
    assert server.times[1] - server.times[0] >= 0.4
    server.behaviour = lambda body, number: (
        says("4")(body, 0) if body["messages"][0]["content"] == "c" else error(429, Retry_After="3600")
    )
    before = time.monotonic()
    found = list(opened(concurrency=1).replies([call("c"), call("d")]))
    assert found[1].reason == "rate_limited" and time.monotonic() - before < 5  # no waiting for an hour


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "unsupported parameter: response_format"),
        (400, "bad request"),
        (404, "json_schema is not available for this model"),
        (415, "unsupported"),
        (422, "{'loc': ('body', 'response_format')}"),
        (500, "1 validation error: {'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text'\"}"),
    ],
)
def test_a_refused_field_is_left_out_for_the_rest_of_the_run(
    server: Server, opened: Opened, status: int, message: str
) -> None:
    server.behaviour = lambda body, number: (
        Action(status, {"error": {"message": message}}) if "response_format" in body else says("4")(body, number)
    )
    model = opened(concurrency=1)
    assert [each.text for each in model.replies([call(text, schema=SCHEMA) for text in "abc"])] == ["4"] * 3
    assert ["response_format" in body for body in server.bodies] == [True, False, False, False]
    assert model_notes([model]) == (f"m refuses response_format, so it was left out (status {status}: {message})",)
    assert [each.text for each in opened().replies([call("a", schema=SCHEMA)])] == [
        "4"
    ]  # stored under the full request
    assert len(server.requests) == 4
    list(opened(structured_output=False).replies([call("a", schema=SCHEMA)]))
    assert "response_format" not in server.bodies[-1] and len(server.requests) == 5


def test_several_refused_fields_are_left_out_and_a_renamed_one_is_renamed(server: Server, opened: Opened) -> None:
    def refuse(body: Body, number: int) -> Action:
        for name in ("top_logprobs", "temperature", "seed"):
            if name in body:
                return Action(400, {"error": {"message": f"{name} is not supported"}})
        if "max_tokens" in body:
            return Action(400, {"error": {"message": "'max_tokens': use 'max_completion_tokens' instead."}})
        return says("4")(body, number)

    server.behaviour = refuse
    model = opened(concurrency=1)
    calls = [call(text, sampling=Sampling(max_tokens=5, top_logprobs=3)) for text in "ab"]
    assert [each.text for each in model.replies(calls)] == ["4", "4"]
    assert server.bodies[-1].keys() == {"model", "messages", "max_completion_tokens"}
    assert len(server.requests) == 6 and len(model_notes([model])) == 4


def test_a_text_that_the_endpoint_refuses_fails_alone(server: Server, opened: Opened) -> None:
    def refuse(body: Body, number: int) -> Action:
        text = body["messages"][0]["content"]
        if text == "long":
            return Action(400, {"error": {"message": "maximum context length is 4096 tokens; lower max_tokens"}})
        return Action(400, {"error": {"message": "content policy"}}) if text == "bad" else says("4")(body, number)

    server.behaviour = refuse
    found = list(opened(concurrency=1).replies([call(text) for text in ("good", "bad", "long", "good too")]))
    assert [each.reason for each in found] == [None, "bad_request", "too_long", None]
    assert found[1].detail == "status 400: content policy" and len(server.requests) == 4


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (error(401), "check the key in OPENAI_API_KEY"),
        (error(403), "check that the key in OPENAI_API_KEY may use this model"),
        (error(404), "check the address and the name of the model"),
        (Action(400, {"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}), "the name of"),
        (error(429, code="insufficient_quota"), "check the credit of the account"),
        (error(302, Location="http://127.0.0.1:9/v1"), "moved to http://127.0.0.1:9/v1"),
    ],
)
def test_what_no_request_can_pass_ends_the_run(server: Server, opened: Opened, action: Action, said: str) -> None:
    server.behaviour = always(action)
    with pytest.raises(EndpointError, match=f"{server.url} answered {action.status} .*{said}"):
        list(opened(concurrency=2).replies([call(str(number)) for number in range(50)]))
    assert len(server.requests) <= 4


def test_twenty_equal_failures_end_the_run(server: Server, opened: Opened) -> None:
    server.behaviour = always(error(503))
    with pytest.raises(EndpointError, match="answered none of 20 requests"):
        list(opened(concurrency=1).replies([call(str(number)) for number in range(50)]))
    assert len(server.requests) <= 3 * 29
    server.requests.clear()
    server.behaviour = lambda body, number: says("4")(body, 0) if number % 50 == 0 else error(400)
    found = list(opened(concurrency=1).replies([call(f"x{number}") for number in range(30)]))  # texts that are refused
    assert [each.reason for each in found] == [None, *["bad_request"] * 29]
    server.requests.clear()
    server.behaviour = lambda body, number: says("4")(body, 0) if number == 0 else error(503)  # goes down
    with pytest.raises(EndpointError, match=r"answered none of 20 requests .* answers so far are stored"):
        list(opened(concurrency=1).replies([call(f"y{number}") for number in range(50)]))


def test_an_endpoint_that_is_not_there_ends_the_run(opened: Opened) -> None:
    with pytest.raises(EndpointError, match="check its address, the model and whether the server runs"):
        list(opened(base_url="http://127.0.0.1:9/v1").replies([call()]))


def test_never_more_requests_are_in_flight_than_allowed(server: Server, opened: Opened) -> None:
    server.behaviour = lambda body, number: Action(delay=0.02, body=says("4")(body, 0).body)
    read: list[int] = []

    def calls() -> Iterator[ChatRequest]:
        for number in range(60):
            read.append(number)
            yield call(str(number))

    replies = opened(concurrency=3).replies(calls())
    next(replies)
    assert len(read) <= 8 * 3 + 2  # requests are prepared as they are needed
    assert len(list(replies)) == 59 and server.busiest == 3


def test_a_run_that_ends_early_stores_what_was_paid_for(server: Server, opened: Opened) -> None:
    server.behaviour = lambda body, number: Action(delay=0.05, body=says("4")(body, 0).body)
    model = opened(concurrency=4)
    replies: Any = model.replies([call(str(number)) for number in range(40)])
    next(replies)
    replies.close()
    sent = len(server.requests)
    assert sent < 40 and sum(model.is_known(call(str(number))) for number in range(40)) == sent


def test_a_large_body_of_backslashes_holds_up_no_other_answer(server: Server, opened: Opened) -> None:
    server.behaviour = lambda body, number: (
        error(400, code="\\" * 40_000)
        if body["messages"][0]["content"] == "bad"
        else says("4" + "\\" * 40_000)(body, 0)
    )
    before = time.monotonic()
    found = list(opened().replies([call("good"), call("bad"), call("good too")]))
    assert found[0].text == "4" + "\\" * 40_000 and found[1].reason == "bad_request"
    assert time.monotonic() - before < 2


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_repeats_only_requests_in_flight(server: Server, tmp_path: Path, number: signal.Signals) -> None:
    server.behaviour = lambda body, number: Action(delay=0.05, body=says("4")(body, 0).body)
    code = (
        "from fcconan import Endpoint; from fcconan.models import ChatRequest, open_model\n"
        f"model = open_model('m', Endpoint(base_url={server.url!r}, concurrency=8))\n"
        "calls = [ChatRequest([{'role': 'user', 'content': str(n)}]) for n in range(120)]\n"
        "print([each.text for each in model.replies(calls)].count('4'))"
    )
    run: Any = {"env": {**os.environ, "FCCONAN_CACHE": str(tmp_path)}, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, **run) as killed:
        while len(server.requests) < 40:
            time.sleep(0.01)
        killed.send_signal(number)
    done = subprocess.run([sys.executable, "-c", code], check=True, **run)
    assert done.stdout == "120\n" and 120 <= len(server.requests) <= 128


def test_two_processes_share_a_store(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from fcconan.models import Answers\n"
        "answers = Answers(Path(sys.argv[1]))\n"
        "for n in range(200): answers.put({'n': n}, {'said': n})"
    )
    path = tmp_path / "answers.sqlite"
    both = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    answers = Answers(path)
    assert [answers.get({"n": n}) for n in (0, 199, 200)] == [{"said": 0}, {"said": 199}, None]


def test_threads_share_a_store_and_odd_texts_come_back(tmp_path: Path) -> None:
    answers = Answers(tmp_path / "new folder" / "answers.sqlite")
    odd = {"text": "a lone \ud800 and \N{SNOWMAN}"}
    threads = [threading.Thread(target=answers.put, args=({"n": n, **odd}, odd)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [answers.get({**odd, "n": n}) for n in range(8)] == [odd] * 8  # whatever the order of the keys
    (tmp_path / "text").write_text("no table")
    with pytest.raises(InputError, match="cannot be used as the store of answers"):
        Answers(tmp_path / "text")


def test_a_run_stops_after_the_request_that_passes_the_limit_of_cost(
    server: Server, opened: Opened, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input: 100, output: 1000}")
    model = opened(concurrency=1, prices=prices, max_cost=0.01)
    # A request has 7 prompt tokens and 3 of the answer: (7 x 100 + 3 x 1000) / 1e6 = 0.0037; three of them pass 0.01.
    with pytest.raises(EndpointError, match=r"0\.0111 of 0\.01 is spent, and all answers are stored"):
        list(model.replies([call(str(number)) for number in range(9)]))
    assert len(server.requests) == 3 and model.cost() == pytest.approx(0.0111)
    prices.write_text("other: {input: 1}")
    with pytest.raises(InputError, match="has None for m, expected"):
        opened(prices=prices)
    with pytest.raises(InputError, match="--max-cost needs --prices"):
        opened(max_cost=1)


def test_a_dry_run_counts_requests_and_shows_the_first_prompt(server: Server, opened: Opened, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input: 1000, output: 2000}")
    list(opened().replies([call("known")]))
    calls = [call("known"), call("abcdefgh", sampling=Sampling(max_tokens=10)), call("abcde")]
    found = plan_requests((opened(prices=prices), calls))
    # 13 bytes are 4 tokens (4 bytes a token, rounded up); answers have at most 10 + 512.
    assert found["requests"].to_dict("records") == [
        {
            "model": "m",
            "requests": 3,
            "stored": 1,
            "prompt_tokens": 4,
            "completion_tokens_at_most": 522,
            "cost_at_most": pytest.approx((4 * 1000 + 522 * 2000) / 1e6),
        }
    ]
    assert found["messages"].to_dict("records") == [{"role": "user", "content": "known"}]
    assert len(server.requests) == 1


def test_the_address_and_its_login_come_from_the_environment(
    server: Server, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = server.url.replace("//", "//quill:a-password-of-ours@")
    monkeypatch.setenv("OPENAI_BASE_URL", login)
    server.authorization = "Basic cXVpbGw6YS1wYXNzd29yZC1vZi1vdXJz"  # base64 of quill:a-password-of-ours
    model = opened(base_url=None)
    assert [each.text for each in model.replies([call()])] == ["4"]
    assert model.identity == {"endpoint": server.url, "model": "m"}
    server.authorization = f"Bearer {KEY}"
    server.behaviour = always(Action(401, {"error": {"message": f"the key {KEY} is not valid"}}))
    with pytest.raises(EndpointError, match=r"the key \*\*\* is not valid") as raised:
        list(opened(base_url=server.url).replies([call("b")]))
    assert KEY not in str(raised.value)


def test_a_missing_key_or_extra_is_one_line(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with pytest.raises(InputError, match="set OPENAI_API_KEY, or give --base-url"):
        list(opened(base_url=None).replies([call()]))
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError, match=r"pip install -e '.\[llm\]'"):
        list(opened().replies([call()]))
    for name in ("", "local:", "replay:", "learned:rater"):
        with pytest.raises(InputError, match="expected"):
            open_model(name, Endpoint())


@pytest.mark.parametrize(
    ("message", "choice", "text", "reason"),
    [
        ({"content": "4"}, {"finish_reason": "stop"}, "4", None),
        ({"content": [{"type": "reasoning", "text": "5"}, {"type": "text", "text": "4"}]}, {}, "4", None),
        ({"content": "\nyes\nno"}, {}, "\nyes", None),  # up to the stop string, after white space
        ({"content": "4"}, {"finish_reason": "length"}, None, "truncated"),
        ({"content": "4"}, {"finish_reason": "content_filter"}, None, "filtered"),
        ({"content": "4", "refusal": "I will not."}, {}, None, "refused"),
        ({"content": " \n"}, {}, None, "empty"),
        ({"content": None}, {}, None, "empty"),
        ({"content": "a\ud800"}, {}, "a\N{REPLACEMENT CHARACTER}", None),
    ],
)
def test_an_answer_or_its_reason(message: Body, choice: Body, text: str | None, reason: str | None) -> None:
    found = read_reply({"choices": [{"message": message, **choice}]}, ("\n",))
    assert (found.text, found.reason, found.cut) == (text, reason, "4" if reason == "truncated" else None)


def test_log_probabilities_of_an_answer() -> None:
    entry = {
        "token": "4",
        "logprob": -0.5,
        "top_logprobs": [{"token": "4", "logprob": -0.5}, {"token": "3", "logprob": None}],
    }
    body = {"choices": [{"message": {"content": "4"}, "logprobs": {"content": [entry]}}], "usage": {"prompt_tokens": 2}}
    found = read_reply(body)
    assert found.logprobs == (("4", {"4": -0.5}),) and (found.prompt_tokens, found.completion_tokens) == (2, None)


def test_an_answer_that_goes_on_after_a_stop_string_is_not_truncated() -> None:
    body = {"choices": [{"message": {"content": "8 3\nReply 1 is"}, "finish_reason": "length"}]}
    assert read_reply(body, ("\n",)).text == "8 3" and read_reply(body).reason == "truncated"


def test_a_passing_fault_drops_no_field(server: Server, opened: Opened) -> None:
    server.behaviour = first(1, Action(500, {"error": {"message": "engine stopped unexpectedly, restarting seed"}}))
    model = opened(concurrency=1)
    assert [each.text for each in model.replies([call(sampling=Sampling(stop=("\n",)))])] == ["4"]
    assert [{"stop", "seed"} <= body.keys() for body in server.bodies] == [True, True] and model_notes([model]) == ()


def test_a_limit_of_cost_needs_counts_of_tokens(server: Server, opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("m: {input: 1, output: 1}")
    server.behaviour = always(Action(body={"choices": [{"message": {"content": "4"}}]}))
    with pytest.raises(EndpointError, match="counts no tokens, which --max-cost needs"):
        list(opened(concurrency=1, prices=tmp_path / "prices.yaml", max_cost=1).replies([call()]))
