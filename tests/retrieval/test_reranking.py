import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models.client import Client, EndpointError
from fcconan.retrieval.chat import LISTWISE, Chat
from fcconan.retrieval.reranking import Reranker, window_bounds
from fcconan.retrieval.systems import Rankings, rank_all
from tests.models.server import (
    Action,
    Server,
    always,
    content,
    error,
    says,
    use_key,
    without_schema,
)

QUERIES = {"q1": "Ombrey bakers cheat", "q2": "Tessok songs"}


class Fixed:
    """Returns the catalogue in its order, with equal scores."""

    def __init__(self, configuration: Any = None, failures: Mapping[str, str] | None = None) -> None:
        self.name = "fixed"
        if configuration is not None:
            self.configuration = configuration
        self._failures = dict(failures or {})
        self.depths: list[int] = []

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        self.depths.append(k)
        return Rankings(
            {query: [(key, 0.5) for key in list(corpus)[:k]] for query in queries if query not in self._failures},
            failures=self._failures,
            diagnostics={"seen": len(queries)},
            resolved={"found": 1},
        )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    use_key(monkeypatch)
    with Server() as running:
        yield running


def system(server: Server, folder: Path, first_stage: Any = None, *, concurrency: int = 4, **options: Any) -> Reranker:
    client = Client(
        journal=folder / "journal.jsonl",
        base_url=server.url,
        retries=1,
        backoff=0.01,
        timeout=5,
        concurrency=concurrency,
    )
    return Reranker("rr", first_stage or Fixed(), Chat(client), **options)


def corpus(n: int) -> dict[str, str]:
    """Returns CNs that share more words with the message `w0 w1 ...` the later they are in the catalogue."""
    return {f"cn-{number}": " ".join(f"w{word}" for word in range(number)) for number in range(n)}


def message(n: int) -> dict[str, str]:
    return {"q": " ".join(f"w{word}" for word in range(n))}


def order(found: Rankings, query: str = "q") -> list[int]:
    return [int(key.removeprefix("cn-")) for key, _ in found[query]]


def test_windows_run_from_the_tail_to_the_head() -> None:
    assert list(window_bounds(25, 20, 10)) == [(5, 25), (0, 20)]
    assert list(window_bounds(50, 20, 10)) == [(30, 50), (20, 40), (10, 30), (0, 20)]
    assert list(window_bounds(20, 20, 10)) == [(0, 20)]
    assert list(window_bounds(3, 20, 10)) == [(0, 3)]
    assert list(window_bounds(7, 4, 2)) == [(3, 7), (1, 5), (0, 4)]
    assert (list(window_bounds(1, 4, 2)), list(window_bounds(0, 4, 2))) == ([], [])


def test_listwise_brings_the_best_to_the_head(server: Server, tmp_path: Path) -> None:
    found = system(server, tmp_path, top=7, window=4, step=2).rank(message(9), corpus(9), 9)
    # First stage 0 ... 8. [3,7): 6 5 4 3; then [1,5) of 0 1 2 6 5 4 3: 6 5 2 1; then [0,4) of 0 6 5 2 1 4 3: 6 5 2 0.
    assert order(found) == [6, 5, 2, 0, 1, 4, 3, 7, 8]
    assert [score for _, score in found["q"]] == [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    assert [[entry["id"] for entry in content(body)["candidates"]] for body in server.bodies] == [
        ["p1", "p2", "p3", "p4"]
    ] * 3
    assert found.diagnostics["calls"]["ok"] == 3
    assert (found.diagnostics["kept_first_stage_order"], found.diagnostics["first_stage"]) == (0, {"seen": 1})
    assert found.resolved == {"answered_by": ["gpt-4o-2024-08-06-stub"], "first_stage": {"found": 1}}


def test_the_top_is_sorted_and_the_rest_left(server: Server, tmp_path: Path) -> None:
    stage = Fixed()
    found = system(server, tmp_path, stage, top=5).rank(message(9), corpus(9), 7)
    assert order(found) == [4, 3, 2, 1, 0, 5, 6]
    assert (len(server.requests), stage.depths) == (1, [7])


def test_a_top_beyond_k_is_reranked_before_the_cut(server: Server, tmp_path: Path) -> None:
    stage = Fixed()
    found = system(server, tmp_path, stage, top=6).rank(message(9), corpus(9), 2)
    assert (order(found), stage.depths) == ([5, 4], [6])
    assert [score for _, score in found["q"]] == [6.0, 5.0]


def test_the_order_of_the_first_stage_is_that_of_its_scores(server: Server, tmp_path: Path) -> None:
    class Scored(Fixed):
        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
            return Rankings({"q": [("cn-1", 0.1), ("cn-2", 0.7), ("cn-0", 0.7)]})

    server.behaviour = says('{"ranking": ["p1", "p2", "p3"]}')
    found = system(server, tmp_path, Scored()).rank(message(3), corpus(3), 3)
    assert order(found) == [2, 0, 1]


def test_a_window_that_fails_keeps_its_order_and_is_counted(server: Server, tmp_path: Path) -> None:
    server.behaviour = lambda body, number: says("p1 is best, 7 of 10")(body, number) if number == 0 else Action()
    found = system(server, tmp_path, top=6, window=4, step=2).rank(message(6), corpus(6), 6)
    # [2,6) stays 2 3 4 5; then [0,4) of 0 1 2 3 is sorted.
    assert (order(found), found.failures) == ([3, 2, 1, 0, 4, 5], {})
    assert found.diagnostics["kept_first_stage_order"] == 1
    assert (found.diagnostics["calls"]["ok"], found.diagnostics["calls"]["wrong_format"]) == (1, 1)


def test_ids_that_a_window_leaves_out_come_after_the_others(server: Server, tmp_path: Path) -> None:
    server.behaviour = says('{"ranking": ["p3", "p3", "p9", "p2"]}')
    found = system(server, tmp_path).rank(message(4), corpus(4), 4)
    assert order(found) == [2, 1, 0, 3]
    counts = found.diagnostics["calls"]
    assert [counts[name] for name in ("ok", "repeated", "missing", "unknown")] == [0, 1, 1, 1]
    assert found.diagnostics["kept_first_stage_order"] == 0


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (says("1 > 2 > 3"), "wrong_format"),
        (always(error(500)), "server_error"),
        (always(error(429)), "rate_limited"),
        (always(error(400)), "bad_request"),
        (always(Action(cut=True)), "connection"),
    ],
)
def test_a_query_of_which_every_call_fails_is_no_copy_of_the_first_stage(
    server: Server, tmp_path: Path, behaviour: Any, reason: str
) -> None:
    broken = QUERIES["q1"]
    server.behaviour = lambda body, number: behaviour(body, number) if broken in str(body) else Action()
    found = rank_all(system(server, tmp_path), QUERIES, corpus(3), 3)
    assert (list(found), found.failures) == (["q2"], {"q1": reason})
    assert list(found.explained) == ["q1"]
    assert found.explained["q1"].startswith(f"gpt-4o-2024-08-06 at {server.url} ({reason}")


