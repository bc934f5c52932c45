import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from fcconan.models.client import Client, EndpointError
from fcconan.models.requests import ChatResponse, FailureReason
from fcconan.retrieval.chat import ADVICE, LISTWISE, ZERO_SHOT, Chat, parse_object, parse_ranking
from fcconan.retrieval.systems import Retriever, rank_all
from fcconan.retrieval.zero_shot import ZeroShot
from tests.models.server import (
    Action,
    Body,
    Server,
    always,
    completion,
    content,
    error,
    first,
    overlap,
    says,
    use_key,
    without_schema,
)

QUERIES = {"q1": "all Ombrey bakers cheat", "q2": "Tessok songs are noise", "q3": "the Velmari take all water"}
CORPUS = {
    "cn-a": "the Velmari share their water with all who ask",
    "cn-b": "Ombrey bakers do not cheat",
    "cn-c": "Tessok songs are old and loved",
    "cn-d": "nothing to see",
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    use_key(monkeypatch)
    with Server() as running:
        yield running


def system(server: Server, folder: Path, concurrency: int = 4, **options: Any) -> ZeroShot:
    client = Client(
        journal=folder / "journal.jsonl",
        base_url=server.url,
        retries=1,
        backoff=0.01,
        timeout=5,
        concurrency=concurrency,
    )
    return ZeroShot("gpt-4o", Chat(client, **options), n=3)


def calls(**counts: int) -> dict[str, int]:
    names = ("ok", "wrong_format", "repeated", "missing", "unknown", "no_answer")
    return {**dict.fromkeys(names, 0), **counts}


def test_the_model_names_the_cns_of_every_query(server: Server, tmp_path: Path) -> None:
    found = rank_all(system(server, tmp_path), QUERIES, CORPUS, 10)
    # Words shared: q1 b 3, a 1 (all), c and d 0; q2 c 3, others 0; q3 a 4, others 0. Equal ones in catalogue order.
    assert found == {
        "q1": [("cn-b", 3.0), ("cn-a", 2.0), ("cn-c", 1.0)],
        "q2": [("cn-c", 3.0), ("cn-a", 2.0), ("cn-b", 1.0)],
        "q3": [("cn-a", 3.0), ("cn-b", 2.0), ("cn-c", 1.0)],
    }
    assert found.failures == {}
    assert found.diagnostics == {
        "calls": calls(ok=3),
        "failed_calls": {},
        "plain_text": 0,
        "tokens": {"prompt_tokens": 21, "completion_tokens": 9},
    }
    assert found.resolved == {"answered_by": ["gpt-4o-2024-08-06-stub"]}


def test_what_is_sent(server: Server, tmp_path: Path) -> None:
    system(server, tmp_path).rank({"q1": '{braces} "quotes" {{x}}'}, {"cn-a": "$text"}, 10)
    (body,) = server.bodies
    assert content(body) == {
        "catalogue": [{"id": "c1", "text": "$text"}],
        "wanted": 1,
        "message": '{braces} "quotes" {{x}}',
    }
    assert (body["model"], body["temperature"], body["seed"]) == ("gpt-4o-2024-08-06", 0.0, 0)
    assert body["response_format"]["json_schema"]["strict"] is True
    assert "cn-a" not in json.dumps(body)


def test_sampling_that_a_model_does_not_take_is_left_out(server: Server, tmp_path: Path) -> None:
    system(server, tmp_path, temperature=None, seed=None).rank({"q1": "x"}, CORPUS, 10)
    assert {"temperature", "seed"} & server.bodies[0].keys() == set()


def test_k_cuts_and_a_second_run_sends_nothing(server: Server, tmp_path: Path) -> None:
    one = system(server, tmp_path).rank(QUERIES, CORPUS, 10)
    two = system(server, tmp_path).rank(QUERIES, CORPUS, 1)
    assert ({key: ranking[:1] for key, ranking in one.items()}, 3) == (two, len(server.requests))


@pytest.mark.parametrize(
    ("text", "ranking", "statuses"),
    [
        ('{"ranking": ["c2", "c2", "c1", "c3"]}', ["cn-b", "cn-a", "cn-c"], calls(repeated=1)),
        ('{"ranking": ["c2", "c9", "c1", "c3"]}', ["cn-b", "cn-a", "cn-c"], calls(unknown=1)),
        ('{"ranking": ["c2"]}', ["cn-b"], calls(missing=1)),
        ('{"ranking": ["c2", "c2", "x"]}', ["cn-b"], calls(missing=1, repeated=1, unknown=1)),
        ('{"ranking": ["c4", "c3", "c2", "c1"]}', ["cn-d", "cn-c", "cn-b"], calls(ok=1)),
        ('```json\n{"ranking": ["c1", "c2", "c3"]}\n```', ["cn-a", "cn-b", "cn-c"], calls(ok=1)),
    ],
)
def test_faulty_lists_are_counted_and_their_known_ids_used(
    server: Server, tmp_path: Path, text: str, ranking: list[str], statuses: dict[str, int]
) -> None:
    server.behaviour = says(text)
    found = system(server, tmp_path).rank({"q1": "x"}, CORPUS, 10)
    assert found == {"q1": [(key, 3.0 - rank) for rank, key in enumerate(ranking)]}
    assert found.diagnostics["calls"] == statuses


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The best ones are c1, c2 and c3.", "wrong_format"),
        ('Here you are: {"ranking": ["c1", "c2", "c3"]}', "wrong_format"),
        ('{"ranking": ["c1", "c2", "c3"]} c4', "wrong_format"),
        ('{"ranking": ["c1", "c2"', "wrong_format"),
        ('{"ranking": ["c1"], "ranking": ["c2"]}', "wrong_format"),
        ('{"ranking": [1, 2, 3]}', "wrong_format"),
        ('{"ranking": "c1"}', "wrong_format"),
        ('{"ids": ["c1"]}', "wrong_format"),
        ('["c1", "c2", "c3"]', "wrong_format"),
        ("[" * 100_000, "wrong_format"),
        ('{"ranking": ["cn-a", "c5"]}', "no_known_id"),
        ('{"ranking": []}', "no_known_id"),
        (" ", "empty"),
    ],
)
def test_an_answer_without_a_ranking_is_a_failure(server: Server, tmp_path: Path, text: str, reason: str) -> None:
    server.behaviour = says(text)
    found = system(server, tmp_path).rank({"q1": "x"}, CORPUS, 10)
    assert (dict(found), found.failures) == ({}, {"q1": reason})
    assert found.diagnostics["failed_calls"] == {reason: 1}


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"finish_reason": "length"}, "truncated"),
        ({"finish_reason": "content_filter"}, "filtered"),
        ({"refusal": "I will not"}, "refused"),
    ],
)
def test_a_model_that_did_not_finish_is_a_failure(
    server: Server, tmp_path: Path, choice: dict[str, str], reason: str
) -> None:
    server.behaviour = says('{"ranking": ["c1", "c2", "c3"]}', **choice)
    found = system(server, tmp_path).rank({"q1": "x"}, CORPUS, 10)
    assert (dict(found), found.failures, found.diagnostics["calls"]) == ({}, {"q1": reason}, calls(no_answer=1))


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (error(429), "rate_limited"),
        (error(500), "server_error"),
        (error(400), "bad_request"),
        (Action(cut=True), "connection"),
        (Action(body={"choices": []}), "bad_body"),
        (Action(body={"choices": [{"message": {"content": 7}}]}), "bad_body"),
    ],
)
def test_one_query_that_fails_leaves_the_others_alone(
    server: Server, tmp_path: Path, action: Action, reason: str
) -> None:
    server.behaviour = lambda body, number: action if "Tessok songs are noise" in str(body) else Action()
    found = system(server, tmp_path).rank(QUERIES, CORPUS, 10)
    assert (list(found), found.failures) == (["q1", "q3"], {"q2": reason})
    assert found.diagnostics["calls"] == calls(ok=2, no_answer=1)


