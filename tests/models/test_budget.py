import json
import threading
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.budget import (
    TOKENS_A_MESSAGE,
    Budget,
    CostLimit,
    CostLimitError,
    Price,
    Usage,
    estimated_tokens,
    load_price,
    longest_prompt,
    token_bounds,
)
from fcconan.models.client import Client
from fcconan.models.dry_run import DryRun
from fcconan.models.endpoint import EndpointModel
from fcconan.models.replay import ReplayModel
from fcconan.models.requests import ChatRequest, Sampling
from fcconan.services import Connection, Endpoint
from tests.models.server import Action, Behaviour, Server, always, error, says, use_key

CHAT = "/chat/completions"
ONE = Price(1_000_000, 1_000_000)  # one for every token
# 4 bytes, 16 for the message, 16 for the whole, and 20 tokens of an answer; the stub's answers cost 7 + 3.
BOUND, COST = 56, 10


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)


def body(number: int) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 20, "messages": [{"role": "user", "content": f"{number:04d}"}]}


class Watched(CostLimit):
    """Notes how much was spent and set aside, at most."""

    most = 0.0

    def reserve(self, amount: float) -> bool:
        done = super().reserve(amount)
        self.most = max(self.most, self.spent + self.reserved)
        return done


def client(server: Server, folder: Path, limit: CostLimit, **options: Any) -> Client:
    settings: dict[str, Any] = {"timeout": 5, "retries": 2, "backoff": 0.01, **options}
    return Client(journal=folder / "journal.jsonl", base_url=server.url, budget=Budget(limit, ONE), **settings)


def connection_of(folder: Path, **options: Any) -> Connection:
    return Connection(Endpoint(response_cache=folder / "j.jsonl", **options))


def prices(folder: Path, text: str) -> Path:
    path = folder / "prices.yaml"
    path.write_text(text)
    return path


def test_a_price_is_for_a_million_tokens(tmp_path: Path) -> None:
    path = prices(tmp_path, "m: {input: 2.5, output: 10}\nfree: {input: 0, output: 0}\n")
    assert load_price(path, "m").cost(200_000, 30_000) == 0.5 + 0.3
    assert load_price(path, "free").cost(10**9, 10**9) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("other: {input: 1, output: 1}", r"has no price for m: add `m: \{input: ..., output: ...\}`"),
        ("a: 1\nm: 3", r"line 2: the price of m is 3, expected"),
        ("m: {input: 1}", "line 1: the price of m is .* expected"),
        ("m: {input: 1, output: -1}", "expected .* with numbers from 0"),
        ("m: {input: .inf, output: 1}", "expected .* with numbers from 0"),
        ("m: {input: .nan, output: 1}", "expected .* with numbers from 0"),
        ("m: {input: true, output: 1}", "expected .* with numbers from 0"),
        ("m: {input: '1', output: 1}", "expected .* with numbers from 0"),
    ],
)
def test_a_price_that_is_missing_or_odd_is_bad_input(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_price(prices(tmp_path, text), "m")
    assert "\n" not in str(caught.value)


def test_estimates_and_bounds_count_bytes() -> None:
    messages = [{"role": "system", "content": "abcde"}, {"role": "user", "content": "éé"}]  # 5 and 4 bytes
    assert estimated_tokens(each["content"] for each in messages) == 2 + 1
    assert token_bounds({"messages": messages, "max_tokens": 7}) == (5 + 16 + 4 + 16 + 16, 7)
    assert token_bounds({"messages": messages, "max_completion_tokens": 9, "n": 3}) == (57, 27)
    schema = {"type": "json_schema"}  # 23 characters
    assert token_bounds({"messages": messages, "max_tokens": 7, "response_format": schema}) == (57 + 23, 7)
    with pytest.raises(InputError, match="a limit of cost needs a limit of the answers"):
        token_bounds({"messages": messages})


def test_a_budget_waits_for_calls_in_flight_and_then_refuses() -> None:
    limit = CostLimit(100)
    budget = Budget(limit, ONE)
    assert [budget.reserve(50), budget.reserve(50), budget.reserve(1)] == [True, True, False]
    budget.commit(50, {"prompt_tokens": 7, "completion_tokens": 3})
    assert (limit.spent, limit.reserved, budget.reserve(41), budget.reserve(40)) == (10, 50, False, True)
    budget.commit(50, None)
    budget.commit(40, None, is_charged=False)
    assert (limit.spent, limit.reserved) == (60, 0)
    with pytest.raises(CostLimitError, match=r"60.0000 of 100 is spent, and the next request may cost 41.0000"):
        budget.reserve(41)
    assert budget.reserve(40)


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"prompt_tokens": 7},
        {"prompt_tokens": True, "completion_tokens": 3},
        {"prompt_tokens": -1, "completion_tokens": 3},
    ],
)
def test_a_call_whose_tokens_are_unknown_costs_what_was_reserved(usage: dict[str, Any]) -> None:
    limit = CostLimit(100)
    budget = Budget(limit, ONE)
    budget.reserve(50)
    budget.commit(50, usage)
    assert limit.spent == 50


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_limit_is_kept_and_a_second_run_sends_only_the_rest(tmp_path: Path, concurrency: int) -> None:
    bodies = [body(number) for number in range(20)]
    # Five calls cost 50, and a sixth may cost 56: with 105 it may not begin.
    limit = Watched(4 * COST + BOUND + COST - 1)
    with Server(says("3")) as server:
        with pytest.raises(CostLimitError, match="raise --max-cost and run again to continue") as caught:
            client(server, tmp_path, limit, concurrency=concurrency).send_all(CHAT, bodies)
        assert "50.0000 of 105 is spent, and the next request may cost 56.0000" in str(caught.value)
        assert (limit.spent, limit.reserved, len(server.requests)) == (50, 0, 5)
        assert limit.most <= 105
        more = Watched(14 * COST + BOUND)
        answers = client(server, tmp_path, more, concurrency=concurrency).send_all(CHAT, bodies)
        assert [each.reason for each in answers] == [None] * 20
        assert (more.spent, more.most <= 196, len(server.requests)) == (150, True, 20)
        assert len({json.dumps(each) for each in server.bodies}) == 20
        nothing = Watched(0)
        assert client(server, tmp_path, nothing).send_all(CHAT, bodies) == answers
        with pytest.raises(CostLimitError, match=r"0.0000 of 0 is spent, and the next request may cost 56.0000"):
            client(server, tmp_path, nothing).send_all(CHAT, [body(99)])
        assert len(server.requests) == 20


