"""Zero-shot retrieval and listwise re-ranking with a local endpoint whose model counts shared words."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcconan import Endpoint, InputError
from fcconan.models import Answers, EndpointError, EndpointModel
from fcconan.retrieval import Rankings, Reranker, ZeroShot, rank_all
from tests.models.server import Action, Server, always, content, error, says, without_schema

QUERIES = {"q1": "all Ombrey bakers cheat", "q2": "Tessok songs are noise", "q3": "the Velmari take all water"}
CORPUS = {
    "cn-a": "the Velmari share their water with all who ask",
    "cn-b": "Ombrey bakers do not cheat",
    "cn-c": "Tessok songs are old and loved",
    "cn-d": "nothing to see",
}


def model(server: Server, folder: Path, concurrency: int = 4) -> EndpointModel:
    endpoint = Endpoint(base_url=server.url, timeout=5, concurrency=concurrency)
    return EndpointModel("gpt-4o-2024-08-06", endpoint, Answers(folder / "answers.sqlite"))


class Fixed:
    """Returns the catalogue in its order, with equal scores."""

    name = "fixed"

    def __init__(self, failures: Mapping[str, str] | None = None) -> None:
        self.failures = failures or {}

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        order = [(key, 0.5) for key in list(corpus)[:k]]
        return Rankings({query: order for query in queries if query not in self.failures}, self.failures)


def test_the_model_names_the_cns_of_every_query(server: Server, tmp_path: Path) -> None:
    found = rank_all(ZeroShot("gpt-4o", model=model(server, tmp_path), n=3), QUERIES, CORPUS, 10)
    # Words shared: q1 b 3, a 1 (all), c and d 0; q2 c 3, others 0; q3 a 4, others 0. Equal ones in catalogue order.
    assert found == {
        "q1": [("cn-b", 3.0), ("cn-a", 2.0), ("cn-c", 1.0)],
        "q2": [("cn-c", 3.0), ("cn-a", 2.0), ("cn-b", 1.0)],
        "q3": [("cn-a", 3.0), ("cn-b", 2.0), ("cn-c", 1.0)],
    }
    again = ZeroShot("gpt-4o", model=model(server, tmp_path), n=3).rank(QUERIES, CORPUS, 1)
    assert again == {query: ranking[:1] for query, ranking in found.items()}
    assert len(server.requests) == 3 and found.failures == {}  # the answers are stored


def test_what_is_sent(server: Server, tmp_path: Path) -> None:
    asked = model(server, tmp_path)
    ZeroShot("a", model=asked).rank({"q1": '{braces} "quotes" {{x}}'}, {"cn-a": "$text"}, 10)
    ZeroShot("b", model=asked, temperature=None, seed=None, max_tokens=None).rank({"q1": "x"}, CORPUS, 10)
    first, second = server.bodies
    assert content(first) == {
        "catalogue": [{"id": "c1", "text": "$text"}],
        "wanted": 1,
        "message": '{braces} "quotes" {{x}}',
    }
    sampling = [first[name] for name in ("model", "temperature", "seed", "max_tokens")]
    assert sampling == ["gpt-4o-2024-08-06", 0.0, 0, 4096]
    assert first["response_format"]["json_schema"]["strict"] is True and "cn-a" not in json.dumps(first)
    assert not {"temperature", "seed", "max_tokens"} & {*second}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"ranking": ["c2", "c2", "c9", "c1", "c3", "c4"]}', ["cn-b", "cn-a", "cn-c"]),
        ('```json\n{"ranking": ["c4"]}\n```', ["cn-d"]),
        ("The best ones are c1, c2 and c3.", "wrong_format"),
        ('{"ranking": ["c1", "c2"', "wrong_format"),
        ('{"ranking": "c1"}', "wrong_format"),
        ('["c1", "c2", "c3"]', "wrong_format"),
        ("[" * 100_000, "wrong_format"),
        ('{"ranking": ["cn-a", "c5"]}', "no_known_id"),
        (" ", "empty"),
    ],
)
def test_known_ids_are_used_and_other_answers_are_failures(
    server: Server, tmp_path: Path, text: str, expected: Sequence[str]
) -> None:
    server.behaviour = says(text)
    found = ZeroShot("gpt-4o", model=model(server, tmp_path), n=3).rank({"q1": "x"}, CORPUS, 10)
    if isinstance(expected, str):
        assert (dict(found), found.failures) == ({}, {"q1": expected})
    else:
        assert found == {"q1": [(key, 3.0 - rank) for rank, key in enumerate(expected)]}


@pytest.mark.parametrize(
    ("action", "reason"), [(error(429), "rate_limited"), (error(400), "bad_request"), (Action(cut=True), "connection")]
)
def test_one_query_that_fails_leaves_the_others_alone(
    server: Server, tmp_path: Path, action: Action, reason: str
) -> None:
    server.behaviour = lambda body, number: action if QUERIES["q2"] in str(body) else Action()
    for system in (
        ZeroShot("a", model=model(server, tmp_path)),
        Reranker("b", model=model(server, tmp_path), first_stage=Fixed()),
    ):
        found = rank_all(system, QUERIES, CORPUS, 10)
        assert list(found) == ["q1", "q3"] and found.failures["q2"].startswith(reason)


def test_a_bad_key_stops_and_an_endpoint_without_schemas_does_not(server: Server, tmp_path: Path) -> None:
    server.behaviour = without_schema
    assert len(ZeroShot("a", model=model(server, tmp_path, 1)).rank(QUERIES, CORPUS, 10)) == 3
    assert ["response_format" in body for body in server.bodies] == [True, False, False, False]
    server.behaviour = always(error(401))
    with pytest.raises(EndpointError, match="answered 401"):
        rank_all(ZeroShot("a", model=model(server, tmp_path / "other", 1)), QUERIES, CORPUS, 10)


# Re-ranking: CNs share more words with the message `w0 w1 ...` the later they are in the catalogue.


def worded(n: int) -> tuple[dict[str, str], dict[str, str]]:
    corpus = {f"{number}": " ".join(f"w{word}" for word in range(number)) for number in range(n)}
    return {"q": " ".join(f"w{word}" for word in range(n))}, corpus


def windows_by_hand(n: int, top: int, window: int, step: int) -> tuple[list[int], int]:
    """Sliding windows over the first `top` of 0 ... n - 1, from the tail to the head, each sorted downwards."""
    order, last, calls = list(range(n)), min(top, n), 0
    start = last
    while start > 0:
        start = max(start - (step if calls else window), 0)
        end = min(start + window, last)
        order[start:end] = sorted(order[start:end], reverse=True)
        calls += 1
    return order, calls


@pytest.mark.parametrize(
    ("n", "top", "window", "step"),
    [(9, 7, 4, 2), (9, 5, 20, 10), (30, 25, 20, 10), (50, 50, 20, 10), (5, 9, 3, 1), (11, 11, 4, 3)],
)
def test_windows_bring_the_best_to_the_head(
    server: Server, tmp_path: Path, n: int, top: int, window: int, step: int
) -> None:
    options: Any = {"top": top, "window": window, "step": step}
    found = Reranker("rr", model=model(server, tmp_path), first_stage=Fixed(), **options).rank(*worded(n), n)
    order, calls = windows_by_hand(n, top, window, step)
    assert found["q"] == [(str(number), float(n - rank)) for rank, number in enumerate(order)]
    assert len(server.requests) == calls
    assert [entry["id"] for entry in content(server.bodies[0])["candidates"]][:3] == ["p1", "p2", "p3"]


def test_a_window_that_fails_stays_and_ids_left_out_come_last(server: Server, tmp_path: Path) -> None:
    server.behaviour = lambda body, number: says("p1 is best, 7 of 10")(body, number) if number == 0 else Action()
    options: Any = {"first_stage": Fixed(), "top": 6, "window": 4, "step": 2}
    found = Reranker("rr", model=model(server, tmp_path), **options).rank(*worded(6), 2)
    # [2,6) stays 2 3 4 5; then [0,4) of 0 1 2 3 is sorted. The cut comes last.
    assert found == {"q": [("3", 6.0), ("2", 5.0)]} and found.failures == {}
    server.behaviour = says('{"ranking": ["p3", "p3", "p9", "p2"]}')
    found = Reranker("rr", model=model(server, tmp_path), first_stage=Fixed()).rank(*worded(4), 4)
    assert [key for key, _ in found["q"]] == ["2", "1", "0", "3"]


def test_the_first_stage_gives_order_and_failures_and_one_candidate_needs_no_call(
    server: Server, tmp_path: Path
) -> None:
    asked, stage = model(server, tmp_path), Fixed({"q1": "KeyError: x"})
    found = rank_all(Reranker("rr", model=asked, first_stage=stage), QUERIES, {"cn-a": "y"}, 3)
    assert found == {"q2": [("cn-a", 1.0)], "q3": [("cn-a", 1.0)]} and found.failures == {"q1": "KeyError: x"}
    assert server.requests == []

    class Scored(Fixed):
        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
            return Rankings({"q": [("1", 0.1), ("2", 0.7), ("0", 0.7)]})

    server.behaviour = says('{"ranking": ["p1"]}')
    found = Reranker("rr", model=asked, first_stage=Scored()).rank(*worded(3), 3)
    assert [key for key, _ in found["q"]] == ["2", "0", "1"]
    with pytest.raises(InputError, match="rr: found step 20, expected 1 to 19, below the window"):
        Reranker("rr", model=asked, first_stage=stage, step=20)