def test_only_unknown_ids_are_a_failure(server: Server, tmp_path: Path) -> None:
    server.behaviour = says('{"ranking": ["cn-0", "7"]}')
    found = system(server, tmp_path).rank(message(3), corpus(3), 3)
    assert (dict(found), found.failures) == ({}, {"q": "no_known_id"})


def test_one_candidate_needs_no_call(server: Server, tmp_path: Path) -> None:
    found = system(server, tmp_path).rank({"q": "x"}, {"cn-0": "y"}, 5)
    assert (found, server.requests) == ({"q": [("cn-0", 1.0)]}, [])


def test_failures_of_the_first_stage_are_carried_over(server: Server, tmp_path: Path) -> None:
    found = system(server, tmp_path, Fixed(failures={"q1": "KeyError: x"})).rank(QUERIES, corpus(3), 3)
    assert (list(found), found.failures) == (["q2"], {"q1": "KeyError: x"})


def test_a_bad_key_stops_the_system(server: Server, tmp_path: Path) -> None:
    server.behaviour = always(error(403))
    with pytest.raises(EndpointError, match="answered 403"):
        rank_all(system(server, tmp_path, concurrency=1), QUERIES, corpus(3), 3)
    assert len(server.requests) == 1


def test_plain_text_is_found_out_once(server: Server, tmp_path: Path) -> None:
    server.behaviour = without_schema
    one = system(server, tmp_path, concurrency=1, top=7, window=4, step=2)
    found = one.rank(message(9), corpus(9), 9)
    assert (order(found), found.diagnostics["plain_text"]) == ([6, 5, 2, 0, 1, 4, 3, 7, 8], 3)
    assert sum("response_format" in body for body in server.bodies) == 1


def test_a_second_run_sends_nothing(server: Server, tmp_path: Path) -> None:
    one = system(server, tmp_path, top=7, window=4, step=2).rank(message(9), corpus(9), 9)
    two = system(server, tmp_path, top=7, window=4, step=2).rank(message(9), corpus(9), 9)
    assert (one, one.diagnostics, len(server.requests)) == (two, two.diagnostics, 3)


def test_the_configuration_holds_that_of_the_first_stage(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert system(server, tmp_path, Fixed({"kind": "fixed"})).configuration == {
        "kind": "rerank",
        "endpoint": server.url,
        "model": "gpt-4o-2024-08-06",
        "structured": True,
        "temperature": 0.0,
        "seed": 0,
        "top": 25,
        "window": 20,
        "step": 10,
        "prompt": LISTWISE.hash,
        "first_stage": {"name": "fixed", "configuration": {"kind": "fixed"}},
    }
    # A first stage that does not say what it is cannot be told from another one.
    assert system(server, tmp_path, Fixed()).configuration is None


def test_a_step_is_shorter_than_a_window(server: Server, tmp_path: Path) -> None:
    system(server, tmp_path, window=20, step=19)
    with pytest.raises(InputError, match="step 20 is not smaller than window 20"):
        system(server, tmp_path, window=20, step=20)