@pytest.mark.parametrize(
    ("action", "charged"),
    [
        (error(500), 1),
        (Action(body="no JSON"), 1),
        (Action(cut=True), 1),
        (Action(drop=True), 1),
        (Action(reset=True), 1),
        (Action(delay=10), 1),
        (error(429), 0),
        (error(400), 0),
    ],
)
def test_what_may_have_been_charged_counts(tmp_path: Path, action: Action, charged: int) -> None:
    limit = Watched(1000)

    def behaviour(sent: dict[str, Any], number: int) -> Action:
        return action if number == 0 else says("3")(sent, number)

    with Server(behaviour) as server:
        (answer,) = client(server, tmp_path, limit, timeout=0.5).send_all(CHAT, [body(1)])
    refused = action.status == 400
    assert (answer.reason, limit.reserved) == ("bad_request" if refused else None, 0)
    assert limit.spent == charged * BOUND + (0 if refused else COST)


def test_nobody_listening_charges_nothing(tmp_path: Path) -> None:
    limit = Watched(1000)
    with Server() as server:
        pass
    (answer,) = client(server, tmp_path, limit, retries=1).send_all(CHAT, [body(1)])
    assert (answer.reason, limit.spent, limit.reserved) == ("connection", 0, 0)


def test_under_faults_and_concurrency_the_limit_is_never_passed(tmp_path: Path) -> None:
    def behaviour(sent: dict[str, Any], number: int) -> Action:
        faults: list[Behaviour] = [says("3"), always(error(500)), says("3"), always(Action(drop=True)), says("3")]
        return faults[number % 5](sent, number)

    limit = Watched(1000)
    with Server(behaviour) as server:
        with pytest.raises(CostLimitError):
            client(server, tmp_path, limit, concurrency=8, retries=9).send_all(CHAT, [body(n) for n in range(200)])
        good = sum(number % 5 in (0, 2, 4) for number in range(len(server.requests)))
        assert limit.spent == good * COST + (len(server.requests) - good) * BOUND
    assert 1000 - BOUND < limit.spent <= limit.most <= 1000


