"""Validation of runs, and systems that raise exceptions."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.retrieval.systems import Rankings, Retriever, rank_all
from fcconan.scoring.retrieval.evaluation import NOT_IN_CATALOGUE, Ranking, check_run

QUERIES = {
    "hs-a": "The Ombrey never return a book.",
    "hs-b": "Every Tessok cheats at cards.",
    "hs-c": "Nobody needs Velmari bakers.",
}
CORPUS = {"cn-x": "Readers return books early.", "cn-y": "Cards were banned there."}


class System:
    """Returns given rankings and records queries and depth of each call."""

    name = "mine"

    def __init__(self, answer: Callable[[Mapping[str, str]], Any]) -> None:
        self.answer = answer
        self.calls: list[tuple[list[str], int]] = []

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Any:
        assert corpus == CORPUS
        self.calls.append((list(queries), k))
        return self.answer(queries)


def complaint(run: Any) -> str:
    with pytest.raises(InputError) as caught:
        check_run("mine", run, QUERIES, CORPUS)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def test_a_good_run_comes_back_in_the_order_of_the_dataset_and_with_floats() -> None:
    run = {"hs-c": (("cn-y", 2), ("cn-x", -1)), "hs-a": [["cn-x", 0.5]]}
    checked = check_run("mine", run, QUERIES, CORPUS)  # type: ignore[arg-type]
    assert list(checked.items()) == [("hs-a", [("cn-x", 0.5)]), ("hs-c", [("cn-y", 2.0), ("cn-x", -1.0)])]
    assert {type(score) for ranking in checked.values() for _, score in ranking} == {float}


def test_an_empty_ranking_is_kept_and_a_missing_one_stays_missing() -> None:
    assert check_run("mine", {"hs-b": []}, QUERIES, CORPUS) == {"hs-b": []}
    assert check_run("mine", {}, QUERIES, CORPUS) == {}


@pytest.mark.parametrize("run", [[("hs-a", [])], None, "hs-a", 3])
def test_a_run_is_a_mapping(run: Any) -> None:
    expected = f"system 'mine' returned {type(run).__name__}: rank() returns a dict of query id to ranking"
    assert complaint(run) == expected


def test_queries_of_another_dataset_are_counted() -> None:
    run: dict[Any, Ranking] = {"hs-a": [], "hs-z": [], 7: []}
    assert complaint(run) == (
        "the run of 'mine' ranks query 'hs-z', which the dataset does not have (2 of 3 queries are unknown): "
        "rank the queries of this dataset only"
    )


@pytest.mark.parametrize(
    ("ranking", "problem"),
    [
        ([("cn-x", 1.0), ("cn-z", 0.5)], f"'cn-z' {NOT_IN_CATALOGUE}"),
        ([(None, 1.0)], f"None {NOT_IN_CATALOGUE}"),
        ([("cn-x", 1.0), ("cn-y", 0.5), ("cn-x", 0.1)], "'cn-x' is ranked twice: rank every id once"),
        ([("cn-x", float("nan"))], "the score of 'cn-x' is nan: scores are finite numbers"),
        ([("cn-x", float("inf"))], "the score of 'cn-x' is inf: scores are finite numbers"),
        ([("cn-x", 1.0), ("cn-y", -float("inf"))], "the score of 'cn-y' is -inf: scores are finite numbers"),
        (["cn-x"], "'cn-x' is not a corpus id with a score"),
        ([("cn-x",)], "('cn-x',) is not a corpus id with a score"),
        ([("cn-x", 1.0, 2)], "('cn-x', 1.0, 2) is not a corpus id with a score"),
        ([("cn-x", None)], "('cn-x', None) is not a corpus id with a score"),
        ([("cn-x", "high")], "('cn-x', 'high') is not a corpus id with a score"),
        ([("cn-x", "0.5")], "the score of 'cn-x' is the text '0.5': scores are numbers"),
        ([("cn-x", b"1")], "the score of 'cn-x' is the text b'1': scores are numbers"),
        ([(["cn-x"], 1.0)], "(['cn-x'], 1.0) is not a corpus id with a score"),
        ([7], "7 is not a corpus id with a score"),
        (None, "the ranking is NoneType, expected a list of corpus ids with scores"),
        (7, "the ranking is int, expected a list of corpus ids with scores"),
    ],
)
def test_what_is_wrong_with_a_ranking_is_named_with_its_query(ranking: Any, problem: str) -> None:
    assert complaint({"hs-a": [("cn-x", 1.0)], "hs-b": ranking}) == f"the run of 'mine', query 'hs-b': {problem}"


def test_a_run_that_works_is_asked_for_once() -> None:
    system = System(lambda queries: {query: [("cn-y", 1)] for query in reversed(list(queries))})
    found = rank_all(system, QUERIES, CORPUS, 5)
    assert system.calls == [(["hs-a", "hs-b", "hs-c"], 5)]
    assert list(found.items()) == [(query, [("cn-y", 1.0)]) for query in QUERIES]
    assert (found.failures, found.diagnostics, found.resolved) == ({}, {}, {})


def test_what_a_system_says_about_its_run_is_passed_on() -> None:
    given = Rankings(
        {"hs-a": [("cn-x", 1.0)]},
        failures={"hs-b": "refused"},
        explained={"hs-b": "the abacus declined: ask another one"},
        diagnostics={"calls": 3},
        resolved={"temperature": 0.1},
    )
    found = rank_all(System(lambda queries: given), QUERIES, CORPUS, 1)
    assert dict(found) == {"hs-a": [("cn-x", 1.0)]}
    assert found.failures == {"hs-b": "refused"}
    assert found.explained == {"hs-b": "the abacus declined: ask another one"}
    assert found.diagnostics == {"calls": 3}
    assert found.resolved == {"temperature": 0.1}


def test_one_query_that_raises_does_not_stop_the_others() -> None:
    def answer(queries: Mapping[str, str]) -> dict[str, Ranking]:
        if "hs-b" in queries:
            raise RuntimeError("the abacus\n  broke")
        return {query: [("cn-x", 1.0)] for query in queries}

    system = System(answer)
    found = rank_all(system, QUERIES, CORPUS, 2)
    assert list(found.items()) == [("hs-a", [("cn-x", 1.0)]), ("hs-c", [("cn-x", 1.0)])]
    assert found.failures == {"hs-b": "RuntimeError: the abacus broke"}
    assert system.calls == [(["hs-a", "hs-b", "hs-c"], 2), (["hs-a"], 2), (["hs-b"], 2), (["hs-c"], 2)]


def test_rankings_given_one_by_one_are_merged_with_what_they_say() -> None:
    def answer(queries: Mapping[str, str]) -> Rankings:
        if len(queries) > 1:
            raise MemoryError("too many at once")
        query = next(iter(queries))
        if query == "hs-c":
            return Rankings(failures={query: "refused"}, explained={query: "declined"})
        return Rankings({query: [("cn-y", 0.0)]}, diagnostics={query: 1}, resolved={"seed": 4})

    found = rank_all(System(answer), QUERIES, CORPUS, 1)
    assert dict(found) == {"hs-a": [("cn-y", 0.0)], "hs-b": [("cn-y", 0.0)]}
    assert found.failures == {"hs-c": "refused"}
    assert found.explained == {"hs-c": "declined"}
    assert found.diagnostics == {"hs-a": 1, "hs-b": 1}
    assert found.resolved == {"seed": 4}


@pytest.mark.parametrize("queries", [QUERIES, {"hs-a": QUERIES["hs-a"]}])
def test_a_system_that_always_raises_has_a_reason_for_every_query(queries: dict[str, str]) -> None:
    def answer(queries: Mapping[str, str]) -> None:
        raise KeyError("x" * 400)

    system = System(answer)
    found = rank_all(system, queries, CORPUS, 1)
    assert dict(found) == {}
    assert found.failures == dict.fromkeys(queries, "KeyError: '" + "x" * 289)
    assert len(system.calls) == (1 if len(queries) == 1 else 1 + len(queries))


def test_a_system_that_ends_python_has_failed() -> None:
    def answer(queries: Mapping[str, str]) -> dict[str, Ranking]:
        if "hs-b" in queries:
            sys.exit("no abacus")
        return {query: [("cn-x", 1.0)] for query in queries}

    found = rank_all(System(answer), QUERIES, CORPUS, 2)
    assert (list(found), found.failures) == (["hs-a", "hs-c"], {"hs-b": "SystemExit: no abacus"})
    found = rank_all(System(answer), {"hs-b": ""}, CORPUS, 2)
    assert found.failures == {"hs-b": "SystemExit: no abacus"}


def test_a_request_to_end_the_process_is_no_failure_of_a_system() -> None:
    for calls_before in (0, 1):  # while all queries are ranked, and while one is
        calls: list[int] = []

        def answer(queries: Mapping[str, str], calls: list[int] = calls, before: int = calls_before) -> None:
            calls.append(1)
            if len(calls) <= before:
                raise RuntimeError("all at once")
            sys.exit(143)  # what the command line makes of SIGTERM

        with pytest.raises(SystemExit, match="143"):
            rank_all(System(answer), QUERIES, CORPUS, 1)
        assert len(calls) == calls_before + 1


def test_bad_input_is_not_taken_for_a_failure() -> None:
    def refuse(queries: Mapping[str, str]) -> None:
        raise InputError("no model at that place")

    def refuse_single(queries: Mapping[str, str]) -> None:
        raise RuntimeError("all at once") if len(queries) > 1 else InputError("no model at that place")

    for answer in (refuse, refuse_single):
        with pytest.raises(InputError, match=r"^no model at that place$"):
            rank_all(System(answer), QUERIES, CORPUS, 1)


def test_an_unusable_run_is_refused_even_if_it_came_one_by_one() -> None:
    def answer(queries: Mapping[str, str]) -> dict[str, Ranking]:
        if len(queries) > 1:
            raise RuntimeError("all at once")
        return {query: [("cn-q", 1.0)] for query in queries}

    with pytest.raises(InputError, match="the run of 'mine', query 'hs-a': 'cn-q' is not in the catalogue"):
        rank_all(System(answer), QUERIES, CORPUS, 1)
    with pytest.raises(InputError, match="system 'mine' returned NoneType"):
        rank_all(System(lambda queries: None), QUERIES, CORPUS, 1)


@pytest.mark.parametrize("given", [None, 7, ["hs-a"]])
def test_what_comes_one_by_one_is_a_mapping_as_well(given: Any) -> None:
    def answer(queries: Mapping[str, str]) -> Any:
        if len(queries) > 1:
            raise RuntimeError("all at once")
        return given

    with pytest.raises(InputError, match=f"system 'mine' returned {type(given).__name__}: rank.. returns a dict"):
        rank_all(System(answer), QUERIES, CORPUS, 1)


def test_rankings_are_copies() -> None:
    ranking = [("cn-x", 1.0)]
    failures = {"hs-b": "refused"}
    found = Rankings({"hs-a": ranking}, failures=failures)
    ranking.clear()
    failures.clear()
    assert found == {"hs-a": [("cn-x", 1.0)]}
    assert found.failures == {"hs-b": "refused"}


def test_a_system_needs_no_base_class() -> None:
    assert isinstance(System(dict), Retriever)
    assert not isinstance(object(), Retriever)