def test_a_failure_says_who_failed_and_what_may_be_done(server: Server, tmp_path: Path) -> None:
    def behaviour(body: Body, number: int) -> Action:
        broken = error(429) if "Tessok songs are noise" in str(body) else Action()
        return says("I like them all.")(body, number) if "bakers cheat" in str(body["messages"][-1]) else broken

    server.behaviour = behaviour
    found = rank_all(system(server, tmp_path), {**QUERIES, "q1": "all bakers cheat"}, CORPUS, 10)
    assert found.failures == {"q1": "wrong_format", "q2": "rate_limited"}
    model = f"gpt-4o-2024-08-06 at {server.url}"
    assert found.explained["q1"] == (
        f"{model} (wrong_format): the response is not the requested JSON object; use a model that follows the format"
    )
    assert found.explained["q2"].startswith(f"{model} (rate_limited: Error code: 429 - ")
    assert found.explained["q2"].endswith("): wait, or lower --concurrency, and run again: stored responses are reused")


def test_every_reason_has_its_advice() -> None:
    assert set(ADVICE) == {*get_args(FailureReason), "wrong_format", "no_known_id"}
    assert all(advice and "\n" not in advice for advice in ADVICE.values())


def test_no_key_stops_the_system_and_is_none_needed_for_what_is_kept(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = system(server, tmp_path).rank(QUERIES, CORPUS, 10)
    monkeypatch.delenv("OPENAI_API_KEY")
    assert system(server, tmp_path).rank(QUERIES, CORPUS, 10) == before
    with pytest.raises(EndpointError, match=r"^no key for http://127.0.0.1:\d+/v1: set OPENAI_API_KEY"):
        system(server, tmp_path).rank({"q4": "another"}, CORPUS, 10)


def test_a_bad_key_stops_the_system(server: Server, tmp_path: Path) -> None:
    server.behaviour = always(error(401))
    with pytest.raises(EndpointError, match="answered 401"):
        rank_all(system(server, tmp_path, 1), QUERIES, CORPUS, 10)
    assert len(server.requests) == 1


def test_an_endpoint_without_schemas_is_asked_in_plain_text(server: Server, tmp_path: Path) -> None:
    expected = system(server, tmp_path / "with").rank(QUERIES, CORPUS, 10)
    server.behaviour, server.requests[:] = without_schema, []
    found = system(server, tmp_path / "without", 1).rank(QUERIES, CORPUS, 10)
    assert (found, found.diagnostics["plain_text"]) == (expected, 3)
    assert ["response_format" in body for body in server.bodies] == [True, False, False, False]


def test_what_was_answered_in_plain_text_is_not_asked_again(server: Server, tmp_path: Path) -> None:
    server.behaviour = without_schema
    two = {query: QUERIES[query] for query in ("q1", "q3")}
    system(server, tmp_path).rank(two, CORPUS, 10)
    server.requests.clear()
    resumed = system(server, tmp_path).rank(QUERIES, CORPUS, 10)
    assert ["Tessok songs are noise" in str(body) for body in server.bodies] == [True, True]
    server.behaviour = always(error(500))
    again = system(server, tmp_path).rank(QUERIES, CORPUS, 10)
    assert (again, again.failures, again.diagnostics) == (resumed, {}, resumed.diagnostics)
    assert (len(server.requests), again.diagnostics["plain_text"], len(again)) == (2, 3, 3)


def test_a_fault_that_passes_does_no_harm(server: Server, tmp_path: Path) -> None:
    server.behaviour = first(1, error(500))
    found = system(server, tmp_path).rank(QUERIES, CORPUS, 10)
    assert (len(found), found.failures) == (3, {})


def test_the_configuration_names_all_that_changes_the_output(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    one = system(server, tmp_path)
    assert one.configuration == {
        "kind": "zero-shot",
        "endpoint": server.url,
        "model": "gpt-4o-2024-08-06",
        "structured": True,
        "temperature": 0.0,
        "seed": 0,
        "n": 3,
        "prompt": ZERO_SHOT.hash,
    }
    assert json.loads(json.dumps(one.configuration)) == one.configuration
    assert (len(ZERO_SHOT.hash), ZERO_SHOT.hash != LISTWISE.hash) == (12, True)
    assert isinstance(one, Retriever)


def test_objects_are_read_whole_or_not_at_all() -> None:
    assert parse_object('  {"a": 1}\n') == {"a": 1}
    assert parse_object('```\n{"a": 1}\n```') == {"a": 1}
    assert parse_object('```json\n{"a": 1}\n``` done') is None
    assert parse_object('{"a": NaN}') is None
    assert parse_object("7") is None


def test_choices_are_positions_in_the_list_that_was_shown() -> None:
    choice = parse_ranking(ChatResponse('{"ranking": ["p3", "p1"]}'), ids=["p1", "p2", "p3"], wanted=3)
    assert (choice.positions, choice.statuses, choice.reason) == ([2, 0], ("missing",), None)


def test_the_stub_model_counts_words() -> None:
    body = {
        "model": "m",
        "messages": ZERO_SHOT.messages(message="a b", wanted=1, catalogue=[{"id": "c1", "text": "b"}]),
    }
    assert completion(body, overlap(body))["choices"][0]["message"]["content"] == '{"ranking": ["c1"]}'
