"""Ratings, comparisons, audits and drafts of rubrics from Python: rows in memory, own clients, progress."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcconan.errors import InputError
from fcconan.models.client import Client
from fcconan.models.requests import ChatRequest, ChatResponse
from fcconan.services import (
    AuditOptions,
    CompareOptions,
    PromptOptions,
    RateOptions,
    RubricOptions,
    audit,
    compare,
    draft_rubric,
    rate,
    show_prompt,
)
from tests.cli.judging import grade, judge
from tests.models.server import Server, use_key

REPLIES = [
    {"hate_speech": "The Ombrey never return a book.", "text": "Ombrey readers return their books.", "system": "one"},
    {"hate_speech": "The Ombrey never return a book.", "text": "Nonsense.", "system": "two"},
    {"hate_speech": "Every Tessok cheats at cards.", "text": "Who saw a Tessok cheat?", "system": "one"},
]
RELEVANCE: dict[str, Any] = {"task": "cseval", "aspect": ("relevance",)}


class Words:
    """An own model: the grade is the number of words of the reply, as `tests.cli.judging.grade` counts it."""

    def __init__(self) -> None:
        self.name, self.configuration, self.asked = "words", {"version": 1}, 0

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        for call in calls:
            self.asked += 1
            yield ChatResponse(json.dumps({"relevance": grade(call.variables["counter_narrative"], "relevance")}))


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "cache"))


def options(**more: Any) -> RateOptions:
    return RateOptions(**{"model": ("words",), **RELEVANCE, **more})


def test_shards_are_together_the_ratings_of_one_run() -> None:
    replies = [
        {"system": who, "item_id": f"i{n}", "hate_speech": f"The Ombrey hide {n} books.", "text": f"{who} counts {n}."}
        for who in ("A", "B")
        for n in range(8)
    ]
    options = RateOptions(model=("words",), **RELEVANCE, limit=13)
    whole = list(rate(replies, options, client=Words()).ratings())
    shards = [options.model_copy(update={"shard": f"{number}/3"}) for number in (1, 2, 3)]
    parts = [list(rate(replies, each, client=Words()).ratings()) for each in shards]
    held = [{row["reply_id"] for row in part} for part in parts]
    assert all(held)
    assert sum(map(len, held)) == 13
    by_reply: dict[str, Iterator[Any]] = {}
    for part in parts:
        rows = iter(part)
        by_reply |= {row["reply_id"]: rows for row in part}
    assert [next(by_reply[row["reply_id"]]) for row in whole] == whole  # each shard has the order of the whole


def test_an_own_model_rates_a_frame_and_progress_is_reported() -> None:
    seen: list[tuple[int, int | None]] = []
    model = Words()
    found = rate(pd.DataFrame(REPLIES), options(), client=model, progress=lambda *counts: seen.append(counts))
    # 5, 1 and 5 words, on a scale of 5 grades that begins with 1 and starts again.
    assert [row["value"] for row in found.ratings()] == [1.0, 2.0, 1.0]
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert model.asked == 3
    (row,) = found.rows()
    assert (row["rater"], row["n"], row["mean"]) == ("words:rubric", 3, pytest.approx(4 / 3))
    assert not found.failed and found.data["out"] is None


def test_ratings_of_a_file_are_those_in_memory_and_a_dry_run_sends_nothing(tmp_path: Path) -> None:
    written = rate(REPLIES, options(), out=tmp_path / "ratings.csv", client=Words())
    memory = rate(REPLIES, options(), client=Words())
    columns = ("reply_id", "item_id", "rater", "aspect", "value", "low", "high")
    assert [[row[name] for name in columns] for row in written.ratings()] == [
        [row[name] for name in columns] for row in memory.ratings()
    ]
    assert written.signature == memory.signature
    model = Words()
    planned = rate(REPLIES, options(dry_run=True, limit=2), client=model)
    assert (planned.is_dry_run, planned.rows()[0]["to_send"], model.asked) == (True, 2, 0)


def test_an_own_client_sends_the_requests_and_stores_the_answers(tmp_path: Path) -> None:
    with Server(judge) as server:
        client = Client(journal=tmp_path / "own.sqlite", base_url=server.url)
        for _ in range(2):
            found = rate(REPLIES, options(model=("stub",)), client=client)
            assert [row["value"] for row in found.ratings()] == [1.0, 2.0, 1.0]
        assert (len(server.requests), len(client.answers)) == (3, 3)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"model": ("words", "other")}, "client is one model, and model names 2: name one"),
        ({"fresh": True}, "fresh is for the client of this package"),
        ({"max_cost": 1.0}, "max_cost is for the client of this package"),
    ],
)
def test_options_that_an_own_client_cannot_heed_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rate(REPLIES, options(**more), client=Words())


def test_a_failed_run_continues_its_fresh_epoch(tmp_path: Path) -> None:
    from tests.models.server import Action

    store = tmp_path / "answers.sqlite"
    with Server(lambda body, number: Action(503, {}) if number == 1 else judge(body, number)) as server:
        given = options(
            model=("stub",), base_url=server.url, response_cache=store, retries=0, fresh=True, concurrency=1
        )
        first = rate(REPLIES, given)
        assert first.failed and first.data["failed_requests"] == 1
        server.behaviour = judge
        before = len(server.requests)
        again = rate(REPLIES, given)
        assert (again.failed, len(server.requests) - before) == (False, 1)
        assert rate(REPLIES, given).data["used"][0]["requests"] == 3


def test_comparisons_are_read_by_an_audit_in_memory() -> None:
    class Longer(Words):
        def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
            for call in calls:
                a, b = (len(call.variables[name].split()) for name in ("reply_1", "reply_2"))
                yield ChatResponse(json.dumps({"better": "a" if a > b else "b"}))

    seen: list[tuple[int, int | None]] = []
    found = compare(
        REPLIES[:2], CompareOptions(model="words"), client=Longer(), progress=lambda *each: seen.append(each)
    )
    (row,) = found.comparisons()
    assert {"a": row["system_a"], "b": row["system_b"]}[row["verdict"]] == "one"
    assert found.rows() == [{"verdict": row["verdict"], "n": 1}] and seen == [(0, 1), (1, 1)]
    checks = audit(None, AuditOptions(resamples=100), comparisons=found.comparisons(), replies=REPLIES[:2])
    flips = next(each for each in checks.rows() if each["check"] == "position_flips")
    assert (flips["rater"], flips["value"]) == (row["rater"], 0.0)


def test_a_rubric_is_returned_without_a_file_and_a_dry_run_counts_one_request() -> None:
    class Drafter(Words):
        def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
            for _ in calls:
                self.asked += 1
                steps = ["Read.", "Look.", "Weigh.", "Decide."]
                yield ChatResponse(
                    json.dumps({"question": "How civil?", "grades": {"1": "Rude.", "2": "Civil."}, "steps": steps})
                )

    given = RubricOptions(definition="how civil a reply is", model="drafter", high=2)
    drafted = draft_rubric("civility", given, client=Drafter())
    assert drafted.task is not None and drafted.to_dict()["task"]["aspects"][0]["name"] == "civility"
    model = Drafter()
    planned = draft_rubric("civility", given.model_copy(update={"dry_run": True}), client=model)
    assert (planned.rows()[0]["calls"], planned.task, model.asked) == (1, None, 0)
    with pytest.raises(InputError, match="no rubric can be drafted for the aspect 'Civil!'"):
        draft_rubric("Civil!", given.model_copy(update={"dry_run": True}), client=Drafter())


def test_the_prompt_of_a_row_is_what_a_model_is_sent() -> None:
    class Listener(Words):
        def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
            for call in calls:
                sent.append(call.messages)
                yield ChatResponse('{"relevance": 3}')

    sent: list[Any] = []
    shown = show_prompt(PromptOptions(**RELEVANCE), dataset=REPLIES)
    rate(REPLIES[:1], options(), client=Listener())
    assert list(shown.prompts) == sent
    assert shown.to_frame()["role"].tolist() == ["system", "user"]


def test_a_filter_of_an_audit_may_leave_ratings_only() -> None:
    from fcconan.services import AuditOptions, audit

    rated = [
        {"reply_id": str(n), "rater": "m", "aspect": "tone", "value": 3, "low": 1, "high": 5, "higher_is_better": True}
        for n in range(4)
    ]
    compared = [{"item_id": "i", "reply_a": "1", "reply_b": "2", "system_a": "A", "system_b": "B", "verdict": "a"}]
    judged = [row | {"rater": "j"} for row in compared]
    options = AuditOptions(resamples=100, filter={"rater": ("m",)})
    assert audit(rated, options, comparisons=judged).rows() == audit(rated, options).rows()
    with pytest.raises(InputError, match="no rows, nothing to audit"):
        audit(rated, AuditOptions(resamples=100, filter={"rater": ("x",)}))


def test_a_model_that_is_named_twice_rates_once() -> None:
    model = Words()
    found = rate(REPLIES, options(model=("words", "words")), client=model)
    assert ([row["rater"] for row in found.rows()], model.asked) == (["words:rubric"], 3)
    with pytest.raises(InputError, match=r"^RateOptions: model: Tuple should have at least 1 item"):
        options(model=())
