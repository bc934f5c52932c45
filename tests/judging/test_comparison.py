import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, Literal

import pytest

from fcconan.data.schemas import COMPARISON, VERDICTS
from fcconan.errors import InputError
from fcconan.judging.comparison.judge import COMPARISON_COLUMNS, compare_pairs
from fcconan.judging.comparison.pairs import ReplyPair, Row, all_pairs, budgeted_pairs
from fcconan.judging.comparison.protocols import JudgeLM
from fcconan.judging.comparison.summary import ComparisonSummary
from fcconan.models.requests import ChatRequest, ChatResponse
from tests.judging.test_pairs import grid, reply


class Fake:
    """Answers by what is shown first and second. A reason instead of an answer stands in angle brackets."""

    name = "fake"

    def __init__(self, says: Callable[[str, str], str], *, ahead: int = 1) -> None:
        self.says, self.ahead, self.calls = says, ahead, 0
        self.shown: list[tuple[str, str]] = []
        self.configuration: dict[str, Any] = {}

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        waiting: list[ChatRequest] = []
        for call in calls:
            self.calls += 1
            waiting.append(call)
            if len(waiting) == self.ahead:
                yield from map(self._reply, waiting)
                waiting = []
        yield from map(self._reply, waiting)

    def _reply(self, call: ChatRequest) -> ChatResponse:
        first, second = call.variables["reply_1"], call.variables["reply_2"]
        self.shown.append((first, second))
        said = self.says(first, second)
        if said.startswith("<"):
            return ChatResponse(reason=said.strip("<>"), detail="10 1")  # type: ignore[arg-type]
        return ChatResponse(said)


def always_first(first: str, second: str) -> str:
    return "9 4"


def longer(first: str, second: str) -> str:
    return f"{min(len(first), 10)} {min(len(second), 10)}"


def pair(a: str | None, b: str | None, item: str = "i1") -> ReplyPair:
    return ReplyPair(reply(item, "ombrey", text=a), reply(item, "tessok", text=b))


def judged(says: Callable[[str, str], str], pairs: Iterable[ReplyPair], **options: Any) -> list[Row]:
    return list(compare_pairs(Fake(says), pairs, protocol=JudgeLM(), **options))


def summary(results: Iterable[Row]) -> dict[str, Any]:
    total = ComparisonSummary()
    for result in results:
        total.add(result)
    return total.as_json()


NOTHING = {
    "comparisons": 0,
    "verdicts": {},
    "invalid": {},
    "both_orders": 0,
    "flipped": 0,
    "reversed": 0,
    "identical": 0,
    "first_chosen": 0,
    "second_chosen": 0,
    "flip_rate": None,
    "first_preference": None,
}


def test_a_row_has_the_columns_of_a_comparison_and_more() -> None:
    (result,) = judged(longer, [pair("Six or", "Nine nine")])
    assert list(result) == list(COMPARISON_COLUMNS)
    assert list(COMPARISON_COLUMNS)[: len(COMPARISON.kinds)] == list(COMPARISON.kinds)
    assert result == {
        "item_id": "i1",
        "system_a": "ombrey",
        "system_b": "tessok",
        "reply_a": "re-i1-ombrey",
        "reply_b": "re-i1-tessok",
        "rater": "fake",
        "rater_kind": "model",
        "verdict": "b",
        "score_a": 6.0,
        "score_b": 9.0,
        "reason": None,
        "verdict_ab": "b",
        "verdict_ba": "b",
        "reason_ab": None,
        "reason_ba": None,
        "flipped": False,
        "identical": False,
    }
    assert result["verdict"] in VERDICTS


def test_a_judge_that_always_prefers_the_first_flips_every_time_and_all_are_ties() -> None:
    results = judged(always_first, all_pairs(grid(4, 5)))
    assert {(each["verdict"], each["verdict_ab"], each["verdict_ba"], each["flipped"]) for each in results} == {
        ("tie", "a", "b", True)
    }
    # 9 and 4 for either reply, once each: the mean is 6.5.
    assert {(each["score_a"], each["score_b"]) for each in results} == {(6.5, 6.5)}
    assert summary(results) == NOTHING | {
        "comparisons": 30,
        "verdicts": {"tie": 30},
        "both_orders": 30,
        "flipped": 30,
        "reversed": 30,
        "first_chosen": 60,
        "flip_rate": 1.0,
        "first_preference": 1.0,
    }