def test_a_missing_price_fails_before_the_first_call(tmp_path: Path) -> None:
    path = prices(tmp_path, "other: {input: 1, output: 1}")
    with Server(says("3")) as server:
        with pytest.raises(InputError, match="has no price for m"):
            connection_of(tmp_path, base_url=server.url, prices=path, max_cost=1.0).open("m")
        with pytest.raises(InputError, match=r"--max-cost needs --prices FILE"):
            connection_of(tmp_path, base_url=server.url, max_cost=1.0).open("m")
        assert server.requests == []


def test_all_models_of_a_run_have_one_limit(tmp_path: Path) -> None:
    path = prices(tmp_path, "m: {input: 1000000, output: 1000000}\ndear: {input: 2000000, output: 2000000}")
    call = ChatRequest([{"role": "user", "content": "0001"}], Sampling(max_tokens=20))
    with Server(says("3")) as server:
        connection = connection_of(tmp_path, base_url=server.url, prices=path, max_cost=121.0)
        one, two = connection.open("m"), connection.open("dear")
        assert [each.text for each in one.replies([call])] == ["3"]
        with pytest.raises(CostLimitError, match=r"10.0000 of 121 is spent, and the next request may cost 112.0000"):
            list(two.replies([call]))
        assert len(server.requests) == 1
        more = connection_of(tmp_path, base_url=server.url, prices=path, max_cost=122.0)
        assert [each.text for name in ("m", "dear") for each in more.open(name).replies([call])] == ["3", "3"]
        assert more.cost_limit is not None
        assert (more.cost_limit.spent, len(server.requests)) == (20, 2)


def test_models_that_run_side_by_side_wait_for_each_other(tmp_path: Path) -> None:
    limit = Watched(BOUND + 11 * COST)

    def ask(names: range) -> None:
        results.append(client(server, tmp_path, limit).send_all(CHAT, [body(number) for number in names]))

    results: list[Any] = []
    with Server(says("3")) as server:
        both = [threading.Thread(target=ask, args=(names,)) for names in (range(6), range(6, 12))]
        for each in both:
            each.start()
        for each in both:
            each.join(30)
        assert (len(results), len(server.requests), limit.spent) == (2, 12, 120)
    assert limit.most <= limit.limit


SCHEMA = {"title": "rating", "type": "object"}


def calls() -> list[ChatRequest]:
    sampling = Sampling(max_tokens=20)
    messages = [{"role": "user", "content": "0123456789"}]
    return [
        ChatRequest(messages, sampling),
        ChatRequest(messages, sampling, SCHEMA),
        ChatRequest(messages, sampling, sample=1),
    ]


def test_a_rehearsal_counts_what_would_be_sent_and_sends_nothing(tmp_path: Path) -> None:
    path = prices(tmp_path, "m: {input: 1000000, output: 2000000}")
    with Server(says("3")) as server:
        model = connection_of(tmp_path, base_url=server.url, prices=path).open("m")
        rehearsal = DryRun(model)
        assert [each.reason for each in rehearsal.replies(calls())] == ["not_recorded"] * 3
        assert server.requests == []
        # 10 bytes are about 3 tokens, and at most 10 + 16 + 16; the schema is wrapped in a response_format.
        wrapped = (
            "{'type': 'json_schema', 'json_schema': {'name': 'rating', 'strict': True, 'schema': {'type': 'object'}}}"
        )
        expected = {
            "model": "m",
            "calls": 3,
            "answered_already": 0,
            "to_send": 3,
            "prompt_tokens_about": 9,
            "completion_tokens_at_most": 60,
        }
        assert rehearsal.summary(None) == expected
        most = 3 * 42 + len(wrapped) + 120.0
        assert rehearsal.summary(path) == {**expected, "cost_about": 129.0, "cost_at_most": most}
        list(model.replies(calls()[1:2]))
        again = DryRun(model)
        list(again.replies(calls()))
        found = again.summary(None)
        assert [found["calls"], found["answered_already"], found["to_send"], len(server.requests)] == [3, 1, 2, 1]
        assert again.summary(path)["cost_at_most"] == 2 * 42 + 80.0
        # It is a bound indeed: the client sets no more aside.
        assert isinstance(model, EndpointModel)
        assert sum(Budget(CostLimit(0), load_price(path, "m")).bound(model.body(call)) for call in calls()) == most


