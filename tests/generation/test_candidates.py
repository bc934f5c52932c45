"""Which of several candidates becomes the reply."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.generation.candidates import BestOf, UnratedChoice, draw_order, mean_grade
from fcconan.generation.generators import ModelGenerator
from fcconan.generation.items import Candidate, ItemCandidates, PromptContext
from fcconan.judging.rating import ModelJudge
from fcconan.judging.strategies import RatingPlan
from fcconan.judging.tasks import Task
from fcconan.models.requests import ChatRequest, ChatResponse
from tests.generation.said import drawing, item, model, plan
from tests.judging.fake_model import aspect, labels_task, task

KIND = task(aspect("warmth"), aspect("spite", 0, 2, higher_is_better=False))


def drawn(number: int, *texts: str | None) -> ItemCandidates:
    found = item(f"Message {number}.")
    calls = [ChatRequest([], sample=sample) for sample in range(len(texts))]
    return ItemCandidates(
        found, PromptContext(), calls, candidates=[Candidate(text, None if text else "empty") for text in texts]
    )


def judge(grades: dict[str, tuple[int | None, int | None]], asked: Task = KIND) -> tuple[ModelJudge, list[str]]:
    """A judge that gives warmth and spite by the text, and the texts that it was shown."""
    shown: list[str] = []

    def answer(call: ChatRequest) -> ChatResponse:
        text = call.variables["counter_narrative"]
        shown.append(text)
        warmth, spite = grades[text]
        return ChatResponse(json.dumps({"warmth": warmth, "spite": spite}))

    return ModelJudge(model(answer), RatingPlan(asked)), shown


def test_the_first_candidate_with_words() -> None:
    rows = [drawn(1, "a", "b"), drawn(2, None, "b"), drawn(3, None, None)]
    assert [place for _, place in UnratedChoice().select(rows)] == [0, 1, None]


def test_a_draw_belongs_to_its_item_alone() -> None:
    rows = [drawn(number, "a", None, "c", "d") for number in range(300)]
    found = {each.item.item_id: place for each, place in UnratedChoice("random", 7).select(rows)}
    assert {each.item.item_id: place for each, place in UnratedChoice("random", 7).select(rows[::-1])} == found
    assert {each.item.item_id: place for each, place in UnratedChoice("random", 8).select(rows)} != found
    counts = Counter(found.values())
    assert set(counts) == {0, 2, 3}
    assert min(counts.values()) > 70  # of 100 expected; 3.7 standard deviations
    assert [place for _, place in UnratedChoice("random").select([drawn(1, None)])] == [None]


def test_the_best_mean_of_all_aspects_in_one_direction() -> None:
    # Warmth from 1 to 5, spite from 2 (worst) to 0: a (0.5 + 0)/2, b (0.25 + 1)/2, c (1 + 0)/2.
    by, shown = judge({"a": (3, 2), "b": (2, 0), "c": (5, 2)})
    best = BestOf(by)
    assert [place for _, place in best.select([drawn(1, "a", "b", "c"), drawn(2, "c", None, "a")])] == [1, 0]
    assert (best.judged, best.unjudged, best.missing) == (2, 0, Counter())
    assert shown[::2] == ["a", "b", "c", "c", "a"]  # once for each aspect


def test_grades_are_places_on_their_scales() -> None:
    def row(value: float | None, low: float, high: float, better: bool) -> dict[str, Any]:
        return {"value": value, "low": low, "high": high, "higher_is_better": better}

    assert mean_grade([row(3, 1, 5, True), row(0, 0, 2, False), row(1, 1, 3, True)]) == 0.5
    assert mean_grade([row(3, 1, 5, True), row(None, 0, 2, False)]) is None
    thirds = [mean_grade([row(1, 0, 3, True), row(2, 0, 3, True), row(3, 0, 10, True)]) for _ in range(2)]
    assert thirds == [0.433333333] * 2


def test_ties_go_to_the_draw() -> None:
    rows = [drawn(number, "a", "b", "c") for number in range(60)]
    by, _ = judge({"a": (3, 1), "b": (1, 1), "c": (3, 1)})
    found = {each.item.item_id: place for each, place in BestOf(by, 5).select(rows)}
    for each in rows:
        expected = next(place for place in draw_order(each, 5) if place != 1)
        assert found[each.item.item_id] == expected
    assert set(found.values()) == {0, 2}


def test_candidates_without_all_grades_do_not_compete_and_none_rated_is_a_draw() -> None:
    grades: dict[str, tuple[int | None, int | None]] = {"a": (5, None), "b": (1, 2), "c": (None, 0)}
    by, _ = judge(grades)
    best = BestOf(by, 5)
    rows = [drawn(1, "a", "b", "c"), *(drawn(number, "a", "c") for number in range(2, 30))]
    found = list(best.select(rows))
    assert found[0][1] == 1
    assert [place for _, place in found[1:]] == [draw_order(each, 5)[0] for each in rows[1:]]
    assert {place for _, place in found[1:]} == {0, 1}
    assert (best.judged, best.unjudged) == (1, 28)
    assert best.missing.total() == 2 + 28 * 2


def test_one_text_needs_no_judge_and_no_words_are_no_choice() -> None:
    by, shown = judge({})
    best = BestOf(by)
    found = list(best.select([drawn(1, "a", "a"), drawn(2, None, "b"), drawn(3, None, None), drawn(4)]))
    assert [place for _, place in found][1:] == [1, None, None]
    assert found[0][1] in (0, 1)
    assert (shown, best.judged, best.unjudged, best.equal) == ([], 0, 0, 2)  # two have no words at all


def test_a_shared_text_is_rated_once() -> None:
    by, shown = judge({"a": (5, 0), "b": (1, 2)})
    ((_, place),) = BestOf(by).select([drawn(1, "b", "a", "a", "b")])
    assert place in (1, 2)
    assert sorted(shown[::2]) == ["a", "b"]


def test_a_task_with_labels_gives_no_grades() -> None:
    with pytest.raises(InputError, match="the task some has labels, and the best reply is chosen by grades: name a"):
        BestOf(ModelJudge(model(lambda call: ""), RatingPlan(labels_task("good", "bad"))))


def test_the_judge_never_sees_what_the_reply_is_scored_against() -> None:
    asked = KIND.model_copy(update={"context": ["hate_speech", "references"]})
    with pytest.raises(InputError, match=r"^the task some shows the judge references, to which .*: name"):
        BestOf(ModelJudge(model(lambda call: ""), RatingPlan(asked)))
    rows: list[dict[str, Any]] = []

    class Noting(ModelJudge):
        def rate(self, replies: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
            found = list(replies)
            rows.extend(found)
            yield from super().rate(found)

    by = Noting(model(lambda call: json.dumps({"warmth": 3, "spite": 1})), RatingPlan(KIND))
    each = drawn(1, "a", "b")
    each.item = item("Message 1.", "The reference.")
    assert len(list(BestOf(by).select([each]))) == 1
    assert [row["text"] for row in rows] == ["a", "b"]
    assert all("references" not in row for row in rows)


def test_the_judge_is_asked_while_candidates_come() -> None:
    """The generator is never far ahead of the judge, so that any number of messages goes through."""
    written: list[str] = []

    def write(call: ChatRequest) -> ChatResponse:
        written.append(call.messages[-1]["content"])
        return ChatResponse(f"{call.sample} {len(written)}")

    def rate(call: ChatRequest) -> ChatResponse:
        return ChatResponse(json.dumps({"warmth": 5 if call.variables["counter_narrative"][0] == "1" else 1}))

    best = BestOf(ModelJudge(model(rate), RatingPlan(task(aspect("warmth")))))
    items = [item(f"Message {number}.") for number in range(50)]
    answers = ModelGenerator(model(write), plan(decoding=drawing(3, "judge")), pick=best).answers(items)
    first = next(answers)
    assert (first.text, first.more["picked"]) == ("1 2", 1)
    assert len(written) <= 6
    assert [each.more["picked"] for each in answers] == [1] * 49
    assert best.judged == 50