def test_or_all_are_invalid() -> None:
    results = judged(always_first, all_pairs(grid(4, 5)), disagreement="invalid")
    assert {
        (each["verdict"], each["reason"], each["score_a"], each["score_b"], each["flipped"]) for each in results
    } == {("invalid", "orders_disagree", None, None, True)}
    total = summary(results)
    assert (total["verdicts"], total["invalid"], total["flip_rate"]) == ({"invalid": 30}, {"orders_disagree": 30}, 1.0)


def test_a_judge_that_prefers_the_longer_never_flips() -> None:
    pairs = [pair("Aaa", "Bb", "i1"), pair("A", "Bb", "i2"), pair("Aa", "Bb", "i3"), pair("Aaaa", "B", "i4")]
    results = judged(longer, pairs)
    assert [(each["item_id"], each["verdict"], each["score_a"], each["score_b"]) for each in results] == [
        ("i1", "a", 3.0, 2.0),
        ("i2", "b", 1.0, 2.0),
        ("i3", "tie", 2.0, 2.0),
        ("i4", "a", 4.0, 1.0),
    ]
    assert summary(results) == NOTHING | {
        "comparisons": 4,
        "verdicts": {"a": 2, "b": 1, "tie": 1},
        "both_orders": 4,
        "first_chosen": 3,
        "second_chosen": 3,
        "flip_rate": 0.0,
        "first_preference": 0.5,
    }


ANSWERS = {"a": "8 3", "b": "3 8", "tie": "5 5", "bad": "I cannot judge.", "lost": "<timeout>"}
FAILED = {"bad": "refusal", "lost": "timeout"}
SWAPPED = {"a": "b", "b": "a", "tie": "tie"}


@pytest.mark.parametrize("disagreement", ["tie", "invalid"])
@pytest.mark.parametrize("one_order", ["invalid", "take"])
@pytest.mark.parametrize(("ab", "ba"), list(product(ANSWERS, repeat=2)))
def test_every_combination_of_two_orders(
    ab: str, ba: str, disagreement: Literal["tie", "invalid"], one_order: Literal["invalid", "take"]
) -> None:
    # `ba` is what is said about the reply shown first, which then is reply b.
    (result,) = judged(
        lambda first, _: ANSWERS[ab] if first == "A" else ANSWERS[ba],
        [pair("A", "B")],
        disagreement=disagreement,
        one_order=one_order,
    )
    said = [None if ab in FAILED else ab, SWAPPED.get(ba)]
    assert [result["verdict_ab"], result["verdict_ba"]] == said
    assert [result["reason_ab"], result["reason_ba"]] == [FAILED.get(ab), FAILED.get(ba)]
    readable = [each for each in said if each is not None]
    assert result["flipped"] == (said[0] != said[1] if len(readable) == 2 else None)
    if not readable or (len(readable) == 1 and one_order == "invalid"):
        expected = ("invalid", FAILED.get(ab) or FAILED.get(ba))
    elif len(set(readable)) == 1:
        expected = (readable[0], None)
    else:
        expected = ("tie", None) if disagreement == "tie" else ("invalid", "orders_disagree")
    assert (result["verdict"], result["reason"]) == expected
    if expected[0] == "invalid":
        assert (result["score_a"], result["score_b"]) == (None, None)
    else:
        points = {"a": (8, 3), "b": (3, 8), "tie": (5, 5)}
        assert result["score_a"] == sum(points[each][0] for each in readable) / len(readable)
        assert result["score_b"] == sum(points[each][1] for each in readable) / len(readable)