def test_the_cost_of_answers_of_any_length_is_unknown(tmp_path: Path) -> None:
    path = prices(tmp_path, "m: {input: 1, output: 2}")
    rehearsal = DryRun(connection_of(tmp_path, base_url="http://127.0.0.1:9/v1").open("m"))
    list(rehearsal.replies([ChatRequest([], Sampling(max_tokens=None)), ChatRequest([], Sampling(max_tokens=5))]))
    found = rehearsal.summary(path)
    assert [found[name] for name in ("completion_tokens_at_most", "cost_about", "cost_at_most")] == [None, None, None]


def test_recorded_answers_cost_nothing(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text('{"hate_speech": "a", "output": "3"}\n')
    rehearsal = DryRun(ReplayModel(recorded))
    list(rehearsal.replies([ChatRequest([{"role": "user", "content": "abcd"}], Sampling(max_tokens=5))]))
    found = rehearsal.summary(prices(tmp_path, "m: {input: 1, output: 1}"))
    assert (found["prompt_tokens_about"], found["cost_about"], found["cost_at_most"]) == (1, 0, 0)


@pytest.mark.parametrize("name", ["", " ", "replay:", "local:"])
def test_a_name_without_a_model_is_bad_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"{name!r} names no model: give a name at the endpoint, local:"):
        connection_of(tmp_path).open(name)


def test_names_with_a_colon_are_names_at_the_endpoint(tmp_path: Path) -> None:
    model = connection_of(tmp_path, base_url="http://127.0.0.1:9/v1").open("ombrey:8b")
    assert model.configuration == {"endpoint": "http://127.0.0.1:9/v1", "model": "ombrey:8b", "structured": True}


def test_repetitions_keep_within_the_limit(tmp_path: Path) -> None:
    limit = Watched(2 * BOUND + COST - 1)
    with Server(lambda sent, number: error(503) if number < 3 else says("3")(sent, number)) as server:
        with pytest.raises(CostLimitError, match=r"112.0000 of 121 is spent"):
            client(server, tmp_path, limit, retries=5).send_all(CHAT, [body(1)])
        assert len(server.requests) == 2


def test_without_a_limit_use_and_cost_are_counted() -> None:
    budget = Budget(None, ONE)
    assert (budget.bound({"messages": []}), budget.reserve(0.0)) == (0.0, True)
    budget.commit(0.0, {"prompt_tokens": 3, "completion_tokens": 2})
    budget.commit(0.0, {"prompt_tokens": 3})
    budget.commit(0.0, None, is_charged=False)
    assert (budget.used, budget.cost) == (Usage(3, 3, 2, 1), ONE.cost(3, 2))
    unknown = Budget(None, None)
    unknown.commit(0.0, {"prompt_tokens": 3, "completion_tokens": 2})
    assert (unknown.used, unknown.cost) == (Usage(1, 3, 2, 0), None)
    with pytest.raises(InputError, match="needs the price"):
        Budget(CostLimit(1.0), None)


def test_half_characters_are_counted() -> None:
    messages = [{"role": "user", "content": "\ud800" * 4}]
    assert estimated_tokens(each["content"] for each in messages) == 3  # of three bytes each
    assert longest_prompt({"messages": messages}) == 12 + 2 * TOKENS_A_MESSAGE


def test_embeddings_cost_their_prompts_and_have_no_response_tokens(tmp_path: Path) -> None:
    # 3 + 5 bytes, 16 for each text and 16 for the whole: 56 at most; the endpoint counts 2.
    request = {"model": "e", "input": ["abc", "abcde"]}
    assert token_bounds(request) == (56, 0)
    answer = {"object": "list", "data": [], "model": "e", "usage": {"prompt_tokens": 2, "total_tokens": 2}}
    with Server(always(Action(body=answer))) as server:
        limit = CostLimit(56)
        asking = client(server, tmp_path, limit)
        asking.send_all("/embeddings", [request])
    assert limit.spent == 2
    assert asking.budget is not None
    assert asking.budget.used == Usage(requests=1, prompt_tokens=2)
