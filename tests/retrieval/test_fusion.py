"""Fusion: reciprocal ranks and summed scores by hand, and systems with empty rankings."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.retrieval.fusion import Fusion
from fcconan.retrieval.lexical import BM25, TfIdf
from fcconan.retrieval.systems import Rankings
from fcconan.scoring.retrieval.evaluation import Ranking

CORPUS = {"cn-d": "Cards.", "cn-c": "Bread.", "cn-b": "Songs.", "cn-a": "Books."}
QUERIES = {"hs-1": "The Ombrey never return a book.", "hs-2": "Every Tessok cheats at cards."}


class Fixed:
    """Returns a given run."""

    def __init__(self, name: str, rankings: Mapping[str, Sequence[tuple[str, float]]], **extras: Any) -> None:
        self.name = name
        self.rankings = Rankings(rankings, **extras)
        self.depths: list[int] = []

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        self.depths.append(k)
        return self.rankings


class Raises:
    """Raises on some queries."""

    name = "raises"

    def __init__(self, *on: str) -> None:
        self.on = set(on)

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, Ranking]:
        if self.on & set(queries):
            raise RuntimeError("the abacus broke")
        return {query: [("cn-a", 1.0)] for query in queries}


def fuse(*systems: Any, k: int = 4, **options: Any) -> Rankings:
    return Fusion("both", systems, **options).rank(QUERIES, CORPUS, k)


def close(ranking: Ranking, expected: list[tuple[str, float]]) -> None:
    """Checks ids exactly and scores to twelve digits."""
    assert [key for key, _ in ranking] == [key for key, _ in expected]
    assert [score for _, score in ranking] == pytest.approx([score for _, score in expected], abs=1e-12)


def test_reciprocal_ranks_by_hand() -> None:
    one = Fixed("one", {"hs-1": [("cn-a", 9.0), ("cn-b", 8.0), ("cn-c", 7.0)], "hs-2": [("cn-a", 0.1)]})
    two = Fixed("two", {"hs-1": [("cn-b", 0.3), ("cn-d", 0.2), ("cn-a", 0.1)], "hs-2": [("cn-b", 5.0)]})
    found = fuse(one, two)
    close(
        found["hs-1"],
        [("cn-b", 1 / 62 + 1 / 61), ("cn-a", 1 / 61 + 1 / 63), ("cn-d", 1 / 62), ("cn-c", 1 / 63)],
    )
    # Both are first in one system: equal scores stand in the order of the catalogue.
    close(found["hs-2"], [("cn-b", 1 / 61), ("cn-a", 1 / 61)])
    assert list(found) == ["hs-1", "hs-2"]


def test_the_depth_is_handed_on_and_cut_after_fusing() -> None:
    one = Fixed("one", {"hs-1": [("cn-a", 3.0), ("cn-b", 2.0)]})
    two = Fixed("two", {"hs-1": [("cn-c", 3.0), ("cn-b", 2.0)]})
    found = fuse(one, two, k=1)
    assert one.depths == two.depths == [1]
    close(found["hs-1"], [("cn-b", 2 / 62)])


def test_sums_of_scores_between_the_least_and_the_greatest_by_hand() -> None:
    one = Fixed("one", {"hs-1": [("cn-a", 10.0), ("cn-b", 6.0), ("cn-c", 2.0)], "hs-2": [("cn-a", 4.0), ("cn-c", 2.0)]})
    two = Fixed("two", {"hs-1": [("cn-c", 1.0), ("cn-b", 0.0), ("cn-d", -3.0)], "hs-2": [("cn-c", 8.0), ("cn-a", 7.0)]})
    # hs-1, one: a 1, b 1/2, c 0; two: c 1, b 3/4, d 0.
    found = fuse(one, two, method="sum")
    close(found["hs-1"], [("cn-b", 1.25), ("cn-c", 1.0), ("cn-a", 1.0), ("cn-d", 0.0)])
    close(found["hs-2"], [("cn-c", 1.0), ("cn-a", 1.0)])


@pytest.mark.parametrize("method", ["rrf", "sum"])
def test_an_empty_or_missing_ranking_adds_nothing(method: str) -> None:
    one = Fixed("one", {"hs-1": [("cn-b", 2.0), ("cn-a", 1.0)], "hs-2": []})
    two = Fixed("two", {"hs-1": []})
    found = fuse(one, two, method=method)
    expected = {"rrf": [1 / 61, 1 / 62], "sum": [1.0, 0.0]}[method]
    close(found["hs-1"], [("cn-b", expected[0]), ("cn-a", expected[1])])
    assert list(found) == ["hs-1"]
    assert found.failures == {}


def test_systems_that_find_nothing_at_all_give_nothing() -> None:
    assert fuse(Fixed("one", {}), Fixed("two", {"hs-1": []})) == {}


def test_a_query_that_fails_in_one_system_fails() -> None:
    one = Fixed("one", {"hs-1": [("cn-b", 1.0)], "hs-2": [("cn-b", 1.0)]})
    found = fuse(one, Raises("hs-2"))
    assert list(found) == ["hs-1"]
    close(found["hs-1"], [("cn-b", 1 / 61), ("cn-a", 1 / 61)])
    assert found.failures == {"hs-2": "RuntimeError: the abacus broke"}
    refused = Fixed("refused", {"hs-2": [("cn-a", 1.0)]}, failures={"hs-1": "401"}, explained={"hs-1": "check the key"})
    found = fuse(refused, Raises("hs-2"))
    assert dict(found) == {}
    assert found.failures == {"hs-1": "401", "hs-2": "RuntimeError: the abacus broke"}
    assert found.explained == {"hs-1": "check the key"}


def test_what_the_systems_say_is_passed_on_under_their_names() -> None:
    one = Fixed("one", {"hs-1": [("cn-a", 1.0)]}, diagnostics={"calls": 3}, resolved={"temperature": 0.1})
    found = fuse(one, Fixed("two", {"hs-1": [("cn-a", 1.0)]}))
    assert found.diagnostics == {"one": {"calls": 3}, "two": {}}
    assert found.resolved == {"one": {"temperature": 0.1}, "two": {}}


def test_an_unusable_run_of_a_part_is_named() -> None:
    with pytest.raises(InputError, match=r"^the run of 'two', query 'hs-1': 'cn-z' is not in the catalogue"):
        fuse(Fixed("one", {}), Fixed("two", {"hs-1": [("cn-z", 1.0)]}))


def test_the_configuration_holds_that_of_the_parts() -> None:
    plain = Fusion("both", [BM25(), TfIdf()])
    assert plain.configuration == {
        "kind": "fusion",
        "library": "ranx",
        "method": "rrf",
        "norm": None,
        "systems": [
            {"name": "bm25", "configuration": BM25().configuration},
            {"name": "tfidf", "configuration": TfIdf().configuration},
        ],
    }
    summed = Fusion("both", [BM25(), TfIdf()], method="sum", norm="max").configuration
    assert summed is not None
    assert (summed["method"], summed["norm"]) == ("sum", "max")
    assert Fusion("both", [BM25(), Fixed("one", {})]).configuration is None


def test_two_parts_of_one_name_are_both_in_the_configuration() -> None:
    first = Fusion("both", [BM25(k1=1.2), BM25()]).configuration
    second = Fusion("both", [BM25(k1=0.9), BM25()]).configuration
    assert first != second