def test_a_failed_request_is_invalid_and_its_detail_is_not_read() -> None:
    def fails_on_some(first: str, second: str) -> str:
        if "i1" in first:
            return "<rate_limited>"
        return "<too_long>" if first == "s0 answers i2." else "" if first == "s1 answers i3." else "8 3"

    results = judged(fails_on_some, all_pairs(grid(2, 5)))
    assert [(each["verdict"], each["reason"], each["reason_ab"], each["reason_ba"]) for each in results] == [
        ("tie", None, None, None),
        ("invalid", "rate_limited", "rate_limited", "rate_limited"),
        ("invalid", "too_long", "too_long", None),
        ("invalid", "unreadable", None, "unreadable"),
        ("tie", None, None, None),
    ]
    assert summary(results) == NOTHING | {
        "comparisons": 5,
        "verdicts": {"invalid": 3, "tie": 2},
        "invalid": {"unreadable": 1, "rate_limited": 1, "too_long": 1},
        "both_orders": 2,
        "flipped": 2,
        "reversed": 2,
        # Those with one failed order would add two.
        "first_chosen": 4,
        "flip_rate": 1.0,
        "first_preference": 1.0,
    }


class Cut(Fake):
    def _reply(self, call: ChatRequest) -> ChatResponse:
        return ChatResponse("9 4", reason="truncated")


def test_words_beside_a_reason_are_not_read() -> None:
    (result,) = compare_pairs(Cut(always_first), [pair("A", "B")], protocol=JudgeLM())
    assert (result["verdict"], result["reason"], result["score_a"]) == ("invalid", "truncated", None)


def test_a_tie_against_a_preference_is_a_flip_and_no_reversal() -> None:
    results = judged(lambda first, _: "8 3" if first == "A" else "5 5", [pair("A", "B")])
    total = summary(results)
    assert (total["flipped"], total["reversed"], total["first_chosen"], total["second_chosen"]) == (1, 0, 1, 0)
    assert (results[0]["verdict"], results[0]["score_a"], results[0]["score_b"]) == ("tie", 6.5, 4.0)


def test_one_order_shows_reply_a_first() -> None:
    model = Fake(always_first)
    results = list(compare_pairs(model, all_pairs(grid(3, 2)), protocol=JudgeLM(), orders="ab"))
    assert len(model.shown) == model.calls == 6
    assert model.shown[:3] == [
        ("s0 answers i0.", "s1 answers i0."),
        ("s0 answers i0.", "s2 answers i0."),
        ("s1 answers i0.", "s2 answers i0."),
    ]
    assert {(each["verdict"], each["verdict_ab"], each["verdict_ba"], each["flipped"]) for each in results} == {
        ("a", "a", None, None)
    }
    assert {(each["score_a"], each["score_b"]) for each in results} == {(9.0, 4.0)}
    total = summary(results)
    assert (total["both_orders"], total["flip_rate"]) == (0, None)
    # With one order alone, who is shown first and who is better cannot be told apart.
    assert (total["first_chosen"], total["second_chosen"], total["first_preference"]) == (0, 0, None)


def test_seeded_orders_show_each_side_first_about_equally() -> None:
    rows = grid(5, 40)
    results = judged(always_first, all_pairs(rows), orders="seeded", seed=1)
    a_first = sum(each["verdict"] == "a" for each in results)
    assert {(each["verdict_ab"], each["verdict_ba"]) for each in results} == {("a", None), (None, "b")}
    # 400 fair coins: four standard deviations are 40.
    assert 160 < a_first < 240
    # The coin belongs to the pair: leaving out others changes nothing, another seed does.
    fewer = judged(always_first, all_pairs(rows[100:]), orders="seeded", seed=1)
    assert fewer == results[200:]
    assert judged(always_first, all_pairs(rows), orders="seeded", seed=2) != results


def test_both_orders_are_asked_one_after_the_other() -> None:
    model = Fake(always_first)
    list(compare_pairs(model, [pair("A", "B"), pair("C", "D")], protocol=JudgeLM()))
    assert model.shown == [("A", "B"), ("B", "A"), ("C", "D"), ("D", "C")]


@pytest.mark.parametrize("message", ["", " \n", None])
def test_nobody_is_asked_about_replies_to_no_message(message: str | None) -> None:
    model = Fake(longer)
    pairs = [ReplyPair(*({**row, "hate_speech": message} for row in (each.a, each.b))) for each in [pair("Aa", "B")]]
    (result,) = compare_pairs(model, [*pairs], protocol=JudgeLM())
    assert (result["verdict"], result["reason"], model.calls) == ("invalid", "no_hate_speech", 0)


def test_identical_replies_are_a_tie_that_nobody_is_asked_about() -> None:
    model = Fake(always_first)
    pairs = [pair("Same  words.", " Same words.\n", "i1"), pair("A", "B", "i2"), pair("C", "C", "i3")]
    results = list(compare_pairs(model, pairs, protocol=JudgeLM(), disagreement="invalid"))
    assert model.calls == 2
    assert [(each["verdict"], each["identical"], each["flipped"], each["score_a"]) for each in results] == [
        ("tie", True, None, None),
        ("invalid", False, True, None),
        ("tie", True, None, None),
    ]
    assert summary(results)["identical"] == 2


@pytest.mark.parametrize(("a", "b"), [(None, "B"), ("A", ""), (" \n", "B"), (None, None), ("", "")])
def test_a_reply_without_text_is_invalid_and_no_loss(a: str | None, b: str | None) -> None:
    model = Fake(always_first)
    (result,) = compare_pairs(model, [pair(a, b)], protocol=JudgeLM(), one_order="take")
    assert model.calls == 0
    assert (result["verdict"], result["reason"], result["identical"]) == ("invalid", "empty_reply", False)


def some(first: str, second: str) -> str:
    """Some answer or failure, which depends on both texts and their order."""
    number = sum(position * ord(letter) for position, letter in enumerate(first + second, start=1))
    return ANSWERS[sorted(ANSWERS)[number % len(ANSWERS)]]


@pytest.mark.parametrize("ahead", [1, 2, 3, 7, 1000])
def test_how_far_a_model_reads_ahead_makes_no_difference(ahead: int) -> None:
    pairs = [pair("C", "C"), *all_pairs(grid(3, 4)), pair(None, "B"), *all_pairs(grid(2, 4)), pair("C", "C")]

    one = list(compare_pairs(Fake(some), pairs, protocol=JudgeLM()))
    other = list(compare_pairs(Fake(some, ahead=ahead), iter(pairs), protocol=JudgeLM()))
    assert other == one
    assert len(one) == len(pairs) == 19
    assert [each["item_id"] for each in one] == [each.a["item_id"] for each in pairs]


@pytest.mark.parametrize("orders", ["both", "ab", "seeded"])
def test_the_same_inputs_give_the_same_bytes(orders: Literal["both", "ab", "seeded"]) -> None:
    def lines() -> list[str]:
        pairs = budgeted_pairs(grid(6, 9), budget=40, seed=5)
        return [json.dumps(each) for each in compare_pairs(Fake(some), pairs, protocol=JudgeLM(), orders=orders)]

    assert lines() == lines()
    assert len(lines()) == 40


def test_pairs_are_read_as_calls_are_needed() -> None:
    read: list[int] = []

    def pairs() -> Iterator[ReplyPair]:
        for number in range(1000):
            read.append(number)
            yield pair("A", "B", f"i{number}")

    results = compare_pairs(Fake(always_first), pairs(), protocol=JudgeLM())
    assert read == []
    next(results)
    assert read == [0]
    next(results)
    assert read == [0, 1]


def test_memory_stays_flat() -> None:
    def peak(number: int) -> int:
        pairs = (pair("A", "B", f"i{each}") for each in range(number))
        tracemalloc.start()
        for _ in compare_pairs(Fake(always_first), pairs, protocol=JudgeLM(), orders="ab"):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(2000) - peak(500) < 300_000  # held, 1500 results would take more than 1 MB


class Wrong(Fake):
    def __init__(self, number: int) -> None:
        super().__init__(always_first)
        self.number = number

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        list(calls)
        return iter([ChatResponse("9 4")] * self.number)


@pytest.mark.parametrize(("number", "what"), [(3, "fewer"), (0, "fewer"), (5, "more")])
def test_a_model_that_loses_count_is_refused(number: int, what: str) -> None:
    with pytest.raises(InputError) as error:
        list(compare_pairs(Wrong(number), [pair("A", "B"), pair("C", "D")], protocol=JudgeLM()))
    assert str(error.value) == f"fake: found {what} answers than questions; expected one answer to each question"


def test_the_rater_may_have_another_name() -> None:
    (result,) = judged(always_first, [pair("A", "B")], rater="judge-of-ostrun")
    assert result["rater"] == "judge-of-ostrun"
